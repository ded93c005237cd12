"""The games and their environments. Importing this loads neither torch nor matplotlib."""

from .core import game_names, get_game, register_game

register_game("alle_in_die_boote", "deckhand.envs.alle_in_die_boote.table:AlleInDieBoote")
register_game("flotsam_fight", "deckhand.envs.flotsam_fight.table:FlotsamFight")

__all__ = ["game_names", "get_game", "register_game"]
