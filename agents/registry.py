"""Agents by name."""

import re
from pathlib import Path

from ..envs.core import Game, OptionError, get_game
from ..envs.core.agent import Agent, RandomAgent
from .rule_agent import RuleAgent
from .rules import rule_set

_CALL = re.compile(r"([A-Za-z_]\w*)(?:\(([^()]*)\))?")


def agent_names(game: Game | str) -> list[str]:
    """Names of the agents that every installation can make for a game: ``random`` and the game's rule agents."""
    return ["random", *rule_set(_game(game)).agents]


def default_agent(game: Game | str) -> str:
    """The game's baseline: its first rule agent, or ``random`` where it has none."""
    return next(iter(rule_set(_game(game)).agents), "random")


def make_agent(game: Game | str, spec: str) -> Agent:
    """The agent that ``spec`` names. :class:`OptionError` says what is wrong and what exists.

    =============================  ===================================================================================
    ``random``                     a uniform random legal action
    ``low``                        a rule agent of the game (:func:`agent_names`)
    ``collector(0.8)``             a rule agent whose first parameters, separated by commas, are set
    ``flotsam_fight:low``          the same with the game's name or id in front, which must be that of ``game``
    ``runs/x/policy.safetensors``  a trained policy: its weights file, or a folder that holds ``policy.safetensors``
    =============================  ===================================================================================
    """
    game = _game(game)
    if spec.endswith(".safetensors") or (Path(spec) / "policy.safetensors").is_file():
        return _load_policy(game, spec)
    owner, _, rest = spec.rpartition(":")
    if owner and owner not in (game.name, game.id):
        raise OptionError(f"agent {spec!r} is for another game than {game.name}")
    match = _CALL.fullmatch(rest)
    names = agent_names(game)
    if match is None or match[1] not in names:
        raise OptionError(
            f"{game.name}: unknown agent {spec!r}; the agents are: {', '.join(names)}, or a policy: "
            "a .safetensors file or a folder that holds policy.safetensors"
        )
    try:
        values = [float(text) for text in match[2].split(",")] if match[2] else []
    except ValueError:
        raise OptionError(f"{game.name}: the parameters of agent {spec!r} must be numbers separated by commas") from None
    if match[1] != "random":
        return RuleAgent(game, match[1], values)
    if values:
        raise OptionError(f"{game.name}: agent 'random' takes no parameters")
    return RandomAgent(game)


def _game(game: Game | str) -> Game:
    return get_game(game) if isinstance(game, str) else game


def _load_policy(game: Game, path: str) -> Agent:
    # Imported here: policies need the extra [train], the other agents do not.
    try:
        from .policy import PolicyAgent
    except ModuleNotFoundError as error:
        raise OptionError(f"agent {path!r} needs {error.name}: pip install 'deckhand-rl[train]'") from None
    return PolicyAgent.load(path, game)
