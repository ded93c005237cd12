"""Policies for others: ONNX that computes the same, and policies that ship with the package."""

import json
from itertools import pairwise

import numpy as np
import pytest
from deckhand.agents import make_agent, shipped
from deckhand.agents.policy import Card, PolicyAgent, save_policy
from deckhand.agents.registry import load_trained
from deckhand.agents.weights_file import PolicyError, layout_hash
from deckhand.envs import game_names, get_game
from deckhand.envs.core import DeckhandError
from deckhand.envs.core.agent import show_turns
from deckhand.train.cli import app
from deckhand.train.export import agreement, onnx_model, ship_network, write_onnx
from typer.testing import CliRunner

GAME = get_game("flotsam_fight")
RESULTS = [{"schema": "deckhand/evaluation/1"}]
SHIPPED = [f"{name}:{network}" for name in game_names() for network in shipped.shipped_networks(get_game(name)) if network != "values"]


def made(folder, game=GAME, hidden=(24, 16), activation="relu", results=RESULTS):
    """A policy with random weights, written to a folder and read from there."""
    rng = np.random.default_rng(0)
    sizes = [game.layout.size, *hidden, game.num_actions]
    layers = [(rng.normal(size=(n, m), scale=m**-0.5), rng.normal(size=n)) for m, n in pairwise(sizes)]
    config = {"players": [game.max_players], "options": {}}
    save_policy(folder, layers, Card.for_game(game, hidden, activation, steps=7, config=config, results=results))
    return PolicyAgent.load(folder)


def turns_of(agent, count=300):
    game = agent.game
    return show_turns(game, game.deal(game.max_players, {}, range(count)), np.arange(count), agent)


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """The package's folder for weights, empty."""
    folder = tmp_path / "weights"
    monkeypatch.setattr(shipped, "WEIGHTS_FOLDER", folder)
    return folder


def torch_outputs(policy, turns):
    """Logits of legal actions (others -inf) and probabilities, computed by torch."""
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(turns.observations)
    for i, (weight, bias) in enumerate(policy.layers):
        x = torch.nn.functional.linear(x, torch.from_numpy(weight), torch.from_numpy(bias))
        if i < len(policy.layers) - 1:
            x = getattr(torch, policy.card.activation)(x)
    logits = x.masked_fill(~torch.from_numpy(turns.masks), -torch.inf)
    return logits.numpy(), torch.softmax(logits, dim=1).numpy()


def onnx_outputs(policy, path, observations, masks):
    runtime = pytest.importorskip("onnxruntime")
    write_onnx(policy, path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["logits", "probabilities"], {"observation": observations, "action_mask": masks})


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("name", game_names())
def test_onnx_computes_what_torch_computes(name, activation, tmp_path):
    policy = made(tmp_path, get_game(name), activation=activation)
    turns = turns_of(policy)
    logits, probabilities = torch_outputs(policy, turns)
    for rows in (slice(0, 1), slice(None)):  # the number of rows is free
        masks = turns.masks[rows]
        found = onnx_outputs(policy, tmp_path / "policy.onnx", turns.observations[rows], masks)
        assert np.all(np.isneginf(found[0]) == ~masks)
        assert np.abs(found[0][masks] - logits[rows][masks]).max() < 1e-5
        assert np.abs(found[1] - probabilities[rows]).max() < 1e-5
        assert found[1][~masks].max(initial=0) == 0


@pytest.mark.parametrize("spec", SHIPPED)
def test_onnx_of_shipped_networks_computes_what_torch_computes(spec, tmp_path):
    policy = load_trained(spec)
    turns = turns_of(policy)
    logits, probabilities = torch_outputs(policy, turns)
    found = onnx_outputs(policy, tmp_path / "policy.onnx", turns.observations, turns.masks)
    # Relative for logits: they reach 100, where float32 itself is no finer than 1e-5.
    assert np.allclose(found[0], logits, rtol=1e-5, atol=1e-5)
    assert np.abs(found[1] - probabilities).max() < 1e-5


def test_onnx_says_what_it_is_for(tmp_path):
    policy = made(tmp_path)
    facts = {entry.key: entry.value for entry in onnx_model(policy).metadata_props}
    assert facts["game"] == "FlotsamFight-v0"
    assert facts["observation_layout"] == layout_hash(GAME.layout.signature)
    assert facts["steps"] == "7"
    assert facts["weights_sha256"] == policy.card.weights_sha256


