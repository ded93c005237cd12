"""Honest evaluation: luck of the deal and of the seat do not decide, and every figure has its interval.

*Competitive games.* A block is one deal played once a seat: the agent sits in every seat in turn, the opponents fill the other seats
clockwise. Two copies of a deterministic agent therefore score exactly equal over a block. Blocks are independent, games within one are
not: intervals come from a bootstrap over whole blocks.

*Cooperative games.* Agent and opponents (baselines) each play the same deals alone, in all seats. What counts is the difference on the
same deal to the first baseline, bootstrapped over deals.

Deal ``k`` of an evaluation with seed ``s`` is the game seed ``derive_seed(s, EVALUATION_STREAM + k)``. Training and simulation derive their
seeds with indexes counted from 0, so no evaluation deal is among theirs, whatever the seeds (but for a chance of 2**-53 a pair of games).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game, OptionError
from ..envs.core.agent import Agent
from ..envs.core.options import Options, check_seed
from ..envs.core.rng import derive_seed
from .progress import Report
from .simulation import Outcomes, check_count, play_games
from .statistics import CONFIDENCE, Figure, bootstrap, quantiles, rates, share, table_text, wilson
from .tables import Grid
from .versions import versions

EVALUATION_STREAM = 2**40


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
class Evaluation:
    """What :func:`evaluate` found."""

    game: Game
    num_players: int
    options: Options
    deals: int
    seed: int
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
        per game and seat of the agent) and ``rates`` over all its games, bootstrapped over deals, null without any trial. ``deal_seeds``:
        how game seeds follow from ``seed``.
        """
        return {
            "schema": "deckhand/evaluation/1",
            "game": self.game.id,
            "players": self.num_players,
            "options": self.options.model_dump(),
            "agents": [row.agent for row in self.rows],
            "protocol": "paired deals" if self.game.cooperative else "seat rotation on the same deals",
            "confidence": CONFIDENCE,
            "seed": self.seed,
            "deal_seeds": f"derive_seed(seed, {EVALUATION_STREAM} + k), k = 0 .. deals - 1",
            "deals": self.deals,
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
        what = f"{self.deals:,} deals, " + ("each agent on every deal" if self.game.cooperative else f"{self.games:,} games, seats rotated")
        grids = [_grid(f"{setting}\n{what}, seed {self.seed}; 95 % intervals", self.rows)]
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


def evaluate(
    game: Game,
    agent: Agent,
    opponents: Sequence[Agent],
    *,
    num_players: int,
    options: Mapping[str, Any] | Options,
    deals: int,
    seed: int,
    progress: Report | None = None,
) -> Evaluation:
    """Measure ``agent`` against ``opponents`` (competitive games) or beside them (cooperative games), as described in this module's text.

    Competitive games need 1 to ``num_players - 1`` opponents: the seats left of the agent take them in order, again from the first when
    they run out. ``deals`` is 2 at least. ``progress`` is told how far the games are, with the running estimate.
    """
    started = time.perf_counter()
    n = game.check_players(num_players)
    options = game.parse_options(options)
    agents = [agent, *opponents]
    seeds = [int(derive_seed(check_seed(seed), EVALUATION_STREAM + k)) for k in range(check_count("deals", deals))]
    if game.cooperative:
        pattern = np.repeat(np.arange(len(agents)), n).reshape(len(agents), n)
    else:
        if not 1 <= len(opponents) < n:
            raise OptionError(f"{game.name}: {n} players need 1 to {n - 1} opponents, not {len(opponents)}")
        pattern = _rotations(n, len(opponents))
    outcomes = _play(game, agents, pattern, options, seeds, seed, progress)
    rows, by_seat, difference, reduction = (_cooperative if game.cooperative else _competitive)(agents, pattern, outcomes)
    return Evaluation(
        game=game,
        num_players=n,
        options=options,
        deals=deals,
        seed=seed,
        rows=rows,
        by_seat=by_seat,
        difference=difference,
        variance_reduction=reduction,
        statistics=[_count(outcomes, pattern == j) for j in range(len(agents))],
        games=len(outcomes.scores),
        decisions=int(outcomes.decisions.sum()),
        truncated=int(outcomes.truncated.sum()),
        seconds=time.perf_counter() - started,
    )


def _rotations(n: int, opponents: int) -> NDArray[np.int64]:
    """Who sits where, (rotations, seats): in rotation r the agent (0) has seat r, the opponents (1 ..) follow clockwise."""
    seating = np.zeros((n, n), np.int64)
    for r in range(n):
        for j in range(1, n):
            seating[r, (r + j) % n] = 1 + (j - 1) % opponents
    return seating


def _play(
    game: Game,
    agents: Sequence[Agent],
    pattern: NDArray[np.int64],
    options: Options,
    seeds: Sequence[int],
    seed: int,
    progress: Report | None,
) -> Outcomes:
    """Every deal with every seating of ``pattern``, deal by deal."""
    games = len(seeds) * len(pattern)
    seating = np.tile(pattern, (len(seeds), 1))
    game_seeds = [s for s in seeds for _ in pattern]
    own = seating[:, 0] == 0 if game.cooperative else seating == 0
    parts: list[Outcomes] = []
    total, done = 0.0, 0
    for part in play_games(game, agents, seating, options=options, seeds=game_seeds, seed=seed):
        parts.append(part)
        mine = own[done : done + len(part.scores)]
        done += len(part.scores)
        total += float(part.scores[mine].mean(axis=1).sum() if game.cooperative else part.win_shares()[mine].sum())
        if progress:
            mean = total / max(int(own[:done].sum()), 1)
            progress(done, games, f"score {mean:.2f}" if game.cooperative else f"win share {100 * mean:.1f} %")
    return Outcomes.join(parts)


Report4 = tuple[list[Row], list[Figure], list[Row], dict[str, float]]


def _competitive(agents: Sequence[Agent], pattern: NDArray[np.int64], outcomes: Outcomes) -> Report4:
    n = len(pattern)
    values = {
        name: array.reshape(-1, n, n).astype(np.float64)  # (deals, rotations, seats)
        for name, array in (("win_share", outcomes.win_shares()), ("return", outcomes.returns), ("score", outcomes.scores))
    }
    # (deals, columns): every figure as one number a block, so that one bootstrap serves them all.
    columns: list[NDArray[np.float64]] = []
    for value in values.values():
        columns += [value[:, pattern == j].mean(axis=1) for j in range(len(agents))]
        columns.append(_advantage(value))
    columns += [values["win_share"][:, seat, seat] for seat in range(n)]
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
        own = value[:, np.arange(n), np.arange(n)]
        factor = _reduction(own.var(ddof=1) / n, own.mean(axis=1).var(ddof=1))
        if factor is not None:
            reduction[name] = factor
    return rows, by_seat, [Row("difference", "difference", table[-1], {})], reduction


def _advantage(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """By block, what the agent got more than the opponents in the same seat, mean over seats and rotations.

    Subtracting before adding makes it exactly 0 for equal games.
    """
    n = value.shape[1]
    total = np.zeros(len(value))
    for seat in range(n):
        for rotation in range(n):
            if rotation != seat:
                total += value[:, seat, seat] - value[:, rotation, seat]
    return total / (n * (n - 1))


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


def _count(outcomes: Outcomes, own: NDArray[np.bool_]) -> Counts:
    """The statistics of the agent that has the seats ``own`` (rotations, seats) of every deal."""
    means: dict[str, NDArray[np.float64]] = {}
    hits: dict[str, NDArray[np.float64]] = {}
    tries: list[NDArray[np.float64]] = []
    for name, values in outcomes.statistics.items():
        deals = values.reshape(-1, len(own), *values.shape[1:])
        if values.ndim == 3:
            hits[name] = deals[:, own, 0].sum(axis=1)
            tries.append(deals[:, own, 1].sum(axis=1))
        else:
            means[name] = (deals[:, own] if values.ndim == 2 else deals[:, own.any(axis=1)]).mean(axis=1)
    return Counts(
        dict(zip(means, bootstrap(np.stack([*means.values()], axis=1)), strict=True)) if means else {},
        dict(zip(hits, rates(np.stack([*hits.values()], axis=1), np.stack(tries, axis=1)), strict=True)) if hits else {},
    )


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
