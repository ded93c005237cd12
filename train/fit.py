"""Fitting a rule agent: CMA-ES over its parameters, scored by games against stated opponents.

*Score.* A candidate plays the deals of its generation in every seat against every opponent (in cooperative games alone, in all seats); what
counts is its mean return, so the game's ``reward`` option says what it is fitted for. All candidates of a generation play the same deals,
and no other generation does: deal ``k`` of generation ``g`` is the game seed ``derive_seed(seed, g * deals + k)``, never one of an
evaluation (:mod:`deckhand.train.evaluation`).

*Groups.* Parameters that count for other numbers of players than others do (``Parameter.players``) are fitted side by side, each group by a
search of its own in games with its numbers of players.

*Result.* The search's mean, averaged over the last quarter of the generations: single candidates, and late means too, owe much to luck.

*Resumption.* ``metrics.jsonl`` holds the scores of every finished generation. A search is a function of its seed and of what it was told:
telling it the scores again brings it where it was.

The run folder is that of :mod:`deckhand.train.runs`; ``steps`` are generations, and the result is ``fitted.yaml``.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rich.console import Console

from ..agents import RuleAgent, make_agent
from ..agents.parameters import Parameter, ParameterFile
from ..agents.rules import FITTED, rule_set
from ..envs import get_game
from ..envs.core import DeckhandError, Game, RecordError
from ..envs.core.files import write_json
from ..envs.core.rng import MAX_SEED, derive_seed
from .config import MOST_GAMES, ConfigError, Deals, Positive, RunConfig, Section
from .evaluation import EVALUATION_STREAM, Evaluation, evaluate
from .plots import plot_figures
from .progress import progress_bar
from .runs import RunFolder
from .simulation import play_games
from .statistics import Figure, bootstrap
from .versions import versions
from .workers import results_in_order, worker_pool

SEARCH_STREAM = EVALUATION_STREAM - 1
"""The search of group ``i`` draws from ``derive_seed(seed, SEARCH_STREAM - i)``; deals count from 0."""
UNRELATED = ("workers", "runs")
"""Keys of a configuration that do not change the result."""
DIGITS = 4
"""Decimals of the fitted values."""


class FitEvaluation(Section):
    """How the result is compared with its start."""

    deals: Deals
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 3_000_003


class FitConfig(RunConfig):
    """One fit of a rule agent's parameters."""

    shipped = "fit_"

    game: str
    players: Annotated[list[Positive], Field(min_length=1)]
    options: dict[str, Any] = Field(default_factory=dict)
    agent: str
    """Where the search starts: a rule agent, with parameters or not, or a file of parameters."""
    fixed: list[str] = Field(default_factory=list)
    """Parameters that keep their value."""
    opponents: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Who sits in all other seats, and how much the games against them count."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    generations: Positive
    population: Annotated[int, Field(ge=4, le=MOST_GAMES)]
    deals: Deals
    sigma: Annotated[float, Field(gt=0)]
    """First step of the search, in units of each parameter's ``scale``."""
    workers: Positive = 2
    evaluation: FitEvaluation

    def check(self, label: str) -> None:
        def check(key: str, action: Callable[[], Any]) -> Any:
            try:
                return action()
            except DeckhandError as error:
                raise ConfigError(f"{label}: {key}: {error}") from None

        game = check("game", lambda: get_game(self.game))
        check("players", lambda: [game.check_players(n) for n in self.players])
        check("options", lambda: game.parse_options(self.options))
        agent = check("agent", lambda: make_agent(game, self.agent))
        if not isinstance(agent, RuleAgent) or not agent.parameters:
            known = ", ".join(rule_set(game).parameters) or "none"
            raise ConfigError(f"{label}: agent cannot be {self.agent!r}: it has no parameters to fit; agents that have: {known}")
        names = [p.name for p in agent.parameters]
        for name in self.fixed:
            if name not in names:
                raise ConfigError(f"{label}: fixed cannot hold {name!r}: {agent.name} has the parameters {', '.join(names)}")
        for name in self.opponents:
            check("opponents", partial(make_agent, game, name))
        if game.cooperative and self.opponents:
            raise ConfigError(f"{label}: opponents: {game.name} is played together; leave this key out")
        if not game.cooperative and not self.opponents:
            raise ConfigError(f"{label}: opponents: {game.name} needs at least one")
        if not _groups(self, agent.parameters):
            raise ConfigError(f"{label}: fixed: no parameter is left to fit with {', '.join(map(str, self.players))} players")


