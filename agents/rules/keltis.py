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
    CARDS,
    COLOUR,
    COLOURS,
    COPIES,
    DISCARD,
    DRAW,
    DRAW_PILE,
    DRAW_STOCK,
    END,
    HAND,
    LAY,
    LAY_ON,
    PAIR_FIRST,
    PAIR_SECOND,
    PILES,
    POINTS,
    REMOVED,
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

# The strong agent's numbers: name, what it is, its value with two or three players and with four. Those up to "reserve" were fitted by
# evolution against ``greedy`` and an earlier ``strong`` with two and with four players: share of wins and points ahead. Those from
# "in_hand_late" on count for nothing here; the agent ``fitted`` has values for them. What they say that the others do not:
# how much time is left, that a hand may hold more cards than there are turns to lay them (every card then has a price, a turn), and that
# the cards a row will get are a guess, so that its points are an average around it.
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
    ("in_hand_late", "what in_hand gains until the stock is used up", 0.0, 0.0),
    ("unseen_late", "what unseen gains until then", 0.0, 0.0),
    ("unopened_late", "what unopened gains until then", 0.0, 0.0),
    ("single_late", "what single gains until then", 0.0, 0.0),
    ("point_card_late", "what point_card gains until then", 0.0, 0.0),
    ("drawn_late", "what drawn gains until then", 0.0, 0.0),
    ("drawing_late", "what drawing gains until then", 0.0, 0.0),
    ("gap_late", "what gap gains until then", 0.0, 0.0),
    ("drawing", "what a card of the stock is worth beside drawn when it is compared with piles", 0.0, 0.0),
    ("gap", "what every number costs that a card laid on a begun row leaves out", 0.0, 0.0),
    ("start", "what every number costs that lies between the first card of a row and the nearer end", 0.0, 0.0),
    ("tempo", "points that a turn costs: cards that add less to a row are not counted on", 0.0, 0.0),
    ("crowd", "what tempo gains when there are eight cards more to lay, or eight turns less to lay them", 0.0, 0.0),
    ("blur", "part of a row's points that is taken from one card more and one card less", 0.0, 0.0),
    ("soft", "points by which the value of a row not yet begun is rounded where it turns positive", 0.0, 0.0),
    ("other_way", "part that the worse direction of a row counts for while both are open", 0.0, 0.0),
    ("opening_held", "beginning a row, for every other card of its colour in hand", 0.0, 0.0),
    ("neutral", "laying a point card apart, beside laying", 0.0, 0.0),
    ("closing", "laying the first end card of a row", 0.0, 0.0),
    ("wish_new", "what another player could make of a card of a row that he has not begun", 0.0, 0.0),
    ("wish_stone", "part of the points of another player's next stone that a card of its value is worth to him", 0.0, 0.0),
    ("stone_deny", "part of the points of the next player's next stone that one gains by taking one", 0.0, 0.0),
    ("again", "part of a discarded card's worth that one keeps if the next player cannot lay it: one may take it back", 0.0, 0.0),
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
    IN_HAND_LATE,
    UNSEEN_LATE,
    UNOPENED_LATE,
    SINGLE_LATE,
    POINT_CARD_LATE,
    DRAWN_LATE,
    DRAWING_LATE,
    GAP_LATE,
    DRAWING,
    GAP,
    START,
    TEMPO,
    CROWD,
    BLUR,
    SOFT,
    OTHER_WAY,
    OPENING_HELD,
    NEUTRAL,
    CLOSING,
    WISH_NEW,
    WISH_STONE,
    STONE_DENY,
    AGAIN,
) = range(len(COUNTS))
NUMBERS = len(COUNTS)
# The numbers that change with time; IN_HAND_LATE and those after it say by how much.
TIMED = np.array([IN_HAND, UNSEEN, UNOPENED, SINGLE, POINT_CARD, DRAWN, DRAWING, GAP])
# What :func:`weigh` and :func:`look` add to the numbers: the part of a card that an unseen card counts for, what a turn costs, and
# the points of a row of 0 .. 10 cards, blurred.
PART, PRICE, STEPS = NUMBERS, NUMBERS + 1, NUMBERS + 2

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
    weights = weigh(view, params[NUMBERS * (view.players - 2) : NUMBERS * (view.players - 1)])
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
def is_stone(view: Any, value: int) -> bool:
    """Whether the stone of a value is on the table."""
    return 1 <= value <= STONES and view.stone_owner[value - 1] < 0


