"""An environment that costs nothing, to tell the learner's time from the environment's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.vec_env import VecEnv

from ..envs.core import Game


class ZeroCostVecEnv(VecEnv):
    """Observations and masks of a game's shapes, always the same; no episode ends."""

    def __init__(self, game: Game, num_envs: int) -> None:
        low, high = game.layout.bounds()
        super().__init__(num_envs, Box(low, high, dtype=np.float32), Discrete(game.num_actions))
        self._observations = np.random.default_rng(1).random((num_envs, game.layout.size), dtype=np.float32)
        self._masks = list(np.random.default_rng(2).random((num_envs, game.num_actions)) < 0.2)
        for row in self._masks:
            row[0] = True
        self._rewards = np.zeros(num_envs, np.float32)
        self._dones = np.zeros(num_envs, np.bool_)
        self._infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]

    def reset(self) -> Any:
        return self._observations

    def step_async(self, actions: Any) -> None:
        pass

    def step_wait(self) -> Any:
        return self._observations, self._rewards, self._dones, self._infos

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        pass

    def has_attr(self, attr_name: str) -> bool:
        return attr_name == "action_masks"

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return self._masks

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> Sequence[bool]:  # type: ignore[override]
        return [False] * self.num_envs
