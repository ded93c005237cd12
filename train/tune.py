"""Tuning a training configuration: an optuna study over some of its keys.

*Trials.* Each is a training run in a run folder of its own, ``trial-000`` and so on in the study's folder, with the start's
configuration, the study's ``changes`` and values from its ``space``. The first has the start's own values, where the space holds them;
then so many are drawn at random, and then optuna's tree-structured Parzen estimator proposes them (Bergstra et al. 2011, NeurIPS 24).

*Objective.* The mean over opponents and numbers of players of the main figure (:attr:`.Evaluation.main`) of the trained policy's most
likely actions, on deals of a seed of its own. It is the trial's final evaluation. The start's ``final_seed`` is never played: the final
figures of a training with ``best.yaml`` come from deals that nothing was chosen by. The best of many trials owes some of its figure to
luck.

*Pruning.* Trials that trail end early: when the best evaluation so far is below the median of the finished trials' evaluations after as
many steps (optuna's ``MedianPruner``).

*Resumption.* ``study.jsonl`` is the study in optuna's own journal format. What is proposed for a trial follows from the seed and the
trials before it. A trial that was killed is therefore proposed again, and goes on from its checkpoint: a study that was stopped ends as
one that was not. In the journal the killed attempt stays as a failed trial, which optuna leaves out. For the same reason a finished study
can be given more trials, and ends as one that had so many from the start.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, field_validator, model_validator
from rich.console import Console

from ..envs import get_game
from ..envs.core import DeckhandError, RecordError
from ..envs.core.files import write_bytes, write_text
from ..envs.core.rng import MAX_SEED, derive_seed
from .config import ConfigError, Deals, Positive, RunConfig, Section, TrainConfig, change_config, dump_config, load_config
from .progress import Report, progress_bar
from .runs import RunFolder, read_json
from .statistics import Figure
from .tables import Grid

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

JOURNAL = "study.jsonl"
COMPARED = ("game", "players", "options", "budget", "evaluation", "seed", "name", "runs", "variants")
"""Sections and keys in which the trials of a study cannot differ."""
OBJECTIVE = {"evaluation.against": "against", "evaluation.final_deals": "deals", "evaluation.final_seed": "seed"}
"""Keys of a trial's configuration that the objective sets, and its own keys."""
MEASURED = re.compile(r"evaluation/(win share against .*|score(, \d+ players)?)/mean")
"""Main figures in the metrics of a run."""
SHOWN = 10
"""Trials in the table at the end."""
ENOUGH = 10
"""Finished trials without which the importance of a key is not estimated."""


class Values(Section):
    """What a key may be: a number from ``low`` to ``high``, a whole one if both are whole, or one of ``choices``."""

    low: int | float | None = None
    high: int | float | None = None
    log: bool = False
    """Whether equal ratios, not equal distances, are equally likely."""
    choices: list[Any] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Values":
        if self.choices is not None:
            if self.low is not None or self.high is not None or self.log:
                raise ValueError("write choices, or low and high")
            if len(self.choices) < 2 or len({_text(c) for c in self.choices}) < len(self.choices):
                raise ValueError("choices are two different values at least")
        elif self.low is None or self.high is None:
            raise ValueError("write low and high, or choices")
        elif not self.low < self.high:
            raise ValueError("low must be below high")
        elif self.log and self.low <= 0:
            raise ValueError("with log, low must be above 0")
        return self

    @property
    def ends(self) -> list[Any]:
        """The choices, or the ends of the range."""
        return [self.low, self.high] if self.choices is None else self.choices

    def distribution(self) -> "BaseDistribution":
        """The same for optuna, where a choice is its JSON text."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices is not None:
            return CategoricalDistribution([_text(c) for c in self.choices])
        low, high = self.low, self.high
        assert low is not None
        assert high is not None
        if isinstance(low, int) and isinstance(high, int):
            return IntDistribution(low, high, log=self.log)
        return FloatDistribution(low, high, log=self.log)

    def value(self, parameter: Any) -> Any:
        """What a parameter of optuna stands for."""
        return parameter if self.choices is None else next(c for c in self.choices if _text(c) == parameter)


def _text(choice: Any) -> str:
    return json.dumps(choice, default=str)


class Objective(Section):
    """The figure that the study maximises."""

    against: Annotated[list[str], Field(min_length=1)] | None = None
    """The opponents; by default those of the start's evaluation."""
    deals: Deals
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 4_000_004


