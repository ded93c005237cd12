"""Agents by name."""

import os
import re
from pathlib import Path
from typing import Any

from ..envs.core import DeckhandError, Game, OptionError, get_game
from ..envs.core.agent import Agent, RandomAgent
from .by_players import ByPlayers
from .policy import PolicyAgent
from .rule_agent import RuleAgent
from .rules import rule_set
from .search import Budget, FlatSearch, SearchAgent, TreeSearch
from .shipped import best_file, best_specs, shipped_networks
from .value_agent import FORMAT, ValueAgent
from .weights_file import NAMES, card_format, find_weights

_CALL = re.compile(r"(?:([^():]*):)?([A-Za-z_]\w*)(?:\((.*)\))?")
_SEARCHES: dict[str, tuple[type[SearchAgent], tuple[str, ...]]] = {
    "flat": (FlatSearch, ("others", "policy", "caution", "least", "until", "horizon")),
    "ismcts": (TreeSearch, ("others", "policy", "exploration", "bias", "until", "horizon")),
}
RESERVED = ("random", "best", "sample", *_SEARCHES)
"""Names that mean the same in every game: no rule agent and no policy can have them."""


def agent_names(game: Game | str) -> list[str]:
    """Names of the agents that every installation can make for a game: ``random`` and the game's rule agents."""
    return ["random", *rule_set(_game(game)).agents]


def named_agents(game: Game | str) -> list[str]:
    """Names of everything that plays a game without further files: :func:`agent_names`, the networks that ship, and ``best``."""
    return [*agent_names(game), *shipped_networks(_game(game)), "best"]


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
                                   given) and settings: ``until`` (``end`` or ``reward``), ``horizon``, ``policy`` (whose
                                   actions are tried first); ``caution``, ``least`` of ``flat``; ``exploration``, ``bias`` of
                                   ``ismcts``
    ``best``                       the strongest agent that ships for the game (:mod:`deckhand.agents.shipped`)
    ``policy``                     the trained policy that ships for the game
    ``values``                     the value agent that ships for the game, if one does (:class:`deckhand.agents.ValueAgent`)
    ``flotsam_fight:low``          any of these with the game's name or id in front, which must be that of ``game``
    ``runs/x/policy.safetensors``  a trained policy or value agent: its weights file, or a folder that holds ``policy.safetensors`` or
                                   ``values.safetensors``
    ``runs/x/fitted.yaml``         a rule agent whose parameters are those of the file (``deckhand fit``)
    ``sample(policy)``             a trained policy, shipped or of a file, that draws its actions from its distribution
    =============================  ===================================================================================
    """
    game = _game(game)
    if not isinstance(spec, str):
        raise OptionError(f"{game.name}: an agent is named by a text, not by {spec!r}")
    if _is_file(spec):
        return _load(spec, game)
    if spec.endswith(".yaml"):
        return RuleAgent.load(spec, game)
    match = _CALL.fullmatch(spec)
    owner, name, arguments = match.groups() if match else (None, "", None)
    if owner is not None and owner not in (game.name, game.id):
        raise OptionError(f"agent {spec!r} is for another game than {game.name}")
    if name in _SEARCHES:
        return _make_search(game, spec, name, arguments or "")
    if name == "sample":
        return _make_sampler(game, spec, arguments or "")
    names, networks = named_agents(game), shipped_networks(game)
    if name not in names:
        raise OptionError(
            f"{game.name}: unknown agent {spec!r}; the agents are: {', '.join(names)}, a search like flat(64) or "
            "ismcts(500), or a trained network: a .safetensors file or the folder of a finished run"
        )
    if arguments and name not in rule_set(game).agents:
        raise OptionError(f"{game.name}: agent {name!r} takes no parameters")
    if name == "random":
        return RandomAgent(game)
    if name == "best":
        return _make_best(game)
    if name in networks:
        trained = _load(networks[name], game)
        trained.name = name
        return trained
    try:
        values = [float(text) for text in arguments.split(",")] if arguments else []
    except ValueError:
        raise OptionError(f"{game.name}: the parameters of agent {spec!r} must be numbers separated by commas") from None
    return RuleAgent(game, name, values)


def load_trained(spec: str) -> PolicyAgent | ValueAgent:
    """A trained network: its weights file, the folder of a finished run, or one that ships, like ``flotsam_fight:policy``.

    :class:`OptionError` for everything else.
    """
    if _is_file(spec):
        return _load(spec)
    game, colon, _ = spec.partition(":")
    agent = make_agent(game, spec) if colon else None
    if not isinstance(agent, (PolicyAgent, ValueAgent)):
        raise OptionError(f"{spec!r} is no trained network: name a run folder, a .safetensors file, or one that ships, as GAME:policy")
    return agent


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


def _is_file(spec: str) -> bool:
    # os.path: a Path raises where a spec with many parameters is longer than a file name can be.
    return spec.endswith(".safetensors") or any(os.path.isfile(os.path.join(spec, name)) for name in NAMES)


def _load(path: str | Path, game: Game | None = None) -> PolicyAgent | ValueAgent:
    """The agent of a file of weights, or of the folder that holds one."""
    kind = ValueAgent if card_format(find_weights(path)) == FORMAT else PolicyAgent
    return kind.load(path, game)


def _make_best(game: Game) -> Agent:
    specs = best_specs(game) or {game.min_players: default_agent(game)}
    try:
        made = {spec: make_agent(game, spec) for spec in specs.values()}
    except DeckhandError as error:
        raise OptionError(f"{best_file(game)}: {error}") from None
    if len(made) > 1:
        return ByPlayers(game, {count: made[spec] for count, spec in specs.items()}, "best")
    (agent,) = made.values()
    agent.name = f"best: {agent.name}"
    return agent


def _make_sampler(game: Game, spec: str, arguments: str) -> PolicyAgent:
    agent = make_agent(game, arguments)
    if not isinstance(agent, PolicyAgent):
        raise OptionError(f"{game.name}: agent {spec!r} needs a trained policy, not {agent.name!r}")
    agent.deterministic = False
    agent.name = f"sample({agent.name})"
    return agent


def _make_search(game: Game, spec: str, name: str, arguments: str) -> SearchAgent:
    search, allowed = _SEARCHES[name]
    budget, *others = split_specs(arguments)
    if not budget:
        raise OptionError(f"{game.name}: agent {spec!r} needs a budget: {name}(64) for simulations, {name}(50ms) for time")
    rollout = default_agent(game)
    settings: dict[str, Any] = {"until": rule_set(game).rollouts_until}
    given = set()
    for i, text in enumerate(others):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals and i == 0:
            rollout = text
        elif not equals or key not in allowed:
            raise OptionError(f"{game.name}: agent {spec!r} has no setting {text!r}; allowed are: {', '.join(f'{k}=' for k in allowed)}")
        elif key in given:
            raise OptionError(f"{game.name}: agent {spec!r} has the setting {key} twice")
        elif key in ("others", "policy"):
            settings[key] = make_agent(game, value)
        else:
            settings[key] = value if key == "until" else _number(game, spec, key, value)
        given.add(key)
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
