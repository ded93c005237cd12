"""Piraten-Pitt: the rules. Numbers in comments are the rules of the game's page (README.md beside this file)."""

from typing import Any

import numpy as np

from ..core.game import record_dtype
from ..core.jit import kernel
from ..core.log import write_log
from ..core.rng import randint, random_unit

MAX_PLAYERS = 4
GEMS = 5  # of each colour, and the number of hideouts
# Sizes that keep the action space and the observation the same on every board; a smaller board leaves the last nodes unused.
MAX_NODES = 36
MAX_DEGREE = 6
NAME_LENGTH = 8
WINDOW = 8  # events of a chest that the record remembers; no more lie between two decisions of a seat

# Kinds of nodes; hideout h is HIDEOUT + h.
PATH, ARROW_FIELD, BAY, HIDEOUT = 0, 1, 2, 3

# Actions: nodes come first; the phase says whether a node means move, pirate or place.
SIDE_0 = MAX_NODES
DECLINE = SIDE_0 + 2
TURN_1 = DECLINE + 1
ARROW_1 = TURN_1 + 3  # + 3 * (seat offset - 1) + k - 1
NUM_ACTIONS = ARROW_1 + 3 * (MAX_PLAYERS - 1)

MOVE, STOW, ARROW, PIRATE, TURN, SHOW, PLACE = 0, 1, 2, 3, 4, 5, 6  # phases
PIRATE_FACE = 5
SINCE_LAST_DECISION, LAST, CURRENT, NONE = 0, 1, 2, 3  # event_window

# What happens to a chest before everybody's eyes (7.5); positions, rolls and gems on the board are seen at any time. STOWED carries the
# count found in the opened compartment, SHOWN and UNLOADED the count taken out.
STOWED, TURNED, SHOWN, UNLOADED = 1, 2, 3, 4
# Columns of an event; AXIS is that of the chest afterwards.
KIND, ACTOR, SIDE, COUNT, TURNS, AXIS, TOLD = 0, 1, 2, 3, 4, 5, 6
NOBODY = -1
PROGRESS = 0.02  # what a step nearer home pays with reward="progress"
EVERYBODY = (1 << MAX_PLAYERS) - 1
PUBLIC = MAX_PLAYERS  # the row of ``belief`` of a bystander who is told of no turn and no stowing

START, ROLL = 0, 1  # log codes