class TuneConfig(RunConfig):
    """One study."""

    shipped = "tune_"

    train: TrainConfig
    """Where the study starts: a configuration of training, by its name, its path or in full."""
    changes: dict[str, Any] = Field(default_factory=dict)
    """What differs from it in all trials, but not in ``best.yaml``: ``{"budget.steps": 500_000}``."""
    space: Annotated[dict[str, Values], Field(min_length=1)]
    trials: Positive
    startup: Positive = 10
    """First trials, drawn at random and never pruned."""
    prune_after: Positive | None = 1
    """Evaluations that a trial is given before it may be pruned; None: none is."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    objective: Objective

    @field_validator("train", mode="before")
    @classmethod
    def _load(cls, value: Any) -> Any:
        return load_config(value).model_dump() if isinstance(value, str) else value

    def check(self, label: str) -> None:
        self.train.check(f"{label}: train")
        if self.train.variants:
            raise ConfigError(f"{label}: train: {self.train.name} has variants, each with values of its own; leave them out")
        for key in self.changes:
            if key in ("game", "name", "runs", "variants"):
                raise ConfigError(f"{label}: changes: {key} cannot be changed")
            if key in OBJECTIVE:
                raise ConfigError(f"{label}: changes: {key} cannot be changed: for the trials it is objective.{OBJECTIVE[key]}")
        for key in self.space:
            if key.partition(".")[0] in COMPARED:
                raise ConfigError(f"{label}: space: {key} cannot be tuned: trials that differ in it could not be compared")
            for other in [*self.changes, *self.space]:
                if f"{key}.".startswith(f"{other}.") and (other in self.changes or other != key):
                    raise ConfigError(f"{label}: space: {key} cannot be tuned: {other} stands in changes or space as well")
        final, seed = self.train.evaluation.final_seed, self.objective.seed
        if seed == self.train.evaluation.seed:
            raise ConfigError(f"{label}: objective.seed cannot be {seed}: it is train's evaluation.seed, by whose deals trials are pruned")
        start = self.trial(f"{label}: changes", "start", {})
        for key, chosen in (("objective.seed", seed), ("changes: evaluation.seed", start.evaluation.seed)):
            if chosen == final:
                raise ConfigError(f"{label}: {key} cannot be {final}: nothing may be chosen by the deals of train's evaluation.final_seed")
        for key, values in self.space.items():
            for value in values.ends:
                self.trial(f"{label}: space", "start", {key: value})

    def trial(self, label: str, name: str, values: Mapping[str, Any]) -> TrainConfig:
        """The configuration of a trial; :class:`ConfigError` where its values do not fit each other."""
        objective = {
            "evaluation.final_deals": self.objective.deals,
            "evaluation.final_seed": self.objective.seed,
            "evaluation.against": self.objective.against or self.train.evaluation.against,
        }
        return change_config(label, self.train, {"name": name, **self.changes, **objective, **values})

    def start(self) -> dict[str, Any] | None:
        """The start's own values as optuna's parameters; None where the space does not hold them."""
        own = self.trial(self.name, "start", {})
        parameters = {}
        for key, values in self.space.items():
            candidates = _number(own.model_dump(), key, values) if values.choices is None else values.choices
            fitting = [c for c in candidates if self.trial(self.name, "start", {key: c}) == own]
            if not fitting:
                return None
            parameters[key] = fitting[0] if values.choices is None else _text(fitting[0])
        return parameters


def _number(config: Any, key: str, values: Values) -> list[Any]:
    """The configuration's number at a key, if it lies in the range; a schedule that stands still is a number."""
    for part in key.split("."):
        config = config.get(part) if isinstance(config, dict) else None
    if isinstance(config, dict) and config.keys() == {"start", "end"}:
        config = config["start"]
    low, high = values.ends
    whole = isinstance(low, int) and isinstance(high, int)
    number = isinstance(config, int if whole else (int, float)) and not isinstance(config, bool)
    return [config] if number and low <= config <= high else []


