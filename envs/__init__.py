"""The games and their environments.

Importing this makes the ids ``deckhand/…`` known to Gymnasium and PettingZoo. It is cheap (no numba, no torch, no matplotlib): games and
environments are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from .core.lazy import lazy_names
from .core.registry import game_ids, game_names, get_game, register_game
from .registration import register_gymnasium, register_pettingzoo

if TYPE_CHECKING:
    from .aec import DeckhandAEC, make
    from .core.check import check_game
    from .learner import LearnerEnv
    from .learner_batch import LearnerBatch
    from .vector import DeckhandVectorEnv

register_game("alle_in_die_boote", "AlleInDieBoote-v0", "deckhand.envs.alle_in_die_boote.table:AlleInDieBoote")
register_game("flotsam_fight", "FlotsamFight-v0", "deckhand.envs.flotsam_fight.table:FlotsamFight")
register_game("keltis", "Keltis-v0", "deckhand.envs.keltis.table:Keltis")
register_game("piraten_pitt", "PiratenPitt-v0", "deckhand.envs.piraten_pitt.table:PiratenPitt")

register_gymnasium()
register_pettingzoo()

_HOMES = {
    "DeckhandAEC": "aec",
    "DeckhandVectorEnv": "vector",
    "LearnerBatch": "learner_batch",
    "LearnerEnv": "learner",
    "check_game": "core.check",
    "make": "aec",
}


__getattr__ = lazy_names(__name__, _HOMES)


__all__ = [
    "DeckhandAEC",
    "DeckhandVectorEnv",
    "LearnerBatch",
    "LearnerEnv",
    "check_game",
    "game_ids",
    "game_names",
    "get_game",
    "make",
    "register_game",
    "register_gymnasium",
    "register_pettingzoo",
]
