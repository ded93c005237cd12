"""Trained networks as agents: NumPy inference of an actor network stored as safetensors with a JSON card beside it. No torch, no pickle."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ..envs.core import DeckhandError, Game, UnknownGame, get_game
from ..envs.core.agent import Agent, Turns
from ..envs.core.files import write_bytes, write_json

WEIGHTS = "policy.safetensors"

Layers = Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Weight (out, in) and bias (out,) of each layer, as torch's ``Linear`` has them."""


class PolicyError(DeckhandError, ValueError):
    """Weights that are damaged, or made for another game, version or observation; names both sides."""


class Card(BaseModel):
    """What a file of weights is for. :meth:`for_game` fills in what the game determines."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["deckhand-policy/1"] = "deckhand-policy/1"
    game: str
    """Versioned id, ``FlotsamFight-v0``."""
    observation: str
    """``Layout.signature`` of the observations that the network reads."""
    observation_size: int
    num_actions: int
    hidden: list[int]
    """Widths of the hidden layers."""
    activation: Literal["relu", "tanh"]
    deckhand: str
    weights_sha256: str = ""
    steps: int = 0
    """Decisions of the learner in training."""
    config: dict[str, Any] = {}
    results: list[dict[str, Any]] = []

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
        """Read ``policy.safetensors`` with its card, from the file or from the folder that holds it.

        :class:`PolicyError` unless the weights fit the installed version of their game, and ``game`` where it is given.
        """
        weights = Path(path) / WEIGHTS if Path(path).is_dir() else Path(path)
        card = _read_card(weights.with_suffix(".json"))
        try:
            owner = get_game(card.game)
        except UnknownGame as error:
            raise PolicyError(f"{weights} is for {card.game!r}: {error}") from None
        _check_fit(weights, card, game or owner)
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
    kind = np.float16 if half else np.float32
    for i, (weight, bias) in enumerate(layers):
        tensors[f"actor.{i}.weight"] = np.ascontiguousarray(weight, kind)
        tensors[f"actor.{i}.bias"] = np.ascontiguousarray(bias, kind)
    data = save(tensors)
    card = card.model_copy(update={"weights_sha256": hashlib.sha256(data).hexdigest()})
    write_bytes(Path(folder) / f"{name}.safetensors", data)
    write_json(Path(folder) / f"{name}.json", card.model_dump())


def _read_card(path: Path) -> Card:
    try:
        return Card.model_validate(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise PolicyError(f"{path} is missing: a policy is a .safetensors file with its card of the same name ending in .json") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PolicyError(f"{path} is not a policy's card: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise PolicyError(f"{path} is not a policy's card: {error}") from None


def _check_fit(path: Path, card: Card, game: Game) -> None:
    """Refuse weights of another game, version or observation."""
    if card.game != game.id:
        raise PolicyError(f"{path} holds weights for {card.game}, not for {game.id}")
    if (card.observation, card.num_actions) != (game.layout.signature, game.num_actions):
        raise PolicyError(
            f"{path} was trained by deckhand {card.deckhand} on other observations or actions of {game.id} than the installed "
            f"{version('deckhand-rl')} has: {layout_hash(card.observation)} with {card.num_actions} actions, "
            f"not {layout_hash(game.layout.signature)} with {game.num_actions}"
        )


def _read_layers(path: Path, card: Card) -> Layers:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != card.weights_sha256:
        raise PolicyError(f"{path} is damaged or not the file that its card describes: the SHA-256 sums differ")
    try:
        tensors: Mapping[str, Any] = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a type of number that NumPy does not have
        raise PolicyError(f"{path} is not a safetensors file: {error}") from None
    layers = []
    sizes = [card.observation_size, *card.hidden, card.num_actions]
    for i, (width, out) in enumerate(pairwise(sizes)):
        weight, bias = tensors.get(f"actor.{i}.weight"), tensors.get(f"actor.{i}.bias")
        if weight is None or bias is None or weight.shape != (out, width) or bias.shape != (out,):
            raise PolicyError(f"{path} does not hold the network of its card: layer {i} is not {width} x {out}")
        for tensor in (weight, bias):
            if tensor.dtype not in (np.float16, np.float32) or not np.isfinite(tensor).all():
                raise PolicyError(f"{path} is damaged: layer {i} holds something else than finite float16 or float32 numbers")
        layers.append((np.asarray(weight, np.float32), np.asarray(bias, np.float32)))
    return layers


def layout_hash(signature: str) -> str:
    """Twelve digits that stand for an observation layout."""
    return hashlib.sha256(signature.encode()).hexdigest()[:12]
