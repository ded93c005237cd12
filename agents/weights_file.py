"""Files of trained weights: safetensors with a JSON card beside them that says what they are for. No torch, no pickle."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ..envs.core import DeckhandError, Game, UnknownGame, get_game
from ..envs.core.files import write_bytes

NAMES = ("policy.safetensors", "values.safetensors")
"""What the weights of a finished run are called."""


class PolicyError(DeckhandError, ValueError):
    """Weights that are damaged, or made for another game, version or observation; names both sides."""


class WeightsCard(BaseModel):
    """What all cards say."""

    model_config = ConfigDict(extra="forbid")

    game: str
    """Versioned id, ``FlotsamFight-v0``."""
    deckhand: str
    """The version that trained."""
    weights_sha256: str = ""
    config: dict[str, Any] = {}
    results: list[dict[str, Any]] = []


def find_weights(path: str | Path) -> Path:
    """The file of weights that a path stands for: itself, or the one of a folder: ``policy.safetensors`` or ``values.safetensors``."""
    folder = Path(path)
    if folder.is_dir():
        return next((folder / name for name in NAMES if (folder / name).is_file()), folder / NAMES[0])
    return folder


def card_format(path: Path) -> str:
    """What a file of weights is, as its card says: ``deckhand-policy/1`` or ``deckhand-values/1``; empty if that cannot be read."""
    try:
        return str(json.loads(path.with_suffix(".json").read_bytes())["format"])
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return ""


CardType = TypeVar("CardType", bound=WeightsCard)


def save_weights(folder: str | Path, name: str, tensors: Mapping[str, NDArray[Any]], card: WeightsCard, half: bool) -> None:
    """Write ``<name>.safetensors`` and its card ``<name>.json`` into a folder; each file appears whole or not at all.

    ``half`` stores the weights as float16, half as large as the float32 of else.
    """
    kind = np.float16 if half else np.float32
    data = save({key: np.ascontiguousarray(tensor, kind) for key, tensor in tensors.items()})
    card = card.model_copy(update={"weights_sha256": hashlib.sha256(data).hexdigest()})
    write_bytes(Path(folder) / f"{name}.safetensors", data)
    # On one line: indented, the reports would take more than small weights.
    write_bytes(Path(folder) / f"{name}.json", json.dumps(card.model_dump(), allow_nan=False).encode() + b"\n")


def read_card(path: Path, kind: type[CardType]) -> CardType:
    """The card of a file of weights; :class:`PolicyError` if it is missing or damaged."""
    try:
        return kind.model_validate(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise PolicyError(f"{path} is missing: a policy is a .safetensors file with its card of the same name ending in .json") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise PolicyError(f"{path} is not a policy's card: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise PolicyError(f"{path} is not a policy's card: {error}") from None


def owner_of(weights: Path, card: WeightsCard, game: Game | None) -> Game:
    """The game that weights are for; :class:`PolicyError` if there is none or it is not ``game``."""
    try:
        owner = get_game(card.game)
    except UnknownGame as error:
        raise PolicyError(f"{weights} is for {card.game!r}: {error}") from None
    if owner.id != card.game or (game is not None and game.id != card.game):
        raise PolicyError(f"{weights} holds weights for {card.game}, not for {(game or owner).id}")
    return owner


def read_tensors(path: Path, card: WeightsCard, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[np.float32]]:
    """The tensors of these names and shapes; :class:`PolicyError` if one is missing or the file is not the card's."""
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
    found = {}
    for name, shape in shapes.items():
        tensor = tensors.get(name)
        if tensor is None or tensor.shape != shape:
            raise PolicyError(f"{path} does not hold the network of its card: {name} is not {' x '.join(map(str, shape))}")
        if tensor.dtype not in (np.float16, np.float32) or not np.isfinite(tensor).all():
            raise PolicyError(f"{path} is damaged: {name} holds something else than finite float16 or float32 numbers")
        found[name] = np.asarray(tensor, np.float32)
    return found


def layout_hash(signature: str) -> str:
    """Twelve digits that stand for an observation layout."""
    return hashlib.sha256(signature.encode()).hexdigest()[:12]
