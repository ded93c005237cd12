"""Alle in die Boote: the rules. Numbers in comments are the rules of the rules page (README.md beside this file).

A card is ``suit * 13 + rank - 1`` (suits h d s c). Its *kind* is ``colour * 13 + rank - 1``: all that matters for placing (rule 1), so a
set of kinds is a number of 26 bits, and a card goes on a front exactly when its kind is the one below the front's.
"""

from typing import Any

import numpy as np

from ..core.game import record_dtype
from ..core.jit import kernel
from ..core.log import write_log
from ..core.rng import randint, random_unit, shuffle

MAX_PLAYERS = 5
SECTIONS, BOATS, CARDS, RANKS, HAND_SLOTS, STOCK_SIZE = 6, 4, 52, 13, 3, 24
DEALT = np.array([4, 6, 8, 10], np.int64)  # rule 6
SUIT = np.repeat(np.arange(4), RANKS)
RANK = np.tile(np.arange(1, RANKS + 1), 4)
COLOUR = SUIT // 2
KIND = COLOUR * RANKS + RANK - 1

# Section 4 of the rules: coins by section and starting lifebuoys.
LEVELS = ("leicht", "normal", "schwer", "profi")
START_COINS = np.array([[4, 3, 3, 2, 1, 0], [3, 3, 2, 1, 1, 0], [3, 2, 1, 1, 1, 0], [3, 2, 1, 1, 1, 0]], np.int64)
START_LIFEBUOYS = np.array([3, 2, 1, 0], np.int64)

# What `front` says of a section: the kind of its front card, or one of these.
EMPTY, FLOODED = 26, 27
# The kind that fits a front, -1 if none does; and all that fit a section, as a set: in an empty one both Kings.
WANTS = np.array([k - 1 if k % RANKS else -1 for k in range(2 * RANKS)], np.int64)
KINGS = 1 << 12 | 1 << 25
ACCEPTS = np.array([1 << k - 1 if k % RANKS else 0 for k in range(2 * RANKS)] + [KINGS, 0], np.int64)

# Action ids (section 8.1): the first of each group.
MOVE, BOARD, RESCUE, EVEN, LETPASS, PUMP, CALL, PLACE, NUM_ACTIONS = 0, 30, 42, 45, 50, 56, 57, 109, 133
MAIN, PLACING = 0, 1  # phases
COST_EVEN, COST_LETPASS, COST_CALL, COST_PUMP = 0, 1, 2, 3
REWARD_SCORE, REWARD_RESCUED, REWARD_WIN = 0, 1, 2
REVERSIBLE_LIMIT = 24
DECISION_LIMIT = 1000

# Bits of `where`, in the order of the observation's columns: open in queue 0 .. 5, then these.
IN_BOAT, DISCARDED, IN_HAND, IN_STOCK, FACE_DOWN = 6, 8, 9, 12, 13
LOG_DEAL, LOG_SHUFFLE, LOG_FLOOD, LOG_MERGE, LOG_DRAW, LOG_EVEN, LOG_LIFEBUOY = 0, 1, 2, 3, 4, 5, 6