def test_a_shipped_policy_is_an_agent_with_a_name(weights, tmp_path):
    policy = made(tmp_path)
    path = ship_network(policy, "policy")
    assert path == weights / "flotsam_fight" / "policy.safetensors"
    card = json.loads(path.with_suffix(".json").read_text())
    assert (card["game"], card["steps"], card["results"]) == ("FlotsamFight-v0", 7, RESULTS)
    turns = turns_of(policy)
    for spec in ("policy", "flotsam_fight:policy", "FlotsamFight-v0:policy"):
        agent = make_agent(GAME, spec)
        assert agent.name == "policy"
        assert np.array_equal(agent.act(turns), policy.act(turns))
    assert load_trained("flotsam_fight:policy").card == policy.card
    ship_network(policy, "second")
    assert list(shipped.shipped_networks(GAME)) == ["policy", "second"]
    with pytest.raises(DeckhandError, match=r"unknown agent 'policy'.*greedy"):
        make_agent("keltis", "policy")


def test_a_shipped_policy_of_another_layout_is_refused(weights, tmp_path):
    card = ship_network(made(tmp_path), "policy").with_suffix(".json")
    card.write_text(json.dumps(json.loads(card.read_text()) | {"observation": "hand[64][0,1]"}))
    with pytest.raises(PolicyError, match="other observations or actions of FlotsamFight-v0"):
        make_agent(GAME, "policy")


def test_half_precision_takes_half_and_computes_nearly_the_same(weights, tmp_path):
    policy = made(tmp_path)
    full = ship_network(policy, "policy").stat().st_size
    half = PolicyAgent.load(ship_network(policy, "policy", half=True))
    assert (weights / "flotsam_fight" / "policy.safetensors").stat().st_size < 0.6 * full
    assert half.layers[0][0].dtype == np.float32
    turns = turns_of(policy)
    assert np.abs(half.probabilities(turns.observations, turns.masks) - policy.probabilities(turns.observations, turns.masks)).max() < 0.01
    assert agreement(policy, policy) == 1
    assert 0.9 < agreement(policy, half) <= 1
    opposite = PolicyAgent(GAME, [*policy.layers[:-1], (-policy.layers[-1][0], -policy.layers[-1][1])], policy.activation)
    assert agreement(policy, opposite) < 0.5


@pytest.mark.parametrize("name", ["low", "random", "best", "flat", "sample", "my policy", "../policy"])
def test_names_that_are_taken_are_refused(name, weights, tmp_path):
    with pytest.raises(PolicyError, match="cannot be called"):
        ship_network(made(tmp_path), name)
    assert not weights.exists()


def test_unfinished_and_large_policies_are_not_shipped(weights, tmp_path):
    with pytest.raises(PolicyError, match="finished"):
        ship_network(made(tmp_path, results=[]), "policy")
    large = made(tmp_path, hidden=[1500])  # 1500 x (408 + 137) floats: 3.3 MB
    with pytest.raises(PolicyError, match=r"3 MB together, not 3\.3 MB; half precision"):
        ship_network(large, "policy")
    assert not weights.exists()
    ship_network(large, "policy", half=True)
    with pytest.raises(PolicyError, match="3 MB together"):
        ship_network(large, "second", half=True)
    ship_network(large, "policy", half=True)  # takes the place of the first


@pytest.mark.parametrize("name", game_names())
def test_what_ships_is_small_and_fits(name):
    game = get_game(name)
    folder = shipped.WEIGHTS_FOLDER / name
    assert sum(path.stat().st_size for path in folder.iterdir()) <= shipped.MAX_BYTES
    for policy, path in shipped.shipped_networks(game).items():
        agent = make_agent(game, policy)
        assert agent.card.results, path


def run(*args):
    return CliRunner().invoke(app, ["export", *map(str, args)])


def test_the_command_exports(weights, tmp_path):
    made(tmp_path)
    result = run(tmp_path, "--onnx", tmp_path / "x.onnx", "--ship", "--name", "mine", "--half")
    assert result.exit_code == 0, result.output
    assert "agent flotsam_fight:mine" in result.output
    assert "% of positions" in result.output
    assert run("flotsam_fight:mine", "--onnx", tmp_path / "y.onnx").exit_code == 0
    assert (tmp_path / "y.onnx").stat().st_size > 1000


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["POLICY"], "say what to export to"),
        (["POLICY", "--onnx", "x.onnx", "--half"], "need --ship"),
        (["nowhere", "--onnx", "x.onnx"], "no trained network"),
        (["flotsam_fight:low", "--onnx", "x.onnx"], "no trained network"),
        (["chess:policy", "--onnx", "x.onnx"], "unknown game 'chess'"),
        (["POLICY", "--onnx", "x.onnx", "--ship", "--name", "low"], "cannot be called 'low'"),
        (["POLICY", "--onnx", "no/such/folder/x.onnx", "--ship"], "no such folder"),
        (["POLICY", "--onnx", "no/such/folder/x.onnx"], "no such folder"),
    ],
)
def test_what_is_refused_writes_nothing(args, words, weights, tmp_path, monkeypatch):
    made(tmp_path)
    before = sorted(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    result = run(*(tmp_path if arg == "POLICY" else arg for arg in args))
    assert result.exit_code == 2
    assert words in result.output
    assert sorted(tmp_path.iterdir()) == before
