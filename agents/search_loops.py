"""Generic loops of the search agents, bound to a game's kernels and its rule agents as :mod:`deckhand.agents.loops` are.

Both searches imagine *worlds*: full positions drawn at random among those that fit a seat's view. A world is played on with a rule agent
in every seat, who sees no more of it than a view, until the game ends or the search has seen enough. What counts is the return of the
seat to move, for which agent 0 of ``kinds`` and ``params`` plays on; agent 1 plays for the others. A tree is an array of ``NODE`` records,
``tree[0]`` its root; children hang in a list (``child``, ``sibling``).
"""

from typing import Any

import numpy as np

from ..envs.core.rng import derive_seed, randint, seed_rng
from .loops import VALUE

advance: Any
write_mask: Any
write_view: Any
fill_view: Any
choose: Any
best_worth: Any

NODE = np.dtype(
    [
        ("total", np.float64),  # returns of ``mover``, summed over the visits
        ("mover", np.int32),  # who takes the action that leads here
        ("action", np.int32),
        ("visits", np.int32),
        ("available", np.int32),  # worlds in which the parent was visited and the action was legal
        ("parent", np.int32),
        ("child", np.int32),  # newest child, 0 if there is none
        ("sibling", np.int32),  # next older child of the parent, 0 if there is none
        ("nodes", np.int32),  # of the root: nodes in use
    ],
    align=True,
)


def is_paid(states: Any, i: int) -> bool:
    """Whether the last decision of game ``i`` paid a reward to anybody."""
    for seat in range(states[i].players):
        if states[i].reward[seat] != 0:
            return True
    return False


def roll_out(
    states: Any, i: int, seat: int, kinds: Any, params: Any, to_reward: bool, limit: int, rng: Any, scratch: Any, mask: Any
) -> float:
    """Play game ``i`` on until it ends, or has made ``limit`` decisions, or (``to_reward``) its last decision paid a reward.

    Returns what a value agent expects to come after the limit, else 0.
    """
    while states[i].to_move >= 0 and states[i].decisions < limit and not (to_reward and is_paid(states, i)):
        mover = states[i].to_move
        who = 0 if mover == seat else 1
        write_mask(states, i, mask)
        write_view(states, i, mover, scratch, 0)
        advance(states, i, choose(kinds[who], scratch[0], mask, rng, params[who]))
    if kinds[0] != VALUE or states[i].to_move < 0 or (to_reward and is_paid(states, i)):
        return 0.0
    write_mask(states, i, mask)
    write_view(states, i, states[i].to_move, scratch, 0)
    return float(best_worth(scratch[0], mask, params[0]))


def prefer(views: Any, masks: Any, seeds: Any, kinds: Any, params: Any, actions: Any) -> None:
    """What the rule agent would do in each view; the first legal action for kind 0."""
    rng = np.empty(4, np.int64)
    for i in range(len(views)):
        if kinds[0] != 0:
            seed_rng(rng, seeds[i], 4)
            actions[i] = choose(kinds[0], views[i], masks[i], rng, params[0])
        else:
            actions[i] = np.argmax(masks[i])


def fan_out(views: Any, seat: int, seed: int, first: int, count: int, actions: Any, states: Any, scratch: Any) -> None:
    """The worlds that :func:`sample_worlds` would try for ``views[0]``: ``states[w * len(actions) + k]`` is the one after action k."""
    n = len(actions)
    for w in range(count):
        scratch[1] = views[0]
        fill_view(scratch, 1, seat, derive_seed(seed, first + w + 1))
        for k in range(n):
            states[w * n + k] = scratch[1]
            advance(states, w * n + k, actions[k])


def sample_worlds(
    views: Any,
    masks: Any,
    seats: Any,
    seeds: Any,
    first: int,
    count: int,
    kinds: Any,
    params: Any,
    to_reward: bool,
    horizon: int,
    bases: Any,
    gains: Any,
    squares: Any,
    scratch: Any,
    mask: Any,
) -> int:
    """Flat Monte Carlo in the worlds number ``first`` .. ``first + count - 1`` of every view; returns the decisions made.

    In each world every action of ``masks[i]`` is tried and played out, with the same chance to come for all of them; rows with a single
    action are left out. ``gains[i, a]`` (and ``squares``) sum what action ``a`` returned more than ``bases[i]`` in the same world.
    ``scratch`` are three records to work in.
    """
    rng = np.empty(4, np.int64)
    decisions = 0
    for i in range(len(views)):
        if np.sum(masks[i]) < 2:
            continue
        seat = seats[i]
        base = bases[i]
        for world in range(first, first + count):
            seed = derive_seed(seeds[i], world + 1)
            scratch[1] = views[i]
            fill_view(scratch, 1, seat, seed)
            reference = 0.0
            for k in range(-1, masks.shape[1]):
                action = base if k < 0 else k
                if k == base or not masks[i, action]:
                    continue
                scratch[2] = scratch[1]
                seed_rng(rng, seed, 5)
                advance(scratch, 2, action)
                rest = roll_out(scratch, 2, seat, kinds, params, to_reward, scratch[1].decisions + horizon, rng, scratch, mask)
                decisions += scratch[2].decisions - scratch[1].decisions
                gain = scratch[2].returns[seat] + rest - reference
                if k < 0:
                    reference = gain
                else:
                    gains[i, k] += gain
                    squares[i, k] += gain * gain
    return decisions


