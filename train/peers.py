"""Other libraries' environments under random legal play, measured beside ours in the same run.

Each peer is a function that plays for about ``seconds`` and returns decisions per second. As in our own measurements every decision builds
the mover's observation and mask, and a finished game starts anew.
"""

import importlib.util
import random
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

Measure = Callable[[float], float]
PEER_PACKAGES = ("open_spiel", "pettingzoo", "rlcard")


def counted(run: Callable[[], int], seconds: float) -> float:
    """Call ``run`` (which returns how many decisions it made) for about ``seconds``; decisions per second."""
    run()
    decisions = 0
    start = perf_counter()
    while (elapsed := perf_counter() - start) < seconds:
        decisions += run()
    return decisions / elapsed


def _openspiel(name: str) -> Measure:
    def measure(seconds: float) -> float:
        import pyspiel

        game = pyspiel.load_game(name)
        rng = random.Random(1)
        information_state = not game.get_type().provides_observation_tensor

        def episode() -> int:
            state = game.new_initial_state()
            decisions = 0
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                    state.apply_action(rng.choices(outcomes, weights)[0])
                    continue
                player = state.current_player()
                state.legal_actions_mask(player)
                state.information_state_tensor(player) if information_state else state.observation_tensor(player)
                state.apply_action(rng.choice(state.legal_actions(player)))
                decisions += 1
            return decisions

        return counted(episode, seconds)

    return measure


def _leduc_holdem(seconds: float) -> float:
    from pettingzoo.classic import leduc_holdem_v4

    env = leduc_holdem_v4.env()
    rng = np.random.default_rng(1)

    def episode() -> int:
        env.reset(seed=int(rng.integers(1 << 30)))
        decisions = 0
        while env.agents:
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
            else:
                env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
                decisions += 1
        return decisions

    return counted(episode, seconds)


def _uno(seconds: float) -> float:
    import rlcard

    env: Any = rlcard.make("uno", config={"seed": 1})
    rng = random.Random(1)

    def episode() -> int:
        state, _ = env.reset()
        decisions = 0
        while not env.is_over():
            state, _ = env.step(rng.choice(list(state["legal_actions"])))
            decisions += 1
        return decisions

    return counted(episode, seconds)


_PEERS: dict[str, tuple[str, Measure]] = {
    "openspiel/crazy_eights": ("pyspiel", _openspiel("crazy_eights")),
    "openspiel/solitaire": ("pyspiel", _openspiel("solitaire")),
    "pettingzoo/leduc_holdem": ("pygame", _leduc_holdem),  # which it needs beside RLCard
    "rlcard/uno": ("rlcard", _uno),
}


def installed_peers() -> dict[str, Measure]:
    """The peers whose library is installed."""
    return {name: measure for name, (module, measure) in _PEERS.items() if importlib.util.find_spec(module)}
