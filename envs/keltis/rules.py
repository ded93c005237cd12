"""Keltis – Das Kartenspiel: the rules. K1 .. K10 are the paragraphs of README.md beside this file."""

from typing import Any

import numpy as np

from ..core.game import record_dtype
from ..core.hands import insert_card, remove_card
from ..core.jit import kernel
from ..core.log import write_log
from ..core.rng import randint, random_unit, shuffle

MAX_PLAYERS = 4
HAND = 8
COLOURS = 5  # red, yellow, green, blue, pink
POINTS = 5  # stands for the point cards where the others are colours: their pile, and a player's neutral row
PILES = 6
END = 11  # the value of an end card

# K1: a card is one of 71 types, 12 * colour + value: R0 .. R10 RE Y0 .. PE N0 .. N10. Cards of one type cannot be told apart.
TYPES = 71
COLOUR = np.arange(TYPES) // 12
VALUE = np.arange(TYPES) % 12
COPIES = np.array([2 if COLOUR[t] != POINTS and (3 <= VALUE[t] <= 7 or VALUE[t] == END) else 1 for t in range(TYPES)], np.int64)
FULL_DECK = np.repeat(np.arange(TYPES), COPIES)
CARDS = len(FULL_DECK)
STONES = 9  # K2: the stone of value v is number v - 1
REMOVED = 30  # K3: cards that leave a game of two

# K4 b: the pairs of equal value 1 .. 9, by value, then first and second card type.
PAIRS_OF_CARDS = [
    (i, j) for v in range(1, STONES + 1) for i in range(v, TYPES, 12) for j in range(i, TYPES, 12) if i != j or COPIES[i] == 2
]
PAIRS = len(PAIRS_OF_CARDS)
PAIR_FIRST = np.array([i for i, _ in PAIRS_OF_CARDS], np.int64)
PAIR_SECOND = np.array([j for _, j in PAIRS_OF_CARDS], np.int64)
PAIR_OF = np.full((TYPES, TYPES), -1, np.int64)
PAIR_OF[PAIR_FIRST, PAIR_SECOND] = np.arange(PAIRS)

# Actions: the first id of each kind.
DISCARD = 0  # + card type
LAY = DISCARD + TYPES  # + card type: on its own colour's row; a point card in the neutral row
LAY_ON = LAY + TYPES  # + 5 * value of the point card + colour of the row
STONE = LAY_ON + 11 * COLOURS  # + pair
DRAW_STOCK = STONE + PAIRS
DRAW_PILE = DRAW_STOCK + 1  # + pile
STOP = DRAW_PILE + PILES
NUM_ACTIONS = STOP + 1

# K8: a row by its number of cards, the stones by their number.
ROW_SCORE = np.array([0, -4, -3, -2, 1, 2, 3, 6, 7, 10], np.int64)
STONE_SCORE = np.array([-4, -1, 0, 4, 6, 10], np.int64)

ACT, DRAW, FINAL = 0, 1, 2  # phases
BY_ROWS, BY_STOCK = 0, 1  # why play ended
CAN_LAY, CANNOT_LAY = 1, -1  # what everybody has learned about a hand in the final phase
REWARD_MARGIN, REWARD_WIN, REWARD_SCORE = 0, 1, 2
LOG_DEAL, LOG_DRAW, LOG_END = 0, 1, 2  # log codes
UNKNOWN = -1  # a hidden card in a view; in `deck` also a place whose card has left

