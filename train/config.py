"""Configurations: YAML files, validated, with errors that name the key. The shipped files in ``configs/`` explain every key.

This module has what all kinds share (:func:`load_kind`) and the configurations of training (:func:`load_config`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..agents import make_agent
from ..envs import get_game
from ..envs.core import DeckhandError, Game, OptionError
from ..envs.core.rng import MAX_SEED
from ..envs.core.yaml_text import read_yaml

MOST_GAMES = 10_000_000
"""No more deals or games at once: their seeds and results are kept in memory."""


class ConfigError(DeckhandError, ValueError):
    """A configuration that cannot be used; names the file, the key and what is allowed."""


class Section(BaseModel):
    """Base of the sections: no unknown keys, no silent conversions, no infinite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Positive = Annotated[int, Field(ge=1, le=MOST_GAMES)]
Deals = Annotated[int, Field(ge=2, le=MOST_GAMES)]
"""As many as a spread can be estimated from."""
Steps = Annotated[int, Field(ge=1, le=MAX_SEED)]
Share = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]


class Schedule(Section):
    """A number that moves in a straight line from the first step of training to the last. A plain number stays what it is."""

    start: NonNegative
    end: NonNegative

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return {"start": value, "end": value}
        if not isinstance(value, (dict, Schedule)):
            raise ValueError("write a number, or start and end")
        return value

    def at(self, progress: float) -> float:
        """The value after a share ``progress`` (0 .. 1) of the training."""
        return self.start + (self.end - self.start) * progress


class Network(Section):
    """Actor and critic: two separate networks of this shape."""

    hidden: Annotated[list[Positive], Field(min_length=1)]
    activation: Literal["relu", "tanh"] = "relu"
    symmetric: bool = False


class PPO(Section):
    """The algorithm's numbers. A warm start uses ``games``, ``steps`` and what its critic needs, the rest is for what follows it."""

    games: Positive = 512
    steps: Positive = 64
    batch_size: Annotated[int, Field(ge=2)] = 4096
    epochs: Positive = 2
    learning_rate: Schedule = Schedule(start=3e-4, end=3e-4)
    gamma: Share = 0.99
    gae_lambda: Share = 0.95
    clip: Annotated[float, Field(gt=0, le=1)] = 0.2
    entropy: Schedule = Schedule(start=0.0, end=0.0)
    value_coef: NonNegative = 0.5
    max_grad_norm: Annotated[float, Field(gt=0)] = 0.5
    target_kl: Annotated[float, Field(gt=0)] | None = None


class WarmStart(Section):
    """Before the first step of PPO the networks learn to do what an agent does: one stage of it."""

    agent: str
    steps: Steps
    epochs: Positive = 4
    batch_size: Annotated[int, Field(ge=2)] = 1024
    learning_rate: Schedule = Schedule(start=1e-3, end=1e-5)
    temperature: Annotated[float, Field(gt=0, le=1000)] = 0.5
    anchor: NonNegative = 0.0
    prior: Share = 0.0
    least: Share = 0.0
    led: Schedule = Schedule(start=1.0, end=0.0)


class Snapshots(Section):
    """Past selves as opponents."""

    weight: NonNegative
    every: Steps
    keep: Positive = 10
    latest: Share = 0.5


class Opponents(Section):
    """Who sits in the other seats while the learner trains."""

    agents: dict[str, NonNegative] = {}
    snapshots: Snapshots | None = None


class Budget(Section):
    """When training ends; 0 steps are for a warm start alone."""

    steps: Annotated[int, Field(ge=0, le=MAX_SEED)]
    minutes: Annotated[float, Field(gt=0)] | None = None


class Evaluation(Section):
    """How well the learner plays, measured while and after it trains."""

    against: Annotated[list[str], Field(min_length=1)]
    every: Steps
    deals: Deals
    final_deals: Deals
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 1_000_001
    final_seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 2_000_002


