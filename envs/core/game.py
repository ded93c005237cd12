"""The contract: what a game is. Everything generic (environments, agents, search, records, checks) is written over this class.

A game is one NumPy record and six kernels over it; the module of the rules reads like the rule sheet:

=====================================  ===============================================================================================
``deal(s)``                            start a game in record ``s``: options, ``players`` and ``rng`` are set, all other fields are zero
``legal(s, mask)``                     set ``mask[a]`` (bool, arrives all False) for every legal action of the seat ``s.to_move``
``apply(s, action)``                   one legal decision and all that follows by rule or chance, up to the next decision or the end;
                                       adds to ``s.reward``
``observe(s, seat, out)``              write the seat's observation (float32, arrives all zero); works for any seat at any time
``hide(s, seat)``                      blank what the seat cannot know (generator, seed and log are blanked for you)
``resample(s, seat)``                  fill such a view with hidden facts drawn uniformly among those that fit what the seat knows
=====================================  ===============================================================================================
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import loops, rng
from .canvas import Canvas
from .errors import OptionError
from .jit import JIT_DISABLED, bind
from .layout import Layout
from .options import Options, check_seed
from .registry import get_game

Record = Any
"""One game: a scalar of the game's structured dtype (``np.void``, or ``np.record`` when the JIT is off)."""


def record_dtype(max_players: int, log_size: int, fields: Sequence[tuple[Any, ...]]) -> np.dtype[Any]:
    """The dtype of a game's record: the fields that generic code reads, then the game's own.

    ``log_size`` is the greatest number of integers that one decision (or the deal) writes to the log. Use signed integers only, and int16
    or wider wherever two fields are multiplied or added: plain NumPy keeps the narrow type where numba widens it.
    """
    header = [
        ("players", np.int16),
        ("to_move", np.int16),  # seat, or -1 when the game is over
        ("phase", np.int16),
        ("terminal", np.int16),  # 1: ended by the rules
        ("truncated", np.int16),  # 1: ended by a limit
        ("decisions", np.int32),
        ("seed", np.int64),
        ("rng", np.int64, (4,)),
        ("reward", np.float64, (max_players,)),  # of the last decision
        ("returns", np.float64, (max_players,)),
        ("score", np.int32, (max_players,)),
        ("winner", np.int16, (max_players,)),  # 1 for every winner
        ("log_size", np.int16),
        ("log", np.int16, (log_size,)),  # what the last decision set off, decoded by Game.events
    ]
    taken = [f[0] for f in fields if hasattr(np.record, f[0])]
    if taken:
        raise ValueError(f"record fields cannot be named {taken}: NumPy's records have attributes of that name")
    # Wide fields first and the end filled up: no byte outside the fields, so that equal games are equal bytes.
    ordered = sorted([*header, *fields], key=lambda f: -np.dtype(f[1]).itemsize)
    missing = np.dtype(ordered, align=True).itemsize - np.dtype(ordered).itemsize
    return np.dtype([*ordered, ("padding", np.int8, (missing,))] if missing else ordered, align=True)


class Symmetry(NamedTuple):
    """Another naming of things that the rules treat alike, such as colours.

    ``observation[..., columns]`` and ``mask[..., actions]`` are those of the position in which they are named so.
    """

    columns: NDArray[np.int64]
    """(layout.size,)."""
    actions: NDArray[np.int64]
    """(num_actions,)."""
    names: Sequence[int] = ()
    """What is named anew: ``names[i]`` is what name ``i`` stood for."""

    @property
    def parts(self) -> int:
        """The things that are named, and one more for all the rest."""
        return len(self.names) + 1


