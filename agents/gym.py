"""What ``gymnasium.make("deckhand/…")`` and ``gymnasium.make_vec`` call: the environments with opponents given by name."""

from collections.abc import Sequence
from typing import Any

from ..envs.core import Game, get_game
from ..envs.core.agent import Agent
from ..envs.learner import LearnerEnv
from ..envs.vector import DeckhandVectorEnv

Opponents = str | Agent | Sequence[str | Agent] | None
"""A name that ``make_agent`` knows, an agent, or several of both."""


def make_learner_env(game: str | Game, num_players: int | None = None, *, opponents: Opponents = None, **kwargs: Any) -> LearnerEnv:
    """A :class:`deckhand.envs.LearnerEnv` whose ``opponents`` may be names, for example ``"low"`` or ``["low", "random"]``."""
    game = get_game(game) if isinstance(game, str) else game
    return LearnerEnv(game, num_players, opponents=make_opponents(game, opponents), **kwargs)


def make_vector_env(
    game: str | Game, num_envs: int = 1, num_players: int | Sequence[int] | None = None, *, opponents: Opponents = None, **kwargs: Any
) -> DeckhandVectorEnv:
    """A :class:`deckhand.envs.DeckhandVectorEnv` whose ``opponents`` may be names."""
    game = get_game(game) if isinstance(game, str) else game
    return DeckhandVectorEnv(game, num_envs, num_players, opponents=make_opponents(game, opponents), **kwargs)


def make_opponents(game: Game, opponents: Opponents) -> list[Agent] | None:
    """The agents that ``opponents`` names; None stays None."""
    if opponents is None:
        return None
    from . import make_agent

    several = opponents if isinstance(opponents, Sequence) and not isinstance(opponents, str) else [opponents]
    return [make_agent(game, one) if isinstance(one, str) else one for one in several]