@kernel
def stone_gain(view: Any, seat: int, before: int) -> int:
    """Points of a seat's next stone after ``before`` others."""
    n = view.stones[seat] + before
    return int(STONE_SCORE[min(n + 1, 5)] - STONE_SCORE[min(n, 5)])


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
    if is_stone(view, value):
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
            pair = action - STONE
            value = stone_gain(view, seat, 0) + 1.0
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
def weigh(view: Any, numbers: Any) -> Any:
    """The numbers as they count now, and places after them for what follows from them; ``PRICE`` and ``STEPS`` are left to :func:`look`."""
    w = np.empty(STEPS + 11)
    for i in range(NUMBERS):
        w[i] = numbers[i]
    removed = REMOVED if view.players == 2 else 0
    late = 1.0 - view.stock / (CARDS - removed - HAND * view.players)
    for i in range(len(TIMED)):
        w[TIMED[i]] += late * numbers[IN_HAND_LATE + i]
    # How likely an unseen card's owner will draw it while play lasts.
    w[PART] = w[UNSEEN] * view.stock / view.players / (view.stock + HAND * (view.players - 1) + removed)
    return w


@kernel
def look(view: Any, seat: int, held: Any, unseen: Any, w: Any) -> Any:
    """Points expected from every row of a seat, (6,), the last 0; sets what a turn costs, which they depend on."""
    now = np.zeros(PILES)
    wanted = 0.0
    for colour in range(COLOURS):
        n = view.row_size[seat, colour]
        now[colour] = row_size_hope(view, seat, colour, held, unseen, w)
        # A row that is not begun is wanted if it can gain points.
        if n > 0 or now[colour] > 4:
            wanted += max(min(now[colour], 9.0) - n, 0.0)
    for card in range(TYPES - 11, TYPES):
        wanted += held[card]
    # Two cards can be laid in the final phase.
    w[PRICE] = max(w[TEMPO] + w[CROWD] * (wanted - view.stock / view.players - 2) / 8, 0.0)
    if w[PRICE] > 0:
        for n in range(11):
            w[STEPS + n] = blurred(float(n), w)
    for colour in range(COLOURS):
        now[colour] = worth(view.row_size[seat, colour], now[colour], w)
    return now


@kernel
def size_hope(n: int, last: int, direction: int, closed: int, held: Any, unseen: Any, w: Any) -> float:
    """Cards expected on a row with ``n`` cards, given the cards of its colour ``held`` and ``unseen`` by value (0 .. 11)."""
    ends = min(held[END], 2 - closed)
    best = 0.0
    if closed == 0:
        down = 0.0
        up = 0.0
        if direction <= 0:
            for value in range(last + 1 if last >= 0 else END):
                down += w[IN_HAND] * held[value] + w[PART] * unseen[value]
        if last < 0:
            up = down
        elif direction >= 0:
            for value in range(last, END):
                up += w[IN_HAND] * held[value] + w[PART] * unseen[value]
        down = max(down, 0.0)
        best = max(down, up)
        if direction == 0:
            best += w[OTHER_WAY] * min(down, up)
    return n + best + w[IN_HAND] * ends


@kernel
def worth(n: int, size: float, w: Any) -> float:
    """Points expected from a row with ``n`` cards that is expected to get ``size``."""
    points = blurred(size, w)
    if w[PRICE] > 0:
        # Of the cards that fit, those are laid that are worth their turns: all, none, or up to a step of the points.
        points = max(points - w[PRICE] * (size - n), w[STEPS + min(n, 10)])
        for step in (4, 7, 9):
            if n < step < size:
                points = max(points, w[STEPS + step] - w[PRICE] * (step - n))
    if n > 0:
        return points
    # The greater of the points and 0, rounded.
    return (points + np.sqrt(points * points + w[SOFT] * w[SOFT])) / 2 * w[UNOPENED]


@kernel
def blurred(cards: float, w: Any) -> float:
    """:func:`row_points`, partly of one card more and one card less."""
    if w[BLUR] == 0:
        return row_points(cards)
    return (1 - w[BLUR]) * row_points(cards) + w[BLUR] * (row_points(max(cards - 1, 0.0)) + row_points(cards + 1)) / 2


@kernel
def row_size_hope(view: Any, seat: int, colour: int, held: Any, unseen: Any, w: Any) -> float:
    """:func:`size_hope` of a row as it is."""
    return size_hope(
        view.row_size[seat, colour],
        view.row_last[seat, colour],
        view.row_direction[seat, colour],
        view.row_ends[seat, colour],
        held[12 * colour : 12 * colour + 12],
        unseen[12 * colour : 12 * colour + 12],
        w,
    )


@kernel
def row_hope(view: Any, seat: int, colour: int, held: Any, unseen: Any, w: Any) -> float:
    """Points expected from a row as it is."""
    return worth(view.row_size[seat, colour], row_size_hope(view, seat, colour, held, unseen, w), w)


@kernel
def laid_hope(view: Any, seat: int, card: int, row: int, held: Any, unseen: Any, w: Any) -> float:
    """Points expected from a colour row after a card, already taken out of ``held``, has been laid on it."""
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
    return worth(n, size_hope(n, last, direction, closed, held[12 * row : 12 * row + 12], unseen[12 * row : 12 * row + 12], w), w)


