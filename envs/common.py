"""What the single environments share: modes for illegal actions, drawing, seeds of the system."""

import secrets
import warnings
from collections.abc import Collection, Mapping
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .core.ansi import for_stdout
from .core.errors import OptionError
from .core.position import Position

Illegal = Literal["raise", "terminate", "resample"]
"""What an illegal action does: raise :class:`IllegalAction` and change nothing; end the game with -1 for the offender and 0 for the others;
or be replaced by a random legal one, which is counted in ``info["illegal_actions"]``."""

RENDER_MODES = ("ansi", "rgb_array", "svg", "human")


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """The value, or an :class:`OptionError` that names the allowed ones."""
    if not (value is None or isinstance(value, str)) or value not in allowed:
        raise OptionError(f"{name} cannot be {value!r}; allowed are {', '.join(repr(a) for a in allowed)}")
    return value


def check_illegal(value: Any) -> Illegal:
    """The mode for illegal actions."""
    mode: Illegal = check_choice("illegal", value, get_args(Illegal))
    return mode


def check_render_mode(value: Any) -> str | None:
    """The render mode."""
    mode: str | None = check_choice("render_mode", value, (None, *RENDER_MODES))
    return mode


def check_seat(name: str, seat: Any, num_players: int) -> int | None:
    """The seat, or None for none."""
    if seat is None:
        return None
    if isinstance(seat, bool) or not isinstance(seat, (int, np.integer)) or not 0 <= seat < num_players:
        raise OptionError(f"{name} cannot be {seat!r}; allowed are None and 0 to {num_players - 1}")
    return int(seat)


def check_reset_options(options: Any, refused: Collection[str]) -> None:
    """Refuse what is no dict, and rule options or other keys that ``reset`` cannot take."""
    if options is not None and not isinstance(options, Mapping):
        raise OptionError(f"options of reset cannot be {options!r}; allowed are None and a dict")
    known = set(options or ()) & {"num_players", *refused}
    if known:
        raise OptionError(f"reset cannot take {', '.join(sorted(known))}: rule options are given when the environment is made")


def system_seed() -> int:
    """A seed from the operating system, for environments that never got one."""
    return secrets.randbits(53)


def render_position(position: Position, mode: str | None) -> str | NDArray[np.uint8] | None:
    """A drawing: text with ANSI styles for ``ansi``, SVG text for ``svg``, uint8 (height, width, 3) for ``rgb_array``.

    ``human`` prints the text: styled on a terminal, unless the environment variable NO_COLOR is set, plain elsewhere.
    """
    if mode is None:
        warnings.warn("render() needs a render_mode, given when the environment is made", stacklevel=3)
        return None
    if mode == "svg":
        return position._repr_svg_()
    if mode == "rgb_array":
        return position.game.paint(position.record).pixels()
    if mode == "human":
        print(for_stdout(position.ansi()))
        return None
    return position.ansi()
