"""The numbers of rule agents: what they are called, and files that set them all."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..envs.core import DeckhandError, Game
from ..envs.core.files import write_text
from ..envs.core.yaml_text import read_yaml

LIMIT = 1e6
"""No parameter may be farther from 0: the agents' sums stay numbers."""


class ParameterError(DeckhandError, ValueError):
    """A file of parameters that is damaged, or made for another game, version or set of parameters; names both sides."""


class Parameter(NamedTuple):
    """One number of a rule agent."""

    name: str
    default: float
    about: str
    """What it is, in a few words."""
    scale: float = 1.0
    """A change that matters: the unit of a fit's steps."""
    players: tuple[int, int] = (1, 99)
    """Fewest and most players with whom it counts. Parameters of one agent have ranges that are the same or do not meet."""
    low: float = -LIMIT
    """The smallest value allowed ..."""
    high: float = LIMIT
    """... and the greatest."""


def find_problem(parameters: Iterable[Parameter], values: Iterable[Any]) -> str | None:
    """What is wrong with the first value that is no number or outside the range of its parameter; None if nothing is."""
    for parameter, value in zip(parameters, values, strict=False):
        if not isinstance(value, (int, float)) or not parameter.low <= value <= parameter.high:
            return f"parameter {parameter.name} cannot be {value!r}: it must be a number from {parameter.low:g} to {parameter.high:g}"
    return None


Number = Annotated[float, Field(allow_inf_nan=False)]


class ParameterFile(BaseModel):
    """The values of all parameters of a rule agent, and where they come from."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["deckhand-parameters/1"] = "deckhand-parameters/1"
    game: str
    """Versioned id, ``FlotsamFight-v0``."""
    agent: str
    """The rule agent whose parameters these are."""
    parameters: dict[str, Number]
    provenance: dict[str, Any] = {}

    def save(self, path: str | Path, parameters: Sequence[Parameter]) -> None:
        """Write a YAML file in which every number stands beside what it is and its default."""
        head = self.model_dump(include={"format", "game", "agent"})
        lines = [
            "# Parameters of a rule agent, written by 'deckhand fit'.",
            *yaml.safe_dump(head, sort_keys=False).splitlines(),
            "parameters:",
        ]
        lines += [f"  {p.name}: {self.parameters[p.name]!r} # {p.about}; default {p.default:g}" for p in parameters]
        lines += yaml.safe_dump({"provenance": self.provenance}, sort_keys=False, width=120).splitlines()
        write_text(path, "\n".join(lines) + "\n")


def load_parameters(path: str | Path, game: Game, agents: Mapping[str, Sequence[Parameter]]) -> ParameterFile:
    """Read a file of parameters for one of ``agents`` (name to parameters); :class:`ParameterError` if it is damaged or does not fit."""
    try:
        file = ParameterFile.model_validate(read_yaml(Path(path).read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the file"
        raise ParameterError(f"{path} is no file of parameters: {key}: {first['msg']}") from None
    except (OSError, ValueError) as error:
        raise ParameterError(f"{path} cannot be read: {error}") from None
    if file.game != game.id:
        raise ParameterError(f"{path} is for {file.game}, not {game.id}")
    if file.agent not in agents:
        raise ParameterError(f"{path}: agent {file.agent!r} has no parameters; agents that have are: {', '.join(agents) or 'none'}")
    names = [p.name for p in agents[file.agent]]
    missing = [name for name in names if name not in file.parameters]
    unknown = [name for name in file.parameters if name not in names]
    if missing or unknown:
        problems = [f"{what} {', '.join(found)}" for what, found in (("missing", missing), ("unknown", unknown)) if found]
        raise ParameterError(f"{path}: the parameters of agent {file.agent!r} do not fit: {'; '.join(problems)}")
    problem = find_problem(agents[file.agent], [file.parameters[name] for name in names])
    if problem:
        raise ParameterError(f"{path}: agent {file.agent!r}: {problem}")
    return file