def grow_tree(
    views: Any,
    seat: int,
    seed: int,
    first: int,
    count: int,
    kinds: Any,
    params: Any,
    to_reward: bool,
    horizon: int,
    exploration: float,
    bias: float,
    prior: Any,
    tree: Any,
    bounds: Any,
    scratch: Any,
    mask: Any,
) -> int:
    """Single-observer information-set MCTS in the worlds number ``first`` .. ``first + count - 1`` of ``views[0]``; returns the decisions.

    Every world walks down the tree by :func:`select`, adds a node and is played out. ``prior`` (one number an action) says where the
    bias goes at the root; below it goes to the rule agent's choice. ``bounds`` are the least and greatest return seen.
    """
    rng = np.empty(4, np.int64)
    likes = np.zeros(len(mask))
    decisions = 0
    for world in range(first, first + count):
        world_seed = derive_seed(seed, world + 1)
        seed_rng(rng, world_seed, 5)
        scratch[1] = views[0]
        fill_view(scratch, 1, seat, world_seed)
        limit = views[0].decisions + horizon
        node = 0
        is_new = False
        while scratch[1].to_move >= 0 and not is_new and not (to_reward and node > 0 and is_paid(scratch, 1)):
            mover = scratch[1].to_move
            write_mask(scratch, 1, mask)
            used = tree[0].nodes
            if node == 0:
                node = select(tree, node, mover, mask, exploration, bias, prior, bounds, rng)
            else:
                preferred = 0
                who = 0 if mover == seat else 1
                if kinds[who] != 0:
                    write_view(scratch, 1, mover, scratch, 0)
                    preferred = choose(kinds[who], scratch[0], mask, rng, params[who])
                    likes[preferred] = 1
                node = select(tree, node, mover, mask, exploration, bias, likes, bounds, rng)
                likes[preferred] = 0
            is_new = tree[0].nodes > used
            advance(scratch, 1, tree[node].action)
        rest = roll_out(scratch, 1, seat, kinds, params, to_reward, limit, rng, scratch, mask)
        decisions += scratch[1].decisions - views[0].decisions
        for other in range(views[0].players):
            value = scratch[1].returns[other] + rest - views[0].returns[other]
            bounds[0] = min(bounds[0], value)
            bounds[1] = max(bounds[1], value)
        while node > 0:
            mover = tree[node].mover
            tree[node].visits += 1
            tree[node].total += scratch[1].returns[mover] + rest - views[0].returns[mover]
            node = tree[node].parent
        tree[0].visits += 1
    return decisions


def select(tree: Any, node: int, mover: int, mask: Any, exploration: float, bias: float, likes: Any, bounds: Any, rng: Any) -> int:
    """The child of ``node`` for one of the actions of ``mask`` (which is used up): UCT over the worlds in which each was available.

    Returns are scaled to 0 .. 1. The bias, ``likes`` of each action, fades with its visits. Actions without a child compete as one, with
    the mean of the others as their value: the one that is liked most, of equals one at random, gets a new node.
    """
    width = max(bounds[1] - bounds[0], 1e-9)
    best = 0
    best_score = -np.inf
    visits = 0
    total = 0.0
    available = 1
    child = tree[node].child
    while child > 0:
        action = tree[child].action
        if tree[child].mover == mover and mask[action]:
            mask[action] = False
            tree[child].available += 1
            n = tree[child].visits
            score = (tree[child].total / n - bounds[0]) / width + bias * likes[action] / (n + 1)
            score += exploration * np.sqrt(np.log(tree[child].available) / n)
            if score > best_score:
                best = child
                best_score = score
            visits += n
            total += tree[child].total
            available = max(available, tree[child].available)
        child = tree[child].sibling
    chosen = -1
    equal = 0
    most = 0.0
    for action in range(len(mask)):
        if mask[action]:
            if chosen < 0 or likes[action] > most:
                equal = 0
                most = likes[action]
                chosen = action
            if likes[action] == most:
                equal += 1
                if randint(rng, equal) == 0:
                    chosen = action
    if chosen < 0:
        return best
    if visits > 0:
        score = (total / visits - bounds[0]) / width + bias * most + exploration * np.sqrt(np.log(available))
        if score < best_score:
            return best
    new = tree[0].nodes
    tree[0].nodes += 1
    tree[new].total = 0.0
    tree[new].mover = mover
    tree[new].action = chosen
    tree[new].visits = 0
    tree[new].available = 1
    tree[new].parent = node
    tree[new].child = 0
    tree[new].sibling = tree[node].child
    tree[node].child = new
    return new


def read_root(tree: Any, visits: Any, totals: Any) -> None:
    """Visits and returns of each action at the root."""
    child = tree[0].child
    while child > 0:
        visits[tree[child].action] = tree[child].visits
        totals[tree[child].action] = tree[child].total
        child = tree[child].sibling