DTYPE = record_dtype(
    MAX_PLAYERS,
    3 + MAX_PLAYERS * HAND,
    [
        ("stone_with_point_card", np.int16),
        ("max_turns", np.int16),
        ("reward_kind", np.int16),
        ("dense", np.int16),
        ("turn", np.int32),  # finished turns
        # The stock is deck[:stock], its last card is drawn next; the cards that left a game of two are deck[CARDS - REMOVED:].
        ("deck", np.int8, (CARDS,)),
        ("stock", np.int16),
        ("hand", np.int16, (MAX_PLAYERS, HAND)),  # ascending; in a view, of others: the known cards, then UNKNOWN
        ("hand_size", np.int16, (MAX_PLAYERS,)),
        # K9: cards of a hand that were taken from a pile and have not been played since.
        ("known", np.int8, (MAX_PLAYERS, TYPES)),
        ("pile", np.int8, (PILES, 18)),  # pile[p, pile_size[p] - 1] is the top card
        ("pile_size", np.int16, (PILES,)),
        ("in_piles", np.int8, (TYPES,)),  # cards of each type in the discard piles
        ("on_table", np.int8, (TYPES,)),  # cards of each type in the discard piles and rows
        ("row_size", np.int16, (MAX_PLAYERS, COLOURS)),  # all cards of a colour row
        ("row_last", np.int16, (MAX_PLAYERS, COLOURS)),  # last number, -1 before the first
        ("row_direction", np.int16, (MAX_PLAYERS, COLOURS)),  # +1 ascending, -1 descending, 0 while only one value is laid
        ("row_ends", np.int16, (MAX_PLAYERS, COLOURS)),  # end cards; the row is closed when there is one
        ("neutral", np.int16, (MAX_PLAYERS,)),  # point cards in the neutral row
        ("laid", np.int8, (CARDS,)),  # all cards laid on rows, in order
        ("laid_row", np.int8, (CARDS,)),  # 6 * seat + colour (or POINTS) of each
        ("laid_size", np.int16),
        ("stone_owner", np.int16, (STONES,)),  # -1 on the table
        ("stones", np.int16, (MAX_PLAYERS,)),
        ("closed_rows", np.int16),
        ("blocked", np.int16, (PILES,)),  # piles that received a card this turn
        ("draws_left", np.int16),
        ("ender", np.int16),  # who ended play, -1 before
        ("final_turn", np.int16),  # 1 for the player after the ender, up to the number of players for the ender
        ("lays_left", np.int16),
        ("lay_known", np.int16, (MAX_PLAYERS,)),  # CAN_LAY, CANNOT_LAY or 0, about the rows and the hand as they are now
        ("paid", np.int32, (MAX_PLAYERS,)),  # dense rewards so far
    ],
)


@kernel
def deal(s: Any) -> None:
    """K2, K3."""
    s.to_move = randint(s.rng, s.players)
    for k in range(CARDS):
        s.deck[k] = FULL_DECK[k]
    # The one shuffle. The array is used up from its end: with two players the last 30 cards leave; then come the eight cards of seat 0, of
    # seat 1 and so on; what is left at the front is the stock.
    shuffle(s.rng, s.deck, CARDS)
    s.stock = CARDS - REMOVED if s.players == 2 else CARDS
    write_log(s, LOG_DEAL)
    write_log(s, s.to_move)
    for seat in range(s.players):
        for _ in range(HAND):
            take_from_stock(s, seat)
        for k in range(HAND):
            write_log(s, s.hand[seat, k])
        s.score[seat] = STONE_SCORE[0]
    s.row_last[:] = -1
    s.stone_owner[:] = -1
    s.ender = -1
    s.phase = ACT


@kernel
def add_to_hand(s: Any, seat: int, card: int) -> None:
    """Put a card into a hand."""
    insert_card(s.hand[seat], s.hand_size[seat], card)
    s.hand_size[seat] += 1


@kernel
def take_from_stock(s: Any, seat: int) -> int:
    """The next stock card goes to a hand."""
    s.stock -= 1
    card = s.deck[s.stock]
    s.deck[s.stock] = UNKNOWN
    add_to_hand(s, seat, card)
    return card


@kernel
def play_from_hand(s: Any, seat: int, card: int) -> None:
    """A card leaves a hand for the table. Of two equal cards the one that everybody knows is taken to be the one played."""
    remove_card(s.hand[seat], s.hand_size[seat], card)
    s.hand_size[seat] -= 1
    s.known[seat, card] = max(s.known[seat, card] - 1, 0)
    s.on_table[card] += 1


@kernel
def fits(s: Any, seat: int, card: int) -> bool:
    """K4 c: whether a colour card or an end card may be laid on the seat's row."""
    colour = COLOUR[card]
    if VALUE[card] == END:
        return True
    return s.row_ends[seat, colour] == 0 and (VALUE[card] - s.row_last[seat, colour]) * s.row_direction[seat, colour] >= 0


@kernel
def can_lay(s: Any, seat: int) -> bool:
    """K7: whether the hand holds a card that can be laid; a point card always can."""
    for k in range(s.hand_size[seat]):
        card = s.hand[seat, k]
        if COLOUR[card] == POINTS or fits(s, seat, card):
            return True
    return False


