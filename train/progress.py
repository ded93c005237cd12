"""The progress bar of long computations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, str], None]
"""Called with the games played, the games in all, and the running estimate as a text."""


@contextmanager
def progress_bar(console: Console, title: str) -> Iterator[Report]:
    """A bar with the running estimate, on terminals only. It moves from the start: before the first report the rules may be compiled."""
    columns = TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[estimate]}")
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=None, estimate="")

        def report(done: int, total: int, estimate: str) -> None:
            bar.update(task, completed=done, total=total, estimate=estimate)

        yield report
