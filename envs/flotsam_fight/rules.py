"""Flotsam Fight: the rules. F1 .. F17 are the paragraphs of README.md beside this file."""

from typing import Any

import numpy as np

from ..core.game import record_dtype
from ..core.hands import insert_card, remove_card
from ..core.jit import kernel
from ..core.log import write_log
from ..core.rng import randint, shuffle

MAX_PLAYERS = 6
MAX_HAND = 10
BOATS = 8  # F1: boat b of the rules is index b - 3
# F2: the cards are the numbers from 3 to 98 that at least one boat divides.
CARD_VALUES = np.array([c for c in range(3, 99) if any(c % b == 0 for b in range(3, 11))], np.int64)
CARDS = len(CARD_VALUES)
# The 136 (card, boat) pairs in ascending order are the actions; those of card c are FIRST_PAIR[c] .. FIRST_PAIR[c + 1] - 1.
PAIR_CARD = np.array([i for i, c in enumerate(CARD_VALUES) for b in range(3, 11) if c % b == 0], np.int64)
PAIR_BOAT = np.array([b - 3 for c in CARD_VALUES for b in range(3, 11) if c % b == 0], np.int64)
FIRST_PAIR = np.searchsorted(PAIR_CARD, np.arange(CARDS + 1)).astype(np.int64)
PAIRS = len(PAIR_CARD)
PASS = PAIRS
NUM_ACTIONS = PAIRS + 1
ROUND_LIMIT = 600  # F17

# Where a card is: in the hand of seat 0 .. 5, or:
IN_DECK, ON_BOAT, SET_ASIDE, UNSEEN = 6, 7, 8, 9
REWARD_ROUND, REWARD_GAME, REWARD_PLACEMENT = 0, 1, 2
DEAL, RESET, SHUFFLE, DRAW, ROUND_END = 0, 1, 2, 3, 4  # log codes

DTYPE = record_dtype(
    MAX_PLAYERS,
    160,
    [
        ("rounds", np.int16),
        ("lead_may_pass", np.int16),
        ("reward_kind", np.int16),
        ("round_no", np.int16),  # 1, 2, ...
        ("round_decisions", np.int16),
        ("place", np.int8, (CARDS,)),
        ("boat_of", np.int8, (CARDS,)),  # the boat of every card that lies on one
        # Perfect recall (F16): how often the draw pile had been rebuilt when the card was last in it. A card of an older pile that
        # nobody has seen since must be in a hand.
        ("pile_of", np.int16, (CARDS,)),
        ("deck", np.int8, (CARDS,)),  # deck[deck_size - 1] is drawn next
        ("deck_size", np.int16),
        ("shuffles", np.int16),  # of this round
        ("hand", np.int16, (MAX_PLAYERS, MAX_HAND)),  # ascending; in a view, of others: -1 - pile_of
        ("hand_size", np.int16, (MAX_PLAYERS,)),
        ("top", np.int16, (BOATS,)),  # value of the last card loaded, 0 while inactive
        ("active", np.int16),
        ("passed", np.int16, (MAX_PLAYERS,)),
        ("last_player", np.int16),  # who played the most recent card of the round, -1
        ("marker", np.int16),  # who holds the last -1, -1
        ("outs", np.int16, (MAX_PLAYERS,)),  # +2 markers
        ("last_points", np.int16, (MAX_PLAYERS,)),  # of the last finished round
    ],
)


@kernel
def deal(s: Any) -> None:
    """F3, F4: first round, random starter."""
    s.marker = -1
    deal_round(s, randint(s.rng, s.players))


@kernel
def deal_round(s: Any, starter: int) -> None:
    """F3: everything back, 64 cards shuffled, ten each (eight each with six players)."""
    s.round_no += 1
    s.round_decisions = 0
    s.shuffles = 0
    s.last_player = -1
    clear_boats(s)
    for c in range(CARDS):
        s.deck[c] = c
        s.place[c] = IN_DECK
        s.pile_of[c] = 0
    s.deck_size = CARDS
    shuffle(s.rng, s.deck, CARDS)
    write_log(s, DEAL)
    write_log(s, s.round_no)
    write_log(s, starter)
    s.hand[:] = 0
    for seat in range(s.players):
        s.hand_size[seat] = 0
        for _ in range(8 if s.players == 6 else 10):
            take_top_card(s, seat)
        for k in range(s.hand_size[seat]):
            write_log(s, s.hand[seat, k])
    s.to_move = starter


