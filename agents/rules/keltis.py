"""Keltis: rule agents.

``greedy``   takes the action with the highest marginal points; opens a row only with three cards of its colour; a discard is the fallback.
``strong``   rates every action by what it leaves behind: for every row the cards it will probably hold at the end (cards in hand and unseen
             cards that still fit count for a part of a card), stones and pairs for them, what a discard gives to others, when to end.
"""

from typing import Any

import numpy as np

from ...envs.core.jit import kernel
from ...envs.keltis.rules import (
    ACT,
    COLOUR,
    COLOURS,
    COPIES,
    DISCARD,
    DRAW,
    DRAW_PILE,
    DRAW_STOCK,
    END,
    LAY,
    LAY_ON,
    PAIR_FIRST,
    PAIR_SECOND,
    PILES,
    POINTS,
    ROW_SCORE,
    STONE,
    STONE_SCORE,
    STONES,
    STOP,
    TYPES,
    VALUE,
    fits,
)
from ..parameters import Parameter

GREEDY, STRONG = 1, 2

# The strong agent's numbers: name, what it is, its value with two or three players and with four. All but the last three were fitted by
# evolution against ``greedy`` and an earlier ``strong`` with two and with four players: share of wins and points ahead.
COUNTS = (
    ("in_hand", "part of a card that a fitting card in hand counts for", 0.89, 0.87),
    ("unseen", "part of its fair share that a fitting unseen card counts for", 0.35, 0.72),
    ("unopened", "part of its value that a row not yet begun counts for", 0.99, 0.79),
    ("pair", "a pair in hand for a stone on the table, in parts of the next stone's points", 0.31, 0.26),
    ("single", "one card of the value of a stone on the table", 0.15, 0.07),
    ("next_stone", "part of the stone after the next that taking one counts for", 0.60, 0.48),
    ("point_card", "a point card in hand", 0.77, 0.59),
    ("laying", "laying a card rather than discarding", 0.42, 0.37),
    ("drawn", "a card drawn from the stock", 0.73, 0.40),
    ("giving", "part of what the next player could make of a card that one loses by discarding it", 0.19, 0.25),
    ("burying", "part of a pile's top card that one loses by covering it", 0.14, 0.35),
    ("denying", "part of a card that the next player wants that one gains by taking it", 0.17, 0.06),
    ("ending", "each point of lead when the fifth row is closed", 0.55, 0.98),
    ("reserve", "points that others are expected to gain if play ends now", 2.55, 2.38),
    ("wish", "what another player could make of any card that fits one of his rows", 1.0, 1.0),
    ("wish_row", "part of the points of three more cards on the row that is added", 0.25, 0.25),
    ("wish_gap", "what every number left out takes away from that", 0.15, 0.15),
)
(
    IN_HAND,
    UNSEEN,
    UNOPENED,
    PAIR,
    SINGLE,
    NEXT_STONE,
    POINT_CARD,
    LAYING,
    DRAWN,
    GIVING,
    BURYING,
    DENYING,
    ENDING,
    RESERVE,
    WISH,
    WISH_ROW,
    WISH_GAP,
) = range(len(COUNTS))
NUMBERS = len(COUNTS)

