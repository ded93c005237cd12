"""A training run as a trial of a study."""

from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

from rich.console import Console

from .config import TrainConfig
from .evaluation import Evaluation
from .ppo import Trainer
from .runs import RunFolder


class TrialTrainer(Trainer):
    """Trains as any run does, but silently, and ends early, without a final evaluation, when it trails.

    ``trails`` is told the metrics of every rollout and says whether the trial is to end; ``progress`` is told the steps.
    """

    def __init__(
        self, config: TrainConfig, folder: RunFolder, trails: Callable[[Mapping[str, Any]], bool], progress: Callable[[int], None]
    ) -> None:
        super().__init__(config, folder, Console(file=StringIO()))
        self.trails = trails
        self.progress = progress
        self.pruned = False

    def _on_step(self) -> bool:
        self.progress(self.num_timesteps)
        return super()._on_step()

    def _log(self, values: dict[str, Any], speed: float) -> None:
        super()._log(values, speed)
        self.pruned = self.trails(values)

    def _between_rollouts(self) -> None:
        super()._between_rollouts()
        self.finished |= self.pruned

    def _finish(self) -> list[Evaluation]:
        if not self.pruned:
            return super()._finish()
        self.folder.draw_curve()
        return []
