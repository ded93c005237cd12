"""The generic loops, written once over six kernels that :func:`deckhand.envs.core.jit.bind` puts in the place of the names below.

Every loop works on an array of records and an index, so the same code serves one game and ten thousand.
"""

from typing import Any

import numpy as np

from .rng import derive_seed, randint, random_unit, seed_rng

deal: Any
legal: Any
apply: Any
observe: Any
hide: Any
resample: Any


def start(states: Any, i: int, seed: int) -> None:
    """Start game ``i``: its options and player count are in the record, everything else is zero."""
    s = states[i]
    s.seed = seed
    seed_rng(s.rng, seed, 0)
    deal(s)


def advance(states: Any, i: int, action: int) -> None:
    """One legal decision of game ``i``."""
    s = states[i]
    s.log_size = 0
    s.reward[:] = 0
    apply(s, action)
    s.decisions += 1
    for seat in range(s.players):
        s.returns[seat] += s.reward[seat]


def write_mask(states: Any, i: int, mask: Any) -> None:
    """The mask of the player to move; all zero when the game is over."""
    mask[:] = False
    if states[i].to_move >= 0:
        legal(states[i], mask)


def write_observation(states: Any, i: int, seat: int, out: Any) -> None:
    """What a seat sees, as floats."""
    out[:] = 0
    observe(states[i], seat, out)


def step(states: Any, i: int, action: int, mask: Any) -> None:
    """:func:`advance` and the next mask in one call."""
    advance(states, i, action)
    write_mask(states, i, mask)


def write_view(states: Any, i: int, seat: int, views: Any, j: int) -> None:
    """Record ``j`` of ``views`` becomes what a seat knows of game ``i``."""
    views[j] = states[i]
    v = views[j]
    v.seed = 0
    v.rng[:] = 0
    v.log_size = 0
    v.log[:] = 0
    hide(v, seat)


def write_views(states: Any, rows: Any, seats: Any, views: Any) -> None:
    """One view for each of ``rows``, seen from ``seats``."""
    for j in range(len(rows)):
        write_view(states, rows[j], seats[j], views, j)


def fill_view(states: Any, i: int, seat: int, seed: int) -> None:
    """Turn a view into a full record: hidden facts drawn at random among those that fit what the seat knows."""
    s = states[i]
    seed_rng(s.rng, seed, 1)
    resample(s, seat)


def look(states: Any, masks: Any, observations: Any, movers: Any) -> None:
    """Masks, the movers' observations and the movers (-1: game over) of all games."""
    for i in range(len(states)):
        movers[i] = states[i].to_move
        write_mask(states, i, masks[i])
        if movers[i] >= 0:
            write_observation(states, i, movers[i], observations[i])


def write_masks(states: Any, rows: Any, masks: Any) -> None:
    """The masks of the games ``rows``: row ``j`` belongs to game ``rows[j]``."""
    for j in range(len(rows)):
        write_mask(states, rows[j], masks[j])


def write_observations(states: Any, rows: Any, observations: Any) -> None:
    """What the movers of the games ``rows`` see; none of those games is over."""
    for j in range(len(rows)):
        write_observation(states, rows[j], states[rows[j]].to_move, observations[j])


def find_illegal(masks: Any, actions: Any) -> int:
    """The first game whose action its mask forbids, or -1."""
    for i in range(len(actions)):
        if actions[i] < 0 or actions[i] >= masks.shape[1] or not masks[i, actions[i]]:
            return i
    return -1


def advance_all(states: Any, actions: Any) -> None:
    """One legal decision in every game."""
    for i in range(len(states)):
        advance(states, i, actions[i])


def advance_rows(states: Any, rows: Any, actions: Any) -> None:
    """One legal decision in each of the games ``rows``."""
    for j in range(len(rows)):
        advance(states, rows[j], actions[j])


def restart(states: Any, template: Any, i: int, seed: int) -> None:
    """A new game in place ``i`` with the options of ``template[0]``."""
    states[i] = template[0]
    start(states, i, seed)


def restart_all(states: Any, template: Any, seeds: Any) -> None:
    """A new game in every place, one a seed."""
    for i in range(len(states)):
        restart(states, template, i, seeds[i])


def restart_finished(states: Any, template: Any, seeds: Any, games: Any) -> None:
    """A new game in every place whose game is over: ``games[i]`` counts the games of place ``i``, its seed stream is ``seeds[i]``."""
    for i in range(len(states)):
        if states[i].to_move < 0:
            games[i] += 1
            restart(states, template, i, derive_seed(seeds[i], games[i]))


