"""Rule agents of Alle in die Boote: the two simple players of section 11 of the rules page, and a stronger one."""

from typing import Any

import numpy as np

from ...envs.alle_in_die_boote.rules import (
    ACCEPTS,
    BOARD,
    BOATS,
    CALL,
    CARDS,
    COST_CALL,
    COST_EVEN,
    COST_LETPASS,
    COST_PUMP,
    DISCARDED,
    EMPTY,
    EVEN,
    FACE_DOWN,
    FLOODED,
    HAND_SLOTS,
    IN_STOCK,
    KIND,
    LETPASS,
    PLACE,
    PLACING,
    PUMP,
    RANK,
    RANKS,
    RESCUE,
    SECTIONS,
    WANTS,
    boat_kinds,
    move_id,
    move_size,
    ship_coins,
)
from ...envs.core.jit import kernel
from ..parameters import Parameter

SIMPLE, CALL_PUMP, STRONG = 1, 2, 3
# Where the numbers of a sketch lie, see below.
SIZE, DOWN, RUNS, BOAT, COUNTS = 0, SECTIONS, 2 * SECTIONS, 3 * SECTIONS, 3 * SECTIONS + BOATS
BELOW = np.append(WANTS, [-1, -1])  # of EMPTY and FLOODED too

# The strong agent's numbers. It counts in the layout that the obvious free moves would lead to, where a rescued card counts 1; a command is
# worth what it gains less its cost in lifebuoys, and is given if that is more than nothing. The first ten were fitted by evolution of the
# weights on the score of simulated games, Leicht and Normal in turn; the others count for nothing unless a fit finds a use for them.
PARAMETERS = {
    "strong": (
        Parameter("turn_up", 0.84, "a face-down card that can be turned up", 0.3),
        Parameter("cleared", 0.32, "the same if it is the last one of its section", 0.3),
        Parameter("vacant", 0.145, "an empty dry section", 0.3),
        Parameter("chance", 0.75, "the chance that one of the next three cards fits", 0.5),
        Parameter("run", 0.285, "a card that lies in a front run behind the front", 0.2),
        Parameter("lifebuoy", 0.36, "the worth of a lifebuoy", 0.2),
        Parameter("last_lifebuoy", -0.09, "the worth of a lifebuoy when a single coin is left", 0.2),
        Parameter("coin", 1.46, "the worth of a coin: what pumping gains", 0.5),
        Parameter("levelling", 0.072, "what 'even' gains for each card of the difference", 0.1),
        Parameter("enough", 0.85, "a chance of a fit with which no more cards are drawn", 0.2),
        Parameter("blocked", 0.0, "an open card in front of a lower one of its colour that lies in the same queue", 0.1),
        Parameter("hidden", 0.0, "a face-down card, by the number of open cards that lie on it", 0.1),
        Parameter("lifebuoy_coins", 0.0, "what every coin in the ship adds to the worth of a lifebuoy", 0.05),
        Parameter("coin_coins", 0.0, "what every coin in the ship adds to the worth of a coin", 0.1),
    )
}
(
    TURN_UP,
    CLEARED,
    VACANT,
    CHANCE,
    RUN,
    LIFEBUOY,
    LAST_LIFEBUOY,
    COIN,
    LEVELLING,
    ENOUGH,
    BLOCKED,
    HIDDEN,
    LIFEBUOY_COINS,
    COIN_COINS,
) = range(len(PARAMETERS["strong"]))
AGENTS: dict[str, tuple[int, tuple[float, ...]]] = {
    "simple": (SIMPLE, ()),
    "call_pump": (CALL_PUMP, ()),
    "strong": (STRONG, tuple(p.default for p in PARAMETERS["strong"])),
}


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of the seat to move.

    ``simple``: free moves, then the largest rescue. ``call_pump``: calls a card into a boat, or pumps, before it rescues. ``strong``: what
    leads to the best layout, by weighted counts.
    """
    if kind == STRONG:
        return strong(view, mask, params)
    if view.phase == PLACING:
        return simple_place(view, mask)
    action = first_boarding(mask)
    if action < 0:
        action = run_move(view, mask)
    if action < 0 and kind == CALL_PUMP:
        action = boat_call(view, mask)
        if action < 0 and mask[PUMP]:
            action = PUMP
    return action if action >= 0 else largest_rescue(mask)


@kernel
def first_boarding(mask: Any) -> int:
    """Lowest section first, boat 1 before boat 2; -1 if nothing can board."""
    for action in range(BOARD, RESCUE):
        if mask[action]:
            return action
    return -1


@kernel
def largest_rescue(mask: Any) -> int:
    """The largest rescue that is offered."""
    n = HAND_SLOTS - 1
    while not mask[RESCUE + n]:
        n -= 1
    return RESCUE + n


@kernel
def run_move(view: Any, mask: Any) -> int:
    """The best move of a whole front run that leaves a card behind, or empties its section onto a front; -1 if there is none."""
    best = -1
    best_worth = -1
    for i in range(SECTIONS):
        for j in range(SECTIONS):
            if i == j or not mask[move_id(i, j)] or move_size(view, i, j) != view.run[i]:
                continue
            left = view.queue_size[i] - view.run[i]
            onto_front = view.front[j] < EMPTY
            if left == 0 and not onto_front:
                continue
            turns_up = view.face_down[i] > 0 and left == view.face_down[i]
            worth = ((onto_front * 2 + turns_up) * (CARDS + 1) + view.face_down[i]) * SECTIONS + j
            if worth > best_worth:
                best = move_id(i, j)
                best_worth = worth
    return best


@kernel
def boat_call(view: Any, mask: Any) -> int:
    """The call of the lowest card of the discard pile that a boat takes (suits in the order h d s c); -1 if there is none."""
    boats = boat_kinds(view)
    best = -1
    for card in range(CARDS):
        if mask[CALL + card] and boats >> KIND[card] & 1 and (best < 0 or RANK[card] < RANK[best]):
            best = card
    return CALL + best if best >= 0 else -1


@kernel
def simple_place(view: Any, mask: Any) -> int:
    """A boat if possible; else the highest card on a front; else a King into an empty section; the stern-most target."""
    best = -1
    best_worth = -1
    for slot in range(view.hand_size):
        for target in range(SECTIONS + 2):
            action = PLACE + 8 * slot + target
            if not mask[action]:
                continue
            if target >= SECTIONS:
                return action
            worth = target
            if view.front[target] < EMPTY:
                worth += RANK[view.hand[slot]] * SECTIONS
            if worth > best_worth:
                best = action
                best_worth = worth
    return best


# The strong agent works on a sketch of the layout: shown[i, 1:] the kinds of the open cards of queue i, back to front, `size` how many,
# `run` how many of them are its front run, `down` the face-down cards; `boat` the top ranks. shown[i, 0] is the front of a queue without
# open cards: EMPTY or FLOODED, and like a flooded one a queue with face-down cards takes nothing: its front is not known yet. The layout
# as it stands is drawn once and copied for every candidate.


@kernel
def strong(view: Any, mask: Any, weights: Any) -> int:
    """Board; the free move, or placement, that leads to the best layout; a command that is worth its lifebuoys; a rescue."""
    action = first_boarding(mask)
    if action >= 0:
        return action
    sketches = np.empty((2, SECTIONS, CARDS + 1), np.int64)
    numbers = np.empty((2, COUNTS), np.int64)
    drawn, counts = sketches[0], numbers[0]
    sketch(view, drawn, counts)
    shown, copied = sketches[1], numbers[1]
    pool = next_cards(view)
    if view.phase == PLACING:
        best = -1
        best_worth = -np.inf
        for action in range(PLACE, PLACE + 8 * view.hand_size):
            if mask[action]:
                copy_sketch(drawn, counts, shown, copied)
                put_kind(shown, copied, KIND[view.hand[(action - PLACE) // 8]], (action - PLACE) % 8)
                worth = judge(shown, copied, pool, weights) + ((action - PLACE) % 8 >= SECTIONS)
                if worth > best_worth:
                    best = action
                    best_worth = worth
        return best
    now = rate(drawn, counts, pool, weights)
    best = -1
    best_worth = now + 1e-6
    for i in range(SECTIONS):
        for j in range(SECTIONS):
            if i != j and mask[move_id(i, j)]:
                copy_sketch(drawn, counts, shown, copied)
                carry(shown, copied, i, j, move_size(view, i, j))
                worth = judge(shown, copied, pool, weights)
                if worth > best_worth:
                    best = move_id(i, j)
                    best_worth = worth
    if best >= 0:
        return best
    coins = ship_coins(view)
    lifebuoy = (weights[LIFEBUOY] if coins > 1 else weights[LAST_LIFEBUOY]) + weights[LIFEBUOY_COINS] * coins
    coin = weights[COIN] + weights[COIN_COINS] * coins
    best_worth = 0.0
    for card in range(CARDS):
        if mask[CALL + card]:
            for target in range(SECTIONS + 2):
                copy_sketch(drawn, counts, shown, copied)
                if not put_kind(shown, copied, KIND[card], target):
                    continue
                gain = judge(shown, copied, pool, weights) - now + (target >= SECTIONS)
                worth = gain - lifebuoy * view.cost[COST_CALL]
                if worth > best_worth:
                    best = CALL + card
                    best_worth = worth
    gains = np.empty(2 * RANKS)
    for i in range(SECTIONS):
        if mask[LETPASS + i]:
            gain = 0.0
            count = 0
            judged = 0  # the kinds whose gain is known
            for card in range(CARDS):
                where = view.where[card] | view.unseen_at * (view.where[card] == 0)
                if where >> FACE_DOWN + i & 1:
                    kind = KIND[card]
                    if not judged >> kind & 1:
                        judged |= 1 << kind
                        copy_sketch(drawn, counts, shown, copied)
                        turn_up(shown, copied, i, kind)
                        gains[kind] = judge(shown, copied, pool, weights) - now
                    gain += gains[kind]
                    count += 1
            worth = gain / max(count, 1) - lifebuoy * view.cost[COST_LETPASS]
            if worth > best_worth:
                best = LETPASS + i
                best_worth = worth
        if i < SECTIONS - 1 and mask[EVEN + i]:
            worth = weights[LEVELLING] * abs(view.face_down[i] - view.face_down[i + 1]) - lifebuoy * view.cost[COST_EVEN]
            if worth > best_worth:
                best = EVEN + i
                best_worth = worth
    if mask[PUMP] and coin - lifebuoy * view.cost[COST_PUMP] > best_worth:
        best = PUMP
    if best >= 0:
        return best
    missing = 1.0
    share = fit_share(drawn, counts, pool)
    for n in range(HAND_SLOTS):
        missing *= 1 - share
        if not mask[RESCUE + n]:
            return RESCUE + n - 1
        if 1 - missing >= weights[ENOUGH]:
            return RESCUE + n
    return RESCUE + HAND_SLOTS - 1


@kernel
def next_cards(view: Any) -> Any:
    """What may come from the stock next, from the discard pile when it is empty: the kinds, those of two cards, how many cards."""
    pool = np.zeros(3, np.int64)
    for card in range(CARDS):
        where = view.where[card] | view.unseen_at * (view.where[card] == 0)
        if (where >> IN_STOCK & 1) or (view.stock_size == 0 and where >> DISCARDED & 1):
            kind = 1 << KIND[card]
            pool[1] |= pool[0] & kind
            pool[0] |= kind
            pool[2] += 1
    return pool


@kernel
def sketch(view: Any, shown: Any, counts: Any) -> None:
    """Draw the layout; ``counts`` are `size`, `down`, `run` and `boat`."""
    for i in range(SECTIONS):
        down = view.face_down[i]
        size = view.queue_size[i] - down
        shown[i, 0] = EMPTY if down == 0 and view.front[i] != FLOODED else FLOODED
        for k in range(size):
            shown[i, 1 + k] = KIND[view.queue[i, down + k]]
        counts[SIZE + i] = size
        counts[DOWN + i] = down
        counts[RUNS + i] = view.run[i]
    for b in range(BOATS):
        counts[BOAT + b] = view.boat[b]


@kernel
def copy_sketch(drawn: Any, counts: Any, shown: Any, copied: Any) -> None:
    """Copy a sketch."""
    copied[:] = counts
    for i in range(SECTIONS):
        for k in range(counts[SIZE + i] + 1):
            shown[i, k] = drawn[i, k]


@kernel
def add_kind(shown: Any, counts: Any, i: int, kind: int) -> None:
    """A card becomes the front of queue i."""
    fits = BELOW[shown[i, counts[SIZE + i]]] == kind
    counts[SIZE + i] += 1
    shown[i, counts[SIZE + i]] = kind
    counts[RUNS + i] = counts[RUNS + i] + 1 if fits else 1


@kernel
def turn_up(shown: Any, counts: Any, i: int, kind: int) -> None:
    """The frontmost face-down card of queue i becomes its front and turns out to be of a kind."""
    counts[DOWN + i] -= 1
    if counts[DOWN + i] == 0:
        shown[i, 0] = EMPTY
    add_kind(shown, counts, i, kind)


@kernel
def put_kind(shown: Any, counts: Any, kind: int, target: int) -> bool:
    """Put a card on a queue (0 .. 5) or into a boat of its colour (6, 7) if it fits there."""
    if target >= SECTIONS:
        b = kind // RANKS * 2 + target - SECTIONS
        if counts[BOAT + b] != kind % RANKS:
            return False
        counts[BOAT + b] += 1
        return True
    if not ACCEPTS[shown[target, counts[SIZE + target]]] >> kind & 1:
        return False
    add_kind(shown, counts, target, kind)
    return True


@kernel
def remove_kinds(shown: Any, counts: Any, i: int, m: int) -> None:
    """The m front cards of queue i, all of its front run, have gone."""
    counts[SIZE + i] -= m
    counts[RUNS + i] -= m
    size = counts[SIZE + i]
    if size > 0 and counts[RUNS + i] == 0:
        run = 1
        while BELOW[shown[i, size - run]] == shown[i, size - run + 1]:
            run += 1
        counts[RUNS + i] = run


@kernel
def carry(shown: Any, counts: Any, i: int, j: int, m: int) -> None:
    """Move the m front cards of queue i to queue j."""
    first = counts[SIZE + i] - m + 1
    for k in range(m):
        add_kind(shown, counts, j, shown[i, first + k])
    remove_kinds(shown, counts, i, m)


@kernel
def taken_by_queues(shown: Any, counts: Any) -> int:
    """The kinds that fit on a queue, as a set."""
    kinds = 0
    for i in range(SECTIONS):
        kinds |= ACCEPTS[shown[i, counts[SIZE + i]]]
    return kinds


@kernel
def taken_by_boats(counts: Any) -> int:
    """The kinds that a boat takes, as a set."""
    red = 1 << counts[BOAT] | 1 << counts[BOAT + 1]
    black = 1 << counts[BOAT + 2] | 1 << counts[BOAT + 3]
    return (red & 0x1FFF) | (black & 0x1FFF) << RANKS


@kernel
def judge(shown: Any, counts: Any, pool: Any, weights: Any) -> float:
    """The worth of a layout after the obvious free moves, cards that board included."""
    worth = 0.0
    busy = True
    while busy:
        busy = False
        kinds = taken_by_boats(counts)
        for i in range(SECTIONS):
            kind = shown[i, counts[SIZE + i]]
            while kinds >> kind & 1:
                b = kind // RANKS * 2
                if counts[BOAT + b] != kind % RANKS:
                    b += 1
                counts[BOAT + b] += 1
                kinds = taken_by_boats(counts)
                remove_kinds(shown, counts, i, 1)
                kind = shown[i, counts[SIZE + i]]
                worth += 1
                busy = True
        if busy:
            continue
        kinds = taken_by_queues(shown, counts)
        for i in range(SECTIONS):
            size = counts[SIZE + i]
            m = counts[RUNS + i]
            if size == 0 or not kinds >> shown[i, size - m + 1] & 1:
                continue
            for j in range(SECTIONS):
                front = shown[j, counts[SIZE + j]]
                whole = m == size + counts[DOWN + i]
                if i == j or not ACCEPTS[front] >> shown[i, size - m + 1] & 1 or (front == EMPTY and whole):
                    continue
                carry(shown, counts, i, j, m)
                kinds = taken_by_queues(shown, counts)
                busy = True
                break
    return worth + rate(shown, counts, pool, weights)


@kernel
def rate(shown: Any, counts: Any, pool: Any, weights: Any) -> float:
    """The worth of a layout as it stands."""
    worth = 0.0
    for i in range(SECTIONS):
        size = counts[SIZE + i]
        down = counts[DOWN + i]
        if size > 0:
            worth += weights[RUN] * (counts[RUNS + i] - 1) + weights[HIDDEN] * down * size
            if weights[BLOCKED] != 0:
                worth += weights[BLOCKED] * blocked(shown[i, 1:], size)
        elif down > 0:
            worth += weights[TURN_UP] + (weights[CLEARED] if down == 1 else 0)
        elif shown[i, 0] == EMPTY:
            worth += weights[VACANT]
    return worth + weights[CHANCE] * (1 - (1 - fit_share(shown, counts, pool)) ** HAND_SLOTS)


@kernel
def blocked(cards: Any, size: int) -> int:
    """Open cards of a queue in front of a lower one of their colour: they cannot board before it does."""
    count = 0
    lowest = np.full(2, RANKS, np.int64)  # behind, by colour
    for k in range(size):
        colour = cards[k] // RANKS
        rank = cards[k] % RANKS
        count += rank > lowest[colour]
        lowest[colour] = min(lowest[colour], rank)
    return count


@kernel
def fit_share(shown: Any, counts: Any, pool: Any) -> float:
    """The share of the next cards that fit somewhere."""
    fitting = taken_by_queues(shown, counts) | taken_by_boats(counts)
    return (count_kinds(pool[0] & fitting) + count_kinds(pool[1] & fitting)) / max(pool[2], 1)


@kernel
def count_kinds(kinds: int) -> int:
    """How many kinds a set has: bits are added up in pairs, fours, bytes (Warren, Hacker's Delight, chapter 5)."""
    kinds = kinds - (kinds >> 1 & 0x55555555)
    kinds = (kinds & 0x33333333) + (kinds >> 2 & 0x33333333)
    kinds = kinds + (kinds >> 4) & 0x0F0F0F0F
    return kinds * 0x01010101 >> 24 & 0xFF
