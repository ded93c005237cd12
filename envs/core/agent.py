"""What an agent is: something that is shown turns and answers with actions. It never holds the referee's record."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .game import Game


@dataclass(frozen=True)
class Turns:
    """``n`` decisions to make, one a row, all in the same game type. Arrays are the agent's own: writing to them changes no game."""

    game: Game
    seats: NDArray[np.int64]
    """Who decides, (n,)."""
    masks: NDArray[np.bool_]
    """Legal actions, (n, num_actions); every row has at least one."""
    observations: NDArray[np.float32]
    """What each seat sees, (n, layout.size); (0, layout.size) for agents with ``sees_observations = False``."""
    views: NDArray[Any]
    """What each seat knows, as records whose hidden fields are blank, (n,); (0,) for agents with ``sees_views = False``."""

    def __len__(self) -> int:
        return len(self.seats)


class Agent(ABC):
    """A player. One object may play any number of games and seats at once."""

    name: str
    sees_observations: ClassVar[bool] = True
    sees_views: ClassVar[bool] = True
    games_at_once: int = 256
    """How many games are played side by side at most: many make full batches for a network; for an agent that takes seconds a game a few
    are better, so that results come early."""

    @abstractmethod
    def act(self, turns: Turns) -> NDArray[np.int64]:
        """A legal action for every row, int64 (n,)."""

    def reset(self, seed: int) -> None:
        """Start the agent's own randomness anew; agents without any need not define it."""


class RandomAgent(Agent):
    """Plays a uniform random legal action."""

    sees_observations = False
    sees_views = False

    def __init__(self, game: Game) -> None:
        self.name = "random"
        self.game = game
        self._rng = np.zeros(4, np.int64)
        self.reset(0)

    def reset(self, seed: int) -> None:
        self.game.loops.seed_rng(self._rng, seed, 2)

    def act(self, turns: Turns) -> NDArray[np.int64]:
        actions = np.empty(len(turns), np.int64)
        self.game.loops.sample_actions(turns.masks, self._rng, actions)
        return actions


def show_turns(game: Game, states: NDArray[Any], rows: NDArray[np.int64], agent: Agent) -> Turns:
    """The turns of the games ``rows``, none of which is over, as ``agent`` may see them."""
    n = len(rows)
    seats = states["to_move"][rows].astype(np.int64)
    masks = np.empty((n, game.num_actions), np.bool_)
    observations = np.empty((n if agent.sees_observations else 0, game.layout.size), np.float32)
    views = game.allocate(n if agent.sees_views else 0)
    game.loops.write_masks(states, rows, masks)
    if agent.sees_observations:
        game.loops.write_observations(states, rows, observations)
    if agent.sees_views:
        game.loops.write_views(states, rows, seats, views)
    return Turns(game, seats, masks, observations, views)
