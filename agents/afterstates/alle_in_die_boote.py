"""Alle in die Boote as a value agent sees it: the layout that an action and the obvious free moves after it lead to.

Kinds of cards are those of the rules (colour * 13 + rank - 1), sections and boats count from 0. Everything is public: what lies open, and
what `where` says about the rest.
"""

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
    HAND_SLOTS,
    IN_STOCK,
    KIND,
    LETPASS,
    PLACE,
    PLACING,
    PUMP,
    RANKS,
    RESCUE,
    REWARD_WIN,
    SECTIONS,
    STOCK_SIZE,
    bow_coin,
    budget,
    move_size,
    ship_coins,
)
from ...envs.core.jit import kernel
from ...envs.core.layout import Layout, Piece
from ..rules.alle_in_die_boote import (
    BOAT,
    COUNTS,
    DOWN,
    RUNS,
    SIZE,
    carry,
    copy_sketch,
    first_boarding,
    level,
    put_kind,
    remove_kinds,
    settle_layout,
    share_of,
    sketch,
    taken_by_boats,
    taken_by_queues,
)

KINDS = 2 * RANKS
MOST_DOWN, MOST_COINS, MOST_BOW_COINS, MOST_LIFEBUOYS = 11, 13, 4, 11  # greater numbers count as these
NEXT_RANKS = 4  # cards that a boat takes next
DEPTHS = 4  # cards in front of one: 0, 1, 2, more
TO_DISCARD, TO_STOCK, TO_QUEUE = SECTIONS * DEPTHS, SECTIONS * DEPTHS + 1, SECTIONS * DEPTHS + 2

FEATURES = Layout(
    Piece("front", (SECTIONS, KINDS + 3), "the kind of the front card; empty; a card to be turned up; flooded"),
    Piece("head", (SECTIONS, KINDS), "the highest card of the front run"),
    Piece("behind", (SECTIONS, KINDS), "an open card behind the front run"),
    Piece("face_down", (SECTIONS, MOST_DOWN + 1), "face-down cards"),
    Piece("boats", (2, 2, RANKS + 1), "the top rank, of each colour first the fuller boat"),
    Piece("coins", (MOST_COINS + 1,), "coins on the ship"),
    Piece("bow", (SECTIONS,), "the section that loses the next coin"),
    Piece("bow_coins", (MOST_BOW_COINS + 1,), "its coins"),
    Piece("lifebuoys", (MOST_LIFEBUOYS + 1,), "lifebuoys that the seat can spend"),
    Piece("stock", (STOCK_SIZE + 1,), "cards in the stock"),
    Piece("reshuffled", (1,), "whether the stock's content is known"),
    Piece("pumpable", (1,), "whether the bow has lost a coin"),
    Piece("to_come", (KINDS, 2), "one card, or two, of a kind may be in the stock"),
    Piece("discarded", (KINDS, 2), "one card, or two, of a kind in the discard pile"),
    Piece("pending", (HAND_SLOTS + SECTIONS,), "a rescue of 1 to 3 cards, or the passing of a section's card, is about to happen"),
    Piece("needed", (2, 2, NEXT_RANKS, TO_QUEUE + 1), "where a boat's next cards are: section and depth; discard pile; stock; face down"),
)
NUMBERS = Layout(
    Piece("fitting", (1,), "share of the next cards that fit somewhere"),
    Piece("chance", (1,), "the chance that one of three does"),
    Piece("boarding", (1,), "share of the next cards that a boat takes"),
    Piece("turning", (1,), "sections with a card to be turned up, by 2", high=3),
    Piece("pool", (1,), "cards that may come next, by 24", high=3),
    Piece("vacant", (1,), "empty dry sections, by 2", high=3),
    Piece("rescued", (1,), "passengers in boats, by 26", high=2),
    Piece("hidden", (1,), "face-down cards, by 20", high=3),
    Piece("runs", (1,), "cards of front runs that lie on others, by 8", high=7),
    Piece("ship", (1,), "coins, by 8", high=2),
    Piece("rings", (1,), "lifebuoys, by 4", high=50),
    Piece("passing", (3,), "let pass: the chance that the card boards, fits elsewhere, joins the front run"),
    Piece("passed", (1,), "let pass: the section's face-down cards, by 10", high=6),
)
MOST_OPTIONS = 80  # moves 30, boardings 12, commands and rescues 15, calls 16
MOST_FEATURES = 144

