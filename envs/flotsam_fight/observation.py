"""Flotsam Fight: what a seat sees. Players are listed from the seat itself clockwise; one layout serves every player count."""

from typing import Any

from ..core.jit import kernel
from ..core.layout import Layout, Piece
from .rules import BOATS, CARD_VALUES, CARDS, FIRST_PAIR, MAX_PLAYERS, ON_BOAT, PAIR_BOAT, ROUND_LIMIT, SET_ASIDE, fits

LAYOUT = Layout(
    Piece("hand", (CARDS,), "own cards, ascending by value"),
    Piece("on_boat", (CARDS,), "cards on the boats"),
    Piece("set_aside", (CARDS,), "cards set aside since the draw pile was last built"),
    Piece("unseen", (CARDS,), "cards that may be in the draw pile or in another hand"),
    Piece("surely_held", (CARDS,), "unseen cards that are not in the draw pile: they must be in another hand (perfect recall)"),
    Piece(
        "boats",
        (BOATS, 4),
        "boats 3 .. 10: active; value of the top card / 98; open to a card (active, or the limit not reached); own playable cards / 10",
    ),
    Piece(
        "players",
        (MAX_PLAYERS, 8),
        "self, then clockwise: takes part; cards / 10; has passed; played the last card; holds the -1; points / (2 rounds); "
        "+2 markers / rounds; points of the last round / 2",
        low=-1.0,
    ),
    Piece(
        "globals",
        (8,),
        "players / 6; round / rounds; draw pile / 64; active boats / players; must lead; is the last who has not passed; "
        "decisions of this round / 600; piles rebuilt this round / 100",
    ),
)
HAND = LAYOUT.start("hand")
ON_BOATS = LAYOUT.start("on_boat")
ASIDE = LAYOUT.start("set_aside")
UNSEEN_CARDS = LAYOUT.start("unseen")
HELD = LAYOUT.start("surely_held")
BOAT_ROWS = LAYOUT.start("boats")
PLAYER_ROWS = LAYOUT.start("players")
GLOBALS = LAYOUT.start("globals")


@kernel
def observe(s: Any, seat: int, out: Any) -> None:
    """Write the seat's observation."""
    # One plain loop a piece, without branches: the compiler turns each into vector instructions.
    for card in range(CARDS):
        out[HAND + card] = s.place[card] == seat
    for card in range(CARDS):
        out[ON_BOATS + card] = s.place[card] == ON_BOAT
    for card in range(CARDS):
        out[ASIDE + card] = s.place[card] == SET_ASIDE
    for card in range(CARDS):
        out[UNSEEN_CARDS + card] = (s.place[card] != seat) & (s.place[card] != ON_BOAT) & (s.place[card] != SET_ASIDE)
    oldest = s.shuffles if s.deck_size > 0 else s.shuffles + 1
    for card in range(CARDS):
        out[HELD + card] = out[UNSEEN_CARDS + card] * (s.pile_of[card] < oldest)
    for boat in range(BOATS):
        row = BOAT_ROWS + 4 * boat
        out[row] = s.top[boat] > 0
        out[row + 1] = s.top[boat] / CARD_VALUES[CARDS - 1]
        out[row + 2] = s.top[boat] > 0 or s.active < s.players
    for k in range(s.hand_size[seat]):
        card = s.hand[seat, k]
        for pair in range(FIRST_PAIR[card], FIRST_PAIR[card + 1]):
            if fits(s, card, PAIR_BOAT[pair]):
                out[BOAT_ROWS + 4 * PAIR_BOAT[pair] + 3] += 1
    for boat in range(BOATS):  # divided at the end: ten times 0.1 is more than 1 in float32
        out[BOAT_ROWS + 4 * boat + 3] /= 10
    left = 0
    for k in range(s.players):
        other = (seat + k) % s.players
        left += 1 - s.passed[other]
        row = PLAYER_ROWS + 8 * k
        out[row] = 1
        out[row + 1] = s.hand_size[other] / 10
        out[row + 2] = s.passed[other]
        out[row + 3] = s.last_player == other
        out[row + 4] = s.marker == other
        out[row + 5] = s.score[other] / (2 * s.rounds)
        out[row + 6] = s.outs[other] / s.rounds
        out[row + 7] = s.last_points[other] / 2
    out[GLOBALS] = s.players / 6
    out[GLOBALS + 1] = s.round_no / s.rounds
    out[GLOBALS + 2] = s.deck_size / CARDS
    out[GLOBALS + 3] = s.active / s.players
    out[GLOBALS + 4] = s.to_move == seat and s.active == 0 and s.lead_may_pass == 0
    out[GLOBALS + 5] = left == 1 and s.passed[seat] == 0
    out[GLOBALS + 6] = s.round_decisions / ROUND_LIMIT
    out[GLOBALS + 7] = min(s.shuffles / 100, 1.0)
