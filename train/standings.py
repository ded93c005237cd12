"""What a tournament found: ranking, matrix of wins, cycles; as tables, files and a picture."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game, get_game
from ..envs.core.files import write_bytes, write_json, write_text, writing
from ..envs.core.options import Options
from .ratings import Rankings, cycles, plackett_luce
from .simulation import Outcomes
from .statistics import CONFIDENCE, Figure, bootstrap, share, wilson
from .tables import Grid
from .tournament import TOURNAMENT_STREAM, Games, TournamentConfig, describe_agents, load_games, plan_tables
from .versions import versions

Matrix = list[list[Figure | None]]


@dataclass(frozen=True)
class Row:
    """One agent."""

    name: str
    agent: str
    """What the configuration calls it."""
    sha256: str | None
    """Of a trained policy's weights."""
    tables: int
    games: int
    figures: dict[str, Figure]
    """Competitive: ``rating``, ``win_share``, ``return``, ``score``. Cooperative: ``score``, ``return``, ``win_rate``."""


@dataclass(frozen=True)
class Standings:
    """The result of a tournament."""

    config: TournamentConfig
    game: Game
    options: Options
    rows: list[Row]
    """Best first: by rating, in cooperative games by mean score."""
    ahead: Matrix
    """How often the row's agent finished ahead of the column's (a shared place counts one half), in the order of :attr:`rows`; None where
    the two never met."""
    cycles: list[tuple[int, int, int]]
    """Places in :attr:`rows` of triples (a, b, c) with a ahead of b, b of c and c of a, each edge's interval above one half."""
    by_seat: list[Figure]
    """What each seat won, over all games; empty for cooperative games."""
    tables: int
    games: int
    decisions: int
    truncated: int
    seconds: float
    """Of playing, sum over the processes."""

    @property
    def names(self) -> list[str]:
        """The agents, best first."""
        return [row.name for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON (``deckhand/tournament/1``).

        A figure is ``{"mean", "low", "high"}`` with a 95 % interval. ``tables``: how many of how many there are (``of``) were played.
        ``agents``, best first: ``rank``, ``name``, ``agent`` (its specification), ``sha256`` of a policy's weights or null, ``tables``,
        ``games``, and figures: ``rating`` (mean 0; 400 points apart means ten times as likely to finish first of two), ``win_share`` (a win
        shared by k counts 1/k), ``return`` and ``score`` a game; in cooperative games ``score``, ``return`` and ``win_rate``. ``matrix``:
        ``agents`` and the figures ``ahead``, a list a row: how often the row's agent finished ahead of the column's, shared places counting
        one half; null on the diagonal and for pairs that never met. ``cycles``, clearest first: ``agents`` [a, b, c] and ``edges``, the
        figures of a ahead of b, b of c, c of a. ``by_seat``: what each seat won. ``deal_seeds``: how game seeds follow from ``seed``.
        ``seconds``: of playing, sum over the processes.
        """
        config = self.config
        return {
            "schema": "deckhand/tournament/1",
            "name": config.name,
            "game": self.game.id,
            "players": config.players,
            "options": self.options.model_dump(),
            "protocol": "every agent on the same deals" if self.game.cooperative else "seat rotation on the same deals at every table",
            "confidence": CONFIDENCE,
            "seed": config.seed,
            "deal_seeds": f"derive_seed(seed, {TOURNAMENT_STREAM} + k), k = 0 .. deals - 1",
            "deals": config.deals,
            "unit": config.unit,
            "tables": {"played": self.tables, "of": self._possible_tables()},
            "games": self.games,
            "decisions": self.decisions,
            "truncated": self.truncated,
            "agents": [
                {
                    "rank": i + 1,
                    "name": row.name,
                    "agent": row.agent,
                    "sha256": row.sha256,
                    "tables": row.tables,
                    "games": row.games,
                    **{name: figure.to_json() for name, figure in row.figures.items()},
                }
                for i, row in enumerate(self.rows)
            ],
            "matrix": {"agents": self.names, "ahead": [[figure and figure.to_json() for figure in line] for line in self.ahead]},
            "cycles": [
                {"agents": [self.names[i] for i in triple], "edges": [figure.to_json() for figure in self._edges(triple)]}
                for triple in self.cycles
            ],
            "by_seat": [figure.to_json() for figure in self.by_seat],
            "versions": versions("scipy", "choix"),
            "seconds": self.seconds,
        }

    def grids(self) -> list[Grid]:
        """The report as tables."""
        config = self.config
        chosen = ", ".join(f"{k}={v}" for k, v in self.options.model_dump().items())
        what = f"{config.deals:,} deals for each agent" if self.game.cooperative else f"{self._tables_text()}, {config.deals:,} deals each"
        title = f"{config.name}: {self.game.id}, {config.players} players; {chosen}\n{what}, {self.games:,} games; 95 % intervals"
        header = ["", "agent", *(name.replace("_", " ") for name in self.rows[0].figures)]
        grids = [Grid(title, header, [self._cells(i) for i in range(len(self.rows))])]
        lines = [
            (name, *(figure.text(percent=True) if figure else "-" for figure in line))
            for name, line in zip(self.names, self.ahead, strict=True)
        ]
        event = "scored more than" if self.game.cooperative else "finished ahead of"
        grids.append(Grid(f"how often the agent on the left {event} the one above", ("", *self.names), lines))
        if self.cycles:
            rows = []
            for triple in self.cycles:
                a, b, c = (self.names[i] for i in triple)
                rows.append((f"{a} > {b} > {c} > {a}", *(figure.text(percent=True) for figure in self._edges(triple))))
            grids.append(Grid("cycles: every edge is above 50 % with its interval", ("", "first", "second", "third"), rows))
        if self.by_seat:
            cells = [(f"player {seat}", figure.text(percent=True)) for seat, figure in enumerate(self.by_seat)]
            grids.append(Grid(f"by seat, all agents (fair share {100 / config.players:.1f} %)", ("", "win share"), cells))
        return grids

    def to_markdown(self) -> str:
        """The report as Markdown, with the heat map."""
        none = "" if self.cycles else "\nNo cycle: no three agents beat one another in a circle with all three intervals above 50 %.\n"
        return "\n".join(grid.to_markdown() for grid in self.grids()) + none + "\n![how often who finished ahead of whom](matrix.png)\n"

    def alpharank(self) -> dict[str, Any] | None:
        """The meta-game in the format that OpenSpiel's alpha-Rank reads, or None if a pair of agents never met.

        ``payoff_tables`` holds one matrix a population, here one: all seats draw from the same agents, since every table plays all
        rotations of its seats. Entry (i, j) is how often i finished ahead of j, 0.5 on the diagonal. To load it::

            data = json.loads(Path("alpharank.json").read_text())
            tables = [np.array(table) for table in data["payoff_tables"]]
            dict(zip(data["agents"], alpharank.sweep_pi_vs_epsilon(tables)))  # from open_spiel.python.egt import alpharank
        """
        indexes = range(len(self.rows))
        table = [[0.5 if i == j else figure.mean if (figure := self.ahead[i][j]) else None for j in indexes] for i in indexes]
        if any(value is None for line in table for value in line):
            return None
        return {"schema": "deckhand/alpharank/1", "game": self.game.id, "agents": self.names, "payoff_tables": [table]}

    def write(self, folder: Path) -> None:
        """Write every file of the report into a folder, ``tournament.json`` last."""
        with writing(folder / "agents.csv") as file:
            table = csv.writer(file, lineterminator="\n")
            names = [*self.rows[0].figures]
            table.writerow(["rank", "name", "agent", "tables", "games", *(f"{n}{end}" for n in names for end in ("", "_low", "_high"))])
            for i, row in enumerate(self.rows):
                numbers = [value for figure in row.figures.values() for value in (figure.mean, figure.low, figure.high)]
                table.writerow([i + 1, row.name, row.agent, row.tables, row.games, *numbers])
        with writing(folder / "matrix.csv") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["agent", "opponent", "ahead", "ahead_low", "ahead_high"])
            for name, line in zip(self.names, self.ahead, strict=True):
                for other, figure in zip(self.names, line, strict=True):
                    if figure:
                        table.writerow([name, other, figure.mean, figure.low, figure.high])
        write_bytes(folder / "matrix.png", self.picture())
        meta_game = self.alpharank()
        if meta_game:
            write_json(folder / "alpharank.json", meta_game)
        write_text(folder / "tournament.md", self.to_markdown())
        write_json(folder / "tournament.json", self.to_json())

    def picture(self) -> bytes:
        """:attr:`ahead` as a heat map, PNG."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Picture

        n = len(self.rows)
        values = np.array([[figure.mean if figure else np.nan for figure in line] for line in self.ahead])
        picture = Picture(figsize=(3 + 0.7 * n, 2 + 0.6 * n), layout="constrained")
        FigureCanvasAgg(picture)
        axes = picture.subplots()
        image = axes.imshow(values, cmap="RdBu", vmin=0, vmax=1)
        axes.set_xticks(range(n), self.names, rotation=45, ha="right")
        axes.set_yticks(range(n), self.names)
        for i in range(n):
            for j in range(n):
                if not np.isnan(values[i, j]):
                    dark = abs(values[i, j] - 0.5) > 0.3
                    axes.text(j, i, f"{100 * values[i, j]:.0f}", ha="center", va="center", color="white" if dark else "black")
        axes.set_title(f"{self.config.name}: how often left finished ahead of below, %", fontsize="medium")
        picture.colorbar(image, ax=axes, shrink=0.8)
        data = io.BytesIO()
        picture.savefig(data, format="png", dpi=110)
        return data.getvalue()

    def _possible_tables(self) -> int:
        return len(self.rows) if self.game.cooperative else comb(len(self.rows), self.config.players)

    def _tables_text(self) -> str:
        possible = self._possible_tables()
        return f"{self.tables} tables" if possible == self.tables else f"{self.tables} of {possible} tables"

    def _edges(self, triple: Sequence[int]) -> list[Figure]:
        a, b, c = triple
        return [figure for figure in (self.ahead[a][b], self.ahead[b][c], self.ahead[c][a]) if figure]

    def _cells(self, i: int) -> list[str]:
        row = self.rows[i]
        texts = []
        for name, figure in row.figures.items():
            if name == "rating":
                texts.append(f"{figure.mean:+.0f} [{figure.low:+.0f}, {figure.high:+.0f}]")
            else:
                texts.append(figure.text(percent=name in ("win_share", "win_rate")))
        return [str(i + 1), row.name, *texts]


def standings(config: TournamentConfig, folder: Path) -> Standings:
    """The result of the tournament that ``folder`` holds; :class:`RecordError` if a part of it is missing."""
    return evaluate_games(config, load_games(config, folder))


def evaluate_games(config: TournamentConfig, games: Games) -> Standings:
    """The result of given games; their order does not matter."""
    game = get_game(config.game)
    agents, outcomes, n = games.agents, games.outcomes, len(config.agents)
    deals = np.unique(games.deals, return_inverse=True)[1]
    scores, returns = outcomes.scores.astype(np.float64), outcomes.returns
    figures: dict[str, list[Figure]] = {}
    if game.cooperative:
        measured = {"score": scores, "return": returns}
        beats = _compare(_by_deal(scores, agents, deals, n))
    else:
        measured = {"win_share": outcomes.win_shares(), "return": returns, "score": scores}
        ahead = _ahead(outcomes)
        beats = _beats(ahead, agents, deals, n)
        figures["rating"] = plackett_luce(Rankings(agents, ahead.sum(axis=1), deals), n)
    columns = {(name, a): column for name, values in measured.items() for a, column in enumerate(_by_deal(values, agents, deals, n).T)}
    pairs = [(i, j) for i, j in combinations(range(n), 2) if not np.isnan(beats[0, i, j])]
    columns |= {("pair", k): beats[:, i, j] for k, (i, j) in enumerate(pairs)}
    if not game.cooperative:
        seats = np.broadcast_to(np.arange(config.players), agents.shape)
        columns |= {("seat", k): column for k, column in enumerate(_by_deal(measured["win_share"], seats, deals, config.players).T)}
    for (name, _), figure, column in zip(columns, bootstrap(np.stack([*columns.values()], axis=1)), columns.values(), strict=True):
        figures.setdefault(name, []).append(share(column, figure) if name in ("win_share", "seat", "pair") else figure)
    if game.cooperative:
        won = [outcomes.winners[agents[:, 0] == a].any(axis=1) for a in range(n)]
        figures["win_rate"] = [wilson(int(column.sum()), len(column)) for column in won]
    shares: dict[tuple[int, int], Figure] = {}
    for (i, j), figure in zip(pairs, figures.pop("pair", []), strict=True):
        shares[i, j] = figure
        shares[j, i] = Figure(1 - figure.mean, 1 - figure.high, 1 - figure.low)
    by_seat = figures.pop("seat", [])
    main = "score" if game.cooperative else "rating"
    ranked = sorted(range(n), key=lambda a: -figures[main][a].mean)
    tables = plan_tables(config)
    described = describe_agents(config)
    matrix = [[shares.get((i, j)) for j in ranked] for i in ranked]
    return Standings(
        config=config,
        game=game,
        options=game.parse_options(config.options),
        rows=[
            Row(
                **described[a],
                tables=sum(a in table for table in tables),
                games=int((agents == a).any(axis=1).sum()),
                figures={name: found[a] for name, found in figures.items()},
            )
            for a in ranked
        ],
        ahead=matrix,
        cycles=cycles(matrix),
        by_seat=by_seat,
        tables=len(tables),
        games=len(agents),
        decisions=int(outcomes.decisions.sum()),
        truncated=int(outcomes.truncated.sum()),
        seconds=games.seconds,
    )


def _by_deal(values: NDArray[np.float64], owners: NDArray[np.int64], deals: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """The mean of ``values`` (games, seats) by deal and owner of the seat, (deals, count)."""
    total = np.zeros((deals.max() + 1, count))
    number = np.zeros_like(total)
    np.add.at(total, (deals[:, None], owners), values)
    np.add.at(number, (deals[:, None], owners), 1)
    return total / number


def _ahead(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Whether seat i finished ahead of seat j, (games, i, j): winners before the others, then by score."""
    won, score = outcomes.winners, outcomes.scores
    same = won[:, :, None] == won[:, None, :]
    return (won[:, :, None] & ~won[:, None, :]) | (same & (score[:, :, None] > score[:, None, :]))


def _beats(ahead: NDArray[np.bool_], agents: NDArray[np.int64], deals: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """How often agent i finished ahead of agent j, by deal, (deals, i, j); a shared place counts one half, NaN where they never met."""
    total = np.zeros((deals.max() + 1, count, count))
    met = np.zeros_like(total)
    for s, t in permutations(range(agents.shape[1]), 2):
        place = deals, agents[:, s], agents[:, t]
        np.add.at(total, place, (1.0 + ahead[:, s, t] - ahead[:, t, s]) / 2)
        np.add.at(met, place, 1)
    return np.divide(total, met, out=np.full_like(total, np.nan), where=met > 0)


def _compare(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Whether agent i scored more than agent j on a deal, (deals, i, j), from scores (deals, agents); as much counts one half."""
    return (1 + np.sign(scores[:, :, None] - scores[:, None, :])) / 2
