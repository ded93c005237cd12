"""Trained policies as agents: the NumPy inference, the files, and what is refused."""

import hashlib
import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from deckhand.agents import Turns, make_agent
from deckhand.agents.policy import Card, PolicyAgent, save_policy
from deckhand.agents.weights_file import PolicyError
from deckhand.envs import game_names
from deckhand.envs.core import DeckhandError, get_game
from deckhand.envs.core.agent import show_turns
from deckhand.train.evaluation import evaluate
from safetensors.numpy import load_file, save

HIDDEN = [24, 16]


@pytest.fixture
def game():
    return get_game("flotsam_fight")


def random_layers(game, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [game.layout.size, *HIDDEN, game.num_actions]
    return [(rng.normal(size=(n, m), scale=m**-0.5).astype(np.float32), rng.normal(size=n).astype(np.float32)) for m, n in pairwise(sizes)]


@pytest.fixture
def folder(game, tmp_path):
    save_policy(tmp_path, random_layers(game), Card.for_game(game, HIDDEN, "tanh", steps=5))
    return tmp_path


def turns_of(game, agent, count=200):
    return show_turns(game, game.deal(3, {}, range(count)), np.arange(count), agent)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_logits_equal_those_of_torch(game, activation):
    torch = pytest.importorskip("torch")
    layers = random_layers(game)
    agent = PolicyAgent(game, layers, activation)
    observations = turns_of(game, agent).observations
    x = torch.from_numpy(observations)
    for i, (weight, bias) in enumerate(layers):
        x = torch.nn.functional.linear(x, torch.from_numpy(weight), torch.from_numpy(bias))
        if i < len(layers) - 1:
            x = getattr(torch, activation)(x)
    assert np.allclose(agent.logits(observations), x.numpy(), rtol=0, atol=1e-5)


def test_files_give_the_same_agent_back(game, folder):
    agent = PolicyAgent(game, random_layers(game), "tanh")
    for path in (folder, folder / "policy.safetensors"):
        loaded = PolicyAgent.load(path)
        turns = turns_of(game, loaded)
        assert np.array_equal(loaded.act(turns), agent.act(turns))
        assert loaded.card is not None
        assert loaded.card.steps == 5
    assert np.array_equal(make_agent(game, str(folder)).act(turns), agent.act(turns))


@pytest.mark.parametrize("deterministic", [True, False])
def test_actions_are_legal(game, deterministic):
    agent = PolicyAgent(game, random_layers(game), "relu", deterministic=deterministic)
    for _ in range(5):
        turns = turns_of(game, agent)
        assert turns.masks[np.arange(len(turns)), agent.act(turns)].all()


def test_stochastic_play_follows_the_distribution_and_its_seed(game):
    agent = PolicyAgent(game, random_layers(game), "relu", deterministic=False)
    one = turns_of(game, agent, 1)
    many = Turns(game, *(np.repeat(a, 20_000, axis=0) for a in (one.seats, one.masks, one.observations, one.views)))
    expected = agent.probabilities(one.observations, one.masks)[0]
    assert expected[~one.masks[0]].max() == 0
    agent.reset(3)
    first = agent.act(many)
    counts = np.bincount(first, minlength=game.num_actions) / len(many)
    assert np.abs(counts - expected).max() < 0.02
    agent.reset(3)
    assert np.array_equal(agent.act(many), first)
    agent.reset(4)
    assert not np.array_equal(agent.act(many), first)


def test_sample_plays_the_distribution(game, folder):
    sampled, greedy = make_agent(game, f"sample({folder})"), make_agent(game, str(folder))
    assert sampled.name == f"sample({folder})"
    turns = turns_of(game, greedy)
    same = PolicyAgent.load(folder, deterministic=False)
    for agent in (sampled, same):
        agent.reset(8)
    assert sampled.act(turns).tolist() == same.act(turns).tolist() != greedy.act(turns).tolist()


@pytest.mark.parametrize("search", ["flat(2,low,policy={},caution=1e9,horizon=3)", "flat(1,{},caution=1e9,horizon=2)"])
def test_a_spec_gives_a_policy_to_a_search(game, folder, search):
    """Whose choice stands where nothing may overrule it."""
    policy, agent = make_agent(game, str(folder)), make_agent(game, search.format(folder))
    assert str(folder) in agent.name
    assert agent.act(turns_of(game, agent, 5)).tolist() == policy.act(turns_of(game, policy, 5)).tolist()


@pytest.mark.parametrize("name", game_names())
def test_one_network_plays_every_player_count(name, tmp_path):
    owner = get_game(name)
    save_policy(tmp_path, random_layers(owner), Card.for_game(owner, HIDDEN, "relu"))
    agent = make_agent(owner, str(tmp_path))
    others = [] if owner.cooperative else [make_agent(owner, "random")]
    for players in range(owner.min_players, owner.max_players + 1):
        # Games raise on the first illegal action.
        result = evaluate(owner, agent, others, num_players=players, options={}, deals=2, seed=1)
        assert result.games >= 2 * (1 if owner.cooperative else players)


def test_weights_of_another_game_are_refused(folder):
    other = get_game("alle_in_die_boote")
    with pytest.raises(PolicyError, match=r"FlotsamFight-v0.*AlleInDieBoote-v0"):
        PolicyAgent.load(folder, other)
    with pytest.raises(DeckhandError, match=r"FlotsamFight-v0.*AlleInDieBoote-v0"):
        make_agent(other, str(folder))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"game": "FlotsamFight-v9"}, "FlotsamFight-v9"),
        ({"game": "Chess-v0"}, "Chess-v0"),
        ({"observation": "hand[64][0,1]"}, "other observations or actions of FlotsamFight-v0"),
        ({"num_actions": 5}, "with 5 actions, not .* with 137"),
        ({"hidden": [7]}, "actor.0.weight is not"),
        ({"weights_sha256": "0"}, "SHA-256"),
        ({"colour": "red"}, "colour"),
        ({"activation": "gelu"}, "activation"),
    ],
)
def test_cards_that_do_not_fit_are_refused(folder, change, words):
    path = folder / "policy.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(PolicyError, match=words):
        PolicyAgent.load(folder)