@kernel
def clear_boats(s: Any) -> None:
    """F10 (1): the boats are inactive, nobody is out any more."""
    s.top[:] = 0
    s.boat_of[:] = -1
    s.active = 0
    s.passed[:] = 0


@kernel
def take_top_card(s: Any, seat: int) -> int:
    """The top card of the draw pile goes to a hand."""
    s.deck_size -= 1
    card = s.deck[s.deck_size]
    s.place[card] = seat
    insert_card(s.hand[seat], s.hand_size[seat], card)
    s.hand_size[seat] += 1
    return card


@kernel
def fits(s: Any, card: int, boat: int) -> bool:
    """F6 (ii), (iii) for a card that the boat divides."""
    if s.top[boat] == 0:
        return s.active < s.players
    return CARD_VALUES[card] > s.top[boat]


@kernel
def legal(s: Any, mask: Any) -> None:
    """F5, F6, F12."""
    seat = s.to_move
    for k in range(s.hand_size[seat]):
        card = s.hand[seat, k]
        for pair in range(FIRST_PAIR[card], FIRST_PAIR[card + 1]):
            mask[pair] = fits(s, card, PAIR_BOAT[pair])
    mask[PASS] = s.active > 0 or s.lead_may_pass != 0


@kernel
def apply(s: Any, action: int) -> None:
    """One turn (F5) and what follows from it."""
    seat = s.to_move
    s.round_decisions += 1
    if action == PASS:
        s.passed[seat] = 1  # F7
    else:
        load(s, seat, PAIR_CARD[action], PAIR_BOAT[action])
    if s.hand_size[seat] == 0:
        end_round(s, seat)  # F8
    else:
        pass_on(s)
    if s.to_move >= 0 and s.round_decisions >= ROUND_LIMIT:  # F17
        s.truncated = 1
        s.to_move = -1


@kernel
def load(s: Any, seat: int, card: int, boat: int) -> None:
    """F6: load a card; an inactive boat becomes active."""
    if s.top[boat] == 0:
        s.active += 1
    s.top[boat] = CARD_VALUES[card]
    s.place[card] = ON_BOAT
    s.boat_of[card] = boat
    s.last_player = seat
    remove_card(s.hand[seat], s.hand_size[seat], card)
    s.hand_size[seat] -= 1


@kernel
def next_in(s: Any, seat: int) -> int:
    """The next seat, clockwise, that has not passed; -1 if all have."""
    for k in range(1, s.players + 1):
        other = (seat + k) % s.players
        if s.passed[other] == 0:
            return other
    return -1


@kernel
def pass_on(s: Any) -> None:
    """F9: who is next, or a reset."""
    left = 0
    for seat in range(s.players):
        left += 1 - s.passed[seat]
    following = next_in(s, s.to_move)
    if left == 0:
        reset(s, s.to_move)
    elif left == 1 and s.hand_size[following] > 1:
        reset(s, following)
    else:
        s.to_move = following


@kernel
def reset(s: Any, last: int) -> None:
    """F10. ``last`` is the sole player who had not passed: he leads when nobody has played a card (F12)."""
    starter = s.last_player if s.last_player >= 0 else last
    for card in range(CARDS):
        if s.place[card] == ON_BOAT:
            s.place[card] = SET_ASIDE
    clear_boats(s)
    write_log(s, RESET)
    write_log(s, starter)
    for k in range(s.players):
        seat = (starter + k) % s.players
        if s.hand_size[seat] == 1:
            draw(s, seat)
            draw(s, seat)
    s.to_move = starter


@kernel
def draw(s: Any, seat: int) -> None:
    """F10 (2), F11."""
    if s.deck_size == 0:
        s.shuffles += 1
        for card in range(CARDS):
            if s.place[card] == SET_ASIDE:
                s.place[card] = IN_DECK
                s.pile_of[card] = s.shuffles
                s.deck[s.deck_size] = card
                s.deck_size += 1
        shuffle(s.rng, s.deck, s.deck_size)
        write_log(s, SHUFFLE)
    card = take_top_card(s, seat)
    write_log(s, DRAW)
    write_log(s, seat)
    write_log(s, card)


