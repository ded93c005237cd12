"""The games that exist."""

import importlib
from collections.abc import Callable

from .errors import UnknownGame
from .game import Game

_LOADERS: dict[str, Callable[[], Game]] = {}
_GAMES: dict[str, Game] = {}


def register_game(name: str, target: str) -> None:
    """Register a game: ``target`` is ``module:Class``, imported when the game is first used."""

    def load() -> Game:
        module, _, attribute = target.partition(":")
        game: Game = getattr(importlib.import_module(module), attribute)()
        return game

    _LOADERS[name] = load
    _GAMES.pop(name, None)


def game_names() -> list[str]:
    """Names of all registered games, in order of registration."""
    return list(_LOADERS)


def get_game(name: str) -> Game:
    """The game of a registry name (``flotsam_fight``) or a versioned id (``FlotsamFight-v0``)."""
    if name in _LOADERS:
        if name not in _GAMES:
            _GAMES[name] = _LOADERS[name]()
        return _GAMES[name]
    for known in _LOADERS:
        game = get_game(known)
        if game.id == name:
            return game
    raise UnknownGame(f"unknown game {name!r}; the games are: {', '.join(_LOADERS)}")
