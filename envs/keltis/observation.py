"""Keltis: what a seat sees. Players are listed from the seat itself clockwise; one layout serves every player count."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.game import Symmetry
from ..core.jit import kernel
from ..core.layout import Layout, Piece
from .rules import (
    ACT,
    CAN_LAY,
    CANNOT_LAY,
    COLOURS,
    COPIES,
    DISCARD,
    DRAW,
    DRAW_PILE,
    FINAL,
    HAND,
    LAY,
    LAY_ON,
    MAX_PLAYERS,
    NUM_ACTIONS,
    PAIR_FIRST,
    PAIR_OF,
    PAIR_SECOND,
    PILES,
    ROW_SCORE,
    STONE,
    STONE_SCORE,
    STONES,
    TYPES,
)

NUMBERS = 11
ROW_FEATURES = 9
PLAYER_FEATURES = 11

LAYOUT = Layout(
    Piece("hand", (TYPES,), "own cards of each type / 2"),
    Piece("unseen", (TYPES,), "cards of each type that nobody has shown / 2: in the stock, out of the game or in another hand"),
    Piece("in_piles", (TYPES,), "cards of each type in the discard piles / 2"),
    Piece("pile_tops", (TYPES,), "top card of each discard pile"),
    Piece("known", (MAX_PLAYERS - 1, TYPES), "next player, then clockwise: cards taken from piles and still in hand / 2 (perfect recall)"),
    Piece("piles", (2, PILES), "cards in each discard pile / 18; piles blocked this turn"),
    Piece(
        "rows",
        (MAX_PLAYERS, COLOURS, ROW_FEATURES),
        "colour rows of self, then clockwise: cards / 10 (at most 1); points / 10; points for one more card / 4; last number / 10; "
        "has a number; ascending; descending; end cards / 2; open (no end card)",
        low=-1.0,
    ),
    Piece("accepts", (MAX_PLAYERS, COLOURS, NUMBERS), "numbers 0 .. 10 that each row takes now"),
    Piece("stones", (STONES,), "stones 1 .. 9 on the table"),
    Piece(
        "players",
        (MAX_PLAYERS, PLAYER_FEATURES),
        "self, then clockwise: takes part; cards / 8; cards in the neutral row / 11; stones / 9; points for stones / 10; points for one "
        "more stone / 4; points if scored now / 71; to move; ended play; known to be able to lay a card; known to be unable (final phase)",
        low=-1.0,
    ),
    Piece(
        "globals",
        (13,),
        "2, 3, 4 players; phase act, draw, final; stock / 77; turns / max_turns (at most 1, 0 without a limit); cards to draw / 2; cards "
        "that may be laid in the final phase / 2; rows with an end card / 5 (at most 1); must draw from the stock; "
        "(own points - best other points) / 95",
        low=-1.0,
    ),
)
OWN = LAYOUT.start("hand")
UNSEEN = LAYOUT.start("unseen")
IN_PILES = LAYOUT.start("in_piles")
TOPS = LAYOUT.start("pile_tops")
KNOWN = LAYOUT.start("known")
PILE_ROWS = LAYOUT.start("piles")
ROWS = LAYOUT.start("rows")
ACCEPTS = LAYOUT.start("accepts")
STONE_ROW = LAYOUT.start("stones")
PLAYERS = LAYOUT.start("players")
GLOBALS = LAYOUT.start("globals")

# Factors and tables in the output's own type: half the conversions, no divisions.
HALF = np.float32(0.5)
TENTH = np.float32(0.1)
CARDS_OF = COPIES.astype(np.int8)
BY_SIZE = np.array(
    [(n / 10, ROW_SCORE[min(n, 9)] / 10, (ROW_SCORE[min(n + 1, 9)] - ROW_SCORE[min(n, 9)]) / 4) for n in range(11)], np.float32
)


@kernel
def observe(s: Any, seat: int, out: Any) -> None:
    """Write the seat's observation."""
    # Plain loops without branches over the card types: the compiler turns each into vector instructions.
    for card in range(TYPES):
        out[UNSEEN + card] = (CARDS_OF[card] - s.on_table[card]) * HALF
    for card in range(TYPES):
        out[IN_PILES + card] = s.in_piles[card] * HALF
    for k in range(1, s.players):
        other = (seat + k) % s.players
        start = KNOWN + TYPES * (k - 1)
        for card in range(TYPES):
            out[start + card] = s.known[other, card] * HALF
        for card in range(TYPES):
            out[UNSEEN + card] -= s.known[other, card] * HALF
    for k in range(s.hand_size[seat]):
        card = s.hand[seat, k]
        out[OWN + card] += 0.5
        out[UNSEEN + card] -= 0.5
    for pile in range(PILES):
        if s.pile_size[pile] > 0:
            out[TOPS + int(s.pile[pile, s.pile_size[pile] - 1])] = 1
        out[PILE_ROWS + pile] = s.pile_size[pile] / 18
        out[PILE_ROWS + PILES + pile] = s.blocked[pile]
    for stone in range(STONES):
        out[STONE_ROW + stone] = s.stone_owner[stone] < 0
    best = -1000
    for k in range(s.players):
        other = (seat + k) % s.players
        if k > 0:
            best = max(best, s.score[other])
        for colour in range(COLOURS):
            size = min(s.row_size[other, colour], 10)
            last = s.row_last[other, colour]
            direction = s.row_direction[other, colour]
            opened = s.row_ends[other, colour] == 0
            row = ROWS + ROW_FEATURES * (COLOURS * k + colour)
            out[row] = BY_SIZE[size, 0]
            out[row + 1] = BY_SIZE[size, 1]
            out[row + 2] = BY_SIZE[size, 2]
            out[row + 3] = max(last, 0) * TENTH
            out[row + 4] = last >= 0
            out[row + 5] = direction > 0
            out[row + 6] = direction < 0
            out[row + 7] = s.row_ends[other, colour] * HALF
            out[row + 8] = opened
            start = ACCEPTS + NUMBERS * (COLOURS * k + colour)
            if opened:
                for value in range(last if direction > 0 else 0, last + 1 if direction < 0 else NUMBERS):
                    out[start + value] = 1
        row = PLAYERS + PLAYER_FEATURES * k
        held = STONE_SCORE[min(s.stones[other], 5)]
        out[row] = 1
        out[row + 1] = s.hand_size[other] / HAND
        out[row + 2] = s.neutral[other] / 11
        out[row + 3] = s.stones[other] / STONES
        out[row + 4] = held / 10
        out[row + 5] = (STONE_SCORE[min(s.stones[other] + 1, 5)] - held) / 4
        out[row + 6] = s.score[other] / 71
        out[row + 7] = s.to_move == other
        out[row + 8] = s.ender == other
        out[row + 9] = s.lay_known[other] == CAN_LAY
        out[row + 10] = s.lay_known[other] == CANNOT_LAY
    out[GLOBALS + s.players - 2] = 1
    out[GLOBALS + 3] = s.phase == ACT
    out[GLOBALS + 4] = s.phase == DRAW
    out[GLOBALS + 5] = s.phase == FINAL
    out[GLOBALS + 6] = s.stock / 77
    out[GLOBALS + 7] = min(s.turn, s.max_turns) / max(s.max_turns, 1)
    out[GLOBALS + 8] = s.draws_left / 2
    out[GLOBALS + 9] = s.lays_left / 2
    out[GLOBALS + 10] = min(s.closed_rows, 5) / 5
    out[GLOBALS + 11] = s.max_turns > 0 and s.turn >= s.max_turns and s.phase != FINAL
    out[GLOBALS + 12] = (s.score[seat] - best) / 95


