"""Many games as one Gymnasium ``VectorEnv``, directly over the batch."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .common import RENDER_MODES, Illegal, check_render_mode, check_reset_options, render_position, system_seed
from .core.agent import Agent
from .core.errors import OptionError
from .core.game import Game, plain_number
from .core.options import check_seed
from .core.registry import get_game
from .learner_batch import BatchStep, LearnerBatch

MODES = (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)


class DeckhandVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` games with one learner's seat each; observation, action, reward and end are those of :class:`LearnerEnv` ("flat").

    ``infos`` holds ``action_mask`` (int8, (n, num_actions)), ``seat`` and ``illegal_actions`` (int64, (n,)); ``scores``, ``winners`` and
    ``returns`` of games that ended stand in ``infos["final_info"]`` with ``SAME_STEP`` (and their last observation in
    ``infos["final_obs"]``), in ``infos`` itself with ``NEXT_STEP``. As everywhere in Gymnasium, ``_key`` marks the rows that have ``key``.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        game: str | Game,
        num_envs: int = 1,
        num_players: int | Sequence[int] | None = None,
        *,
        opponents: Sequence[Agent] | None = None,
        weights: Sequence[float] | None = None,
        seat: int | None = None,
        illegal: Illegal = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """``num_players`` … ``illegal`` are those of :class:`LearnerBatch`, ``options`` the game's rule options.

        ``autoreset_mode`` is ``SAME_STEP`` (a finished game is replaced at once) or ``NEXT_STEP`` (the next step starts the next game,
        ignores that row's action and pays 0).
        """
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            mode = AutoresetMode.DISABLED
        if mode not in MODES:
            raise OptionError(f"autoreset_mode cannot be {autoreset_mode!r}; allowed are {', '.join(m.value for m in MODES)}")
        self._same_step = mode is AutoresetMode.SAME_STEP
        self.metadata = {**type(self).metadata, "autoreset_mode": mode}  # type: ignore[misc]
        self.game = get_game(game) if isinstance(game, str) else game
        self.batch = LearnerBatch(
            self.game,
            num_envs,
            num_players,
            options,
            opponents=opponents,
            weights=weights,
            seat=seat,
            illegal=illegal,
            autoreset=self._same_step,
        )
        self.num_envs = num_envs
        self.render_mode = check_render_mode(render_mode)
        self.single_observation_space = Box(*self.game.layout.bounds())
        self.single_action_space = Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = False
        self._over = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """A new game in every row: the first of the streams of ``seed`` (one, or one a row), or without one the next.

        Row ``i`` plays the same games as a :class:`LearnerEnv` reset with ``batch.seeds[i]``, provided that the opponents draw no random
        numbers. ``options`` has no effect, except that ``reset_mask`` and rule options are refused (:class:`OptionError`).
        """
        check_reset_options(options, {"reset_mask", *type(self.batch.options).model_fields})
        if seed is None and not self._seeded:
            seed = system_seed()
        if seed is not None and not isinstance(seed, (Sequence, np.ndarray)):
            seed = check_seed(seed)
            super().reset(seed=seed)
        step = self.batch.reset(seed)
        self._seeded = True
        self._over[:] = False
        return step.observations, self._infos(step)

    def step(self, actions: Any) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one decision of the learner in every row."""
        over = np.flatnonzero(self._over)
        step = now = self.batch.step(actions)
        if not self._same_step:
            if len(over):
                now = self.batch.next_episodes(over)
            self._over = step.terminated | step.truncated
        infos = self._infos(now)
        for k, i in enumerate(step.episodes.rows):
            final = self._final_info(step, k)
            if self._same_step:
                final = {"final_obs": step.episodes.final_observations[k], "final_info": final}
            self._add_info(infos, final, int(i))
        return now.observations, step.rewards, step.terminated, step.truncated, infos

    def _infos(self, step: BatchStep) -> dict[str, Any]:
        infos = {"action_mask": step.masks.view(np.int8), "seat": self.batch.seats, "illegal_actions": self.batch.illegal_actions}
        every = {f"_{key}": np.ones(self.num_envs, np.bool_) for key in infos}
        return infos | every

    def _final_info(self, step: BatchStep, k: int) -> dict[str, Any]:
        episodes = step.episodes
        n = int(episodes.players[k])
        outcome = {
            "scores": episodes.scores[k, :n].tolist(),
            "winners": np.flatnonzero(episodes.winners[k]).tolist(),
            "returns": [plain_number(x) for x in episodes.returns[k, :n]],
        }
        if not self._same_step:
            return outcome
        return {
            "action_mask": np.zeros(self.game.num_actions, np.int8),
            "seat": int(episodes.seats[k]),
            "illegal_actions": int(episodes.illegal_actions[k]),
            **outcome,
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of the learner, bool (n, num_actions), a fresh array."""
        return self.batch.action_masks()

    def render(self) -> tuple[Any, ...] | None:
        """One drawing a row: what the learner's seat knows, as ``render_mode`` says."""
        return tuple(render_position(self.batch.view(i), self.render_mode) for i in range(self.num_envs))
