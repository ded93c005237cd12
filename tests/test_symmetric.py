"""Networks with shared weights: they prefer the same whatever things are called, and are plain networks outside training."""

import numpy as np
import pytest
import torch
from deckhand.agents import make_agent
from deckhand.envs import get_game
from deckhand.envs.learner_batch import LearnerBatch
from deckhand.envs.sb3 import Sb3VecEnv
from deckhand.train.symmetric import SharedLinear, share_weights
from sb3_contrib import MaskablePPO
from torch import nn

GAMES = ("alle_in_die_boote", "keltis")


def begin(game, games):
    """Games of two players."""
    return LearnerBatch(game, games, 2, {}, opponents=[] if game.cooperative else [make_agent(game, "random")])


def positions(game):
    """Observations (n, size) in the middle of games."""
    batch = begin(game, 16)
    step = batch.reset(1)
    for _ in range(30):
        step = batch.step(np.array([np.flatnonzero(mask)[-1] for mask in step.masks]))
    return torch.from_numpy(step.observations)


@pytest.fixture(scope="module", params=GAMES)
def network(request):
    """A game, and an actor-critic with shared weights for it."""
    game = get_game(request.param)
    parts = game.symmetries()[0].parts
    env = Sb3VecEnv(begin(game, 2))
    shape = {"pi": [3 * parts, 2 * parts], "vf": [2 * parts]}
    policy = MaskablePPO("MlpPolicy", env, n_steps=2, batch_size=2, policy_kwargs={"net_arch": shape, "activation_fn": nn.Tanh}).policy
    torch.manual_seed(1)
    share_weights(policy, game)
    with torch.no_grad():
        for numbers in policy.parameters():
            numbers.normal_(std=0.3)
    return game, policy


def outputs(policy, observations):
    """Logits and values."""
    with torch.no_grad():
        extractor = policy.mlp_extractor
        return policy.action_net(extractor.forward_actor(observations)), policy.value_net(extractor.forward_critic(observations))


def test_renaming_the_position_renames_the_answer(network):
    game, policy = network
    observations = positions(game)
    logits, values = outputs(policy, observations)
    for symmetry in game.symmetries():
        renamed, renamed_values = outputs(policy, observations[:, symmetry.columns])
        assert torch.allclose(renamed, logits[:, symmetry.actions], rtol=1e-3, atol=1e-4)
        assert torch.allclose(renamed_values, values, rtol=1e-3, atol=1e-4)
    # Which is not because it answers the same to everything.
    assert logits.std(dim=0).min() > 1e-3
    assert logits.std(dim=1).min() > 1e-3


def test_the_weights_are_those_of_a_plain_network(network):
    game, policy = network
    observations = positions(game)
    x = observations
    for module in (*policy.mlp_extractor.policy_net, policy.action_net):
        if isinstance(module, SharedLinear):
            assert module.weight.shape == (module.bias.shape[0], x.shape[1])
            x = x @ module.weight.T + module.bias
        else:
            x = module(x)
    assert torch.allclose(x, outputs(policy, observations)[0], rtol=1e-3, atol=1e-4)


def test_only_what_a_symmetry_exchanges_is_shared(network):
    # Two weights of the first layer are one number if and only if a symmetry carries one onto the other.
    game, policy = network
    first = policy.mlp_extractor.value_net[0]
    symmetries = game.symmetries()
    width, parts = 2, symmetries[0].parts
    weight = first.weight.detach().numpy().reshape(parts, width, game.layout.size)[:, 0]
    generator = np.random.default_rng(2)
    for _ in range(50):
        part, column = generator.integers(parts), generator.integers(game.layout.size)
        carried = np.zeros(weight.shape, np.bool_)
        for symmetry in symmetries:
            names = np.array([*symmetry.names, parts - 1])
            carried[names == part, np.flatnonzero(symmetry.columns == column)] = True
        assert (carried == (weight == weight[part, column])).all()


def test_the_optimiser_has_the_shared_numbers(network):
    _, policy = network
    held = {id(numbers) for group in policy.optimizer.param_groups for numbers in group["params"]}
    assert held == {id(numbers) for numbers in policy.parameters()}
