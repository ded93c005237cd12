"""Generic loops over afterstates (:mod:`deckhand.agents.afterstates`), bound to a game's kernels as :mod:`deckhand.agents.loops` are.

A *value network* says by how much the return still grows from an afterstate on: one hidden layer of ``width`` units with ReLU over the
features and numbers. Its weights are one vector, which may be longer than it needs (:func:`as_rows`); what is computed has their dtype. An
option's *worth* is its gain and the value of its afterstate.
"""

from typing import Any

import numpy as np

most_options: Any
most_features: Any
feature_count: Any
number_count: Any
list_options: Any


def make_room() -> Any:
    """Arrays for one list of options: actions, gains, bases, sizes, features, numbers (see the contract), and worths."""
    rows = most_options + 2
    return (
        np.empty(rows, np.int64),
        np.empty(rows),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty((rows, most_features), np.int16),
        np.empty((rows, number_count)),
        np.empty(rows),
    )


def fill_room(view: Any, mask: Any, room: Any) -> int:
    """List the options; returns how many there are."""
    actions, gains, bases, sizes, features, numbers, _ = room
    return int(list_options(view, mask, actions, gains, bases, sizes, features, numbers))


def rate_options(count: int, weights: Any, room: Any) -> None:
    """Write the worths of the options."""
    _, gains, bases, sizes, features, numbers, worths = room
    layers = as_rows(weights)
    width = layers.shape[1]
    bias = weights[1 + layers.size]
    shared = np.zeros(width, weights.dtype)
    based = np.empty(width, weights.dtype)
    sums = np.empty(width, weights.dtype)
    add_row(layers, feature_count + number_count, 1.0, shared)
    add_features(layers, features[0], sizes[0], shared)
    base = 0  # whose sums `based` holds
    for row in range(1, count + 1):
        if bases[row] != base and bases[row] != 0:
            base = bases[row]
            for j in range(width):
                based[j] = shared[j]
            add_rows(layers, base, sizes, features, numbers, based)
        if bases[row] == 0:
            for j in range(width):
                sums[j] = shared[j]
        else:
            for j in range(width):
                sums[j] = based[j]
        add_rows(layers, row, sizes, features, numbers, sums)
        worths[row] = gains[row] + output(layers, sums) + bias


def as_rows(weights: Any) -> Any:
    """The weights in rows of ``width``: features, numbers, bias, output layer. Before them is the width, after them the output's bias."""
    width = int(weights[0])
    count = feature_count + number_count + 2
    return weights[1 : 1 + count * width].reshape((count, width))


def add_rows(layers: Any, row: int, sizes: Any, features: Any, numbers: Any, sums: Any) -> None:
    """Add what the features and numbers of a row bring to the sums of the hidden units."""
    add_features(layers, features[row], sizes[row], sums)
    for k in range(number_count):
        if numbers[row, k] != 0:
            add_row(layers, feature_count + k, numbers[row, k], sums)


def add_features(layers: Any, features: Any, count: int, sums: Any) -> None:
    """Add the weights of the first ``count`` features, one after the other, to the sums of the hidden units."""
    width = len(sums)
    fours = count - count % 4
    for k in range(0, fours, 4):
        # Four at a time: the sums are loaded and stored once for all of them.
        a, b, c, d = features[k], features[k + 1], features[k + 2], features[k + 3]
        for j in range(width):
            sums[j] = sums[j] + layers[a, j] + layers[b, j] + layers[c, j] + layers[d, j]
    for k in range(fours, count):
        add_row(layers, features[k], 1.0, sums)


def add_row(layers: Any, row: int, factor: float, sums: Any) -> None:
    """Add a row of the weights, times ``factor``, to the sums of the hidden units."""
    times = sums.dtype.type(factor)
    for j in range(len(sums)):
        sums[j] += times * layers[row, j]


def output(layers: Any, sums: Any) -> float:
    """The output layer's sum, without its bias."""
    last = len(layers) - 1
    value = 0.0
    for j in range(len(sums)):
        value += max(sums[j], 0.0) * layers[last, j]
    return value


def best_row(count: int, room: Any) -> int:
    """The option of greatest worth; of equals the one listed first."""
    return 1 + int(np.argmax(room[6][1 : count + 1]))


def best_option(view: Any, mask: Any, weights: Any) -> int:
    """The action of the best option."""
    room = make_room()
    count = fill_room(view, mask, room)
    row = 1
    if count > 1:
        rate_options(count, weights, room)
        row = best_row(count, room)
    return int(room[0][row])


def best_worth(view: Any, mask: Any, weights: Any) -> float:
    """By how much the return of the seat to move still grows, as the network sees it."""
    room = make_room()
    count = fill_room(view, mask, room)
    rate_options(count, weights, room)
    return float(room[6][best_row(count, room)])


def rate_all(views: Any, masks: Any, weights: Any, worths: Any) -> None:
    """The worth of every listed action in every view, minus infinity for the others; ``worths`` float64 (n, num_actions)."""
    room = make_room()
    for i in range(len(views)):
        worths[i] = -np.inf
        count = fill_room(views[i], masks[i], room)
        rate_options(count, weights, room)
        for row in range(1, count + 1):
            action = room[0][row]
            worths[i, action] = max(worths[i, action], room[6][row])
