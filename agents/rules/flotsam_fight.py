"""Flotsam Fight: rule agents."""

from typing import Any

from ...envs.core.jit import kernel
from ...envs.flotsam_fight.rules import PAIR_BOAT, PAIR_CARD, PAIRS, PASS

LOW = 1
AGENTS = {"low": (LOW, ())}


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of the seat to move."""
    return low(view, mask)


@kernel
def low(view: Any, mask: Any) -> int:
    """Lowest legal card; on the boat with the smallest jump over its top (an inactive boat counts as 0), of equal jumps the lowest boat."""
    best = PASS
    for pair in range(PAIRS):
        if mask[pair]:
            if best != PASS and PAIR_CARD[pair] != PAIR_CARD[best]:
                break
            if best == PASS or view.top[PAIR_BOAT[pair]] > view.top[PAIR_BOAT[best]]:
                best = pair
    return best