DTYPE = record_dtype(
    MAX_PLAYERS,
    160,
    [
        ("level", np.int16),
        ("open_queues", np.int16),
        ("own_lifebuoys", np.int16),
        ("cost", np.int16, (4,)),  # even, letpass, call, pump
        ("reward_kind", np.int16),
        ("start_coins", np.int16, (SECTIONS,)),
        ("coins", np.int16, (SECTIONS,)),
        ("queue", np.int8, (SECTIONS, CARDS)),  # back to front: face-down cards, then open ones
        ("queue_size", np.int32, (SECTIONS,)),
        ("face_down", np.int32, (SECTIONS,)),
        ("front", np.int32, (SECTIONS,)),  # kind of the front card, EMPTY or FLOODED
        ("run", np.int32, (SECTIONS,)),  # cards of the front run, the most that can move (rule 7)
        ("boat", np.int32, (BOATS,)),  # top rank, 0 while unopened; boat k of a colour is 2 * colour + k
        ("boat_suits", np.int32, (BOATS,)),  # bit r: the card of rank r + 1 is of the second suit of the colour
        ("stretch", np.int16, (BOATS,)),  # rule 23: cards of one suit up to the top ...
        ("longest", np.int16, (BOATS,)),  # ... and anywhere in the boat
        ("rescued", np.int16),
        ("stock", np.int8, (STOCK_SIZE,)),  # top first, from stock_top on
        ("stock_top", np.int16),
        ("stock_size", np.int16),
        ("discard_size", np.int16),
        ("reshuffles", np.int16),
        ("hand", np.int16, (HAND_SLOTS,)),
        ("hand_size", np.int16),
        ("lifebuoys", np.int16),  # common
        ("own", np.int16, (MAX_PLAYERS,)),
        # Section 3, the no-return rule: arrangements since the last irreversible event, relative to the first (whose key is 0).
        ("segment", np.int16),  # reversible moves so far
        ("keys", np.int64, (REVERSIBLE_LIMIT + 1,)),
        # What everybody knows (perfect recall). where[card]: the one bit of an open place; for a card that was seen and turned face down
        # again, a bit for every hidden place where it may lie; 0 for a card that nobody has ever seen.
        ("where", np.int32, (CARDS,)),
        ("unseen_at", np.int32),  # bits of `where` for the hidden places that may hold never-seen cards
        ("linked", np.int16, (SECTIONS,)),  # the sections whose face-down cards `even` has mixed with this one's, itself included
        ("unseen", np.int16, (SECTIONS,)),  # never-seen cards face down in all the linked sections together
    ],
)


@kernel
def deal(s: Any) -> None:
    """Rule 6."""
    cards = np.arange(CARDS)
    shuffle(s.rng, cards, CARDS)
    write_log(s, LOG_DEAL)
    for k in range(CARDS):
        write_log(s, cards[k])
    for i in range(SECTIONS):
        s.start_coins[i] = START_COINS[s.level, i]
        s.coins[i] = START_COINS[s.level, i]
        s.front[i] = EMPTY
        s.linked[i] = 1 << i
    s.lifebuoys = START_LIFEBUOYS[s.level]
    dealt = 0
    s.unseen_at = 1 << IN_STOCK
    for i in range(len(DEALT)):
        s.queue_size[i] = DEALT[i]
        s.face_down[i] = DEALT[i]
        s.unseen[i] = DEALT[i]
        s.unseen_at |= 1 << FACE_DOWN + i
        for k in range(DEALT[i]):
            s.queue[i, k] = cards[dealt]
            dealt += 1
    for k in range(STOCK_SIZE):
        s.stock[k] = cards[dealt + k]
    s.stock_size = STOCK_SIZE
    for i in range(len(DEALT)):
        while s.open_queues != 0 and s.face_down[i] > 0:  # rule 26
            turn_up(s, i)
        settle(s, i)


# Queues


@kernel
def settle(s: Any, i: int) -> None:
    """Rule 10, and what follows from a new front: turn it up, find its run."""
    k = s.queue_size[i] - 1
    if k < 0:
        s.front[i] = EMPTY
        s.run[i] = 0
        return
    if s.face_down[i] > k:
        turn_up(s, i)
    kind = KIND[s.queue[i, k]]
    s.front[i] = kind
    s.run[i] = 1
    k -= 1
    while k >= s.face_down[i] and WANTS[KIND[s.queue[i, k]]] == kind:
        kind = KIND[s.queue[i, k]]
        s.run[i] += 1
        k -= 1


