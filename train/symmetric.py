"""Networks that treat alike what the rules treat alike: renaming the colours of a position renames the actions that they prefer.

A hidden layer has one part for every name that a game's symmetries exchange (a colour, a suit) and one more for what belongs to none.
Under a renaming the columns of the observation, the parts and the actions change places; weights between two of them that a renaming
carries onto each other are one and the same number (Ravanbakhsh, Schneider, Poczos 2017, "Equivariance through parameter-sharing").
What is learned of one colour is so known of all, exactly, from fewer numbers. Outside training the weights are those of any other network.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..envs.core import Game

Indices = NDArray[np.int64]


class SharedLinear(nn.Module):
    """What a ``Linear`` does whose weights are shared; both sides consist of places, each of several neighbouring units.

    ``outs[s]`` and ``ins[s]`` are the permutations of the places in symmetry s. Places that the symmetries exchange form an orbit; pairs of
    an output and an input place that they exchange form a *group*, whose members have the same weights. Of the groups between an output
    and an orbit of inputs the commonest is counted for the whole orbit, whose inputs need adding up only once; where another group stands,
    how it differs is added.
    """

    def __init__(self, linear: nn.Linear, outs: Indices, ins: Indices) -> None:
        super().__init__()
        groups, out_orbits, in_orbits = _groups(outs, ins), _groups(outs), _groups(ins)
        self._out_width = linear.out_features // len(out_orbits)
        self._in_width = linear.in_features // len(in_orbits)
        dense = linear.weight.detach().reshape(len(out_orbits), self._out_width, len(in_orbits), self._in_width).transpose(1, 2)
        rows = groups[_first(out_orbits)]  # each orbit's first output stands for all of them
        members = np.max([np.bincount(row, minlength=groups.max() + 1) for row in rows], axis=0)
        # Inputs with one weight vary together: their sum must not outweigh what stands alone.
        numbers = dense.flatten(0, 1)[_first(groups)] / torch.from_numpy(members).float().sqrt()[:, None, None]
        self.numbers = nn.Parameter(numbers.contiguous())
        self.bias_numbers = nn.Parameter(linear.bias.detach().reshape(len(out_orbits), -1)[_first(out_orbits)])
        self._groups = torch.from_numpy(groups)
        self._out_orbits = torch.from_numpy(out_orbits)
        # The commonest group between every orbit of outputs and of inputs.
        common = np.array([[np.bincount(row[in_orbits == k]).argmax() for k in range(in_orbits.max() + 1)] for row in rows])
        self._common = torch.from_numpy(common)
        # The inputs of every orbit, orbits of the same size together.
        sizes = np.bincount(in_orbits)
        by_orbit = np.split(np.argsort(in_orbits, kind="stable"), np.cumsum(sizes)[:-1])
        by_size = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
        self._pools = [torch.from_numpy(np.array([by_orbit[k] for k in orbits])) for orbits in by_size]
        self._pool_order = torch.from_numpy(np.argsort(np.concatenate(by_size)))
        # Where another group stands. Orbits of outputs that look at the same inputs share one product.
        shared: dict[tuple[tuple[int, ...], bytes], list[list[Indices]]] = {}
        for orbit, row in enumerate(common):
            places = np.flatnonzero(out_orbits == orbit)
            others = [np.flatnonzero(groups[place] != row[in_orbits]) for place in places]
            inputs = np.array([own[np.argsort(groups[place, own], kind="stable")] for place, own in zip(places, others, strict=True)])
            if inputs.size > 0:
                order = np.lexsort(inputs.T[::-1])
                inputs, places = inputs[order], places[order]
                found = shared.setdefault((inputs.shape, inputs.tobytes()), [[], [], [], []])
                for part, value in zip(found, (inputs, places, groups[places[0], inputs[0]], row[in_orbits[inputs[0]]]), strict=True):
                    part.append(value)
        self._products = [
            tuple(torch.from_numpy(array) for array in (inputs[0], np.transpose(places).flatten(), np.array(own), np.array(usual)))
            for inputs, places, own, usual in shared.values()
        ]

    @property
    def weight(self) -> torch.Tensor:
        """As of a ``Linear``: (out, in)."""
        outs, ins = self._groups.shape
        return self.numbers[self._groups].transpose(1, 2).reshape(outs * self._out_width, ins * self._in_width)

    @property
    def bias(self) -> torch.Tensor:
        """As of a ``Linear``: (out,)."""
        return self.bias_numbers[self._out_orbits].flatten()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, out) from (batch, in)."""
        batch = len(x)
        x = x.reshape(batch, -1, self._in_width)
        sums = torch.cat([_pick(x, pool).sum(dim=2) for pool in self._pools], dim=1).index_select(1, self._pool_order)
        common = self.numbers[self._common].transpose(1, 2).flatten(2).flatten(0, 1)  # (orbits * out width, orbits of inputs * in width)
        orbits = sums.flatten(1) @ common.T + self.bias_numbers.flatten()
        y = orbits.reshape(batch, -1, self._out_width).index_select(1, self._out_orbits)
        for inputs, places, groups, usual in self._products:
            more = (self.numbers[groups] - self.numbers[usual]).transpose(1, 2).flatten(2).flatten(0, 1)
            product = _pick(x, inputs).flatten(2) @ more.T  # (batch, places of an orbit, orbits * out width)
            y = y.index_add(1, places, product.reshape(batch, -1, self._out_width))
        return y.flatten(1)


def _pick(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """``x[:, places]``, faster."""
    return x.index_select(1, places.flatten()).reshape(len(x), *places.shape, -1)


def share_weights(policy: Any, game: Game) -> None:
    """Give an SB3 actor-critic policy shared weights; its hidden widths are multiples of the symmetries' ``parts``."""
    symmetries = game.symmetries()
    columns = np.stack([s.columns for s in symmetries])
    actions = np.stack([s.actions for s in symmetries])
    names = np.stack([[*s.names, len(s.names)] for s in symmetries])
    value = np.zeros((len(symmetries), 1), np.int64)
    extractor = policy.mlp_extractor
    extractor.policy_net, policy.action_net = _shared(extractor.policy_net, policy.action_net, columns, names, actions)
    extractor.value_net, policy.value_net = _shared(extractor.value_net, policy.value_net, columns, names, value)
    # The optimiser was made for the numbers of before.
    policy.optimizer = policy.optimizer_class(policy.parameters(), **policy.optimizer.defaults)


def _shared(hidden: Sequence[nn.Module], last: nn.Linear, ins: Indices, parts: Indices, outs: Indices) -> tuple[nn.Sequential, nn.Module]:
    layers = []
    for module in hidden:
        layers.append(SharedLinear(module, parts, ins) if isinstance(module, nn.Linear) else module)
        ins = parts
    return nn.Sequential(*layers), SharedLinear(last, outs, parts)


def _groups(*places: Indices) -> Indices:
    """The group, counted from 0, of every tuple of places; ``places[k][s]`` is the permutation of the k-th kind of place in symmetry s.

    A group is what the symmetries carry onto each other. They are all there are, so its least member is met in one of them.
    """
    shape = [permutations.shape[1] for permutations in places]
    members = np.arange(np.prod(shape)).reshape(shape)
    least = members
    for permutation in zip(*places, strict=True):
        least = np.minimum(least, members[np.ix_(*permutation)])
    return np.unique(least, return_inverse=True)[1].reshape(shape)


def _first(groups: Indices) -> Indices:
    """Where every group is met first, in flat order."""
    return np.unique(groups, return_index=True)[1]
