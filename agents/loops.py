"""Generic loops over rule agents, bound to a game's kernels and to its ``decide`` kernel as :mod:`deckhand.envs.core.loops` are.

A game's rule agents are one kernel ``decide(kind, view, mask, rng, params) -> action``: ``kind`` counts the game's rule agents from 1,
``view`` is what the seat to move knows, ``mask`` its legal actions, ``rng`` (int64[4]) the agent's own generator, ``params`` (float64[P])
the agent's numbers. Kind 0 is the random agent of every game, kind ``VALUE`` the value agent (:mod:`deckhand.agents.value_loops`), whose
numbers are its weights.
"""

from typing import Any

import numpy as np

from ..envs.core.errors import IllegalAction
from ..envs.core.rng import randint, seed_rng

VALUE = -1

decide: Any
best_option: Any
advance: Any
write_mask: Any
write_view: Any


def choose(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of a rule agent or a value agent, or a random one for kind 0."""
    if kind != 0:
        action = best_option(view, mask, params) if kind == VALUE else int(decide(kind, view, mask, rng, params))
        # The kernels of the rules trust their caller: an illegal action could write anywhere.
        if action < 0 or action >= len(mask) or not mask[action]:
            raise IllegalAction("a rule agent chose an action that the mask forbids")
        return action
    skip = randint(rng, np.sum(mask))
    for a in range(len(mask)):
        if mask[a]:
            if skip == 0:
                return a
            skip -= 1
    return -1


def choose_all(kind: int, views: Any, masks: Any, rng: Any, params: Any, actions: Any) -> None:
    """One action a row."""
    for i in range(len(views)):
        actions[i] = choose(kind, views[i], masks[i], rng, params)


def play(states: Any, first: int, seating: Any, kinds: Any, params: Any, seed: int, scratch: Any, mask: Any) -> int:
    """Play every game to its end and return the number of decisions.

    ``seating`` (games, seats) says which agent sits where; ``kinds`` (agents,) and ``params`` (agents, P) are theirs. ``states[0]`` is game
    number ``first``: the agents' random numbers depend on ``seed`` and a game's number only, not on the other games. ``scratch`` is one
    record, ``mask`` one mask, to work in.
    """
    rng = np.empty(4, np.int64)
    decisions = 0
    for i in range(len(states)):
        seed_rng(rng, seed, first + i)
        while states[i].to_move >= 0:
            seat = states[i].to_move
            who = seating[i, seat]
            write_mask(states, i, mask)
            write_view(states, i, seat, scratch, 0)
            advance(states, i, choose(kinds[who], scratch[0], mask, rng, params[who]))
            decisions += 1
    return decisions