def test_damaged_files_are_refused(folder):
    weights = folder / "policy.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-10])
    with pytest.raises(PolicyError, match="damaged"):
        PolicyAgent.load(folder)
    weights.unlink()
    with pytest.raises(PolicyError, match="cannot be read"):
        PolicyAgent.load(folder)
    (folder / "policy.json").write_text("{")
    with pytest.raises(PolicyError, match="not a policy's card"):
        PolicyAgent.load(folder)
    (folder / "policy.json").unlink()
    with pytest.raises(PolicyError, match="missing"):
        PolicyAgent.load(folder)


@pytest.mark.parametrize(
    ("kind", "value"), [(np.float32, np.nan), (np.float16, -np.inf), (np.int32, 1), (np.float64, 1.0), (np.bool_, True)]
)
@pytest.mark.parametrize("part", ["weight", "bias"])
def test_weights_that_are_no_finite_floats_are_refused(folder, kind, value, part):
    """Even where the card vouches for the file."""
    tensors = load_file(folder / "policy.safetensors")
    name = f"actor.1.{part}"
    tensors[name] = np.full(tensors[name].shape, value, kind)
    replace_weights(folder, save(tensors))
    with pytest.raises(PolicyError, match=f"actor.1.{part} holds something else than finite"):
        PolicyAgent.load(folder)


def replace_weights(folder, data):
    path = folder / "policy.json"
    (folder / "policy.safetensors").write_bytes(data)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"weights_sha256": hashlib.sha256(data).hexdigest()}))


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "nonsense"])
def test_weights_of_a_type_that_numpy_lacks_are_refused(folder, kind):
    size = {"BF16": 2}.get(kind, 1)
    header = json.dumps({"actor.0.bias": {"dtype": kind, "shape": [1], "data_offsets": [0, size]}}).encode()
    replace_weights(folder, len(header).to_bytes(8, "little") + header + b"\0" * size)
    with pytest.raises(PolicyError, match="is not a safetensors file"):
        PolicyAgent.load(folder)


def test_a_card_nested_without_end_is_refused(folder):
    (folder / "policy.json").write_text("[" * 100_000)
    with pytest.raises(PolicyError, match="not a policy's card"):
        PolicyAgent.load(folder)


def test_turns_of_another_game_are_refused(folder):
    other = get_game("alle_in_die_boote")
    agent = PolicyAgent.load(folder)
    with pytest.raises(PolicyError, match="plays FlotsamFight-v0, not AlleInDieBoote-v0"):
        agent.act(show_turns(other, other.deal(1, {}, [1]), np.arange(1), agent))


def test_inference_needs_no_torch(folder):
    program = (
        f"import sys; from deckhand.agents import make_agent; make_agent('flotsam_fight', {str(folder)!r}); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
