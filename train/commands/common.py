"""What several commands need: options of a game, files that appear whole or not at all, shared command line options."""

import errno
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

if TYPE_CHECKING:
    from ...envs.core import Game

GameName = Annotated[str, typer.Argument(help="Name or id of a game ('deckhand list' shows them).", metavar="GAME", show_default=False)]
Players = Annotated[int | None, typer.Option("--players", "-p", help="Number of players; the game's smallest if not given.")]
Seed = Annotated[int, typer.Option("--seed", "-s", help="Seed, from 0 to 2^53 - 1.")]
OptionItems = Annotated[
    list[str] | None, typer.Option("--option", "-o", help="A rule option as key=value; may be repeated.", metavar="KEY=VALUE")
]


def parse_options(game: "Game", items: Sequence[str] | None) -> dict[str, Any]:
    """The rule options of ``key=value`` strings, values read as YAML; :class:`OptionError` names what is wrong."""
    import yaml

    from ...envs.core import OptionError

    values: dict[str, Any] = {}
    for item in items or ():
        key, equals, text = item.partition("=")
        if not equals or key in values:
            raise OptionError(f"{game.name}: option {item!r} {'is given twice' if equals else 'must be written key=value'}")
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError:
            raise OptionError(f"{game.name}: option {key!r} cannot be {text!r}: it is no YAML value") from None
    game.parse_options(values)
    return values


def parse_players(game: "Game", players: int | None) -> int:
    """The player count, by default the game's smallest; :class:`OptionError` if it is not allowed."""
    return game.check_players(game.min_players if players is None else players)


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A text file to write that takes the place of ``path`` when all went well; otherwise nothing is left behind."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    if path.exists() and not path.is_file():
        # A device or pipe cannot be replaced.
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, "x", encoding="utf-8", newline="\n") as file:
            yield file
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with writing(path) as file:
        file.write(text)


def write_json(path: Path, data: Any) -> None:
    """Write indented JSON whole or not at all."""
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")