@kernel
def turn_up(s: Any, i: int) -> None:
    """The frontmost face-down card of queue i becomes open."""
    s.face_down[i] -= 1
    card = s.queue[i, s.face_down[i]]
    linked = s.linked[i]
    if s.where[card] == 0:
        for t in range(SECTIONS):
            s.unseen[t] -= linked >> t & 1
        if s.unseen[i] == 0:
            for t in range(SECTIONS):
                if linked >> t & 1:
                    s.unseen_at &= ~(1 << FACE_DOWN + t)
    s.where[card] = 1 << i
    if s.face_down[i] == 0:
        leave_links(s, i)


@kernel
def leave_links(s: Any, i: int) -> None:
    """No card lies face down in section i any more: what may have been there is in the sections that were linked with it."""
    s.unseen_at &= ~(1 << FACE_DOWN + i)
    if s.linked[i] != 1 << i:
        for t in range(SECTIONS):
            s.linked[t] &= ~(1 << i)
        s.linked[i] = 1 << i
        for card in range(CARDS):
            s.where[card] &= ~(1 << FACE_DOWN + i)
    s.unseen[i] = 0


@kernel
def join_links(s: Any, i: int, j: int) -> None:
    """The face-down cards of i and j were mixed."""
    linked = s.linked[i] | s.linked[j]
    unseen = s.unseen[i] if s.linked[i] == s.linked[j] else s.unseen[i] + s.unseen[j]
    for t in range(SECTIONS):
        if linked >> t & 1:
            s.linked[t] = linked
            s.unseen[t] = unseen


@kernel
def add_card(s: Any, i: int, card: int) -> None:
    """A card that fits (rules 7, 8) becomes the front of queue i."""
    s.queue[i, s.queue_size[i]] = card
    s.queue_size[i] += 1
    s.front[i] = KIND[card]
    s.run[i] += 1
    s.where[card] = 1 << i


@kernel
def remove_cards(s: Any, i: int, m: int) -> None:
    """The m front cards of queue i have gone."""
    s.queue_size[i] -= m
    if m < s.run[i]:
        s.run[i] -= m
        s.front[i] += m
    else:
        settle(s, i)


# What fits where


@kernel
def queue_kinds(s: Any) -> int:
    """The kinds that fit on a front or into an empty dry section, as a set (rules 7, 8)."""
    kinds = 0
    for i in range(SECTIONS):
        kinds |= ACCEPTS[s.front[i]]
    return kinds


@kernel
def boat_kinds(s: Any) -> int:
    """The kinds that a boat takes, as a set (rule 9)."""
    red = 1 << s.boat[0] | 1 << s.boat[1]
    black = 1 << s.boat[2] | 1 << s.boat[3]
    return (red & 0x1FFF) | (black & 0x1FFF) << RANKS


@kernel
def cards_of(kinds: int) -> int:
    """A set of kinds as a set of cards: each kind is one card of each suit of its colour."""
    red: Any = np.int64(kinds) & 0x1FFF
    black: Any = np.int64(kinds) >> RANKS
    return red | red << 13 | black << 26 | black << 39


@kernel
def boat_takes(s: Any, boat: int, kind: int) -> bool:
    """Rule 9; an Ace takes the lower of two unopened boats (ambiguity 11)."""
    return s.boat[boat] == kind % RANKS and boat // 2 == kind // RANKS and (boat % 2 == 0 or s.boat[boat] > 0 or s.boat[boat - 1] > 0)


@kernel
def move_size(s: Any, i: int, j: int) -> int:
    """How many cards a legal move from queue i to queue j takes (rules 7, 8)."""
    return s.run[i] if s.front[j] == EMPTY else s.front[j] - s.front[i]


@kernel
def is_reversible(s: Any, i: int, m: int) -> bool:
    """Section 3: whether the m front cards of queue i, once moved, could be put straight back."""
    return m < s.run[i] or (m == s.queue_size[i] and (s.front[i] + m) % RANKS == 0)


