"""The progress bar of long computations."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, str], None]
"""Called with the games played, the games in all, and the running estimate as a text."""


@contextmanager
def progress_bar(console: Console, title: str) -> Iterator[Report]:
    """A bar with the running estimate, on terminals only, and only for work that takes longer than a second."""
    columns = TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[estimate]}")
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(title, estimate="")
    started = time.monotonic()
    shown = False

    def report(done: int, total: int, estimate: str) -> None:
        nonlocal shown
        if not shown and console.is_terminal and time.monotonic() - started > 1:
            bar.start()
            shown = True
        bar.update(task, completed=done, total=total, estimate=estimate)

    try:
        yield report
    finally:
        if shown:
            bar.stop()