@kernel
def legal(s: Any, mask: Any) -> None:
    """K4, K5, K7."""
    seat = s.to_move
    if s.phase == DRAW:
        mask[DRAW_STOCK] = True
        if s.max_turns == 0 or s.turn < s.max_turns:  # K10
            for pile in range(PILES):
                mask[DRAW_PILE + pile] = s.pile_size[pile] > 0 and s.blocked[pile] == 0
        return
    for k in range(s.hand_size[seat]):
        card = s.hand[seat, k]
        if COLOUR[card] == POINTS:
            mask[LAY + card] = True
            for colour in range(COLOURS):
                mask[LAY_ON + COLOURS * VALUE[card] + colour] = s.row_ends[seat, colour] == 0 and s.row_last[seat, colour] == VALUE[card]
        else:
            mask[LAY + card] = fits(s, seat, card)
    if s.phase == FINAL:
        mask[STOP] = True
        return
    for k in range(s.hand_size[seat]):
        card = s.hand[seat, k]
        mask[DISCARD + card] = True
        value = VALUE[card]
        if 1 <= value <= STONES and s.stone_owner[value - 1] < 0:
            for other in range(k + 1, s.hand_size[seat]):
                second = s.hand[seat, other]
                if VALUE[second] == value and (COLOUR[second] != POINTS or s.stone_with_point_card != 0):
                    mask[STONE + PAIR_OF[card, second]] = True


@kernel
def apply(s: Any, action: int) -> None:
    """One decision and what follows from it."""
    seat = s.to_move
    if action >= DRAW_STOCK and action < STOP:
        draw(s, seat, action - DRAW_PILE)
    elif s.phase == ACT:
        s.draws_left = 1
        if action < LAY:
            discard(s, seat, action - DISCARD)
        elif action < STONE:
            lay(s, seat, action)
        else:
            take_stone(s, seat, action - STONE)
        if s.closed_rows >= 5:
            end_play(s, BY_ROWS)  # K6 (i)
        else:
            s.phase = DRAW
    else:
        s.lays_left -= 1
        if action == STOP:
            s.lays_left = 0
        else:
            lay(s, seat, action)
            s.lay_known[seat] = 0
        go_on_with_final(s)
    if s.dense != 0:
        for other in range(s.players):
            due = target(s, other)
            s.reward[other] += due - s.paid[other]
            s.paid[other] = due


@kernel
def discard(s: Any, seat: int, card: int) -> None:
    """K4 a."""
    play_from_hand(s, seat, card)
    pile = COLOUR[card]
    s.pile[pile, s.pile_size[pile]] = card
    s.pile_size[pile] += 1
    s.in_piles[card] += 1
    s.blocked[pile] = 1


@kernel
def take_stone(s: Any, seat: int, pair: int) -> None:
    """K4 b."""
    discard(s, seat, PAIR_FIRST[pair])
    discard(s, seat, PAIR_SECOND[pair])
    s.stone_owner[VALUE[PAIR_FIRST[pair]] - 1] = seat
    s.score[seat] -= STONE_SCORE[min(s.stones[seat], 5)]
    s.stones[seat] += 1
    s.score[seat] += STONE_SCORE[min(s.stones[seat], 5)]
    s.draws_left = 2


@kernel
def lay(s: Any, seat: int, action: int) -> None:
    """K4 c, d, and the score that follows (K8)."""
    if action < LAY_ON:
        card = action - LAY
        row = COLOUR[card]
    else:
        card = TYPES - 11 + (action - LAY_ON) // COLOURS
        row = (action - LAY_ON) % COLOURS
    play_from_hand(s, seat, card)
    s.laid[s.laid_size] = card
    s.laid_row[s.laid_size] = PILES * seat + row
    s.laid_size += 1
    if row == POINTS:
        s.neutral[seat] += 1
        s.score[seat] += 1
        return
    if VALUE[card] == END:
        s.row_ends[seat, row] += 1
        s.closed_rows += s.row_ends[seat, row] == 1
    elif COLOUR[card] != POINTS:
        if s.row_last[seat, row] >= 0 and s.row_direction[seat, row] == 0:
            s.row_direction[seat, row] = np.sign(VALUE[card] - s.row_last[seat, row])
        s.row_last[seat, row] = VALUE[card]
    s.score[seat] -= ROW_SCORE[min(s.row_size[seat, row], 9)]
    s.row_size[seat, row] += 1
    s.score[seat] += ROW_SCORE[min(s.row_size[seat, row], 9)]


