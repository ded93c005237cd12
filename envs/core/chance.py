"""Games whose chance is given instead of drawn.

They run the game's own rules as plain Python in which ``randint`` and ``shuffle`` are answered from a list.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba.core.registry import CPUDispatcher
from numpy.typing import NDArray

from . import rng
from .game import Game

Outcome = int | Sequence[int]
"""What one call gives: the number of a ``randint``, or the items of a ``shuffle`` from the last place downwards, as far as they matter."""


class GivenChance:
    """Deals and plays games of one type in which chance does what ``outcomes`` say, in the order of the calls.

    An outcome that cannot be (a number out of range, an item that is not there, none left) is replaced by the game's own generator: whoever
    compares what the game did with what it should have done finds the difference there.
    """

    def __init__(self, game: Game, outcomes: Iterable[Outcome]) -> None:
        self._outcomes = iter(outcomes)
        replaced: dict[int, Callable[..., Any]] = {id(rng.randint): self._randint, id(rng.shuffle): self._shuffle}
        self._restart = plain_copy(game.loops.restart, replaced)
        self._advance = plain_copy(game.loops.advance, replaced)

    def restart(self, states: NDArray[Any], template: NDArray[Any], seed: int) -> None:
        """A new game in ``states[0]`` with the options of ``template[0]``."""
        self._restart(states.view(np.recarray), template.view(np.recarray), 0, seed)

    def advance(self, states: NDArray[Any], action: int) -> None:
        """One legal decision of ``states[0]``."""
        self._advance(states.view(np.recarray), 0, action)

    def _randint(self, generator: Any, n: int) -> int:
        outcome = next(self._outcomes, None)
        if isinstance(outcome, int) and 0 <= outcome < n:
            return outcome
        return int(rng.randint(generator, n))

    def _shuffle(self, generator: Any, items: Any, n: int) -> None:
        outcome = next(self._outcomes, None)
        if not isinstance(outcome, Sequence):
            rng.shuffle(generator, items, n)
            return
        rest = items[:n].tolist()
        taken = []
        for item in outcome:
            if item not in rest:
                break
            rest.remove(item)
            taken.append(item)
        items[:n] = rest + taken[::-1]


def plain_copy(function: Any, replaced: Mapping[int, Callable[..., Any]]) -> Callable[..., Any]:
    """A kernel, and every kernel that it calls by name, as plain Python; a kernel whose ``id`` is in ``replaced`` is replaced."""
    copies: dict[int, Any] = {}
    spaces: dict[int, dict[str, Any]] = {}

    def copy(kernel: Any) -> Any:
        if id(kernel) in replaced:
            return replaced[id(kernel)]
        source = kernel.py_func if isinstance(kernel, CPUDispatcher) else kernel
        if id(source) not in copies:
            # One new namespace for all functions of a module, so that they find each other's copies.
            names = spaces.setdefault(id(source.__globals__), dict(source.__globals__))
            copies[id(source)] = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
            for name in source.__code__.co_names:
                value = source.__globals__.get(name)
                if isinstance(value, (CPUDispatcher, FunctionType)):
                    names[name] = copy(value)
        return copies[id(source)]

    copied: Callable[..., Any] = copy(function)
    return copied
