"""DESIGN.md's promises, for every registered game, player count and option set. There is no exclusion list."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from deckhand.envs import check_game, game_names, get_game
from deckhand.envs.core import Position
from deckhand.envs.core.check import option_sets
from invariants import INVARIANTS

CASES = [(name, n) for name in game_names() for n in range(get_game(name).min_players, get_game(name).max_players + 1)]


@pytest.mark.parametrize(("name", "players"), CASES)
def test_every_promise_with_every_option(name, players):
    game = get_game(name)
    for k, options in enumerate(option_sets(game, players)):
        report = check_game(
            game,
            players=players,
            options=options,
            games=2 if k == 0 else 1,
            seed=1000 * players + k,
            checked_decisions=150 if k == 0 else 80,
            thorough=0.06,
            invariant=INVARIANTS.get(name),
        )
        assert report.games
        assert report.thorough


@pytest.mark.parametrize("name", game_names())
def test_no_leak_in_any_phase(name):
    """In fifty positions of every phase, no seat can tell the truth from a world drawn from what it knows; and worlds do differ."""
    game = get_game(name)
    chance = random.Random(5)
    checked, differing = Counter(), Counter()
    kinds = [(n, options) for n in range(game.min_players, game.max_players + 1) for options in option_sets(game, n)]
    for seed in range(600):
        n, options = kinds[seed % len(kinds)]
        p = Position.new(game, n, options, seed)
        for _ in range(1000):
            if p.is_over or min(checked[phase] for phase in game.phases) >= 50:
                break
            if checked[p.phase] < 50 and (checked[p.phase] < 10 or chance.random() < 0.2):
                checked[p.phase] += 1
                for seat in range(n):
                    world = p.resample(seat, chance.randrange(2**53))
                    differing[p.phase] += not same_facts(world, p)
                    assert world.view(seat) == p.view(seat)
                    assert world.observation(seat).tobytes() == p.observation(seat).tobytes()
                    assert str(world.view(seat)) == str(p.view(seat))
                    if p.to_move == seat:
                        assert world.legal_strings() == p.legal_strings()
            p.apply(chance.choice(p.legal_actions()))
    assert {phase: min(checked[phase], 50) for phase in game.phases} == dict.fromkeys(game.phases, 50)
    assert all(differing[phase] for phase in game.phases), differing


def same_facts(p, q):
    return all(np.array_equal(p.states[f], q.states[f]) for f in p.game.dtype.names if f not in ("seed", "rng", "log", "log_size"))


DIGEST = """
import hashlib, random, sys
import numpy as np
from deckhand.envs import get_game
from deckhand.envs.core import Position
def digest(name, count):
    game = get_game(name)
    found = hashlib.sha256()
    for seed in range(count):
        n = game.min_players + seed % (game.max_players - game.min_players + 1)
        p = Position.new(game, n, {}, seed)
        chance = np.array([seed, 1, 2, 3], np.int64)
        action = np.zeros(1, np.int64)
        for _ in range(200):
            if p.is_over:
                break
            found.update(p.mask().tobytes() + p.observation(p.to_move).tobytes() + p.record["reward"].tobytes())
            found.update(p.resample(p.to_move, seed).states.tobytes())
            game.loops.sample_actions(p.mask()[None], chance, action)
            p.apply(int(action[0]))
        found.update(p.states.tobytes() + repr(p.outcome()).encode() + str(p).encode())
    return found.hexdigest()
"""


def digest(name, count, **env):
    code = f"{DIGEST}\nprint(digest({name!r}, {count}))"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("name", game_names())
def test_processes_hash_seeds_and_compilers_agree(name):
    assert len({digest(name, 50, PYTHONHASHSEED=seed) for seed in ("1", "31337")}) == 1
    few = get_game(name).max_players - get_game(name).min_players + 1
    assert digest(name, few, NUMBA_DISABLE_JIT="1") == digest(name, few, NUMBA_DISABLE_JIT="0")


@pytest.mark.parametrize("name", game_names())
def test_global_generators_are_neither_read_nor_touched(name):
    game = get_game(name)
    results = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = (random.getstate(), str(np.random.get_state()))  # noqa: NPY002
        space = {}
        exec(DIGEST, space)
        results.append(space["digest"](game.name, 3))
        assert (random.getstate(), str(np.random.get_state())) == before  # noqa: NPY002
    assert results[0] == results[1]


def test_the_checker_finds_faults():
    """Every fault of the toy games is found; without the JIT, because each fault would be compiled anew."""
    script = Path(__file__).parent / "toy_game.py"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-W", "error", str(script)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
