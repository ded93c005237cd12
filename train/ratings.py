"""Ratings that do not depend on the order of the games: Plackett-Luce over rankings, fitted by choix to counts.

*Model.* Every agent has a strength ``w``. A ranking comes about as a series of choices: the first of all, then the first of those who are
left, and so on; an agent is chosen with the probability of its share of the strengths (Plackett 1975, Luce 1959; for two players this is
Bradley and Terry's model). The likelihood depends on the games only through counts: how often each agent was chosen from each set.

*Ties.* Agents that share a place stand for all their orders, each with the same weight.

*Regularisation.* Every table that was played starts with ``VIRTUAL_GAMES`` games in which all share one place, so that an agent that won
everything has a finite rating. With two of them the interval of such an agent reaches as far as Clopper and Pearson's for two players.

*Scale.* A rating is ``400 log10(w)``, as Elo's are: of two agents 400 points apart the better is ten times as likely to finish first. The
mean over the agents is 0.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, log

import choix
import numpy as np
from numpy.typing import NDArray

from .statistics import CONFIDENCE, Figure

SCALE = 400 / log(10)
VIRTUAL_GAMES = 2.0
RATING_RESAMPLES = 500
TOLERANCE = 1e-9
MAX_STEPS = 10_000


@dataclass(frozen=True)
class Rankings:
    """Games as rankings, one a row."""

    agents: NDArray[np.int64]
    """Who took part, (games, seats)."""
    places: NDArray[np.int64]
    """The agents' places, (games, seats): 0 for the first; the same number where agents share a place."""
    deals: NDArray[np.int64]
    """The deal that was played, (games,): what is drawn again for intervals."""


@dataclass(frozen=True)
class _Choices:
    """What the likelihood needs: choices counted by the set from which was chosen."""

    members: NDArray[np.float64]
    """1 for the agents in a set, (sets, agents)."""
    by_pattern: NDArray[np.float64]
    """How often each agent is chosen from each set by each kind of game, (patterns, sets x agents)."""
    patterns: NDArray[np.float64]
    """How many games of each kind each deal has, (deals, patterns)."""
    virtual: NDArray[np.float64]
    """The choices of the virtual games, (sets, agents)."""


def plackett_luce(rankings: Rankings, agents: int, resamples: int = RATING_RESAMPLES, seed: int = 0) -> list[Figure]:
    """The rating of each of ``agents`` agents with its 95 % interval.

    Intervals are percentile bootstraps: deals are drawn again with all that was played on them, and every virtual choice gets an
    exponential weight of mean 1 (a proper Bayesian bootstrap of the prior, Muliere and Secchi 1996), without which the interval of an
    agent that won everything would have no width. ``ValueError`` unless games connect all agents.
    """
    choices = _count(rankings, agents)
    if not connected(choices.members > 0):
        raise ValueError("agents that no games connect cannot be rated on one scale")
    shape = choices.members.shape
    observed = (choices.patterns.sum(axis=0) @ choices.by_pattern).reshape(shape)
    centre = _fit(observed + choices.virtual, choices.members, np.zeros(agents))
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, agents))
    deals = len(choices.patterns)
    for i in range(resamples):
        weights = np.bincount(rng.integers(deals, size=deals), minlength=deals)
        counts = (weights @ choices.patterns @ choices.by_pattern).reshape(shape)
        drawn[i] = _fit(counts + choices.virtual * rng.exponential(size=shape), choices.members, centre)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0) * SCALE
    return [Figure(float(m), float(a), float(b)) for m, a, b in zip(centre * SCALE, low, high, strict=True)]


def cycles(shares: Sequence[Sequence[Figure | None]]) -> list[tuple[int, int, int]]:
    """Triples (a, b, c) of agents of which a beats b, b beats c and c beats a, the clearest first.

    ``shares[i][j]`` is how often i finished ahead of j. An edge counts where its interval lies above one half; the weakest of the three
    edges says how clear a cycle is.
    """

    def low(i: int, j: int) -> float:
        figure = shares[i][j]
        return figure.low if figure else 0.0

    found = []
    for a, b, c in combinations(range(len(shares)), 3):
        for triple in ((a, b, c), (a, c, b)):
            weakest = min(low(i, j) for i, j in zip(triple, (*triple[1:], triple[0]), strict=True))
            if weakest > 0.5:
                found.append((weakest, triple))
    return [triple for _, triple in sorted(found, key=lambda item: (-item[0], item[1]))]