@kernel
def draw(s: Any, seat: int, pile: int) -> None:
    """K5: draw from a pile, or from the stock when ``pile`` is -1."""
    if pile >= 0:
        s.pile_size[pile] -= 1
        card = s.pile[pile, s.pile_size[pile]]
        s.pile[pile, s.pile_size[pile]] = 0
        s.in_piles[card] -= 1
        s.on_table[card] -= 1
        s.known[seat, card] += 1
        add_to_hand(s, seat, card)
    else:
        card = take_from_stock(s, seat)
        write_log(s, LOG_DRAW)
        write_log(s, seat)
        write_log(s, card)
        if s.stock == 0:
            end_play(s, BY_STOCK)  # K6 (ii)
            return
    s.draws_left -= 1
    if s.draws_left == 0:
        s.turn += 1
        s.blocked[:] = 0
        s.to_move = (seat + 1) % s.players
        s.phase = ACT


@kernel
def end_play(s: Any, reason: int) -> None:
    """K6: no more turns; the final phase begins."""
    s.ender = s.to_move
    write_log(s, LOG_END)
    write_log(s, reason)
    write_log(s, s.ender)
    s.turn += 1
    s.blocked[:] = 0
    s.draws_left = 0
    s.phase = FINAL
    s.final_turn = 1
    s.lays_left = 2
    go_on_with_final(s)


@kernel
def go_on_with_final(s: Any) -> None:
    """K7: whoever can lay is asked, from the player after the ender on. Being asked or not tells everybody something about a hand."""
    while s.final_turn <= s.players:
        seat = (s.ender + s.final_turn) % s.players
        if s.lays_left > 0:
            if can_lay(s, seat):
                s.lay_known[seat] = CAN_LAY
                s.to_move = seat
                return
            s.lay_known[seat] = CANNOT_LAY
        s.final_turn += 1
        s.lays_left = 2
    end_game(s)


@kernel
def target(s: Any, seat: int) -> int:
    """What the rewards of a seat add up to if the game is scored now (not for the reward "win")."""
    if s.reward_kind == REWARD_SCORE:
        return int(s.score[seat])
    best = -1000
    for other in range(s.players):
        if other != seat:
            best = max(best, s.score[other])
    return int(s.score[seat] - best)


@kernel
def end_game(s: Any) -> None:
    """K8: most points win, ties share; and the rewards that are paid at the end."""
    s.terminal = 1
    s.to_move = -1
    s.lays_left = 0
    best = s.score[0]
    for seat in range(s.players):
        best = max(best, s.score[seat])
    shared = 0
    for seat in range(s.players):
        if s.score[seat] == best:
            s.winner[seat] = 1
            shared += 1
    if s.dense == 0:
        others = s.players - 1
        for seat in range(s.players):
            if s.reward_kind == REWARD_WIN:
                # The mean of the vectors in which one of the winners wins alone.
                s.reward[seat] += (1 - (shared - 1) / others) / shared if s.winner[seat] else -1 / others
            else:
                s.reward[seat] += target(s, seat)


@kernel
def hide(s: Any, seat: int) -> None:
    """K9: stock, removed cards, and the hands of others but for the cards taken from piles."""
    s.deck[:] = UNKNOWN
    for other in range(s.players):
        if other != seat:
            k = 0
            for card in range(TYPES):
                for _ in range(s.known[other, card]):
                    s.hand[other, k] = card
                    k += 1
            s.hand[other, k : s.hand_size[other]] = UNKNOWN


