"""One game in the hand: what the command line, records, single environments and search work with."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .ansi import plain
from .errors import IllegalAction, OptionError, RecordError
from .game import Game, Record
from .options import Options, check_seed


class Position:
    """One game of ``game`` at one moment: a value. Copies are independent, equal positions have equal futures.

    ``states`` is the array of one record that the kernels work on.
    """

    __slots__ = ("game", "states")

    def __init__(self, game: Game, states: NDArray[Any]) -> None:
        self.game = game
        self.states = states

    @classmethod
    def new(cls, game: Game, num_players: int, options: Mapping[str, Any] | Options, seed: int) -> Self:
        """A new game; :class:`OptionError` names a wrong player count, option or seed."""
        return cls(game, game.deal(num_players, options, [seed]))

    @property
    def record(self) -> Record:
        """The record itself; writing to it changes the position."""
        return self.states[0]

    @property
    def num_players(self) -> int:
        return int(self.states["players"][0])

    @property
    def to_move(self) -> int:
        """The seat to move, or -1 when the game is over."""
        return int(self.states["to_move"][0])

    @property
    def phase(self) -> str:
        return self.game.phases[int(self.states["phase"][0])]

    @property
    def is_over(self) -> bool:
        return self.to_move < 0

    def mask(self) -> NDArray[np.bool_]:
        """Legal actions of the seat to move, bool (num_actions,): a fresh array, all False when the game is over."""
        mask = np.zeros(self.game.num_actions, np.bool_)
        self.game.loops.write_mask(self.states, 0, mask)
        return mask

    def legal_actions(self) -> list[int]:
        """Legal action ids, ascending."""
        return [int(a) for a in np.flatnonzero(self.mask())]

    def legal_strings(self) -> list[str]:
        """Legal action strings, sorted by code point."""
        return sorted(self.action_to_string(a) for a in self.legal_actions())

    def apply(self, action: int) -> None:
        """Play a legal action. :class:`IllegalAction` otherwise, and then nothing has changed."""
        mask = self.mask()
        if not is_allowed(action, mask):
            raise IllegalAction(self.explain_illegal(action))
        self.game.loops.advance(self.states, 0, int(action))

    def explain_illegal(self, action: Any) -> str:
        """One line that names the action, its string and the legal actions."""
        if isinstance(action, np.generic):
            action = action.item()
        if self.is_over:
            return f"action {action!r} is illegal: the game is over"
        name = ""
        if is_action_id(action, self.game.num_actions):
            try:
                name = f" ({self.action_to_string(int(action))})"
            except (ValueError, IndexError):
                name = ""
        legal = ", ".join(f"{a} ({self.action_to_string(a)})" for a in self.legal_actions())
        return f"action {action!r}{name} is illegal for player {self.to_move}; legal are: {legal}"

    def observation(self, seat: int) -> NDArray[np.float32]:
        """What a seat sees, float32 (layout.size,)."""
        self._check_seat(seat)
        out = np.empty(self.game.layout.size, np.float32)
        self.game.loops.write_observation(self.states, 0, seat, out)
        return out

    def view(self, seat: int) -> "Position":
        """What a seat knows, as a position whose hidden fields are blank."""
        self._check_seat(seat)
        view = Position(self.game, self.game.allocate(1))
        self.game.loops.write_view(self.states, 0, seat, view.states, 0)
        return view

    def resample(self, seat: int, seed: int) -> "Position":
        """A full position drawn at random among those that fit what the seat knows. Works on a view and on the whole game alike."""
        world = self.view(seat)
        self.game.loops.fill_view(world.states, 0, seat, check_seed(seed))
        return world

    def _check_seat(self, seat: Any) -> None:
        # Compiled kernels do not notice an index out of range.
        if not is_action_id(seat, self.num_players):
            raise OptionError(f"seat cannot be {seat!r}: the seats of this game are 0 to {self.num_players - 1}")

    def clone(self) -> "Position":
        """An independent copy."""
        return Position(self.game, self.game.copy(self.states))

    def action_to_string(self, action: int) -> str:
        return self.game.action_to_string(self.states[0], action)

    def string_to_action(self, text: str) -> int:
        """The id of an action string; :class:`IllegalAction` if it is none or is illegal here."""
        try:
            action = self.game.string_to_action(self.states[0], text) if isinstance(text, str) else -1
        except ValueError:
            action = -1
        if action < 0 or not self.mask()[action]:
            raise IllegalAction(f"action {text!r} is illegal for player {self.to_move}; legal are: {', '.join(self.legal_strings())}")
        return action

    def events(self) -> list[dict[str, Any]]:
        """What chance and the rules did since the last decision."""
        return self.game.events(self.states[0])

    def outcome(self) -> dict[str, Any]:
        """Scores, winners, returns and whether the game was truncated."""
        return self.game.outcome(self.states[0])

    def to_json(self) -> str:
        """The whole position as JSON; :meth:`from_json` gives it back."""
        record = self.states[0]
        fields = {name: record[name].tolist() for name in self.game.dtype.names or ()}
        return json.dumps({"game": self.game.id, "state": fields, "digest": self._digest()}, separators=(",", ":"))

    @classmethod
    def from_json(cls, game: Game, text: str) -> Self:
        """Read what :meth:`to_json` wrote; :class:`RecordError` says what does not fit."""
        try:
            data = json.loads(text)
            found, fields, digest = data["game"], dict(data["state"]), data["digest"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RecordError("this is no saved position") from None
        if found != game.id:
            raise RecordError(f"the saved position is of {found!r}, not {game.id!r}")
        states = game.allocate(1)
        names = set(game.dtype.names or ())
        if set(fields) != names:
            raise RecordError(f"the saved position has other fields than {game.id}: {sorted(names ^ set(fields))}")
        for name, value in fields.items():
            try:
                array = np.array(value)
                stored = array.astype(game.dtype[name].base, casting="same_kind")
                if array.dtype == np.bool_ or array.shape != game.dtype[name].shape or not np.array_equal(stored, array):
                    raise ValueError
                states[name][0] = stored
            except (ValueError, TypeError, OverflowError):
                raise RecordError(f"field {name!r} of the saved position cannot be {value!r}") from None
        position = cls(game, states)
        # The kernels trust their records, so a value that was changed must not get in.
        if position._digest() != digest:
            raise RecordError("the saved position was changed: it does not fit its digest")
        return position

    def _digest(self) -> str:
        return hashlib.sha256(self.states.tobytes()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self.game.id == other.game.id and self.states.tobytes() == other.states.tobytes()

    def __hash__(self) -> int:
        return hash((self.game.id, self.states.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self.game.name, self.states.tobytes()))

    def __deepcopy__(self, memo: Any) -> "Position":
        return self.clone()

    __copy__ = clone

    def __repr__(self) -> str:
        return f"<{self.game.id}, {self.num_players} players, decision {int(self.states['decisions'][0])}, {self.phase}>"

    def __str__(self) -> str:
        return plain(self.ansi())

    def ansi(self) -> str:
        """The text of ``str()``, styled for a terminal."""
        return self.game.describe(self.states[0])

    def _repr_svg_(self) -> str:
        return self.game.paint(self.states[0]).svg()


def _restore(name: str, data: bytes) -> Position:
    from .registry import get_game

    game = get_game(name)
    states = game.allocate(1)
    states[0] = np.frombuffer(data, game.dtype)[0]
    return Position(game, states)


def is_action_id(action: Any, num_actions: int) -> bool:
    """Whether ``action`` is an integer (not a bool) within the action space."""
    return isinstance(action, (int, np.integer)) and not isinstance(action, bool) and bool(0 <= action < num_actions)


def is_allowed(action: Any, mask: NDArray[np.bool_]) -> bool:
    """Whether ``action`` is an action id that the mask allows: the one legality check of every environment."""
    return is_action_id(action, len(mask)) and bool(mask[action])
