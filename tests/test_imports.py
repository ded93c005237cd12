"""What importing costs, what it loads, and what running leaves behind."""

import os
import subprocess
import sys

import pytest


def run(code, **env):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAVY = ["torch", "matplotlib", "scipy", "pygame", "PIL", "stable_baselines3", "sb3_contrib", "ray", "tensorboard", "pandas"]


def test_importing_and_playing_loads_nothing_heavy():
    code = f"""
import sys
import deckhand.envs
def loaded():
    return [m for m in {HEAVY} if m in sys.modules]
assert not loaded() and "numba" not in sys.modules, loaded()
from deckhand.envs.core import Position
game = deckhand.envs.get_game("flotsam_fight")
p = Position.new(game, 3, {{}}, 1)
while not p.is_over:
    p.apply(p.legal_actions()[0])
str(p), game.paint(p.record).svg()
heavy = set(loaded()) - {{"scipy"}}  # numba itself imports scipy where it is installed
assert not heavy, heavy
"""
    run(code)


def test_importing_the_agents_loads_no_torch():
    run("import sys, deckhand.agents; assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules")


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_the_cache_does_not_grow(tmp_path):
    """A second process finds everything compiled: no file is added, none is written anew."""
    code = """
from deckhand.envs import get_game
from deckhand.envs.core import Position
p = Position.new(get_game("flotsam_fight"), 3, {}, 1)
p.observation(0)
for _ in range(5):
    p.apply(p.legal_actions()[0])
print(p.states.tobytes().hex())
"""
    first = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    files = {f: f.stat().st_mtime_ns for f in tmp_path.rglob("*") if f.is_file()}
    assert files
    assert run(code, NUMBA_CACHE_DIR=str(tmp_path)) == first
    assert {f: f.stat().st_mtime_ns for f in tmp_path.rglob("*") if f.is_file()} == files
