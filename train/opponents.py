"""Who the learner plays against: rule agents with fixed weights, and its own past selves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, make_agent
from ..agents.policy import Layers, PolicyAgent
from ..envs.core import Game
from .config import Opponents


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
        self.snapshots: dict[int, PolicyAgent] = {}
        """Past selves by the step at which they were taken, oldest first."""

    def add(self, steps: int, layers: Layers) -> None:
        """Put a copy of the present learner into the pool."""
        if self.config.snapshots is not None:
            self.snapshots[steps] = self._snapshot(steps, copy_layers(layers))
            if len(self.snapshots) > self.config.snapshots.keep:
                del self.snapshots[min(self.snapshots)]

    def draw(self) -> tuple[list[Agent], list[float]]:
        """All opponents and their weights."""
        weights = list(self.config.agents.values())
        settings = self.config.snapshots
        if settings is None or not self.snapshots:
            return [*self.rules], weights
        past = len(self.snapshots) - 1
        newest = settings.weight * (settings.latest if past else 1.0)
        return [*self.rules, *self.snapshots.values()], [*weights, *[(settings.weight - newest) / max(past, 1)] * past, newest]

    def state(self, playing: Sequence[Agent]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and JSON values that :meth:`load_state` reads.

        ``playing`` are the agents who have a seat now, among them snapshots that have left the pool but not yet their game.
        """
        known = {
            agent.name: agent
            for agent in (*self.snapshots.values(), *playing)
            if isinstance(agent, PolicyAgent) and agent not in self.rules
        }
        arrays = {}
        for name, agent in known.items():
            for i, (weight, bias) in enumerate(agent.layers):
                arrays[f"{name}.{i}.weight"], arrays[f"{name}.{i}.bias"] = weight, bias
        return arrays, {"pool": list(self.snapshots), "playing": [self.rules.index(a) if a in self.rules else a.name for a in playing]}

    def load_state(self, arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> list[Agent]:
        """Read what :meth:`state` gave; returns the agents who were playing, in their order."""
        layers: dict[str, list[tuple[NDArray[np.float32], NDArray[np.float32]]]] = {}
        for name in arrays:
            if name.startswith("snapshot-"):
                layers.setdefault(name.split(".")[0], [])
        for name, found in layers.items():
            while f"{name}.{len(found)}.weight" in arrays:
                found.append((arrays[f"{name}.{len(found)}.weight"], arrays[f"{name}.{len(found)}.bias"]))
        agents = {name: self._snapshot(int(name.removeprefix("snapshot-")), found) for name, found in layers.items()}
        self.snapshots = {steps: agents[f"snapshot-{steps}"] for steps in values["pool"]}
        return [self.rules[key] if isinstance(key, int) else agents[key] for key in values["playing"]]

    def _snapshot(self, steps: int, layers: Layers) -> PolicyAgent:
        return PolicyAgent(self.game, layers, self.activation, deterministic=False, name=f"snapshot-{steps}")


def copy_layers(layers: Layers) -> Layers:
    """Layers that later training does not change."""
    return [(np.array(weight), np.array(bias)) for weight, bias in layers]
