"""What several commands need: options of a game, shared command line options, the extra for training."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ...envs.core import Game
    from ..config import RunKind
    from ..runs import RunFolder

GameName = Annotated[str, typer.Argument(help="Name or id of a game ('deckhand list' shows them).", metavar="GAME", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", "-p", help="Number of players; the game's smallest if not given.")]
Seed = Annotated[int, typer.Option("--seed", "-s", help="Seed, from 0 to 2^53 - 1.")]
OptionItems = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="A rule option as key=value; may be repeated.", metavar="KEY=VALUE")
]
SEATED = typer.Option("--agents", "-a", help="Who plays, separated by commas: one agent for all seats, or one a seat, seat 0 first.")
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Change a key of the config; may be repeated: where a key stands twice, the last counts.", metavar="KEY=VALUE"
    ),
]


def parse_options(game: "Game", items: Sequence[str] | None) -> dict[str, Any]:
    """The rule options of ``key=value`` strings, values read as YAML; :class:`OptionError` names what is wrong."""
    from ...envs.core import OptionError
    from ...envs.core.yaml_text import read_yaml

    values: dict[str, Any] = {}
    for item in items or ():
        key, equals, text = item.partition("=")
        if not equals or key in values:
            raise OptionError(f"{game.name}: option {item!r} {'is given twice' if equals else 'must be written key=value'}")
        try:
            values[key] = read_yaml(text)
        except ValueError as error:
            raise OptionError(f"{game.name}: option {key!r} cannot be {text!r}: it is no YAML value ({error})") from None
    game.parse_options(values)
    return values


def parse_players(game: "Game", players: int | None) -> int:
    """The player count, by default the game's smallest; :class:`OptionError` if it is not allowed."""
    return game.check_players(game.min_players if players is None else players)


def require_training() -> None:
    """:class:`DeckhandError` that says how to install what training needs, where it is missing."""
    from ...envs.core import DeckhandError

    missing = [name for name in ("sb3_contrib", "tensorboard", "matplotlib", "cma", "optuna", "filelock") if find_spec(name) is None]
    if missing:
        raise DeckhandError(f"training needs {', '.join(missing)}: pip install 'deckhand-rl[train]'")


def open_run(
    kind: "type[RunKind]", config: str | None, changes: Sequence[str], resume: Path | None, example: str, free: Sequence[str] = ()
) -> tuple["RunFolder", "RunKind"]:
    """A new run folder with the configuration that was named and changed, or the folder to resume with its own.

    Only ``free`` keys of a run that is resumed can be changed. :class:`ConfigError` where others are, or a configuration is named as well,
    or there is nothing to open; it shows the ``example``.
    """
    from ..config import ConfigError, load_kind
    from ..runs import RunFolder

    if resume is not None:
        given = [config] if config is not None else []
        given += [change for change in changes if change.partition("=")[0].strip() not in free]
        if given:
            but = f"; only {' and '.join(free)} can change" if free else ""
            raise ConfigError(f"{resume} goes on with its own config: leave out {given[0]}{but}")
        return RunFolder.open(resume, kind, changes)
    if config is None:
        raise ConfigError(f"name a config, for example: {example}")
    chosen = load_kind(kind, config, changes)
    return RunFolder.create(Path(chosen.runs), chosen), chosen
