"""Playing many games, and ``simulate``: what happens when given agents sit in given seats."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents import RuleAgent, ValueAgent
from ..agents.compiled_agent import CompiledAgent, compiled_numbers
from ..agents.rules import rule_set
from ..envs.core import Game, IllegalAction, OptionError
from ..envs.core.agent import Agent, RandomAgent, show_turns
from ..envs.core.options import Options, check_seed
from ..envs.core.rng import derive_seed
from .config import MOST_GAMES
from .progress import Report
from .statistics import Figure, number_text, quantiles, rates, standard_error, table_text, wilson
from .tables import Grid
from .versions import versions

CHUNK = 1024
"""Games of compiled agents that are in memory at once."""
AGENT_STREAM = 2**41
"""Agents' own random numbers come from ``derive_seed(seed, AGENT_STREAM + j)``; no deals are counted from there. Agents that are not
compiled start anew with game ``first`` from the seed ``derive_seed(that, first)``."""


@dataclass(frozen=True)
class Outcomes:
    """Finished games, one a row."""

    scores: NDArray[np.int64]
    """(games, players)."""
    winners: NDArray[np.bool_]
    """(games, players)."""
    returns: NDArray[np.float64]
    """(games, players)."""
    truncated: NDArray[np.bool_]
    """(games,)."""
    decisions: NDArray[np.int64]
    """(games,)."""
    extra: dict[str, NDArray[Any]]
    """The numbers and flags of ``Game.extra_outcome``, (games,) each: bool or float64."""
    statistics: dict[str, NDArray[np.float64]]
    """``Game.statistics``: numbers (games,), numbers by seat (games, players), rates by seat (games, players, 2): hits and trials."""

    @classmethod
    def read(cls, game: Game, states: NDArray[Any]) -> "Outcomes":
        """The outcomes of an array of finished games with one player count."""
        n = int(states["players"][0])
        extra: dict[str, NDArray[Any]] = {}
        # One Python call a game: only where the game has something to say.
        if type(game).extra_outcome is not Game.extra_outcome:
            rows = [game.extra_outcome(s) for s in states]
            for name, value in rows[0].items():
                if isinstance(value, (bool, int, float)):
                    extra[name] = np.array([row[name] for row in rows], bool if isinstance(value, bool) else np.float64)
        return cls(
            states["score"][:, :n].astype(np.int64),
            states["winner"][:, :n] != 0,
            states["returns"][:, :n].astype(np.float64),
            states["truncated"] != 0,
            states["decisions"].astype(np.int64),
            extra,
            {name: values.astype(np.float64) for name, values in game.statistics(states).items()},
        )

    @classmethod
    def join(cls, parts: Sequence["Outcomes"]) -> "Outcomes":
        """All games of ``parts`` in order."""
        fields: dict[str, Any] = {}
        for name in cls.__dataclass_fields__:
            arrays = [getattr(p, name) for p in parts]
            if isinstance(arrays[0], dict):
                fields[name] = {key: np.concatenate([a[key] for a in arrays]) for key in arrays[0]}
            else:
                fields[name] = np.concatenate(arrays)
        return cls(**fields)

    def first(self, games: int) -> "Outcomes":
        """The first ``games`` of them."""
        fields: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            fields[name] = {key: array[:games] for key, array in value.items()} if isinstance(value, dict) else value[:games]
        return Outcomes(**fields)

    def win_shares(self) -> NDArray[np.float64]:
        """What each seat won, (games, players): a win shared by k seats counts 1/k, a game without a winner nothing."""
        return self.winners / np.maximum(self.winners.sum(axis=1, keepdims=True), 1)


def play_games(
    game: Game,
    agents: Sequence[Agent],
    seating: NDArray[np.int64],
    *,
    options: Mapping[str, Any] | Options,
    seeds: Sequence[int],
    seed: int,
    first: int = 0,
    compiled: bool | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Outcomes]:
    """Play one game for each of ``seeds`` and yield the outcomes in order, some games at a time.

    ``seating`` (games, players) holds indexes into ``agents``. The agents' own randomness starts from ``seed`` and ``first``, the number of
    the first game where these are a part of more. Games between rule agents and random agents, or value agents, run inside compiled code,
    ``CHUNK`` at a time, and are the same in whatever parts they are played; ``compiled=False`` plays them as any others: as many side by
    side as the agents' ``games_at_once`` allows, and where a game ends the next begins. ``progress`` is told the number of finished games,
    after every chunk or every round of decisions. Whoever stops asking for outcomes stops the games.
    """
    n = game.check_players(seating.shape[1])
    options = game.parse_options(options)
    if compiled is None:
        # Side by side value agents would compute in the precision of rule agents.
        compiled = any(all(type(a) in (RandomAgent, kind) for a in agents) for kind in (RuleAgent, ValueAgent))
    for j, agent in enumerate(agents):
        if isinstance(agent, (RandomAgent, CompiledAgent)) and agent.game is not game:
            raise OptionError(f"agent {agent.name!r} is for {agent.game.name}, not {game.name}")
        agent.reset(derive_seed(derive_seed(seed, AGENT_STREAM + 1 + j), first))
    tell = progress or (lambda finished: None)
    if not compiled:
        yield from _play_side_by_side(game, game.template(n, options), agents, seating, seeds, tell)
        return
    for done in range(0, len(seeds), CHUNK):
        part = slice(done, done + CHUNK)
        states = game.deal(n, options, seeds[part])
        _play_compiled(game, states, first + done, agents, seating[part], derive_seed(seed, AGENT_STREAM))
        tell(done + len(states))
        yield Outcomes.read(game, states)


def _play_compiled(game: Game, states: NDArray[Any], first: int, agents: Sequence[Agent], seating: NDArray[np.int64], seed: int) -> None:
    scratch = game.allocate(1)
    mask = np.zeros(game.num_actions, np.bool_)
    rule_set(game).loops.play(states, first, seating, *compiled_numbers(agents), seed, scratch, mask)


def _play_side_by_side(
    game: Game,
    template: NDArray[Any],
    agents: Sequence[Agent],
    seating: NDArray[np.int64],
    seeds: Sequence[int],
    tell: Callable[[int], None],
) -> Iterator[Outcomes]:
    """Keep ``width`` games running while there are any left, and yield finished ones ``width`` at a time."""
    width = min(len(seeds), *(agent.games_at_once for agent in agents))
    states = game.allocate(width)
    numbers = np.arange(width)
    for i in range(width):
        game.loops.restart(states, template, i, check_seed(seeds[i]))
    running = np.arange(width)
    over: dict[int, NDArray[Any]] = {}
    begun, finished, read = width, 0, 0
    while len(running) > 0:
        _decide(game, states, running, agents, seating[numbers[running], states["to_move"][running]])
        for i in running[states["to_move"][running] < 0]:
            over[int(numbers[i])] = game.copy(states[i : i + 1])
            finished += 1
            if begun < len(seeds):
                numbers[i] = begun
                game.loops.restart(states, template, i, check_seed(seeds[begun]))
                begun += 1
        running = running[states["to_move"][running] >= 0]
        tell(finished)
        while read < len(seeds) and all(k in over for k in range(read, min(read + width, len(seeds)))):
            part = game.allocate(min(width, len(seeds) - read))
            for j in range(len(part)):
                part[j : j + 1] = over.pop(read + j)
            read += len(part)
            yield Outcomes.read(game, part)


def _decide(game: Game, states: NDArray[Any], rows: NDArray[np.int64], agents: Sequence[Agent], players: NDArray[np.int64]) -> None:
    """One decision in each of the games ``rows``, by the agents ``players``."""
    actions = np.empty(len(rows), np.int64)
    for j in np.unique(players):
        own = players == j
        turns = show_turns(game, states, rows[own], agents[j])
        allowed = turns.masks.copy()
        chosen = np.asarray(agents[j].act(turns)).astype(np.int64, casting="same_kind")
        bad = game.loops.find_illegal(allowed, chosen)
        if bad >= 0:
            legal = ", ".join(map(str, np.flatnonzero(allowed[bad])))
            raise IllegalAction(f"agent {agents[j].name!r} chose action {chosen[bad]}; legal are: {legal}")
        actions[own] = chosen
    game.loops.advance_rows(states, rows, actions)


def check_count(name: str, value: int) -> int:
    """A number of deals or games that a spread can be estimated from, 2 to :data:`MOST_GAMES`, else :class:`OptionError`."""
    if not 2 <= value <= MOST_GAMES:
        raise OptionError(f"{name} cannot be {value}: it must be 2 at least and {MOST_GAMES:,} at most")
    return value


@dataclass(frozen=True)
class Summary:
    """A quantity over independent games."""

    mean: float
    standard_error: float
    quantiles: dict[str, float]

    @classmethod
    def of(cls, values: NDArray[Any]) -> "Summary":
        """Of one value a game."""
        return cls(float(np.mean(values)), standard_error(values), quantiles(values))

    def to_json(self) -> dict[str, Any]:
        """``{"mean", "standard_error", "quantiles"}``."""
        return {"mean": self.mean, "standard_error": self.standard_error, "quantiles": self.quantiles}


@dataclass(frozen=True)
class Simulation:
    """What :func:`simulate` found."""

    game: Game
    agents: list[str]
    """By seat."""
    options: Options
    seed: int
    outcomes: Outcomes
    seconds: float

    @property
    def seats(self) -> list[tuple[str, int]]:
        """Rows of the report, (name, seat): one a seat, or one for the team of a cooperative game."""
        n = self.outcomes.scores.shape[1]
        if self.game.cooperative:
            return [("team" if n > 1 else "player", 0)]
        return [(f"player {seat}", seat) for seat in range(n)]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON (``deckhand/simulation/1``).

        ``seats``: for each seat (or the team) ``score`` and ``return`` as summaries and the proportion ``win_rate`` (a shared win counts
        for each winner). ``per_game``: ``decisions``, ``truncated`` and the game's own numbers (summaries) and flags (proportions).
        ``statistics``: the game's own counts, each with ``all``, the sum over the seats, and for those that seats have ``seats``. A summary
        is ``{"mean", "standard_error", "quantiles": {"0", "5", "25", "50", "75", "95", "100"}}``, a proportion ``{"mean", "low", "high"}``
        with Wilson's 95 % interval; the same for rates, bootstrapped over the games, null without any trial.
        """
        o = self.outcomes
        seats = []
        for name, seat in self.seats:
            score, returns, wins = self._seat(seat)
            seats.append({"name": name, "score": score.to_json(), "return": returns.to_json(), "win_rate": wins.to_json()})
        return {
            "schema": "deckhand/simulation/1",
            "game": self.game.id,
            "players": o.scores.shape[1],
            "options": self.options.model_dump(),
            "agents": self.agents,
            "seed": self.seed,
            "games": len(o.scores),
            "decisions": int(o.decisions.sum()),
            "seats": seats,
            "per_game": {name: value.to_json() for name, value in self._per_game().items()},
            "statistics": self._statistics_json(),
            "versions": versions(),
            "seconds": self.seconds,
        }

    def grids(self) -> list[Grid]:
        """The report as tables: one quantity a row."""
        rows: list[Sequence[str]] = []
        for name, seat in self.seats:
            score, returns, wins = self._seat(seat)
            rows += [(f"{name}: score", *_cells(score)), (f"{name}: return", *_cells(returns)), (f"{name}: wins", *_cells(wins))]
        rows += [(name.replace("_", " "), *_cells(value)) for name, value in self._per_game().items()]
        mixed = len(set(self.agents)) > 1
        for name, (pooled, by_seat) in self._statistics().items():
            rows.append((name.replace("_", " "), *_cells(pooled)))
            if mixed:
                rows += [(f"- player {seat}", *_cells(value)) for seat, value in enumerate(by_seat)]
        chosen = ", ".join(f"{k}={v}" for k, v in self.options.model_dump().items())
        games = f"{len(self.outcomes.scores):,} games of {', '.join(self.agents)}, seed {self.seed}"
        header = ("", "mean ± SE, or rate", "5/25/50/75/95 %", "min .. max")
        return [Grid(f"{self.game.id}; {chosen}\n{games}", header, rows)]

    def _seat(self, seat: int) -> tuple[Summary, Summary, Figure]:
        o = self.outcomes
        return Summary.of(o.scores[:, seat]), Summary.of(o.returns[:, seat]), wilson(int(o.winners[:, seat].sum()), len(o.scores))

    def _statistics(self) -> dict[str, tuple[Summary | Figure | None, list[Summary | Figure | None]]]:
        """Every statistic of the game: pooled, and by seat if seats have it."""
        found: dict[str, tuple[Summary | Figure | None, list[Summary | Figure | None]]] = {}
        for name, values in self.outcomes.statistics.items():
            if values.ndim == 3:
                counts = np.concatenate([values.sum(axis=1, keepdims=True), values], axis=1)
                pooled, *by_seat = rates(counts[:, :, 0], counts[:, :, 1])
                found[name] = pooled, [*by_seat]
            elif values.ndim == 2:
                found[name] = Summary.of(values.sum(axis=1)), [Summary.of(column) for column in values.T]
            else:
                found[name] = Summary.of(values), []
        return found

    def _statistics_json(self) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        for name, (pooled, by_seat) in self._statistics().items():
            found[name] = {"all": pooled and pooled.to_json()}
            if by_seat:
                found[name]["seats"] = [value and value.to_json() for value in by_seat]
        return found

    def _per_game(self) -> dict[str, Summary | Figure]:
        o = self.outcomes
        found: dict[str, Summary | Figure] = {}
        for name, values in (*o.extra.items(), ("decisions", o.decisions), ("truncated", o.truncated)):
            found[name] = wilson(int(values.sum()), len(values)) if values.dtype == bool else Summary.of(values)
        return found


