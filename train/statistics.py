"""Estimates with intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

CONFIDENCE = 0.95
"""Of every interval that the project reports."""
Z = float(norm.ppf((1 + CONFIDENCE) / 2))
"""Half the width of a normal interval, in standard errors."""
RESAMPLES = 1000
DRAWN_AT_ONCE = 1 << 14
"""Units: as much as stays in the processor's cache."""
KEPT_DRAWS = 1 << 24
"""Units of the draws that are kept for the next figures, in 32 MiB."""
QUANTILES = (0, 5, 25, 50, 75, 95, 100)


@dataclass(frozen=True)
class Figure:
    """An estimate and its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Figure":
        """What :meth:`to_json` gave; further keys are left alone."""
        return cls(data["mean"], data["low"], data["high"])

    def to_json(self) -> dict[str, float]:
        """``{"mean", "low", "high"}``."""
        return {"mean": self.mean, "low": self.low, "high": self.high}

    def text(self, percent: bool = False) -> str:
        """The figure for people, as a share of hundred if ``percent``."""
        if percent:
            return f"{100 * self.mean:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


def wilson(successes: int, trials: int) -> Figure:
    """A proportion of independent trials with the score interval of Wilson (1927)."""
    # As scipy's binomtest(...).proportion_ci(method="wilson"), which takes a millisecond for a p-value that nobody asked for.
    mean, spread = successes / trials, Z**2 / trials
    centre = (mean + spread / 2) / (1 + spread)
    half = sqrt(spread * mean * (1 - mean) + spread**2 / 4) / (1 + spread)
    return Figure(mean, max(centre - half, 0.0) if successes else 0.0, min(centre + half, 1.0) if successes < trials else 1.0)


def bootstrap(columns: ArrayLike, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0) -> list[Figure]:
    """The mean of every column of ``columns`` (units, k), with percentile bootstrap intervals.

    The rows are what was drawn independently, here the deals: whole rows are drawn again, so whatever was measured on one deal stays
    together. The same ``seed`` gives the same interval.
    """
    data = np.asarray(columns, np.float64)
    units = len(data)
    # Around the first row, so that the means of a constant column come out exactly.
    centred = data - data[0]
    means = np.concatenate([weights @ centred for weights in _draws(units, resamples, seed)])
    tail = 50 * (1 - confidence)
    low, high = data[0] + np.percentile(means / units, [tail, 100 - tail], axis=0)
    centre = data[0] + centred.mean(axis=0)
    return [Figure(float(m), float(a), float(b)) for m, a, b in zip(centre, low, high, strict=True)]


def _draws(units: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each unit is drawn, (k, units), for some of the resamples at a time."""
    # One report asks for the same draws several times.
    few = units * resamples <= KEPT_DRAWS and units < 1 << 16
    for drawn in _keep_draws(units, resamples, seed) if few else _draw(units, resamples, seed):
        yield drawn.astype(np.float64)


@lru_cache(maxsize=1)
def _keep_draws(units: int, resamples: int, seed: int) -> list[NDArray[np.uint16]]:
    return [drawn.astype(np.uint16) for drawn in _draw(units, resamples, seed)]


def _draw(units: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    together = max(1, DRAWN_AT_ONCE // units)
    for first in range(0, resamples, together):
        count = min(together, resamples - first)
        drawn = rng.integers(units, size=(count, units))
        drawn += units * np.arange(count)[:, None]
        yield np.bincount(drawn.ravel(), minlength=count * units).reshape(count, units)


def rates(
    successes: ArrayLike, trials: ArrayLike, confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 0
) -> list[Figure | None]:
    """For every column, the sum of ``successes`` over that of ``trials`` (both (units, k)), with percentile bootstrap intervals.

    Rows are drawn as :func:`bootstrap` draws them; draws without a trial do not count. None for a column without trials. Where every or
    no trial succeeded, a bootstrap is blind: there the interval is Wilson's for as many trials as there are units with trials.
    """
    hits, tries = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    parts = []
    for weights in _draws(len(hits), resamples, seed):
        total = weights @ tries
        parts.append(np.where(total > 0, weights @ hits, np.nan) / np.where(total > 0, total, 1))
    drawn = np.concatenate(parts)
    tail = 50 * (1 - confidence)
    found: list[Figure | None] = []
    for k, (hit, tried) in enumerate(zip(hits.sum(axis=0), tries.sum(axis=0), strict=True)):
        if tried == 0:
            found.append(None)
        elif hit in (0, tried):
            informed = int(np.count_nonzero(tries[:, k]))
            found.append(wilson(informed if hit else 0, informed))
        else:
            low, high = np.nanpercentile(drawn[:, k], [tail, 100 - tail])
            found.append(Figure(float(hit / tried), float(low), float(high)))
    return found


def share(column: NDArray[Any], interval: Figure) -> Figure:
    """A share's bootstrapped interval, except where every unit has the share 0 or every unit has 1.

    A bootstrap is blind there: it is replaced by Wilson's interval for as many trials as there are units.
    """
    if np.all(column == 0) or np.all(column == 1):
        return wilson(int(column.sum()), len(column))
    return interval


def quantiles(values: NDArray[Any]) -> dict[str, float]:
    """Minimum, 5, 25, 50, 75, 95 % quantile and maximum; the keys are the per cents."""
    return dict(zip(map(str, QUANTILES), (float(q) for q in np.percentile(values, QUANTILES)), strict=True))


def standard_error(values: NDArray[Any]) -> float:
    """Of the mean of independent values; needs two of them at least."""
    return float(np.std(values, ddof=1) / sqrt(len(values)))


def table_text(summary: dict[str, float], names: Sequence[str] = ("5", "25", "50", "75", "95")) -> str:
    """Some of :func:`quantiles` for people."""
    return "/".join(number_text(summary[name]) for name in names)


def number_text(value: float) -> str:
    """A number in three digits, or all digits of a whole part that has more."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
