"""Flotsam Fight: rule agents.

``low``      the lowest legal card, on the boat with the smallest jump, never pass: the published script.
``strong``   rates every action by what it leaves behind (hand, board, what the others may be able to play) and takes the best.
"""

from typing import Any

import numpy as np

from ...envs.core.jit import kernel
from ...envs.flotsam_fight.rules import BOATS, CARD_VALUES, CARDS, FIRST_PAIR, MAX_HAND, PAIR_BOAT, PAIR_CARD, PAIRS, PASS, UNSEEN

LOW, STRONG = 1, 2
AGENTS: dict[str, tuple[int, tuple[float, ...]]] = {"low": (LOW, ()), "strong": (STRONG, ())}
ROLLOUTS_UNTIL = "reward"  # the rounds to come are new deals

# What the strong agent counts, each times its weight.
RANK = 0  # of the card played: 0 the lowest of all .. 1
OPENS = 1  # the play activates a boat
SPARE = 2  # other boats that the card would fit: it was a good exit
EXIT = 3  # all cards left could be played in a row if nobody interfered
EXIT_LATE = 4  # the same while an opponent has at most two cards
FREE = 5  # share of the unseen cards that could be played next
ONE = 6  # a single card is left, which a reset turns into three
HIGH = 7  # rank of the highest card left, while an opponent has at most two cards: it decides about +1 and -1 (F13)
PASSING = 8
PASSING_TWO = 9  # passing with two cards
PASSING_OTHERS = 10  # opponents who have not passed, when passing

# Fitted by evolution of the weights against seats filled with ``low``, on rounds of simulation seeds. With two players the aim was to win
# the round (F14: nothing else counts), with three and four the points of the round, which is worth some rounds that are not won.
TWO_PLAYERS = np.array([-2.9, 4.2, -0.3, 1.4, 2.2, -1.1, -0.9, 0.0, -4.9, 3.9, -1.3])
MORE_PLAYERS = np.array([-1.1, 3.4, -0.1, 1.3, 2.6, -0.9, -1.2, -5.5, -4.6, 3.9, -1.2])


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of the seat to move."""
    if kind == LOW:
        return low(view, mask)
    return strong(view, mask, TWO_PLAYERS if view.players == 2 else MORE_PLAYERS)


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
    for other in range(view.players):
        if other != seat:
            others += 1 - view.passed[other]
            if view.hand_size[other] <= 2:
                late = 1
    top = np.empty(BOATS, np.int64)
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
        for k in range(size):
            if action == PASS or view.hand[seat, k] != PAIR_CARD[action]:
                hand[left] = view.hand[seat, k]
                left += 1
        value = weights[HIGH] * late * hand[left - 1] / CARDS
        if action == PASS:
            value += weights[PASSING] + weights[PASSING_TWO] * (size == 2) + weights[PASSING_OTHERS] * others
        else:
            card = PAIR_CARD[action]
            boat = PAIR_BOAT[action]
            open_boats = view.players - view.active - (top[boat] == 0)
            value += weights[RANK] * card / CARDS + weights[OPENS] * (top[boat] == 0)
            value += weights[SPARE] * (FIRST_PAIR[card + 1] - FIRST_PAIR[card] - 1) + weights[ONE] * (left == 1)
            top[boat] = CARD_VALUES[card]
            value += weights[FREE] * free_share(view, top, open_boats)
            if can_run(hand, left, top, open_boats):
                value += weights[EXIT] + weights[EXIT_LATE] * late
        if best < 0 or value > best_value:
            best = action
            best_value = value
    return best


@kernel
def free_share(view: Any, top: Any, open_boats: int) -> float:
    """The share of the cards this seat cannot see that fit a board with these tops, on which ``open_boats`` more may be activated."""
    unseen = 0
    free = 0
    for card in range(CARDS):
        if view.place[card] == UNSEEN:
            unseen += 1
            for pair in range(FIRST_PAIR[card], FIRST_PAIR[card + 1]):
                height = top[PAIR_BOAT[pair]]
                if height < CARD_VALUES[card] and (height > 0 or open_boats > 0):
                    free += 1
                    break
    return free / max(unseen, 1)


@kernel
def can_run(hand: Any, size: int, top: Any, open_boats: int) -> bool:
    """Whether a hand can be played out alone, lowest card first, each with the smallest jump. Overwrites ``top``."""
    for k in range(size):
        card = hand[k]
        chosen = -1
        for pair in range(FIRST_PAIR[card], FIRST_PAIR[card + 1]):
            boat = PAIR_BOAT[pair]
            if top[boat] < CARD_VALUES[card] and (top[boat] > 0 or open_boats > 0) and (chosen < 0 or top[boat] > top[chosen]):
                chosen = boat
        if chosen < 0:
            return False
        if top[chosen] == 0:
            open_boats -= 1
        top[chosen] = CARD_VALUES[card]
    return True