DTYPE = record_dtype(
    MAX_PLAYERS,
    8,
    [
        # Options.
        ("turn_allowed", np.int8, (4,)),  # by net clockwise quarter turns
        ("blind", np.int8),
        ("features", np.int8),
        ("event_window", np.int8),
        ("attention", np.float64),
        ("stow_visible", np.int8),
        ("collect_on_stay", np.int8),
        ("allow_decline", np.int8),
        ("may_reverse", np.int8),
        ("skip_empty", np.int8),
        ("arrow_variant", np.int8),
        ("random_start", np.int8),
        ("max_turns", np.int16),
        ("progress", np.int8),  # reward="progress"
        ("dense", np.int8),
        # The board.
        ("nodes", np.int16),
        ("bay", np.int16),
        ("pirate_start", np.int16),
        ("hideout", np.int16, (GEMS,)),
        ("node_kind", np.int8, (MAX_NODES,)),
        ("degree", np.int8, (MAX_NODES,)),
        ("neighbour", np.int8, (MAX_NODES, MAX_DEGREE)),
        ("node_xy", np.int16, (MAX_NODES, 2)),  # in ten-thousandths of the board's half size
        ("node_name", np.int8, (MAX_NODES, NAME_LENGTH)),  # ASCII, padded with zeros
        # Steps of a sailor where no pirate stands, from each node to hideout h (row h) and to the bay (the last row).
        ("steps", np.int8, (GEMS + 1, MAX_NODES)),
        # tour[left, h]: the fewest steps from hideout h over the hideouts of the bit set ``left`` into the bay.
        ("tour", np.int16, (1 << GEMS, GEMS)),
        # The position. Secured gems are ``score``.
        ("turn_no", np.int16),  # 1, 2, ...
        ("roller", np.int16),
        ("die", np.int16),  # 1 .. 4 or PIRATE_FACE
        ("position", np.int16, (MAX_PLAYERS,)),
        ("pirate", np.int16),
        ("gem", np.int8, (MAX_PLAYERS, GEMS)),  # 1: the seat's gem lies on the hideout
        ("loaded", np.int16, (MAX_PLAYERS,)),  # gems in each chest
        ("content", np.int16, (MAX_PLAYERS, 2)),  # of compartments A and B; -1 in a view of a chest that is not empty
        ("orientation", np.int16, (MAX_PLAYERS,)),  # where A points: 0 left, 1 far, 2 right, 3 near; in a view only the axis, 0 or 1
        ("met", np.int16),  # whose chest is being turned, shown or emptied, or NOBODY
        ("to_place", np.int16),
        # What everybody saw, and who was told.
        ("event", np.int8, (MAX_PLAYERS, WINDOW, 7)),  # by chest, newest first
        ("fresh", np.int16, (MAX_PLAYERS, MAX_PLAYERS)),  # by seat and chest: events since the seat's last decision, at most WINDOW
        # belief[i, c, x]: the probability, for seat i, that x of the gems in chest c lie on side 0.
        ("belief", np.float32, (MAX_PLAYERS + 1, MAX_PLAYERS, GEMS + 1)),
        ("doubts", np.int16, (MAX_PLAYERS,)),  # turns since the owner last opened the chest that the axis does not explain
        ("secrets", np.int16, (MAX_PLAYERS,)),  # turns and stowings since everybody last learned the contents
        # Statistics, by owner of the chest; all public.
        ("unseen_turns", np.int16, (MAX_PLAYERS,)),  # turns since the owner last saw gems in the chest
        ("meetings", np.int16, (MAX_PLAYERS,)),
        ("robberies", np.int16, (MAX_PLAYERS,)),
        ("gems_lost", np.int16, (MAX_PLAYERS,)),
        # Shows of a chest with one empty and one loaded compartment, after 1, 2, and 3 or more unseen turns: how many, and right ones.
        ("shows", np.int16, (MAX_PLAYERS, 3)),
        ("right_shows", np.int16, (MAX_PLAYERS, 3)),
    ],
)


@kernel
def deal(s: Any) -> None:
    """1-8: set up and let the first player roll."""
    for seat in range(s.players):
        s.position[seat] = s.bay
        for h in range(GEMS):
            s.gem[seat, h] = 1
        learn(s, seat, 0)
    s.pirate = s.pirate_start
    s.met = NOBODY
    starter = randint(s.rng, s.players) if s.random_start else 0
    write_log(s, START)
    write_log(s, starter)
    start_turn(s, starter)


@kernel
def start_turn(s: Any, seat: int) -> None:
    """9, 10: one roll; the faces are 1, 2, 3, 4, pirate, pirate."""
    s.turn_no += 1
    s.roller = seat
    s.to_move = seat
    s.die = min(randint(s.rng, 6) + 1, PIRATE_FACE)
    s.phase = PIRATE if s.die == PIRATE_FACE else MOVE
    write_log(s, ROLL)
    write_log(s, seat)
    write_log(s, s.die)


@kernel
def end_turn(s: Any) -> None:
    """11: the die goes to the next player clockwise; the game is cut off after ``max_turns`` turns."""
    s.met = NOBODY
    if s.turn_no >= s.max_turns:
        s.truncated = 1
        s.to_move = -1
    else:
        start_turn(s, (s.roller + 1) % s.players)


