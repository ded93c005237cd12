"""The contract that every game keeps, and what is written over it once for all games. Imports no game.

The names below are loaded when first used: what only lists the games must not wait for numba.
"""

from typing import TYPE_CHECKING

from .lazy import lazy_names

if TYPE_CHECKING:
    from .canvas import Canvas
    from .errors import DeckhandError, IllegalAction, OptionError, RecordError, ResetNeeded, UnknownGame
    from .game import Game, Record, Symmetry, record_dtype
    from .jit import kernel
    from .layout import Layout, Piece
    from .options import Options
    from .position import Position
    from .records import GameRecord, load_records, read_records, record_game, replay
    from .registry import game_ids, game_names, get_game, register_game

_HOMES = {
    "Canvas": "canvas",
    "DeckhandError": "errors",
    "Game": "game",
    "GameRecord": "records",
    "IllegalAction": "errors",
    "Layout": "layout",
    "OptionError": "errors",
    "Options": "options",
    "Piece": "layout",
    "Position": "position",
    "Record": "game",
    "RecordError": "errors",
    "ResetNeeded": "errors",
    "Symmetry": "game",
    "UnknownGame": "errors",
    "game_ids": "registry",
    "game_names": "registry",
    "get_game": "registry",
    "kernel": "jit",
    "load_records": "records",
    "read_records": "records",
    "record_dtype": "game",
    "record_game": "records",
    "register_game": "registry",
    "replay": "records",
}


__getattr__ = lazy_names(__name__, _HOMES)


__all__ = [
    "Canvas",
    "DeckhandError",
    "Game",
    "GameRecord",
    "IllegalAction",
    "Layout",
    "OptionError",
    "Options",
    "Piece",
    "Position",
    "Record",
    "RecordError",
    "ResetNeeded",
    "Symmetry",
    "UnknownGame",
    "game_ids",
    "game_names",
    "get_game",
    "kernel",
    "load_records",
    "read_records",
    "record_dtype",
    "record_game",
    "register_game",
    "replay",
]
