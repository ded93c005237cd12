"""Piraten-Pitt (Wolfgang Kramer, HABA 2000): ``env`` and ``raw_env`` build the PettingZoo environment."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..aec import DeckhandAEC


def raw_env(**kwargs: Any) -> "DeckhandAEC":
    """:func:`deckhand.envs.make` for this game. Every check is inside, so ``env`` is the same function."""
    from ..aec import make

    return make("piraten_pitt", **kwargs)


env = raw_env
