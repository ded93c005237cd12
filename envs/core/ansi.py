"""Styled text for terminals: ANSI escape sequences (SGR). Colours are the terminal's own, so that they suit its background."""

import os
import re
import sys

_CODES = {
    "bold": 1,
    "dim": 2,
    "reverse": 7,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
    "grey": 90,
}
_RESET = "\x1b[0m"
_SEQUENCE = re.compile(r"\x1b\[[\d;]*m")


def style(text: str, *names: str) -> str:
    """The text in these styles: bold, dim, reverse, red, green, yellow, blue, magenta, cyan, grey. Styled text may hold styled text."""
    if not text or not names:
        return text
    start = f"\x1b[{';'.join(str(_CODES[name]) for name in names)}m"
    # A reset ends every style, so what stands around a styled part starts again after it.
    return start + text.replace(_RESET, _RESET + start) + _RESET


def plain(text: str) -> str:
    """The text without its styles."""
    return _SEQUENCE.sub("", text)


def for_stdout(text: str) -> str:
    """The text as it may be printed: styled on a terminal, plain elsewhere and where the environment variable NO_COLOR is set."""
    return text if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else plain(text)
