"""The errors a user can meet, each a subclass of the built-in error it refines."""


class DeckhandError(Exception):
    """Base of every error raised on purpose; its text is one clear line."""


class OptionError(DeckhandError, ValueError):
    """An option, player count or seed that is not allowed; names the option, the value and what is."""


class IllegalAction(DeckhandError, ValueError):
    """An action that the mask forbids; names the action, its string and the legal ones."""


class RecordError(DeckhandError, ValueError):
    """A damaged game record or saved state; names the line and what is wrong."""


class UnknownGame(DeckhandError, KeyError):
    """A game or environment id that is not registered; names those that are."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument.
        return str(self.args[0])


class ResetNeeded(DeckhandError, RuntimeError):
    """A call that needs a running game, made before ``reset`` or after the end."""
