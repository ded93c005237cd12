"""Speed, measured beside other libraries in the same run, because a figure alone says more about the machine than about the software.

Every measurement is taken ``repeats`` times, ours and the peers' in turn, and its median counts.
"""

import subprocess
import sys
from itertools import count
from statistics import median
from typing import Any

import numpy as np

from ..agents import RandomAgent, default_agent, make_agent
from ..envs import DeckhandAEC, LearnerEnv
from ..envs.core import Game, Position
from ..envs.learner_batch import LearnerBatch
from .evaluation import evaluate
from .peers import PEER_PACKAGES, Measure, counted, installed_peers
from .progress import Report
from .versions import TRAINING_PACKAGES, machine, versions

BATCH_GAMES = 64
EVALUATION_DEALS = 1000
PPO_GAMES = 256
PPO_STEPS = 32


def batch(game: Game, num_players: int) -> Measure:
    """The batch on one thread: mask, observation, random legal action, step and restart of finished games."""

    def measure(seconds: float) -> float:
        loops = game.loops
        n = BATCH_GAMES
        template = game.template(num_players, {})
        states = game.deal(num_players, {}, range(n))
        masks = np.zeros((n, game.num_actions), np.bool_)
        observations = np.zeros((n, game.layout.size), np.float32)
        movers, actions, games = (np.zeros(n, np.int64) for _ in range(3))
        rewards = np.zeros((n, num_players), np.float32)
        terminated, truncated = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        seeds, rng = np.arange(n), np.zeros(4, np.int64)
        loops.seed_rng(rng, 1, 0)
        loops.look(states, masks, observations, movers)

        def run() -> int:
            for _ in range(20):
                loops.sample_actions(masks, rng, actions)
                loops.advance_all(states, actions)
                loops.read_rewards(states, rewards, terminated, truncated)
                loops.restart_finished(states, template, seeds, games)
                loops.look(states, masks, observations, movers)
            return 20 * n

        return counted(run, seconds)

    return measure


def evaluation(game: Game, num_players: int) -> Measure:
    """``deckhand evaluate`` of the game's baseline against itself (in cooperative games: beside itself), intervals included."""

    def measure(seconds: float) -> float:
        agents = [make_agent(game, default_agent(game)) for _ in range(2)]
        # Never the same number of deals twice in a row: what the bootstrap drew for one evaluation would serve the next.
        deals = (EVALUATION_DEALS + k % 2 for k in count())

        def run() -> int:
            found = evaluate(game, agents[0], agents[1:], num_players=num_players, options={}, deals=next(deals), seed=1)
            return found.decisions

        return counted(run, seconds)

    return measure


def aec(game: Game, num_players: int) -> Measure:
    """The PettingZoo environment through ``last()`` and ``step()``."""

    def measure(seconds: float) -> float:
        env = DeckhandAEC(game, num_players)
        draw = _Draw()

        def run() -> int:
            env.reset(seed=draw.seed())
            decisions = 0
            while env.agents:
                _, _, terminated, truncated, info = env.last()
                if terminated or truncated:
                    env.step(None)
                else:
                    env.step(draw.action(info["action_mask"]))
                    decisions += 1
            return decisions

        return counted(run, seconds)

    return measure


def gymnasium(game: Game, num_players: int) -> Measure:
    """The Gymnasium environment; the other seats are played by the random agent."""

    def measure(seconds: float) -> float:
        env = LearnerEnv(game, num_players)
        draw = _Draw()

        def run() -> int:
            _, info = env.reset(seed=draw.seed())
            decisions = 0
            done = False
            while not done:
                _, _, terminated, truncated, info = env.step(draw.action(info["action_mask"]))
                done = terminated or truncated
                decisions += 1
            return decisions

        return counted(run, seconds)

    return measure


class _Draw:
    """Random seeds and legal actions, drawn as cheaply as Python allows so that the environment's own time counts."""

    def __init__(self) -> None:
        self._units = np.random.default_rng(1).random(1 << 14).tolist()
        self._next = 0

    def _unit(self) -> float:
        self._next = (self._next + 1) % len(self._units)
        return float(self._units[self._next])

    def seed(self) -> int:
        return int(self._unit() * (1 << 30))

    def action(self, mask: Any) -> int:
        legal = mask.nonzero()[0]
        return int(legal[int(self._unit() * len(legal))])


