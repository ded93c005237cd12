"""Search ladders: how the strength of a search grows with its budget.

A ladder measures agents with growing budgets against the same opponents on the same deals (:mod:`.evaluation`). Every rung is stored as
soon as it is measured: a ladder that was interrupted goes on where it stopped.
"""

import io
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator

from ..agents import SearchAgent, SearchStats, make_agent, show_turns
from ..envs.core import Game, RecordError, get_game
from ..envs.core.files import write_bytes, write_json
from ..envs.core.rng import MAX_SEED
from .config import Config, ConfigError, Deals, Name, Positive, Section, check_key
from .evaluation import evaluate
from .plots import plot_figures
from .progress import Report
from .runs import RunFolder
from .statistics import Figure
from .tables import Grid
from .versions import machine
from .workers import worker_pool

SCHEMA = "deckhand/ladder/1"
BUDGET = "{budget}"


class Series(Section):
    """One line of the picture: an agent with growing budgets."""

    agent: str
    """A search agent with ``{budget}`` in the place of its budget."""
    budgets: Annotated[list[str], Field(min_length=1)]
    """``64`` or ``50ms``."""

    @field_validator("budgets", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return [str(v) if type(v) is int else v for v in value] if isinstance(value, list) else value


class LadderConfig(Config):
    """What to measure, against whom."""

    shipped = "ladder_"

    game: str
    players: Positive
    options: dict[str, Any] = Field(default_factory=dict)
    against: Annotated[list[str], Field(min_length=1)]
    """Opponents; in cooperative games the baselines."""
    series: Annotated[dict[Name, Series], Field(min_length=1)]
    deals: Deals
    deal_set: Literal["dev", "test"] = "test"
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Of the agents' own randomness."""
    figure: str | None = None
    """What the picture shows of an evaluation: by default the win share, or the score in cooperative games."""
    target: float | None = None
    """A line to reach in the picture."""
    workers: Positive = 2

    def check(self, label: str) -> None:
        game = check_key(label, "game", lambda: get_game(self.game))
        check_key(label, "players", lambda: game.check_players(self.players))
        check_key(label, "options", lambda: game.parse_options(self.options))
        if self.figure is not None and self.figure not in _figures(game, self):
            raise ConfigError(f"{label}: figure cannot be {self.figure!r}; allowed are: {', '.join(_figures(game, self))}")
        for spec in self.against:
            check_key(label, "against", partial(make_agent, game, spec))
        if not game.cooperative and len(self.against) >= self.players:
            raise ConfigError(f"{label}: against: {self.players} players leave seats for {self.players - 1} opponents at most")
        for name, series in self.series.items():
            if BUDGET not in series.agent:
                raise ConfigError(f"{label}: series.{name}.agent cannot be {series.agent!r}: it must name its budget as {BUDGET}")
            for spec in specs(series):
                if not isinstance(check_key(label, f"series.{name}", partial(make_agent, game, spec)), SearchAgent):
                    raise ConfigError(f"{label}: series.{name}.agent cannot be {spec!r}: it must be a search, like flat({BUDGET})")


def specs(series: Series) -> list[str]:
    """The agents of a series, one a budget."""
    return [series.agent.replace(BUDGET, budget) for budget in series.budgets]


class Ladder:
    """The results of a ladder, in ``<name>.json`` and ``<name>.png`` of a folder.

    Results that lie there already are kept; :class:`ConfigError` if they were measured with other opponents, deals or options.
    """

    def __init__(self, config: LadderConfig, folder: Path) -> None:
        self.config = config
        self.path = folder / f"{config.name}.json"
        self.evaluations: list[dict[str, Any]] = []
        """Reports of :func:`.evaluation.evaluate`, each with ``search``: series, budget, and what the search did and took."""
        self._load()

    @property
    def missing(self) -> list[tuple[str, str, str]]:
        """Series, budget and agent of the rungs that are not measured yet."""
        known = {(found["search"]["series"], found["search"]["budget"]) for found in self.evaluations}
        rungs = [
            (name, budget, spec)
            for name, series in self.config.series.items()
            for budget, spec in zip(series.budgets, specs(series), strict=True)
        ]
        return [rung for rung in rungs if rung[:2] not in known]

    def climb(self, progress: Report = lambda done, total, text: None) -> None:
        """Measure the missing rungs, the configured number at a time; store them one by one.

        :class:`DeckhandError` while another process measures in the folder.
        """
        with RunFolder(self.path.parent).held():
            self._load()  # again: another process may have added rungs
            missing = self.missing
            progress(0, len(missing), "")
            for done, found in enumerate(_measure_all(self.config, missing), 1):
                self.evaluations.append(found)
                self.save()
                progress(done, len(missing), f"{found['agents'][0]}: {_result(self.config, found)}")

    def _load(self) -> None:
        if self.path.exists():
            self.evaluations = _stored(self.path, self.config)

    def save(self) -> None:
        """Write the results and the picture."""
        order = list(self.config.series)
        self.evaluations.sort(key=lambda found: (order.index(found["search"]["series"]), _effort(found)))
        write_json(self.path, self.report())
        write_bytes(self.path.with_suffix(".png"), self.draw())

    def report(self) -> dict[str, Any]:
        """The results as JSON (``deckhand/ladder/1``): ``config``, ``machine``, ``evaluations``."""
        return {"schema": SCHEMA, "config": self.config.model_dump(), "machine": machine(), "evaluations": self.evaluations}

    def draw(self) -> bytes:
        """The picture (PNG): strength with its interval over the decisions that the search imagines a turn, a line a series."""
        from matplotlib import figure as plots

        config = self.config
        key, percent = _measured(config)
        scale = 100 if percent else 1
        figure = plots.Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        for name in config.series:
            rungs = [found for found in self.evaluations if found["search"]["series"] == name]
            x = [_effort(found) for found in rungs]
            values = [{end: scale * found["figures"][0][key][end] for end in ("mean", "low", "high")} for found in rungs]
            plot_figures(axes, x, values, alpha=0.15, marker="o", label=name)
            for at, value, found in zip(x, values, rungs, strict=True):
                axes.annotate(found["search"]["budget"], (at, value["mean"]), xytext=(0, 5), textcoords="offset points", fontsize=8)
        if not get_game(config.game).cooperative:
            if percent:
                axes.axhline(100 / config.players, color="grey", linewidth=1, label="equal strength")
        elif self.evaluations:
            baseline = self.evaluations[0]["figures"][1]
            axes.axhline(scale * baseline[key]["mean"], color="grey", linewidth=1, label=baseline["agent"])
        if config.target is not None:
            axes.axhline(scale * config.target, color="black", linestyle="--", linewidth=1, label="target")
        axes.set(
            title=f"{get_game(config.game).title}, {config.players} players, against {', '.join(config.against)}",
            xlabel="imagined decisions a turn (labels: budget)",
            ylabel=f"{key.replace('_', ' ')}{', %' if percent else ''} (95 % intervals)",
            xscale="log",
        )
        axes.grid(alpha=0.3)
        axes.legend()
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=110)
        return picture.getvalue()