def check_widths(game: Game, hidden: Sequence[int]) -> None:
    """:class:`OptionError` unless a symmetric network for ``game`` can have hidden layers of these widths."""
    parts = game.symmetries()[0].parts
    if parts == 1:
        raise OptionError(f"symmetric cannot be true: the rules of {game.name} treat nothing alike")
    for width in hidden:
        if width % parts:
            raise OptionError(f"hidden cannot be {width} where symmetric is true: in {game.name} it must be a multiple of {parts}")


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""Of a file or folder in another: never ``..``, never hidden."""
FILES_BESIDE_VARIANTS = ("config.yaml", "versions.json", "comparison.json", "comparison.md", "curve.png")
"""What a run folder holds beside the folders of its variants."""


class Config(Section):
    """Base of the kinds of configuration."""

    shipped: ClassVar[str]
    """What the names of the shipped files of this kind begin with, up to their underscore; those of training have none."""

    name: Name

    def check(self, label: str) -> None:
        """:class:`ConfigError` for what no single key can tell: names that must exist, numbers that must fit each other."""


class RunConfig(Config):
    """Base of the kinds that are worked on in a run folder."""

    runs: str = "runs"
    """The folder in which run folders are made."""


Kind = TypeVar("Kind", bound=Config)
RunKind = TypeVar("RunKind", bound=RunConfig)
Result = TypeVar("Result")


class TrainConfig(RunConfig):
    """One training run, or a run a variant."""

    shipped = ""

    game: str
    players: Annotated[list[Positive], Field(min_length=1)]
    """Player counts that the games take in turn; a plain number stands for itself."""
    options: dict[str, Any] = {}
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    threads: Positive = 2
    reward_scale: Annotated[float, Field(gt=0)] = 1.0
    network: Network
    warm_start: list[WarmStart] = []
    """Stages, one after another; a single one stands for itself."""
    ppo: PPO = PPO()
    opponents: Opponents = Opponents()
    budget: Budget
    evaluation: Evaluation
    checkpoint_every: Steps
    variants: dict[Name, dict[str, Any]] = {}
    """Names of runs that differ, and what each changes: ``{"ppo.gamma": 0.9}``."""

    @field_validator("players", mode="before")
    @classmethod
    def _one_count(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]

    @field_validator("warm_start", mode="before")
    @classmethod
    def _one_stage(cls, value: Any) -> Any:
        return [value] if isinstance(value, dict) else value

    def check(self, label: str) -> None:
        _check_meaning(label, self)


def shipped_configs(kind: type[Config] = TrainConfig) -> list[str]:
    """Names of the configurations of a kind that come with the package."""
    names = [f.name.removesuffix(".yaml") for f in files("deckhand.configs").iterdir() if f.name.endswith(".yaml")]
    return sorted(name for name in names if name[: name.find("_") + 1] == kind.shipped)


def load_config(source: str, overrides: Sequence[str] = ()) -> TrainConfig:
    """Read a configuration of training, as :func:`load_kind` does."""
    return load_kind(TrainConfig, source, overrides)


def load_kind(kind: type[Kind], source: str, overrides: Sequence[str] = ()) -> Kind:
    """Read a configuration: a path, or the name of a shipped one. ``overrides`` are texts ``ppo.learning_rate=1e-3``.

    :class:`ConfigError` names the file, the key and what is allowed.
    """
    path = Path(source)
    known = shipped_configs(kind)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        label = source
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(f"{source} cannot be read: {error}") from None
    elif source in known:
        label = f"{source}.yaml"
        text = files("deckhand.configs").joinpath(label).read_text(encoding="utf-8")
    else:
        raise ConfigError(f"unknown config {source!r}: it is neither a .yaml file nor one of {', '.join(known)}")
    values = _parse(label, text)
    if not isinstance(values, dict):
        raise ConfigError(f"{label}: a config is a list of keys with values; the keys are: {', '.join(kind.model_fields)}")
    for override in overrides:
        _override(values, override)
    values.setdefault("name", path.stem)
    return check_config(kind, label, values)


def check_config(kind: type[Kind], label: str, values: dict[str, Any]) -> Kind:
    """The validated configuration; ``label`` is what errors call it."""
    try:
        config = kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{label}: {'; '.join(dict.fromkeys(_explain(kind, e) for e in error.errors()))}") from None
    config.check(label)
    return config


def variant_configs(config: TrainConfig) -> dict[str, TrainConfig]:
    """The configurations of the variants by name; :class:`ConfigError` names the variant and the key."""
    return _variants(config.name, config)


def _variants(label: str, config: TrainConfig) -> dict[str, TrainConfig]:
    found = {}
    for name, changes in config.variants.items():
        where = f"{label}: variants.{name}"
        if name.lower() in FILES_BESIDE_VARIANTS:
            raise ConfigError(f"{where}: a variant cannot be called {name!r}: the run folder has a file of this name")
        for key in changes:
            if key in ("name", "runs", "variants"):
                raise ConfigError(f"{where}: {key} cannot differ between variants")
        found[name] = change_config(where, config, {"name": name, "variants": {}, **changes})
    return found


def change_config(label: str, config: TrainConfig, changes: Mapping[str, Any]) -> TrainConfig:
    """The configuration with other values, ``{"ppo.gamma": 0.9}``; ``label`` is what errors call it."""
    values = config.model_dump()
    for key, value in changes.items():
        _set(label, values, key, value)
    return check_config(TrainConfig, label, values)


def dump_config(config: Config) -> str:
    """The configuration with every value, as YAML that :func:`load_kind` reads back."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False)


