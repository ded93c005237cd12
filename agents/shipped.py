"""What ships with a game: trained networks, and which agent is the strongest. Both lie in ``weights/<game>/``.

==================================  ================================================================================================
``<name>.safetensors``              the weights of the network that :func:`deckhand.agents.make_agent` calls ``<name>``; the game's own
                                    policy is called ``policy``, a value network ``values``
``<name>.json``                     its card: game, layout, training, results (:class:`deckhand.agents.policy.Card`,
                                    :class:`deckhand.agents.value_agent.ValueCard`)
``best.yaml``                       the agent that ``best`` stands for: a spec, or a spec for every player count. A game without the
                                    file has its baseline.
==================================  ================================================================================================
"""

import re
from pathlib import Path
from typing import Any

from ..envs.core import Game, OptionError
from ..envs.core.yaml_text import read_yaml

WEIGHTS_FOLDER = Path(__file__).parent / "weights"
MAX_BYTES = 3_000_000
"""Of all files of a game together."""


def shipped_networks(game: Game) -> dict[str, Path]:
    """The weights files of the networks that ship for a game, by the names of the agents."""
    return {path.stem: path for path in sorted((WEIGHTS_FOLDER / game.name).glob("*.safetensors"))}


def best_file(game: Game) -> Path:
    """The file that says which agent is the strongest; not every game has it."""
    return WEIGHTS_FOLDER / game.name / "best.yaml"


def best_specs(game: Game) -> dict[int, str] | None:
    """The spec of the strongest agent that ships for every player count of a game; None where nobody has said which it is.

    :class:`OptionError` names a ``best.yaml`` that cannot be read, leaves out player counts or says anything else.
    """
    path = best_file(game)
    if not path.is_file():
        return None
    counts = range(game.min_players, game.max_players + 1)
    try:
        values: Any = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"{path} cannot be read: {error}") from None
    specs = dict.fromkeys(counts, values) if isinstance(values, str) else values
    if not isinstance(specs, dict) or set(specs) != set(counts) or not all(isinstance(spec, str) for spec in specs.values()):
        raise OptionError(f"{path} must hold an agent, or an agent for each player count {counts[0]} to {counts[-1]}")
    for spec in specs.values():
        if "best" in re.split(r"[(),:=\s]+", spec):
            raise OptionError(f"{path} cannot hold {spec!r}: it is the file that says what best is")
    return specs
