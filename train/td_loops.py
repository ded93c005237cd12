"""The compiled part of :mod:`deckhand.train.td`, bound to a game's kernels as :mod:`deckhand.agents.value_loops` are."""

from typing import Any

import numpy as np

from ..envs.core.rng import derive_seed, randint, random_unit, seed_rng

feature_count: Any
number_count: Any
most_features: Any
make_room: Any
fill_room: Any
rate_options: Any
best_row: Any
choose: Any
as_rows: Any
add_row: Any
output: Any
start: Any
advance: Any
write_mask: Any
write_view: Any

MEMORY, DAMPING = 0.9995, 1e-4  # of the mean squares of the gradients


def learn(
    states: Any,
    templates: Any,
    seed: int,
    first: int,
    games: int,
    scale: float,
    teacher_kind: int,
    teacher_params: Any,
    exploration: float,
    trace: float,
    rate: float,
    blend: float,
    blend_every: int,
    weights: Any,
    squares: Any,
    average: Any,
    scratch: Any,
    mask: Any,
) -> Any:
    """Play games number ``first`` .. ``first + games - 1`` and learn from each when it is over; returns mean return and squared error.

    Game ``k`` is dealt from ``derive_seed(seed, k)`` with the options of ``templates[k % len(templates)]``. ``average``, which plays and
    gives the targets, moves by ``blend`` of the way to ``weights``, which learn, every ``blend_every`` games. With ``teacher_kind`` > 0
    that rule agent plays instead, and what it does, random options included, is what is learned. Returns count divided by ``scale``.
    ``states`` is one record and ``scratch`` another, ``mask`` one mask, to work in.
    """
    room = make_room()
    actions, gains, bases, sizes, features, numbers, worths = room
    limit = 1024  # decisions of a game that are learned from
    kept = np.empty((limit, 3 * most_features), np.int16)
    kept_sizes = np.empty(limit, np.int64)
    kept_numbers = np.empty((limit, number_count))
    # Returns before the decision, the gain and worth of the option that was taken, the worth of the best.
    before = np.empty(limit)
    gain = np.empty(limit)
    taken = np.empty(limit)
    best = np.empty(limit)
    rng = np.empty(4, np.int64)
    seed_rng(rng, derive_seed(seed, first), 1)
    error = 0.0
    learned = 0
    total = 0.0
    for game in range(first, first + games):
        states[0] = templates[game % len(templates)]
        start(states, 0, derive_seed(seed, game))
        steps = 0
        while states[0].to_move >= 0:
            seat = states[0].to_move
            write_mask(states, 0, mask)
            write_view(states, 0, seat, scratch, 0)
            count = fill_room(scratch[0], mask, room)
            row = 1
            if count > 1 and steps < limit:
                for k in range(1, count + 1):
                    gains[k] /= scale
                rate_options(count, average, room)
                row = best_row(count, room)
                best[steps] = worths[row]
                if teacher_kind > 0:
                    told_action = choose(teacher_kind, scratch[0], mask, rng, teacher_params)
                    for k in range(1, count + 1):
                        if actions[k] == told_action:
                            row = k
                if random_unit(rng) < exploration:
                    row = 1 + randint(rng, count)
                if teacher_kind > 0:
                    best[steps] = worths[row]
                before[steps] = states[0].returns[seat] / scale
                gain[steps] = gains[row]
                taken[steps] = worths[row]
                size = 0
                kept_numbers[steps] = 0
                for part in (0, bases[row], row):
                    if part > 0 or size == 0:
                        kept[steps, size : size + sizes[part]] = features[part, : sizes[part]]
                        size += sizes[part]
                    if part > 0:
                        kept_numbers[steps] += numbers[part]
                kept_sizes[steps] = size
                steps += 1
            advance(states, 0, actions[row])
        final = states[0].returns[0] / scale
        total += final * scale
        # From the end backwards: what a decision is told that the whole return will be. After a step aside the best counts, not what came.
        told = final
        for k in range(steps - 1, -1, -1):
            target = told - before[k] - gain[k]
            error += nudge(weights, squares, kept[k], kept_sizes[k], kept_numbers[k], target, rate)
            expected = before[k] + best[k]
            told = trace * told + (1 - trace) * expected if taken[k] == best[k] else expected
        learned += steps
        if (game + 1) % blend_every == 0:
            for k in range(1, len(weights)):
                average[k] += blend * (weights[k] - average[k])
    return total / games, error / max(learned, 1)


def nudge(weights: Any, squares: Any, features: Any, size: int, numbers: Any, target: float, rate: float) -> float:
    """One step of RMSprop towards the target; returns the squared error."""
    layers = as_rows(weights)
    means = as_rows(squares)
    width = layers.shape[1]
    bias = feature_count + number_count
    sums = np.zeros(width)
    slopes = np.zeros(width)
    add_row(layers, bias, 1.0, sums)
    for k in range(size):
        add_row(layers, features[k], 1.0, sums)
    for k in range(number_count):
        add_row(layers, feature_count + k, numbers[k], sums)
    last = 1 + layers.size
    error = output(layers, sums) + weights[last] - target
    for j in range(width):
        sums[j] = max(sums[j], 0.0)
        slopes[j] = error * layers[bias + 1, j] if sums[j] > 0 else 0.0
    step_row(layers, means, bias + 1, error, sums, rate)
    step_row(layers, means, bias, 1.0, slopes, rate)
    for k in range(size):
        step_row(layers, means, features[k], 1.0, slopes, rate)
    for k in range(number_count):
        if numbers[k] != 0:
            step_row(layers, means, feature_count + k, numbers[k], slopes, rate)
    squares[last] = MEMORY * squares[last] + (1 - MEMORY) * error * error
    weights[last] -= rate * error / (np.sqrt(squares[last]) + DAMPING)
    return error * error


def step_row(layers: Any, means: Any, row: int, factor: float, slopes: Any, rate: float) -> None:
    """A step of the weights of one row, whose slopes are ``factor`` times those given; ``means`` are of their squares."""
    for j in range(len(slopes)):
        slope = factor * slopes[j]
        means[row, j] = MEMORY * means[row, j] + (1 - MEMORY) * slope * slope
        layers[row, j] -= rate * slope / (np.sqrt(means[row, j]) + DAMPING)