class Tune:
    """One study in its run folder: :meth:`run` starts it, or goes on with what the folder holds, and ends with the best configuration."""

    def __init__(self, config: TuneConfig, folder: RunFolder, console: Console) -> None:
        self.config = config
        self.folder = folder
        self.console = console
        self.cooperative = get_game(config.train.game).cooperative
        self.start = config.start()

    def run(self) -> Grid:
        """Run the trials that are left; write ``best.yaml``, ``trials.md`` and ``curve.png``; return the table of the best trials.

        While it runs no other process can use the folder. :class:`DeckhandError` if no trial came to its end.
        """
        with self.folder.held():
            return self._run()

    def _run(self) -> Grid:
        study = self._open()
        total = self.config.trials
        with progress_bar(self.console, "trials") as report:
            while (number := len(_ended(study))) < total:
                self._run_trial(study, number, report)
        return self._finish(study)

    def _open(self) -> "optuna.Study":
        """The study as the folder holds it, or a new one."""
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
        from optuna.trial import TrialState

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        config = self.config
        path = self.folder.path / JOURNAL
        if path.exists():
            # The end of the process cut the last line short, and left the lock.
            text = path.read_bytes()
            write_bytes(path, text[: text.rfind(b"\n") + 1])
            path.with_name(f"{JOURNAL}.lock").unlink(missing_ok=True)
        pruners = optuna.pruners
        pruner = (
            pruners.NopPruner()
            if config.prune_after is None
            else pruners.MedianPruner(n_startup_trials=config.startup, n_warmup_steps=config.prune_after)
        )
        try:
            storage = JournalStorage(JournalFileBackend(str(path), JournalFileOpenLock(str(path))))
            study = optuna.create_study(study_name=config.name, storage=storage, pruner=pruner, direction="maximize", load_if_exists=True)
            for trial in study.get_trials(states=(TrialState.RUNNING,)):
                study.tell(trial.number, state=TrialState.FAIL)
            space = {key: values.distribution() for key, values in config.space.items()}
            fits = all(trial.distributions == space for trial in _ended(study))
        except (LookupError, ValueError, TypeError, AssertionError) as error:
            raise RecordError(f"{path} is damaged: {error}") from None
        if not fits:
            raise RecordError(f"{path} does not fit its configuration: it has trials with another space")
        return study

    def _run_trial(self, study: "optuna.Study", number: int, report: Report) -> None:
        """Propose a trial, train it or what is left of it, and tell the study."""
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        config = self.config
        # One generator a trial: what a resumed study proposes does not depend on how often it was stopped.
        study.sampler = TPESampler(n_startup_trials=config.startup, seed=derive_seed(config.seed, number) % 2**32)
        if number == 0 and not study.get_trials(states=(TrialState.WAITING,)):
            if self.start is None:
                self._say("the space does not hold the start's own values: no trial has them")
            else:
                study.enqueue_trial(self.start)
        trial = study.ask({key: values.distribution() for key, values in config.space.items()})
        name = f"trial-{number:03d}"
        trial.set_user_attr("folder", name)
        values = self._values(trial.params)
        label = f"trial {number + 1:>3} of {config.trials}   "
        try:
            chosen = config.trial(name, name, values)
        except ConfigError as error:
            study.tell(trial, state=TrialState.PRUNED)
            self._say(f"{label}left out, its values do not go together: {error}")
            return
        best = self._best(study)
        said = f"best {self._percent(best.value)} ({best.user_attrs['folder']})" if best else ""

        def progress(steps: int) -> None:
            report(number, config.trials, f"{name}: {steps:,} of {chosen.budget.steps:,} steps  {said}")

        progress(0)
        try:
            figure = self._train(trial, name, chosen, progress)
        except ValueError as error:
            if isinstance(error, DeckhandError):
                raise
            # Networks whose weights grew beyond all bounds: torch finds no probabilities. The study goes on without them.
            study.tell(trial, state=TrialState.PRUNED)
            self._say(f"{label}broke off: {' '.join(str(error).split())[:200]}")
            return
        if figure is None:
            study.tell(trial, state=TrialState.PRUNED)
        else:
            trial.set_user_attr("interval", [figure.low, figure.high])
            study.tell(trial, figure.mean)
        text = self._result(study.trials[trial.number])
        self._say(f"{label}{text}   {', '.join(f'{key} {_short(value)}' for key, value in values.items())}")

    def _train(self, trial: "optuna.Trial", name: str, chosen: TrainConfig, progress: Callable[[int], None]) -> Figure | None:
        """The objective of a trial; None if it was pruned. What its folder holds is not trained again."""
        told: set[int] = set()

        def trails(row: Mapping[str, Any]) -> bool:
            """Tell optuna the evaluation in a row of metrics, if there is one; whether the trial should end."""
            figure = measured(row)
            # Counted in evaluations: steps come in whole rollouts, whose length can be tuned.
            count = row["steps"] // chosen.evaluation.every
            if figure is None or count == 0 or count in told:
                return False
            told.add(count)
            trial.report(figure, count)
            return row["steps"] < chosen.budget.steps and trial.should_prune()

        path = self.folder.path / name
        stored = path / "config.yaml"
        if path.exists() and not (stored.is_file() and stored.read_text(encoding="utf-8") == dump_config(chosen)):
            shutil.rmtree(path)  # killed before it began, or proposed by another version of optuna
        folder, resume = RunFolder.of_variant(self.folder, name, chosen)
        result = path / "evaluation.json"
        if resume and any(trails(row) for row in folder.read(folder.metrics)):
            return None
        if not result.exists():
            # Imported late: torch takes seconds to load.
            from .trials import TrialTrainer

            trainer = TrialTrainer(chosen, folder, trails, progress)
            trainer.run(resume=resume)
            if trainer.pruned:
                return None
        return objective(read_json(result)["evaluations"])

    def _finish(self, study: "optuna.Study") -> Grid:
        """The best configuration, the table, the picture."""
        ranked = _complete(study)
        if not ranked:
            raise DeckhandError(f"{self.folder.path}: no trial came to its end: no values of the space go together")
        best = ranked[0]
        values = self._values(best.params)
        chosen = change_config(self.config.name, self.config.train, {"name": f"{self.config.name}-best", **values})
        told = [f"# {key}: {_short(value)}" for key, value in values.items()]
        head = f"# {self.config.train.name} with the values of {best.user_attrs['folder']}, the best of {self.config.trials} trials:"
        write_text(self.folder.path / "best.yaml", "\n".join([head, *told, dump_config(chosen)]))
        grid = self._grid(ranked)
        write_text(self.folder.path / "trials.md", grid.to_markdown())
        self._draw(study)
        return grid

    def _grid(self, ranked: Sequence["FrozenTrial"]) -> Grid:
        settings = self.config.objective
        against = ", ".join(settings.against or self.config.train.evaluation.against)
        figure = "mean score" if self.cooperative else f"win share against {against}"
        title = (
            f"{self.config.name}: {figure} on {settings.deals:,} deals, 95 % intervals; {len(ranked)} of {self.config.trials} trials "
            "came to their end\nThe best owes some of its figure to luck: a training with best.yaml measures it on new deals."
        )
        rows = []
        for trial in ranked[:SHOWN]:
            name = trial.user_attrs["folder"] + (" (start)" if trial.params == self.start else "")
            rows.append([name, self._result(trial), *(_short(value) for value in self._values(trial.params).values())])
        return Grid(title, ["", "objective", *self.config.space], rows)

    def _result(self, trial: "FrozenTrial") -> str:
        """How a trial ended, in words."""
        if "interval" in trial.user_attrs:
            return Figure(trial.values[0], *trial.user_attrs["interval"]).text(percent=not self.cooperative)
        last = max(trial.intermediate_values)
        return f"pruned after evaluation {last} with {self._percent(trial.intermediate_values[last])}"

    def _percent(self, value: float | None) -> str:
        assert value is not None
        return f"{value:.2f}" if self.cooperative else f"{100 * value:.1f} %"

    def _best(self, study: "optuna.Study") -> "FrozenTrial | None":
        return next(iter(_complete(study)), None)

    def _values(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The values of optuna's parameters, in the order of the space."""
        return {key: values.value(parameters[key]) for key, values in self.config.space.items()}

    def _say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def _draw(self, study: "optuna.Study") -> None:
        """``curve.png``: the objective by trial, the importance of every key, the objective by the value of every key."""
        import matplotlib
        from optuna.importance import get_param_importances
        from optuna.trial import TrialState

        matplotlib.use("Agg")
        from matplotlib.figure import Figure as Picture

        numbers = {trial.number: i for i, trial in enumerate(_ended(study))}
        complete = sorted(_complete(study), key=lambda trial: trial.number)
        pruned = [t for t in _ended(study) if t.state == TrialState.PRUNED and t.intermediate_values]
        x, y = [numbers[t.number] for t in complete], np.array([t.value for t in complete])
        intervals = np.array([t.user_attrs["interval"] for t in complete]).T
        rows = -(-(2 + len(self.config.space)) // 3)
        figure = Picture(figsize=(13, 3.6 * rows), layout="constrained")
        above, weights, *slices = figure.subplots(rows, 3, squeeze=False).flat
        above.errorbar(x, y, np.abs(intervals - y), fmt=".", elinewidth=1, label="objective, 95 % interval")
        above.step(x, [*accumulate(y, max)], where="post", label="best so far")
        if pruned:
            last = [t.intermediate_values[max(t.intermediate_values)] for t in pruned]
            above.plot([numbers[t.number] for t in pruned], last, "x", color="grey", label="pruned")
        above.set(title="objective by trial", xlabel="trial")
        above.xaxis.get_major_locator().set_params(integer=True)
        above.legend(fontsize="x-small")
        if len(complete) >= ENOUGH:
            shares = get_param_importances(study)
            weights.barh([*shares][::-1], [*shares.values()][::-1])
            weights.set_title("importance (PED-ANOVA)")
        else:
            weights.set_axis_off()
            weights.text(0.5, 0.5, f"importance: from {ENOUGH} finished trials on", ha="center", transform=weights.transAxes)
        for (key, values), axes in zip(self.config.space.items(), slices, strict=False):
            places: Sequence[Any] = [t.params[key] for t in complete]
            if values.choices is None:
                axes.set(xscale="log" if values.log else "linear", xlim=values.ends)
                if values.log:
                    low, high = values.ends
                    ticks = np.geomspace(low, high, 4)
                    axes.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
                    axes.set_xticks([], minor=True)
            else:
                texts = [_text(c) for c in values.choices]
                places = [texts.index(p) for p in places]
                axes.set_xticks(range(len(texts)), texts)
                axes.set_xlim(-0.5, len(texts) - 0.5)
            axes.scatter(places, y, c=x, cmap="viridis", s=14, clip_on=False)
            axes.set(title=key)
        for axes in slices[len(self.config.space) :]:
            axes.set_axis_off()
        for axes in (above, *slices):
            axes.grid(alpha=0.3)
        self.folder.save_picture(figure)


def objective(reports: Sequence[Mapping[str, Any]]) -> Figure:
    """The figure of a run's final evaluation (``deckhand/evaluation/1``) that a study maximises.

    The ends of its interval are the means of the ends: at least as wide as the interval of the mean.
    """
    # The second half is the same policy drawing its actions.
    mains = [report["figures"][0]["win_share" if report["by_seat"] else "score"] for report in reports[: len(reports) // 2]]
    return Figure(*(float(np.mean([main[end] for main in mains])) for end in ("mean", "low", "high")))


def measured(row: Mapping[str, Any]) -> float | None:
    """The same figure of an evaluation while the run trains, from a row of its metrics; None if there was none."""
    found = [value for key, value in row.items() if MEASURED.fullmatch(key)]
    return float(np.mean(found)) if found else None


def _ended(study: "optuna.Study") -> "list[FrozenTrial]":
    """Trials that count, in their order."""
    from optuna.trial import TrialState

    return study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))


def _complete(study: "optuna.Study") -> "list[FrozenTrial]":
    """Trials that came to their end, the best first; of equal ones the first."""
    from optuna.trial import TrialState

    return sorted(study.get_trials(states=(TrialState.COMPLETE,)), key=lambda trial: -trial.values[0])


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _text(value)
