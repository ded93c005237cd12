"""Agents that decide inside compiled code: games between them, and the rollouts of searches, never leave it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..envs.core.agent import Agent, Turns
from .rules import rule_set


class CompiledAgent(Agent):
    """Sees views; decides by the game's kernel ``choose`` (:mod:`deckhand.agents.loops`) with ``kind`` and ``params``; own generator."""

    sees_observations = False
    game: Game
    kind: int
    params: NDArray[Any]
    """Float64, of a value agent float32."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._choose_all = rule_set(game).loops.choose_all
        self._rng = np.zeros(4, np.int64)
        self.reset(0)

    def reset(self, seed: int) -> None:
        self.game.loops.seed_rng(self._rng, seed, 3)

    def act(self, turns: Turns) -> NDArray[np.int64]:
        actions = np.empty(len(turns), np.int64)
        self._choose_all(self.kind, turns.views, turns.masks, self._rng, self.params, actions)
        return actions


def compiled_numbers(agents: Sequence[Agent]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The kinds, int64 (agents,), and the params, (agents, most), that loops take; any other agent counts as the random one."""
    kinds = np.zeros(len(agents), np.int64)
    compiled = [(i, agent) for i, agent in enumerate(agents) if isinstance(agent, CompiledAgent)]
    dtype = np.result_type(*(agent.params for _, agent in compiled)) if compiled else np.float64
    params = np.zeros((len(agents), max([1, *(len(agent.params) for _, agent in compiled)])), dtype)
    for i, agent in compiled:
        kinds[i] = agent.kind
        params[i, : len(agent.params)] = agent.params
    return kinds, params
