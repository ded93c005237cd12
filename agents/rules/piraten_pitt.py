"""Piraten-Pitt: rule agents (section 10 of the rules page)."""

from typing import Any

import numpy as np

from ...envs.core.jit import kernel
from ...envs.core.rng import randint, random_unit
from ...envs.piraten_pitt.rules import (
    ARROW,
    ARROW_1,
    DECLINE,
    GEMS,
    HIDEOUT,
    MAX_NODES,
    MAX_PLAYERS,
    MOVE,
    NUM_ACTIONS,
    PIRATE,
    PLACE,
    SIDE_0,
    STOW,
    TURN,
    TURN_1,
)
from ..parameters import Parameter

COLLECTOR = 1  # moves the pirate at random
HUNTER = 2

# The collector's numbers are the first of the hunter's.
NUMBERS = (
    Parameter("recall", 1.0, "probability of showing the side that is believed smaller (else the other one)", 0.1, low=0.0, high=1.0),
    Parameter("bank_at", 5.0, "gems in the chest that send the sailor home"),
    Parameter("detour", 8.0, "steps that a goal behind the pirate costs beyond its distance", 3.0),
    Parameter("met_gem", 100.0, "pirate: each gem in a chest that is met", 30.0),
    Parameter("met_split", 50.0, "pirate: the same chest is known to be split", 20.0),
    Parameter("lock_in", 50.0, "pirate: a sailor with gems is enclosed in his hideout", 20.0),
    Parameter("near_loaded", 1.0, "pirate: each gem in the chest of a sailor he comes near to", 0.5),
    Parameter("near_secured", 1.0, "pirate: each gem that such a sailor has secured", 0.5),
    Parameter("near_step", 1.0, "pirate: what every step away from him takes away from that", 0.5),
    Parameter("own_lock_in", 1000.0, "pirate: what enclosing the own sailor costs", 300.0),
    Parameter("delay", 0.0, "pirate: each step that he adds to another's way to his next goal", 10.0),
    Parameter("delay_leader", 0.0, "pirate: the same, times the gems that the other has collected", 3.0),
    Parameter("own_delay", 0.0, "pirate: what each step costs that he adds to the own way to the next goal", 10.0),
    Parameter("trap", 0.0, "steps that ending in a hideout costs whose access the pirate can reach with his next move", 0.5),
)
(
    RECALL,
    BANK_AT,
    DETOUR,
    MET_GEM,
    MET_SPLIT,
    LOCK_IN,
    NEAR_LOADED,
    NEAR_SECURED,
    NEAR_STEP,
    OWN_LOCK_IN,
    DELAY,
    DELAY_LEADER,
    OWN_DELAY,
    TRAP,
) = range(len(NUMBERS))
PARAMETERS = {"collector": NUMBERS[: DETOUR + 1], "hunter": NUMBERS}
AGENTS = {
    "collector": (COLLECTOR, tuple(p.default for p in PARAMETERS["collector"])),
    "hunter": (HUNTER, tuple(p.default for p in PARAMETERS["hunter"])),
}

FAR = 1000.0
REACH = 3  # steps of the pirate


@kernel
def decide(kind: int, view: Any, mask: Any, rng: Any, params: Any) -> int:
    """The action of the seat to move."""
    phase = view.phase
    if phase == MOVE:
        return walk(view, mask, params)
    if phase == STOW:
        return SIDE_0 + (1 - smaller_side(view, rng))
    if phase == PIRATE and kind == HUNTER:
        return hunt(view, mask, rng, params)
    if phase == TURN:
        return pick_turn(view, mask, rng, TURN_1)
    if phase == ARROW:
        return aim(view, mask, rng)
    if phase == PLACE:
        return put_back(view, mask)
    if phase == PIRATE:
        return pick(mask, rng, 0, NUM_ACTIONS)
    side = smaller_side(view, rng)
    return SIDE_0 + (side if random_unit(rng) < params[RECALL] else 1 - side)


@kernel
def pick(mask: Any, rng: Any, first: int, last: int) -> int:
    """A random legal action of ``first`` .. ``last`` - 1."""
    skip = randint(rng, np.sum(mask[first:last]))
    for a in range(first, last):
        if mask[a]:
            if skip == 0:
                return a
            skip -= 1
    return -1


