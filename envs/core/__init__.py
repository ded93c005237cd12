"""The contract that every game keeps, and what is written over it once for all games. Imports no game."""

from .canvas import Canvas
from .errors import DeckhandError, IllegalAction, OptionError, RecordError, UnknownGame
from .game import Game, Record, record_dtype
from .jit import kernel
from .layout import Layout, Piece
from .options import Options
from .position import Position
from .records import GameRecord, load_records, read_records, record_game, replay
from .registry import game_names, get_game, register_game

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
    "UnknownGame",
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
