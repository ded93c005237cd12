"""Many games at once, each with one learner's seat: the heart of training and of every Gymnasium environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .common import Illegal, check_illegal, check_seat
from .core.agent import Agent, RandomAgent, Turns, show_turns
from .core.errors import IllegalAction, OptionError, ResetNeeded
from .core.game import Game
from .core.options import Options, check_seed
from .core.position import Position
from .core.rng import derive_seed


@dataclass(frozen=True)
class Episodes:
    """The ``m`` episodes that ended in one step; P is the game's greatest player count, unused seats hold zeros."""

    rows: NDArray[np.int64]
    """Which games of the batch, (m,); each at most once."""
    seats: NDArray[np.int64]
    """The learner's seat, (m,); 0 where the learner played every seat."""
    players: NDArray[np.int64]
    """Player counts, (m,)."""
    learner_returns: NDArray[np.float64]
    """What the learner was paid, (m,)."""
    lengths: NDArray[np.int64]
    """Decisions of the learner, (m,)."""
    illegal_actions: NDArray[np.int64]
    """Illegal actions that the learner tried, (m,)."""
    won: NDArray[np.bool_]
    """Whether the learner is a winner, (m,)."""
    truncated: NDArray[np.bool_]
    """Whether a limit ended the game, (m,)."""
    scores: NDArray[np.int32]
    """Scores by seat, (m, P)."""
    winners: NDArray[np.bool_]
    """Winners by seat, (m, P)."""
    returns: NDArray[np.float64]
    """Returns by seat, (m, P)."""
    final_observations: NDArray[np.float32]
    """What the learner sees at the end, (m, layout.size)."""

    def __len__(self) -> int:
        return len(self.rows)


class BatchStep(NamedTuple):
    """What a step of ``n`` games gives. All arrays are fresh."""

    observations: NDArray[np.float32]
    """What the learner sees at its next decision, (n, layout.size)."""
    masks: NDArray[np.bool_]
    """Its legal actions, (n, num_actions); all False only where a game is over and waits for :meth:`LearnerBatch.next_episodes`."""
    rewards: NDArray[np.float64]
    """What the learner was paid from its last decision to its next or to the end, (n,)."""
    terminated: NDArray[np.bool_]
    """Where the episode was ended by the rules, (n,)."""
    truncated: NDArray[np.bool_]
    """Where the episode was ended by a limit, (n,)."""
    episodes: Episodes
    """The episodes that ended in this step."""


_STATE = ("episodes", "draws", "seats", "actors", "controllers", "earned", "totals", "lengths", "illegal_actions", "done")
"""The arrays of a batch that change while games are played, beside the records."""


