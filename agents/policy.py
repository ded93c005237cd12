"""Trained policies as agents: NumPy inference of an actor network stored as safetensors with a JSON card beside it. No torch, no pickle."""

from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game
from ..envs.core.agent import Agent, Turns
from .weights_file import PolicyError, WeightsCard, find_weights, layout_hash, owner_of, read_card, read_tensors, save_weights

Layers = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Weight (out, in) and bias (out,) of each layer, as torch's ``Linear`` has them."""


class Card(WeightsCard):
    """What a policy is for. :meth:`for_game` fills in what the game determines."""

    format: Literal["deckhand-policy/1"] = "deckhand-policy/1"
    observation: str
    """``Layout.signature`` of the observations that the network reads."""
    observation_size: int
    num_actions: int
    hidden: list[int]
    """Widths of the hidden layers."""
    activation: Literal["relu", "tanh"]
    steps: int = 0
    """Decisions of the learner in training."""

    @classmethod
    def for_game(cls, game: Game, hidden: Sequence[int], activation: Literal["relu", "tanh"], **training: Any) -> Self:
        """The card of a network for ``game``; ``training`` sets ``steps``, ``config`` and ``results``."""
        return cls(
            game=game.id,
            observation=game.layout.signature,
            observation_size=game.layout.size,
            num_actions=game.num_actions,
            hidden=list(hidden),
            activation=activation,
            deckhand=version("deckhand-rl"),
            **training,
        )


class PolicyAgent(Agent):
    """Plays a trained network: the most probable legal action, or with ``deterministic=False`` a legal action drawn from its distribution.

    ``layers`` are the actor's, last one the logits; the activation stands between them.
    """

    sees_views: ClassVar[bool] = False

    def __init__(self, game: Game, layers: Layers, activation: str, *, deterministic: bool = True, name: str = "policy") -> None:
        self.name = name
        self.game = game
        self.layers = layers
        self.activation = activation
        self.deterministic = deterministic
        self.card: Card | None = None
        self.reset(0)

    @classmethod
    def load(cls, path: str | Path, game: Game | None = None, *, deterministic: bool = True) -> Self:
        """Read a policy's ``.safetensors`` with its card, from the file or from the folder that holds it.

        :class:`PolicyError` unless the weights fit the installed version of their game, and ``game`` where it is given.
        """
        weights = find_weights(path)
        card = read_card(weights.with_suffix(".json"), Card)
        owner = owner_of(weights, card, game)
        _check_fit(weights, card, owner)
        agent = cls(owner, _read_layers(weights, card), card.activation, deterministic=deterministic, name=str(path))
        agent.card = card
        return agent

    def reset(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def logits(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Unmasked logits, float32 (n, num_actions), of observations float32 (n, layout.size)."""
        x = observations
        for weight, bias in self.layers[:-1]:
            x = x @ weight.T + bias
            x = np.maximum(x, 0) if self.activation == "relu" else np.tanh(x)
        weight, bias = self.layers[-1]
        return np.asarray(x @ weight.T + bias)

    def probabilities(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The policy, float64 (n, num_actions): exactly 0 for every illegal action."""
        logits = np.where(masks, self.logits(observations), -np.inf).astype(np.float64)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def act(self, turns: Turns) -> NDArray[np.int64]:
        if turns.game is not self.game:
            raise PolicyError(f"{self.name} plays {self.game.id}, not {turns.game.id}")
        if self.deterministic:
            return np.argmax(np.where(turns.masks, self.logits(turns.observations), -np.inf), axis=1)
        cumulated = np.cumsum(self.probabilities(turns.observations, turns.masks), axis=1)
        # 32 random bits: the product stays below the last sum, so the first sum above it belongs to an action with probability > 0.
        drawn = self._rng.integers(2**32, size=(len(turns), 1)) / 2**32 * cumulated[:, -1:]
        return np.argmax(cumulated > drawn, axis=1)


def save_policy(folder: str | Path, layers: Layers, card: Card, *, name: str = "policy", half: bool = False) -> None:
    """Write ``<name>.safetensors`` and its card ``<name>.json`` into a folder; each file appears whole or not at all.

    ``half`` stores the weights as float16, half as large: a network read from there computes in float32 as any other.
    """
    tensors = {}
    for i, (weight, bias) in enumerate(layers):
        tensors[f"actor.{i}.weight"] = weight
        tensors[f"actor.{i}.bias"] = bias
    save_weights(folder, name, tensors, card, half)


def _check_fit(path: Path, card: Card, game: Game) -> None:
    """Refuse weights of another observation."""
    if (card.observation, card.num_actions) != (game.layout.signature, game.num_actions):
        raise PolicyError(
            f"{path} was trained by deckhand {card.deckhand} on other observations or actions of {game.id} than the installed "
            f"{version('deckhand-rl')} has: {layout_hash(card.observation)} with {card.num_actions} actions, "
            f"not {layout_hash(game.layout.signature)} with {game.num_actions}"
        )


def _read_layers(path: Path, card: Card) -> Layers:
    shapes: dict[str, tuple[int, ...]] = {}
    for i, (width, out) in enumerate(pairwise([card.observation_size, *card.hidden, card.num_actions])):
        shapes |= {f"actor.{i}.weight": (out, width), f"actor.{i}.bias": (out,)}
    tensors = read_tensors(path, card, shapes)
    return [(tensors[f"actor.{i}.weight"], tensors[f"actor.{i}.bias"]) for i in range(len(card.hidden) + 1)]
