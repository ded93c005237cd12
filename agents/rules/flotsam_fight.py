"""Flotsam Fight: rule agents.

``low``      the lowest legal card, on the boat with the smallest jump, never pass: the published script.
``strong``   rates every action by what it leaves behind (hand, board, what the others may be able to play) and takes the best.
"""

from typing import Any

import numpy as np

from ...envs.core.jit import kernel
from ...envs.flotsam_fight.rules import BOATS, CARD_VALUES, CARDS, FIRST_PAIR, MAX_HAND, PAIR_BOAT, PAIR_CARD, PAIRS, PASS, UNSEEN
from ..parameters import Parameter

LOW, STRONG = 1, 2
ROLLOUTS_UNTIL = "reward"  # the rounds to come are new deals

# What the strong agent counts in every action: name, what it is, its weight with two players and with more. The first eleven were fitted by
# evolution against seats filled with ``low``. With two players the aim was to win the round (F14: nothing else counts), with three and four
# the points of the round, which is worth some rounds that are not won. The others count for nothing here; the weights that a fit found for
# those from "last" on are the agent ``fitted``. These say what a network that learned from searches sees and the first ones do not: whether
# the cards left fit boats that are already active (an inactive one is activated by others), and whether they go together on one boat.
COUNTS = (
    ("rank", "of the card played: 0 the lowest of all .. 1", -2.9, -1.1),
    ("opens", "the play activates a boat", 4.2, 3.4),
    ("spare", "other boats that the card would fit: it was a good exit", -0.3, -0.1),
    ("exit", "all cards left could be played in a row if nobody interfered", 1.4, 1.3),
    ("exit_late", "the same while an opponent has at most two cards", 2.2, 2.6),
    ("free", "share of the unseen cards that could be played next", -1.1, -0.9),
    ("one", "a single card is left, which a reset turns into three", -0.9, -1.2),
    ("high", "rank of the highest card left, while an opponent has at most two cards: it decides about +1 and -1 (F13)", 0.0, -5.5),
    ("passing", "passing", -4.9, -4.6),
    ("passing_two", "passing with two cards", 3.9, 3.9),
    ("passing_others", "opponents who have not passed, when passing", -1.3, -1.2),
    ("free_late", "the share of the unseen cards while an opponent has at most two cards", 0.0, 0.0),
    ("jump", "from the boat's top to the card played, in parts of 100", 0.0, 0.0),
    ("next", "share of the cards left that could be played next", 0.0, 0.0),
    ("run", "share of the cards left that could be played in a row if nobody interfered", 0.0, 0.0),
    ("rank_left", "rank of the card played, times a tenth of the cards left", 0.0, 0.0),
    ("opens_left", "the play activates a boat, times a tenth of the cards left", 0.0, 0.0),
    ("free_left", "share of the unseen cards that could be played next, times a tenth of the cards left", 0.0, 0.0),
    ("passing_left", "passing, times a tenth of the cards left", 0.0, 0.0),
    ("last", "chance that the single card left can be played at the next turn, though every opponent plays before", 0.0, 0.0),
    ("free_last", "share of the unseen cards that could be played next, while a single card is left", 0.0, 0.0),
    ("follow", "share of the cards left that fit the boat just loaded", 0.0, 0.0),
    ("places", "active boats that a card left fits, on average", 0.0, 0.0),
    ("fits", "cards left that could be played next, in parts of 10", 0.0, 0.0),
    ("boat", "share of the cards left that the boat with the most of them takes, were it empty", 0.0, 0.0),
    ("boat_all", "one boat takes all cards left", 0.0, 0.0),
    ("opens_rank", "rank of the card played, if it activates a boat", 0.0, 0.0),
    ("stuck_late", "chance that no opponent can play next (the lead stays), while one who has not passed has a single card", 0.0, 0.0),
    ("stuck_exit", "that chance, if after it all cards left could be played in a row if nobody interfered", 0.0, 0.0),
)
(
    RANK,
    OPENS,
    SPARE,
    EXIT,
    EXIT_LATE,
    FREE,
    ONE,
    HIGH,
    PASSING,
    PASSING_TWO,
    PASSING_OTHERS,
    FREE_LATE,
    JUMP,
    NEXT,
    RUN,
    RANK_LEFT,
    OPENS_LEFT,
    FREE_LEFT,
    PASSING_LEFT,
    LAST,
    FREE_LAST,
    FOLLOW,
    PLACES,
    FITS,
    BOAT,
    BOAT_ALL,
    OPENS_RANK,
    STUCK_LATE,
    STUCK_EXIT,
) = range(len(COUNTS))
NUMBERS = len(COUNTS)