@kernel
def pick_turn(view: Any, mask: Any, rng: Any, first: int) -> int:
    """10.6: a random turn; where the owner does not look, one that the new axis does not explain."""
    if view.blind and mask[first] and mask[first + 2]:
        return first + 2 * randint(rng, 2)
    return pick(mask, rng, first, first + 3)


@kernel
def expected_pile(view: Any, chest: int) -> float:
    """How many gems the seat to move expects on side 0 of a chest."""
    expected = 0.0
    for x in range(view.loaded[chest] + 1):
        expected += x * view.belief[view.to_move, chest, x]
    return expected


@kernel
def smaller_side(view: Any, rng: Any) -> int:
    """10.2, 10.3: the side of the own chest that is believed to hold fewer gems; of equal ones a random one, of an empty chest side 1."""
    seat = view.to_move
    if view.loaded[seat] == 0:
        return 1
    difference = 2 * expected_pile(view, seat) - view.loaded[seat]
    if difference == 0:
        return randint(rng, 2)
    return 1 if difference > 0 else 0


@kernel
def measure(view: Any, start: int, blocked: int, wanted: int, steps: Any) -> float:
    """Steps from ``start`` to every node around the node ``blocked`` (-1: none), FAR without a way; nobody runs through the bay.

    Looks no further than the nearest node of the bit set ``wanted`` and returns its distance; FAR if there is none.
    """
    queue = np.empty(MAX_NODES, np.int64)
    steps[:] = FAR
    if start == blocked:
        return FAR
    steps[start] = 0
    queue[0] = start
    head = 0
    tail = 1
    while head < tail:
        node = queue[head]
        head += 1
        if wanted >> node & 1:
            return steps[node]
        if node == view.bay and node != start:
            continue
        for i in range(view.degree[node]):
            beside = view.neighbour[node, i]
            if beside != blocked and steps[beside] == FAR:
                steps[beside] = steps[node] + 1
                queue[tail] = beside
                tail += 1
    return FAR


@kernel
def goals_of(view: Any, seat: int, params: Any) -> int:
    """The bit set of the hideouts with a gem that a seat is still to fetch before it goes home."""
    wanted = 0
    if view.loaded[seat] < params[BANK_AT]:
        for h in range(GEMS):
            wanted |= view.gem[seat, h] << h
    return wanted


@kernel
def walk(view: Any, mask: Any, params: Any) -> int:
    """10.1, 10.4: the target with the shortest tour over the own gems that are left and home; of equal ones the first."""
    wanted = goals_of(view, view.to_move, params)
    onward = np.empty(GEMS)  # from each wanted hideout over the others into the bay
    for h in range(GEMS):
        onward[h] = view.tour[wanted & ~(1 << h), h]
    best = shortest(view, mask, wanted, view.steps, onward, params)
    known = 0 if params[DETOUR] >= 0 else -1
    goal = find_doubt(view, best, wanted, view.steps, view.tour, onward, known) if known == 0 else GEMS
    if goal < 0:
        return best
    # The pirate makes no way shorter. So his detours are measured only for the goals on the tour that looks shortest, until it is sure.
    steps = np.empty((GEMS + 1, MAX_NODES))
    steps[:] = view.steps
    tour = np.empty((1 << GEMS, GEMS))
    while goal >= 0:
        for measured in range(GEMS + 1):
            if measured == goal or known == -1:
                measure_around(view, measured, params, steps)
        known |= 1 << goal
        tours_around(view, wanted, steps, tour)
        for h in range(GEMS):
            onward[h] = tour[wanted & ~(1 << h), h]
        best = shortest(view, mask, wanted, steps, onward, params)
        goal = find_doubt(view, best, wanted, steps, tour, onward, known)
    return best


