"""Tournaments: all agents against all, on the same deals, in every seat; played by several processes, and resumable.

*Competitive games.* A table is a set of as many agents as the game has seats: all sets, or a balanced choice of them if there are more than
``tables``. Every table plays the same deals, each as often as there are seats, so that everybody has every seat once; who sits beside whom
is drawn anew for every deal. Agents are rated by :mod:`.ratings` over the rankings: winners first, then by score; equal ones share a place.

*Cooperative games.* Every agent plays every deal alone, in all seats; agents are ranked by their mean score, and one beats another on a
deal if it scores more.

Deal ``k`` is the game seed ``derive_seed(seed, TOURNAMENT_STREAM + k)``, never one of training, simulation or evaluation. Intervals come
from a bootstrap over deals: all games on one deal are drawn together.

*Work* is cut into units, ``unit`` deals of one table; a unit is a pure function of the configuration and is kept on disk when it is
finished. The number of processes therefore changes no result (searches with a budget of time excepted), and a killed run loses no more
than the units that were being played.

==========================  =====================================================================================================
``config.yaml``             the configuration with every value
``versions.json``           Deckhand, Python, NumPy … and the machine
``agents.json``             the agents, and the SHA-256 sums of trained policies: a run resumes with the same ones only
``units/T-D.npz``           the games of table T from deal D on: ``agents`` and ``scores``, ``winners``, ``returns`` (games, seats),
                            ``deals``, ``truncated``, ``decisions`` (games,), and ``seconds``
``agents.csv``              the ranking, one row an agent
``matrix.csv``              one row a pair of agents: how often the first finished ahead of the second
``matrix.png``              the same as a heat map
``alpharank.json``          the meta-game for OpenSpiel's alpha-Rank (:meth:`.standings.Standings.alpharank`)
``tournament.md``           the tables
``tournament.json``         everything (:meth:`.standings.Standings.to_json`); the last file, where it is, the tournament is over
==========================  =====================================================================================================
"""

import io
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from ..agents import Agent, ValueAgent, make_agent
from ..agents.policy import PolicyAgent
from ..envs.core import DeckhandError, RecordError, get_game
from ..envs.core.files import write_bytes, write_json
from ..envs.core.rng import MAX_SEED, derive_seed, seed_rng, shuffle
from .config import ConfigError, Deals, Positive, RunConfig, check_key
from .progress import Report
from .ratings import connected
from .runs import RunFolder, read_json
from .simulation import Outcomes, play_games
from .workers import worker_pool

TOURNAMENT_STREAM, UNIT_STREAM, SEATING_STREAM, DESIGN_STREAM = 2**42, 2**43, 2**44, 2**45
"""Where the seeds of deals, of the agents in a unit, of the seating and of the choice of tables start in the stream of the seed."""

OUTCOMES = ("scores", "winners", "returns", "truncated", "decisions")
"""The fields of :class:`Outcomes` that are kept."""

AgentName = Annotated[str, Field(min_length=1)]


