"""Learning the value of afterstates by TD(lambda) from self-play, after a teacher's games or from nothing but the rules.

The agent (:class:`deckhand.agents.ValueAgent`) plays by a moving average of the network, now and then an option at random. When a game is
over, the network is told from the last decision backwards what each afterstate was worth: the lambda-return, a blend of what the next
decisions expected and what the game brought in the end, cut after steps aside (TD-Gammon's way, Tesauro 1995, with the cut of Watkins'
Q(lambda), Sutton and Barto 2018, section 12.10). One step of RMSprop a decision. One core does all the work.

Deals: game ``k`` is dealt from ``derive_seed(seed, k)``, never one of an evaluation (:mod:`deckhand.train.evaluation`).

*Resumption.* After every round of games a checkpoint holds all that there is; a run that resumes is the run that was never stopped.

The run folder is that of :mod:`deckhand.train.runs`; ``steps`` are games, and the result is ``values.safetensors`` with its card.
"""

import time
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from rich.console import Console
from tensorboard.summary import Writer

from ..agents import RuleAgent, ValueAgent, make_agent
from ..agents.compiled_agent import compiled_numbers
from ..agents.rules import rule_set
from ..agents.value_agent import ValueCard, check_values, count_weights, save_values
from ..envs import get_game
from ..envs.core import DeckhandError, Game, RecordError
from ..envs.core.files import write_json, write_text
from ..envs.core.jit import bind
from ..envs.core.rng import MAX_SEED, derive_seed
from . import td_loops
from .config import ConfigError, Evaluation, Positive, RunConfig, Schedule, Section, Share, Steps
from .evaluation import EVALUATION_STREAM, evaluate
from .evaluation import Evaluation as Report
from .progress import progress_bar
from .runs import Checkpoint, RunFolder
from .statistics import Figure

NETWORK = EVALUATION_STREAM - 1
"""The first weights are drawn from ``derive_seed(seed, NETWORK)``; deals count from 0."""


class Teacher(Section):
    """Who plays the first games."""

    agent: str
    games: Steps
    exploration: Share


