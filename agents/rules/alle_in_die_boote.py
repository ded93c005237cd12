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
    KINGS,
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
SIZE, DOWN, RUNS, BOAT, STALE = 0, SECTIONS, 2 * SECTIONS, 3 * SECTIONS, 3 * SECTIONS + BOATS
COUNTS = STALE + 1
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
        Parameter("exposed", 0.0, "a card in a section that can be flooded, divided by the coins that go before it is", 0.1),
        Parameter("slope", 0.0, "a face-down card that one of two neighbours with cards has more than the other", 0.03),
        Parameter("even_layout", 0.0, "how much the change of the layout counts for 'even'", 0.5),
        Parameter("doomed", 0.0, "a face-down card in a section that can be flooded", 0.1),
        Parameter("passing", 0.0, "what 'let pass' gains beside the layout", 0.2),
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
    EXPOSED,
    SLOPE,
    EVEN_LAYOUT,
    DOOMED,
    PASSING,
) = range(len(PARAMETERS["strong"]))
# Where a position's prices lie, see `set_prices`: first the weights.
WEIGHTS = len(PARAMETERS["strong"])
CARD_AT, DOWN_AT, PRICES = WEIGHTS, WEIGHTS + SECTIONS, WEIGHTS + 2 * SECTIONS
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
# `worths` are what the sections of a sketch are worth, but those in the set `stale` have changed since. `prices` are the weights as they
# count in the present position, see `set_prices`.


