"""Every game as a PettingZoo AEC environment.

Order, bounds and legality are checked once, inside: PettingZoo's stack of wrappers alone would cost more time than the games.
"""

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from numpy.typing import NDArray
from pettingzoo.utils.env import AECEnv  # type: ignore[import-untyped]

from .common import RENDER_MODES, Illegal, check_illegal, check_render_mode, check_reset_options, check_seat, render_position, system_seed
from .core.errors import IllegalAction, OptionError, ResetNeeded
from .core.game import Game
from .core.options import Options, check_seed
from .core.position import Position, is_allowed
from .core.registry import get_game
from .core.rng import derive_seed

Observation = dict[str, NDArray[Any]]


class DeckhandAEC(AECEnv[str, Observation, int | None]):  # type: ignore[misc]
    """A game as a PettingZoo AEC environment; :func:`make` builds it from the game's name.

    ``agents``
        ``player_0`` … ``player_{n-1}``: the seats in order.
    observation
        ``{"observation": float32 (layout.size,), "action_mask": int8 (num_actions,)}``, for every agent at any time. The mask of the
        agent to move has at least one legal action, that of every other agent is all zero. Each array is fresh: writing to it changes
        nothing.
    action
        ``Discrete(num_actions)``; one step is one decision of the rules. An agent may decide several times in a row, and the order of
        the agents is whatever the rules make it, so the environment is not parallelizable.
    ``infos[agent]``
        ``action_mask`` as in the observation; with ``illegal="resample"`` also ``illegal_actions``, how many this agent tried.
    rewards
        ``rewards`` holds what the last decision paid, ``last()`` what an agent received since its own last decision. Every agent gets
        exactly one ``last()`` with its final reward after the end and is then stepped with ``None``.
    end
        ``terminations`` when the rules end the game, ``truncations`` when a limit does; never both.

    An illegal action raises :class:`IllegalAction` and changes nothing; see :data:`deckhand.envs.common.Illegal` for the other modes.
    """

    def __init__(
        self,
        game: Game,
        num_players: int | None = None,
        options: Mapping[str, Any] | Options = {},  # noqa: B006 - never written to
        *,
        illegal: Illegal = "raise",
        render_mode: str | None = None,
        render_seat: int | None = None,
    ) -> None:
        """``num_players`` defaults to the smallest count of the game. ``render_seat`` draws what that seat knows, None the whole game."""
        super().__init__()
        self.game = game
        self.num_players = game.check_players(game.min_players if num_players is None else num_players)
        self.options = game.parse_options(options)
        self.illegal = check_illegal(illegal)
        self.render_mode = check_render_mode(render_mode)
        self.render_seat = check_seat("render_seat", render_seat, self.num_players)
        self.metadata = {"name": game.id, "is_parallelizable": False, "render_modes": list(RENDER_MODES), "render_fps": 2}
        self.possible_agents = [f"player_{i}" for i in range(self.num_players)]
        self._seat = {agent: i for i, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        low, high = game.layout.bounds()
        self.observation_spaces = {
            agent: Dict({"observation": Box(low, high), "action_mask": Box(0, 1, (game.num_actions,), np.int8)})
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: Discrete(game.num_actions) for agent in self.possible_agents}
        self.state_space = Box(np.tile(low, self.num_players), np.tile(high, self.num_players))
        self._template = game.template(self.num_players, self.options)
        self._states = game.allocate(1)
        self._mask = np.zeros(game.num_actions, np.bool_)
        self._draws = np.zeros(4, np.int64)
        self._illegal_actions = [0] * self.num_players
        self._base_seed: int | None = None
        self._games = 0
        self._attach()

    def _attach(self) -> None:
        # Views of the record and the mask: NumPy takes longer to look up a field than the kernels to play a decision.
        self._to_move = self._states["to_move"]
        self._reward = self._states["reward"][0, : self.num_players]
        self._int_mask = self._mask.view(np.int8)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_to_move", "_reward", "_int_mask")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._attach()

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game: that of ``seed`` (0 … 2**53 - 1), or without one the next game of the stream that the last seed began.

        ``options`` is there for PettingZoo's sake and has no effect; rule options are given when the environment is made and cannot
        change later (:class:`OptionError`).
        """
        check_reset_options(options, type(self.options).model_fields)
        if seed is not None:
            self._base_seed, self._games = check_seed(seed), 0
        elif self._base_seed is None:
            self._base_seed = system_seed()
        game_seed = int(derive_seed(self._base_seed, self._games))
        self._games += 1
        loops = self.game.loops
        loops.restart(self._states, self._template, 0, game_seed)
        loops.write_mask(self._states, 0, self._mask)
        loops.seed_rng(self._draws, game_seed, 4)
        self._illegal_actions = [0] * self.num_players
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self.agent_selection = self.agents[self._to_move.item()]
        self.infos = {agent: self._info(agent) for agent in self.agents}

    def step(self, action: int | None) -> None:
        """The decision of ``agent_selection``; ``None`` for an agent whose game is over."""
        if not self.agents:
            raise ResetNeeded("step needs a running game: call reset first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        loops, states = self.game.loops, self._states
        seat = self._seat[agent]
        if is_allowed(action, self._mask):
            loops.step(states, 0, int(action), self._mask)  # type: ignore[arg-type]
        elif self.illegal == "raise":
            raise IllegalAction(Position(self.game, states).explain_illegal(action))
        elif self.illegal == "terminate":
            loops.forfeit(states, 0, seat)
            self._mask[:] = False
        else:
            self._illegal_actions[seat] += 1
            drawn = np.empty(1, np.int64)
            loops.sample_actions(self._mask[None], self._draws, drawn)
            loops.step(states, 0, drawn[0], self._mask)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.agents, self._reward.tolist(), strict=True))
        for other, reward in self.rewards.items():
            if reward:
                self._cumulative_rewards[other] += reward
        mover = self._to_move.item()
        if mover >= 0:
            self.agent_selection = self.agents[mover]
            self.infos[self.agent_selection] = self._info(self.agent_selection)
        else:
            self.terminations = dict.fromkeys(self.agents, bool(states["terminal"][0]))
            self.truncations = dict.fromkeys(self.agents, bool(states["truncated"][0]))
            self.agent_selection = self.agents[0]
        if mover != seat:
            self.infos[agent] = self._info(agent)

    def observe(self, agent: str) -> Observation:
        """What an agent sees and may do now."""
        if self._base_seed is None:
            raise ResetNeeded("observe needs a game: call reset first")
        try:
            seat = self._seat[agent]
        except (KeyError, TypeError):
            raise OptionError(f"agent cannot be {agent!r}; the agents are {', '.join(self.possible_agents)}") from None
        observation = np.empty(self.game.layout.size, np.float32)
        self.game.loops.write_observation(self._states, 0, seat, observation)
        return {"observation": observation, "action_mask": self._mask_of(seat)}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation (None without ``observe``), reward since its last decision, termination, truncation, info of ``agent_selection``."""
        if not self.agents:
            raise ResetNeeded("last needs a running game: call reset first")
        agent = self.agent_selection
        # A fresh mask; PettingZoo's test kit wants what is returned to be what stands in ``infos``.
        info = self.infos[agent] = {**self.infos[agent], "action_mask": self._mask_of(self._seat[agent])}
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            info,
        )

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of the agent to move, bool (num_actions,), a fresh array; all False when the game is over."""
        return self._mask.copy()

    def _mask_of(self, seat: int) -> NDArray[np.int8]:
        if seat == self._to_move.item():
            return self._int_mask.copy()
        return np.zeros(self.game.num_actions, np.int8)

    def _info(self, agent: str) -> dict[str, Any]:
        seat = self._seat[agent]
        if self.illegal == "resample":
            return {"action_mask": self._mask_of(seat), "illegal_actions": self._illegal_actions[seat]}
        return {"action_mask": self._mask_of(seat)}

    def observation_space(self, agent: str) -> Space[Any]:
        """The same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """The same object at every call."""
        return self.action_spaces[agent]

    def state(self) -> NDArray[np.float32]:
        """The observations of all seats in order, float32 (num_players * layout.size,).

        Privileged: together they hold what the players hide from each other. For critics in training, never for a player.
        """
        return np.concatenate([self.observe(agent)["observation"] for agent in self.possible_agents])

    @property
    def position(self) -> Position:
        """A copy of the game as the referee sees it, with everything that is hidden from the players."""
        if self._base_seed is None:
            raise ResetNeeded("position needs a game: call reset first")
        return Position(self.game, self.game.copy(self._states))

    def clone(self) -> Self:
        """An independent environment in the same position; both continue equally."""
        return copy.deepcopy(self)

    def _drawn(self) -> Position:
        position = self.position
        return position if self.render_seat is None else position.view(self.render_seat)

    def render(self) -> str | NDArray[np.uint8] | None:
        """The game as ``render_mode`` says: styled text, SVG text or pixels uint8 (height, width, 3); ``human`` prints the text."""
        return render_position(self._drawn(), self.render_mode)

    def _repr_svg_(self) -> str:
        return self._drawn()._repr_svg_()

    def close(self) -> None:
        """Nothing is open."""

    def __repr__(self) -> str:
        return f"<DeckhandAEC {self.game.id}, {self.num_players} players>"


def make(
    game: str,
    num_players: int | None = None,
    *,
    illegal: Illegal = "raise",
    render_mode: str | None = None,
    render_seat: int | None = None,
    **options: Any,
) -> DeckhandAEC:
    """A game as a PettingZoo environment.

    Args:
        game: name or versioned id, for example ``flotsam_fight`` or ``FlotsamFight-v0``.
        num_players: how many play; the game's smallest count (``game.min_players``) if not given.
        illegal: ``raise``, ``terminate`` or ``resample`` (:data:`deckhand.envs.common.Illegal`).
        render_mode: ``ansi``, ``rgb_array``, ``svg``, ``human`` or None.
        render_seat: draw what this seat knows; None draws the whole game.
        **options: the game's rule options.

    Raises:
        UnknownGame: the game is not registered.
        OptionError: names the argument, its value and what is allowed.

    """
    return DeckhandAEC(get_game(game), num_players, options, illegal=illegal, render_mode=render_mode, render_seat=render_seat)
