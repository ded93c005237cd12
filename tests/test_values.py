"""Value agents: what their options list, what the network computes, how it learns, what searches make of it."""

import json
import re
from importlib.resources import files

import numpy as np
import pytest
import yaml
from deckhand.agents import RuleAgent, ValueAgent, make_agent, shipped
from deckhand.agents.afterstates import afterstates
from deckhand.agents.compiled_agent import compiled_numbers
from deckhand.agents.registry import load_trained
from deckhand.agents.rules import rule_set
from deckhand.agents.value_agent import ValueCard, count_weights, save_values
from deckhand.agents.weights_file import PolicyError
from deckhand.envs import game_names, get_game
from deckhand.envs.alle_in_die_boote.rules import CALL, KIND, PLACE
from deckhand.envs.core import DeckhandError, Position
from deckhand.envs.core.agent import show_turns
from deckhand.envs.core.rng import derive_seed
from deckhand.train.cli import app
from deckhand.train.config import ConfigError, load_kind, shipped_configs
from deckhand.train.export import ship_network
from deckhand.train.runs import RunFolder
from deckhand.train.simulation import play_games
from deckhand.train.td import TDConfig, TDTrainer, _learner
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
from test_alle_in_die_boote import arrange
from typer.testing import CliRunner

GAME = get_game("alle_in_die_boote")
SEEN = afterstates(GAME)
LOOPS = rule_set(GAME).loops
ROW = np.zeros(1, np.int64)
SMALL = ["games=60", "round=20", "hidden=4", "teacher={agent: fitted, games: 20, exploration: 0.2}"]
SMALL += ["evaluation={against: [fitted], every: 40, deals: 4, final_deals: 6}"]

pytestmark = pytest.mark.needs_jit


def network(hidden=5, seed=0, scale=1.0):
    """Random weights."""
    weights = np.random.default_rng(seed).normal(size=count_weights(GAME, hidden)) * scale
    weights[0] = hidden
    return weights


def positions(count=60, **options):
    """Positions from all over games of the fitted agent, with some random decisions."""
    rng = np.random.default_rng(1)
    agent = make_agent(GAME, "fitted")
    for seed in range(count):
        position = Position.new(GAME, 1 + seed % 3, options, seed)
        for _ in range(seed):
            if position.is_over:
                break
            turns = show_turns(GAME, position.states, ROW, agent)
            legal = np.flatnonzero(turns.masks[0])
            position.apply(int(rng.choice(legal) if rng.random() < 0.2 else agent.act(turns)[0]))
        if not position.is_over:
            yield position


def listed(position):
    """The view, the mask, the options and how many they are."""
    turns = show_turns(GAME, position.states, ROW, make_agent(GAME, "fitted"))
    room = LOOPS.make_room()
    return turns.views[0], turns.masks[0], room, LOOPS.fill_room(turns.views[0], turns.masks[0], room)


def inputs(room, row):
    """The features, present or not, and the numbers of an option."""
    _, _, bases, sizes, features, numbers, _ = room
    present = np.zeros(SEEN.features.size)
    total = np.zeros(SEEN.numbers.size)
    for part in {0, int(bases[row]), row}:
        present[features[part, : sizes[part]]] += 1
        if part > 0:
            total += numbers[part]
    return present, total


# What is listed.


@pytest.mark.parametrize(
    "options", [{}, {"level": "leicht"}, {"open_queues": True, "own_lifebuoys": True}, {"cost_even": 0, "cost_call": 0, "cost_letpass": 0}]
)
def test_every_legal_action_is_listed_with_features_of_the_layout(options):
    low, high = SEEN.numbers.bounds()
    for position in positions(**options):
        _, mask, room, count = listed(position)
        assert 1 <= count <= SEEN.most_options
        actions = room[0][1 : count + 1]
        assert mask[actions].all()
        boardings = [a for a in np.flatnonzero(mask) if position.action_to_string(int(a)).startswith("board")]
        if boardings:
            assert actions.tolist() == boardings[:1]
        else:
            # Of the cards to be called one of each kind stands for both.
            kinds = {KIND[a - CALL] for a in np.flatnonzero(mask) if CALL <= a < PLACE}
            assert {KIND[a - CALL] for a in actions if CALL <= a < PLACE} == kinds
            others = [a for a in np.flatnonzero(mask) if not CALL <= a < PLACE]
            assert sorted(a for a in actions if not CALL <= a < PLACE) == others
        for row in range(1, count + 1):
            present, numbers = inputs(room, row)
            assert present.max() == 1
            assert np.all((low <= numbers) & (numbers <= high))
            for name in ("coins", "bow", "bow_coins", "lifebuoys", "stock"):
                assert present[SEEN.features[name]].sum() == 1
            for name in ("front", "face_down"):
                assert present[SEEN.features[name]].reshape(6, -1).sum(axis=1).tolist() == [1] * 6
            assert present[SEEN.features["boats"]].reshape(4, -1).sum(axis=1).tolist() == [1] * 4
            is_pending = position.action_to_string(int(actions[row - 1])).split()[0] in ("rescue", "letpass")
            assert present[SEEN.features["pending"]].sum() == is_pending