@kernel
def end_round(s: Any, out: int) -> None:
    """F8, F13, F14: round points; then the next round or the end."""
    highest = -1
    lowest = -1
    for seat in range(s.players):
        if seat != out:
            card = s.hand[seat, s.hand_size[seat] - 1]
            if highest < 0 or card > s.hand[highest, s.hand_size[highest] - 1]:
                highest = seat
            if lowest < 0 or card < s.hand[lowest, s.hand_size[lowest] - 1]:
                lowest = seat
    s.last_points[:] = 0
    s.last_points[out] = 2
    s.last_points[lowest] += 1
    s.last_points[highest] -= 1
    s.outs[out] += 1
    s.marker = highest
    write_log(s, ROUND_END)
    for seat in range(s.players):
        s.score[seat] += s.last_points[seat]
        write_log(s, s.last_points[seat])
        if s.reward_kind == REWARD_ROUND:
            s.reward[seat] += s.last_points[seat]
    if s.round_no == s.rounds:
        end_game(s)
    else:
        deal_round(s, s.marker)


@kernel
def rank_key(s: Any, seat: int) -> int:
    """F15: points, then +2 markers, then points of the last round, as one number."""
    return (np.int64(s.score[seat]) * 1000 + s.outs[seat]) * 10 + s.last_points[seat]


@kernel
def end_game(s: Any) -> None:
    """F15, and the rewards that are paid at the end."""
    s.terminal = 1
    s.to_move = -1
    best = rank_key(s, 0)
    for seat in range(s.players):
        best = max(best, rank_key(s, seat))
    shared = 0
    for seat in range(s.players):
        if rank_key(s, seat) == best:
            s.winner[seat] = 1
            shared += 1
    others = s.players - 1
    for seat in range(s.players):
        if s.reward_kind == REWARD_GAME:
            # The mean of the vectors in which one of the winners wins alone.
            s.reward[seat] += (1 - (shared - 1) / others) / shared if s.winner[seat] else -1 / others
        elif s.reward_kind == REWARD_PLACEMENT:
            for other in range(s.players):
                s.reward[seat] += np.sign(rank_key(s, seat) - rank_key(s, other)) / others


@kernel
def hide(s: Any, seat: int) -> None:
    """F16: the hands of others and the order of the draw pile."""
    for card in range(CARDS):
        # Without a branch, which the processor could not predict.
        place = s.place[card]
        s.place[card] = UNSEEN if (place == IN_DECK) | ((place < MAX_PLAYERS) & (place != seat)) else place
    s.deck[:] = 0
    for other in range(s.players):
        if other != seat:
            for k in range(s.hand_size[other]):
                card = s.hand[other, k]
                hidden = -1 - s.pile_of[card] if card >= 0 else card  # in a view of a view it is hidden already
                # Sorted, because the order by card value would tell something; hands are short and the piles few.
                j = k
                while j > 0 and s.hand[other, j - 1] > hidden:
                    s.hand[other, j] = s.hand[other, j - 1]
                    j -= 1
                s.hand[other, j] = hidden


@kernel
def resample(s: Any, seat: int) -> None:
    """The unseen cards of each pile go at random to the places that are known to hold a card of that pile."""
    pool = np.empty(CARDS, np.int64)
    hidden = np.empty(MAX_HAND, np.int64)
    s.deck_size = 0
    for pile in range(s.shuffles, -1, -1):
        size = 0
        for card in range(CARDS):
            if s.place[card] == UNSEEN and s.pile_of[card] == pile:
                pool[size] = card
                size += 1
        shuffle(s.rng, pool, size)
        for other in range(s.players):
            if other != seat:
                for k in range(s.hand_size[other]):
                    if s.hand[other, k] == -1 - pile:
                        size -= 1
                        s.hand[other, k] = pool[size]
                        s.place[pool[size]] = other
        # What is left of the newest pile is the draw pile; older piles are used up.
        for k in range(size):
            s.deck[s.deck_size] = pool[k]
            s.deck_size += 1
            s.place[pool[k]] = IN_DECK
    for other in range(s.players):
        n = s.hand_size[other]
        hidden[:n] = s.hand[other, :n]
        hidden[:n].sort()
        s.hand[other, :n] = hidden[:n]
