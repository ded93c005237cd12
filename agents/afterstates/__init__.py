"""What value agents look at: one module a game, named like the game; cooperative games only, a value is what the whole team still gains.

An *afterstate* is what an action leads to before chance has its say. Such a module holds the layouts ``FEATURES`` (each present or not) and
``NUMBERS``, the limits ``MOST_OPTIONS`` and ``MOST_FEATURES``, and the kernel

``list_options(view, mask, actions, gains, bases, sizes, features, numbers) -> count``

which lists at least one legal action in rows 1 .. count: its number in ``actions``; in ``gains`` what of the seat's return it brings in the
afterstate; the indexes of the features in ``features[row, : sizes[row]]``; the numbers in ``numbers[row]``. To these come the features of
row 0, which all options share, and, where ``bases[row]`` is not 0, the features and numbers of that row, which some do; no feature twice.
An action may be listed more than once; what it is worth is then the best of these rows. A single option is taken without being judged.

The arrays have ``MOST_OPTIONS + 2`` rows: ``actions``, ``bases``, ``sizes`` int64, ``gains`` float64, ``features`` int16
(rows, MOST_FEATURES), ``numbers`` float64 (rows, NUMBERS.size).
"""

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from ...envs.core import Game
from ...envs.core.jit import kernel
from ...envs.core.layout import Layout

_MODULES = {module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)}


@dataclass(frozen=True, eq=False)
class Afterstates:
    """A game's afterstates."""

    features: Layout
    numbers: Layout
    most_options: int
    most_features: int
    list_options: Any
    """The kernel."""

    @property
    def signature(self) -> str:
        """What tells apart layouts that weights do not fit both of."""
        return f"{self.features.signature} | {self.numbers.signature}"


@kernel
def _no_options(view: Any, mask: Any, actions: Any, gains: Any, bases: Any, sizes: Any, features: Any, numbers: Any) -> int:
    return 0


_NONE = Afterstates(Layout(), Layout(), 0, 1, _no_options)


def afterstates(game: Game) -> Afterstates:
    """The game's afterstates; for a game without a module they are empty."""
    if game.name not in _MODULES:
        return _NONE
    module = importlib.import_module(_MODULES[game.name])
    return Afterstates(module.FEATURES, module.NUMBERS, module.MOST_OPTIONS, module.MOST_FEATURES, module.list_options)