@kernel
def key_after(s: Any, i: int, j: int, m: int) -> int:
    """Section 3: the arrangement's key after a reversible move, exact.

    Only the highest card that moves changes what it lies on. A King goes from section to section (three bits each). Any other card lies on
    one of the two cards of the kind above before and on the other one afterwards: one bit.
    """
    card = s.queue[i, s.queue_size[i] - m]
    if RANK[card] == RANKS:
        return s.keys[s.segment] ^ (np.int64(i ^ j) << 48 + 3 * SUIT[card])
    return s.keys[s.segment] ^ (np.int64(1) << 12 * SUIT[card] + RANK[card] - 1)


@kernel
def may_move(s: Any, i: int, j: int) -> bool:
    """The no-return rule (section 3), for a move that rules 7 and 8 allow."""
    m = move_size(s, i, j)
    if not is_reversible(s, i, m):
        return True
    if s.segment == REVERSIBLE_LIMIT:
        return False
    key = key_after(s, i, j, m)
    seen = False
    for k in range(s.segment + 1):
        seen |= s.keys[k] == key
    return not seen


@kernel
def move_id(i: int, j: int) -> int:
    """The action that moves cards from queue i to queue j."""
    return MOVE + 5 * i + (j if j < i else j - 1)


@kernel
def budget(s: Any, seat: int) -> int:
    """The lifebuoys that a seat can spend (rule 25)."""
    return s.lifebuoys + s.own[seat]


@kernel
def bow_coin(s: Any) -> int:
    """The lowest-numbered section that has coins (rule 19)."""
    i = 0
    while s.coins[i] == 0:
        i += 1
    return i


@kernel
def legal(s: Any, mask: Any) -> None:
    """Rule 3: free moves or an action; or the placement that an action owes."""
    if s.phase == PLACING:
        legal_places(s, mask)
        return
    kinds = queue_kinds(s)
    for i in range(SECTIONS):
        front = s.front[i]
        if front < EMPTY:
            run = ((1 << s.run[i]) - 1) << front
            if run & kinds:
                for j in range(SECTIONS):
                    if run & ACCEPTS[s.front[j]]:
                        mask[move_id(i, j)] = may_move(s, i, j)
            boat = front // RANKS * 2
            mask[BOARD + 2 * i] = boat_takes(s, boat, front)
            mask[BOARD + 2 * i + 1] = boat_takes(s, boat + 1, front)
    for n in range(1, HAND_SLOTS + 1):
        mask[RESCUE + n - 1] = s.stock_size == 0 or n <= s.stock_size
    # Section 5.
    lifebuoys = budget(s, s.to_move)
    if lifebuoys >= s.cost[COST_EVEN]:
        for i in range(SECTIONS - 1):
            mask[EVEN + i] = s.front[i] < EMPTY and s.front[i + 1] < EMPTY and abs(s.face_down[i] - s.face_down[i + 1]) >= 2
    if lifebuoys >= s.cost[COST_LETPASS]:
        for i in range(SECTIONS):
            mask[LETPASS + i] = s.face_down[i] > 0
    if lifebuoys >= s.cost[COST_PUMP]:
        i = bow_coin(s)
        mask[PUMP] = s.coins[i] < s.start_coins[i]
    if lifebuoys >= s.cost[COST_CALL] and s.discard_size > 0:
        fitting = cards_of(kinds | boat_kinds(s))
        for card in range(CARDS):
            mask[CALL + card] = (s.where[card] >> DISCARDED & fitting >> card & 1) != 0


@kernel
def legal_places(s: Any, mask: Any) -> None:
    """Rules 13, 14: every fitting card of the hand, every place that it fits."""
    for slot in range(s.hand_size):
        kind = KIND[s.hand[slot]]
        first = PLACE + 8 * slot
        for i in range(SECTIONS):
            mask[first + i] = (ACCEPTS[s.front[i]] >> kind & 1) != 0
        boat = kind // RANKS * 2
        mask[first + 6] = boat_takes(s, boat, kind)
        mask[first + 7] = boat_takes(s, boat + 1, kind)