def read_rewards(states: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
    """Rewards of the last decision (games, seats) and how each game stands."""
    for i in range(len(states)):
        s = states[i]
        for seat in range(rewards.shape[1]):
            rewards[i, seat] = s.reward[seat]
        terminated[i] = s.terminal != 0
        truncated[i] = s.truncated != 0


def sample_actions(masks: Any, rng: Any, actions: Any) -> None:
    """A uniform legal action for every row of ``masks``; -1 where nothing is legal."""
    found = np.empty(masks.shape[1] + 1, np.int64)
    for i in range(len(masks)):
        count = 0
        for a in range(masks.shape[1]):
            # Without a branch, which the processor could not predict.
            found[count] = a
            count += masks[i, a]
        actions[i] = found[randint(rng, count)] if count > 0 else -1


def forfeit(states: Any, i: int, seat: int) -> None:
    """End game ``i`` because ``seat`` tried an illegal action: reward -1 for that seat, 0 for the others, no winner."""
    s = states[i]
    s.log_size = 0
    s.reward[:] = 0
    s.reward[seat] = -1
    s.returns[seat] -= 1
    s.terminal = 1
    s.to_move = -1


def begin_episodes(
    states: Any,
    templates: Any,
    kinds: Any,
    rows: Any,
    seeds: Any,
    episodes: Any,
    draws: Any,
    fixed_seat: int,
    choices: Any,
    bounds: Any,
    seats: Any,
    controllers: Any,
) -> None:
    """The next episode in each of the games ``rows``, with a learner's seat and opponents for the others.

    Game ``i`` starts from ``templates[kinds[i]]`` with seed ``episodes[i]`` of the stream ``seeds[i]``; seat and opponents follow from that
    seed alone. ``seats[i]`` becomes the learner's seat: ``fixed_seat``, or one drawn if that is -1. ``controllers[i, seat]`` becomes one of
    ``choices`` (``bounds``: their cumulated probabilities), -1 for the learner. Without choices the learner plays every seat.
    ``draws[i]`` is a generator for illegal actions.
    """
    rng = np.empty(4, np.int64)
    for j in range(len(rows)):
        i = rows[j]
        seed = derive_seed(seeds[i], episodes[i])
        episodes[i] += 1
        states[i] = templates[kinds[i]]
        start(states, i, seed)
        seed_rng(draws[i], seed, 4)
        seed_rng(rng, seed, 3)
        drawn = randint(rng, states[i].players)
        seats[i] = drawn if fixed_seat < 0 else fixed_seat
        controllers[i, :] = -1
        if len(choices) == 0:
            seats[i] = 0
        else:
            for seat in range(states[i].players):
                x = random_unit(rng)
                k = 0
                while k < len(choices) - 1 and x >= bounds[k]:
                    k += 1
                if seat != seats[i]:
                    controllers[i, seat] = choices[k]


def find_over(states: Any, skip: Any, rows: Any) -> int:
    """Write the games that are over, except those with ``skip[i]``, to ``rows``; returns how many."""
    count = 0
    for i in range(len(states)):
        if states[i].to_move < 0 and not skip[i]:
            rows[count] = i
            count += 1
    return count


def find_waiting(states: Any, controllers: Any, rows: Any, owners: Any) -> int:
    """Write the games in which an opponent is to move to ``rows``, and which one to ``owners``; returns how many."""
    count = 0
    for i in range(len(states)):
        seat = states[i].to_move
        if seat >= 0 and controllers[i, seat] >= 0:
            rows[count] = i
            owners[count] = controllers[i, seat]
            count += 1
    return count


def advance_seats(states: Any, rows: Any, actions: Any, seats: Any, earned: Any) -> None:
    """One legal decision in each of the games ``rows``; what it pays to ``seats[i]`` is added to ``earned[i]``."""
    for j in range(len(rows)):
        i = rows[j]
        advance(states, i, actions[j])
        earned[i] += states[i].reward[seats[i]]


def advance_learners(states: Any, actions: Any, seats: Any, earned: Any, lengths: Any) -> None:
    """:func:`advance_seats` for every game that is not over, counting the decisions in ``lengths``."""
    for i in range(len(states)):
        if states[i].to_move >= 0:
            advance(states, i, actions[i])
            earned[i] += states[i].reward[seats[i]]
            lengths[i] += 1


def write_seat_observations(states: Any, rows: Any, seats: Any, observations: Any) -> None:
    """What ``seats[i]`` sees of each game ``i`` of ``rows``."""
    for j in range(len(rows)):
        write_observation(states, rows[j], seats[rows[j]], observations[j])


def look_for(states: Any, seats: Any, masks: Any, observations: Any) -> None:
    """Masks of all games and the observations of the seats to move, which replace ``seats``; of ``seats`` where a game is over."""
    for i in range(len(states)):
        if states[i].to_move >= 0:
            seats[i] = states[i].to_move
        write_mask(states, i, masks[i])
        write_observation(states, i, seats[i], observations[i])
