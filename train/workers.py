"""Worker processes: one thread each; they end with their parent, and without a word when Ctrl-C reaches every process of the terminal."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

from ..envs.core import DeckhandError

Result = TypeVar("Result")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What NumPy's libraries read when they are loaded."""


@contextmanager
def worker_pool(workers: int, start: Callable[..., None] | None = None, *args: Any) -> Iterator[ProcessPoolExecutor]:
    """So many processes, each of which first calls ``start(*args)``. What they still do is given up when the block ends by an exception.

    :class:`DeckhandError` if one of them ends early.
    """
    others = active_children()
    # Spawned: a forked process would inherit threads that are not there any more.
    with _Pool(workers, get_context("spawn"), _start_worker, (start, args)) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise DeckhandError("a worker process ended before its work was done") from None
        except BaseException:
            for process in active_children():
                if process not in others:
                    process.kill()
            raise


def results_in_order(pool: ProcessPoolExecutor, play: Callable[..., Result], jobs: Iterable[Sequence[Any]]) -> Iterator[Result]:
    """What ``play(*job)`` returns in a process, for each job in turn."""
    # Not pool.map: it cancels what is left when it is stopped, and a pool that breaks with cancelled work says so at length.
    futures = [pool.submit(play, *job) for job in jobs]
    for future in futures:
        yield future.result()


class _Pool(ProcessPoolExecutor):
    """Its processes never see Ctrl-C and calculate in one thread, from their first instruction on."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        # A process is started when work comes that no other is waiting for; it inherits what is blocked, and the environment.
        with _blocked_interrupts(), _single_threads():
            return super().submit(fn, *args, **kwargs)


@contextmanager
def _single_threads() -> Iterator[None]:
    """Tells the processes that are started meanwhile how many threads a product of matrices has, where the user has not."""
    added = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Ctrl-C waits meanwhile, on systems that can let it wait."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(start: Callable[..., None] | None, args: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if start:
        start(*args)


def _end_with_parent() -> None:
    """Workers of a process that was killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
