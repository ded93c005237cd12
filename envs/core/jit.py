"""Compiling kernels with numba, and keeping the compiled code on disk.

Two things numba does not do by itself:

* **Fresh caches.** numba recompiles a function when *its own file* changed, but machine code holds copies of everything the function
  calls. :func:`kernel` stamps the cached code with the contents of everything that it was compiled from.
* **Generic loops.** A function that takes kernels as arguments, or closes over them, is compiled anew in every process. :func:`bind`
  copies a plain function and gives the copy the kernels as *globals*, which numba caches like any other function.
"""

import hashlib
import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUDispatcher

F = TypeVar("F", bound=Callable[..., Any])

JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]
"""True under ``NUMBA_DISABLE_JIT=1``: kernels are then plain Python, for coverage and debugging."""

CORE = Path(__file__).parent


@cache
def _digest(source: Path) -> bytes:
    digest = hashlib.sha256()
    for path in sorted(source.iterdir()) if source.is_dir() else [source]:
        if path.suffix in (".py", ".json"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


def _sources(function: Any, seen: set[int]) -> Iterator[Path]:
    """What a function and every compiled function that it names were compiled from: files of the core, folders of games and agents."""
    if id(function) in seen:
        return
    seen.add(id(function))
    file = Path(function.__code__.co_filename)
    yield file if file.parent == CORE else file.parent
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        named = vars(value).values() if isinstance(value, types.ModuleType) else (value,)
        for item in named:
            if isinstance(item, CPUDispatcher):
                yield from _sources(item.py_func, seen)


def kernel(function: F) -> F:
    """Compile a function (``numba.njit``) and cache the machine code on disk.

    The cache lies in ``__pycache__`` beside the source, in the user's cache folder where that is not writable, or in ``NUMBA_CACHE_DIR``.
    """
    if JIT_DISABLED:
        return function
    dispatcher: Any = numba.njit(cache=True, error_model="numpy")(function)
    stamp = hashlib.sha256(b"".join(_digest(path) for path in sorted({Path(__file__), *_sources(function, set())}))).hexdigest()
    stored = dispatcher._cache
    stored._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
        cache_path=stored.cache_path, filename_base=stored._impl.filename_base, source_stamp=stamp
    )
    return dispatcher


def bind(function: Callable[..., Any], owner: str, kernels: Mapping[str, Any]) -> Callable[..., Any]:
    """Compile a copy of a generic function in which the names of ``kernels`` mean those kernels.

    ``owner`` (a game's name) tells the copies of different games apart in the cache.
    """
    copy = types.FunctionType(function.__code__, {**function.__globals__, **kernels}, function.__name__)
    copy.__qualname__ = f"{owner}.{function.__name__}"
    copy.__module__ = function.__module__
    return kernel(copy)