# Decisions


@kernel
def apply(s: Any, action: int) -> None:
    """One decision and what follows from it."""
    if action < BOARD:
        i = action // 5
        j = action % 5
        move(s, i, j if j < i else j + 1)
    else:
        s.segment = 0
        if action < RESCUE:
            board(s, (action - BOARD) // 2, (action - BOARD) % 2)
        elif action < EVEN:
            rescue(s, action - RESCUE + 1)
        elif action < CALL:
            if action < LETPASS:
                even(s, action - EVEN)
            elif action < PUMP:
                let_pass(s, action - LETPASS)
            else:
                pay(s, COST_PUMP)
                s.coins[bow_coin(s)] += 1
            end_turn(s)
        elif action < PLACE:
            call(s, action - CALL)
        else:
            place(s, (action - PLACE) // 8, (action - PLACE) % 8)
    if s.to_move >= 0 and s.decisions + 1 >= DECISION_LIMIT:
        s.truncated = 1
        s.to_move = -1


@kernel
def move(s: Any, i: int, j: int) -> None:
    """Rules 7, 8: the run's lower part that fits goes from queue i to queue j."""
    m = move_size(s, i, j)
    if is_reversible(s, i, m):
        key = key_after(s, i, j, m)
        s.segment += 1
        s.keys[s.segment] = key
    else:
        s.segment = 0
    first = s.queue_size[i] - m
    for k in range(first, first + m):
        add_card(s, j, s.queue[i, k])
    remove_cards(s, i, m)


@kernel
def board(s: Any, i: int, k: int) -> None:
    """Rule 9: the front of queue i goes into boat k of its colour."""
    card = s.queue[i, s.queue_size[i] - 1]
    remove_cards(s, i, 1)
    load(s, card, k)


@kernel
def load(s: Any, card: int, k: int) -> None:
    """A card is rescued in boat k of its colour; rule 22 if it is the last one."""
    boat = 2 * COLOUR[card] + k
    suit = SUIT[card] & 1
    rank = s.boat[boat]
    same = rank > 0 and (s.boat_suits[boat] >> (rank - 1) & 1) == suit
    s.boat_suits[boat] |= suit << rank
    s.boat[boat] += 1
    s.stretch[boat] = s.stretch[boat] + 1 if same else 1
    s.longest[boat] = max(s.longest[boat], s.stretch[boat])
    s.where[card] = 1 << IN_BOAT + k
    s.rescued += 1
    points = 1
    won = s.rescued == CARDS
    if won:
        points += ship_coins(s) + max(s.longest[0], s.longest[1]) + max(s.longest[2], s.longest[3])  # rule 23
        s.terminal = 1
        s.to_move = -1
    for seat in range(s.players):
        s.score[seat] += points
        s.winner[seat] = won
        if s.reward_kind == REWARD_SCORE:
            s.reward[seat] += points
        elif s.reward_kind == REWARD_RESCUED:
            s.reward[seat] += 1
        else:
            s.reward[seat] += won


@kernel
def ship_coins(s: Any) -> int:
    """Coins on the ship."""
    coins = 0
    for i in range(SECTIONS):
        coins += s.coins[i]
    return coins


@kernel
def end_turn(s: Any) -> None:
    """Rule 24: clockwise."""
    s.to_move = (s.to_move + 1) % s.players


@kernel
def rescue(s: Any, n: int) -> None:
    """Rules 12 to 18."""
    if s.stock_size == 0:
        had_cards = s.discard_size > 0
        if had_cards:
            reshuffle(s)
        flood(s)
        if s.to_move < 0:
            return
        if not had_cards:  # rule 18
            end_turn(s)
            return
    draw(s, min(n, s.stock_size))
    kinds = queue_kinds(s) | boat_kinds(s)
    for slot in range(s.hand_size):
        if kinds >> KIND[s.hand[slot]] & 1:
            s.phase = PLACING
            return
    discard_hand(s)  # rule 15
    flood(s)
    if s.to_move < 0:
        return
    if s.own_lifebuoys != 0:  # rule 25
        s.own[s.to_move] += 1
    else:
        s.lifebuoys += 1
    write_log(s, LOG_LIFEBUOY)
    write_log(s, s.to_move)
    end_turn(s)


@kernel
def reshuffle(s: Any) -> None:
    """Rule 16: the discard pile becomes the stock, whose content everybody knows from now on."""
    for card in range(CARDS):
        if s.where[card] == 1 << DISCARDED:
            s.where[card] = 1 << IN_STOCK
            s.stock[s.stock_size] = card
            s.stock_size += 1
    s.stock_top = 0
    s.discard_size = 0
    s.reshuffles += 1
    shuffle(s.rng, s.stock, s.stock_size)
    write_log(s, LOG_SHUFFLE)
    write_log(s, s.stock_size)
    for k in range(s.stock_size):
        write_log(s, s.stock[k])


@kernel
def draw(s: Any, n: int) -> None:
    """Rules 12, 17."""
    write_log(s, LOG_DRAW)
    write_log(s, n)
    for slot in range(n):
        card = s.stock[s.stock_top]
        s.stock_top += 1
        s.hand[slot] = card
        s.where[card] = 1 << IN_HAND + slot
        write_log(s, card)
    s.hand_size = n
    s.stock_size -= n
    if s.stock_size == 0:
        s.unseen_at &= ~(1 << IN_STOCK)


@kernel
def discard_hand(s: Any) -> None:
    """What was not placed goes to the discard pile."""
    for slot in range(s.hand_size):
        s.where[s.hand[slot]] = 1 << DISCARDED
    s.discard_size += s.hand_size
    s.hand_size = 0


@kernel
def place(s: Any, slot: int, target: int) -> None:
    """Rule 14: one card of the hand on a queue (0 .. 5) or into a boat of its colour (6, 7)."""
    card = s.hand[slot]
    s.hand_size -= 1
    for k in range(slot, s.hand_size):
        s.hand[k] = s.hand[k + 1]
    discard_hand(s)
    s.phase = MAIN
    if target < SECTIONS:
        add_card(s, target, card)
    else:
        load(s, card, target - SECTIONS)
    if s.to_move >= 0:
        end_turn(s)


@kernel
def flood(s: Any) -> None:
    """Rules 19, 20."""
    i = bow_coin(s)
    s.coins[i] -= 1
    write_log(s, LOG_FLOOD)
    write_log(s, i)
    write_log(s, s.coins[i])
    if ship_coins(s) == 0:
        s.terminal = 1
        s.to_move = -1
    elif s.coins[i] == 0:
        if s.queue_size[i] > 0:
            merge(s, i)
        s.front[i] = FLOODED


@kernel
def merge(s: Any, i: int) -> None:
    """Rule 20: the cards of queues i and i + 1 are shuffled and laid face down as queue i + 1."""
    j = i + 1
    n = s.queue_size[j]
    for k in range(s.queue_size[i]):
        s.queue[j, n] = s.queue[i, k]
        n += 1
    shuffle(s.rng, s.queue[j], n)
    # Known: open cards now lie face down in j, and what may have been face down in i may be in j.
    came = 1 << i | 1 << j | 1 << FACE_DOWN + i
    for card in range(CARDS):
        if s.where[card] & came:
            s.where[card] = (s.where[card] & ~came) | 1 << FACE_DOWN + j
    if s.unseen_at >> FACE_DOWN + i & 1:
        s.unseen_at |= 1 << FACE_DOWN + j
    join_links(s, i, j)
    s.queue_size[i] = 0
    s.face_down[i] = 0
    s.run[i] = 0
    leave_links(s, i)
    s.queue_size[j] = n
    s.face_down[j] = n
    write_log(s, LOG_MERGE)
    write_log(s, j)
    write_log(s, n)
    for k in range(n):
        write_log(s, s.queue[j, k])
    settle(s, j)


# Commands (section 5)


@kernel
def pay(s: Any, command: int) -> None:
    """Own lifebuoys first (rule 25)."""
    seat = s.to_move
    own = min(s.own[seat], s.cost[command])
    s.own[seat] -= own
    s.lifebuoys -= s.cost[command] - own


@kernel
def even(s: Any, i: int) -> None:
    """Ausgleichen: the face-down cards of queues i and i + 1, shuffled, half to each (the odd one to i + 1)."""
    pay(s, COST_EVEN)
    j = i + 1
    pool = np.empty(CARDS, np.int64)
    n = 0
    for q in range(i, j + 1):
        for k in range(s.face_down[q]):
            pool[n] = s.queue[q, k]
            n += 1
    shuffle(s.rng, pool, n)
    write_log(s, LOG_EVEN)
    lay_face_down(s, i, pool[: n // 2])
    lay_face_down(s, j, pool[n // 2 : n])
    # Known: a card that may have been face down in one may now be in the other.
    both = 1 << FACE_DOWN + i | 1 << FACE_DOWN + j
    for card in range(CARDS):
        if s.where[card] & both:
            s.where[card] |= both
    if s.unseen_at & both:
        s.unseen_at |= both
    join_links(s, i, j)


@kernel
def lay_face_down(s: Any, i: int, cards: Any) -> None:
    """Put ``cards`` in the place of the face-down cards of queue i, behind its open ones."""
    shown = s.queue_size[i] - s.face_down[i]
    n = len(cards)
    if n < s.face_down[i]:
        for k in range(shown):
            s.queue[i, n + k] = s.queue[i, s.face_down[i] + k]
    else:
        for k in range(shown - 1, -1, -1):
            s.queue[i, n + k] = s.queue[i, s.face_down[i] + k]
    write_log(s, n)
    for k in range(n):
        s.queue[i, k] = cards[k]
        write_log(s, cards[k])
    s.face_down[i] = n
    s.queue_size[i] = n + shown


@kernel
def let_pass(s: Any, i: int) -> None:
    """Durchlassen: the frontmost face-down card of queue i is turned up and becomes its front."""
    pay(s, COST_LETPASS)
    turn_up(s, i)
    last = s.queue_size[i] - 1
    card = s.queue[i, s.face_down[i]]
    for k in range(s.face_down[i], last):
        s.queue[i, k] = s.queue[i, k + 1]
    s.queue[i, last] = card
    settle(s, i)


@kernel
def call(s: Any, card: int) -> None:
    """Passagier aufrufen: a fitting card of the discard pile, to be placed at once."""
    pay(s, COST_CALL)
    s.discard_size -= 1
    s.where[card] = 1 << IN_HAND
    s.hand[0] = card
    s.hand_size = 1
    s.phase = PLACING


# Hidden facts


@kernel
def hide(s: Any, seat: int) -> None:
    """Blank (-1) the order of the stock and the face-down cards. All seats know the same, and `where` says what they know."""
    s.stock[:] = -1
    for i in range(SECTIONS):
        s.queue[i, : s.face_down[i]] = -1
        s.queue[i, s.queue_size[i] :] = -1
    s.hand[s.hand_size :] = 0


@kernel
def resample(s: Any, seat: int) -> None:
    """A uniform arrangement of the hidden cards among those that fit `where`, `unseen_at` and the counts.

    Every hidden order was made by a uniform shuffle, and nothing was seen since but the cards that came out. So never-seen cards can be
    exchanged for each other, and a pile in which a flood mixed known and never-seen cards is in random order: a known card is at each of
    its places with equal chance. The stock holds never-seen cards only until the first reshuffle and known cards only afterwards. What
    `even` mixed is drawn by `spread`.
    """
    unseen = np.empty(CARDS, np.int64)
    strangers = 0
    stock = 0
    for card in range(CARDS):
        if s.where[card] == 0:
            unseen[strangers] = card
            strangers += 1
        elif s.where[card] == 1 << IN_STOCK:
            s.stock[s.stock_top + stock] = card
            stock += 1
    shuffle(s.rng, unseen, strangers)
    if s.reshuffles == 0:
        while stock < s.stock_size:
            strangers -= 1
            s.stock[s.stock_top + stock] = unseen[strangers]
            stock += 1
    shuffle(s.rng, s.stock[s.stock_top : s.stock_top + stock], stock)
    tokens = np.empty(CARDS, np.int64)  # the cards of linked sections, -1 for a never-seen one
    masks = np.empty(CARDS, np.int64)  # the sections where each may lie
    section = np.empty(CARDS, np.int64)  # the section that each is given
    filled = np.zeros(SECTIONS, np.int64)
    for i in range(SECTIONS):
        linked = s.linked[i]
        if s.face_down[i] == 0 or linked & ((1 << i) - 1):  # done with the lowest of the linked sections
            continue
        n = gather_tokens(s, linked, s.unseen[i], tokens, masks)
        spread(s, n, masks, section)
        for k in range(n):
            card = tokens[k]
            if card < 0:
                strangers -= 1
                card = unseen[strangers]
            s.queue[section[k], filled[section[k]]] = card
            filled[section[k]] += 1
    for i in range(SECTIONS):
        shuffle(s.rng, s.queue[i], s.face_down[i])


@kernel
def gather_tokens(s: Any, linked: int, unseen: int, tokens: Any, masks: Any) -> int:
    """List the known and the ``unseen`` never-seen cards of linked sections; those with the fewest sections first."""
    n = 0
    strange = s.unseen_at >> FACE_DOWN & linked
    for size in range(1, SECTIONS + 1):
        for card in range(CARDS):
            mask = s.where[card] >> FACE_DOWN
            if mask & linked and count_sections(mask) == size:
                tokens[n] = card
                masks[n] = mask
                n += 1
        if count_sections(strange) == size:
            for _ in range(unseen):
                tokens[n] = -1
                masks[n] = strange
                n += 1
    return n


@kernel
def count_sections(mask: int) -> int:
    """Bits that are set."""
    count = 0
    for t in range(SECTIONS):
        count += mask >> t & 1
    return count


@kernel
def spread(s: Any, n: int, masks: Any, section: Any) -> None:
    """Give each of n cards a section of its mask, uniformly among all ways to fill the face-down places.

    One card after the other takes a free place at random. That is uniform where the number of its free places does not depend on what the
    earlier cards took, which holds when each earlier card's sections are all among its own, or none is: for every single section and
    nearly always. Otherwise (`even` in overlapping pairs) a draw is accepted with chance (free places) / (most that could be free),
    multiplied over the cards: rejection sampling, exact. After 1,000 refusals any draw that fills the places will do.
    """
    free = np.empty(SECTIONS, np.int64)
    refused = 0
    while True:
        for t in range(SECTIONS):
            free[t] = s.face_down[t]
        chance = 1.0
        placed = 0
        while placed < n:
            mask = masks[placed]
            places = 0
            most = 0
            for t in range(SECTIONS):
                places += free[t] * (mask >> t & 1)
                most += s.face_down[t] * (mask >> t & 1)
            if places == 0:
                break
            if count_sections(mask) > 1:
                for k in range(placed):
                    most -= masks[k] & ~mask == 0
                chance *= places / most
            skip = randint(s.rng, places)
            t = 0
            while skip >= free[t] * (mask >> t & 1):
                skip -= free[t] * (mask >> t & 1)
                t += 1
            free[t] -= 1
            section[placed] = t
            placed += 1
        if placed == n and (refused >= 1000 or random_unit(s.rng) < chance):
            return
        refused += 1
