"""Agents whose decisions are a compiled rule."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from ..envs.core import Game, OptionError
from .compiled_agent import CompiledAgent
from .parameters import Parameter, find_problem, load_parameters
from .rules import rule_set


class RuleAgent(CompiledAgent):
    """One of a game's rule agents.

    ``values`` replace the first of its numeric parameters; :class:`OptionError` if there are more of them than it has, or one is outside
    its parameter's range.
    """

    def __init__(self, game: Game, rule: str, values: Sequence[float] = ()) -> None:
        rules = rule_set(game)
        if rule not in rules.agents:
            raise OptionError(f"{game.name}: unknown rule agent {rule!r}; the rule agents are: {', '.join(rules.agents) or 'none'}")
        self.kind, defaults = rules.agents[rule]
        if len(values) > len(defaults):
            raise OptionError(f"{game.name}: agent {rule!r} takes {len(defaults)} parameters at most, not {len(values)}")
        self.parameters: Sequence[Parameter] = rules.parameters.get(rule, ())
        named = self.parameters or [Parameter(str(i + 1), default, "") for i, default in enumerate(defaults)]
        problem = find_problem(named, values)
        if problem:
            raise OptionError(f"{game.name}: agent {rule!r}: {problem}")
        super().__init__(game)
        self.name = f"{rule}({','.join(f'{v:g}' for v in values)})" if values else rule
        self.params = np.zeros(rules.width)
        self.params[: len(defaults)] = [*values, *defaults[len(values) :]]

    @classmethod
    def load(cls, path: str | Path, game: Game) -> Self:
        """The agent of a file of parameters, called like the file; ``ParameterError`` if it is damaged or does not fit."""
        parameters = rule_set(game).parameters
        file = load_parameters(path, game, parameters)
        agent = cls(game, file.agent, [file.parameters[p.name] for p in parameters[file.agent]])
        agent.name = Path(path).stem
        return agent