class Job(NamedTuple):
    """One candidate's games with one number of players against one opponent."""

    game: str
    options: dict[str, Any]
    players: int
    rule: str
    values: tuple[float, ...]
    opponent: str | None
    """None in cooperative games."""
    seed: int
    first: int
    deals: int


def play_job(job: Job) -> NDArray[np.float64]:
    """The candidate's mean return on every deal, (deals,)."""
    game = get_game(job.game)
    agents = [RuleAgent(game, job.rule, job.values), *([make_agent(game, job.opponent)] if job.opponent else [])]
    n = job.players
    pattern = np.zeros((1, n), np.int64) if job.opponent is None else 1 - np.eye(n, dtype=np.int64)
    own = pattern == 0
    deals = [int(derive_seed(job.seed, job.first + k)) for k in range(job.deals)]
    seeds = [seed for seed in deals for _ in pattern]
    parts = play_games(game, agents, np.tile(pattern, (job.deals, 1)), options=job.options, seeds=seeds, seed=deals[0])
    returns = np.concatenate([part.returns for part in parts])
    return returns.reshape(job.deals, len(pattern), n)[:, own].mean(axis=1)


class Group:
    """Parameters that count for the same numbers of players, and the search for their values."""

    def __init__(self, config: FitConfig, number: int, players: list[int], indexes: list[int], agent: RuleAgent) -> None:
        # Imported late: it takes seconds.
        import cma

        self.players = players
        self.name = f"{', '.join(map(str, players))} player{'' if players == [1] else 's'}"
        self.indexes = indexes
        self.names = [agent.parameters[i].name for i in indexes]
        self.start = agent.params[indexes]
        self.scale = np.array([agent.parameters[i].scale for i in indexes])
        self.range = np.array([(agent.parameters[i].low, agent.parameters[i].high) for i in indexes]).T
        draw = np.random.default_rng(derive_seed(config.seed, SEARCH_STREAM - number))
        settings = {
            "popsize": config.population,
            "seed": np.nan,  # leaves NumPy's global generator alone
            "randn": lambda rows, columns: draw.standard_normal((rows, columns)),
            "verbose": -10,
            "verb_log": 0,
        }
        # In units of the scales, around the start.
        self.search: Any = cma.CMAEvolutionStrategy(np.zeros(len(indexes)), config.sigma, settings)

    def values(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """The parameters at a point of the search; where that lies outside a parameter's range, the nearest value in it."""
        return np.asarray(np.clip(self.start + self.scale * point, *self.range))


class Fit:
    """One fit in its run folder: :meth:`run` starts it, or goes on with what the folder holds, and ends with the evaluation."""

    def __init__(self, config: FitConfig, folder: RunFolder, console: Console) -> None:
        self.config = config
        self.folder = folder
        self.console = console
        self.game: Game = get_game(config.game)
        agent = make_agent(self.game, config.agent)
        assert isinstance(agent, RuleAgent)
        self.start = agent
        self.rule = next(name for name, (kind, _) in rule_set(self.game).agents.items() if kind == agent.kind)
        self.groups = [Group(config, i, *found, agent) for i, found in enumerate(_groups(config, agent.parameters))]
        self.rows: list[dict[str, Any]] = []

    def run(self) -> list[Evaluation]:
        """Search, write the result, compare it with the start on evaluation deals: one evaluation a number of players.

        While it runs no other process can use the folder.
        """
        with self.folder.held():
            return self._run()

    def _run(self) -> list[Evaluation]:
        self._replay()
        total = self.config.generations
        if len(self.rows) < total and self.config.workers > 1:
            # Whatever is not yet compiled is compiled here, once, and the processes find it on disk.
            for job in self._jobs(self.groups[0], np.zeros(len(self.groups[0].names))):
                play_job(job._replace(deals=1))
        with progress_bar(self.console, "generations") as report, _workers(self.config.workers) as play:
            while len(self.rows) < total:
                row = self._generation(play)
                self.folder.append(self.folder.metrics, row)
                self.rows.append(row)
                gains = [f"{name}: {Figure(**group['gain']).text()}" for name, group in row["groups"].items()]
                text = f"gain over {self.start.name} with {'; '.join(gains)}"
                self.console.print(f"generation {len(self.rows):>3} of {total}   {text}", highlight=False, soft_wrap=True)
                report(len(self.rows), total, "")
        return self._finish()

    def fitted(self) -> RuleAgent:
        """The result so far."""
        values = self.start.params[: len(self.start.parameters)].copy()
        for group in self.groups:
            means = [np.array(row["groups"][group.name]["mean"]) for row in self.rows[3 * len(self.rows) // 4 :]]
            values[group.indexes] = np.mean([*means, group.values(group.search.mean)], axis=0)
        agent = RuleAgent(self.game, self.rule, np.round(values, DIGITS).tolist())
        agent.name = FITTED
        return agent

    def _replay(self) -> None:
        """Bring the searches where the generations of the folder had brought them."""
        self.folder.cut(sys.maxsize)
        self.rows = self.folder.read(self.folder.metrics)
        for row in self.rows:
            for group in self.groups:
                try:
                    told = row["groups"][group.name]
                    losses = [-float(value) for value in told["returns"]]
                    Figure(**told["gain"])
                    fits = told["mean"] == group.values(group.search.mean).tolist() and len(losses) == self.config.population
                except (KeyError, TypeError, ValueError):
                    fits = False
                if not fits:
                    raise RecordError(
                        f"{self.folder.metrics} does not fit its configuration, or comes from other versions of cma and numpy"
                    )
                group.search.tell(group.search.ask(), losses)

    def _generation(self, play: Callable[[Iterable[Job]], Iterator[NDArray[np.float64]]]) -> dict[str, Any]:
        """Play one generation of every group and tell the searches."""
        jobs: list[Job] = []
        plans = []
        for group in self.groups:
            mean = group.search.mean.copy()
            points = group.search.ask()
            plans.append((mean, points))
            # The mean and the start play too: their difference is the progress.
            for point in (*points, mean, np.zeros(len(mean))):
                jobs += self._jobs(group, point)
        results = play(jobs)
        weights = np.array([*self.config.opponents.values()] or [1.0])
        weights /= weights.sum()
        groups: dict[str, Any] = {}
        for group, (mean, points) in zip(self.groups, plans, strict=True):
            cells = np.tile(weights, len(group.players)) / len(group.players)
            # (candidates, deals)
            returns = np.array([sum(weight * next(results) for weight in cells) for _ in range(len(points) + 2)])
            scores = returns[: len(points)].mean(axis=1)
            group.search.tell(points, (-scores).tolist())
            groups[group.name] = {
                "mean": group.values(mean).tolist(),
                "gain": bootstrap((returns[-2] - returns[-1])[:, None])[0].to_json(),
                "returns": scores.tolist(),
            }
        return {"steps": len(self.rows) + 1, "groups": groups}

    def _jobs(self, group: Group, point: NDArray[np.float64]) -> list[Job]:
        """The games of one candidate in the coming generation."""
        config = self.config
        values = self.start.params[: len(self.start.parameters)].copy()
        values[group.indexes] = group.values(point)
        candidate = self.rule, tuple(values.tolist())
        where = config.seed, len(self.rows) * config.deals, config.deals
        opponents: list[str | None] = [*config.opponents] or [None]
        return [Job(config.game, config.options, n, *candidate, opponent, *where) for n in group.players for opponent in opponents]

    def _finish(self) -> list[Evaluation]:
        """Evaluation against the start, the file of parameters, the curve."""
        config = self.config
        agent = self.fitted()
        evaluations = [
            evaluate(
                self.game,
                agent,
                [self.start],
                num_players=n,
                options=config.options,
                deals=config.evaluation.deals,
                seed=config.evaluation.seed,
            )
            for n in config.players
        ]
        provenance = {
            "start": self.start.name,
            "config": config.model_dump(exclude={*UNRELATED}),
            "training_deals": f"derive_seed({config.seed}, k), k = 0 .. {config.generations * config.deals - 1}",
            "versions": versions("cma"),
            "results": [_result(e) for e in evaluations],
        }
        names = [p.name for p in agent.parameters]
        values = dict(zip(names, agent.params.tolist(), strict=False))
        file = ParameterFile(game=self.game.id, agent=self.rule, parameters=values, provenance=provenance)
        file.save(self.folder.path / f"{FITTED}.yaml", agent.parameters)
        self._draw_curve()
        # The last file: where it is, the fit is finished.
        write_json(self.folder.path / "evaluation.json", {"steps": len(self.rows), "evaluations": [e.to_json() for e in evaluations]})
        return evaluations

    def _draw_curve(self) -> None:
        """``curve.png``: the gain over the start with its interval, and the way of every parameter."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure as Picture

        figure = Picture(figsize=(6.5 * len(self.groups), 8), layout="constrained")
        axes = figure.subplots(2, len(self.groups), squeeze=False)
        generations = [row["steps"] for row in self.rows]
        for group, upper, lower in zip(self.groups, *axes, strict=True):
            told = [row["groups"][group.name] for row in self.rows]
            plot_figures(upper, generations, [t["gain"] for t in told])
            upper.axhline(0, color="grey", linewidth=1)
            upper.set(title=f"{group.name}: return above {self.start.name}, 95 % interval", xlabel="generation")
            ways = (np.array([t["mean"] for t in told]) - group.start) / group.scale
            for name, way in zip(group.names, ways.T, strict=True):
                lower.plot(generations, way, label=name.rpartition(".")[2])
            lower.set(title="change of every parameter, in its scale", xlabel="generation")
            lower.legend(fontsize="x-small", ncols=2)
            for each in (upper, lower):
                each.grid(alpha=0.3)
        self.folder.save_picture(figure)


def _groups(config: FitConfig, parameters: Iterable[Parameter]) -> list[tuple[list[int], list[int]]]:
    """Numbers of players, and the indexes of the parameters to fit in games with them."""
    ranges: dict[tuple[int, int], list[int]] = {}
    for i, parameter in enumerate(parameters):
        if parameter.name not in config.fixed:
            ranges.setdefault(parameter.players, []).append(i)
    found = [([n for n in config.players if low <= n <= high], indexes) for (low, high), indexes in ranges.items()]
    return [(players, indexes) for players, indexes in found if players]


def _result(evaluation: Evaluation) -> dict[str, Any]:
    """What a file of parameters says of its evaluation: differences to the start with their intervals."""
    figures = evaluation.difference[0].figures
    return {
        "players": evaluation.num_players,
        "against": evaluation.rows[1].agent,
        "deals": evaluation.deals,
        "seed": evaluation.seed,
        "difference": {name: {k: round(v, DIGITS) for k, v in figure.to_json().items()} for name, figure in figures.items()},
    }


@contextmanager
def _workers(workers: int) -> Iterator[Callable[[Iterable[Job]], Iterator[NDArray[np.float64]]]]:
    """A function that plays jobs, in order, in so many processes; one process is this one."""
    if workers == 1:
        yield lambda jobs: map(play_job, jobs)
        return
    with worker_pool(workers) as pool:
        yield lambda jobs: results_in_order(pool, play_job, ((job,) for job in jobs))