@kernel
def legal(s: Any, mask: Any) -> None:
    """The choices of every phase (7.5)."""
    if s.phase == MOVE:
        mark_sailor_targets(s, mask)
    elif s.phase == PIRATE:
        mark_pirate_targets(s, mask)
    elif s.phase == TURN:
        for k in range(1, 4):
            mask[TURN_1 + k - 1] = s.turn_allowed[k] != 0
    elif s.phase == PLACE:
        for h in range(GEMS):
            mask[s.hideout[h]] = s.gem[s.met, h] == 0  # 33
    elif s.phase == ARROW:
        mask[DECLINE] = True
        for other in range(1, s.players):
            for k in range(1, 4):
                mask[ARROW_1 + 3 * (other - 1) + k - 1] = s.loaded[(s.roller + other) % s.players] > 0 and s.turn_allowed[k] != 0
    else:
        mask[SIDE_0] = True
        mask[SIDE_0 + 1] = True
        mask[DECLINE] = s.phase == STOW and s.allow_decline != 0


@kernel
def mark_sailor_targets(s: Any, mask: Any) -> None:
    """12, 14: every node at distance 0 .. roll on the board without the pirate's node. 22: the bay ends a move."""
    queue = np.empty(MAX_NODES, np.int64)
    start = s.position[s.to_move]
    queue[0] = start
    mask[start] = True
    head = 0
    tail = 1
    for _ in range(s.die):
        ring = tail
        while head < ring:
            node = queue[head]
            head += 1
            if node == s.bay and node != start:
                continue
            for i in range(s.degree[node]):
                beside = s.neighbour[node, i]
                if not mask[beside] and beside != s.pirate:
                    mask[beside] = True
                    queue[tail] = beside
                    tail += 1


@kernel
def sailor_on(s: Any, node: int) -> bool:
    """Whether at least one sailor stands on a node."""
    found = False
    for seat in range(s.players):
        found |= s.position[seat] == node
    return found


@kernel
def mark_pirate_targets(s: Any, mask: Any) -> None:
    """24-27: one, two or three fields, not into the bay, no field twice (unless ``may_reverse``), stopping at the first sailor."""
    start = s.pirate
    for i in range(s.degree[start]):
        first = s.neighbour[start, i]
        if first == s.bay:
            continue
        mask[first] = True
        if sailor_on(s, first):
            continue
        for j in range(s.degree[first]):
            second = s.neighbour[first, j]
            if second == s.bay or (second == start and not s.may_reverse):
                continue
            mask[second] = True
            if sailor_on(s, second):
                continue
            for k in range(s.degree[second]):
                third = s.neighbour[second, k]
                if third != s.bay and (s.may_reverse or (third != first and third != start)):
                    mask[third] = True


@kernel
def apply(s: Any, action: int) -> None:
    """One decision and what follows from it."""
    if s.progress:
        add_progress(s, -PROGRESS)
    play(s, action)
    if s.progress:
        add_progress(s, PROGRESS)


