"""Ids for Gymnasium and PettingZoo: ``deckhand/`` and the game's versioned id, for example ``deckhand/FlotsamFight-v0``."""

import importlib.util

from .core.registry import game_ids


def register_gymnasium() -> None:
    """Register every game with ``gymnasium.make`` and ``gymnasium.make_vec``.

    Done by ``import deckhand.envs`` (``gymnasium.make("deckhand.envs:deckhand/FlotsamFight-v0")`` imports it by itself); loads no game.
    Call it again after ``register_game``; ids that are already registered stay as they are.
    """
    from gymnasium.envs.registration import register, registry

    for name, game_id in game_ids().items():
        if f"deckhand/{game_id}" not in registry:
            register(
                f"deckhand/{game_id}",
                entry_point="deckhand.agents.gym:make_learner_env",
                vector_entry_point="deckhand.agents.gym:make_vector_env",
                kwargs={"game": name},
            )


def register_pettingzoo() -> None:
    """Register every game with ``pettingzoo.make("aec", …)``, which exists from PettingZoo 1.27 on; without it this does nothing.

    Done by ``import deckhand.envs``; loads no game. Call it again after ``register_game``.
    """
    if importlib.util.find_spec("pettingzoo.env_registry") is None:
        return
    from pettingzoo.env_registry.registration import aec_registry, register  # type: ignore[import-untyped]

    for name, game_id in game_ids().items():
        if f"deckhand/{game_id}" not in aec_registry:
            register("aec", f"deckhand/{game_id}", entry_point="deckhand.envs.aec:make", kwargs={"game": name})