def symmetry(colours: Sequence[int]) -> Symmetry:
    """The naming in which colour ``i`` is called what colour ``colours[i]`` was."""
    rows = np.array(colours)
    piles = np.append(rows, COLOURS)  # the point cards stay
    types = np.concatenate([12 * pile + np.arange(12) for pile in piles])[:TYPES]
    pieces = LAYOUT.unpack(np.arange(LAYOUT.size))
    for name in ("hand", "unseen", "in_piles", "pile_tops", "known"):
        pieces[name] = pieces[name][..., types]
    pieces["piles"] = pieces["piles"][:, piles]
    for name in ("rows", "accepts"):
        pieces[name] = pieces[name][:, rows]
    actions = np.arange(NUM_ACTIONS)
    actions[DISCARD:LAY] = DISCARD + types
    actions[LAY:LAY_ON] = LAY + types
    actions[LAY_ON:STONE] = (LAY_ON + COLOURS * np.arange(NUMBERS)[:, None] + rows).ravel()
    first, second = types[PAIR_FIRST], types[PAIR_SECOND]
    actions[STONE : STONE + len(first)] = STONE + PAIR_OF[np.minimum(first, second), np.maximum(first, second)]
    actions[DRAW_PILE : DRAW_PILE + PILES] = DRAW_PILE + piles
    return Symmetry(LAYOUT.pack(pieces), actions, colours)