def ladder_grid(report: Mapping[str, Any]) -> Grid:
    """The table of a :meth:`Ladder.report`, one rung a row."""
    config = LadderConfig.model_validate(report["config"])
    key, _ = _measured(config)
    rows = []
    for found in report["evaluations"]:
        search = found["search"]
        seconds = search["cpu_seconds"] / search["games"]
        rows.append((found["agents"][0], _result(config, found), f"{_effort(found):,.0f}", f"{seconds:.2f}"))
    title = f"{config.name}: {config.players} players, against {', '.join(config.against)}, {config.deals:,} deals"
    return Grid(title, ("agent", key.replace("_", " "), "imagined decisions a turn", "CPU s/game"), rows)


def measure(config: LadderConfig, series: str, budget: str, spec: str) -> dict[str, Any]:
    """One rung: the report of an evaluation and what the search did."""
    game = get_game(config.game)
    agent = make_agent(game, spec)
    assert isinstance(agent, SearchAgent)
    # Loads, or compiles, what the search needs: no part of its effort.
    agent.act(show_turns(game, game.deal(config.players, config.options, [0]), np.zeros(1, np.int64), agent))
    agent.stats = SearchStats()
    opponents = [make_agent(game, name) for name in config.against]
    started = time.process_time()
    result = evaluate(
        game,
        agent,
        opponents,
        num_players=config.players,
        options=config.options,
        deals=config.deals,
        seed=config.seed,
        deal_set=config.deal_set,
    )
    cpu_seconds = time.process_time() - started
    games = result.deals if game.cooperative else result.games
    stats = agent.stats
    return result.to_json() | {
        "search": {
            "series": series,
            "budget": budget,
            "games": games,
            "turns": stats.turns,
            "simulations": stats.simulations,
            "decisions": stats.decisions,
            "seconds": stats.seconds,
            "cpu_seconds": cpu_seconds,
        }
    }


