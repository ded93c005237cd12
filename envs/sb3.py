"""Many games as one Stable-Baselines3 ``VecEnv``, directly over the batch. The only module here that loads Stable-Baselines3 and torch."""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from .common import system_seed
from .core.errors import OptionError
from .core.rng import MAX_SEED
from .learner_batch import LearnerBatch

Indices = None | int | Iterable[int]


class Sb3VecEnv(VecEnv):
    """The games of a :class:`LearnerBatch` (with ``autoreset``) as a ``VecEnv``.

    ``infos`` of a finished game hold what SB3 looks for (``terminal_observation``, ``TimeLimit.truncated``, ``episode`` with ``r`` and
    ``l``) and ``seat``, ``won``, ``scores``, ``returns``; the other entries are empty dicts that are used again at every step. Masks come
    from ``action_masks()`` or, as sb3-contrib asks, from ``env_method("action_masks")``.
    """

    def __init__(self, batch: LearnerBatch) -> None:
        if not batch.autoreset:
            raise OptionError("autoreset of the batch cannot be False: Stable-Baselines3 expects finished games to be replaced at once")
        self.batch = batch
        self._actions: NDArray[np.int64] = np.zeros(0, np.int64)
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(batch.num_games)]
        self._next_seed: int | None = None
        super().__init__(batch.num_games, Box(*batch.game.layout.bounds()), Discrete(batch.game.num_actions))

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next reset, from the operating system if None (SB3 itself would draw from NumPy's global generator)."""
        self._next_seed = system_seed() if seed is None else int(seed) % (MAX_SEED + 1)
        return [self._next_seed] * self.num_envs

    def reset(self) -> NDArray[np.float32]:
        """A new game everywhere; the observations, (n, layout.size)."""
        step = self.batch.reset(self._next_seed)
        self._next_seed = None
        self._reset_options()
        return step.observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations (n, layout.size), rewards float32 (n,), whether each episode ended (n,), infos."""
        step = self.batch.step(self._actions)
        infos = self._no_infos.copy()
        episodes = step.episodes
        for k, i in enumerate(episodes.rows):
            n = episodes.players[k]
            infos[i] = {
                "terminal_observation": episodes.final_observations[k],
                "TimeLimit.truncated": bool(episodes.truncated[k]),
                "episode": {"r": float(episodes.learner_returns[k]), "l": int(episodes.lengths[k])},
                "seat": int(episodes.seats[k]),
                "won": bool(episodes.won[k]),
                "scores": episodes.scores[k, :n].tolist(),
                "returns": episodes.returns[k, :n].tolist(),
            }
        return step.observations, step.rewards.astype(np.float32), step.terminated | step.truncated, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions, bool (n, num_actions), a fresh array."""
        return self.batch.action_masks()

    def close(self) -> None:
        """Nothing is open."""

    def has_attr(self, attr_name: str) -> bool:
        """Whether the games have an attribute; sb3-contrib asks for ``action_masks``."""
        return attr_name in ("action_masks", "render_mode")

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the games ``indices``: only ``render_mode`` (None) exists."""
        if attr_name != "render_mode":
            raise AttributeError(f"the games of a Sb3VecEnv have no attribute {attr_name!r}; see its batch")
        return [None for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Always refused: the games have no attributes of their own."""
        raise AttributeError(f"the games of a Sb3VecEnv have no attribute {attr_name!r} to set; see its batch")

    def env_method(self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any) -> list[Any]:
        """``action_masks`` of the games ``indices``: bool (num_actions,) each."""
        if method_name != "action_masks":
            raise AttributeError(f"the games of a Sb3VecEnv have no method {method_name!r}; see its batch")
        masks = self.batch.action_masks()
        return list(masks) if indices is None else [masks[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]], indices: Indices = None) -> list[bool]:
        """True for ``Monitor``, whose ``episode`` entries the infos carry, False for every other wrapper."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]