class Game(ABC):
    """One game. Subclass it, set the class attributes, write the abstract methods, and register an instance."""

    name: ClassVar[str]
    """Registry name, for example ``flotsam_fight``."""
    id: ClassVar[str]
    """Versioned name, for example ``FlotsamFight-v0``: raised when agents' results may change."""
    title: ClassVar[str]
    min_players: ClassVar[int]
    max_players: ClassVar[int]
    cooperative: ClassVar[bool] = False
    options: ClassVar[type[Options]]
    phases: ClassVar[tuple[str, ...]]
    """Names of the values of ``s.phase``."""
    dtype: ClassVar[np.dtype[Any]]
    num_actions: ClassVar[int]
    action_table: ClassVar[tuple[tuple[int, int, str], ...]]
    """Rows (first id, last id, meaning), for documentation."""
    rules: ModuleType
    """The module with the kernels ``deal``, ``legal``, ``apply``, ``hide`` and ``resample``."""
    observation: ModuleType
    """The module with the kernel ``observe`` and the ``LAYOUT`` that it writes."""

    def __init__(self) -> None:
        self.layout: Layout = self.observation.LAYOUT
        kernels = {name: getattr(self.rules, name) for name in ("deal", "legal", "apply", "hide", "resample")}
        kernels["observe"] = self.observation.observe
        # Later loops call earlier ones, so each bound loop joins the names that the next may use.
        for function in _LOOPS:
            kernels[function.__name__] = bind(function, self.name, kernels)
        kernels["seed_rng"] = rng.seed_rng
        self.loops: Any = _Namespace(kernels)

    @abstractmethod
    def configure(self, record: Record, options: Any) -> None:
        """Write the options into a zeroed record."""

    @abstractmethod
    def action_to_string(self, record: Record, action: int) -> str:
        """The string of a legal action in this position (the rules file's *Notation*)."""

    @abstractmethod
    def string_to_action(self, record: Record, text: str) -> int:
        """The id of an action string in this position; ``ValueError`` if it is no action string."""

    @abstractmethod
    def events(self, record: Record) -> list[dict[str, Any]]:
        """What chance and the rules did since the last decision (``record.log`` decoded), in the records' format."""

    def chance(self, num_players: int, options: Any, events: Sequence[Mapping[str, Any]]) -> Iterator[int | Sequence[int]]:
        """What chance did in a game, read from all its events: one outcome for each call of ``randint`` and ``shuffle``, in order.

        The outcome of a ``randint`` is the number, that of a ``shuffle`` the items from the last place downwards, as far as the events
        tell them. May fail with any built-in error on an event that the game does not have. Games that do not define it have no records
        with chance given.
        """
        raise OptionError(f"{self.name}: chance cannot be 'given': the game does not read it from events")

    def told(self, record: Record, action: int, seat: int) -> str:
        """What another ``seat`` at the table is told of a decision, before it is played; games with secret decisions say less."""
        return self.action_to_string(record, action)

    def extra_outcome(self, record: Record) -> dict[str, Any]:
        """Fields of a record's last line between ``winners`` and ``returns``."""
        return {}

    def statistics(self, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What else to count in finished games of one player count, for reports: by name, numbers of every game of ``records`` (games,).

        One number a game is an array (games,), one a seat (games, players), a rate by seat (games, players, 2): how often, of how many.
        """
        return {}

    def symmetries(self) -> tuple[Symmetry, ...]:
        """All namings under which the game is the same game, the given one first: what is learned of a position holds in each of them."""
        return (Symmetry(np.arange(self.layout.size), np.arange(self.num_actions)),)

    @abstractmethod
    def describe(self, record: Record) -> str:
        """The position as text, styled for a terminal (:mod:`.ansi`). Hidden facts of a view are shown as unknown."""

    @abstractmethod
    def paint(self, record: Record) -> Canvas:
        """The position as a drawing. Hidden facts of a view are shown as unknown."""

    # Everything below is generic.

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled functions do not pickle; copies of anything that holds a game share the registered one.
        return (get_game, (self.name,))

    def check_players(self, num_players: Any) -> int:
        """The player count, or an :class:`OptionError` that says which are allowed."""
        allowed = range(self.min_players, self.max_players + 1)
        if isinstance(num_players, bool) or not isinstance(num_players, (int, np.integer)) or int(num_players) not in allowed:
            raise OptionError(f"{self.name}: num_players cannot be {num_players!r}; allowed are {self.min_players} to {self.max_players}")
        return int(num_players)

    def parse_options(self, values: Mapping[str, Any] | Options) -> Options:
        """The validated options; a ready model of this game passes through."""
        if isinstance(values, self.options):
            return values
        try:
            return self.options.parse(dict(values))
        except OptionError as error:
            raise OptionError(f"{self.name}: {error}") from None

    def allocate(self, count: int) -> NDArray[Any]:
        """``count`` zeroed records, in an array fit for the kernels."""
        # Zeroed bytes: NumPy makes an array of a structured type four times slower.
        states = np.ndarray(count, self.dtype, np.zeros(count * self.dtype.itemsize, np.uint8))
        return states.view(np.recarray) if JIT_DISABLED else states

    def copy(self, states: NDArray[Any]) -> NDArray[Any]:
        """An independent copy of an array of records."""
        # Copying bytes: NumPy copies a structured array field by field, ten times slower.
        copied = np.ndarray(len(states), self.dtype, states.view(np.uint8).copy())
        return copied.view(np.recarray) if JIT_DISABLED else copied

    def template(self, num_players: int, options: Mapping[str, Any] | Options) -> NDArray[Any]:
        """An array of one record that holds player count and options only: what every new game starts from."""
        states = self.allocate(1)
        self.configure(states[0], self.parse_options(options))
        states["players"][0] = self.check_players(num_players)
        return states

    def deal(self, num_players: int, options: Mapping[str, Any] | Options, seeds: Sequence[int]) -> NDArray[Any]:
        """New games, one a seed."""
        template = self.template(num_players, options)
        states = self.allocate(len(seeds))
        self.loops.restart_all(states, template, np.array([check_seed(seed) for seed in seeds], np.int64))
        return states

    def outcome(self, record: Record) -> dict[str, Any]:
        """The last line of a game's record."""
        n = int(record["players"])
        return {
            "scores": [int(x) for x in record["score"][:n]],
            "winners": [i for i in range(n) if record["winner"][i]],
            **self.extra_outcome(record),
            "returns": [plain_number(x) for x in record["returns"][:n]],
            "truncated": bool(record["truncated"]),
        }


def plain_number(value: Any) -> int | float:
    """A reward as JSON shows it: an int where it is whole."""
    number = float(value)
    return int(number) if number.is_integer() else number


class _Namespace:
    """A game's bound loops as attributes."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self.__dict__.update(functions)


_LOOPS = tuple(f for f in vars(loops).values() if getattr(f, "__module__", None) == loops.__name__)
