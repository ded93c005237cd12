"""Files that appear whole or not at all: a reader never meets half of one, and a failure leaves nothing behind."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def writing(path: str | Path) -> Iterator[IO[str]]:
    """A UTF-8 text file to write, with plain line feeds, that takes the place of ``path`` when all went well.

    ``OSError`` if the folder is missing or ``path`` is a folder.
    """
    with _writing(Path(path), {"mode": "x", "encoding": "utf-8", "newline": "\n"}) as file:
        yield file


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with _writing(Path(path), {"mode": "xb"}) as file:
        file.write(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with writing(path) as file:
        file.write(text)


def json_text(data: Any) -> str:
    """Indented JSON with a last line break; ``ValueError`` for numbers that JSON does not have."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def write_json(path: str | Path, data: Any) -> None:
    """Write :func:`json_text` whole or not at all."""
    write_text(path, json_text(data))


@contextmanager
def _writing(path: Path, how: dict[str, Any]) -> Iterator[IO[Any]]:
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    if path.exists() and not path.is_file():
        # A device or pipe cannot be replaced.
        with open(path, **how | {"mode": how["mode"].replace("x", "w")}) as file:
            yield file
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, **how) as file:
            yield file
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