PARAMETERS = {
    "strong": tuple(
        Parameter(f"{word}.{name}", four if players == 4 else fewer, about, scale=0.3, players=(players, players))
        for players, word in ((2, "two"), (3, "three"), (4, "four"))
        for name, about, fewer, four in COUNTS
    )
}
AGENTS: dict[str, tuple[int, tuple[float, ...]]] = {
    "greedy": (GREEDY, ()),
    "strong": (STRONG, tuple(p.default for p in PARAMETERS["strong"])),
}


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of the seat to move."""
    if view.phase != ACT and view.phase != DRAW:
        return best_final(view, mask)
    if kind == GREEDY:
        return greedy_draw(view, mask) if view.phase == DRAW else greedy_act(view, mask)
    weights = params[NUMBERS * (view.players - 2) : NUMBERS * (view.players - 1)]
    return strong_draw(view, mask, weights) if view.phase == DRAW else strong_act(view, mask, weights)


@kernel
def points_of(view: Any, seat: int, action: int) -> int:
    """Points that laying a card adds at once."""
    row = row_of(action)
    if row == POINTS:
        return 1
    n = view.row_size[seat, row]
    return int(ROW_SCORE[min(n + 1, 9)] - ROW_SCORE[min(n, 9)])


@kernel
def row_of(action: int) -> int:
    """The row on which an action lays a card."""
    if action < LAY_ON:
        return int(COLOUR[action - LAY])
    return (action - LAY_ON) % COLOURS


@kernel
def card_of(action: int) -> int:
    """The card that an action lays."""
    if action < LAY_ON:
        return action - LAY
    return TYPES - 11 + (action - LAY_ON) // COLOURS


@kernel
def goes_on(view: Any, seat: int, card: int, first: int) -> bool:
    """Whether ``card`` can still be laid on the row of its colour once ``first``, of that colour, has been laid."""
    if VALUE[card] == END:
        return True
    last = view.row_last[seat, COLOUR[card]]
    if VALUE[first] == END:
        return False
    if last < 0 or VALUE[first] == last:
        return fits(view, seat, card)
    up = VALUE[first] > last
    return VALUE[card] >= VALUE[first] if up else VALUE[card] <= VALUE[first]


@kernel
def best_final(view: Any, mask: Any) -> int:
    """The lay that, with the best one after it, gains most; ``stop`` if none gains anything."""
    seat = view.to_move
    best = STOP
    best_gain = 0
    for action in range(LAY, STONE):
        if not mask[action]:
            continue
        gain = points_of(view, seat, action)
        more = 0
        if view.lays_left > 1:
            row = row_of(action)
            card = card_of(action)
            spared = False  # the card itself, once
            for k in range(view.hand_size[seat]):
                other = view.hand[seat, k]
                if other == card and not spared:
                    spared = True
                    continue
                # Point cards on rows are left to the second decision.
                if COLOUR[other] == POINTS:
                    more = max(more, 1)
                elif COLOUR[other] == row:
                    possible = fits(view, seat, other) if COLOUR[card] == POINTS else goes_on(view, seat, other, card)
                    if possible:
                        n = view.row_size[seat, row] + 1
                        more = max(more, ROW_SCORE[min(n + 1, 9)] - ROW_SCORE[min(n, 9)])
                elif fits(view, seat, other):
                    more = max(more, points_of(view, seat, LAY + other))
        if gain + more > best_gain:
            best_gain = gain + more
            best = action
    return best


@kernel
def gap(view: Any, seat: int, card: int) -> float:
    """Numbers that laying a card on its begun row leaves out, 5 for an end card that closes it."""
    colour = COLOUR[card]
    if VALUE[card] == END:
        return 5.0 if view.row_ends[seat, colour] == 0 else 0.0
    return float(abs(VALUE[card] - view.row_last[seat, colour]))


@kernel
def of_colour(view: Any, seat: int, colour: int) -> int:
    """Cards of a colour in hand."""
    count = 0
    for k in range(view.hand_size[seat]):
        count += COLOUR[view.hand[seat, k]] == colour
    return count


@kernel
def use_of(view: Any, seat: int, card: int) -> float:
    """What greedy loses by discarding a card: it fits a begun row, belongs to a colour held in number, or makes a pair for a stone."""
    use = 0.0
    colour = COLOUR[card]
    value = VALUE[card]
    if colour == POINTS:
        use += 1.0
    elif view.row_size[seat, colour] > 0:
        if fits(view, seat, card):
            use += 2.0 - 0.2 * gap(view, seat, card)
    else:
        use += 0.3 * of_colour(view, seat, colour)
    if 1 <= value <= STONES and view.stone_owner[value - 1] < 0:
        for k in range(view.hand_size[seat]):
            other = view.hand[seat, k]
            use += 0.5 * (other != card and VALUE[other] == value)
    return use


@kernel
def greedy_act(view: Any, mask: Any) -> int:
    """Highest marginal points; of equal actions the lowest id."""
    seat = view.to_move
    best = -1
    best_value = -1000.0
    for action in range(DRAW_STOCK):
        if not mask[action]:
            continue
        if action < LAY:
            value = -0.5 - use_of(view, seat, action - DISCARD)
        elif action < STONE:
            row = row_of(action)
            card = card_of(action)
            if row == POINTS:
                value = 1.0
            elif view.row_size[seat, row] > 0:
                value = 0.5 + points_of(view, seat, action)
                if COLOUR[card] != POINTS:
                    value -= 0.3 * gap(view, seat, card)
            else:
                # A new row: from an end of the numbers, with at least three cards.
                held = of_colour(view, seat, row)
                late = view.stock < 12 * view.players
                value = 0.4 * held - 0.2 * min(VALUE[card], 10 - VALUE[card]) if held >= 3 and VALUE[card] != END and not late else -9.0
        else:
            n = view.stones[seat]
            pair = action - STONE
            value = STONE_SCORE[min(n + 1, 5)] - STONE_SCORE[min(n, 5)] + 1.0
            value -= 0.5 * (use_of(view, seat, PAIR_FIRST[pair]) + use_of(view, seat, PAIR_SECOND[pair]) - 1.0)
        if value > best_value:
            best_value = value
            best = action
    return best


@kernel
def greedy_draw(view: Any, mask: Any) -> int:
    """The pile whose top card is of most use, above 1.7; else the stock."""
    best = DRAW_STOCK
    best_value = 1.7
    for pile in range(PILES):
        if mask[DRAW_PILE + pile]:
            value = use_of(view, view.to_move, view.pile[pile, view.pile_size[pile] - 1])
            if value > best_value:
                best_value = value
                best = DRAW_PILE + pile
    return best


@kernel
def row_points(cards: float) -> float:
    """Points of a row of a fractional number of cards."""
    n = min(max(int(cards), 0), 9)
    return ROW_SCORE[n] + (cards - n) * (ROW_SCORE[min(n + 1, 9)] - ROW_SCORE[n])


@kernel
def share(view: Any, w: Any) -> float:
    """Part of a card that an unseen card counts for: how likely its owner will draw it while play lasts."""
    hidden = view.stock + 8 * (view.players - 1) + (30 if view.players == 2 else 0)
    return w[UNSEEN] * view.stock / view.players / hidden


@kernel
def hope(n: int, last: int, direction: int, closed: int, held: Any, unseen: Any, w: Any, part: float) -> float:
    """Points expected from a row with ``n`` cards, given the cards of its colour ``held`` and ``unseen`` by value (0 .. 11)."""
    ends = min(held[END], 2 - closed)
    best = 0.0
    if closed == 0:
        for way in (-1, 1):
            if direction != 0 and way != direction:
                continue
            fitting = 0.0
            for value in range(11):
                if last < 0 or (value - last) * way >= 0:
                    fitting += w[IN_HAND] * held[value] + part * unseen[value]
            best = max(best, fitting)
    points = row_points(n + best + w[IN_HAND] * ends)
    return points if n > 0 else max(points, 0.0) * w[UNOPENED]


@kernel
def row_hope(view: Any, seat: int, colour: int, held: Any, unseen: Any, w: Any, part: float) -> float:
    """:func:`hope` of a row as it is."""
    return hope(
        view.row_size[seat, colour],
        view.row_last[seat, colour],
        view.row_direction[seat, colour],
        view.row_ends[seat, colour],
        held[12 * colour : 12 * colour + 12],
        unseen[12 * colour : 12 * colour + 12],
        w,
        part,
    )


@kernel
def laid_hope(view: Any, seat: int, card: int, row: int, held: Any, unseen: Any, w: Any, part: float) -> float:
    """:func:`hope` of a colour row after a card, already taken out of ``held``, has been laid on it."""
    last = view.row_last[seat, row]
    direction = view.row_direction[seat, row]
    closed = view.row_ends[seat, row]
    if VALUE[card] == END:
        closed += 1
    elif COLOUR[card] != POINTS:
        if last >= 0 and direction == 0:
            direction = np.sign(VALUE[card] - last)
        last = VALUE[card]
    n = view.row_size[seat, row] + 1
    return hope(n, last, direction, closed, held[12 * row : 12 * row + 12], unseen[12 * row : 12 * row + 12], w, part)


@kernel
def pair_hope(view: Any, seat: int, value: int, count: int, w: Any) -> float:
    """What ``count`` cards of a value in hand are worth for its stone."""
    if value < 1 or value > STONES or view.stone_owner[value - 1] >= 0 or count == 0:
        return 0.0
    n = view.stones[seat]
    gain = STONE_SCORE[min(n + 1, 5)] - STONE_SCORE[min(n, 5)] + w[NEXT_STONE] * (STONE_SCORE[min(n + 2, 5)] - STONE_SCORE[min(n + 1, 5)])
    return (w[PAIR] if count > 1 else w[SINGLE]) * gain


@kernel
def wish(view: Any, seat: int, card: int, w: Any) -> float:
    """Points that another seat could make of a card."""
    colour = COLOUR[card]
    if colour == POINTS:
        return 1.0
    n = view.row_size[seat, colour]
    if n == 0 or not fits(view, seat, card):
        return 0.0
    return w[WISH] + w[WISH_ROW] * (ROW_SCORE[min(n + 3, 9)] - ROW_SCORE[min(n, 9)]) - w[WISH_GAP] * gap(view, seat, card)


@kernel
def count_cards(view: Any, seat: int) -> Any:
    """Own cards by type (one spare place), cards by type that may still come, own cards by value."""
    held = np.zeros(72, np.int64)
    unseen = np.zeros(72, np.int64)
    of_value = np.zeros(12, np.int64)
    for card in range(TYPES):
        unseen[card] = COPIES[card] - view.on_table[card]
        for other in range(view.players):
            unseen[card] -= view.known[other, card] * (other != seat)
    for k in range(view.hand_size[seat]):
        held[view.hand[seat, k]] += 1
        unseen[view.hand[seat, k]] -= 1
        of_value[VALUE[view.hand[seat, k]]] += 1
    return held, unseen, of_value


@kernel
def strong_act(view: Any, mask: Any, w: Any) -> int:
    """The action after which most is to be expected."""
    seat = view.to_move
    follower = (seat + 1) % view.players
    held, unseen, of_value = count_cards(view, seat)
    part = share(view, w)
    now = np.zeros(PILES)
    for colour in range(COLOURS):
        now[colour] = row_hope(view, seat, colour, held, unseen, w, part)
    best = -1
    best_value = -np.inf
    for action in range(DRAW_STOCK):
        if not mask[action]:
            continue
        value = 0.0
        if action < LAY:
            value = w[DRAWN] + leave(view, seat, follower, action - DISCARD, held, unseen, of_value, now, w, part)
        elif action < STONE:
            card = card_of(action)
            row = row_of(action)
            value = w[DRAWN] + w[LAYING]
            v = VALUE[card]
            value += pair_hope(view, seat, v, of_value[v] - 1, w) - pair_hope(view, seat, v, of_value[v], w)
            if COLOUR[card] == POINTS:
                value -= w[POINT_CARD]
            held[card] -= 1
            if row == POINTS:
                value += 1.0
            else:
                value += laid_hope(view, seat, card, row, held, unseen, w, part) - now[row]
            held[card] += 1
            if v == END and view.row_ends[seat, row] == 0 and view.closed_rows == 4:
                value = end_value(view, seat, action, w)
        else:
            first = PAIR_FIRST[action - STONE]
            second = PAIR_SECOND[action - STONE]
            v = VALUE[first]
            n = view.stones[seat]
            value = 2.0 * w[DRAWN] + STONE_SCORE[min(n + 1, 5)] - STONE_SCORE[min(n, 5)]
            value += w[NEXT_STONE] * (STONE_SCORE[min(n + 2, 5)] - STONE_SCORE[min(n + 1, 5)])
            value += leave(view, seat, follower, first, held, unseen, of_value, now, w, part)
            value += leave(view, seat, follower, second, held, unseen, of_value, now, w, part)
            # The stone is gone, so losing the pair itself is no loss.
            value += 2.0 * (pair_hope(view, seat, v, of_value[v], w) - pair_hope(view, seat, v, of_value[v] - 1, w))
            value -= pair_hope(view, seat, v, of_value[v], w)
        if value > best_value:
            best_value = value
            best = action
    return best


@kernel
def leave(view: Any, seat: int, follower: int, card: int, held: Any, unseen: Any, of_value: Any, now: Any, w: Any, part: float) -> float:
    """What changes when a card goes from the hand to its pile."""
    colour = COLOUR[card]
    v = VALUE[card]
    value = pair_hope(view, seat, v, of_value[v] - 1, w) - pair_hope(view, seat, v, of_value[v], w)
    if colour == POINTS:
        value -= w[POINT_CARD]
    else:
        held[card] -= 1
        value += row_hope(view, seat, colour, held, unseen, w, part) - now[colour]
        held[card] += 1
    value -= w[GIVING] * wish(view, follower, card, w)
    if view.pile_size[colour] > 0:
        top = view.pile[colour, view.pile_size[colour] - 1]
        value += w[GIVING] * wish(view, follower, top, w) - w[BURYING] * wish(view, seat, top, w)
    return value


@kernel
def end_value(view: Any, seat: int, action: int, w: Any) -> float:
    """Closing the fifth row: the lead that is to be expected after the final phase, against going on."""
    rival = -1000
    for other in range(view.players):
        if other != seat:
            rival = max(rival, view.score[other])
    own = view.score[seat] + points_of(view, seat, action)
    first = 0
    second = 0
    for k in range(view.hand_size[seat]):
        card = view.hand[seat, k]
        if card == action - LAY:
            continue
        gain = 1 if COLOUR[card] == POINTS else (points_of(view, seat, LAY + card) if fits(view, seat, card) else 0)
        if gain > first:
            second = first
            first = gain
        elif gain > second:
            second = gain
    return w[ENDING] * (own + first + second - rival - w[RESERVE])


@kernel
def strong_draw(view: Any, mask: Any, w: Any) -> int:
    """The most useful card on top of a pile if it is worth more than a card of the stock."""
    seat = view.to_move
    follower = (seat + 1) % view.players
    held, unseen, of_value = count_cards(view, seat)
    part = share(view, w)
    best = DRAW_STOCK
    best_value = w[DRAWN]
    for pile in range(PILES):
        if not mask[DRAW_PILE + pile]:
            continue
        card = view.pile[pile, view.pile_size[pile] - 1]
        v = VALUE[card]
        value = pair_hope(view, seat, v, of_value[v] + 1, w) - pair_hope(view, seat, v, of_value[v], w)
        if pile == POINTS:
            value += w[POINT_CARD]
        else:
            before = row_hope(view, seat, pile, held, unseen, w, part)
            held[card] += 1
            value += row_hope(view, seat, pile, held, unseen, w, part) - before
            held[card] -= 1
        value += w[DENYING] * wish(view, follower, card, w)
        if value > best_value:
            best_value = value
            best = DRAW_PILE + pile
    return best
