"""Honest evaluation: luck of the deal and of the seat do not decide, and every figure has its interval.

*Competitive games.* A block is one deal played once with each seating of its players: with every distinct arrangement of them over the
seats where these are few (``AFFORDABLE``), else with every rotation of the table, in which the agent has every seat in turn and the
opponents follow clockwise. Two copies of a deterministic agent therefore score exactly equal over a block. Blocks are independent, games
within one are not: intervals come from a bootstrap over whole blocks.

*Cooperative games.* Agent and opponents (baselines) each play the same deals alone, in all seats. What counts is the difference on the
same deal to the first baseline, bootstrapped over deals; proportions have Wilson's interval.

*Deals.* Deal ``k`` of an evaluation with seed ``s`` is the game seed ``derive_seed(s, EVALUATION_STREAM + k)``. The public deal sets
``dev`` (to develop and choose by) and ``test`` (to report) have streams of their own: no seed leads to them. Training and simulation
derive their seeds with indexes counted from 0, so no deal of an evaluation is among theirs, whatever the seeds (but for a chance of 2**-53
a pair of games).

*Work* is cut into units, some deals with all their seatings, where an agent wants few games side by side, as searches do. Agents start
their own randomness anew with every unit, from seeds that follow from ``seed`` and the unit's first game. A unit's size follows from the
agents, so the number of processes that play changes no result (searches with a budget of time excepted). The games of all other agents
are one unit: they are fast, and what a network answers depends by a rounding on how many turns it is shown together.

*Stopping early.* With ``until_ci`` an evaluation ends when the 95 % interval of its main figure (:attr:`Evaluation.main`) is so narrow. It
looks after ``FIRST_LOOK`` blocks and then whenever their number has grown by ``LOOK_GROWTH``, and keeps whole blocks only. The rule asks
how wide the interval is, never where it lies, so it cannot stop because an agent happens to be ahead; the interval is the ordinary one of
the blocks played. Such fixed-width intervals hold their level the better the narrower they are (Chow and Robbins 1965, Annals of
Mathematical Statistics 36); the size of the first look keeps a lucky small spread from ending the game. In 10,000 simulated
evaluations each to ±0.03 and to ±0.01, the intervals of shares from 0.5 to 0.9 covered the truth 95 times of 100, those of 0.97 93 times.
"""

import csv
import io
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import ceil, factorial, isfinite, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents import make_agent
from ..envs.core import Game, OptionError, get_game
from ..envs.core.agent import Agent
from ..envs.core.options import Options, check_seed
from ..envs.core.rng import derive_seed
from .progress import Report
from .simulation import Outcomes, check_count, play_games
from .statistics import CONFIDENCE, QUANTILES, Figure, Z, bootstrap, quantiles, rates, share, table_text, wilson
from .tables import Grid
from .versions import versions
from .workers import results_in_order, worker_pool

EVALUATION_STREAM = 2**40
DEAL_SETS = {"dev": 2**42, "test": 2**43}
"""The public deal sets: deal ``k`` is the game seed ``derive_seed(0, DEAL_SETS[name] + k)``."""
AFFORDABLE = 24
"""So many arrangements are played where the seating is left to ``auto``: all of four players."""
UNIT_ROUNDS = 4
"""A unit of slow agents has so many times the games that they play side by side."""
FIRST_LOOK = 400
LOOK_GROWTH = 1.25

SEATINGS = ("auto", "rotations", "permutations")


@dataclass(frozen=True)
class Row:
    """The figures of one agent, or of a difference."""

    agent: str
    role: str
    """``agent``, ``opponent``, ``baseline`` or ``difference``."""
    figures: dict[str, Figure]
    """Competitive: ``win_share``, ``return``, ``score``. Cooperative: ``win_rate``, ``score``, ``return`` and the game's own by name."""
    quantiles: dict[str, dict[str, float]]
    """Of the figures that are means over a cooperative game's deals."""

    def to_json(self) -> dict[str, Any]:
        """Agent, role, and each figure with its quantiles where it has any."""
        figures = {name: figure.to_json() | self._quantiles(name) for name, figure in self.figures.items()}
        return {"agent": self.agent, "role": self.role, **figures}

    def _quantiles(self, name: str) -> dict[str, Any]:
        return {"quantiles": self.quantiles[name]} if name in self.quantiles else {}