def test_what_is_listed_follows_from_what_the_seat_knows():
    for position in positions(40):
        _, _, room, count = listed(position)
        _, _, other, other_count = listed(position.resample(position.to_move, 5))
        assert count == other_count
        for row in range(1, count + 1):
            assert all(np.array_equal(a, b) for a, b in zip(inputs(room, row), inputs(other, row), strict=True))


def test_a_gain_is_what_boards_at_once_and_by_the_obvious_moves():
    """The Ace boards and the two behind it; the ten moves onto the Jack and lets the three board."""
    p = arrange(["9s | 2h Ah", "Kc | 3h 10d", "Jh"], coins=[3, 3, 2, 1, 1, 0], stock="5c 6c", discard="Qs")
    _, _, room, count = listed(p)
    assert [p.action_to_string(int(a)) for a in room[0][1 : count + 1]] == ["board 1>boat1"]
    assert room[1][1] == 3
    p = arrange(["9s | 2h", "Kc | 8d", "6h"], coins=[3, 3, 2, 1, 1, 0], stock="5c 6c", discard="Qs", hand="Ad 7d")
    _, _, room, count = listed(p)
    found = {p.action_to_string(int(a)): gain for a, gain in zip(room[0][1 : count + 1], room[1][1 : count + 1], strict=True)}
    assert found == {"place Ad>1": 2, "place Ad>boat1": 2, "place 7d>2": 0}


def test_wins_only_count_in_the_reward_of_wins():
    for position in positions(30, reward="win"):
        _, _, room, count = listed(position)
        assert not room[1][1 : count + 1].any()


# What is computed.


def test_worths_are_those_of_a_network_with_one_hidden_layer():
    weights = network(hidden=7)
    layers = weights[1:-1].reshape(-1, 7)
    f, n = SEEN.features.size, SEEN.numbers.size
    for position in positions(30):
        view, mask, room, count = listed(position)
        LOOPS.rate_options(count, weights, room)
        wanted = []
        for row in range(1, count + 1):
            present, numbers = inputs(room, row)
            hidden = np.maximum(present @ layers[:f] + numbers @ layers[f : f + n] + layers[f + n], 0)
            wanted.append(room[1][row] + hidden @ layers[f + n + 1] + weights[-1])
        assert np.allclose(room[6][1 : count + 1], wanted)
        assert LOOPS.best_worth(view, mask, weights) == pytest.approx(max(wanted))
        assert LOOPS.best_option(view, mask, weights) == room[0][1 + np.argmax(wanted)]
        worths = ValueAgent(GAME, weights).worths(np.array([view]), mask[None])[0]
        assert np.isfinite(worths).sum() == len(set(room[0][1 : count + 1].tolist()))
        assert worths.max() == pytest.approx(max(wanted), rel=1e-4)


def test_side_by_side_and_compiled_games_are_the_same():
    """A vector of weights may be longer than the network: the loops take the agents' numbers in rows of one length."""
    agents = [ValueAgent(GAME, network(3)), make_agent(GAME, "random"), ValueAgent(GAME, network(8, seed=1))]
    kinds, params = compiled_numbers(agents)
    assert kinds.tolist() == [-1, 0, -1]
    assert params.shape == (3, len(agents[2].params))
    assert params.dtype == np.float32
    seeds = [derive_seed(8, k) for k in range(12)]
    seating = np.arange(36).reshape(12, 3) % 3
    agents[1] = agents[0]  # the random agent draws in another order
    first, second = (
        np.concatenate([o.returns for o in play_games(GAME, agents, seating, options={}, seeds=seeds, seed=1, compiled=compiled)])
        for compiled in (True, False)
    )
    assert np.array_equal(first, second)
    with_rule = play_games(GAME, [agents[0], make_agent(GAME, "fitted")], seating % 2, options={}, seeds=seeds, seed=1)
    assert sum(len(o.returns) for o in with_rule) == 12


def test_games_without_afterstates_have_no_value_agents():
    for name in game_names():
        game = get_game(name)
        if game is not GAME:
            with pytest.raises(DeckhandError, match=f"{name}: there are no value agents"):
                ValueAgent(game, np.zeros(9))


# Files.


@pytest.fixture
def folder(tmp_path):
    card = ValueCard.for_game(GAME, 5, games=7, config={"a": 1}, results=[{"deals": 3}])
    save_values(tmp_path, network(5), card, GAME)
    return tmp_path


