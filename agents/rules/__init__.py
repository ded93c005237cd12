"""Rule agents, one module a game, named like the game.

Such a module holds ``AGENTS``, a dict from an agent's name to its kind (1, 2, ...) and the default values of its numeric parameters, and
the kernel ``decide(kind, view, mask, rng, params) -> action`` (see :mod:`deckhand.agents.loops`). The first agent is the game's baseline.
Optionally ``ROLLOUTS_UNTIL = "reward"``: the rollouts of search agents end with the first reward unless told otherwise; and ``PARAMETERS``,
a dict from an agent's name to what its parameters are (:class:`deckhand.agents.parameters.Parameter`, in the order of its values).

A file of parameters named like the module, with ``.yaml``, is one more agent: ``fitted``.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from weakref import WeakKeyDictionary

from ...envs.core import Game, kernel
from ...envs.core.jit import bind
from .. import loops, value_loops
from ..afterstates import afterstates
from ..parameters import Parameter, load_parameters

FITTED = "fitted"
"""The agent whose parameters come with the package as a file."""

_MODULES: dict[str, str] = {}
_BOUND: WeakKeyDictionary[Game, "RuleSet"] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class RuleSet:
    """The rule agents of one game and the loops compiled for them."""

    agents: Mapping[str, tuple[int, tuple[float, ...]]]
    """Name to kind and default parameters, in the module's order."""
    parameters: Mapping[str, Sequence[Parameter]]
    """What the numbers of an agent are; agents without names for them are left out."""
    width: int
    """Length of every parameter vector handed to ``decide``: the longest of the game's agents, at least 1."""
    rollouts_until: Literal["end", "reward"]
    """How far search agents play an imagined game on unless told otherwise."""
    loops: Any
    """Those of :mod:`deckhand.agents.loops` and :mod:`deckhand.agents.value_loops`, bound to the game."""


def register_rules(game_name: str, module: str) -> None:
    """Say which module holds the rule agents of a game; it is imported when they are first asked for."""
    _MODULES[game_name] = module
    for game in [g for g in _BOUND if g.name == game_name]:
        del _BOUND[game]


def rule_set(game: Game) -> RuleSet:
    """The game's rule agents, bound once; a game without any has an empty set whose loops serve the random agent."""
    if game not in _BOUND:
        agents: dict[str, tuple[int, tuple[float, ...]]] = {}
        parameters: dict[str, Sequence[Parameter]] = {}
        decide = _nothing
        until: Literal["end", "reward"] = "end"
        if game.name in _MODULES:
            module = importlib.import_module(_MODULES[game.name])
            agents, decide = dict(module.AGENTS), module.decide
            parameters = dict(getattr(module, "PARAMETERS", {}))
            until = getattr(module, "ROLLOUTS_UNTIL", until)
            source = getattr(module, "__file__", None)
            if source and (path := Path(source).with_suffix(".yaml")).is_file():
                file = load_parameters(path, game, parameters)
                parameters[FITTED] = parameters[file.agent]
                agents[FITTED] = agents[file.agent][0], tuple(file.parameters[p.name] for p in parameters[FITTED])
        kernels = {"decide": decide, **{name: getattr(game.loops, name) for name in ("advance", "write_mask", "write_view")}}
        kernels |= _value_kernels(game)
        for function in (loops.choose, loops.choose_all, loops.play):
            kernels[function.__name__] = bind(function, game.name, kernels)
        width = max([1, *(len(defaults) for _, defaults in agents.values())])
        _BOUND[game] = RuleSet(agents, parameters, width, until, SimpleNamespace(**kernels))
    return _BOUND[game]


def _value_kernels(game: Game) -> dict[str, Any]:
    """The loops over the game's afterstates and what they are bound to."""
    seen = afterstates(game)
    kernels: dict[str, Any] = {
        "list_options": seen.list_options,
        "most_options": seen.most_options,
        "most_features": seen.most_features,
        "feature_count": seen.features.size,
        "number_count": seen.numbers.size,
    }
    # Later loops call earlier ones, so each bound loop joins the names that the next may use.
    for name in (
        "make_room",
        "fill_room",
        "as_rows",
        "add_row",
        "add_features",
        "add_rows",
        "output",
        "rate_options",
        "best_row",
        "best_option",
        "best_worth",
        "rate_all",
    ):
        kernels[name] = bind(getattr(value_loops, name), game.name, kernels)
    return kernels


@kernel
def _nothing(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    return -1


for _module in pkgutil.iter_modules(__path__):
    register_rules(_module.name, f"{__name__}.{_module.name}")