@dataclass(frozen=True)
class Counts:
    """The game's own statistics (``Game.statistics``) of one agent."""

    means: dict[str, Figure]
    """Per game: of the whole game, or of a seat that the agent had."""
    rates: dict[str, Figure | None]
    """Over all games and seats of the agent; None without a trial."""

    def to_json(self) -> dict[str, Any]:
        """``{"means", "rates"}``."""
        return {
            "means": {name: figure.to_json() for name, figure in self.means.items()},
            "rates": {name: figure and figure.to_json() for name, figure in self.rates.items()},
        }

    def texts(self) -> dict[str, str]:
        """Every figure for people."""
        means = {name: figure.text() for name, figure in self.means.items()}
        return means | {name: figure.text(percent=True) if figure else "-" for name, figure in self.rates.items()}


@dataclass(frozen=True)
class Stopping:
    """How an evaluation with ``until_ci`` ended."""

    until_ci: float
    """Half width of the main figure's interval to stop at."""
    max_deals: int
    looks: int
    reached: bool
    """False where ``max_deals`` were not enough."""

    def to_json(self) -> dict[str, Any]:
        """``{"until_ci", "max_deals", "looks", "reached"}``."""
        return {"until_ci": self.until_ci, "max_deals": self.max_deals, "looks": self.looks, "reached": self.reached}


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate` found."""

    game: Game
    num_players: int
    options: Options
    seating: str | None
    """``rotations`` or ``permutations``; None for cooperative games."""
    seatings: int
    """Games a deal."""
    deals: int
    deal_set: str | None
    """The public deal set; None where the deals follow from ``seed``."""
    seed: int
    stopping: Stopping | None
    """None where the number of deals was given."""
    rows: list[Row]
    """The agent first, then the opponents or baselines in their order."""
    by_seat: list[Figure]
    """Win share of the agent in each seat; empty for cooperative games."""
    difference: list[Row]
    """Competitive: one row, the agent minus the opponents in the same seat of the same deals. Cooperative: each other agent minus the
    first baseline on the same deals."""
    variance_reduction: dict[str, float]
    """By figure of the agent: how many times more games with random deals and seats would give an interval as narrow (for differences of
    cooperative games: unpaired deals). Infinite figures are left out."""
    statistics: list[Counts]
    """One an agent, in the order of :attr:`rows`."""
    games: int
    decisions: int
    truncated: int
    seconds: float

    @property
    def main(self) -> Figure:
        """The figure that decides: the agent's win share, or its mean score in cooperative games."""
        return self.rows[0].figures["score" if self.game.cooperative else "win_share"]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON (``deckhand/evaluation/1``).

        A figure is ``{"mean", "low", "high"}`` with a 95 % interval; in cooperative games means have ``quantiles`` as well, an object from
        per cents to values. ``figures``: one object an agent with ``agent``, ``role`` and its figures (a win shared by k counts 1/k).
        ``by_seat``: the agent's win share in each seat. ``difference``: figures of the agent minus those of the opponents in the same seat
        of the same deals; in cooperative games minus those of the first baseline on the same deals. ``variance_reduction``: how many times
        more games the unpaired design would need. ``statistics``: one object an agent with the game's own counts, ``means`` per game (or
        per game and seat of the agent) and ``rates`` over all its games, bootstrapped over deals, null without any trial. ``seating``:
        ``rotations`` or ``permutations`` of the players over the seats, null for cooperative games; ``seatings``: games a deal.
        ``deal_set``: ``dev``, ``test`` or null; ``deal_seeds``: how game seeds follow from it or from ``seed``. ``stopping``: how an
        evaluation with ``until_ci`` ended (``until_ci``, ``max_deals``, ``looks``, ``reached``), else null.
        """
        base, stream = _deal_stream(self.seed, self.deal_set)
        return {
            "schema": "deckhand/evaluation/1",
            "game": self.game.id,
            "players": self.num_players,
            "options": self.options.model_dump(),
            "agents": [row.agent for row in self.rows],
            "protocol": f"seat {self.seating} on the same deals" if self.seating else "paired deals",
            "confidence": CONFIDENCE,
            "seating": self.seating,
            "seatings": self.seatings,
            "deal_set": self.deal_set,
            "seed": self.seed,
            "deal_seeds": f"derive_seed({base}, {stream} + k), k = 0 .. deals - 1",
            "deals": self.deals,
            "stopping": self.stopping and self.stopping.to_json(),
            "games": self.games,
            "decisions": self.decisions,
            "truncated": self.truncated,
            "figures": [row.to_json() for row in self.rows],
            "by_seat": [figure.to_json() for figure in self.by_seat],
            "difference": [row.to_json() for row in self.difference],
            "variance_reduction": self.variance_reduction,
            "statistics": [
                {"agent": row.agent, "role": row.role, **counts.to_json()} for row, counts in zip(self.rows, self.statistics, strict=True)
            ],
            "versions": versions(),
            "seconds": self.seconds,
        }

    def grids(self) -> list[Grid]:
        """The report as tables."""
        chosen = ", ".join(f"{k}={v}" for k, v in self.options.model_dump().items())
        setting = f"{self.game.id}, {self.num_players} players; {chosen}"
        games = f"{self.games:,} games, seat {self.seating}" if self.seating else "each agent on every deal"
        deals = f"deal set {self.deal_set}" if self.deal_set else f"seed {self.seed}"
        grids = [_grid(f"{setting}\n{self.deals:,} deals, {games}, {deals}; 95 % intervals", self.rows)]
        spread = [(f"{row.agent}: {name}", table_text(values)) for row in self.rows for name, values in row.quantiles.items()]
        if spread:
            grids.append(Grid("over the deals", ("", "5/25/50/75/95 %"), spread))
        if self.by_seat:
            cells = [(f"player {seat}", figure.text(percent=True)) for seat, figure in enumerate(self.by_seat)]
            grids.append(Grid(f"{self.rows[0].agent} by seat (fair share {100 / self.num_players:.1f} %)", ("", "win share"), cells))
        if self.difference:
            grids.append(
                _grid("paired difference on the same deals" + ("" if self.game.cooperative else ": agent - opponents"), self.difference)
            )
        texts = [found.texts() for found in self.statistics]
        if texts[0]:
            counts = [[name.replace("_", " "), *(text[name] for text in texts)] for name in texts[0]]
            grids.append(Grid("per game, or per game and seat; rates over all games", ("", *(row.agent for row in self.rows)), counts))
        return grids

    def to_markdown(self) -> str:
        """The report as Markdown."""
        return "\n".join(grid.to_markdown() for grid in self.grids())

    def to_csv(self) -> str:
        """The report as CSV, one line a figure under a line with the names of the columns.

        ``game``, ``players``, ``options`` (JSON), ``seating``, ``deal_set``, ``seed``, ``deals`` and ``games`` are the same in every line;
        ``table`` is the part of the JSON report (``figures``, ``by_seat``, ``difference``, ``statistics``), ``agent`` and ``role`` say
        whose figure it is, ``figure`` its name, ``seat`` the seat in ``by_seat``; then ``mean``, ``low``, ``high``, and where there are any
        ``variance_reduction`` and the quantiles ``q0`` .. ``q100``. What does not apply is empty.
        """
        setting = (self.game.id, self.num_players, json.dumps(self.options.model_dump()), self.seating, self.deal_set, self.seed)
        lines: list[Sequence[Any]] = []

        def add(table: str, row: Row, name: str, figure: Figure | None, seat: int | None = None, factor: float | None = None) -> None:
            cells = (figure.mean, figure.low, figure.high) if figure else (None, None, None)
            spread = row.quantiles.get(name, {}) if table == "figures" else {}
            lines.append(
                (
                    *(*setting, self.deals, self.games, table, row.agent, row.role, name, seat, *cells, factor),
                    *(spread.get(str(q)) for q in QUANTILES),
                )
            )

        reduced = self.difference[0] if self.game.cooperative and self.difference else self.rows[0]
        for table, rows in (("figures", self.rows), ("difference", self.difference)):
            for row in rows:
                for name, figure in row.figures.items():
                    add(table, row, name, figure, factor=self.variance_reduction.get(name) if row is reduced else None)
        for seat, figure in enumerate(self.by_seat):
            add("by_seat", self.rows[0], "win_share", figure, seat)
        for row, counts in zip(self.rows, self.statistics, strict=True):
            for name, found in (counts.means | counts.rates).items():
                add("statistics", row, name, found)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        writer.writerows(lines)
        return text.getvalue()


CSV_COLUMNS = (
    *("game", "players", "options", "seating", "deal_set", "seed", "deals", "games", "table", "agent", "role", "figure", "seat"),
    *("mean", "low", "high", "variance_reduction", *(f"q{q}" for q in QUANTILES)),
)
"""The columns of :meth:`Evaluation.to_csv`."""


def evaluate(
    game: Game,
    agent: Agent | str,
    opponents: Sequence[Agent | str],
    *,
    num_players: int,
    options: Mapping[str, Any] | Options,
    deals: int,
    seed: int,
    progress: Report | None = None,
    deal_set: str | None = None,
    seating: str = "auto",
    until_ci: float | None = None,
    workers: int = 1,
) -> Evaluation:
    """Measure ``agent`` against ``opponents`` (competitive games) or beside them (cooperative games), as described in this module's text.

    Competitive games need 1 to ``num_players - 1`` opponents: the seats left of the agent take them in order, again from the first when
    they run out. ``deals`` is 2 at least; with ``until_ci``, the half width of the main figure's interval to stop at, the most to play.
    ``seed`` names the deals and starts the agents' own randomness; with a ``deal_set`` the latter only. ``progress`` is told how far the
    games are, with the running estimate and its interval.

    ``workers`` is the number of processes that play; it changes no result, except where agents think for a time. One process is this one,
    which also plays alone where no agent is slow; several make the agents themselves, so that all must be named by texts
    (:func:`deckhand.agents.make_agent`) and the game be registered. They are spawned: the calling script needs ``if __name__ ==
    "__main__":``. :class:`DeckhandError` if one of them ends early.
    """
    started = time.perf_counter()
    n = game.check_players(num_players)
    options = game.parse_options(options)
    named = [agent, *opponents]
    agents = [make_agent(game, a) if isinstance(a, str) else a for a in named]
    specs = tuple(a for a in named if isinstance(a, str))
    if workers < 1:
        raise OptionError(f"workers cannot be {workers}: it is a number of processes, 1 at least")
    if workers > 1 and len(specs) < len(agents):
        given = next(a.name for a in named if not isinstance(a, str))
        raise OptionError(f"workers cannot be {workers}: only agents named by texts play in other processes, not the object {given!r}")
    if until_ci is not None and not (until_ci > 0 and isfinite(until_ci)):
        raise OptionError(f"until_ci cannot be {until_ci}: it is half the width of an interval, more than 0")
    seeds = deal_seeds(check_count("deals", deals), check_seed(seed), deal_set)
    if seating not in SEATINGS:
        raise OptionError(f"seating cannot be {seating!r}; allowed are: {', '.join(SEATINGS)}")
    played: str | None = None
    if game.cooperative:
        if seating != "auto":
            raise OptionError(f"{game.name}: seating cannot be {seating!r}: in a cooperative game an agent has all the seats")
        pattern = np.repeat(np.arange(len(agents)), n).reshape(len(agents), n)
    else:
        if not 1 <= len(opponents) < n:
            raise OptionError(f"{game.name}: {n} players need 1 to {n - 1} opponents, not {len(opponents)}")
        played, pattern = arrange(n, len(opponents), seating)
    units = _cut(agents, pattern, options, seeds, seed)
    outcomes, stopping = _play(game, agents, specs, units, workers, until_ci, progress)
    rows, by_seat, difference, reduction = (_cooperative if game.cooperative else _competitive)(agents, pattern, outcomes)
    return Evaluation(
        game=game,
        num_players=n,
        options=options,
        seating=played,
        seatings=len(pattern),
        deals=len(outcomes.scores) // len(pattern),
        deal_set=deal_set,
        seed=seed,
        stopping=stopping,
        rows=rows,
        by_seat=by_seat,
        difference=difference,
        variance_reduction=reduction,
        statistics=_count(outcomes, [pattern == j for j in range(len(agents))]),
        games=len(outcomes.scores),
        decisions=int(outcomes.decisions.sum()),
        truncated=int(outcomes.truncated.sum()),
        seconds=time.perf_counter() - started,
    )


def deal_seeds(deals: int, seed: int, deal_set: str | None = None) -> list[int]:
    """The game seeds of the first deals of a public deal set, or of those that ``seed`` names; :class:`OptionError` for an unknown set."""
    base, stream = _deal_stream(seed, deal_set)
    return [int(derive_seed(base, stream + k)) for k in range(deals)]


def _deal_stream(seed: int, deal_set: str | None) -> tuple[int, int]:
    if deal_set is None:
        return seed, EVALUATION_STREAM
    if deal_set not in DEAL_SETS:
        raise OptionError(f"deal_set cannot be {deal_set!r}; the deal sets are: {', '.join(DEAL_SETS)}")
    return 0, DEAL_SETS[deal_set]


def arrange(n: int, opponents: int, seating: str = "auto") -> tuple[str, NDArray[np.int64]]:
    """Who sits where in the games of a block, int64 (games, seats): 0 is the agent, which sits once a game, 1 .. the opponents.

    In rotation ``r`` the agent has seat ``r`` and the opponents follow clockwise, again from the first when they run out. The permutations
    are all different arrangements of the same players; ``auto`` takes them where there are ``AFFORDABLE`` of them at most.
    """
    players = [0, *(1 + j % opponents for j in range(n - 1))]
    count = factorial(n) // prod(factorial(players.count(j)) for j in range(1 + opponents))
    # With one opponent the rotations are all arrangements.
    if seating == "rotations" or (seating == "auto" and (opponents == 1 or count > AFFORDABLE)):
        return "rotations", np.array([np.roll(players, r) for r in range(n)], np.int64)
    return "permutations", np.array(sorted(set(permutations(players))), np.int64)


@dataclass(frozen=True)
class _Unit:
    """The part of the work that is played as a whole, in this process or in another."""

    pattern: NDArray[np.int64]
    options: dict[str, Any]
    deals: Sequence[int]
    """Their game seeds."""
    first: int
    """The number of its first game."""
    seed: int

    def play(self, game: Game, agents: Sequence[Agent], tell: Callable[[int], None] | None = None) -> Iterator[Outcomes]:
        """Every deal with every seating, deal by deal; ``tell`` is told the number of finished games, those before the unit as well."""
        return play_games(
            game,
            agents,
            np.tile(self.pattern, (len(self.deals), 1)),
            options=self.options,
            seeds=[deal for deal in self.deals for _ in self.pattern],
            seed=self.seed,
            first=self.first,
            progress=tell and (lambda finished: tell(self.first + finished)),
        )


def _cut(agents: Sequence[Agent], pattern: NDArray[np.int64], options: Options, seeds: Sequence[int], seed: int) -> list[_Unit]:
    """All the work."""
    width = min(agent.games_at_once for agent in agents)
    deals = len(seeds) if width >= Agent.games_at_once else max(1, UNIT_ROUNDS * width // len(pattern))
    return [
        _Unit(pattern, options.model_dump(), seeds[first : first + deals], first * len(pattern), seed)
        for first in range(0, len(seeds), deals)
    ]


def _play_units(
    game: Game,
    agents: Sequence[Agent],
    specs: tuple[str, ...],
    units: Sequence[_Unit],
    workers: int,
    tell: Callable[[int], None],
) -> Generator[Outcomes]:
    """The outcomes of all games in order. Whoever closes the iterator ends the processes."""
    if min(workers, len(units)) <= 1:
        for unit in units:
            yield from unit.play(game, agents, tell)
        return
    with worker_pool(min(workers, len(units))) as pool:
        yield from results_in_order(pool, _play_in_worker, ((game.name, specs, unit) for unit in units))


def _play_in_worker(name: str, specs: tuple[str, ...], unit: _Unit) -> Outcomes:
    return Outcomes.join(list(unit.play(get_game(name), _make_agents(name, specs))))


@cache
def _make_agents(name: str, specs: tuple[str, ...]) -> list[Agent]:
    """Of a worker process."""
    return [make_agent(name, spec) for spec in specs]


def _play(
    game: Game,
    agents: Sequence[Agent],
    specs: tuple[str, ...],
    units: Sequence[_Unit],
    workers: int,
    until_ci: float | None,
    progress: Report | None,
) -> tuple[Outcomes, Stopping | None]:
    """Every deal with every seating of the units, or with ``until_ci`` as many as are needed."""
    pattern = units[0].pattern
    size = len(pattern)
    deals = sum(len(unit.deals) for unit in units)
    own = pattern == 0
    main = np.empty(deals * size)
    looks = _looks(deals) if until_ci else [deals]
    looked, done, estimate, expected = 0, 0, "", len(main)
    parts: list[Outcomes] = []

    def blocks(count: int) -> NDArray[np.float64]:
        values = main[: count * size].reshape(count, size)
        return values[:, 0] if game.cooperative else values.mean(axis=1)

    def tell(finished: int) -> None:
        if progress:
            progress(finished, max(finished, expected), estimate)

    with closing(_play_units(game, agents, specs, units, workers, tell)) as found:
        for part in found:
            parts.append(part)
            count = len(part.scores)
            mine = own[np.arange(done, done + count) % size]
            main[done : done + count] = part.scores.mean(axis=1) if game.cooperative else part.win_shares()[mine]
            done += count
            if done >= 2 * size:
                values = blocks(done // size)
                half = Z * values.std(ddof=1) / sqrt(len(values))
                mean = values.mean()
                estimate = f"score {mean:.2f}" if game.cooperative else f"win share {100 * mean:.1f} %"
                if half > 0:
                    estimate += f" ± {half:.2f}" if game.cooperative else f" ± {100 * half:.1f}"
                if until_ci:
                    expected = size * next((look for look in looks if look >= len(values) * (half / until_ci) ** 2), deals)
            tell(done)
            while until_ci and looked < len(looks) and done >= size * looks[looked]:
                look = looks[looked]
                looked += 1
                if _half_width(blocks(look), until_ci, game.cooperative) <= until_ci:
                    return Outcomes.join(parts).first(look * size), Stopping(until_ci, deals, looked, True)
    return Outcomes.join(parts), Stopping(until_ci, deals, looked, False) if until_ci else None


def _looks(deals: int) -> list[int]:
    """After how many blocks an evaluation that stops by itself looks at its interval."""
    looks = []
    look = FIRST_LOOK
    while look < deals:
        looks.append(look)
        look = ceil(look * LOOK_GROWTH)
    return [*looks, deals]


def _half_width(values: NDArray[np.float64], enough: float, cooperative: bool) -> float:
    """Half the width of the interval that the main figure will be reported with, or what normal theory says where that is far too wide."""
    half = Z * float(values.std(ddof=1)) / sqrt(len(values))
    if half > 1.2 * enough:
        return half
    (figure,) = bootstrap(values[:, None])
    if not cooperative:
        figure = share(values, figure)
    return (figure.high - figure.low) / 2


Report4 = tuple[list[Row], list[Figure], list[Row], dict[str, float]]


def _competitive(agents: Sequence[Agent], pattern: NDArray[np.int64], outcomes: Outcomes) -> Report4:
    n = pattern.shape[1]
    own = pattern == 0
    values = {
        name: array.reshape(-1, *pattern.shape).astype(np.float64)  # (deals, seatings, seats)
        for name, array in (("win_share", outcomes.win_shares()), ("return", outcomes.returns), ("score", outcomes.scores))
    }
    # (deals, columns): every figure as one number a block, so that one bootstrap serves them all.
    columns: list[NDArray[np.float64]] = []
    for value in values.values():
        columns += [value[:, pattern == j].mean(axis=1) for j in range(len(agents))]
        columns.append(_advantage(value, own))
    columns += [values["win_share"][:, own[:, seat], seat].mean(axis=1) for seat in range(n)]
    figures = bootstrap(np.stack(columns, axis=1))
    width = len(agents) + 1
    table = [{name: figures[i * width + j] for i, name in enumerate(values)} for j in range(width)]
    for j in range(len(agents)):
        table[j]["win_share"] = share(columns[j], figures[j])
    if np.all(np.abs(columns[len(agents)]) == 1):  # won or lost everything: no blinder here than in the win share
        certain = wilson(int((columns[len(agents)] > 0).sum()), len(columns[0]))
        table[-1]["win_share"] = Figure(2 * certain.mean - 1, 2 * certain.low - 1, 2 * certain.high - 1)
    by_seat = [share(columns[j - n], figures[j - n]) for j in range(n)]
    rows = [Row(a.name, "opponent" if j else "agent", table[j], {}) for j, a in enumerate(agents)]
    reduction = {}
    for name, value in values.items():
        mine = value[:, own]  # (deals, seatings): the agent has one seat a game
        factor = _reduction(mine.var(ddof=1) / len(pattern), mine.mean(axis=1).var(ddof=1))
        if factor is not None:
            reduction[name] = factor
    return rows, by_seat, [Row("difference", "difference", table[-1], {})], reduction


def _advantage(value: NDArray[np.float64], own: NDArray[np.bool_]) -> NDArray[np.float64]:
    """By block, what the agent got more than the opponents in the same seat, mean over seats.

    ``value`` is (deals, seatings, seats), ``own`` (seatings, seats) says where the agent sits. Subtracting what the seat got in the first
    seating before adding up makes it exactly 0 for equal games.
    """
    value = value - value[:, :1]
    gains = [value[:, own[:, seat], seat].mean(axis=1) - value[:, ~own[:, seat], seat].mean(axis=1) for seat in range(own.shape[1])]
    return np.asarray(np.mean(gains, axis=0))


def _cooperative(agents: Sequence[Agent], pattern: NDArray[np.int64], outcomes: Outcomes) -> Report4:
    k = len(agents)
    measured = {"score": outcomes.scores.mean(axis=1), "return": outcomes.returns.mean(axis=1), **outcomes.extra}
    names = [*measured]
    values = np.stack([measured[name].reshape(-1, k).astype(np.float64) for name in names], axis=2)  # (deals, agents, figures)
    won = outcomes.winners.any(axis=1).reshape(-1, k)
    means = bootstrap(values.reshape(len(values), -1))
    rows = []
    for j, agent in enumerate(agents):
        figures = {"win_rate": wilson(int(won[:, j].sum()), len(won))}
        spread = {}
        for i, name in enumerate(names):
            figures[name] = means[j * len(names) + i]
            spread[name] = quantiles(values[:, j, i])
            if measured[name].dtype == bool:
                figures[name] = wilson(int(values[:, j, i].sum()), len(values))
                del spread[name]
        rows.append(Row(agent.name, "baseline" if j else "agent", figures, spread))
    difference: list[Row] = []
    reduction: dict[str, float] = {}
    names = ["win_rate", *names]
    values = np.concatenate([won[:, :, None], values], axis=2)
    for j in range(k):
        if k == 1 or j == 1:
            continue
        paired = values[:, j] - values[:, 1]
        found = dict(zip(names, bootstrap(paired), strict=True))
        difference.append(Row(f"{agents[j].name} - {agents[1].name}", "difference", found, {}))
        if j == 0:
            for i, name in enumerate(names):
                factor = _reduction(values[:, 0, i].var(ddof=1) + values[:, 1, i].var(ddof=1), paired[:, i].var(ddof=1))
                if factor is not None:
                    reduction[name] = factor
    return rows, [], difference, reduction


def _count(outcomes: Outcomes, seats: Sequence[NDArray[np.bool_]]) -> list[Counts]:
    """The statistics of the agents that have the ``seats`` (seatings, seats) of every deal."""
    means: list[NDArray[np.float64]] = []
    hits: list[NDArray[np.float64]] = []
    tries: list[NDArray[np.float64]] = []
    for own in seats:
        for values in outcomes.statistics.values():
            deals = values.reshape(-1, len(own), *values.shape[1:])
            if values.ndim == 3:
                hits.append(deals[:, own, 0].sum(axis=1))
                tries.append(deals[:, own, 1].sum(axis=1))
            else:
                means.append((deals[:, own] if values.ndim == 2 else deals[:, own.any(axis=1)]).mean(axis=1))
    # All agents at once: the same deals are drawn for each.
    figures = iter(bootstrap(np.stack(means, axis=1)) if means else ())
    shares = iter(rates(np.stack(hits, axis=1), np.stack(tries, axis=1)) if hits else ())
    return [
        Counts(
            {name: next(figures) for name, values in outcomes.statistics.items() if values.ndim < 3},
            {name: next(shares) for name, values in outcomes.statistics.items() if values.ndim == 3},
        )
        for _ in seats
    ]


def _reduction(unpaired: float, paired: float) -> float | None:
    """Ratio of two variances of one estimate; None where the pairing leaves nothing but rounding."""
    return float(unpaired / paired) if paired > 1e-12 * unpaired else None


def _grid(title: str, rows: Sequence[Row]) -> Grid:
    header = [""]
    cells: list[list[str]] = [[row.agent] for row in rows]
    for name in rows[0].figures:
        header.append(name.replace("_", " "))
        for line, row in zip(cells, rows, strict=True):
            line.append(row.figures[name].text(percent=name in ("win_share", "win_rate")))
    return Grid(title, header, cells)