@kernel
def resample(s: Any, seat: int) -> None:
    """Uniform over all ways to spread the unseen cards over the hidden places that fit the view.

    What the final phase has told about hands counts: a hand that can lay nothing holds no card that its owner's rows would take (counted
    exactly), a hand that can lay something holds at least one (redrawn until it does).
    """
    pool = np.empty(CARDS, np.int64)
    goes_to = np.empty(CARDS, np.int64)  # for each card of the pool a seat, or -1 for stock and removed cards
    needs = np.zeros(MAX_PLAYERS, np.int64)
    size = 0
    for card in range(TYPES):
        left = COPIES[card] - s.on_table[card]
        for other in range(s.players):
            for k in range(s.hand_size[other]):
                left -= s.hand[other, k] == card
        for _ in range(left):
            pool[size] = card
            size += 1
    restricted = False
    for other in range(s.players):
        for k in range(s.hand_size[other]):
            needs[other] += s.hand[other, k] == UNKNOWN
        restricted |= s.lay_known[other] == CANNOT_LAY and needs[other] > 0
    shuffle(s.rng, pool, size)
    k = 0
    for other in range(s.players):
        for _ in range(needs[other]):
            goes_to[k] = other
            k += 1
    goes_to[k:size] = -1
    ways = count_ways(s, seat, pool, size, needs) if restricted else np.empty((0, 0, 0, 0))
    while True:
        if restricted:
            spread(s, seat, pool, size, needs, ways, goes_to)
        if all_can_lay(s, pool, size, needs, goes_to):
            break
        if not restricted:
            shuffle(s.rng, pool, size)
    place = 0
    for other in range(s.players):
        n = s.hand_size[other]
        s.hand_size[other] = n - needs[other]
    for k in range(size):
        if goes_to[k] >= 0:
            add_to_hand(s, goes_to[k], pool[k])
        else:
            if place == s.stock:
                place = CARDS - REMOVED
            s.deck[place] = pool[k]
            place += 1


@kernel
def may_hold(s: Any, seat: int, card: int) -> bool:
    """Whether what is known about a seat's lays allows it to hold this card."""
    return s.lay_known[seat] != CANNOT_LAY or (COLOUR[card] != POINTS and not fits(s, seat, card))


@kernel
def count_ways(s: Any, seat: int, pool: Any, size: int, needs: Any) -> Any:
    """``ways[k, a, b, c]``: in how many ways pool[k:size] can give a, b, c cards to the three seats after ``seat``, the rest to nobody."""
    ways = np.zeros((size + 1, HAND + 1, HAND + 1, HAND + 1))
    ways[size, 0, 0, 0] = 1
    for k in range(size - 1, -1, -1):
        later = ways[k + 1]
        ways[k] = later
        if may_hold(s, (seat + 1) % s.players, pool[k]):
            ways[k, 1:] += later[:-1]
        if s.players > 2 and may_hold(s, (seat + 2) % s.players, pool[k]):
            ways[k, :, 1:] += later[:, :-1]
        if s.players > 3 and may_hold(s, (seat + 3) % s.players, pool[k]):
            ways[k, :, :, 1:] += later[:, :, :-1]
    return ways


@kernel
def spread(s: Any, seat: int, pool: Any, size: int, needs: Any, ways: Any, goes_to: Any) -> None:
    """Draw one of the ways that :func:`count_ways` counted."""
    left = np.zeros(MAX_PLAYERS, np.int64)  # cards still needed by the seats after ``seat``
    for j in range(s.players - 1):
        left[j] = needs[(seat + 1 + j) % s.players]
    for k in range(size):
        goes_to[k] = -1
        x = random_unit(s.rng) * ways[k, left[0], left[1], left[2]]
        for j in range(s.players - 1):
            other = (seat + 1 + j) % s.players
            if goes_to[k] < 0 and left[j] > 0 and may_hold(s, other, pool[k]):
                left[j] -= 1
                share = ways[k + 1, left[0], left[1], left[2]]
                if x < share:
                    goes_to[k] = other
                else:
                    x -= share
                    left[j] += 1


@kernel
def all_can_lay(s: Any, pool: Any, size: int, needs: Any, goes_to: Any) -> bool:
    """Whether every seat that is known to be able to lay a card can, given its known cards and the pool cards that go to it."""
    for seat in range(s.players):
        if s.lay_known[seat] == CAN_LAY and needs[seat] > 0:
            found = False
            for k in range(s.hand_size[seat]):
                card = s.hand[seat, k]
                found |= card != UNKNOWN and (COLOUR[card] == POINTS or fits(s, seat, card))
            for k in range(size):
                found |= goes_to[k] == seat and (COLOUR[pool[k]] == POINTS or fits(s, seat, pool[k]))
            if not found:
                return False
    return True
