"""A person as an agent."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..envs.core import IllegalAction
from ..envs.core.agent import Agent, Turns
from ..envs.core.position import is_allowed


class HumanAgent(Agent):
    """Asks somebody for every decision.

    ``ask`` is given one turn (``Turns`` of length 1, with observation and view) and returns the action id. An illegal answer is an
    :class:`IllegalAction`: asking again is the business of ``ask``.
    """

    def __init__(self, ask: Callable[[Turns], int], name: str = "human") -> None:
        self.name = name
        self._ask = ask

    def act(self, turns: Turns) -> NDArray[np.int64]:
        actions = np.empty(len(turns), np.int64)
        for i in range(len(turns)):
            row = slice(i, i + 1)
            one = Turns(turns.game, turns.seats[row], turns.masks[row], turns.observations[row], turns.views[row])
            action = self._ask(one)
            if not is_allowed(action, turns.masks[i]):
                legal = ", ".join(map(str, np.flatnonzero(turns.masks[i])))
                raise IllegalAction(f"{self.name} chose action {action!r}; legal are: {legal}")
            actions[i] = action
        return actions
