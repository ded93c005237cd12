"""Observation vectors with named pieces."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Piece:
    """One named piece of an observation: ``shape`` floats between ``low`` and ``high``, explained in ``text``."""

    name: str
    shape: tuple[int, ...]
    text: str
    low: float = 0.0
    high: float = 1.0

    @property
    def size(self) -> int:
        """How many floats the piece holds."""
        return prod(self.shape)


class Layout:
    """The pieces of an observation in order, and where each lies in the flat float32 vector."""

    def __init__(self, *pieces: Piece) -> None:
        self.pieces = pieces
        self.slices: dict[str, slice] = {}
        start = 0
        for piece in pieces:
            self.slices[piece.name] = slice(start, start + piece.size)
            start += piece.size
        self.size = start

    def __getitem__(self, name: str) -> slice:
        return self.slices[name]

    def start(self, name: str) -> int:
        """Index of the first float of a piece: a constant for the kernel that writes it."""
        return int(self.slices[name].start)

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lower and upper bound of every float: two float32 vectors of shape ``(size,)``."""
        low = np.concatenate([np.full(p.size, p.low, np.float32) for p in self.pieces])
        high = np.concatenate([np.full(p.size, p.high, np.float32) for p in self.pieces])
        return low, high

    def unpack(self, observation: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Views of the pieces of one observation ``(size,)`` or a batch ``(..., size)``, each in its own shape."""
        lead = observation.shape[:-1]
        return {p.name: observation[..., self.slices[p.name]].reshape(lead + p.shape) for p in self.pieces}

    def pack(self, pieces: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The flat vector of the pieces: what :meth:`unpack` takes apart."""
        return np.concatenate([pieces[p.name].ravel() for p in self.pieces])

    @property
    def signature(self) -> str:
        """A text that changes whenever an observation would be read differently; weights carry it."""
        return ";".join(f"{p.name}{list(p.shape)}[{p.low:g},{p.high:g}]" for p in self.pieces)