def test_saved_and_loaded_it_is_the_same(folder):
    agent = make_agent(GAME, str(folder))
    assert isinstance(agent, ValueAgent)
    assert np.array_equal(agent.params, network(5).astype(np.float32))
    assert (agent.card.games, agent.card.hidden, agent.card.results) == (7, 5, [{"deals": 3}])
    assert np.array_equal(make_agent(GAME, str(folder / "values.safetensors")).params, agent.params)
    assert load_trained(str(folder)).card == agent.card


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"game": "Keltis-v0"}, "AlleInDieBoote-v0"),
        ({"game": "Chess-v0"}, "Chess-v0"),
        ({"afterstates": "front[6][0,1]"}, "other afterstates of AlleInDieBoote-v0"),
        ({"hidden": 6}, "features is not"),
        ({"weights_sha256": "0"}, "SHA-256"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_cards_that_do_not_fit_are_refused(folder, change, words):
    path = folder / "values.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(PolicyError, match=words):
        make_agent(GAME, str(folder))
    path.write_text("{")
    with pytest.raises(PolicyError, match="card"):
        make_agent(GAME, str(folder))


def test_it_ships_as_a_policy_does_but_not_as_onnx(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS_FOLDER", tmp_path / "weights")
    path = ship_network(load_trained(str(folder)), "values", half=True)
    assert path == tmp_path / "weights" / "alle_in_die_boote" / "values.safetensors"
    agent = make_agent(GAME, "values")
    assert agent.name == "values"
    assert np.allclose(agent.params, network(5), atol=0.01)
    result = CliRunner().invoke(app, ["export", str(folder), "--ship", "--half"])
    assert "agent alle_in_die_boote:values" in result.output
    result = CliRunner().invoke(app, ["export", str(folder), "--onnx", str(tmp_path / "x.onnx")])
    assert "only policies can be written as ONNX" in result.output
    assert not (tmp_path / "x.onnx").exists()


# Searches.


def test_a_search_counts_what_is_expected_after_the_horizon(folder):
    """With a horizon of 1 an action returns what it brings and the best worth after it: the search agrees with a look at every world."""
    agent = make_agent(GAME, f"flat(4,{folder},horizon=1)")
    weights = agent._values.params
    for position in list(positions(40, reward="rescued"))[5:]:
        turns = show_turns(GAME, position.states, ROW, agent)
        if turns.masks.sum() < 2:
            continue
        agent.reset(3)
        _, values = agent.act_and_judge(turns)
        seed = int(np.random.default_rng(3).integers(2**53))
        gains = []
        for world in range(4):
            state = turns.views[:1].copy()
            GAME.loops.fill_view(state, 0, int(turns.seats[0]), derive_seed(seed, world + 1))
            returns = {}
            for action in np.flatnonzero(turns.masks[0]):
                after = state.copy()
                GAME.loops.advance(after, 0, action)
                returns[int(action)] = float(after["returns"][0, 0])
                if after["to_move"][0] >= 0:
                    shown = show_turns(GAME, after, ROW, agent)
                    returns[int(action)] += LOOPS.best_worth(shown.views[0], shown.masks[0], weights)
            gains.append(returns)
        base = int(make_agent(GAME, str(folder)).act(turns)[0])
        for action in np.flatnonzero(turns.masks[0]):
            wanted = np.mean([g[int(action)] - g[base] for g in gains])
            assert values[0, action] == pytest.approx(wanted, abs=1e-3)
        return
    raise AssertionError("no position to search")


def test_searches_and_trees_take_its_worths_as_chances(folder):
    agent = make_agent(GAME, f"flat(4,{folder},horizon=2,least=0.9)")
    tree = make_agent(GAME, f"ismcts(20,{folder},horizon=4)")
    for position in positions(25):
        turns = show_turns(GAME, position.states, ROW, agent)
        prior = agent.prior(turns.views, turns.masks, ROW)
        assert prior.sum() == pytest.approx(1)
        assert prior[~turns.masks].sum() == 0
        assert prior.argmax() == make_agent(GAME, str(folder)).act(turns)[0]
        for each in (agent, tree):
            assert turns.masks[0, each.act(turns)[0]]


# Learning.


def config(*changes):
    return load_kind(TDConfig, "td_boote", [*SMALL, *changes])


def train(parent, *changes):
    chosen = config(*changes)
    run = RunFolder.create(parent, chosen)
    return run, TDTrainer(chosen, run, Console(quiet=True)).run()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return train(tmp_path_factory.mktemp("runs"))


def test_the_shipped_config_explains_every_key():
    assert shipped_configs(TDConfig) == ["td_boote"]
    text = files("deckhand.configs").joinpath("td_boote.yaml").read_text()
    explained = set(re.findall(r"\b(\w+)", " ".join(re.findall(r"^# ([\w, ]+):", text, re.MULTILINE))))
    assert set(TDConfig.model_fields) <= explained
    assert set(yaml.safe_load(text)) == set(TDConfig.model_fields)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("game=keltis", "game: keltis: there are no value agents"),
        ("options=[{level: hard}]", "options: .*level"),
        ("options=[]", "options"),
        ("evaluation.against=[nobody]", "evaluation.against: .*nobody"),
        ("teacher.agent=random", "teacher.agent cannot be 'random'"),
        ("teacher.games=30", "teacher.games must be a multiple of round"),
        ("trace=1.5", "trace"),
        ("hidden=0", "hidden"),
    ],
)
def test_wrong_values_are_named(change, words):
    with pytest.raises(ConfigError, match=words):
        config(change)


