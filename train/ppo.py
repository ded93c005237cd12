"""Self-play with MaskablePPO over the batch of games, in a way that can be stopped, resumed and repeated exactly."""

import shutil
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from torch import nn

from ..agents import Agent, make_agent
from ..agents.policy import Card, Layers, PolicyAgent, save_policy
from ..envs import get_game
from ..envs.core import Game, RecordError
from ..envs.core.files import write_json, write_text
from ..envs.core.rng import derive_seed
from ..envs.learner_batch import LearnerBatch
from ..envs.sb3 import Sb3VecEnv
from .config import TrainConfig
from .evaluation import Evaluation, evaluate
from .imitation import Imitation
from .opponents import OpponentPool
from .runs import Checkpoint, RunFolder
from .statistics import Figure
from .symmetric import SharedLinear, share_weights
from .tables import Grid

GREEDY = "policy"
"""The name in evaluations of the policy that takes its most likely action."""

# Seeds of the run's parts: indexes into the stream of its seed.
NETWORK, GAMES, WARM_START, AFTER_CHECKPOINT = 1, 2, 2**40, 2**41


class ScaledReward(VecEnvWrapper):
    """Multiplies the rewards that the learner sees; ``info["episode"]`` keeps the game's own."""

    def __init__(self, env: VecEnv, scale: float) -> None:
        super().__init__(env)
        self.scale = np.float32(scale)

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = self.venv.step_wait()
        return observations, rewards * self.scale, dones, infos