def _parse(label: str, text: str) -> Any:
    try:
        return read_yaml(text)
    except ValueError as error:
        raise ConfigError(f"{label}: {error}") from None


def _override(values: dict[str, Any], override: str) -> None:
    """Set ``a.b=value`` in the values; the value is read as YAML. Unknown keys are found by the validation that follows."""
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {override}: write key=value, for example ppo.learning_rate=1e-3")
    _set(f"--set {override}", values, key, _parse(f"--set {override}", text))


def _set(label: str, values: dict[str, Any], key: str, value: Any) -> None:
    """Set ``a.b`` in the values."""
    *sections, last = key.strip().split(".")
    place = values
    for section in sections:
        inner = place.setdefault(section, {})
        if inner is None:
            inner = place[section] = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"{label}: {section} is a value, not a section")
        place = inner
    place[last] = value


def _explain(kind: type[Config], error: Any) -> str:
    """One problem: the key's path, the value, what is allowed."""
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{key}: unknown key; known: {', '.join(_section(kind, error['loc'][:-1]).model_fields)}"
    if error["type"] == "missing":
        return f"{key}: missing"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"{key} cannot be {error['input']!r}: {message[0].lower()}{message[1:]}"


def _section(kind: type[Config], path: Sequence[str]) -> type[Section]:
    """The section at a key's path."""
    section: Any = kind
    for part in path:
        if part not in section.model_fields:
            continue  # a name in a dictionary of sections
        annotation = section.model_fields[part].annotation
        section = next((a for a in get_args(annotation) if isinstance(a, type) and issubclass(a, Section)), annotation)
    return section


def check_key(label: str, key: str, action: Callable[[], Result]) -> Result:
    """The result of an action that a key's value allows; its :class:`DeckhandError` becomes a :class:`ConfigError` that names the key."""
    try:
        return action()
    except DeckhandError as error:
        raise ConfigError(f"{label}: {key}: {error}") from None


def _check_meaning(label: str, config: TrainConfig) -> None:
    check = partial(check_key, label)
    game = check("game", lambda: get_game(config.game))
    for players in config.players:
        check("players", partial(game.check_players, players))
    if config.network.symmetric:
        check("network", partial(check_widths, game, config.network.hidden))
    check("options", lambda: game.parse_options(config.options))
    for name in config.opponents.agents:
        check("opponents.agents", partial(make_agent, game, name))
    if config.budget.steps == 0 and not config.warm_start:
        raise ConfigError(f"{label}: budget.steps cannot be 0: without a warm start there is nothing to train")
    for stage in config.warm_start:
        check("warm_start.agent", partial(make_agent, game, stage.agent))
        if max(stage.led.start, stage.led.end) > 1:
            raise ConfigError(
                f"{label}: warm_start.led cannot be {max(stage.led.start, stage.led.end)}: it is a share of the games, 0 to 1"
            )
    for name in config.evaluation.against:
        check("evaluation.against", partial(make_agent, game, name))
    snapshots = config.opponents.snapshots
    weight = sum(config.opponents.agents.values()) + (snapshots.weight if snapshots else 0)
    most = max(config.players)
    if most == 1 and weight > 0:
        raise ConfigError(f"{label}: opponents: a game for one player has none; leave this section out")
    if most > 1 and not sum(config.opponents.agents.values()) > 0 and not (game.cooperative and weight == 0):
        raise ConfigError(f"{label}: opponents.agents: {most} players need at least one agent with a weight above 0")
    rollout = config.ppo.games * config.ppo.steps
    if rollout % config.ppo.batch_size:
        raise ConfigError(f"{label}: ppo.batch_size cannot be {config.ppo.batch_size}: it must divide games x steps = {rollout}")
    for key, every in (("evaluation.every", config.evaluation.every), ("checkpoint_every", config.checkpoint_every)):
        if every < rollout:
            raise ConfigError(f"{label}: {key} cannot be {every}: one rollout, games x steps, has {rollout} steps already")
    if config.evaluation.seed == config.evaluation.final_seed:
        raise ConfigError(
            f"{label}: evaluation.final_seed cannot be {config.evaluation.seed}: the final deals must not be those of evaluation.seed"
        )
    _variants(label, config)