PARAMETERS = {
    "strong": (
        *(Parameter(f"two.{name}", weight, about, players=(2, 2)) for name, about, weight, _ in COUNTS),
        *(Parameter(f"more.{name}", weight, about, players=(3, 6)) for name, about, _, weight in COUNTS),
    )
}
AGENTS: dict[str, tuple[int, tuple[float, ...]]] = {"low": (LOW, ()), "strong": (STRONG, tuple(p.default for p in PARAMETERS["strong"]))}


# Sets of cards are two words of 32 bits. ABOVE[boat, height]: the cards that fit the boat with that top.
ABOVE = np.zeros((BOATS, CARD_VALUES[-1] + 1, 2), np.int64)
for _pair in range(PAIRS):
    _card = PAIR_CARD[_pair]
    ABOVE[PAIR_BOAT[_pair], : CARD_VALUES[_card], _card // 32] |= 1 << _card % 32


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of the seat to move."""
    if kind == LOW:
        return low(view, mask)
    return strong(view, mask, params[:NUMBERS] if view.players == 2 else params[NUMBERS : 2 * NUMBERS])


@kernel
def low(view: Any, mask: Any) -> int:
    """Lowest legal card; on the boat with the smallest jump over its top (an inactive boat counts as 0), of equal jumps the lowest boat."""
    best = PASS
    for pair in range(PAIRS):
        if mask[pair]:
            if best != PASS and PAIR_CARD[pair] != PAIR_CARD[best]:
                break
            if best == PASS or view.top[PAIR_BOAT[pair]] > view.top[PAIR_BOAT[best]]:
                best = pair
    return best


@kernel
def strong(view: Any, mask: Any, weights: Any) -> int:
    """The action with the highest sum of weighted counts, the lowest id of equals; the last card is always played."""
    seat = view.to_move
    size = view.hand_size[seat]
    late = 0
    others = 0
    # Of the opponents who have not passed: those with a single card, and the cards of all of them. As exponents they are floats, so that
    # powers are the same without the compiler.
    singles = 0.0
    rivals = 0.0
    for other in range(view.players):
        if other != seat:
            others += 1 - view.passed[other]
            rivals += (1 - view.passed[other]) * view.hand_size[other]
            singles += (1 - view.passed[other]) * (view.hand_size[other] == 1)
            if view.hand_size[other] <= 2:
                late = 1
    unseen = np.zeros(2, np.int64)
    for card in range(CARDS):
        if view.place[card] == UNSEEN:
            unseen[card // 32] |= 1 << card % 32
    unseen_count = max(count_common(unseen, unseen), 1)
    fitting = np.empty(2, np.int64)
    kept = np.empty(2, np.int64)
    top = np.empty(BOATS, np.int64)
    empty = np.empty(BOATS, np.int64)
    hand = np.empty(MAX_HAND, np.int64)
    best = -1
    best_value = 0.0
    for action in range(PASS + 1):
        if not mask[action]:
            continue
        if action != PASS and size == 1:
            return action
        top[:] = view.top
        left = 0
        kept[:] = 0
        for k in range(size):
            card = view.hand[seat, k]
            if action == PASS or card != PAIR_CARD[action]:
                hand[left] = card
                kept[card // 32] |= np.int64(1) << (card % 32)
                left += 1
        value = weights[HIGH] * late * hand[left - 1] / CARDS
        if weights[BOAT] != 0 or weights[BOAT_ALL] != 0:
            taken = 0
            for boat in range(BOATS):
                taken = max(taken, count_common(ABOVE[boat, 0], kept))
            value += weights[BOAT] * taken / left + weights[BOAT_ALL] * (taken == left)
        if action == PASS:
            value += weights[PASSING] + weights[PASSING_TWO] * (size == 2) + weights[PASSING_OTHERS] * others
            value += weights[PASSING_LEFT] * left / 10
        else:
            card = PAIR_CARD[action]
            boat = PAIR_BOAT[action]
            open_boats = view.players - view.active - (top[boat] == 0)
            value += weights[RANK] * card / CARDS + (weights[OPENS] + weights[OPENS_RANK] * card / CARDS) * (top[boat] == 0)
            value += (weights[RANK_LEFT] * card / CARDS + weights[OPENS_LEFT] * (top[boat] == 0)) * left / 10
            value += weights[SPARE] * (FIRST_PAIR[card + 1] - FIRST_PAIR[card] - 1) + weights[ONE] * (left == 1)
            value += weights[JUMP] * (CARD_VALUES[card] - top[boat]) / 100
            top[boat] = CARD_VALUES[card]
            find_fitting(top, open_boats, fitting)
            free = count_common(fitting, unseen) / unseen_count
            value += (weights[FREE] + weights[FREE_LATE] * late + weights[FREE_LEFT] * left / 10 + weights[FREE_LAST] * (left == 1)) * free
            following = count_common(fitting, kept)
            value += weights[NEXT] * following / left + weights[FITS] * following / 10
            # What costs time is left out where it counts for nothing: as long as its defaults are 0, the agent of most rollouts is as fast.
            if weights[FOLLOW] != 0:
                value += weights[FOLLOW] * count_common(ABOVE[boat, top[boat]], kept) / left
            if weights[PLACES] != 0:
                value += weights[PLACES] * count_places(top, kept) / left
            if weights[LAST] != 0 or weights[STUCK_LATE] != 0 or weights[STUCK_EXIT] != 0:
                stuck = (1 - free) ** rivals
                value += weights[STUCK_LATE] * (singles > 0) * stuck
                if weights[STUCK_EXIT] != 0:
                    empty[:] = 0
                    value += weights[STUCK_EXIT] * stuck * (run_length(hand, left, empty, view.players) == left)
                if weights[LAST] != 0 and left == 1:
                    value += weights[LAST] * (1 - free) ** singles * stay_chance(hand[0], top, unseen, free * unseen_count, stuck)
            run = run_length(hand, left, top, open_boats)
            value += weights[RUN] * run / left
            if run == left:
                value += weights[EXIT] + weights[EXIT_LATE] * late
        if best < 0 or value > best_value:
            best = action
            best_value = value
    return best


@kernel
def find_fitting(top: Any, open_boats: int, fitting: Any) -> None:
    """The set of cards that fit a board with these tops, on which ``open_boats`` more boats may be activated."""
    fitting[:] = 0
    for boat in range(BOATS):
        if top[boat] > 0 or open_boats > 0:
            for word in range(2):
                fitting[word] |= ABOVE[boat, top[boat], word]


@kernel
def count_common(cards: Any, others: Any) -> int:
    """How many cards two sets have in common: the bits of each word are added up in pairs, fours, bytes."""
    count = 0
    for word in range(2):
        bits = cards[word] & others[word]
        bits -= (bits >> 1) & 0x55555555
        bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
        bits = (bits + (bits >> 4)) & 0x0F0F0F0F
        count += (bits * 0x01010101 >> 24) & 0xFF
    return count


@kernel
def count_places(top: Any, cards: Any) -> int:
    """How many ways there are to load one of a set of cards onto an active boat."""
    count = 0
    for boat in range(BOATS):
        if top[boat] > 0:
            count += count_common(ABOVE[boat, top[boat]], cards)
    return count


@kernel
def stay_chance(card: int, top: Any, unseen: Any, free: float, stuck: float) -> float:
    """Chance that a card fits an active boat at the next turn: a reply, one of the ``free`` unseen cards, may cover each of them."""
    covered = 1.0
    for pair in range(FIRST_PAIR[card], FIRST_PAIR[card + 1]):
        boat = PAIR_BOAT[pair]
        if 0 < top[boat] < CARD_VALUES[card]:
            # The card itself is in hand, so not unseen.
            covered *= (1 - stuck) * count_common(ABOVE[boat, CARD_VALUES[card]], unseen) / max(free, 1.0)
    return 1 - covered


@kernel
def run_length(hand: Any, size: int, top: Any, open_boats: int) -> int:
    """How many cards of a hand can be played alone, lowest card first, each with the smallest jump. Overwrites ``top``."""
    for k in range(size):
        card = hand[k]
        chosen = -1
        for pair in range(FIRST_PAIR[card], FIRST_PAIR[card + 1]):
            boat = PAIR_BOAT[pair]
            if top[boat] < CARD_VALUES[card] and (top[boat] > 0 or open_boats > 0) and (chosen < 0 or top[boat] > top[chosen]):
                chosen = boat
        if chosen < 0:
            return k
        if top[chosen] == 0:
            open_boats -= 1
        top[chosen] = CARD_VALUES[card]
    return size
