"""The command ``deckhand``."""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from . import commands

BAD_INPUT = 2
DAMAGED_FILE = 1


class _Commands(TyperGroup):
    """The group of all commands: whatever the user can get wrong becomes one line on standard error."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except Exception as error:
            message, code = _explain(error)
            if message:
                print(f"deckhand: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(code or 0)


def _explain(error: Exception) -> tuple[str, int]:
    """Message and exit code of an error that a user can cause; every other error is a fault of the program and raised again."""
    from pydantic import ValidationError

    from ..envs.core import DeckhandError, RecordError

    if isinstance(error, RecordError):
        return str(error), DAMAGED_FILE
    if isinstance(error, TyperException):
        # The parameter types are checked by pydantic, whose message leaves out the value.
        given = f", not {error.__cause__.errors()[0]['input']!r}" if isinstance(error.__cause__, ValidationError) else ""
        return error.format_message() + given, BAD_INPUT
    if isinstance(error, Abort):
        return "aborted", 130
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror, BAD_INPUT
    # Missing extras say how to install them.
    if isinstance(error, (DeckhandError, ImportError)):
        return str(error), BAD_INPUT
    raise error


def tell_of_compiling(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which says on a terminal that numba compiles: on a new machine that takes long before anything else is seen."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        # Imported late: it takes a while, and --help needs none of it.
        from numba.core.event import Event, Listener, install_listener

        class Telling(Listener):
            told = not sys.stderr.isatty()

            def on_start(self, event: Event) -> None:
                if not self.told:
                    self.told = True
                    print("deckhand: compiling for this machine, once for each game and kind of use: up to half a minute", file=sys.stderr)

            def on_end(self, event: Event) -> None:
                pass

        # Code that lies compiled on disk causes no such event.
        with install_listener("numba:compile", Telling()):
            return command(*args, **kwargs)

    return run


app = typer.Typer(
    name="deckhand",
    cls=_Commands,
    help="Four tabletop games for reinforcement learning: play, record, train, evaluate.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _module in pkgutil.iter_modules(commands.__path__):
    if _module.name != "common":
        importlib.import_module(f".{_module.name}", commands.__name__).register(app)
for _command in app.registered_commands:
    assert _command.callback
    _command.callback = tell_of_compiling(_command.callback)


def main() -> None:
    """Run the command line."""
    app()