def _measure_all(config: LadderConfig, rungs: Sequence[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    """The rungs as they are finished."""
    if min(config.workers, len(rungs)) <= 1:
        yield from (measure(config, *rung) for rung in rungs)
        return
    with worker_pool(min(config.workers, len(rungs))) as pool:
        for future in as_completed([pool.submit(measure, config, *rung) for rung in rungs]):
            yield future.result()


def _figures(game: Game, config: LadderConfig) -> list[str]:
    """The figures that an evaluation has of an agent."""
    if not game.cooperative:
        return ["win_share", "return", "score"]
    record = game.deal(config.players, config.options, [0])[0]
    return [
        "win_rate",
        "score",
        "return",
        *(name for name, value in game.extra_outcome(record).items() if isinstance(value, (bool, int, float))),
    ]


def _measured(config: LadderConfig) -> tuple[str, bool]:
    """The figure to show, and whether it is a share."""
    key = config.figure or ("score" if get_game(config.game).cooperative else "win_share")
    return key, key in ("win_share", "win_rate")


def _result(config: LadderConfig, found: Mapping[str, Any]) -> str:
    """The figure of a rung's agent as a text."""
    key, percent = _measured(config)
    return Figure.from_json(found["figures"][0][key]).text(percent)


def _effort(found: dict[str, Any]) -> float:
    """Decisions that the search of a rung imagined a turn: unlike the time it took, the same on every machine."""
    return float(found["search"]["decisions"] / max(found["search"]["turns"], 1))


def _stored(path: Path, config: LadderConfig) -> list[dict[str, Any]]:
    """The evaluations of a result file."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["schema"] != SCHEMA:
            raise ValueError(f"its schema is {stored['schema']!r}")
        before, evaluations = LadderConfig.model_validate(stored["config"]), stored["evaluations"]
        if any(found["search"]["series"] is None for found in evaluations):
            raise ValueError("it has a rung of no series")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path} does not hold the results of a ladder: {error}") from None
    changed = _changed(before, config)
    if changed:
        raise ConfigError(f"{path} was measured with another config: {', '.join(changed)} differ; move it away to measure anew")
    return [found for found in evaluations if found["search"]["series"] in config.series]


def _changed(before: LadderConfig, config: LadderConfig) -> Sequence[str]:
    """What of two configs makes their results incomparable."""
    keys = [
        key
        for key in ("game", "players", "options", "against", "deals", "deal_set", "seed")
        if getattr(before, key) != getattr(config, key)
    ]
    series = [name for name in config.series if name in before.series and before.series[name].agent != config.series[name].agent]
    return [*keys, *(f"series.{name}.agent" for name in series)]
