"""Search agents: for every game, without training. They imagine worlds that fit what they know and try them out.

Everything is drawn from the agent's own generator, and nothing is read but views: for a fixed seed and a budget in simulations the same
turns give the same actions, whatever the hidden cards are.
"""

import re
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game, OptionError
from ..envs.core.agent import Agent, RandomAgent, Turns, show_turns
from ..envs.core.jit import JIT_DISABLED, bind
from . import search_loops
from .compiled_agent import CompiledAgent, compiled_numbers
from .rule_agent import RuleAgent
from .rules import RuleSet, rule_set
from .value_agent import ValueAgent

MAX_SIMULATIONS = 10**7
MAX_HORIZON = 1 << 30
FIRST_NODES = 1024
FIRST_WORLDS = 8
"""After so many worlds, and whenever their number has doubled, a flat search drops the actions that trail ..."""
DROP = 2.0
"""... by so much that so many standard errors on either side do not bring them level with the best."""
SAME_WORLDS = 16
"""After so many worlds an action is dropped that has returned the same as the likeliest one in each."""
CHUNK_MS = 2.0
"""How often a search with a budget of time looks at the clock."""

Until = Literal["end", "reward"]
Search = Callable[[Turns, NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
"""An action for each of the turns ``rows``, which have more than one, from the seeds of these."""

_BOUND: WeakKeyDictionary[RuleSet, Any] = WeakKeyDictionary()


@dataclass(frozen=True)
class Budget:
    """How much a search may do for one action: a number of simulations, or milliseconds."""

    amount: int
    in_ms: bool = False

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """``"64"`` or ``"50ms"``; :class:`OptionError` for anything else."""
        match = re.fullmatch(r"([0-9]{1,9})(ms)?", text.strip())
        if match is None or not 1 <= int(match[1]) <= MAX_SIMULATIONS:
            raise OptionError(f"a search budget cannot be {text!r}: it is a number from 1 to {MAX_SIMULATIONS}, or a time like 50ms")
        return cls(int(match[1]), match[2] is not None)

    def __str__(self) -> str:
        return f"{self.amount}ms" if self.in_ms else str(self.amount)


@dataclass
class SearchStats:
    """What a search agent has done since it was made."""

    turns: int = 0
    """Turns with more than one legal action; the others need no search."""
    simulations: int = 0
    """Worlds imagined; a flat search tries every action in each that it has not dropped."""
    decisions: int = 0
    """Decisions made in them, by rollouts and in the tree."""
    nodes: int = 0
    """Tree nodes."""
    seconds: float = 0.0


@runtime_checkable
class Policy(Protocol):
    """What a search asks a trained network for; a :class:`deckhand.agents.policy.PolicyAgent` is one."""

    name: str
    game: Game

    def act(self, turns: Turns) -> NDArray[np.int64]:
        """As of an :class:`Agent`."""

    def reset(self, seed: int) -> None:
        """As of an :class:`Agent`."""

    def probabilities(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """One probability an action, (n, num_actions), 0 for every illegal one."""


class SearchAgent(Agent):
    """What the searches have in common.

    ``rollout`` plays the imagined games on: a rule agent or a value agent of the game, a :class:`RandomAgent`, or (flat search only) a
    :class:`Policy`; ``others``, if given, plays the other seats in its place (a rule agent or the random one). They go on until the
    game's end; with ``until="reward"`` until somebody is rewarded, which suits games of several rounds; with ``horizon`` > 0 for so many
    decisions at most: what is still to come a value agent estimates, for all others it counts nothing. ``policy`` says which actions are
    the likely ones in the turn to decide; without it the agent of the rollouts does.
    """

    sees_observations = False
    games_at_once = 4  # a few: company makes it no faster, and results come early

    def __init__(
        self,
        game: Game,
        budget: Budget,
        rollout: Agent,
        *,
        others: Agent | None = None,
        policy: Policy | None = None,
        until: Until = "end",
        horizon: int = 0,
    ) -> None:
        if not isinstance(rollout, (CompiledAgent, RandomAgent, Policy)) or rollout.game is not game:
            raise OptionError(
                f"{game.name}: rollouts need a rule agent of this game, the random agent or a trained policy, not {rollout.name!r}"
            )
        if others is not None and (not isinstance(others, (RuleAgent, RandomAgent)) or others.game is not game):
            raise OptionError(
                f"{game.name}: the others of a search must be a rule agent of this game or the random agent, not {others.name!r}"
            )
        if others is not None and isinstance(rollout, Policy):
            raise OptionError(f"{game.name}: a search in which the policy {rollout.name!r} plays has no others: it plays every seat")
        if policy is None and isinstance(rollout, Policy):
            policy = rollout
        if policy is not None and not (isinstance(policy, Policy) and policy.game is game):
            raise OptionError(f"{game.name}: the policy of a search must be a trained policy of this game, not {policy.name!r}")
        if until not in ("end", "reward"):
            raise OptionError(f"{game.name}: until cannot be {until!r}; allowed are 'end' and 'reward'")
        if not 0 <= horizon <= MAX_HORIZON:
            raise OptionError(f"{game.name}: horizon cannot be {horizon}; it is a number of decisions to {MAX_HORIZON}, 0 for no limit")
        self.game = game
        self.budget = budget
        self._kinds, self._params = compiled_numbers([rollout, others or rollout])
        self._values = rollout if isinstance(rollout, ValueAgent) else None
        self._policy = policy
        self._to_reward = until == "reward"
        self._horizon = horizon or MAX_HORIZON
        self._loops = _bound_loops(game)
        self._scratch = game.allocate(3)
        self._mask = np.zeros(game.num_actions, np.bool_)
        self.stats = SearchStats()
        self.reset(0)

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, turns: Turns) -> NDArray[np.int64]:
        return self._decide(turns, self._search)

    def _decide(self, turns: Turns, search: Search) -> NDArray[np.int64]:
        """What ``search`` finds for the turns with more than one action, with the only action of the others."""
        if turns.game is not self.game:
            raise OptionError(f"{self.name} plays {self.game.id}, not {turns.game.id}")
        started = time.perf_counter()
        actions = np.argmax(turns.masks, axis=1)
        rows = np.flatnonzero(turns.masks.sum(axis=1) > 1)
        # One seed a turn, drawn in order: turns shown together are answered like turns shown one after another.
        seeds = self._rng.integers(2**53, size=len(turns))
        if len(rows) > 0:
            actions[rows] = search(turns, rows, seeds[rows])
        self.stats.turns += len(rows)
        self.stats.seconds += time.perf_counter() - started
        return actions

    @abstractmethod
    def _search(self, turns: Turns, rows: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.int64]:
        """An action for each of the turns ``rows``, which have more than one."""

    def prior(self, views: NDArray[Any], masks: NDArray[np.bool_], seeds: NDArray[np.int64]) -> NDArray[np.float64]:
        """What is known about the turns before the search, (n, num_actions).

        The policy's probabilities; without it those that a value agent's worths mean (their softmax, in units of the return), or 1 for the
        rule agent's choice. All 0 for random rollouts without a policy.
        """
        if self._policy is not None:
            observations = np.empty((len(views), self.game.layout.size), np.float32)
            # A seat's observation is the same of its view as of the whole position.
            self.game.loops.write_observations(views, np.arange(len(views)), observations)
            return self._policy.probabilities(observations, masks)
        if self._values is not None:
            worths = self._values.worths(views, masks)
            likely = np.exp(worths - worths.max(axis=1, keepdims=True))
            return np.asarray(likely / likely.sum(axis=1, keepdims=True))
        prior = np.zeros(masks.shape)
        if self._kinds[0] > 0:
            actions = np.empty(len(views), np.int64)
            self._loops.prefer(views, masks, seeds, self._kinds, self._params, actions)
            prior[np.arange(len(views)), actions] = 1
        return prior


class FlatSearch(SearchAgent):
    """Flat Monte Carlo: every legal action is tried in the same worlds and played out; hopeless ones are dropped on the way.

    The likeliest action (of :meth:`prior`) stands unless another one returned more by ``caution`` standard errors of the paired
    difference; of several such the one that leads by most after subtracting them is taken. Random rollouts without a policy have no
    likeliest action: then the mean decides. Actions to which the policy, or the value agent, gives less probability than ``least`` are not
    tried.
    """

    def __init__(self, game: Game, budget: Budget, rollout: Agent, *, caution: float = 1.0, least: float = 0.0, **settings: Any) -> None:
        super().__init__(game, budget, rollout, **settings)
        if not 0 <= caution < np.inf:
            raise OptionError(f"{game.name}: caution cannot be {caution}; it is a number of standard errors, 0 or more")
        if not 0 <= least <= 1:
            raise OptionError(f"{game.name}: least cannot be {least}; it is a probability, 0 to 1")
        if least and self._policy is None and self._values is None:
            raise OptionError(f"{game.name}: least cannot be {least} in a search without a policy, whose probabilities it is about")
        self._least = least
        self._caution = caution if self._kinds[0] != 0 or self._policy is not None else 0.0
        self._player = rollout if isinstance(rollout, Policy) else None
        self.name = f"flat({budget})"

    def act_and_judge(self, turns: Turns, tried: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As :meth:`act`, with what it found: the mean of what each action returned more than the likeliest, float64 (n, num_actions).

        0 for the likeliest, for illegal actions and for turns with a single action; the mean of an action that was dropped ends there.
        ``tried``, bool (n, num_actions), leaves out actions other than the likeliest, which have 0 as well.
        """
        values = np.zeros(turns.masks.shape)
        return self._decide(turns, partial(self._search, tried=tried, values=values)), values

    def _search(
        self,
        turns: Turns,
        rows: NDArray[np.int64],
        seeds: NDArray[np.int64],
        tried: NDArray[np.bool_] | None = None,
        values: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int64]:
        views, masks, seats = turns.views[rows], turns.masks[rows], turns.seats[rows]
        likely = self.prior(views, masks, seeds)
        bases = np.argmax(np.where(masks, likely, -1), axis=1)
        masks = masks & (likely >= self._least)
        if tried is not None:
            masks &= tried[rows]
        masks[np.arange(len(rows)), bases] = True
        chosen = bases.copy()
        # By time one turn after another, and where a policy plays, whose answers may depend on what else is asked; else all at once.
        alone = self.budget.in_ms or self._player is not None
        for part in [slice(i, i + 1) for i in range(len(rows))] if alone else [slice(None)]:
            trials = _Trials(masks[part], bases[part])
            for first, count in _chunks(self.budget, FIRST_WORLDS):
                self.stats.decisions += self._sample(views[part], seats[part], seeds[part], first, count, trials)
                self.stats.simulations += trials.add(count)
                if not trials.undecided.any():
                    break
            chosen[part] = trials.best(self._caution)
            if values is not None:
                values[rows[part]] = trials.bound(0)
        return chosen

    def _sample(
        self,
        views: NDArray[Any],
        seats: NDArray[np.int64],
        seeds: NDArray[np.int64],
        first: int,
        count: int,
        trials: "_Trials",
    ) -> int:
        """Try what is alive in the worlds number ``first`` .. ``first + count - 1``; returns the decisions made."""
        if self._player is None:
            return int(
                self._loops.sample_worlds(
                    views,
                    trials.alive,
                    seats,
                    seeds,
                    first,
                    count,
                    self._kinds,
                    self._params,
                    self._to_reward,
                    self._horizon,
                    trials.bases,
                    trials.gains,
                    trials.squares,
                    self._scratch,
                    self._mask,
                )
            )
        base = trials.bases[0]
        actions = np.array([base, *(a for a in np.flatnonzero(trials.alive[0]) if a != base)])
        states = self.game.allocate(count * len(actions))
        self._loops.fan_out(views, int(seats[0]), int(seeds[0]), first, count, actions, states, self._scratch)
        decisions = int(views["decisions"][0])
        self._player.reset(int(seeds[0]))
        while True:
            playing = (states["to_move"] >= 0) & (states["decisions"] - decisions < self._horizon)
            if self._to_reward:
                playing &= ~states["reward"].any(axis=1)
            open_rows = np.flatnonzero(playing)
            if len(open_rows) == 0:
                break
            shown = show_turns(self.game, states, open_rows, self._player)
            self.game.loops.advance_rows(states, open_rows, self._player.act(shown))
        returns = states["returns"][:, seats[0]].reshape(count, len(actions))
        gains = returns[:, 1:] - returns[:, :1]
        trials.gains[0, actions[1:]] += gains.sum(axis=0)
        trials.squares[0, actions[1:]] += (gains**2).sum(axis=0)
        return int((states["decisions"] - decisions).sum())


class _Trials:
    """What every action returned more than the likeliest one, by turn and action."""

    def __init__(self, masks: NDArray[np.bool_], bases: NDArray[np.int64]) -> None:
        self.alive = masks.copy()
        self.bases = bases
        self.gains = np.zeros(masks.shape)
        self.squares = np.zeros(masks.shape)
        self.worlds = np.zeros(masks.shape, np.int64)
        self._judged = FIRST_WORLDS

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Whether a turn has an action left beside the likeliest, (n,)."""
        return np.asarray(self.alive.sum(axis=1) > 1)

    def add(self, count: int) -> int:
        """Count so many more worlds, drop what trails; returns the worlds by turns that were tried."""
        tried = self.undecided
        self.worlds += count * (self.alive & tried[:, None])
        if self.worlds.max() >= self._judged:
            self._judged = 2 * int(self.worlds.max())
            best = self.bound(-DROP).max(axis=1, where=self.alive, initial=-np.inf)
            self.alive &= self.bound(DROP) >= best[:, None]
            self.alive &= (self.worlds < SAME_WORLDS) | (self.squares > 0)
            self.alive[np.arange(len(self.alive)), self.bases] = True
        return count * int(tried.sum())

    def best(self, caution: float) -> NDArray[np.int64]:
        """The action to take, (n,)."""
        lead = np.where(self.alive, self.bound(-caution), -np.inf)
        return np.where(lead.max(axis=1) > 0, np.argmax(lead, axis=1), self.bases)

    def bound(self, errors: float) -> NDArray[np.float64]:
        """Mean plus so many of its standard errors; a single world says nothing about the spread."""
        n = np.maximum(self.worlds, 1)
        mean = self.gains / n
        if errors == 0:
            return np.asarray(mean)
        error = np.sqrt(np.maximum(self.squares / n - mean**2, 0) / np.maximum(n - 1, 1))
        error[(n == 1) & (self.gains != 0)] = np.inf
        return np.asarray(mean + errors * error)


class TreeSearch(SearchAgent):
    """Single-observer information-set MCTS (Cowling, Powley and Whitehouse 2012) with a bias towards likely actions.

    One tree for all worlds; its nodes are sequences of actions (chance is not branched on), and an action competes only in the worlds in
    which it is legal. The root's most visited action is played. ``exploration`` is UCT's constant for returns scaled to 0 .. 1, ``bias``
    the weight of what speaks for an action before the search, divided by its visits plus one: that is :meth:`prior` at the root, 1 for
    the rule agent's choice below.
    """

    def __init__(self, game: Game, budget: Budget, rollout: Agent, *, exploration: float = 0.5, bias: float = 1.0, **settings: Any) -> None:
        if not isinstance(rollout, (CompiledAgent, RandomAgent)):
            raise OptionError(f"{game.name}: the rollouts of a tree need a rule agent or the random agent, not {rollout.name!r}")
        super().__init__(game, budget, rollout, **settings)
        for name, value in (("exploration", exploration), ("bias", bias)):
            if not 0 <= value < np.inf:
                raise OptionError(f"{game.name}: {name} cannot be {value}; it is a number, 0 or more")
        self._exploration = exploration
        self._bias = bias
        self._tree = _nodes(FIRST_NODES)
        self.name = f"ismcts({budget})"

    def _search(self, turns: Turns, rows: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.int64]:
        prior = self.prior(turns.views[rows], turns.masks[rows], seeds)
        actions = np.empty(len(rows), np.int64)
        for j, i in enumerate(rows):
            tree = self._plant(0)
            bounds = np.array([np.inf, -np.inf])
            worlds = 0
            for first, count in _chunks(self.budget, self.budget.amount):
                tree = self._plant(first + count + 1)
                self.stats.decisions += self._loops.grow_tree(
                    turns.views[i : i + 1],
                    int(turns.seats[i]),
                    int(seeds[j]),
                    first,
                    count,
                    self._kinds,
                    self._params,
                    self._to_reward,
                    self._horizon,
                    self._exploration,
                    self._bias,
                    prior[j],
                    tree,
                    bounds,
                    self._scratch,
                    self._mask,
                )
                worlds = first + count
            self.stats.simulations += worlds
            self.stats.nodes += int(tree["nodes"][0])
            visits = np.zeros(turns.masks.shape[1], np.int64)
            totals = np.zeros(turns.masks.shape[1])
            self._loops.read_root(tree, visits, totals)
            # Of equally visited actions the one that returned more.
            actions[j] = np.argmax(np.where(visits == visits.max(), totals, -np.inf))
        return actions

    def _plant(self, nodes: int) -> NDArray[Any]:
        """The tree with room for ``nodes``; an empty one for 0."""
        if nodes > len(self._tree):
            grown = _nodes(max(nodes, 2 * len(self._tree)))
            grown[: len(self._tree)] = self._tree
            self._tree = grown
        if nodes == 0:
            self._tree[0] = np.zeros((), search_loops.NODE)[()]
            self._tree["nodes"][0] = 1
        return self._tree


def _nodes(count: int) -> NDArray[Any]:
    tree = np.zeros(count, search_loops.NODE)
    return tree.view(np.recarray) if JIT_DISABLED else tree


def _chunks(budget: Budget, size: int) -> Iterator[tuple[int, int]]:
    """Ranges (first, count) of simulations until the budget is used up: the first has ``size``, each of the next doubles the number.

    By the clock: the first has one, and a range takes ``CHUNK_MS`` at most unless it is a single simulation.
    """
    if not budget.in_ms:
        first = 0
        while first < budget.amount:
            count = min(max(size, first), budget.amount - first)
            yield first, count
            first += count
        return
    now = time.perf_counter()
    deadline = now + budget.amount / 1000
    first, count = 0, 1
    while first < MAX_SIMULATIONS and (first == 0 or now < deadline):
        started = now
        yield first, count
        first += count
        now = time.perf_counter()
        each = max((now - started) / count, 1e-7)
        count = max(1, min(2 * count, int(CHUNK_MS / 1000 / each)))


def _bound_loops(game: Game) -> Any:
    rules = rule_set(game)
    if rules not in _BOUND:
        kernels = {name: getattr(game.loops, name) for name in ("advance", "write_mask", "write_view", "fill_view")}
        kernels |= {name: getattr(rules.loops, name) for name in ("choose", "best_worth")}
        names = ("is_paid", "roll_out", "prefer", "fan_out", "sample_worlds", "select", "grow_tree", "read_root")
        for name in names:
            kernels[name] = bind(getattr(search_loops, name), game.name, kernels)
        _BOUND[rules] = SimpleNamespace(**{name: kernels[name] for name in names})
    return _BOUND[rules]
