"""DESIGN.md's promises, for every registered game, player count and option set. There is no exclusion list."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest
from deckhand.envs import check_game, game_names, get_game
from deckhand.envs.core.check import CheckReport, option_sets
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
            checked_decisions=150,
            thorough=0.06,
            invariant=INVARIANTS.get(name),
        )
        assert report.games
        assert report.thorough


@pytest.mark.parametrize("name", game_names())
def test_coverage(name):
    """Every phase is checked often, and hidden facts are really hidden."""
    game = get_game(name)
    total = CheckReport(game.id)
    for n in range(game.min_players, game.max_players + 1):
        report = check_game(game, players=n, options={}, games=1, seed=77 + n, thorough=0.02)
        total.phases += report.phases
        total.hidden += report.hidden
        total.differing += report.differing
    assert set(total.phases) == set(game.phases)
    assert min(total.phases.values()) >= 50
    assert (total.hidden > 0) == (total.differing > 0)


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
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout.strip()


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
    from pathlib import Path

    script = Path(__file__).parent / "toy_game.py"
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-W", "error", str(script)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
