"""The games that exist. Importing this loads no game and no numba."""

import importlib
from typing import TYPE_CHECKING, NamedTuple

from .errors import UnknownGame

if TYPE_CHECKING:
    from .game import Game


class _Entry(NamedTuple):
    id: str
    target: str


_ENTRIES: dict[str, _Entry] = {}
_GAMES: "dict[str, Game]" = {}


def register_game(name: str, game_id: str, target: str) -> None:
    """Register a game: its ``name`` and ``id``, and ``target`` (``module:Class``), which is imported when the game is first used."""
    _ENTRIES[name] = _Entry(game_id, target)
    _GAMES.pop(name, None)


def game_names() -> list[str]:
    """Names of all registered games, in order of registration."""
    return list(_ENTRIES)


def game_ids() -> dict[str, str]:
    """The versioned id of every registered game, by name; loads no game."""
    return {name: entry.id for name, entry in _ENTRIES.items()}


def get_game(name: str) -> "Game":
    """The game of a registry name (``flotsam_fight``) or a versioned id (``FlotsamFight-v0``)."""
    for known, entry in _ENTRIES.items():
        if name in (known, entry.id):
            if known not in _GAMES:
                _GAMES[known] = _load(known, entry)
            return _GAMES[known]
    raise UnknownGame(f"unknown game {name!r}; the games are: {', '.join(_ENTRIES)}")


def _load(name: str, entry: _Entry) -> "Game":
    module, _, attribute = entry.target.partition(":")
    game: Game = getattr(importlib.import_module(module), attribute)()
    if (game.name, game.id) != (name, entry.id):
        raise ValueError(f"{entry.target} is {game.name!r} with id {game.id!r}, but registered as {name!r} with id {entry.id!r}")
    return game
