"""A game as a Gymnasium environment: one learner's seat, opponents in the others."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy.typing import NDArray

from .common import RENDER_MODES, Illegal, check_choice, check_render_mode, check_reset_options, render_position, system_seed
from .core.agent import Agent
from .core.errors import IllegalAction, ResetNeeded
from .core.game import Game
from .core.options import check_seed
from .core.position import Position, is_action_id
from .core.registry import get_game
from .learner_batch import LearnerBatch

ObservationKind = Literal["flat", "dict"]


class LearnerEnv(gymnasium.Env[Any, Any]):
    """A game as a Gymnasium environment: the learner holds one seat, opponents play the others between its decisions.

    observation
        ``"flat"``: ``Box``, float32 (layout.size,), what the learner's seat sees. ``"dict"``: ``Dict`` of the layout's pieces, each in its
        own shape.
    action
        ``Discrete(num_actions)``; one step is one decision of the learner. ``action_masks()`` and ``info["action_mask"]`` (int8) say what
        is legal, from ``reset`` on.
    reward
        All that the learner's seat earns until its next decision or the end: a loss on another player's move arrives.
    end
        ``terminated`` when the rules end the game, ``truncated`` when a limit does, never both.
    ``info``
        ``action_mask``, ``seat`` (the learner's), ``illegal_actions`` (how many it tried in this game); at the end also ``scores`` and
        ``returns`` (lists by seat), ``winners`` (list of seats) and what the game adds to its outcome.

    A single player's game is the same with one seat, and a cooperative game without opponents lets the learner play every seat.
    Unmasked learners and checkers need ``illegal="resample"`` or ``"terminate"``: the default raises :class:`IllegalAction`.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        game: str | Game,
        num_players: int | None = None,
        *,
        opponents: Sequence[Agent] | None = None,
        weights: Sequence[float] | None = None,
        seat: int | None = None,
        observation: ObservationKind = "flat",
        illegal: Illegal = "raise",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        """``opponents``, ``weights``, ``seat`` and the default player count are those of :class:`LearnerBatch`, ``options`` the game's."""
        self.game = get_game(game) if isinstance(game, str) else game
        if num_players is not None:
            self.game.check_players(num_players)
        self._batch = LearnerBatch(
            self.game, 1, num_players, options, opponents=opponents, weights=weights, seat=seat, illegal=illegal, autoreset=False
        )
        self.num_players = self._batch.player_counts[0]
        self.options = self._batch.options
        self.render_mode = check_render_mode(render_mode)
        self._as_dict = check_choice("observation", observation, get_args(ObservationKind)) == "dict"
        low, high = self.game.layout.bounds()
        if self._as_dict:
            pieces = self.game.layout.pieces
            self.observation_space = Dict({p.name: Box(p.low, p.high, p.shape, np.float32) for p in pieces})
        else:
            self.observation_space = Box(low, high)
        self.action_space = Discrete(self.game.num_actions)
        self._seeded = False
        self._running = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a game: that of ``seed`` (0 … 2**53 - 1), or without one the next game of the stream that the last seed began.

        ``options`` is there for Gymnasium's sake and has no effect; rule options are given when the environment is made and cannot
        change later (:class:`OptionError`).
        """
        check_reset_options(options, type(self.options).model_fields)
        if seed is not None:
            seed = check_seed(seed)
            super().reset(seed=seed)
        elif not self._seeded:
            seed = system_seed()
        self._seeded = True
        step = self._batch.reset(seed)
        self._running = True
        return self._observation(step.observations), self._info(step.masks)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play ``action`` and the opponents' decisions up to the learner's next decision or the end."""
        if not self._running:
            raise ResetNeeded("step needs a running game: call reset first")
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action.item()
        if not is_action_id(action, self.game.num_actions):
            if self._batch.illegal == "raise":
                raise IllegalAction(self.position.explain_illegal(action))
            action = -1
        try:
            step = self._batch.step(np.array([action], np.int64))
        except IllegalAction as error:
            raise IllegalAction(str(error).removeprefix("game 0: ")) from None
        terminated, truncated = bool(step.terminated[0]), bool(step.truncated[0])
        info = self._info(step.masks)
        if terminated or truncated:
            self._running = False
            info |= {key: value for key, value in self.position.outcome().items() if key != "truncated"}
        return self._observation(step.observations), float(step.rewards[0]), terminated, truncated, info

    def _observation(self, observations: NDArray[np.float32]) -> Any:
        return self.game.layout.unpack(observations[0]) if self._as_dict else observations[0]

    def _info(self, masks: NDArray[np.bool_]) -> dict[str, Any]:
        return {
            "action_mask": masks[0].view(np.int8),
            "seat": int(self._batch.seats[0]),
            "illegal_actions": int(self._batch.illegal_actions[0]),
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of the learner, bool (num_actions,), a fresh array; all False when the game is over."""
        return self._batch.action_masks()[0]

    @property
    def position(self) -> Position:
        """A copy of the game as the referee sees it, with everything that is hidden from the learner."""
        return self._batch.position(0)

    def set_opponents(self, agents: Sequence[Agent], weights: Sequence[float] | None = None) -> None:
        """Draw the opponents of all later games from ``agents``."""
        self._batch.set_opponents(agents, weights)

    def render(self) -> str | NDArray[np.uint8] | None:
        """What the learner's seat knows, as ``render_mode`` says: styled text, SVG text or uint8 pixels; ``human`` prints the text."""
        return render_position(self._batch.view(0), self.render_mode)

    def _repr_svg_(self) -> str:
        return self._batch.view(0)._repr_svg_()