@kernel
def strong(view: Any, mask: Any, weights: Any) -> int:
    """Board; the free move, or placement, that leads to the best layout; a command that is worth its lifebuoys; a rescue."""
    action = first_boarding(mask)
    if action >= 0:
        return action
    sketches = np.empty((3, SECTIONS, CARDS + 1), np.int64)
    numbers = np.empty((3, COUNTS), np.int64)
    values = np.empty((3, SECTIONS))
    drawn, counts, worths = sketches[0], numbers[0], values[0]
    sketch(view, drawn, counts)
    shown, copied, copies = sketches[1], numbers[1], values[1]
    pool = next_cards(view)
    prices = np.empty(PRICES)
    set_prices(view, weights, prices)
    if view.phase == PLACING:
        best = -1
        best_worth = -np.inf
        for action in range(PLACE, PLACE + 8 * view.hand_size):
            if mask[action]:
                copy_sketch(drawn, counts, worths, shown, copied, copies)
                put_kind(shown, copied, KIND[view.hand[(action - PLACE) // 8]], (action - PLACE) % 8)
                worth = judge(shown, copied, copies, pool, prices) + ((action - PLACE) % 8 >= SECTIONS)
                if worth > best_worth:
                    best = action
                    best_worth = worth
        return best
    now = rate(drawn, counts, worths, pool, prices)
    best = -1
    best_worth = now + 1e-6
    for i in range(SECTIONS):
        for j in range(SECTIONS):
            if i != j and mask[move_id(i, j)]:
                copy_sketch(drawn, counts, worths, shown, copied, copies)
                carry(shown, copied, i, j, move_size(view, i, j))
                worth = judge(shown, copied, copies, pool, prices)
                if worth > best_worth:
                    best = move_id(i, j)
                    best_worth = worth
    if best >= 0:
        return best
    coins = ship_coins(view)
    lifebuoy = (weights[LIFEBUOY] if coins > 1 else weights[LAST_LIFEBUOY]) + weights[LIFEBUOY_COINS] * coins
    coin = weights[COIN] + weights[COIN_COINS] * coins
    best_worth = 0.0
    judged = 0  # the kinds whose gain is known
    for card in range(CARDS):
        if mask[CALL + card] and not judged >> KIND[card] & 1:
            judged |= 1 << KIND[card]
            for target in range(SECTIONS + 2):
                copy_sketch(drawn, counts, worths, shown, copied, copies)
                if not put_kind(shown, copied, KIND[card], target):
                    continue
                gain = judge(shown, copied, copies, pool, prices) - now + (target >= SECTIONS)
                worth = gain - lifebuoy * view.cost[COST_CALL]
                if worth > best_worth:
                    best = CALL + card
                    best_worth = worth
    for i in range(SECTIONS):
        if mask[LETPASS + i]:
            copy_sketch(drawn, counts, worths, shown, copied, copies)
            worth = passed(shown, copied, copies, i, view, now, sketches[2], numbers[2], values[2], pool, prices)
            worth += weights[PASSING] - lifebuoy * view.cost[COST_LETPASS]
            if worth > best_worth:
                best = LETPASS + i
                best_worth = worth
        if i < SECTIONS - 1 and mask[EVEN + i]:
            worth = weights[LEVELLING] * abs(view.face_down[i] - view.face_down[i + 1]) - lifebuoy * view.cost[COST_EVEN]
            if weights[EVEN_LAYOUT] != 0:
                copy_sketch(drawn, counts, worths, shown, copied, copies)
                level(shown, copied, i)
                worth += weights[EVEN_LAYOUT] * (rate(shown, copied, copies, pool, prices) - now)
            if worth > best_worth:
                best = EVEN + i
                best_worth = worth
    if mask[PUMP] and coin - lifebuoy * view.cost[COST_PUMP] > best_worth:
        best = PUMP
    if best >= 0:
        return best
    missing = 1.0
    share = share_of(taken_by_queues(drawn, counts) | taken_by_boats(counts), pool)
    for n in range(HAND_SLOTS):
        missing *= 1 - share
        if not mask[RESCUE + n]:
            return RESCUE + n - 1
        if 1 - missing >= weights[ENOUGH]:
            return RESCUE + n
    return RESCUE + HAND_SLOTS - 1


@kernel
def passed(
    shown: Any,
    counts: Any,
    worths: Any,
    i: int,
    view: Any,
    now: float,
    other: Any,
    others: Any,
    other_worths: Any,
    pool: Any,
    prices: Any,
) -> float:
    """What a layout gains on average, from ``now``, if queue i lets a face-down card pass. Works in a second sketch.

    Most cards stir nothing: they neither board nor set a front run moving. Then only their own section and the chance change.
    """
    size = counts[SIZE + i]
    run = counts[RUNS + i]
    front = shown[i, size]
    fronts = 0  # what the other queues take
    heads = 0  # their front runs begin with
    for j in range(SECTIONS):
        if j != i:
            fronts |= ACCEPTS[shown[j, counts[SIZE + j]]]
            if counts[SIZE + j] > 0:
                head = shown[j, counts[SIZE + j] - counts[RUNS + j] + 1]
                if counts[RUNS + j] < counts[SIZE + j] + counts[DOWN + j] or not KINGS >> head & 1:
                    heads |= 1 << head
    turn_up(shown, counts, i, 0)
    rate(shown, counts, worths, pool, prices)
    counts[STALE] = 1 << i
    boats = taken_by_boats(counts)
    gains = np.empty(2 * RANKS)
    total = 0.0
    count = 0
    judged = 0  # the kinds whose gain is known
    for card in range(CARDS):
        where = view.where[card] | view.unseen_at * (view.where[card] == 0)
        if where >> FACE_DOWN + i & 1:
            kind = KIND[card]
            if not judged >> kind & 1:
                judged |= 1 << kind
                joins = BELOW[front] == kind
                shown[i, size + 1] = kind
                counts[RUNS + i] = run + 1 if joins else 1
                head = kind + run if joins else kind
                if (boats | fronts) >> kind & 1 or fronts >> head & 1 or (fronts | ACCEPTS[kind]) & heads:
                    copy_sketch(shown, counts, worths, other, others, other_worths)
                    gains[kind] = judge(other, others, other_worths, pool, prices) - now
                else:
                    worths[i] = section_worth(shown, counts, i, prices)
                    worth = 0.0
                    for j in range(SECTIONS):
                        worth += worths[j]
                    gains[kind] = worth + chance_worth(fronts | ACCEPTS[kind] | boats, pool, prices) - now
            total += gains[kind]
            count += 1
    return total / max(count, 1)


@kernel
def set_prices(view: Any, weights: Any, prices: Any) -> None:
    """The weights as they count in this position.

    After the weights: what an open and what a face-down card counts by section. A section is never flooded if no coin is left behind it.
    """
    for k in range(WEIGHTS):
        prices[k] = weights[k]
    coins = ship_coins(view)
    before = 0
    for i in range(SECTIONS):
        before += view.coins[i]
        floods = view.coins[i] > 0 and before < coins
        prices[CARD_AT + i] = weights[EXPOSED] / before if floods else 0.0
        prices[DOWN_AT + i] = prices[CARD_AT + i] + weights[DOOMED] if floods else 0.0


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
    """Draw the layout; ``counts`` are `size`, `down`, `run`, `boat` and `stale`."""
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
    counts[STALE] = (1 << SECTIONS) - 1


@kernel
def copy_sketch(drawn: Any, counts: Any, worths: Any, shown: Any, copied: Any, copies: Any) -> None:
    """Copy a sketch."""
    for k in range(COUNTS):
        copied[k] = counts[k]
    for i in range(SECTIONS):
        copies[i] = worths[i]
        for k in range(counts[SIZE + i] + 1):
            shown[i, k] = drawn[i, k]


@kernel
def add_kind(shown: Any, counts: Any, i: int, kind: int) -> None:
    """A card becomes the front of queue i."""
    fits = BELOW[shown[i, counts[SIZE + i]]] == kind
    counts[SIZE + i] += 1
    shown[i, counts[SIZE + i]] = kind
    counts[RUNS + i] = counts[RUNS + i] + 1 if fits else 1
    counts[STALE] |= 3 << i  # the next section's worth counts this one's cards too


@kernel
def turn_up(shown: Any, counts: Any, i: int, kind: int) -> None:
    """The frontmost face-down card of queue i becomes its front and turns out to be of a kind."""
    counts[DOWN + i] -= 1
    if counts[DOWN + i] == 0:
        shown[i, 0] = EMPTY
    add_kind(shown, counts, i, kind)


@kernel
def level(shown: Any, counts: Any, i: int) -> None:
    """The face-down cards of queues i and i + 1 are dealt back, half each."""
    down = counts[DOWN + i] + counts[DOWN + i + 1]
    counts[DOWN + i] = down // 2
    counts[DOWN + i + 1] = down - down // 2
    for j in range(i, i + 2):
        shown[j, 0] = EMPTY if counts[DOWN + j] == 0 else FLOODED
    counts[STALE] |= 7 << i


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
    counts[STALE] |= 3 << i
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
def judge(shown: Any, counts: Any, worths: Any, pool: Any, prices: Any) -> float:
    """The worth of a layout after the obvious free moves, cards that board included."""
    return settle_layout(shown, counts) + rate(shown, counts, worths, pool, prices)


@kernel
def settle_layout(shown: Any, counts: Any) -> int:
    """Make the obvious free moves, boardings first, until there is none; returns how many cards boarded."""
    boarded = 0
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
                boarded += 1
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
    return boarded


@kernel
def rate(shown: Any, counts: Any, worths: Any, pool: Any, prices: Any) -> float:
    """The worth of a layout as it stands."""
    worth = 0.0
    for i in range(SECTIONS):
        if counts[STALE] >> i & 1:
            worths[i] = section_worth(shown, counts, i, prices)
        worth += worths[i]
    counts[STALE] = 0
    return worth + chance_worth(taken_by_queues(shown, counts) | taken_by_boats(counts), pool, prices)


@kernel
def section_worth(shown: Any, counts: Any, i: int, prices: Any) -> float:
    """The worth of a section: of its front run, or of the card that can be turned up, and of what lies behind."""
    size = counts[SIZE + i]
    down = counts[DOWN + i]
    worth = prices[CARD_AT + i] * size + prices[DOWN_AT + i] * down
    if size > 0:
        run = counts[RUNS + i]
        worth += prices[RUN] * (run - 1) + prices[HIDDEN] * down * size
        # Nearly always all open cards are one run.
        if run < size and prices[BLOCKED] != 0:
            worth += prices[BLOCKED] * blocked(shown, counts, i)
        if i > 0 and counts[SIZE + i - 1] > 0:
            worth += prices[SLOPE] * abs(down - counts[DOWN + i - 1])
    elif down > 0:
        worth += prices[TURN_UP] + (prices[CLEARED] if down == 1 else 0)
    elif shown[i, 0] == EMPTY:
        worth += prices[VACANT]
    return worth


@kernel
def chance_worth(fitting: int, pool: Any, prices: Any) -> float:
    """The worth of the chance that one of the next three cards is among the kinds that fit somewhere."""
    return prices[CHANCE] * (1 - (1 - share_of(fitting, pool)) ** HAND_SLOTS)


@kernel
def blocked(shown: Any, counts: Any, i: int) -> int:
    """Open cards of a queue in front of a lower one of their colour: they cannot board before it does."""
    count = 0
    red = 2 * RANKS  # the lowest kinds behind
    black = 2 * RANKS
    for k in range(counts[SIZE + i]):
        kind = shown[i, 1 + k]
        if kind < RANKS:
            count += kind > red
            red = min(red, kind)
        else:
            count += kind > black
            black = min(black, kind)
    return count


@kernel
def share_of(kinds: int, pool: Any) -> float:
    """The share of the next cards that are of some kinds."""
    return (count_kinds(pool[0] & kinds) + count_kinds(pool[1] & kinds)) / max(pool[2], 1)


@kernel
def count_kinds(kinds: int) -> int:
    """How many kinds a set has: bits are added up in pairs, fours, bytes (Warren, Hacker's Delight, chapter 5)."""
    kinds = kinds - (kinds >> 1 & 0x55555555)
    kinds = (kinds & 0x33333333) + (kinds >> 2 & 0x33333333)
    kinds = kinds + (kinds >> 4) & 0x0F0F0F0F
    return kinds * 0x01010101 >> 24 & 0xFF