class TournamentConfig(RunConfig):
    """One tournament."""

    shipped = "tournament_"

    game: str
    players: Positive
    options: dict[str, Any] = Field(default={})
    agents: Annotated[dict[AgentName, str], Field(min_length=2)]
    """What the report calls an agent, and what it is; a plain list names the agents after what they are."""
    deals: Deals
    tables: Positive = 100
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 3_000_003
    unit: Positive = 50
    workers: Positive = 2

    @field_validator("agents", mode="before")
    @classmethod
    def _name_after_specs(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        if not all(isinstance(spec, str) for spec in value):
            raise ValueError("a list names agents as texts, like low or flat(64)")
        twice = sorted({spec for spec in value if value.count(spec) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} stands twice; give copies names of their own, as in {{a: {twice[0]}, b: {twice[0]}}}")
        return {spec: spec for spec in value}

    def check(self, label: str) -> None:
        game = check_key(label, "game", lambda: get_game(self.game))
        check_key(label, "players", lambda: game.check_players(self.players))
        check_key(label, "options", lambda: game.parse_options(self.options))
        for spec in self.agents.values():
            check_key(label, "agents", partial(make_agent, game, spec))
        if not game.cooperative:
            if len(self.agents) < self.players:
                raise ConfigError(f"{label}: agents: {self.players} players need as many different agents, not {len(self.agents)}")
            tables = plan_tables(self)
            seated = np.zeros((len(tables), len(self.agents)), np.bool_)
            np.put_along_axis(seated, np.array(tables), True, axis=1)
            if not connected(seated):
                raise ConfigError(f"{label}: tables cannot be {self.tables}: so few do not bring all {len(self.agents)} agents together")


class Unit(NamedTuple):
    """The part of the work that is done and kept as a whole: some deals of one table."""

    table: int
    agents: tuple[int, ...]
    """By their places in the configuration; one agent in cooperative games."""
    first: int
    deals: int

    @property
    def file(self) -> str:
        return f"{self.table:05d}-{self.first:07d}.npz"


def plan_tables(config: TournamentConfig) -> list[tuple[int, ...]]:
    """Who plays whom: tuples of agents, in ascending order.

    All sets if there are at most ``config.tables``. Otherwise so many are chosen one after another: each time the set whose agents have sat
    least, of those the one whose pairs have met least, of those a random one that follows from the seed.
    """
    agents, seats = len(config.agents), config.players
    if get_game(config.game).cooperative:
        return [(a,) for a in range(agents)]
    every = list(combinations(range(agents), seats))
    if len(every) <= config.tables:
        return every
    order = np.arange(len(every))
    rng = np.empty(4, np.int64)
    seed_rng(rng, derive_seed(config.seed, DESIGN_STREAM), 0)
    shuffle(rng, order, len(order))
    sets = np.array(every)[order]
    pairs = [(s, t) for s in range(seats) for t in range(s)]
    sat, met = np.zeros(agents, np.int64), np.zeros((agents, agents), np.int64)
    chosen: list[tuple[int, ...]] = []
    for _ in range(config.tables):
        often = (met[sets[:, s], sets[:, t]] for s, t in pairs)
        best = int(np.lexsort((sum(often), sat[sets].sum(axis=1)))[0])
        table = sets[best]
        sets = np.delete(sets, best, axis=0)
        sat[table] += 1
        for s, t in pairs:
            met[table[s], table[t]] += 1
        chosen.append(tuple(map(int, table)))
    return sorted(chosen)


def plan_units(config: TournamentConfig) -> list[Unit]:
    """All the work; the first deals of all tables come first."""
    return [
        Unit(table, agents, first, min(config.unit, config.deals - first))
        for first in range(0, config.deals, config.unit)
        for table, agents in enumerate(plan_tables(config))
    ]


class Player:
    """Plays units and keeps them in a folder."""

    def __init__(self, config: TournamentConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.game = get_game(config.game)
        self.options = self.game.parse_options(config.options)
        self.agents = [make_agent(self.game, spec) for spec in config.agents.values()]

    def play(self, unit: Unit) -> NDArray[np.float64]:
        """Play a unit, keep it, and return what each of its agents won, or scored in cooperative games: sum over the games, (agents,)."""
        started = time.perf_counter()
        deals = range(unit.first, unit.first + unit.deals)
        seating = np.concatenate([self._seating(len(unit.agents), deal) for deal in deals])
        each = len(seating) // unit.deals
        seeds = [int(derive_seed(self.config.seed, TOURNAMENT_STREAM + deal)) for deal in deals for _ in range(each)]
        seed = int(derive_seed(self.config.seed, UNIT_STREAM + unit.first))
        agents = [self.agents[a] for a in unit.agents]
        played = Outcomes.join(list(play_games(self.game, agents, seating, options=self.options, seeds=seeds, seed=seed)))
        arrays = {
            "agents": np.array(unit.agents)[seating],
            "deals": np.repeat(deals, each),
            **{name: getattr(played, name) for name in OUTCOMES},
            "seconds": np.array(time.perf_counter() - started),
        }
        data = io.BytesIO()
        np.savez_compressed(data, **arrays)
        write_bytes(self.folder / unit.file, data.getvalue())
        value = played.scores / self.config.players if self.game.cooperative else played.win_shares()
        return np.array([value[seating == j].sum() for j in range(len(agents))])

    def _seating(self, agents: int, deal: int) -> NDArray[np.int64]:
        """Who sits where in each game of a deal, (games, seats)."""
        seats = self.config.players
        if self.game.cooperative:
            return np.zeros((1, seats), np.int64)
        order = np.arange(agents)
        rng = np.empty(4, np.int64)
        seed_rng(rng, derive_seed(self.config.seed, SEATING_STREAM), deal)
        shuffle(rng, order, agents)
        return np.array([np.roll(order, shift) for shift in range(seats)])


_player: Player | None = None
"""Of a worker process."""


def _start_worker(config: TournamentConfig, folder: Path) -> None:
    global _player
    _player = Player(config, folder)


def _play_in_worker(unit: Unit) -> NDArray[np.float64]:
    assert _player is not None
    return _player.play(unit)


def play_tournament(config: TournamentConfig, folder: Path, progress: Report | None = None) -> None:
    """Play the units that ``folder`` does not hold yet.

    :class:`RecordError` if the folder was begun with other weights than the agents' paths hold now, :class:`DeckhandError` while another
    process plays in it.
    """
    with RunFolder(folder).held():
        _play_missing(config, folder, progress)


def _play_missing(config: TournamentConfig, folder: Path, progress: Report | None) -> None:
    units = folder / "units"
    units.mkdir(exist_ok=True)
    _check_agents(config, folder)
    for draft in units.glob(".*"):  # of a killed process
        draft.unlink()
    plan = plan_units(config)
    missing = [unit for unit in plan if not (units / unit.file).exists()]
    each = 1 if get_game(config.game).cooperative else config.players
    total = each * sum(unit.deals for unit in plan)
    done = total - each * sum(unit.deals for unit in missing)
    names = list(config.agents)
    won, played = np.zeros(len(names)), np.zeros(len(names))
    for unit, sums in _play_units(config, units, missing):
        won[list(unit.agents)] += sums
        played[list(unit.agents)] += each * unit.deals
        done += each * unit.deals
        if progress:
            mean = np.divide(won, played, out=np.full(len(names), -np.inf), where=played > 0)
            best = int(np.argmax(mean))
            progress(done, total, f"ahead: {names[best]} {mean[best]:.2f} a game")


def _play_units(config: TournamentConfig, folder: Path, units: Sequence[Unit]) -> Iterator[tuple[Unit, NDArray[np.float64]]]:
    """Play units in this process or in several, and yield each with its result as it is finished."""
    workers = min(config.workers, len(units))
    if workers <= 1:
        player = Player(config, folder)
        for unit in units:
            yield unit, player.play(unit)
        return
    with worker_pool(workers, _start_worker, config, folder) as pool:
        running = {pool.submit(_play_in_worker, unit): unit for unit in units}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool:
            raise DeckhandError(f"a worker process ended before its work was done; resume the run folder {folder.parent}") from None


@dataclass(frozen=True)
class Games:
    """All games of a tournament."""

    agents: NDArray[np.int64]
    """Who sat where, (games, seats): places in the configuration."""
    deals: NDArray[np.int64]
    """(games,)."""
    outcomes: Outcomes
    """Without the game's own figures."""
    seconds: float
    """Of playing, sum over the processes."""


def load_games(config: TournamentConfig, folder: Path) -> Games:
    """The games of a finished tournament; :class:`RecordError` names the file that is missing or damaged."""
    parts: list[dict[str, NDArray[Any]]] = []
    each = 1 if get_game(config.game).cooperative else config.players
    for unit in plan_units(config):
        path = folder / "units" / unit.file
        try:
            with np.load(path) as file:
                part = {name: file[name] for name in ("agents", "deals", *OUTCOMES, "seconds")}
            _check_unit(unit, part, each, config.players)
        except (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise RecordError(f"{path} is missing or damaged ({error}); delete it and resume, and it is played again") from None
        parts.append(part)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in ("agents", "deals", *OUTCOMES)}
    outcomes = Outcomes(**{name: joined[name] for name in OUTCOMES}, extra={}, statistics={})
    return Games(joined["agents"], joined["deals"], outcomes, float(sum(part["seconds"] for part in parts)))


def _check_unit(unit: Unit, part: dict[str, NDArray[Any]], each: int, seats: int) -> None:
    """``ValueError`` unless ``part`` can hold the games of a unit, ``each`` a deal."""
    games = each * unit.deals
    shapes = {"deals": (games,), "truncated": (games,), "decisions": (games,), "seconds": ()}
    kinds = {"agents": "iu", "winners": "b", "truncated": "b"}
    for name, array in part.items():
        if array.shape != shapes.get(name, (games, seats)) or array.dtype.kind not in kinds.get(name, "iuf"):
            raise ValueError(f"{name} is {array.dtype} {array.shape}")
    wanted = np.repeat(np.arange(unit.first, unit.first + unit.deals), each)
    if not np.isin(part["agents"], unit.agents).all() or not np.array_equal(part["deals"], wanted):
        raise ValueError("it holds other agents or deals")


def describe_agents(config: TournamentConfig) -> list[dict[str, Any]]:
    """What took part: ``name``, ``agent`` (as the configuration has it) and for trained policies the ``sha256`` of the weights."""
    agents = {name: make_agent(config.game, spec) for name, spec in config.agents.items()}
    return [{"name": name, "agent": config.agents[name], "sha256": _digest(agent)} for name, agent in agents.items()]


def _digest(agent: Agent) -> str | None:
    return agent.card.weights_sha256 if isinstance(agent, (PolicyAgent, ValueAgent)) and agent.card else None


def _check_agents(config: TournamentConfig, folder: Path) -> None:
    path, now = folder / "agents.json", describe_agents(config)
    if not path.exists():
        write_json(path, now)
        return
    before = read_json(path)
    agents = [(old.get("name"), old.get("agent")) for old in before if isinstance(old, dict)] if isinstance(before, list) else None
    if agents != [(new["name"], new["agent"]) for new in now]:
        raise RecordError(f"{path} is damaged: it does not name the agents of config.yaml")
    for old, new in zip(before, now, strict=True):
        if old != new:
            told = old.get("sha256")
            raise RecordError(f"{folder} was begun with other weights of {new['name']!r}: SHA-256 {told}, now {new['sha256']}")
