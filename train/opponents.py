"""Who the learner plays against: rule agents with fixed weights, and its own past selves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, make_agent
from ..agents.policy import Layers, PolicyAgent
from ..envs.core import Game
from .config import Opponents


@dataclass(frozen=True)
class Snapshot:
    """The learner's actor after ``steps`` steps."""

    steps: int
    layers: Layers


class OpponentPool:
    """The opponents of one training run.

    The rule: each rule agent keeps its weight. Once there are snapshots they have ``snapshots.weight`` together: the newest gets the share
    ``latest`` of it (all, if it is the only one), the others divide the rest evenly. The oldest leaves when there are more than ``keep``.
    Snapshots draw their actions from their distribution, as the learner does.
    """

    def __init__(self, game: Game, config: Opponents, activation: str) -> None:
        self.game = game
        self.config = config
        self.activation = activation
        self.rules = [make_agent(game, spec) for spec in config.agents]
        self.snapshots: list[Snapshot] = []

    def add(self, steps: int, layers: Layers) -> None:
        """Put the present learner into the pool."""
        if self.config.snapshots is not None:
            self.snapshots = [*self.snapshots, Snapshot(steps, layers)][-self.config.snapshots.keep :]

    def draw(self) -> tuple[list[Agent], list[float]]:
        """All opponents and their weights."""
        agents, weights = list(self.rules), list(self.config.agents.values())
        settings = self.config.snapshots
        if settings is None or not self.snapshots:
            return agents, weights
        past = len(self.snapshots) - 1
        newest = settings.weight * (settings.latest if past else 1.0)
        for i, snapshot in enumerate(self.snapshots):
            agents.append(PolicyAgent(self.game, snapshot.layers, self.activation, deterministic=False, name=f"snapshot-{snapshot.steps}"))
            weights.append(newest if i == past else (settings.weight - newest) / past)
        return agents, weights

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The snapshots as named arrays: ``snapshot.<steps>.<layer>.weight`` and ``.bias``."""
        arrays = {}
        for snapshot in self.snapshots:
            for i, (weight, bias) in enumerate(snapshot.layers):
                arrays[f"snapshot.{snapshot.steps}.{i}.weight"] = weight
                arrays[f"snapshot.{snapshot.steps}.{i}.bias"] = bias
        return arrays

    def load_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Read what :meth:`to_arrays` gave."""
        steps = sorted({int(name.split(".")[1]) for name in arrays if name.startswith("snapshot.")})
        self.snapshots = []
        for step in steps:
            layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
            while f"snapshot.{step}.{len(layers)}.weight" in arrays:
                prefix = f"snapshot.{step}.{len(layers)}"
                layers.append((arrays[f"{prefix}.weight"], arrays[f"{prefix}.bias"]))
            self.snapshots.append(Snapshot(step, layers))


def copy_layers(layers: Layers) -> Layers:
    """Layers that later training does not change."""
    return [(np.array(weight), np.array(bias)) for weight, bias in layers]