@kernel
def pair_hope(view: Any, seat: int, value: int, count: int, w: Any) -> float:
    """What ``count`` cards of a value in hand are worth for its stone."""
    if count == 0 or not is_stone(view, value):
        return 0.0
    gain = stone_gain(view, seat, 0) + w[NEXT_STONE] * stone_gain(view, seat, 1)
    return (w[PAIR] if count > 1 else w[SINGLE]) * gain


@kernel
def wish(view: Any, seat: int, card: int, w: Any) -> float:
    """Points that another seat could make of a card."""
    colour = COLOUR[card]
    if colour == POINTS:
        return 1.0
    n = view.row_size[seat, colour]
    pair = w[WISH_STONE] * stone_gain(view, seat, 0) if w[WISH_STONE] != 0 and is_stone(view, VALUE[card]) else 0.0
    if n == 0:
        return pair + w[WISH_NEW]
    if not fits(view, seat, card):
        return pair
    return pair + w[WISH] + w[WISH_ROW] * (ROW_SCORE[min(n + 3, 9)] - ROW_SCORE[min(n, 9)]) - w[WISH_GAP] * gap(view, seat, card)


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
    now = look(view, seat, held, unseen, w)
    best = -1
    best_value = -np.inf
    for action in range(DRAW_STOCK):
        if not mask[action]:
            continue
        value = 0.0
        if action < LAY:
            value = w[DRAWN] + leave(view, seat, follower, action - DISCARD, held, unseen, of_value, now, w)
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
                value += 1.0 + w[NEUTRAL]
            else:
                value += laid_hope(view, seat, card, row, held, unseen, w) - now[row]
                if v == END:
                    value += w[CLOSING] if view.row_ends[seat, row] == 0 else 0.0
                elif COLOUR[card] != POINTS:
                    if view.row_last[seat, row] >= 0:
                        value -= w[GAP] * gap(view, seat, card)
                    else:
                        others = of_colour(view, seat, row) - 1 if w[OPENING_HELD] != 0 else 0
                        value += w[OPENING_HELD] * others - w[START] * min(v, 10 - v)
            held[card] += 1
            if v == END and view.row_ends[seat, row] == 0 and view.closed_rows == 4:
                value = end_value(view, seat, action, w)
        else:
            first = PAIR_FIRST[action - STONE]
            second = PAIR_SECOND[action - STONE]
            v = VALUE[first]
            value = 2.0 * w[DRAWN] + stone_gain(view, seat, 0)
            value += w[NEXT_STONE] * stone_gain(view, seat, 1)
            value += w[STONE_DENY] * stone_gain(view, follower, 0)
            value += leave(view, seat, follower, first, held, unseen, of_value, now, w)
            value += leave(view, seat, follower, second, held, unseen, of_value, now, w)
            # The stone is gone, so losing the pair itself is no loss.
            value += 2.0 * (pair_hope(view, seat, v, of_value[v], w) - pair_hope(view, seat, v, of_value[v] - 1, w))
            value -= pair_hope(view, seat, v, of_value[v], w)
        if value > best_value:
            best_value = value
            best = action
    return best


@kernel
def leave(view: Any, seat: int, follower: int, card: int, held: Any, unseen: Any, of_value: Any, now: Any, w: Any) -> float:
    """What changes when a card goes from the hand to its pile."""
    colour = COLOUR[card]
    v = VALUE[card]
    value = pair_hope(view, seat, v, of_value[v] - 1, w) - pair_hope(view, seat, v, of_value[v], w)
    if colour == POINTS:
        value -= w[POINT_CARD]
    else:
        held[card] -= 1
        change = row_hope(view, seat, colour, held, unseen, w) - now[colour]
        held[card] += 1
        if w[AGAIN] != 0 and (view.row_size[follower, colour] == 0 or not fits(view, follower, card)):
            change -= w[AGAIN] * change
        value += change
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
    now = look(view, seat, held, unseen, w)
    best = DRAW_STOCK
    best_value = w[DRAWN] + w[DRAWING]
    for pile in range(PILES):
        if not mask[DRAW_PILE + pile]:
            continue
        card = view.pile[pile, view.pile_size[pile] - 1]
        v = VALUE[card]
        value = pair_hope(view, seat, v, of_value[v] + 1, w) - pair_hope(view, seat, v, of_value[v], w)
        if pile == POINTS:
            value += w[POINT_CARD]
        else:
            held[card] += 1
            value += row_hope(view, seat, pile, held, unseen, w) - now[pile]
            held[card] -= 1
        value += w[DENYING] * wish(view, follower, card, w)
        if value > best_value:
            best_value = value
            best = DRAW_PILE + pile
    return best
