"""Value agents: greedy on a learned value of the afterstate (TD-Gammon's way; Tesauro 1995). Weights as safetensors with a JSON card."""

from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..envs.core import Game, OptionError
from .afterstates import Afterstates, afterstates
from .compiled_agent import CompiledAgent
from .loops import VALUE
from .rules import rule_set
from .weights_file import PolicyError, WeightsCard, find_weights, layout_hash, owner_of, read_card, read_tensors, save_weights

FORMAT: str = "deckhand-values/1"


class ValueCard(WeightsCard):
    """What a value network is for. :meth:`for_game` fills in what the game determines."""

    format: Literal["deckhand-values/1"] = "deckhand-values/1"
    afterstates: str
    """The layouts of features and numbers, see :class:`deckhand.agents.afterstates.Afterstates`."""
    hidden: int
    """Units of the hidden layer."""
    games: int = 0
    """Games of training."""

    @classmethod
    def for_game(cls, game: Game, hidden: int, **training: Any) -> Self:
        """The card of a network for ``game``; ``training`` sets ``games``, ``config`` and ``results``."""
        return cls(game=game.id, afterstates=afterstates(game).signature, hidden=hidden, deckhand=version("deckhand-rl"), **training)


class ValueAgent(CompiledAgent):
    """Takes the option of greatest worth: what it brings at once and the network's value of where it leads.

    ``weights`` are those of :mod:`deckhand.agents.value_loops`; it computes in float32. :class:`OptionError` for a game without
    afterstates.
    """

    def __init__(self, game: Game, weights: NDArray[Any], name: str = "values") -> None:
        check_values(game)
        self.kind = VALUE
        self.params = np.asarray(weights, np.float32)
        self.name = name
        self.card: ValueCard | None = None
        super().__init__(game)

    @classmethod
    def load(cls, path: str | Path, game: Game | None = None) -> Self:
        """Read a network's ``.safetensors`` with its card, from the file or from the folder that holds it.

        :class:`PolicyError` unless the weights fit the installed version of their game, and ``game`` where it is given.
        """
        file = find_weights(path)
        card = read_card(file.with_suffix(".json"), ValueCard)
        owner = owner_of(file, card, game)
        seen = afterstates(owner)
        if card.afterstates != seen.signature:
            raise PolicyError(
                f"{file} was trained by deckhand {card.deckhand} on other afterstates of {owner.id} than the installed "
                f"{version('deckhand-rl')} has: {layout_hash(card.afterstates)}, not {layout_hash(seen.signature)}"
            )
        tensors = read_tensors(file, card, _shapes(seen, card.hidden))
        parts = [np.array([card.hidden]), *(tensor.ravel() for tensor in tensors.values())]
        agent = cls(owner, np.concatenate(parts), name=str(path))
        agent.card = card
        return agent

    def worths(self, views: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The worth of every listed action, (n, num_actions), in units of the return; minus infinity for the others."""
        worths = np.empty(masks.shape)
        rule_set(self.game).loops.rate_all(views, masks, self.params, worths)
        return worths


def check_values(game: Game) -> Afterstates:
    """The game's afterstates; :class:`OptionError` if it has none."""
    seen = afterstates(game)
    if seen.most_options == 0:
        raise OptionError(f"{game.name}: there are no value agents: the game has no module in agents/afterstates")
    return seen


def save_values(
    folder: str | Path, weights: NDArray[Any], card: ValueCard, game: Game, *, name: str = "values", half: bool = False
) -> None:
    """Write the weights and their card as :func:`deckhand.agents.weights_file.save_weights` does."""
    tensors = {}
    first = 1
    for key, shape in _shapes(afterstates(game), card.hidden).items():
        size = int(np.prod(shape))
        tensors[key] = weights[first : first + size].reshape(shape)
        first += size
    save_weights(folder, name, tensors, card, half)


def count_weights(game: Game, hidden: int) -> int:
    """The length of the vector of weights."""
    return 1 + sum(int(np.prod(shape)) for shape in _shapes(afterstates(game), hidden).values())


def _shapes(seen: Afterstates, hidden: int) -> dict[str, tuple[int, ...]]:
    """The pieces of the vector of weights, in order."""
    return {
        "features": (seen.features.size, hidden),
        "numbers": (seen.numbers.size, hidden),
        "bias": (hidden,),
        "output": (hidden,),
        "output_bias": (1,),
    }
