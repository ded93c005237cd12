"""The log of a record: what chance and the rules did since the last decision, as integers that ``Game.events`` decodes."""

from typing import Any

from .jit import kernel


@kernel
def write_log(s: Any, value: int) -> None:
    """Append one int16 to the log of record ``s``."""
    s.log[s.log_size] = value
    s.log_size += 1