class Trainer(BaseCallback):
    """One training run in its folder: :meth:`run` starts or resumes it and ends with the final evaluation.

    Everything happens between rollouts, when SB3 holds no half-finished state: evaluation, snapshot, metrics, checkpoint.

    *Exact resumption.* A checkpoint holds networks, optimiser, games and opponents. Instead of storing generators, the run that goes on
    after a checkpoint loads it as the run that resumes from it does, and torch, NumPy and the opponents start from seeds that follow from
    the run's seed and the step. The resumed run therefore is the run that was never stopped.
    """

    def __init__(self, config: TrainConfig, folder: RunFolder, console: Console) -> None:
        super().__init__()
        torch.set_num_threads(config.threads)
        self.config = config
        self.folder = folder
        self.game: Game = get_game(config.game)
        self.pool = OpponentPool(self.game, config.opponents, config.network.activation)
        self.baselines = [make_agent(self.game, spec) for spec in config.evaluation.against]
        self.display = _Display(console, config.budget.steps)
        opponents, weights = self.pool.draw()
        self.batch = LearnerBatch(
            self.game,
            config.ppo.games,
            config.players,
            config.options,
            opponents=opponents,
            weights=weights,
        )
        self.ppo = _make_model(config, self.game, ScaledReward(Sb3VecEnv(self.batch), config.reward_scale))
        self.steps = 0
        self.seconds = 0.0
        self.finished = False
        self.stages = [
            Imitation(
                self.ppo,
                self.batch,
                make_agent(self.game, stage.agent),
                stage,
                folder.path / "warm_start" / str(i),
                symmetric=config.network.symmetric,
            )
            for i, stage in enumerate(config.warm_start)
        ]
        self.warm_rounds = 0
        """Rounds done, of all stages together."""
        self.episodes: list[dict[str, Any]] = []

    def run(self, resume: bool = False) -> list[Evaluation]:
        """Train to the end of the budget, evaluate, write the results. While it runs no other process can use the folder."""
        with self.folder.held():
            return self._run(resume)

    def _run(self, resume: bool) -> list[Evaluation]:
        if resume:
            self._load(self.folder.load_checkpoint())
            self.folder.cut(self.steps, self.warm_rounds)
        else:
            self.ppo._last_obs = self.batch.reset(derive_seed(self.config.seed, GAMES)).observations
            self.ppo._last_episode_starts = np.ones(self.config.ppo.games, np.bool_)
            self._save_checkpoint()
        # Opened last: a run that is refused leaves no file of events.
        where = str(self.folder.path / "tensorboard")
        self.ppo.set_logger(Logger(str(self.folder.path), [TensorBoardOutputFormat(where)]))
        self._started = time.monotonic() - self.seconds
        with self.display:
            first = 0
            while self.stages:
                first = self._run_stage(self.stages.pop(0), first)  # after which nothing holds the stage's decisions
            shutil.rmtree(self.folder.path / "warm_start", ignore_errors=True)
            remaining = self.config.budget.steps - self.steps
            if remaining > 0:
                self.ppo.learn(remaining, self, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
            return self._finish()

    def _run_stage(self, stage: Imitation, first: int) -> int:
        """What is not done yet of a stage whose first round is number ``first`` of the warm start; the number after its last."""
        end = first + stage.rounds
        if self.warm_rounds >= end:
            return end
        stage.load(self.warm_rounds - first)
        while self.warm_rounds < end:
            stage.agent.reset(derive_seed(self.config.seed, WARM_START + self.warm_rounds))
            named = {f"warm_start/{key}": value for key, value in stage.run_round(self.warm_rounds - first).items()}
            self.warm_rounds += 1
            if self.warm_rounds == end:
                named |= self._measure()
            self.folder.append(self.folder.metrics, {"steps": 0, "warm_start/round": self.warm_rounds, **named})
            for key, value in named.items():
                self.ppo.logger.record(key, value)
            self.ppo.logger.dump(self.warm_rounds)
            self.display.show_warm_start(stage.settings.agent, self.warm_rounds - first, stage.rounds, named)
            self.seconds = time.monotonic() - self._started
            self._save_checkpoint()
        shutil.rmtree(stage.folder, ignore_errors=True)
        return end

    # The hooks of SB3, in the order in which it calls them.

    def _on_rollout_start(self) -> None:
        if self.num_timesteps > self.steps:
            self._between_rollouts()
        self.ppo.ent_coef = self.config.ppo.entropy.at(self.steps / self.config.budget.steps)

    def _on_step(self) -> bool:
        self.episodes += [info for info, done in zip(self.locals["infos"], self.locals["dones"], strict=True) if done]
        self.display.show_progress(self.num_timesteps)
        return not self.finished

    def _on_training_end(self) -> None:
        if not self.finished:
            self._between_rollouts()

    def _between_rollouts(self) -> None:
        """After a rollout and the update that learned from it."""
        before, self.steps = self.steps, self.num_timesteps
        config = self.config
        values: dict[str, Any] = {"steps": self.steps, **_summary(self.episodes, self.game)}
        self.episodes = []
        values |= {key: float(value) for key, value in sorted(self.logger.name_to_value.items()) if key.startswith("train/")}
        if _passed(before, self.steps, config.evaluation.every):
            values |= self._measure()
        snapshots = config.opponents.snapshots
        if snapshots and _passed(before, self.steps, snapshots.every):
            self.pool.add(self.steps, self._layers())
            self._update_opponents()
        seconds = time.monotonic() - self._started
        speed = (self.steps - before) / max(seconds - self.seconds, 1e-9)
        self.seconds = seconds
        self._log(values, speed)
        if _passed(before, self.steps, config.checkpoint_every):
            self._save_checkpoint()
        limit = config.budget.minutes
        self.finished = limit is not None and seconds >= 60 * limit

    def _log(self, values: dict[str, Any], speed: float) -> None:
        self.folder.append(self.folder.metrics, values)
        self.folder.append(self.folder.timing, {"steps": self.steps, "seconds": round(self.seconds, 3), "steps_per_second": round(speed)})
        for key, value in values.items():
            self.logger.record(key, value)
        self.logger.record("time/steps_per_second", speed)
        self.logger.dump(self.steps)
        self.display.show_step(self.steps, speed, values)

    def _measure(self) -> dict[str, float]:
        """How good the learner is now: shown, and as values of the metrics."""
        evaluations = self._evaluate(self.config.evaluation.deals, self.config.evaluation.seed)
        figures = _headlines(evaluations)
        self.display.show_figures(self.steps, time.monotonic() - self._started, figures)
        return _flat("evaluation", figures) | _flat("statistics", _rates(evaluations))

    def _evaluate(self, deals: int, seed: int, deterministic: bool = True) -> list[Evaluation]:
        """One evaluation a number of players and a baseline; cooperative games are played beside all baselines at once."""
        name = GREEDY if deterministic else f"{GREEDY} (stochastic)"
        agent = PolicyAgent(self.game, self._layers(), self.config.network.activation, deterministic=deterministic, name=name)
        groups: list[Sequence[Agent]] = [self.baselines] if self.game.cooperative else [[baseline] for baseline in self.baselines]
        return [
            evaluate(self.game, agent, group, num_players=players, options=self.config.options, deals=deals, seed=seed)
            for players in dict.fromkeys(self.config.players)  # a count listed twice only gets more training games
            for group in groups
        ]

    def _finish(self) -> list[Evaluation]:
        """Final evaluation on deals of its own, trained weights, report and curve."""
        settings = self.config.evaluation
        self.display.say(f"final evaluation on {settings.final_deals:,} deals that nothing was chosen by")
        evaluations = [e for greedy in (True, False) for e in self._evaluate(settings.final_deals, settings.final_seed, greedy)]
        reports = [e.to_json() for e in evaluations]
        save_policy(self.folder.path, self._layers(), self._card(reports))
        write_text(self.folder.path / "evaluation.md", "\n".join(e.to_markdown() for e in evaluations))
        self.folder.draw_curve()
        # The last file: where it is, the run is finished.
        write_json(self.folder.path / "evaluation.json", {"steps": self.steps, "evaluations": reports})
        return evaluations

    # Networks, opponents, checkpoints.

    def _layers(self) -> Layers:
        """The actor's layers."""
        modules = [*self.ppo.policy.mlp_extractor.policy_net, self.ppo.policy.action_net]
        return [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in modules if isinstance(m, (nn.Linear, SharedLinear))]

    def _card(self, results: list[dict[str, Any]]) -> Card:
        network = self.config.network
        # Where the run folder was made says nothing about the network.
        config = self.config.model_dump(exclude={"runs"})
        return Card.for_game(self.game, network.hidden, network.activation, steps=self.steps, config=config, results=results)

    def _update_opponents(self) -> None:
        if max(self.config.players) > 1:
            self.batch.set_opponents(*self.pool.draw())

    def _save_checkpoint(self) -> None:
        arrays = {f"network.{k}": v.numpy() for k, v in self.ppo.policy.state_dict().items()}
        for i, state in self.ppo.policy.optimizer.state_dict()["state"].items():
            arrays |= {f"optimizer.{i}.{k}": v.numpy() for k, v in state.items()}
        arrays |= {f"batch.{k}": v for k, v in self.batch.state().items()} | {"episode_starts": np.array(self.ppo._last_episode_starts)}
        opponents, values = self.pool.state(self.batch.agents)
        values |= {"updates": self.ppo._n_updates, "seconds": self.seconds, "warm_rounds": self.warm_rounds}
        checkpoint = Checkpoint(self.steps, arrays | opponents, values)
        self.folder.save_checkpoint(checkpoint, lambda path: save_policy(path, self._layers(), self._card([])))
        self._load(checkpoint)

    def _load(self, checkpoint: Checkpoint) -> None:
        """Everything as it was at a checkpoint; everything random starts from the seed of its step."""
        self.steps = self.ppo.num_timesteps = checkpoint.steps
        try:
            self.ppo.policy.load_state_dict({k: torch.from_numpy(v) for k, v in checkpoint.section("network").items()})
            self.ppo.policy.optimizer.load_state_dict(self._optimizer_state(checkpoint))
            self.ppo._n_updates = int(checkpoint.values["updates"])
            self.seconds = float(checkpoint.values["seconds"])
            self.warm_rounds = int(checkpoint.values["warm_rounds"])
            agents = self.pool.load_state(checkpoint.arrays, checkpoint.values)
            self.ppo._last_obs = self.batch.load_state(checkpoint.section("batch"), agents)
            self.ppo._last_episode_starts = checkpoint.arrays["episode_starts"]
        except (RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise RecordError(f"the checkpoint of {self.folder.path} does not fit its configuration: {error}") from None
        self._update_opponents()
        seed = derive_seed(self.config.seed, AFTER_CHECKPOINT + self.steps if self.steps else WARM_START + self.warm_rounds)
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002 (SB3 shuffles its batches with NumPy's global generator)
        for i, agent in enumerate(self.batch.agents):
            agent.reset(derive_seed(seed, i))

    def _optimizer_state(self, checkpoint: Checkpoint) -> dict[str, Any]:
        state: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in checkpoint.section("optimizer").items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = torch.from_numpy(array)
        return {**self.ppo.policy.optimizer.state_dict(), "state": state}


def _make_model(config: TrainConfig, game: Game, env: VecEnv) -> MaskablePPO:
    ppo = config.ppo
    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=lambda remaining: ppo.learning_rate.at(1 - remaining),
        n_steps=ppo.steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip,
        vf_coef=ppo.value_coef,
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl,
        policy_kwargs={
            "net_arch": {"pi": config.network.hidden, "vf": config.network.hidden},
            "activation_fn": {"relu": nn.ReLU, "tanh": nn.Tanh}[config.network.activation],
        },
        seed=derive_seed(config.seed, NETWORK) % 2**32,
        device="cpu",
    )
    if config.network.symmetric:
        share_weights(model.policy, game)
    return model


def _passed(before: int, now: int, every: int) -> bool:
    """Whether a multiple of ``every`` lies in (before, now]."""
    return before // every < now // every


def _summary(episodes: Sequence[dict[str, Any]], game: Game) -> dict[str, Any]:
    """The training episodes of one rollout; ``win_rate`` counts a shared win as a win."""
    if not episodes:
        return {"rollout/episodes": 0}
    values = {
        "rollout/episodes": len(episodes),
        "rollout/return": float(np.mean([e["episode"]["r"] for e in episodes])),
        "rollout/length": float(np.mean([e["episode"]["l"] for e in episodes])),
        "rollout/win_rate": float(np.mean([e["won"] for e in episodes])),
    }
    if not game.cooperative:
        for seat in sorted({e["seat"] for e in episodes}):
            values[f"rollout/win_rate_player_{seat}"] = float(np.mean([e["won"] for e in episodes if e["seat"] == seat]))
    return values


def summary(evaluations: Sequence[Evaluation]) -> Grid:
    """The final evaluation at a glance; ``evaluation.md`` has all its tables."""
    first = evaluations[0]
    rows: list[list[str]] = []
    if first.game.cooperative:
        title = f"final evaluation: every player on the same {first.deals:,} new deals, 95 % intervals"
        header = ["", *first.rows[0].figures]
        listed = set()
        for evaluation in evaluations:
            # The baselines play the same in every evaluation with so many players: they are listed once.
            chosen = [*evaluation.rows[: 1 if evaluation.num_players in listed else None], *evaluation.difference[:1]]
            listed.add(evaluation.num_players)
            where = _setting(evaluation, evaluations)
            rows += [[f"{row.agent}{where}", *(f.text(percent=name == "win_rate") for name, f in row.figures.items())] for row in chosen]
    else:
        title = f"final evaluation: {first.deals:,} new deals against each opponent, seats rotated, 95 % intervals"
        seats = max(evaluation.num_players for evaluation in evaluations)
        header = ["against", "win share", *(f"as player {seat}" for seat in range(seats))]
        for evaluation in evaluations:
            texts = [figure.text(percent=True) for figure in (evaluation.main, *evaluation.by_seat)]
            drawn = "" if evaluation.rows[0].agent == GREEDY else ", stochastic"
            name = f"{evaluation.rows[1].agent}{_setting(evaluation, evaluations)}{drawn}"
            rows.append([name, *texts, *[""] * (seats + 1 - len(texts))])
    return Grid(title, header, rows)


def _headlines(evaluations: Sequence[Evaluation]) -> dict[str, Figure]:
    """The figures that the progress display shows."""
    figures = {}
    for evaluation in evaluations:
        first, where = evaluation.rows[0], _setting(evaluation, evaluations)
        if evaluation.game.cooperative:
            figures[f"score{where}"] = evaluation.main
            if evaluation.difference:
                figures[f"score - {evaluation.rows[1].agent}{where}"] = evaluation.difference[0].figures["score"]
        else:
            figures[f"win share against {evaluation.rows[1].agent}{where}"] = first.figures["win_share"]
    return figures


def _rates(evaluations: Sequence[Evaluation]) -> dict[str, Figure]:
    """The learner's rates among the game's statistics."""
    figures = {}
    for evaluation in evaluations:
        where = "" if evaluation.game.cooperative else f" against {evaluation.rows[1].agent}"
        for name, figure in evaluation.statistics[0].rates.items():
            if figure:
                figures[f"{name.replace('_', ' ')}{where}{_setting(evaluation, evaluations)}"] = figure
    return figures


def _setting(evaluation: Evaluation, all_: Sequence[Evaluation]) -> str:
    """The player count, where there are several."""
    return f", {evaluation.num_players} players" if len({e.num_players for e in all_}) > 1 else ""


def _flat(section: str, figures: dict[str, Figure]) -> dict[str, float]:
    """Figures as single numbers."""
    return {f"{section}/{name}/{key}": value for name, figure in figures.items() for key, value in figure.to_json().items()}


class _Display:
    """Progress on the screen: a bar on terminals, plain lines elsewhere."""

    def __init__(self, console: Console, steps: int) -> None:
        self.console = console
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[text]}"),
        )
        self.bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self.task = self.bar.add_task("training", total=steps, text="")
        self.total = steps

    def __enter__(self) -> "_Display":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def show_warm_start(self, agent: str, done: int, rounds: int, values: dict[str, float]) -> None:
        """The end of a round before the first step; the last one of a stage stays on the screen."""
        own = {key.removeprefix("warm_start/"): value for key, value in values.items() if key.startswith("warm_start/")}
        text = ", ".join(f"{key.replace('_', ' ')} {value:.3f}" for key, value in own.items())
        self.bar.update(self.task, description=f"warm start by {agent}", total=rounds, completed=done, text=text)
        if done == rounds:
            self.bar.update(self.task, description="training", total=self.total, completed=0, text="")
            self.say(f"warm start by {agent}, {rounds} rounds: {text}")

    def show_progress(self, steps: int) -> None:
        """Within a rollout, which takes long where opponents search."""
        self.bar.update(self.task, completed=steps)

    def show_step(self, steps: int, speed: float, values: dict[str, Any]) -> None:
        """The end of a rollout."""
        returns = f", return {values['rollout/return']:.2f}" if "rollout/return" in values else ""
        self.bar.update(self.task, completed=steps, text=f"{speed:,.0f} steps/s{returns}")

    def show_figures(self, steps: int, seconds: float, figures: dict[str, Figure]) -> None:
        """A measurement after ``seconds`` of training; it stays on the screen."""
        texts = [f"{name} {figure.text(percent=name.startswith('win'))}" for name, figure in figures.items()]
        self.say(f"{steps:>11,} steps {timedelta(seconds=round(seconds))}  {'   '.join(texts)}")
