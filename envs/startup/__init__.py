"""Lets ``gymnasium.make("deckhand/…")`` work without an import of Deckhand.

Gymnasium stopped loading plugins through entry points in 1.0. Instead, ``deckhand.pth`` beside the installed package has Python import this
module when it starts. It imports nothing else: it waits until somebody imports Gymnasium and then registers the ids.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


class GymnasiumWatch:
    """An import hook that registers the ids as soon as Gymnasium has been imported, once."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Part of Python's import protocol."""
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    try:
        from deckhand.envs.registration import register_gymnasium

        register_gymnasium()
    except Exception as error:  # whatever is wrong with Deckhand, Gymnasium must stay usable
        import warnings

        warnings.warn(f"the deckhand environments could not be registered: {error!r}", stacklevel=2)


if "gymnasium" not in sys.modules:
    sys.meta_path.insert(0, GymnasiumWatch())
