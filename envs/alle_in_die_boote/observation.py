"""Alle in die Boote: what a seat sees. Everything is open to all (rule 24), so seats differ in their lifebuoys only."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.game import Symmetry
from ..core.jit import kernel
from ..core.layout import Layout, Piece
from .rules import (
    BOATS,
    CALL,
    CARDS,
    DECISION_LIMIT,
    EMPTY,
    FACE_DOWN,
    FLOODED,
    IN_BOAT,
    NUM_ACTIONS,
    PLACING,
    RANKS,
    REVERSIBLE_LIMIT,
    SECTIONS,
    STOCK_SIZE,
    boat_kinds,
    bow_coin,
    budget,
    cards_of,
    queue_kinds,
    ship_coins,
)

CARD_COLUMNS, SECTION_COLUMNS, BOAT_COLUMNS, GLOBAL_COLUMNS = 24, 36, 20, 24
DISTANCE, IS_FRONT, IN_RUN, FITS, BOARDS = 19, 20, 21, 22, 23  # columns of a card that are not in `where`

BITS = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.float32)  # the bits of a byte, lowest first

LAYOUT = Layout(
    Piece(
        "cards",
        (CARDS, CARD_COLUMNS),
        "suit by suit (h d s c), A .. K: 0-5 open in queue 1-6; 6-7 in boat 1, 2 of its colour; 8 in the discard pile; "
        "9-11 in hand slot 1-3; 12 may be in the stock; 13-18 may be face down in queue 1-6 (perfect recall); "
        "19 cards in front of it in its queue / 12, at most 1; 20 is a front; 21 in a front run; "
        "22 its kind fits somewhere now (cards outside the boats); 23 a boat takes its kind now (likewise)",
    ),
    Piece(
        "sections",
        (SECTIONS, SECTION_COLUMNS),
        "0 flooded; 1 coins / 5; 2 coins at the start / 5; 3 next to lose a coin; 4 face-down cards / 52; 5 open cards / 13; "
        "6 never-seen cards / 52 (where `even` mixed sections, the expected number: their never-seen cards by face-down places); "
        "7 empty and dry; 8-9 front is red, black; 10-22 rank of the front; 23-35 rank of the highest card of the front run",
        high=4.0,
    ),
    Piece(
        "boats",
        (BOATS, BOAT_COLUMNS),
        "red 1, 2, black 1, 2: 0-13 top rank, 0 while unopened; 14-15 suit of the top (h or s, d or c); "
        "16 cards of one suit up to the top / 13; 17 longest such stretch / 13; 18 opened; 19 full",
    ),
    Piece(
        "globals",
        (GLOBAL_COLUMNS,),
        "0 coins / 13; 1 lifebuoys that the seat can spend / 16; 2 lifebuoys of others / 16; 3 stock / 24; 4 discard pile / 24; "
        "5 rescued / 52; 6-7 phase: main, place; 8 hand / 3; 9 reversible moves of the segment / 24; 10 decisions / 1000; "
        "11 reshuffles / 13; 12 the stock's content is known; 13-16 level; 17-21 players; 22 seat to move / 4; 23 open queues",
        # Reshuffles, at most one a decision, have no smaller bound when pumping is free.
        high=80.0,
    ),
)
CARD_ROW = LAYOUT.start("cards") + CARD_COLUMNS * np.arange(CARDS)
SECTION_ROWS = LAYOUT.start("sections")
BOAT_ROWS = LAYOUT.start("boats")
GLOBALS = LAYOUT.start("globals")


@kernel
def observe(s: Any, seat: int, out: Any) -> None:
    """Write the seat's observation."""
    observe_cards(s, out)
    for i in range(SECTIONS):
        observe_section(s, i, out)
    coins = ship_coins(s)
    if coins > 0:
        out[SECTION_ROWS + SECTION_COLUMNS * bow_coin(s) + 3] = 1
    for boat in range(BOATS):
        row = BOAT_ROWS + BOAT_COLUMNS * boat
        rank = s.boat[boat]
        out[row + rank] = 1
        if rank > 0:
            out[row + RANKS + 1 + (s.boat_suits[boat] >> (rank - 1) & 1)] = 1
        out[row + 16] = s.stretch[boat] / RANKS
        out[row + 17] = s.longest[boat] / RANKS
        out[row + 18] = rank > 0
        out[row + 19] = rank == RANKS
    others = 0
    for other in range(s.players):
        others += s.own[other]
    out[GLOBALS] = coins / 13
    out[GLOBALS + 1] = budget(s, seat) / 16
    out[GLOBALS + 2] = (others - s.own[seat]) / 16
    out[GLOBALS + 3] = s.stock_size / STOCK_SIZE
    out[GLOBALS + 4] = s.discard_size / STOCK_SIZE
    out[GLOBALS + 5] = s.rescued / CARDS
    out[GLOBALS + 6 + (s.phase == PLACING)] = 1
    out[GLOBALS + 8] = s.hand_size / 3
    out[GLOBALS + 9] = s.segment / REVERSIBLE_LIMIT
    out[GLOBALS + 10] = s.decisions / DECISION_LIMIT
    out[GLOBALS + 11] = s.reshuffles / 13
    out[GLOBALS + 12] = s.reshuffles > 0
    out[GLOBALS + 13 + s.level] = 1
    out[GLOBALS + 16 + s.players] = 1
    out[GLOBALS + 22] = max(s.to_move, 0) / 4
    out[GLOBALS + 23] = s.open_queues