FRONT, HEAD, BEHIND, FACES, BOAT_RANKS = (FEATURES.start(name) for name in ("front", "head", "behind", "face_down", "boats"))
COINS, BOW, BOW_COINS, RINGS, STOCK = (FEATURES.start(name) for name in ("coins", "bow", "bow_coins", "lifebuoys", "stock"))
RESHUFFLED, PUMPABLE, TO_COME, PILE, PENDING, NEEDED = (
    FEATURES.start(name) for name in ("reshuffled", "pumpable", "to_come", "discarded", "pending", "needed")
)


FITTING, RESCUED, SHIP, RINGS_LEFT, PASSING = (NUMBERS.start(name) for name in ("fitting", "rescued", "ship", "rings", "passing"))
STILL = MOST_OPTIONS + 1  # the row of the layout as it stands


@kernel
def list_options(view: Any, mask: Any, actions: Any, gains: Any, bases: Any, sizes: Any, features: Any, numbers: Any) -> int:
    """What can be done, in the contract of this package: a boarding at once, else every action (one card of each kind to be called)."""
    stock = np.zeros(KINDS, np.int64)
    pile = np.zeros(KINDS, np.int64)
    down = np.zeros((SECTIONS, KINDS), np.int64)  # cards that may lie face down there
    calls = False
    passes = np.any(mask[LETPASS:PUMP])
    for card in range(CARDS):
        where = view.where[card] | view.unseen_at * (view.where[card] == 0)
        kind = KIND[card]
        stock[kind] += where >> IN_STOCK & 1
        pile[kind] += where >> DISCARDED & 1
        if passes and where >> FACE_DOWN:
            for i in range(SECTIONS):
                down[i, kind] += where >> FACE_DOWN + i & 1
        calls |= mask[CALL + card]
    for slot in range(view.hand_size):
        pile[KIND[view.hand[slot]]] += 1
    pool = next_kinds(view, stock, pile)
    sizes[0] = 0
    list_position(view, stock, sizes, features)
    pile_differs = calls or view.phase == PLACING
    if not pile_differs:
        list_pile(pile, 0, sizes, features)

    sketches = np.empty((2, SECTIONS, CARDS + 1), np.int64)
    counts = np.empty((2, COUNTS), np.int64)
    worths = np.empty((2, SECTIONS))  # of no use here
    drawn, shown, layout = sketches[0], sketches[1], counts[1]
    found = np.empty((3, KINDS), np.int64)  # for `list_layout`
    sketch(view, drawn, counts[0])
    win_only = view.reward_kind == REWARD_WIN
    boarding = first_boarding(mask)
    called = 0  # the kinds that have been listed
    sizes[STILL] = 0
    count = 0
    for action in range(PLACE + 8 * HAND_SLOTS):
        if not mask[action] or (boarding >= 0 and action != boarding):
            continue
        if RESCUE <= action < EVEN or LETPASS <= action <= PUMP:
            if sizes[STILL] == 0:
                list_layout(drawn, counts[0], stock, pile, found, STILL, sizes, features)
                numbers[STILL] = 0
                write_layout(drawn, counts[0], pool, numbers[STILL])
            count += 1
            actions[count] = action
            gains[count] = 0
            bases[count] = STILL
            sizes[count] = 0
            numbers[count] = 0
            if action < EVEN:
                add_feature(PENDING + action - RESCUE, count, sizes, features)
                list_purse(view, 0, 0, count, sizes, features, numbers)
            elif action < PUMP:
                add_feature(PENDING + HAND_SLOTS + action - LETPASS, count, sizes, features)
                list_purse(view, view.cost[COST_LETPASS], 0, count, sizes, features, numbers)
                write_passing(drawn, counts[0], action - LETPASS, down[action - LETPASS], numbers[count])
            else:
                list_purse(view, view.cost[COST_PUMP], 1, count, sizes, features, numbers)
            if pile_differs:
                list_pile(pile, count, sizes, features)
            continue
        kind = KIND[action - CALL] if CALL <= action < PLACE else KIND[view.hand[(action - PLACE) // 8]] if action >= PLACE else -1
        first, last = 0, 1  # targets: a card that is called can go to any
        if kind >= 0:
            first = (action - PLACE) % 8 if action >= PLACE else 0
            last = first + 1 if action >= PLACE else SECTIONS + 2
            if action < PLACE:
                if called >> kind & 1:
                    continue
                called |= 1 << kind
            pile[kind] -= 1
        for target in range(first, last):
            copy_sketch(drawn, counts[0], worths[0], shown, layout, worths[1])
            cost = 0
            boarded = 0
            if action < BOARD:
                i, j = action // 5, action % 5
                j += j >= i
                carry(shown, layout, i, j, move_size(view, i, j))
                boarded = settle_layout(shown, layout)
            elif action < RESCUE:
                i = (action - BOARD) // 2
                layout[BOAT + view.front[i] // RANKS * 2 + (action - BOARD) % 2] += 1
                remove_kinds(shown, layout, i, 1)
                boarded = 1 + settle_layout(shown, layout)
            elif action < LETPASS:
                level(shown, layout, action - EVEN)
                cost = view.cost[COST_EVEN]
            else:
                if action < PLACE:
                    cost = view.cost[COST_CALL]
                if not put_kind(shown, layout, kind, target):
                    continue
                boarded = (target >= SECTIONS) + settle_layout(shown, layout)
            count += 1
            actions[count] = action
            gains[count] = 0 if win_only else boarded
            bases[count] = 0
            sizes[count] = 0
            numbers[count] = 0
            list_purse(view, cost, 0, count, sizes, features, numbers)
            if pile_differs:
                list_pile(pile, count, sizes, features)
            list_layout(shown, layout, stock, pile, found, count, sizes, features)
            write_layout(shown, layout, pool, numbers[count])
        if kind >= 0:
            pile[kind] += 1
    return count


@kernel
def next_kinds(view: Any, stock: Any, pile: Any) -> Any:
    """What may come from the stock next, as `next_cards` of the rule agents says it, of the kinds counted."""
    pool = np.zeros(3, np.int64)
    for kind in range(KINDS):
        cards = stock[kind] + (pile[kind] if view.stock_size == 0 else 0)
        pool[0] |= (cards > 0) << kind
        pool[1] |= (cards > 1) << kind
        pool[2] += cards
    return pool


@kernel
def add_feature(feature: int, row: int, sizes: Any, features: Any) -> None:
    """The option has a feature."""
    features[row, sizes[row]] = feature
    sizes[row] += 1


@kernel
def list_position(view: Any, stock: Any, sizes: Any, features: Any) -> None:
    """What no action changes at once: the stock, and the section that loses the next coin."""
    add_feature(BOW + bow_coin(view), 0, sizes, features)
    add_feature(STOCK + view.stock_size, 0, sizes, features)
    if view.reshuffles > 0:
        add_feature(RESHUFFLED, 0, sizes, features)
    for kind in range(KINDS):
        if stock[kind] > 0:
            add_feature(TO_COME + 2 * kind + stock[kind] - 1, 0, sizes, features)


@kernel
def list_pile(pile: Any, row: int, sizes: Any, features: Any) -> None:
    """The discard pile."""
    for kind in range(KINDS):
        if pile[kind] > 0:
            add_feature(PILE + 2 * kind + pile[kind] - 1, row, sizes, features)


@kernel
def list_purse(view: Any, cost: int, pumped: int, row: int, sizes: Any, features: Any, numbers: Any) -> None:
    """Coins and lifebuoys, as features and numbers."""
    bow = bow_coin(view)
    coins = ship_coins(view) + pumped
    rings = budget(view, view.to_move) - cost
    add_feature(COINS + min(coins, MOST_COINS), row, sizes, features)
    add_feature(BOW_COINS + min(view.coins[bow] + pumped, MOST_BOW_COINS), row, sizes, features)
    add_feature(RINGS + min(rings, MOST_LIFEBUOYS), row, sizes, features)
    if view.coins[bow] + pumped < view.start_coins[bow]:
        add_feature(PUMPABLE, row, sizes, features)
    numbers[row, SHIP] = coins / 8
    numbers[row, RINGS_LEFT] = rings / 4


@kernel
def list_layout(shown: Any, counts: Any, stock: Any, pile: Any, found: Any, row: int, sizes: Any, features: Any) -> None:
    """Queues and boats, and where the cards are that the boats take next. ``found`` gets the open cards of each kind and their places."""
    found[0] = 0
    for i in range(SECTIONS):
        size = counts[SIZE + i]
        down = counts[DOWN + i]
        if size == 0:
            what = KINDS if shown[i, 0] == EMPTY else KINDS + 1 if down > 0 else KINDS + 2
            add_feature(FRONT + i * (KINDS + 3) + what, row, sizes, features)
        else:
            head = size - counts[RUNS + i] + 1
            add_feature(FRONT + i * (KINDS + 3) + shown[i, size], row, sizes, features)
            add_feature(HEAD + i * KINDS + shown[i, head], row, sizes, features)
            for k in range(1, size + 1):
                kind = shown[i, k]
                if k < head:
                    add_feature(BEHIND + i * KINDS + kind, row, sizes, features)
                found[0, kind] += 1
                found[found[0, kind], kind] = i * DEPTHS + min(size - k, DEPTHS - 1)
        add_feature(FACES + i * (MOST_DOWN + 1) + min(down, MOST_DOWN), row, sizes, features)
    for colour in range(BOATS // 2):
        fuller = max(counts[BOAT + 2 * colour], counts[BOAT + 2 * colour + 1])
        other = min(counts[BOAT + 2 * colour], counts[BOAT + 2 * colour + 1])
        for b in range(2):
            top = other if b else fuller
            add_feature(BOAT_RANKS + (2 * colour + b) * (RANKS + 1) + top, row, sizes, features)
            for k in range(min(NEXT_RANKS, RANKS - top)):
                rank = top + k
                kind = colour * RANKS + rank
                block = NEEDED + ((2 * colour + b) * NEXT_RANKS + k) * (TO_QUEUE + 1)
                for n in range(found[0, kind]):
                    add_feature(block + found[1 + n, kind], row, sizes, features)
                if pile[kind] > 0:
                    add_feature(block + TO_DISCARD, row, sizes, features)
                if stock[kind] > 0:
                    add_feature(block + TO_STOCK, row, sizes, features)
                if 2 - (fuller > rank) - (other > rank) - found[0, kind] - pile[kind] > stock[kind]:
                    add_feature(block + TO_QUEUE, row, sizes, features)


@kernel
def write_layout(shown: Any, counts: Any, pool: Any, numbers: Any) -> None:
    """The numbers of a layout."""
    boats = taken_by_boats(counts)
    share = share_of(boats | taken_by_queues(shown, counts), pool)
    turning = 0
    vacant = 0
    rescued = 0
    hidden = 0
    runs = 0
    for i in range(SECTIONS):
        if counts[SIZE + i] == 0:
            turning += counts[DOWN + i] > 0
            vacant += shown[i, 0] == EMPTY
        runs += max(counts[RUNS + i] - 1, 0)
        hidden += counts[DOWN + i]
    for b in range(BOATS):
        rescued += counts[BOAT + b]
    numbers[FITTING] = share
    numbers[FITTING + 1] = 1 - (1 - share) ** HAND_SLOTS
    numbers[FITTING + 2] = share_of(boats, pool)
    numbers[FITTING + 3] = turning / 2
    numbers[FITTING + 4] = pool[2] / 24
    numbers[FITTING + 5] = vacant / 2
    numbers[RESCUED] = rescued / 26
    numbers[RESCUED + 1] = hidden / 20
    numbers[RESCUED + 2] = runs / 8


@kernel
def write_passing(shown: Any, counts: Any, i: int, down: Any, numbers: Any) -> None:
    """What the card that queue i lets pass may do; ``down``: the kinds that it may be of."""
    boats = taken_by_boats(counts)
    others = 0
    for j in range(SECTIONS):
        if j != i:
            others |= ACCEPTS[shown[j, counts[SIZE + j]]]
    front = ACCEPTS[shown[i, counts[SIZE + i]]] if counts[SIZE + i] > 0 else 0
    cards = 0
    boarding = 0
    fitting = 0
    joining = 0
    for kind in range(KINDS):
        cards += down[kind]
        boarding += down[kind] * (boats >> kind & 1)
        fitting += down[kind] * (others >> kind & 1)
        joining += down[kind] * (front >> kind & 1)
    numbers[PASSING] = boarding / max(cards, 1)
    numbers[PASSING + 1] = fitting / max(cards, 1)
    numbers[PASSING + 2] = joining / max(cards, 1)
    numbers[PASSING + 3] = counts[DOWN + i] / 10
