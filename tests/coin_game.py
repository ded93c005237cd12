"""A game whose statistics are known: two players bid or fold, one after the other.

If one bids and one folds, the bidder wins with probability 0.7; otherwise a fair coin decides. Option ``luck`` says how the luck of a
bidder in seat 0 and of one in seat 1 of the same deal go together: it is the ``same``, ``independent``, or ``opposed`` (as different as it
can be: both win 0.4 of the deals, one of them 0.6).
"""

import types
from typing import Literal

import numpy as np
from deckhand.agents import Agent
from deckhand.envs.core import Canvas, Game, Layout, Options, Piece, kernel, record_dtype
from deckhand.envs.core.rng import randint

FOLD, BID = 0, 1
WINS = 0.7
LUCK = ("same", "independent", "opposed")
# Variance of the mean of two independent games over that of a block of two seats.
REDUCTION = {"same": 0.105 / 0.21, "independent": 1.0, "opposed": 0.105 / 0.06}


@kernel
def deal(s):
    s.draw[0] = randint(s.rng, 100)
    s.draw[1] = s.draw[0]
    if s.luck == 1:
        s.draw[1] = randint(s.rng, 100)
    elif s.luck == 2:
        s.draw[1] = 99 - s.draw[0]
    s.coin = randint(s.rng, 2)


@kernel
def legal(s, mask):
    mask[:] = True


@kernel
def apply(s, action):
    s.bid[s.to_move] = action
    s.to_move += 1
    if s.to_move == 2:
        won = s.coin
        if s.bid[0] != s.bid[1]:
            bidder = s.bid[1]
            won = bidder if s.draw[bidder] < 70 else 1 - bidder
        s.winner[won] = 1
        s.score[won] = 1
        s.reward[won] = 1
        s.to_move = -1
        s.terminal = 1


@kernel
def observe(s, seat, out):
    out[0] = seat


@kernel
def hide(s, seat):
    s.draw[:] = 0
    s.coin = 0


@kernel
def resample(s, seat):
    deal(s)


def module(**names):
    found = types.ModuleType("coin")
    found.__dict__.update(names)
    return found


class CoinOptions(Options):
    luck: Literal["same", "independent", "opposed"] = "same"


class Coin(Game):
    name, id, title = "coin", "Coin-v0", "Coin"
    min_players = max_players = 2
    options = CoinOptions
    phases = ("turn",)
    dtype = record_dtype(2, 1, [("luck", np.int16), ("coin", np.int16), ("draw", np.int16, (2,)), ("bid", np.int16, (2,))])
    num_actions = 2
    action_table = ((FOLD, FOLD, "fold"), (BID, BID, "bid"))
    rules = module(deal=deal, legal=legal, apply=apply, hide=hide, resample=resample)
    observation = module(observe=observe, LAYOUT=Layout(Piece("seat", (1,), "own seat")))

    def configure(self, record, options):
        record["luck"] = LUCK.index(options.luck)

    def action_to_string(self, record, action):
        return ("fold", "bid")[action]

    def string_to_action(self, record, text):
        return ("fold", "bid").index(text)

    def events(self, record):
        return []

    def chance(self, num_players, options, events):
        return iter(())

    def describe(self, record):
        return "coin"

    def paint(self, record):
        return Canvas(1, 1)


class Always(Agent):
    """Bids always, or folds always."""

    sees_observations = sees_views = False

    def __init__(self, action):
        self.name = ("folds", "bids")[action]
        self.action = action

    def act(self, turns):
        return np.full(len(turns), self.action)