@kernel
def observe_cards(s: Any, out: Any) -> None:
    """The cards' rows."""
    boats = boat_kinds(s)
    boarding = cards_of(boats)
    fitting = cards_of(queue_kinds(s) | boats)
    unseen_at = np.int64(s.unseen_at)
    for card in range(CARDS):
        where = np.int64(s.where[card])
        outside = 1 - (where >> IN_BOAT & 1 | where >> IN_BOAT + 1 & 1)
        # Most columns are bits of this number. Eight at a time and without branches: the compiler makes vector instructions of it.
        bits = where | unseen_at * (where == 0) | (fitting >> card & outside) << FITS | (boarding >> card & outside) << BOARDS
        row = CARD_ROW[card]
        for k in range(8):
            out[row + k] = BITS[bits & 0xFF, k]
        for k in range(8):
            out[row + 8 + k] = BITS[bits >> 8 & 0xFF, k]
        for k in range(8):
            out[row + 16 + k] = BITS[bits >> 16 & 0xFF, k]
    for i in range(SECTIONS):
        front = s.queue_size[i] - 1
        if front >= 0:
            out[CARD_ROW[s.queue[i, front]] + IS_FRONT] = 1
            for k in range(s.face_down[i], front + 1):
                row = CARD_ROW[s.queue[i, k]]
                out[row + DISTANCE] = min(front - k, 12) / 12
                out[row + IN_RUN] = front - k < s.run[i]


@kernel
def observe_section(s: Any, i: int, out: Any) -> None:
    """One section's row."""
    row = SECTION_ROWS + SECTION_COLUMNS * i
    front = s.front[i]
    out[row] = front == FLOODED
    out[row + 1] = s.coins[i] / 5
    out[row + 2] = s.start_coins[i] / 5
    out[row + 4] = s.face_down[i] / CARDS
    out[row + 5] = (s.queue_size[i] - s.face_down[i]) / RANKS
    if s.unseen_at >> FACE_DOWN + i & 1:
        share = 1.0
        if s.linked[i] != 1 << i:
            places = 0
            for t in range(SECTIONS):
                places += s.face_down[t] * ((s.linked[i] & s.unseen_at >> FACE_DOWN) >> t & 1)
            share = s.face_down[i] / places
        out[row + 6] = s.unseen[i] * share / CARDS
    out[row + 7] = front == EMPTY
    if front < EMPTY:
        out[row + 8 + front // RANKS] = 1
        out[row + 10 + front % RANKS] = 1
        out[row + 23 + (front + s.run[i] - 1) % RANKS] = 1


def symmetry(suits: Sequence[int]) -> Symmetry:
    """The naming in which suit ``i`` is called what suit ``suits[i]`` was; the suits of a colour stay together."""
    cards = np.concatenate([RANKS * suit + np.arange(RANKS) for suit in suits])
    pieces = LAYOUT.unpack(np.arange(LAYOUT.size))
    pieces["cards"] = pieces["cards"][cards]
    if suits[0] > 1:
        pieces["sections"][:, 8:10] = pieces["sections"][:, 9:7:-1].copy()
        pieces["boats"] = pieces["boats"][[2, 3, 0, 1]]
    for colour in range(2):
        if suits[2 * colour] % 2 == 1:
            tops = pieces["boats"][2 * colour : 2 * colour + 2, RANKS + 1 : RANKS + 3]
            tops[:] = tops[:, ::-1].copy()
    actions = np.arange(NUM_ACTIONS)
    actions[CALL : CALL + CARDS] = CALL + cards
    return Symmetry(LAYOUT.pack(pieces), actions, suits)