class TDConfig(RunConfig):
    """One training run of a value network."""

    shipped = "td_"

    game: str
    options: Annotated[list[dict[str, Any]], Field(min_length=1)]
    """Rule options; the games take these in turn."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    hidden: Annotated[int, Field(ge=1, le=1024)]
    games: Steps
    round: Positive = 10_000
    teacher: Teacher | None = None
    learning_rate: Schedule
    trace: Share
    exploration: Share
    scale: Annotated[float, Field(gt=0)]
    average: Annotated[float, Field(gt=0, le=1)]
    average_every: Positive
    evaluation: Evaluation

    def check(self, label: str) -> None:
        def check(key: str, action: Callable[[], Any]) -> Any:
            try:
                return action()
            except DeckhandError as error:
                raise ConfigError(f"{label}: {key}: {error}") from None

        game = check("game", lambda: get_game(self.game))
        check("game", lambda: check_values(game))
        check("options", lambda: [game.parse_options(options) for options in self.options])
        check("evaluation.against", lambda: [make_agent(game, spec) for spec in self.evaluation.against])
        if self.teacher:
            teacher = check("teacher.agent", partial(make_agent, game, self.teacher.agent))
            if not isinstance(teacher, RuleAgent):
                raise ConfigError(f"{label}: teacher.agent cannot be {self.teacher.agent!r}: it is no rule agent")
            if self.teacher.games % self.round:
                raise ConfigError(f"{label}: teacher.games must be a multiple of round")


class TDTrainer:
    """One training run in its folder: :meth:`run` starts or resumes it and ends with the final evaluation."""

    def __init__(self, config: TDConfig, folder: RunFolder, console: Console) -> None:
        self.config = config
        self.folder = folder
        self.console = console
        self.game: Game = get_game(config.game)
        self.baselines = [make_agent(self.game, spec) for spec in config.evaluation.against]
        self.templates = self.game.allocate(len(config.options))
        for i, options in enumerate(config.options):
            self.templates[i : i + 1] = self.game.template(self.game.min_players, self.game.parse_options(options))
        self.weights = _first_weights(self.game, config.hidden, derive_seed(config.seed, NETWORK))
        self.average = self.weights.copy()
        self.squares = np.full(len(self.weights), 1e-2)
        self.squares[0] = config.hidden  # laid out as the weights are
        self.games = 0
        self.seconds = 0.0

    def run(self, resume: bool = False) -> list[Report]:
        """Train, evaluate, write the results. While it runs no other process can use the folder."""
        with self.folder.held():
            if resume:
                self._load(self.folder.load_checkpoint())
                self.folder.cut(self.games)
            else:
                self._save()
            started = time.monotonic() - self.seconds
            # Opened last: a run that is refused leaves no file of events.
            with closing(Writer(str(self.folder.path / "tensorboard"))) as events, progress_bar(self.console, "games") as report:
                while self.games < self.config.games:
                    text = self._round(started, events)
                    report(self.games, self.config.games, text)
            return self._finish()

    def agent(self) -> ValueAgent:
        """The agent of the moving average."""
        weights = self.average.copy()
        weights[-1 - self.config.hidden :] *= self.config.scale  # the network learns divided returns
        return ValueAgent(self.game, weights)

    def _round(self, started: float, events: Writer) -> str:
        """Play and learn one round, note what came of it, save; returns a text about it."""
        config = self.config
        count = min(config.round, config.games - self.games)
        teacher = config.teacher if config.teacher and self.games < config.teacher.games else None
        kinds, params = compiled_numbers([make_agent(self.game, teacher.agent if teacher else "random")])
        mean, error = _learner(self.game)(
            self.game.allocate(1),
            self.templates,
            config.seed,
            self.games,
            count,
            config.scale,
            int(kinds[0]),
            params[0],
            teacher.exploration if teacher else config.exploration,
            config.trace,
            config.learning_rate.at(self.games / config.games),
            config.average,
            config.average_every,
            self.weights,
            self.squares,
            self.average,
            self.game.allocate(1),
            np.zeros(self.game.num_actions, np.bool_),
        )
        before, self.games = self.games, self.games + count
        row: dict[str, Any] = {"steps": self.games, "rollout/return": mean, "train/squared_error": error * config.scale**2}
        every = config.evaluation.every
        if before // every < self.games // every:
            for name, figure in self._measure().items():
                row |= {f"evaluation/{name}/{end}": value for end, value in figure.to_json().items()}
        since, self.seconds = self.seconds, time.monotonic() - started
        speed = count / max(self.seconds - since, 1e-9)
        self.folder.append(self.folder.metrics, row)
        for key, value in row.items():
            if key != "steps":
                events.add_scalar(key, value, self.games)
        self.folder.append(self.folder.timing, {"steps": self.games, "seconds": round(self.seconds, 3), "steps_per_second": round(speed)})
        self._save()
        return f"return {mean:.2f}, {speed:,.0f} games/s"

    def _measure(self) -> dict[str, Figure]:
        """How good the agent is now, shown on the screen."""
        settings = self.config.evaluation
        figures = {}
        for report in self._evaluate(settings.deals, settings.seed):
            where = self._setting(report)
            figures[f"return{where}"] = report.rows[0].figures["return"]
            if report.difference:
                figures[f"return - {report.rows[1].agent}{where}"] = report.difference[0].figures["return"]
        texts = [f"{name} {figure.text()}" for name, figure in figures.items()]
        self.console.print(f"{self.games:>11,} games  {'   '.join(texts)}", highlight=False, soft_wrap=True)
        return figures

    def _evaluate(self, deals: int, seed: int) -> list[Report]:
        """One evaluation beside the baselines with each of the options."""
        players = self.game.min_players
        different = [options for i, options in enumerate(self.config.options) if options not in self.config.options[:i]]
        return [
            evaluate(self.game, self.agent(), self.baselines, num_players=players, options=options, deals=deals, seed=seed)
            for options in different
        ]

    def _setting(self, report: Report) -> str:
        """The options that are not the same in all games."""
        own = report.options.model_dump()
        others = [self.game.parse_options(options).model_dump() for options in self.config.options]
        return "".join(f", {key} {value}" for key, value in own.items() if any(other[key] != value for other in others))

    def _finish(self) -> list[Report]:
        """Final evaluation on deals of its own, weights, report and curve."""
        settings = self.config.evaluation
        reports = self._evaluate(settings.final_deals, settings.final_seed)
        results = [report.to_json() for report in reports]
        save_values(self.folder.path, self.agent().params, self._card(results), self.game)
        write_text(self.folder.path / "evaluation.md", "\n".join(report.to_markdown() for report in reports))
        self.folder.draw_curve()
        # The last file: where it is, the run is finished.
        write_json(self.folder.path / "evaluation.json", {"steps": self.games, "evaluations": results})
        return reports

    def _card(self, results: list[dict[str, Any]]) -> ValueCard:
        # Where the run folder was made says nothing about the network.
        config = self.config.model_dump(exclude={"runs"})
        return ValueCard.for_game(self.game, self.config.hidden, games=self.games, config=config, results=results)

    def _save(self) -> None:
        checkpoint = Checkpoint(
            self.games, {"weights": self.weights, "average": self.average, "squares": self.squares}, {"seconds": self.seconds}
        )
        self.folder.save_checkpoint(checkpoint, lambda path: save_values(path, self.agent().params, self._card([]), self.game))

    def _load(self, checkpoint: Checkpoint) -> None:
        try:
            for name in ("weights", "average", "squares"):
                getattr(self, name)[:] = checkpoint.arrays[name]
            self.seconds = float(checkpoint.values["seconds"])
        except (KeyError, TypeError, ValueError):
            raise RecordError(f"{self.folder.path}: the checkpoint does not fit its configuration") from None
        self.games = checkpoint.steps


def _first_weights(game: Game, hidden: int, seed: int) -> NDArray[np.float64]:
    """Small random weights, no bias."""
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=count_weights(game, hidden)) * 0.05
    weights[0] = hidden
    weights[-1 - 2 * hidden : -1 - hidden] = 0
    weights[-1 - hidden : -1] = draw.normal(size=hidden) / np.sqrt(hidden)
    weights[-1] = 0
    return weights


@cache
def _learner(game: Game) -> Any:
    """The compiled loop."""
    kernels = vars(rule_set(game).loops) | {name: getattr(game.loops, name) for name in ("start", "advance", "write_mask", "write_view")}
    for name in ("step_row", "nudge", "learn"):
        kernels[name] = bind(getattr(td_loops, name), game.name, kernels)
    return kernels["learn"]
