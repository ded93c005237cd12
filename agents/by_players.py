"""One agent made of several, for games whose player counts want different ones."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..envs.core.agent import Agent, Turns


class ByPlayers(Agent):
    """Decides as the agent of the game's player count does; ``agents`` must have one for every count of ``game``."""

    def __init__(self, game: Game, agents: Mapping[int, Agent], name: str) -> None:
        self.game = game
        self.agents = dict(agents)
        self.name = name
        self.games_at_once = min(agent.games_at_once for agent in self.agents.values())

    def reset(self, seed: int) -> None:
        for agent in self.agents.values():
            agent.reset(seed)

    def act(self, turns: Turns) -> NDArray[np.int64]:
        counts = turns.views["players"]
        actions = np.empty(len(turns), np.int64)
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            agent = self.agents[int(count)]
            observations = turns.observations[rows if agent.sees_observations else rows[:0]]
            views = turns.views[rows if agent.sees_views else rows[:0]]
            actions[rows] = agent.act(Turns(turns.game, turns.seats[rows], turns.masks[rows], observations, views))
        return actions