def test_a_run_leaves_an_agent_with_its_results_a_curve_and_metrics(finished):
    run, reports = finished
    assert [report.options.level for report in reports] == ["normal", "leicht", "schwer", "profi"]
    agent = load_trained(str(run.path))
    assert (agent.card.games, agent.card.hidden, len(agent.card.results)) == (60, 4, 4)
    rows = run.read(run.metrics)
    assert [row["steps"] for row in rows] == [20, 40, 60]
    assert "evaluation/return, level normal/mean" in rows[1]
    for name in ("curve.png", "evaluation.md", "evaluation.json"):
        assert (run.path / name).stat().st_size > 0
    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    returns = [(event.step, tensor_util.make_ndarray(event.tensor_proto)) for event in events.Tensors("rollout/return")]
    assert returns == [(row["steps"], np.float32(row["rollout/return"])) for row in rows]
    assert "evaluation/return, level normal/mean" in events.Tags()["tensors"]


def test_a_stopped_run_resumes_as_if_it_had_not_been(finished, tmp_path, monkeypatch):
    run, _ = finished
    save = TDTrainer._save

    def stopped(self):
        save(self)
        if self.games == 40:
            raise KeyboardInterrupt

    monkeypatch.setattr(TDTrainer, "_save", stopped)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path)
    monkeypatch.undo()
    half = tmp_path / "td_boote-1"
    with (half / "metrics.jsonl").open("a") as file:
        file.write('{"steps": 60, "cut')
    result = CliRunner().invoke(app, ["td", "--resume", str(half)])
    assert result.exit_code == 0, result.output
    for name in ("metrics.jsonl", "values.safetensors"):
        assert (half / name).read_bytes() == (run.path / name).read_bytes()
    result = CliRunner().invoke(app, ["td", "--resume", str(half), "--set", "games=80"])
    assert "leave out games=80" in result.output


def test_a_step_moves_the_value_towards_the_target():
    position = next(iter(positions(1)))
    _, _, room, count = listed(position)
    present, numbers = inputs(room, count)
    weights = network(6, scale=0.1)
    squares = np.full(len(weights), 0.01)
    squares[0] = 6
    nudge = _learner(GAME).py_func.__globals__["nudge"]
    features = np.flatnonzero(present).astype(np.int16)
    errors = [nudge(weights, squares, features, len(features), numbers, 3.0, 1e-3) for _ in range(50)]
    assert errors[0] > 1
    assert errors[-1] < 0.1 * errors[0]
    assert np.all(np.diff(errors) < 0.05)


def test_it_learns(tmp_path):
    """From nothing but the rules, in a few seconds, to more than twice what it began with."""
    _, (report,) = train(
        tmp_path,
        "games=6000",
        "round=3000",
        "hidden=16",
        "teacher=null",
        "options=[{level: normal, reward: rescued}]",
        "learning_rate={start: 2.0e-4, end: 1.0e-4}",
        "evaluation={against: [random], every: 100000, deals: 4, final_deals: 300}",
    )
    assert report.difference[0].figures["rescued"].low > 4


# What ships.


def test_the_shipped_values_beat_the_fitted_heuristic():
    agents = [make_agent(GAME, "values"), make_agent(GAME, "fitted")]
    assert isinstance(agents[1], RuleAgent)
    seeds = [derive_seed(4711, k) for k in range(4000)]
    for level in ("normal", "leicht"):
        values, fitted = (
            np.concatenate(
                [
                    o.returns[:, 0]
                    for o in play_games(
                        GAME, [agent], np.zeros((4000, 1), np.int64), options={"level": level, "reward": "rescued"}, seeds=seeds, seed=1
                    )
                ]
            )
            for agent in agents
        )
        gain = values - fitted
        assert gain.mean() > 1.96 * gain.std() / len(gain) ** 0.5
