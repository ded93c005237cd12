"""Piraten-Pitt: what a seat sees. Players are listed from the seat itself clockwise; one layout serves every player count and option.

What lies inside a chest, and where its compartment A points, is never part of it: a player has to remember (``memory="events"``), or is
shown what perfect memory would know (``memory="features"``). Of the past only the events of the chests are listed: the outcome of all
others lies open on the board.
"""

from typing import Any

import numpy as np

from ..core.jit import kernel
from ..core.layout import Layout, Piece
from .rules import (
    ACTOR,
    AXIS,
    COUNT,
    CURRENT,
    GEMS,
    KIND,
    LAST,
    MAX_NODES,
    MAX_PLAYERS,
    MOVE,
    NONE,
    PIRATE,
    PIRATE_FACE,
    PLACE,
    SHOW,
    SHOWN,
    SIDE,
    STOWED,
    TOLD,
    TURNED,
    TURNS,
    WINDOW,
    gems_of,
    steps_home,
    swaps,
)

PHASES = 7
EVENT_SIZE = 6
PLAYER_SIZE = 13
KNOWLEDGE_SIZE = 5
LONG_TOUR = 50  # steps; few positions have a longer way home

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
        "gems in the chest / 5; axis of the chest (0 left-right, 1 far-near); own gem lies on hideout 1 .. 5; "
        "steps of the shortest tour over the own gems on hideouts into the bay, without the pirate / 50, at most 1",
    ),
    Piece("globals", (3,), "players / 4; taken gems still to be placed / 5; turn / max_turns"),
    Piece(
        "targets",
        (MAX_NODES,),
        "for the seat that is to choose a node, else zero. move: by how many steps the shortest tour from the node is shorter than from "
        "the sailor's node / 4, within -1 .. 1; pirate: gems in the fullest foreign chest whose sailor stands there / 5; "
        "place: steps from the owner's sailor to the hideout / 36",
        low=-1.0,
    ),
    Piece(
        "knowledge",
        (MAX_PLAYERS, KNOWLEDGE_SIZE),
        "memory='features', else zero; the chests of self, then clockwise, as perfect memory knows them: likeliest pile on side 0 / 5; "
        "pile on side 1 / 5; probability that this is right; probability that side 0 is empty; that side 1 is empty",
    ),
    Piece(
        "events",
        (MAX_PLAYERS, WINDOW, EVENT_SIZE),
        "the chests of self, then clockwise; what happened to each within the event window, newest first, then zeros: "
        "side of the gems (-1 side 0, 1 side 1): the one stowed on, or the one not shown; what happened (-1 stow, 1 show, else 0); "
        "turned (1: what lay on one side now lies on the other; -1: it does not; 0: no turn); axis afterwards (-1 left-right, 1 far-near); "
        "count / 5 (stow: gems found in the compartment; show, unload: gems taken out); actor's seat offset / 3",
        low=-1.0,
    ),
)
PHASE = LAYOUT.start("phase")
DIE = LAYOUT.start("die")
SAILORS = LAYOUT.start("sailors")
PIRATE_NODE = LAYOUT.start("pirate")
PLAYER_ROWS = LAYOUT.start("players")
GLOBALS = LAYOUT.start("globals")
TARGETS = LAYOUT.start("targets")
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
        out[row + 12] = min(steps_home(s, other, s.position[other]) / LONG_TOUR, 1.0)
        if s.features:
            write_knowledge(s, seat, other, out, KNOWLEDGE + KNOWLEDGE_SIZE * k)
        if s.event_window != NONE:
            write_events(s, seat, other, out, EVENTS + WINDOW * EVENT_SIZE * k)
    out[GLOBALS] = s.players / MAX_PLAYERS
    out[GLOBALS + 1] = s.to_place / GEMS
    out[GLOBALS + 2] = s.turn_no / s.max_turns
    if s.to_move == seat:
        write_targets(s, seat, out)


@kernel
def write_targets(s: Any, seat: int, out: Any) -> None:
    """What each node promises the seat to move."""
    if s.phase == MOVE:
        gains = out[TARGETS : TARGETS + MAX_NODES]
        gains[:] = -1
        now = steps_home(s, seat, s.position[seat])
        wanted = gems_of(s, seat)
        if wanted == 0:
            raise_gains(gains, s.steps[GEMS], now)
        for h in range(GEMS):
            if (wanted >> h) & 1:
                raise_gains(gains, s.steps[h], now - s.tour[wanted ^ (1 << h), h])
    elif s.phase == PIRATE:
        for other in range(s.players):
            if other != seat:
                target = TARGETS + s.position[other]
                out[target] = max(out[target], s.loaded[other] / GEMS)
    elif s.phase == PLACE:
        for h in range(GEMS):
            out[TARGETS + s.hideout[h]] = s.steps[h, s.position[s.met]] / MAX_NODES


@kernel
def raise_gains(gains: Any, steps: Any, now: int) -> None:
    """Raise what each node promises to what a tour does that begins with ``steps``; ``now``: a quarter is gained by every step below."""
    for node in range(MAX_NODES):
        # 32 bits throughout, and no branch: the compiler then works on eight nodes at once.
        gain = np.float32(0.25) * np.float32(np.int32(now) - np.int32(steps[node]))
        gain = gain if gain < np.float32(1) else np.float32(1)
        gains[node] = gain if gain > gains[node] else gains[node]


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
    out[row + 3] = s.belief[seat, chest, 0]
    out[row + 4] = s.belief[seat, chest, s.loaded[chest]]


@kernel
def write_events(s: Any, seat: int, chest: int, out: Any, row: int) -> None:
    """The events of a chest that the seat was told of, newest first."""
    rows = WINDOW if s.event_window == LAST else s.fresh[seat, chest]
    if s.event_window == CURRENT:
        # What a show or a placement answers.
        rows = min(rows, 1) if chest == s.met and s.phase in (SHOW, PLACE) else 0
    for e in range(rows):
        event = s.event[chest, e]
        kind = event[KIND]
        if kind == 0 or (event[TOLD] >> seat) & 1 == 0:
            continue
        if kind == STOWED:
            out[row] = 2 * event[SIDE] - 1
            out[row + 1] = -1
        elif kind == SHOWN:
            # What was shown lies there no longer.
            out[row] = 1 - 2 * event[SIDE]
            out[row + 1] = 1
        elif kind == TURNED:
            out[row + 2] = 2 * swaps((event[AXIS] - event[TURNS]) & 1, event[TURNS]) - 1
        out[row + 3] = 2 * event[AXIS] - 1
        out[row + 4] = event[COUNT] / GEMS
        out[row + 5] = (event[ACTOR] - seat) % s.players / (MAX_PLAYERS - 1)
        row += EVENT_SIZE
