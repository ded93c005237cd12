"""Worker processes: they end with their parent, and without a word when Ctrl-C reaches every process of the terminal."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any


@contextmanager
def worker_pool(workers: int, start: Callable[..., None] | None = None, *args: Any) -> Iterator[ProcessPoolExecutor]:
    """So many processes, each of which first calls ``start(*args)``. What they still do is given up when the block ends by an exception."""
    others = active_children()
    # Spawned: a forked process would inherit threads that are not there any more.
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (start, args)) as pool:
        try:
            with _ignored_interrupts():
                # A process is started when work comes that no other is waiting for; it inherits what it ignores.
                for _ in range(workers):
                    pool.submit(int)
            yield pool
        except BaseException:
            for process in active_children():
                if process not in others:
                    process.terminate()
            raise


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