def simulate(
    game: Game,
    agents: Sequence[Agent],
    *,
    num_players: int,
    options: Mapping[str, Any] | Options,
    games: int,
    seed: int,
    progress: Report | None = None,
) -> Simulation:
    """Play ``games`` independent games, game ``k`` from the seed ``derive_seed(seed, k)``.

    One agent plays all seats, several play one seat each. :class:`OptionError` for any other number of agents or fewer than 2 games.
    """
    started = time.perf_counter()
    n = game.check_players(num_players)
    if len(agents) not in (1, n):
        raise OptionError(f"{game.name}: {len(agents)} agents cannot sit in {n} seats: name one agent for all seats, or one a seat")
    seeds = [int(derive_seed(check_seed(seed), k)) for k in range(check_count("games", games))]
    options = game.parse_options(options)
    seating = np.tile(np.arange(n) % len(agents), (games, 1))
    parts: list[Outcomes] = []
    scores = np.empty(games)
    read = 0

    def tell(finished: int) -> None:
        if progress:
            estimate = f"mean score {scores[:read].mean():.2f}" if read else ""
            progress(finished, games, estimate + (f" ± {standard_error(scores[:read]):.2f}" if read > 1 else ""))

    for part in play_games(game, agents, seating, options=options, seeds=seeds, seed=seed, progress=tell):
        parts.append(part)
        scores[read : read + len(part.scores)] = part.scores[:, 0]
        read += len(part.scores)
        tell(read)
    names = [agents[int(j)].name for j in seating[0]]
    return Simulation(game, names, options, seed, Outcomes.join(parts), time.perf_counter() - started)


def _cells(value: Summary | Figure | None) -> tuple[str, str, str]:
    if value is None:
        return "-", "", ""
    if isinstance(value, Figure):
        return value.text(percent=True), "", ""
    extremes = f"{number_text(value.quantiles['0'])} .. {number_text(value.quantiles['100'])}"
    return f"{value.mean:.2f} ± {value.standard_error:.2f}", table_text(value.quantiles), extremes
