"""Piraten-Pitt: what a seat sees. Players are listed from the seat itself clockwise; one layout serves every player count and option.

What lies inside a chest, and where its compartment A points, is never part of it: a player has to remember (``memory="events"``), or is
shown what perfect memory would know (``memory="features"``).
"""

from typing import Any

from ..core.jit import kernel
from ..core.layout import Layout, Piece
from .rules import (
    ACTOR,
    COUNT,
    CURRENT,
    EVENT_KINDS,
    GEMS,
    KIND,
    LAST,
    MAX_NODES,
    MAX_PLAYERS,
    NODE,
    NONE,
    OWNER,
    PIRATE_FACE,
    SIDE,
    TOLD,
    TURNS,
    WINDOW,
)

PHASES = 7
EVENT_SIZE = EVENT_KINDS + 9
PLAYER_SIZE = 12
NODE_SCALE = 10000

LAYOUT = Layout(
    Piece("phase", (PHASES,), "one-hot: move, stow, arrow, pirate, turn, show, place"),
    Piece("die", (PIRATE_FACE,), "one-hot: 1, 2, 3, 4, pirate; the roll of the current turn"),
    Piece(
        "sailors", (MAX_PLAYERS, MAX_NODES), "self, then clockwise: the sailor's node, one-hot; all zero for seats that do not take part"
    ),
    Piece("pirate", (MAX_NODES,), "the pirate's node, one-hot"),
    Piece(
        "players",
        (MAX_PLAYERS, PLAYER_SIZE),
        "self, then clockwise: takes part; has rolled; is to decide; has the chest that is turned, shown or emptied; secured gems / 5; "
        "gems in the chest / 5; axis of the chest (0 left-right, 1 far-near); own gem lies on hideout 1 .. 5",
    ),
    Piece("globals", (3,), "players / 4; taken gems still to be placed / 5; turn / max_turns"),
    Piece(
        "knowledge",
        (MAX_PLAYERS, 3),
        "memory='features', else zero; the chests of self, then clockwise, as perfect memory knows them: "
        "likeliest pile on side 0 / 5; pile on side 1 / 5; probability that this is right",
    ),
    Piece(
        "events",
        (WINDOW, EVENT_SIZE),
        "the events of the window, newest first, then zeros. One-hot kind: roll, move, pirate move, stow, meet, turn, show, place, unload; "
        "actor's seat offset / 3; has a chest and it is one's own; chest owner's seat offset / 3; side (-1 side 0, 1 side 1); "
        "count / 5 (roll: the face, pirate 5; stow: gems found in the compartment; show, unload: gems taken out); "
        "quarter turns as a direction (1: 0, 1; 2: -1, 0; 3: 0, -1); x and y of the node",
        low=-1.0,
    ),
)
PHASE = LAYOUT.start("phase")
DIE = LAYOUT.start("die")
SAILORS = LAYOUT.start("sailors")
PIRATE_NODE = LAYOUT.start("pirate")
PLAYER_ROWS = LAYOUT.start("players")
GLOBALS = LAYOUT.start("globals")
KNOWLEDGE = LAYOUT.start("knowledge")
EVENTS = LAYOUT.start("events")


@kernel
def observe(s: Any, seat: int, out: Any) -> None:
    """Write the seat's observation."""
    out[PHASE + s.phase] = 1
    out[DIE + s.die - 1] = 1
    out[PIRATE_NODE + s.pirate] = 1
    for k in range(s.players):
        other = (seat + k) % s.players
        out[SAILORS + MAX_NODES * k + s.position[other]] = 1
        row = PLAYER_ROWS + PLAYER_SIZE * k
        out[row] = 1
        out[row + 1] = s.roller == other
        out[row + 2] = s.to_move == other
        out[row + 3] = s.met == other
        out[row + 4] = s.score[other] / GEMS
        out[row + 5] = s.loaded[other] / GEMS
        out[row + 6] = s.orientation[other] & 1
        for h in range(GEMS):
            out[row + 7 + h] = s.gem[other, h]
        if s.features:
            write_knowledge(s, seat, other, out, KNOWLEDGE + 3 * k)
    out[GLOBALS] = s.players / MAX_PLAYERS
    out[GLOBALS + 1] = s.to_place / GEMS
    out[GLOBALS + 2] = s.turn_no / s.max_turns
    if s.event_window != NONE:
        write_window(s, seat, out)


@kernel
def write_knowledge(s: Any, seat: int, chest: int, out: Any, row: int) -> None:
    """The likeliest content of a chest; of equally likely ones that with fewer gems on side 0."""
    best = 0
    for x in range(1, s.loaded[chest] + 1):
        if s.belief[seat, chest, x] > s.belief[seat, chest, best]:
            best = x
    out[row] = best / GEMS
    out[row + 1] = (s.loaded[chest] - best) / GEMS
    out[row + 2] = s.belief[seat, chest, best]


@kernel
def write_window(s: Any, seat: int, out: Any) -> None:
    """The events that the seat was told of, newest first."""
    oldest = s.told - WINDOW
    if s.event_window != LAST:
        oldest = max(oldest, s.since[seat])
    row = EVENTS
    for e in range(s.told - 1, max(oldest, 0) - 1, -1):
        event = s.event[e % WINDOW]
        if event[KIND] == 0 or (event[TOLD] >> seat) & 1 == 0:
            continue
        out[row + int(event[KIND]) - 1] = 1
        cell = row + EVENT_KINDS
        out[cell] = (event[ACTOR] - seat) % s.players / (MAX_PLAYERS - 1)
        if event[OWNER] >= 0:
            out[cell + 1] = event[OWNER] == seat
            out[cell + 2] = (event[OWNER] - seat) % s.players / (MAX_PLAYERS - 1)
        if event[SIDE] >= 0:
            out[cell + 3] = 2 * event[SIDE] - 1
        out[cell + 4] = event[COUNT] / GEMS
        if event[TURNS] == 2:
            out[cell + 5] = -1
        elif event[TURNS] > 0:
            out[cell + 6] = 2 - event[TURNS]
        if event[NODE] >= 0:
            out[cell + 7] = s.node_xy[event[NODE], 0] / NODE_SCALE
            out[cell + 8] = s.node_xy[event[NODE], 1] / NODE_SCALE
        row += EVENT_SIZE
        if s.event_window == CURRENT:
            return