@kernel
def tours_around(view: Any, wanted: int, steps: Any, tour: Any) -> None:
    """``tour[left, h]``: steps from hideout h over those of the bit set ``left``, all wanted ones, into the bay."""
    leg = np.empty((GEMS, GEMS))
    for h in range(GEMS):
        tour[0, h] = steps[GEMS, view.hideout[h]]
        for following in range(GEMS):
            leg[following, h] = steps[following, view.hideout[h]]
    for left in range(1, wanted + 1):
        if left & ~wanted:
            continue
        tour[left] = FAR
        for following in range(GEMS):
            if (left >> following) & 1:
                rest = tour[left ^ (1 << following), following]
                for h in range(GEMS):
                    tour[left, h] = min(tour[left, h], leg[following, h] + rest)


@kernel
def measure_around(view: Any, goal: int, params: Any, steps: Any) -> None:
    """Write the steps from every node to hideout ``goal`` (GEMS: to the bay) around the pirate, the detour behind him included."""
    home = view.hideout[goal] if goal < GEMS else view.bay
    row = steps[goal]
    measure(view, home, view.pirate, 0, row)
    for node in range(view.nodes):
        if row[node] == FAR:
            row[node] = view.steps[goal, node] + params[DETOUR]
    # The same ways from the other end.
    for h in range(GEMS):
        steps[h, home] = row[view.hideout[h]]
    steps[GEMS, home] = row[view.bay]


@kernel
def shortest(view: Any, mask: Any, wanted: int, steps: Any, onward: Any, params: Any) -> int:
    """The first target with the shortest tour: ``steps`` to the wanted hideouts and to the bay, ``onward`` from each hideout."""
    best = -1
    best_length = np.inf
    for target in range(view.nodes):
        if mask[target]:
            length = FAR
            if wanted == 0:
                length = float(steps[GEMS, target])
            for h in range(GEMS):
                if (wanted >> h) & 1:
                    length = min(length, steps[h, target] + onward[h])
            if params[TRAP] != 0 and view.node_kind[target] >= HIDEOUT and view.degree[target] == 1:
                # Steps of the pirate to the access field.
                free = view.steps[view.node_kind[target] - HIDEOUT, view.pirate] - 1 if target != view.pirate else 1
                if free <= REACH:
                    length += params[TRAP]
            if length < best_length:
                best = target
                best_length = length
    return best


@kernel
def find_doubt(view: Any, node: int, wanted: int, steps: Any, tour: Any, onward: Any, known: int) -> int:
    """Follow the shortest tour from a node: -1 if the pirate leaves it as it is, else a goal to which he may be in the way.

    ``known``: the bit set of the goals to which ``steps`` holds the ways around him.
    """
    goal = GEMS
    for h in range(GEMS):
        if (wanted >> h) & 1 and (goal == GEMS or steps[h, node] + onward[h] < steps[goal, node] + onward[goal]):
            goal = h
    # The first leg, node by node.
    home = view.hideout[goal] if goal < GEMS else view.bay
    while not (known >> goal) & 1:
        if node == view.pirate:
            return goal
        if node == home:
            break
        nearer = view.pirate
        for i in range(view.degree[node]):
            beside = view.neighbour[node, i]
            if view.steps[goal, beside] < view.steps[goal, node] and beside != view.pirate and (beside != view.bay or beside == home):
                nearer = beside
        node = nearer
    # From hideout to hideout: does the pirate stand on a shortest way?
    left = wanted
    while goal < GEMS:
        left &= ~(1 << goal)
        node = view.hideout[goal]
        following = GEMS
        for h in range(GEMS):
            if (left >> h) & 1 and steps[h, node] + tour[left & ~(1 << h), h] == tour[left, goal]:
                following = h
        on_way = view.steps[goal, view.pirate] + view.steps[following, view.pirate] == view.steps[following, node]
        if on_way and not ((known >> goal | known >> following) & 1):
            return following
        goal = following
    return -1


