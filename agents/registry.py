"""Agents by name."""

import re
from pathlib import Path
from typing import Any

from ..envs.core import Game, OptionError, get_game
from ..envs.core.agent import Agent, RandomAgent
from .rule_agent import RuleAgent
from .rules import rule_set
from .search import Budget, FlatSearch, SearchAgent, TreeSearch

_CALL = re.compile(r"(?:([^():]*):)?([A-Za-z_]\w*)(?:\((.*)\))?")
_SEARCHES: dict[str, tuple[type[SearchAgent], tuple[str, ...]]] = {
    "flat": (FlatSearch, ("caution", "until", "horizon")),
    "ismcts": (TreeSearch, ("exploration", "bias", "until", "horizon")),
}


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
    ``flat(64)``                   flat Monte Carlo in 64 worlds (:class:`deckhand.agents.FlatSearch`)
    ``ismcts(500)``                information-set MCTS with 500 simulations (:class:`deckhand.agents.TreeSearch`)
    ``flat(50ms, low, caution=0)``  a search with a budget of time, the agent of its rollouts (the game's baseline if not
                                   given) and settings: ``until`` (``end`` or ``reward``), ``horizon``; ``caution`` of
                                   ``flat``; ``exploration`` and ``bias`` of ``ismcts``
    ``flotsam_fight:low``          any of these with the game's name or id in front, which must be that of ``game``
    ``runs/x/policy.safetensors``  a trained policy: its weights file, or a folder that holds ``policy.safetensors``
    =============================  ===================================================================================
    """
    game = _game(game)
    if spec.endswith(".safetensors") or (Path(spec) / "policy.safetensors").is_file():
        return _load_policy(game, spec)
    match = _CALL.fullmatch(spec)
    owner, name, arguments = match.groups() if match else (None, "", None)
    if owner is not None and owner not in (game.name, game.id):
        raise OptionError(f"agent {spec!r} is for another game than {game.name}")
    if name in _SEARCHES:
        return _make_search(game, spec, name, arguments or "")
    names = agent_names(game)
    if name not in names:
        raise OptionError(
            f"{game.name}: unknown agent {spec!r}; the agents are: {', '.join(names)}, a search like flat(64) or ismcts(500), or a policy: "
            "a .safetensors file or a folder that holds policy.safetensors"
        )
    try:
        values = [float(text) for text in arguments.split(",")] if arguments else []
    except ValueError:
        raise OptionError(f"{game.name}: the parameters of agent {spec!r} must be numbers separated by commas") from None
    if name != "random":
        return RuleAgent(game, name, values)
    if values:
        raise OptionError(f"{game.name}: agent 'random' takes no parameters")
    return RandomAgent(game)


def split_specs(text: str) -> list[str]:
    """The agents of a list with commas: ``"flat(64,low),collector(0.8)"`` names two."""
    specs = [""]
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            specs.append("")
        else:
            specs[-1] += letter
    return [spec.strip() for spec in specs]


def _make_search(game: Game, spec: str, name: str, arguments: str) -> SearchAgent:
    search, allowed = _SEARCHES[name]
    budget, *others = split_specs(arguments)
    if not budget:
        raise OptionError(f"{game.name}: agent {spec!r} needs a budget: {name}(64) for simulations, {name}(50ms) for time")
    rollout = default_agent(game)
    settings: dict[str, Any] = {"until": rule_set(game).rollouts_until}
    for i, text in enumerate(others):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals and i == 0:
            rollout = text
        elif not equals or key not in allowed:
            raise OptionError(f"{game.name}: agent {spec!r} has no setting {text!r}; allowed are: {', '.join(f'{k}=' for k in allowed)}")
        else:
            settings[key] = value if key == "until" else _number(game, spec, key, value)
    agent = search(game, Budget.parse(budget), make_agent(game, rollout), **settings)
    agent.name = f"{name}({','.join([str(agent.budget), *others])})"
    return agent


def _number(game: Game, spec: str, key: str, text: str) -> int | float:
    try:
        return int(text) if key == "horizon" else float(text)
    except ValueError:
        raise OptionError(f"{game.name}: {key} of agent {spec!r} cannot be {text!r}: it must be a number") from None


def _game(game: Game | str) -> Game:
    return get_game(game) if isinstance(game, str) else game


def _load_policy(game: Game, path: str) -> Agent:
    # Imported here: policies need the extra [train], the other agents do not.
    try:
        from .policy import PolicyAgent
    except ModuleNotFoundError as error:
        raise OptionError(f"agent {path!r} needs {error.name}: pip install 'deckhand-rl[train]'") from None
    return PolicyAgent.load(path, game)