class LearnerBatch:
    """``num_games`` games stepped at once; in each the learner holds one seat and opponents play the others.

    A step plays the learner's action in every game and then the opponents' decisions until every game is at a decision of the learner again
    or over. The learner is paid everything its seat earns meanwhile, so a loss on another player's move arrives; what the seat earns before
    its first decision comes with the reward of that decision. A game that ends before the learner's first decision is not an episode: the
    next one of the stream starts in its place.

    **Seeds.** Game ``i`` has its own stream: its ``k``-th game has seed ``derive_seed(seeds[i], k)``, and learner's seat and opponents
    follow from that seed alone. A single ``seed`` gives ``seeds[i] = derive_seed(seed, i)``, so the first game of a batch is dealt from
    ``seed`` itself. Opponents are reset with seeds derived from the first; an opponent that draws random numbers draws them for all its
    games in turn.

    **Opponents** are used, not copied: give each batch agents of its own.
    """

    def __init__(
        self,
        game: Game,
        num_games: int,
        num_players: int | Sequence[int] | None = None,
        options: Mapping[str, Any] | Options = {},  # noqa: B006 - never written to
        *,
        opponents: Sequence[Agent] | None = None,
        weights: Sequence[float] | None = None,
        seat: int | None = None,
        seed: int = 0,
        illegal: Illegal = "raise",
        autoreset: bool = True,
    ) -> None:
        """Nothing is dealt before :meth:`reset`.

        Args:
            game: the game.
            num_games: games in the batch.
            num_players: the player count, or several that the games take in turn; the game's smallest if not given.
            options: the game's rule options.
            opponents: who may hold the other seats, drawn for each seat and episode. By default a random agent; in a cooperative game
                nobody: without opponents the learner plays every seat, which only cooperative games and single players allow.
            weights: how often each opponent is drawn, relative to the others; all alike if not given.
            seat: the learner's seat; drawn for each episode if not given.
            seed: seed of the first :meth:`reset`.
            illegal: what an illegal action of the learner does (:data:`deckhand.envs.common.Illegal`).
            autoreset: whether a finished game is replaced in the same step; if not, it waits for :meth:`next_episodes`.

        """
        if not isinstance(game, Game):
            raise OptionError(f"game cannot be {game!r}: it must be a game; deckhand.envs.get_game gives one by its name")
        self.game = game
        if isinstance(num_games, bool) or not isinstance(num_games, int) or num_games < 1:
            raise OptionError(f"num_games cannot be {num_games!r}: it must be a positive integer")
        self.num_games = num_games
        counts = [game.min_players] if num_players is None else list(num_players) if isinstance(num_players, Sequence) else [num_players]
        if not counts:
            raise OptionError("num_players cannot be empty")
        self.player_counts = tuple(game.check_players(c) for c in counts)
        self.options = game.parse_options(options)
        self.seat = check_seat("seat", seat, min(self.player_counts))
        self.illegal = check_illegal(illegal)
        self.autoreset = autoreset
        self.agents: list[Agent] = []
        self._agents_met = 0
        self._started = False
        n, p = num_games, game.max_players
        self._templates = game.allocate(len(self.player_counts))
        for k, count in enumerate(self.player_counts):
            self._templates[k] = game.template(count, self.options)[0]
        self._kinds = np.arange(n) % len(self.player_counts)
        self._states = game.allocate(n)
        self._episodes = np.zeros(n, np.int64)
        self._draws = np.zeros((n, 4), np.int64)
        self._seats = np.zeros(n, np.int64)
        self._actors = np.zeros(n, np.int64)
        # Who decides for each seat: an index into self.agents, or -1 for the learner.
        self._controllers = np.full((n, p), -1, np.int64)
        self._earned = np.zeros(n, np.float64)
        self._totals = np.zeros(n, np.float64)
        self._lengths = np.zeros(n, np.int64)
        self._illegal_actions = np.zeros(n, np.int64)
        self._done = np.zeros(n, np.bool_)
        self._masks = np.zeros((n, game.num_actions), np.bool_)
        self._rows = np.empty(n, np.int64)
        self._owners = np.empty(n, np.int64)
        self._no_episodes = self._report(np.empty(0, np.int64))
        self._set_seeds(seed)
        if opponents is None:
            opponents = [] if game.cooperative or max(self.player_counts) == 1 else [RandomAgent(game)]
        self.set_opponents(opponents, weights)

    def _set_seeds(self, seed: int | Sequence[int] | NDArray[np.int64]) -> None:
        if isinstance(seed, (Sequence, np.ndarray)):
            if len(seed) != self.num_games:
                raise OptionError(f"seed must be one integer or {self.num_games}, one for each game, not {len(seed)}")
            self.seeds = np.array([check_seed(s) for s in seed], np.int64)
        else:
            first = check_seed(seed)
            self.seeds = np.array([derive_seed(first, i) for i in range(self.num_games)], np.int64)

    @property
    def seats(self) -> NDArray[np.int64]:
        """The learner's seat in every game, (n,), a fresh array; 0 where it plays every seat."""
        return self._seats.copy()

    @property
    def illegal_actions(self) -> NDArray[np.int64]:
        """Illegal actions that the learner tried in each running episode, (n,), a fresh array."""
        return self._illegal_actions.copy()

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of the learner, bool (n, num_actions), a fresh array."""
        return self._masks.copy()

    def turns(self, agent: Agent) -> Turns:
        """The learner's decisions in all games as ``agent`` is shown them, to ask what it would do in the learner's place.

        No game may be over; with ``autoreset`` none ever is.
        """
        self._need_reset()
        return show_turns(self.game, self._states, np.arange(self.num_games), agent)

    def position(self, i: int) -> Position:
        """A copy of game ``i`` as the referee sees it."""
        self._need_reset()
        return Position(self.game, self.game.copy(self._states[i : i + 1]))

    def view(self, i: int) -> Position:
        """What the learner knows of game ``i``, or knew at its last decision's seat when the game is over."""
        return self.position(i).view(int(self._actors[i]))

    def set_opponents(self, agents: Sequence[Agent], weights: Sequence[float] | None = None) -> None:
        """Draw the opponents of all later episodes from ``agents``; games that are running keep theirs."""
        if isinstance(agents, str) or not isinstance(agents, Sequence) or not all(isinstance(agent, Agent) for agent in agents):
            raise OptionError(f"opponents cannot be {agents!r}: they must be agents; deckhand.agents.make_agent makes them from names")
        for agent in agents:
            game = getattr(agent, "game", self.game)
            if isinstance(game, Game) and game is not self.game:
                raise OptionError(f"opponents cannot be {agent.name!r}: it plays {game.id}, not {self.game.id}")
        if not agents and not self.game.cooperative and max(self.player_counts) > 1:
            raise OptionError(
                f"opponents cannot be empty: only in a cooperative game the learner may play every seat, not in {self.game.name}"
            )
        try:
            chances = np.ones(len(agents)) if weights is None else np.array(weights, np.float64)
        except (TypeError, ValueError):
            chances = np.full(1, np.nan)
        if (
            chances.shape != (len(agents),)
            or not np.all(np.isfinite(chances))
            or np.any(chances < 0)
            or (len(agents) and not chances.sum())
        ):
            raise OptionError(
                f"weights cannot be {weights!r}: one number for each of the {len(agents)} opponents, none negative, not all zero"
            )
        used = np.unique(self._controllers[self._controllers >= 0])
        pool = [self.agents[k] for k in used]
        places = {id(agent): k for k, agent in enumerate(pool)}
        new = []
        for agent in agents:
            if id(agent) not in places:
                places[id(agent)] = len(pool)
                pool.append(agent)
                new.append(agent)
        moved = np.full(len(self.agents) + 1, -1, np.int64)  # the last stands for -1, the learner
        moved[used] = np.arange(len(used))
        self._controllers = moved[self._controllers]
        self.agents = pool
        self._choices = np.array([places[id(agent)] for agent in agents], np.int64)
        self._bounds = np.cumsum(chances) / max(chances.sum(), 1e-300)
        if self._started:
            self._reset_agents(new)

    def _reset_agents(self, agents: Sequence[Agent]) -> None:
        for agent in agents:
            agent.reset(int(derive_seed(int(self.seeds[0]), self.num_games + self._agents_met)))
            self._agents_met += 1

    def reset(self, seed: int | Sequence[int] | NDArray[np.int64] | None = None) -> BatchStep:
        """A new episode in every game: the first of the streams of ``seed`` (one, or one for each game), or without one the next."""
        if seed is not None:
            self._set_seeds(seed)
        if seed is not None or not self._started:
            self._episodes[:] = 0
            self._controllers[:] = -1
            # Only agents of coming episodes are left; each starts its own randomness anew.
            kept, self._choices = np.unique(self._choices, return_inverse=True)
            self.agents = [self.agents[k] for k in kept]
            self._agents_met = 0
            self._reset_agents(self.agents)
            self._started = True
        self._done[:] = False
        return self.next_episodes(np.arange(self.num_games))

    def next_episodes(self, rows: NDArray[np.int64]) -> BatchStep:
        """The next episode of each of the games ``rows``, whatever they were at; the others stay as they are and are paid 0."""
        self._need_reset()
        fresh = np.zeros(self.num_games, np.bool_)
        fresh[rows] = True
        self._begin(rows)
        return self._settle(fresh, np.zeros(self.num_games, np.bool_))

    def step(self, actions: Any) -> BatchStep:
        """Play the learner's ``actions`` (integers, (n,)) and the opponents' decisions up to the learner's next.

        Games that are over and wait for :meth:`next_episodes` ignore their action and are paid 0.

        Raises:
            IllegalAction: with ``illegal="raise"``, names the first game with an illegal action; nothing has changed.

        """
        self._need_reset()
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_games,) or chosen.dtype.kind not in "iu":
            raise OptionError(f"actions must be {self.num_games} integers, not {chosen.dtype} of shape {chosen.shape}")
        chosen = chosen.astype(np.int64)
        loops = self.game.loops
        stepped = ~self._done
        if loops.find_illegal(self._masks, chosen) >= 0:
            self._replace_illegal(chosen)
        loops.advance_learners(self._states, chosen, self._seats, self._earned, self._lengths)
        return self._settle(np.zeros(self.num_games, np.bool_), stepped)

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of everything that changes while games are played, as named arrays; :meth:`load_state` gives it back.

        Agents are not part of it: ``controllers`` counts :attr:`agents`, and agents keep their own randomness.
        """
        self._need_reset()
        arrays = {name: np.array(getattr(self, f"_{name}")) for name in _STATE}
        return {
            **arrays,
            "states": self._states.view(np.uint8).copy(),
            "seeds": self.seeds.copy(),
            "agents_met": np.array([self._agents_met]),
        }

    def load_state(self, arrays: Mapping[str, NDArray[Any]], agents: Sequence[Agent]) -> NDArray[np.float32]:
        """Go on from a :meth:`state` of a batch made with the same arguments; ``agents`` are what :attr:`agents` was then.

        Opponents of later episodes are as :meth:`set_opponents` is told next. Returns the observations, (n, layout.size).
        """
        for name in _STATE:
            getattr(self, f"_{name}")[...] = arrays[name]
        self._states.view(np.uint8)[...] = arrays["states"]
        self.seeds = np.array(arrays["seeds"])
        self._agents_met = int(arrays["agents_met"][0])
        self.agents = list(agents)
        self._started = True
        observations = np.empty((self.num_games, self.game.layout.size), np.float32)
        self.game.loops.look_for(self._states, self._actors, self._masks, observations)
        return observations

    def _need_reset(self) -> None:
        if not self._started:
            raise ResetNeeded("the batch has no games yet: call reset first")

    def _replace_illegal(self, actions: NDArray[np.int64]) -> None:
        """What ``illegal`` says about the illegal ones of ``actions``."""
        n, columns = self._masks.shape
        allowed = (actions >= 0) & (actions < columns) & self._masks[np.arange(n), np.clip(actions, 0, columns - 1)]
        for i in np.flatnonzero(~allowed & ~self._done).tolist():
            if self.illegal == "raise":
                raise IllegalAction(f"game {i}: {self.position(i).explain_illegal(int(actions[i]))}")
            self._illegal_actions[i] += 1
            if self.illegal == "resample":
                self.game.loops.sample_actions(self._masks[i : i + 1], self._draws[i], actions[i : i + 1])
            else:
                self.game.loops.forfeit(self._states, i, int(self._actors[i]))
                self._earned[i] -= 1
                self._lengths[i] += 1

    def _begin(self, rows: NDArray[np.int64]) -> None:
        self.game.loops.begin_episodes(
            self._states,
            self._templates,
            self._kinds,
            rows,
            self.seeds,
            self._episodes,
            self._draws,
            -1 if self.seat is None else self.seat,
            self._choices,
            self._bounds,
            self._seats,
            self._controllers,
        )
        self._actors[rows] = self._seats[rows]
        self._earned[rows] = 0
        self._totals[rows] = 0
        self._lengths[rows] = 0
        self._illegal_actions[rows] = 0
        self._done[rows] = False

    def _settle(self, fresh: NDArray[np.bool_], due: NDArray[np.bool_]) -> BatchStep:
        """Let opponents play until every game waits for the learner or is over.

        ``fresh`` marks the games that began in this step, ``due`` those in which the learner has just decided and is to be paid. Both are
        changed.
        """
        loops, states, n = self.game.loops, self._states, self.num_games
        rewards = np.zeros(n, np.float64)
        terminated = np.zeros(n, np.bool_)
        truncated = np.zeros(n, np.bool_)
        ended: list[Episodes] = []
        while True:
            count = loops.find_over(states, self._done, self._rows)
            if count:
                rows = self._rows[:count].copy()
                finished = rows[~fresh[rows]]
                if len(finished):
                    rewards[finished] = self._earned[finished]
                    terminated[finished] = states["terminal"][finished] != 0
                    truncated[finished] = states["truncated"][finished] != 0
                    ended.append(self._report(finished))
                    self._earned[finished] = 0
                    due[finished] = False
                if self.autoreset:
                    fresh[rows] = True
                    self._begin(rows)
                else:
                    self._done[finished] = True
                    self._begin(rows[fresh[rows]])
                continue
            count = loops.find_waiting(states, self._controllers, self._rows, self._owners)
            if not count:
                break
            self._play_opponents(self._rows[:count], self._owners[:count])
        np.copyto(rewards, self._earned, where=due)
        np.add(self._totals, self._earned, out=self._totals, where=due)
        self._earned[due] = 0
        observations = np.empty((n, self.game.layout.size), np.float32)
        loops.look_for(states, self._actors, self._masks, observations)
        return BatchStep(observations, self._masks.copy(), rewards, terminated, truncated, self._merge(ended))

    def _play_opponents(self, rows: NDArray[np.int64], owners: NDArray[np.int64]) -> None:
        for k, agent in enumerate(self.agents):
            mine = rows[owners == k] if len(self.agents) > 1 else rows.copy()
            if len(mine):
                turns = show_turns(self.game, self._states, mine, agent)
                actions = agent.act(turns)
                wrong = self.game.loops.find_illegal(turns.masks, actions)
                if wrong >= 0:
                    raise IllegalAction(f"opponent {agent.name}: {self.position(mine[wrong]).explain_illegal(int(actions[wrong]))}")
                self.game.loops.advance_seats(self._states, mine, actions, self._seats, self._earned)

    def _report(self, rows: NDArray[np.int64]) -> Episodes:
        """The finished episodes of the games ``rows``."""
        states, seats = self._states, self._seats[rows]
        winners = states["winner"][rows] != 0
        observations = np.empty((len(rows), self.game.layout.size), np.float32)
        self.game.loops.write_seat_observations(states, rows, self._actors, observations)
        return Episodes(
            rows=rows,
            seats=seats,
            players=states["players"][rows].astype(np.int64),
            learner_returns=self._totals[rows] + self._earned[rows],
            lengths=self._lengths[rows],
            illegal_actions=self._illegal_actions[rows],
            won=winners[np.arange(len(rows)), seats],
            truncated=states["truncated"][rows] != 0,
            scores=states["score"][rows],
            winners=winners,
            returns=states["returns"][rows],
            final_observations=observations,
        )

    def _merge(self, parts: list[Episodes]) -> Episodes:
        if not parts:
            return self._no_episodes
        if len(parts) == 1:
            return parts[0]
        return Episodes(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Episodes)))
