"""What the pictures of several reports share."""

from collections.abc import Mapping, Sequence
from typing import Any


def plot_figures(axes: Any, x: Sequence[float], figures: Sequence[Mapping[str, float]], *, alpha: float = 0.2, **line: Any) -> None:
    """A line through the means of figures (``{"mean", "low", "high"}``) with a band between the ends of their intervals.

    ``line`` is for matplotlib's ``Axes.plot``; ``alpha`` is the opacity of the band.
    """
    (drawn,) = axes.plot(x, [figure["mean"] for figure in figures], **{"marker": "."} | line)
    axes.fill_between(x, [f["low"] for f in figures], [f["high"] for f in figures], color=drawn.get_color(), alpha=alpha)


def plot_metric(axes: Any, rows: Sequence[Mapping[str, Any]], metric: str, label: str) -> None:
    """A figure of a run's metrics over the steps, in the rows that have it."""
    measured = [row for row in rows if f"{metric}/mean" in row]
    figures = [{end: row[f"{metric}/{end}"] for end in ("mean", "low", "high")} for row in measured]
    plot_figures(axes, [row["steps"] for row in measured], figures, label=label)