def connected(members: NDArray[np.bool_]) -> bool:
    """Whether sets of agents, one a row of ``members`` (sets, agents), link every agent with every other."""
    reached = members[0]
    while True:
        more = members[(members & reached).any(axis=1)].any(axis=0)
        if (more == reached).all():
            return bool(reached.all())
        reached = more


def _count(rankings: Rankings, agents: int) -> _Choices:
    order = np.argsort(rankings.agents, axis=1)
    rows = np.concatenate([np.take_along_axis(a, order, axis=1) for a in (rankings.agents, rankings.places)], axis=1)
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    _, deal = np.unique(rankings.deals, return_inverse=True)
    patterns = np.zeros((deal.max() + 1, len(kinds)))
    np.add.at(patterns, (deal, kind.reshape(-1)), 1.0)
    seats = rankings.agents.shape[1]
    split = [(tuple(map(int, row[:seats])), tuple(map(int, row[seats:]))) for row in kinds]
    by_kind = [_choices(table, places) for table, places in split]
    draws = [_choices(table, [0] * seats) for table in sorted({table for table, _ in split})]
    sets = {chosen_from: i for i, chosen_from in enumerate(sorted({s for found in (*by_kind, *draws) for s, _ in found}))}
    members = np.zeros((len(sets), agents))
    for chosen_from, i in sets.items():
        members[i, list(chosen_from)] = 1
    by_pattern = np.array([_fill(found, sets, agents) for found in by_kind]).reshape(len(kinds), -1)
    virtual = VIRTUAL_GAMES * np.sum([_fill(found, sets, agents) for found in draws], axis=0)
    return _Choices(members, by_pattern, patterns, virtual)


def _choices(table: Sequence[int], places: Sequence[int]) -> dict[tuple[tuple[int, ...], int], float]:
    """The choices that one ranking consists of, (set, chosen): how often, as a mean over all orders of those who share a place."""
    found: dict[tuple[tuple[int, ...], int], float] = defaultdict(float)
    for place in sorted(set(places)):
        group = [a for a, p in zip(table, places, strict=True) if p == place]
        later = [a for a, p in zip(table, places, strict=True) if p > place]
        for size in range(len(group)):
            for gone in combinations(group, size):
                left = [a for a in group if a not in gone]
                if len(left) + len(later) > 1:
                    for agent in left:
                        found[tuple(sorted([*left, *later])), agent] += 1 / comb(len(group), size) / len(left)
    return found


def _fill(found: dict[tuple[tuple[int, ...], int], float], sets: dict[tuple[int, ...], int], agents: int) -> NDArray[np.float64]:
    counts = np.zeros((len(sets), agents))
    for (chosen_from, agent), weight in found.items():
        counts[sets[chosen_from], agent] = weight
    return counts


def _fit(counts: NDArray[np.float64], members: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log strengths of mean 0 with the greatest likelihood.

    Iterated Luce spectral ranking (Maystre and Grossglauser 2015): a choice of a from a set S counts as a win of a over each other b in S
    with the weight (w_a + w_b) / w(S), which makes choix's Markov chain of pairs that of the sets.
    """
    params = start
    for _ in range(MAX_STEPS):
        weights = np.exp(params)
        wins = (counts / (members @ weights)[:, None]).T @ members * (weights[:, None] + weights)
        np.fill_diagonal(wins, 0)
        before, params = params, choix.lsr_pairwise_dense(wins, initial_params=params)
        if np.abs(params - before).max() < TOLERANCE:
            return params
    raise RuntimeError(f"the ratings did not settle in {MAX_STEPS} steps")
