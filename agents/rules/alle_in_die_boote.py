"""Rule agents of Alle in die Boote: the two simple players of section 11 of the rules page, and a stronger one."""

from typing import Any

from ...envs.alle_in_die_boote.rules import (
    BOARD,
    CALL,
    CARDS,
    EMPTY,
    HAND_SLOTS,
    KIND,
    PLACE,
    PLACING,
    PUMP,
    RANK,
    RESCUE,
    SECTIONS,
    boat_kinds,
    move_id,
    move_size,
)
from ...envs.core.jit import kernel

SIMPLE, CALL_PUMP = 1, 2

AGENTS: dict[str, tuple[int, tuple[float, ...]]] = {"simple": (SIMPLE, ()), "call_pump": (CALL_PUMP, ())}


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """``simple``: free moves, then the largest rescue. ``call_pump``: calls a card into a boat, or pumps, before it rescues."""
    if view.phase == PLACING:
        return simple_place(view, mask)
    action = first_boarding(mask)
    if action < 0:
        action = run_move(view, mask)
    if action < 0 and kind == CALL_PUMP:
        action = boat_call(view, mask)
        if action < 0 and mask[PUMP]:
            action = PUMP
    return action if action >= 0 else largest_rescue(mask)


@kernel
def first_boarding(mask: Any) -> int:
    """Lowest section first, boat 1 before boat 2; -1 if nothing can board."""
    for action in range(BOARD, RESCUE):
        if mask[action]:
            return action
    return -1


@kernel
def largest_rescue(mask: Any) -> int:
    """The largest rescue that is offered."""
    n = HAND_SLOTS - 1
    while not mask[RESCUE + n]:
        n -= 1
    return RESCUE + n


@kernel
def run_move(view: Any, mask: Any) -> int:
    """The best move of a whole front run that leaves a card behind, or empties its section onto a front; -1 if there is none."""
    best = -1
    best_worth = -1
    for i in range(SECTIONS):
        for j in range(SECTIONS):
            if i == j or not mask[move_id(i, j)] or move_size(view, i, j) != view.run[i]:
                continue
            left = view.queue_size[i] - view.run[i]
            onto_front = view.front[j] < EMPTY
            if left == 0 and not onto_front:
                continue
            turns_up = view.face_down[i] > 0 and left == view.face_down[i]
            worth = ((onto_front * 2 + turns_up) * (CARDS + 1) + view.face_down[i]) * SECTIONS + j
            if worth > best_worth:
                best = move_id(i, j)
                best_worth = worth
    return best


@kernel
def boat_call(view: Any, mask: Any) -> int:
    """The call of the lowest card of the discard pile that a boat takes (suits in the order h d s c); -1 if there is none."""
    boats = boat_kinds(view)
    best = -1
    for card in range(CARDS):
        if mask[CALL + card] and boats >> KIND[card] & 1 and (best < 0 or RANK[card] < RANK[best]):
            best = card
    return CALL + best if best >= 0 else -1


@kernel
def simple_place(view: Any, mask: Any) -> int:
    """A boat if possible; else the highest card on a front; else a King into an empty section; the stern-most target."""
    best = -1
    best_worth = -1
    for slot in range(view.hand_size):
        for target in range(SECTIONS + 2):
            action = PLACE + 8 * slot + target
            if not mask[action]:
                continue
            if target >= SECTIONS:
                return action
            worth = target
            if view.front[target] < EMPTY:
                worth += RANK[view.hand[slot]] * SECTIONS
            if worth > best_worth:
                best = action
                best_worth = worth
    return best