def clone(game: Game, num_players: int) -> Measure:
    """Copies of a position."""

    def measure(seconds: float) -> float:
        position = Position.new(game, num_players, {}, 1)

        def run() -> int:
            for _ in range(1000):
                position.clone()
            return 1000

        return counted(run, seconds)

    return measure


def ppo(game: Game, num_players: int, zero_cost: bool) -> Measure:
    """Training steps of MaskablePPO, updates included: on the game, or on an environment of the same shapes that does nothing."""

    def measure(seconds: float) -> float:
        from sb3_contrib import MaskablePPO

        from ..envs.sb3 import Sb3VecEnv
        from .bench_zero import ZeroCostVecEnv

        if zero_cost:
            env: Any = ZeroCostVecEnv(game, PPO_GAMES)
        else:
            opponents = [make_agent(game, default_agent(game))] if num_players > 1 else []
            env = Sb3VecEnv(LearnerBatch(game, PPO_GAMES, num_players, {}, opponents=opponents or [RandomAgent(game)], seed=1))
        model = MaskablePPO(
            "MlpPolicy", env, n_steps=PPO_STEPS, batch_size=2048, n_epochs=3, policy_kwargs={"net_arch": [256, 256]}, device="cpu", seed=1
        )

        def run() -> int:
            model.learn(PPO_GAMES * PPO_STEPS)
            return PPO_GAMES * PPO_STEPS

        return counted(run, seconds)

    return measure


def import_seconds() -> float:
    """Seconds that ``import deckhand.envs`` takes in a fresh process, the interpreter's start not counted."""
    script = "from time import perf_counter as t; a = t(); import deckhand.envs; print(t() - a)"
    return float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)


def run(
    games: list[Game], *, seconds: float, repeats: int, with_ppo: bool, progress: Report = lambda done, total, text: None
) -> dict[str, Any]:
    """Measure everything; the result has the schema of ``deckhand bench --json``."""
    ours: dict[str, tuple[Measure, tuple[str, ...]]] = {}
    peers = installed_peers()
    for game in games:
        n = game.min_players
        ours[f"{game.name}/batch"] = (batch(game, n), ("openspiel/crazy_eights", "openspiel/solitaire", "rlcard/uno"))
        ours[f"{game.name}/evaluation"] = (evaluation(game, n), (f"{game.name}/batch",))
        ours[f"{game.name}/aec"] = (aec(game, n), ("pettingzoo/leduc_holdem", "rlcard/uno"))
        ours[f"{game.name}/gymnasium"] = (gymnasium(game, n), ("pettingzoo/leduc_holdem", "openspiel/solitaire", "rlcard/uno"))
        ours[f"{game.name}/clone"] = (clone(game, n), ())
        if with_ppo:
            ours[f"{game.name}/ppo"] = (ppo(game, n, zero_cost=False), (f"{game.name}/zero_cost_ppo",))
            peers[f"{game.name}/zero_cost_ppo"] = ppo(game, n, zero_cost=True)
    found: dict[str, list[float]] = {}
    measures = [*((name, m) for name, (m, _) in ours.items()), *peers.items()] * repeats
    for done, (name, measure) in enumerate(measures):
        progress(done, len(measures), name)
        found.setdefault(name, []).append(measure(seconds))
    rates = {name: median(values) for name, values in found.items()}
    results = [
        {
            "name": name,
            "per_second": rates[name],
            "ratios": {peer: rates[name] / rates[peer] for peer in against if peer in rates},
        }
        for name, (_, against) in ours.items()
    ]
    return {
        "machine": machine() | {"versions": versions(*TRAINING_PACKAGES, *PEER_PACKAGES)},
        "seconds": seconds,
        "repeats": repeats,
        "import_seconds": median(import_seconds() for _ in range(repeats)),
        "results": results,
        "peers": {name: rates[name] for name in peers},
    }