@kernel
def hunt(view: Any, mask: Any, rng: Any, params: Any) -> int:
    """10.5: meet the fullest foreign chest; else come closer to a full one, if possible by locking its owner in. Never lock oneself in.

    Stand in the way of others and not in the own, as far as the parameters say so. Of equal targets a random one.
    """
    seat = view.to_move
    in_the_way = params[DELAY] != 0 or params[DELAY_LEADER] != 0 or params[OWN_DELAY] != 0
    # How near each node is to a worthwhile sailor: by default one more gem is worth one more step.
    pull = np.full(MAX_NODES, -FAR)
    steps = np.empty((MAX_PLAYERS, MAX_NODES))
    for other in range(view.players):
        attractive = other != seat and view.loaded[other] > 0
        if attractive or in_the_way:
            measure(view, view.position[other], -1, 0, steps[other])
        if attractive:
            near = params[NEAR_LOADED] * view.loaded[other] + params[NEAR_SECURED] * view.score[other]
            for node in range(view.nodes):
                pull[node] = max(pull[node], near - params[NEAR_STEP] * steps[other, node])
    best = -1
    best_score = -np.inf
    equal = 0
    for target in range(view.nodes):
        if not mask[target]:
            continue
        score = pull[target]
        for other in range(view.players):
            loaded = view.loaded[other]
            if other != seat and loaded > 0:
                if view.position[other] == target:
                    split = view.belief[seat, other, 0] + view.belief[seat, other, loaded] < 0.5
                    score = max(score, params[MET_GEM] * loaded + (params[MET_SPLIT] if split else 0.0))
                elif locks_in(view, target, view.position[other]):
                    score = max(score, pull[target] + params[LOCK_IN])
        if locks_in(view, target, view.position[seat]):
            score -= params[OWN_LOCK_IN]
        if in_the_way:
            for other in range(view.players):
                if view.position[other] != target:
                    added = min(added_steps(view, other, target, params, steps[other]), params[DETOUR])
                    each = params[DELAY] + params[DELAY_LEADER] * (view.loaded[other] + view.score[other])
                    score += added * (each if other != seat else -params[OWN_DELAY])
        if score > best_score:
            equal = 0
        if score >= best_score:
            equal += 1
            if randint(rng, equal) == 0:
                best = target
            best_score = score
    return best


@kernel
def added_steps(view: Any, seat: int, pirate: int, params: Any, steps: Any) -> float:
    """How much longer a pirate on a node makes a sailor's way to his nearest goal (up to FAR in all); ``steps``: from him to every node."""
    wanted = goals_of(view, seat, params)
    nearest = FAR
    nodes = 0
    for goal in range(GEMS + 1):
        if (wanted >> goal) & 1 or (goal == GEMS and wanted == 0):
            node = view.hideout[goal] if goal < GEMS else view.bay
            nodes |= np.int64(1) << node
            nearest = min(nearest, steps[node])
    for goal in range(GEMS + 1):
        if (wanted >> goal) & 1 or (goal == GEMS and wanted == 0):
            node = view.hideout[goal] if goal < GEMS else view.bay
            if steps[node] == nearest and steps[pirate] + view.steps[goal, pirate] > nearest:
                return 0.0  # no shortest way to this one leads over the pirate
    return measure(view, view.position[seat], pirate, nodes, np.empty(MAX_NODES)) - nearest


@kernel
def locks_in(view: Any, pirate: int, sailor: int) -> bool:
    """Whether a pirate on a node encloses a sailor who stands on a hideout (16)."""
    return view.node_kind[sailor] >= HIDEOUT and view.degree[sailor] == 1 and view.neighbour[sailor, 0] == pirate


@kernel
def put_back(view: Any, mask: Any) -> int:
    """10.7: the free hideout farthest from the owner's sailor; of equal ones that farthest from the bay."""
    sailor = view.position[view.met]
    best = -1
    best_score = -1.0
    for h in range(GEMS):
        node = view.hideout[h]
        score = FAR * view.steps[h, sailor] + view.steps[GEMS, node]
        if mask[node] and score > best_score:
            best = node
            best_score = score
    return best


@kernel
def aim(view: Any, mask: Any, rng: Any) -> int:
    """10.8: the chest of the player with the most gems in it, turned at random."""
    best = -1
    fullest = 0
    for other in range(1, view.players):
        loaded = view.loaded[(view.roller + other) % view.players]
        if loaded > fullest:
            fullest = loaded
            best = other
    if best < 0:
        return DECLINE
    return pick_turn(view, mask, rng, ARROW_1 + 3 * (best - 1))