@kernel
def play(s: Any, action: int) -> None:
    """What a decision sets off, by phase."""
    seat = s.to_move
    s.fresh[seat] = 0
    if s.phase == MOVE:
        move_sailor(s, seat, action)
    elif s.phase == STOW:
        if action != DECLINE:
            stow(s, seat, action - SIDE_0)
        end_turn(s)
    elif s.phase == ARROW:
        if action != DECLINE:
            owner = (seat + 1 + (action - ARROW_1) // 3) % s.players
            turn_chest(s, owner, 1 + (action - ARROW_1) % 3)
        end_turn(s)
    elif s.phase == PIRATE:
        s.pirate = action
        meet_next(s, seat)
    elif s.phase == TURN:
        turn_chest(s, s.met, 1 + action - TURN_1)
        s.phase = SHOW
        s.to_move = s.met
    elif s.phase == SHOW:
        show(s, action - SIDE_0)
    else:
        place(s, action)


@kernel
def move_sailor(s: Any, seat: int, target: int) -> None:
    """18-22, 38: where the move ends."""
    moved = target != s.position[seat]
    s.position[seat] = target
    kind = s.node_kind[target]
    if kind >= HIDEOUT and s.gem[seat, kind - HIDEOUT] and (moved or s.collect_on_stay):
        s.phase = STOW
    elif kind == ARROW_FIELD and moved and s.arrow_variant and other_loaded(s, seat):
        s.phase = ARROW
    else:
        if kind == BAY and moved:
            unload(s, seat)
        if s.to_move >= 0:
            end_turn(s)


@kernel
def other_loaded(s: Any, seat: int) -> bool:
    """Whether the chest of another player holds a gem."""
    found = False
    for other in range(s.players):
        found |= other != seat and s.loaded[other] > 0
    return found


@kernel
def side_of_a(s: Any, chest: int) -> int:
    """7.1: compartment A lies on side 0 (left or far) for orientations 0 and 1, else on side 1 (right or near)."""
    return s.orientation[chest] >> 1


@kernel
def content_on(s: Any, chest: int, side: int) -> int:
    """How many gems the compartment on a side holds."""
    return s.content[chest, side ^ side_of_a(s, chest)]


@kernel
def stow(s: Any, seat: int, side: int) -> None:
    """19: put the gem of the hideout into the opened compartment."""
    s.gem[seat, s.node_kind[s.position[seat]] - HIDEOUT] = 0
    before = content_on(s, seat, side)
    s.content[seat, side ^ side_of_a(s, seat)] += 1
    s.loaded[seat] += 1
    s.secrets[seat] += 1
    s.doubts[seat] = 0
    s.unseen_turns[seat] = 0
    audience = draw_audience(s, STOWED, seat, seat)
    on_side_0 = before + 1 if side == 0 else s.loaded[seat] - before - 1
    for observer in range(PUBLIC + 1):
        if (audience >> observer) & 1:
            be_sure(s, observer, seat, on_side_0)
        elif observer < s.players or observer == PUBLIC:
            # Unseen: either side is as likely.
            for x in range(s.loaded[seat], 0, -1):
                s.belief[observer, seat, x] = 0.5 * s.belief[observer, seat, x] + 0.5 * s.belief[observer, seat, x - 1]
            s.belief[observer, seat, 0] *= 0.5
    tell(s, audience, seat, STOWED, seat, side, before, 0)


@kernel
def unload(s: Any, seat: int) -> None:
    """22, 23: all gems of the chest are secured; the fifth one wins at once."""
    count = s.loaded[seat]
    if s.dense:
        for other in range(s.players):
            s.reward[other] -= potential(s, other)
    s.score[seat] += count
    if s.dense:
        for other in range(s.players):
            s.reward[other] += potential(s, other)
    s.content[seat] = 0
    s.loaded[seat] = 0
    s.unseen_turns[seat] = 0
    learn(s, seat, 0)
    tell(s, EVERYBODY, seat, UNLOADED, seat, 0, count, 0)
    if s.score[seat] == GEMS:
        s.winner[seat] = 1
        s.terminal = 1
        s.to_move = -1
        for other in range(s.players):
            s.reward[other] += 1.0 if other == seat else -1 / (s.players - 1)


@kernel
def potential(s: Any, seat: int) -> float:
    """0.1 x (own secured gems - mean of the other seats' secured gems)."""
    others = 0
    for other in range(s.players):
        if other != seat:
            others += s.score[other]
    return 0.1 * (s.score[seat] - others / (s.players - 1))


@kernel
def add_progress(s: Any, weight: float) -> None:
    """Add ``weight`` x (mean of the other seats' steps home - own steps home) to the reward of every seat."""
    total = 0
    for seat in range(s.players):
        total += steps_home(s, seat, s.position[seat])
    for seat in range(s.players):
        own = steps_home(s, seat, s.position[seat])
        s.reward[seat] += weight * ((total - own) / (s.players - 1) - own)


@kernel
def meet_next(s: Any, after: int) -> None:
    """28, 29, 36: the next foreign sailor on the pirate's field, clockwise from the roller."""
    for k in range((after - s.roller) % s.players + 1, s.players):
        owner = (s.roller + k) % s.players
        if s.position[owner] == s.pirate and (s.loaded[owner] > 0 or not s.skip_empty):
            s.met = owner
            s.meetings[owner] += s.loaded[owner] > 0
            s.phase = TURN
            s.to_move = s.roller
            return
    end_turn(s)


@kernel
def swaps(axis: int, k: int) -> int:
    """7.1: whether a net clockwise turn by k quarters brings the content of either side to the other one."""
    return ((axis + k) & 3) >> 1


@kernel
def turn_chest(s: Any, owner: int, k: int) -> None:
    """30: k net clockwise quarter turns."""
    axis = s.orientation[owner] & 1
    s.orientation[owner] = (s.orientation[owner] + k) & 3
    # Who does not see the turn sees the new axis: the allowed turns that explain it are equally likely.
    explained = 0
    swapped = 0
    for other in range(1, 4):
        if s.turn_allowed[other] and (other - k) % 2 == 0:
            explained += 1
            swapped += swaps(axis, other)
    s.secrets[owner] += 1
    s.unseen_turns[owner] += 1
    if explained > 1:
        s.doubts[owner] += 1
    audience = draw_audience(s, TURNED, s.roller, owner)
    for observer in range(PUBLIC + 1):
        if (audience >> observer) & 1:
            mix(s, observer, owner, float(swaps(axis, k)))
        elif observer < s.players or observer == PUBLIC:
            mix(s, observer, owner, swapped / explained)
    tell(s, audience, owner, TURNED, s.roller, 0, 0, k)


@kernel
def mix(s: Any, observer: int, chest: int, swap: float) -> None:
    """Change a belief by a turn that has exchanged the sides with probability ``swap``."""
    belief = s.belief[observer, chest]
    total = s.loaded[chest]
    for x in range(total // 2 + 1):
        low = belief[x]
        high = belief[total - x]
        belief[x] = (1 - swap) * low + swap * high
        belief[total - x] = (1 - swap) * high + swap * low


@kernel
def be_sure(s: Any, observer: int, chest: int, on_side_0: int) -> None:
    """An observer now knows what a chest holds."""
    s.belief[observer, chest] = 0
    s.belief[observer, chest, on_side_0] = 1


@kernel
def learn(s: Any, chest: int, on_side_0: int) -> None:
    """Everybody now knows what a chest holds."""
    for observer in range(s.players):
        be_sure(s, observer, chest, on_side_0)
    be_sure(s, PUBLIC, chest, on_side_0)
    s.doubts[chest] = 0
    s.secrets[chest] = 0


@kernel
def show(s: Any, side: int) -> None:
    """31-34: the owner opens one compartment; what it holds is taken."""
    owner = s.met
    count = content_on(s, owner, side)
    rest = content_on(s, owner, 1 - side)
    if count + rest > 0 and (count == 0 or rest == 0):
        age = min(s.unseen_turns[owner], 3) - 1
        s.shows[owner, age] += 1
        s.right_shows[owner, age] += count == 0
    s.content[owner, side ^ side_of_a(s, owner)] = 0
    s.loaded[owner] = rest
    learn(s, owner, 0 if side == 0 else rest)
    tell(s, EVERYBODY, owner, SHOWN, owner, side, count, 0)
    if count == 0:
        meet_next(s, owner)
    else:
        s.unseen_turns[owner] = 0
        s.robberies[owner] += 1
        s.gems_lost[owner] += count
        s.to_place = count
        s.phase = PLACE
        s.to_move = s.roller


@kernel
def place(s: Any, node: int) -> None:
    """33: the roller puts a taken gem back."""
    owner = s.met
    s.gem[owner, s.node_kind[node] - HIDEOUT] = 1
    s.to_place -= 1
    if s.to_place == 0:
        meet_next(s, owner)


@kernel
def draw_audience(s: Any, kind: int, actor: int, owner: int) -> int:
    """7.2, 7.4 (c), (d): who is told of a turn or of what went into a chest, one bit a seat."""
    audience = 0
    for seat in range(s.players):
        if seat == actor:
            told = True
        elif (kind == TURNED and s.blind and seat == owner) or (kind == STOWED and not s.stow_visible):
            told = False
        else:
            told = s.attention >= 1 or random_unit(s.rng) < s.attention
        if told:
            audience |= 1 << seat
    return audience


@kernel
def tell(s: Any, audience: int, chest: int, kind: int, actor: int, side: int, count: int, turns: int) -> None:
    """Remember an event of a chest, the oldest one falls out."""
    rows = s.event[chest]
    for e in range(WINDOW - 1, 0, -1):
        rows[e] = rows[e - 1]
    row = rows[0]
    row[KIND] = kind
    row[ACTOR] = actor
    row[SIDE] = side
    row[COUNT] = count
    row[TURNS] = turns
    row[AXIS] = s.orientation[chest] & 1
    row[TOLD] = audience
    for seat in range(s.players):
        s.fresh[seat, chest] = min(s.fresh[seat, chest] + 1, WINDOW)


@kernel
def gems_of(s: Any, seat: int) -> int:
    """The hideouts where gems of the seat lie, as a bit set."""
    found = 0
    for h in range(GEMS):
        found |= s.gem[seat, h] << h
    return found


@kernel
def steps_home(s: Any, seat: int, node: int) -> int:
    """The fewest steps from a node over the hideouts with gems of the seat into the bay, where no pirate stands."""
    wanted = gems_of(s, seat)
    if wanted == 0:
        return s.steps[GEMS, node]
    best = MAX_NODES * MAX_NODES
    for h in range(GEMS):
        if (wanted >> h) & 1:
            best = min(best, s.steps[h, node] + s.tour[wanted ^ (1 << h), h])
    return best


@kernel
def hide(s: Any, seat: int) -> None:
    """7.2: contents and orientation, what others know, and the events that the seat was not told of."""
    for chest in range(s.players):
        s.orientation[chest] &= 1
        if s.loaded[chest] > 0:
            s.content[chest] = -1
            for other in range(s.players):
                if other != seat:
                    s.belief[other, chest] = 0
        for e in range(WINDOW):
            event = s.event[chest, e]
            if event[KIND] in (TURNED, STOWED):
                if (event[TOLD] >> seat) & 1:
                    event[TOLD] = 1 << seat
                else:
                    event[:] = 0


@kernel
def resample(s: Any, seat: int) -> None:
    """Piles drawn from the seat's belief; then what the others may know of them.

    Which compartment is called A is a matter of chance: nobody can tell. Events that the seat was not told of stay unknown to all. What
    others know is exact for ``attention`` 1 and visible stowing; else a bystander knows either everything or what is public.
    """
    for chest in range(s.players):
        if s.loaded[chest] == 0:
            continue
        x = draw_pile(s, seat, chest)
        rest = s.loaded[chest] - x
        a = randint(s.rng, 2)
        s.orientation[chest] += 2 * a
        s.content[chest, a] = x
        s.content[chest, 1 - a] = rest
        for other in range(s.players):
            if other == seat:
                continue
            if other == chest:
                if s.doubts[chest] > 0 and (s.blind or random_unit(s.rng) >= s.attention ** s.doubts[chest]):
                    s.belief[other, chest, x] += 0.5
                    s.belief[other, chest, rest] += 0.5
                else:
                    be_sure(s, other, chest, x)
            elif chest != seat and s.attention >= 1:
                s.belief[other, chest] = s.belief[seat, chest]
            elif s.secrets[chest] == 0 or (s.stow_visible and random_unit(s.rng) < s.attention ** s.secrets[chest]):
                be_sure(s, other, chest, x)
            else:
                s.belief[other, chest] = s.belief[PUBLIC, chest]
    for chest in range(s.players):
        for e in range(WINDOW):
            event = s.event[chest, e]
            if event[KIND] in (TURNED, STOWED):
                event[TOLD] = draw_audience(s, event[KIND], event[ACTOR], chest) | (1 << seat)


@kernel
def draw_pile(s: Any, seat: int, chest: int) -> int:
    """How many gems lie on side 0, drawn from what the seat knows."""
    left = random_unit(s.rng)
    for x in range(s.loaded[chest]):
        left -= float(s.belief[seat, chest, x])
        if left < 0:
            return x
    return s.loaded[chest]
