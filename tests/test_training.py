"""Training runs: what they leave behind, that they repeat exactly, and that a killed run resumes as if nothing had happened."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from deckhand.agents import RandomAgent, make_agent
from deckhand.agents.policy import PolicyAgent
from deckhand.envs.core import DeckhandError, get_game
from deckhand.envs.learner_batch import LearnerBatch
from deckhand.train.cli import app
from deckhand.train.config import TrainConfig, load_config
from deckhand.train.evaluation import evaluate
from deckhand.train.opponents import OpponentPool
from deckhand.train.ppo import Trainer
from deckhand.train.runs import RunFolder
from deckhand.train.variants import train_variants
from rich.console import Console
from typer.testing import CliRunner

FILES = {
    ".lock",
    "config.yaml",
    "versions.json",
    "metrics.jsonl",
    "timing.jsonl",
    "curve.png",
    "policy.safetensors",
    "policy.json",
    "evaluation.json",
    "evaluation.md",
}


def train(parent, *changes, config="smoke"):
    """One run, in this process."""
    chosen = load_config(config, changes)
    folder = RunFolder.create(parent, chosen)
    with open(os.devnull, "w") as nowhere:
        Trainer(chosen, folder, Console(file=nowhere)).run()
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The run of the smoke config."""
    return train(tmp_path_factory.mktemp("runs"))


def test_a_run_leaves_every_file(finished):
    assert {path.name for path in finished.path.iterdir() if path.is_file()} == FILES
    assert list((finished.path / "tensorboard").iterdir())
    assert (finished.path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert load_config(str(finished.path / "config.yaml")) == load_config("smoke")
    report = json.loads((finished.path / "evaluation.json").read_text())
    assert [e["agents"] for e in report["evaluations"]] == [
        ["policy", "random"],
        ["policy", "low"],
        ["policy (stochastic)", "random"],
        ["policy (stochastic)", "low"],
    ]
    assert report["evaluations"][0]["seed"] == load_config("smoke").evaluation.final_seed


def test_metrics_have_one_line_a_rollout(finished):
    config = load_config("smoke")
    rows = finished.read(finished.metrics)
    assert [row["steps"] for row in rows] == list(range(256, config.budget.steps + 1, 256))
    for row in rows:
        assert {"rollout/return", "rollout/win_rate_player_0", "rollout/win_rate_player_1", "train/value_loss"} <= row.keys()
        assert ("evaluation/win share against low/low" in row) == (row["steps"] % config.evaluation.every == 0)
        assert not any("time" in key or "second" in key for key in row)


def test_the_trained_policy_is_an_agent(finished):
    game = get_game("flotsam_fight")
    agent = make_agent(game, str(finished.path))
    assert isinstance(agent, PolicyAgent)
    assert agent.card.steps == load_config("smoke").budget.steps
    assert agent.card.config["name"] == "smoke"
    first = json.loads((finished.path / "evaluation.json").read_text())["evaluations"][0]
    again = evaluate(game, agent, [RandomAgent(game)], num_players=2, options={"rounds": 1}, deals=first["deals"], seed=first["seed"])
    assert again.main.to_json() == pytest.approx({k: first["figures"][0]["win_share"][k] for k in ("mean", "low", "high")})


def test_policy_agent_plays_as_the_network_of_sb3(finished):
    torch = pytest.importorskip("torch")
    from stable_baselines3.common.utils import obs_as_tensor

    config = load_config("smoke")
    trainer = Trainer(config, RunFolder.create(finished.path.parent, config), Console(quiet=True))
    observations, masks = trainer.batch.reset(1).observations, trainer.batch.action_masks()
    with torch.no_grad():
        wanted = trainer.ppo.policy.get_distribution(obs_as_tensor(observations, "cpu"), action_masks=masks).distribution.probs.numpy()
    agent = PolicyAgent(trainer.game, trainer._layers(), config.network.activation)
    assert np.allclose(agent.probabilities(observations, masks), wanted, rtol=0, atol=1e-5)


def test_one_config_and_seed_give_the_same_metrics(finished, tmp_path):
    other = train(tmp_path)
    assert other.metrics.read_bytes() == finished.metrics.read_bytes()
    assert (other.path / "policy.safetensors").read_bytes() == (finished.path / "policy.safetensors").read_bytes()
    changed = train(tmp_path, "seed=2", "budget.steps=512")
    assert changed.read(changed.metrics)[0] != other.read(other.metrics)[0]


def test_a_killed_run_resumes_and_equals_the_uninterrupted_one(finished, tmp_path):
    command = [sys.executable, "-c", "from deckhand.train.cli import main; main()", "train"]
    process = subprocess.Popen([*command, "smoke", "--out", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = tmp_path / "smoke-1" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    # Killed between two checkpoints, most likely: five rollouts are written, the second checkpoint came after four.
    while (not metrics.exists() or metrics.read_bytes().count(b"\n") < 5) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "smoke-1" / "evaluation.json").exists()
    last = sorted((tmp_path / "smoke-1" / "checkpoints").glob("step-*"))[-1]
    written = [json.loads(line)["steps"] for line in metrics.read_text().splitlines() if line.endswith("}")][-1]
    assert written - int(re.sub(r"\D", "", last.name)) <= load_config("smoke").checkpoint_every
    with metrics.open("a") as file:
        file.write('{"steps": 99')  # a line that the kill cut short
    subprocess.run([*command, "--resume", str(tmp_path / "smoke-1")], check=True, stdout=subprocess.DEVNULL)
    resumed = RunFolder(tmp_path / "smoke-1")
    assert resumed.metrics.read_bytes() == finished.metrics.read_bytes()
    assert (resumed.path / "policy.safetensors").read_bytes() == (finished.path / "policy.safetensors").read_bytes()


def test_damaged_or_missing_checkpoints_are_refused(tmp_path):
    config = load_config("smoke")
    folder = RunFolder.create(tmp_path, config)
    with pytest.raises(DeckhandError, match="no checkpoint"):
        folder.load_checkpoint()
    Trainer(load_config("smoke", ["budget.steps=256", "evaluation.final_deals=4"]), folder, Console(quiet=True)).run()
    other = load_config("smoke", ["network.hidden=[8]"])
    with pytest.raises(DeckhandError, match="does not fit its configuration"):
        Trainer(other, folder, Console(quiet=True)).run(resume=True)
    last = sorted((folder.path / "checkpoints").glob("step-*"))[-1]
    (last / "state.safetensors").write_bytes(b"nonsense")
    with pytest.raises(DeckhandError, match="damaged"):
        folder.load_checkpoint()
    with pytest.raises(DeckhandError, match="no run folder"):
        RunFolder.open(tmp_path, TrainConfig)


def copy(folder, parent):
    """A run to be damaged."""
    return RunFolder(Path(shutil.copytree(folder.path, parent / "copy")))


def resume(folder):
    result = CliRunner().invoke(app, ["train", "--resume", str(folder.path)])
    assert result.stderr.count("\n") == 1, result.output
    return result.exit_code, result.stderr


def all_files(folder):
    return {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("line", [b"garbage\n", b"{}\n", b"\xff\xfe\x00\n", b"[]\n", b'{"steps": "9"}\n', b"[" * 100_000 + b"\n"])
@pytest.mark.parametrize("name", ["metrics.jsonl", "timing.jsonl"])
def test_damaged_lines_are_named_and_nothing_is_changed(name, line, finished, tmp_path):
    folder = copy(finished, tmp_path)
    path = folder.path / name
    whole = path.read_bytes()
    path.write_bytes(whole + line)
    before = all_files(folder)
    code, error = resume(folder)
    assert code == 1
    assert f"{path}: line {whole.count(b'{') + 1} is damaged" in error
    assert all_files(folder) == before


@pytest.mark.parametrize(
    "change",
    [
        "[]",
        "null",
        "garbage",
        "[" * 100_000,
        {"steps": "2048"},
        {"steps": 5},
        {"seconds": "soon"},
        {"updates": []},
        {"playing": 3},
        {"playing": [99]},
        {"pool": None},
    ],
)
def test_a_damaged_state_is_refused_and_nothing_is_changed(change, finished, tmp_path):
    folder = copy(finished, tmp_path)
    path = sorted((folder.path / "checkpoints").glob("step-*"))[-1] / "state.json"
    path.write_text(change if isinstance(change, str) else json.dumps(json.loads(path.read_text()) | change))
    before = all_files(folder)
    code, error = resume(folder)
    assert code == 1
    assert "damaged" in error or "does not fit its configuration" in error
    # No file of events either.
    assert all_files(folder) == before


def test_two_processes_cannot_train_in_one_folder(finished, tmp_path):
    folder = copy(finished, tmp_path)
    before = all_files(folder)
    with folder.held():
        assert resume(folder) == (2, f"deckhand: {folder.path} is in use by another process\n")
        config = load_config("smoke", SMALL)
        with pytest.raises(DeckhandError, match="in use"):
            train_variants(config, folder, Console(quiet=True))
    assert all_files(folder) == before
    with folder.held():
        pass


@pytest.mark.parametrize("name", ["..", ".", "../other"])
def test_only_folders_of_the_run_are_deleted(name, tmp_path):
    config = load_config("smoke", SMALL)
    folder = RunFolder.create(tmp_path / "runs", config)
    other = tmp_path / "runs" / "other"
    other.mkdir()
    (folder.path / "link").symlink_to(other)
    for variant in (name, "link"):
        with pytest.raises(DeckhandError, match="is not in"):
            RunFolder.of_variant(folder, variant, config)
    assert other.is_dir()
    assert (folder.path / "config.yaml").is_file()


def test_only_the_last_checkpoints_are_kept(finished):
    assert sorted(path.name for path in (finished.path / "checkpoints").iterdir()) == ["step-0000001536", "step-0000002048"]
    PolicyAgent.load(finished.path / "checkpoints" / "step-0000002048")


def test_a_solo_game_trains_and_is_compared_with_baselines(tmp_path):
    changes = ["ppo.games=8", "ppo.steps=16", "ppo.batch_size=64", "budget.steps=256", "evaluation.every=128", "checkpoint_every=128"]
    folder = train(tmp_path, *changes, "evaluation.deals=4", "evaluation.final_deals=4", "network.hidden=[16]", "threads=1", config="boote")
    rows = folder.read(folder.metrics)
    assert {"evaluation/score/mean", "evaluation/score - call_pump/low"} <= rows[-1].keys()
    report = json.loads((folder.path / "evaluation.json").read_text())
    assert report["evaluations"][0]["agents"] == ["policy", "call_pump"]


def test_one_policy_plays_every_seat_of_a_team(tmp_path):
    changes = ["ppo.games=8", "ppo.steps=16", "ppo.batch_size=64", "budget.steps=256", "evaluation.every=128", "checkpoint_every=128"]
    small = ["evaluation.deals=4", "evaluation.final_deals=4", "network={hidden: [15], symmetric: true}", "threads=1", "players=[1, 3]"]
    folder = train(tmp_path, *changes, *small, config="boote")
    report = json.loads((folder.path / "evaluation.json").read_text())
    assert [(e["players"], e["agents"]) for e in report["evaluations"][:2]] == [(1, ["policy", "call_pump"]), (3, ["policy", "call_pump"])]


def test_opponent_pool_follows_its_rule():
    game = get_game("flotsam_fight")
    config = load_config("smoke", ["opponents.snapshots={weight: 1.0, every: 512, keep: 3, latest: 0.6}"]).opponents
    pool = OpponentPool(game, config, "tanh")
    layers = [(np.zeros((game.num_actions, game.layout.size), np.float32), np.zeros(game.num_actions, np.float32))]
    assert pool.draw()[1] == [0.5, 0.5]
    pool.add(1, layers)
    assert pool.draw()[1] == [0.5, 0.5, 1.0]
    leaving = pool.draw()[0][-1]
    for steps in (2, 3, 4):
        pool.add(steps, layers)
    agents, weights = pool.draw()
    assert [agent.name for agent in agents] == ["low", "random", "snapshot-2", "snapshot-3", "snapshot-4"]
    assert weights == pytest.approx([0.5, 0.5, 0.2, 0.2, 0.6])
    playing = [agents[1], leaving, agents[4]]
    other = OpponentPool(game, config, "tanh")
    restored = other.load_state(*pool.state(playing))
    assert [agent.name for agent in restored] == ["random", "snapshot-1", "snapshot-4"]
    assert [agent.name for agent in other.draw()[0]] == [agent.name for agent in agents]
    assert restored[2] is other.draw()[0][4]
    assert np.array_equal(restored[1].layers[0][0], layers[0][0])


def test_minutes_end_a_run_early(tmp_path):
    folder = train(tmp_path, "budget.minutes=0.0001", "evaluation.final_deals=4")
    assert len(folder.read(folder.metrics)) == 1


def test_an_untrained_policy_makes_no_illegal_move(tmp_path):
    # The evaluator's games raise on the first illegal move.
    folder = train(tmp_path, "budget.steps=256", "evaluation.final_deals=4")
    for deterministic in (True, False):
        agent = PolicyAgent.load(folder.path, deterministic=deterministic)
        game = agent.game
        result = evaluate(game, agent, [RandomAgent(game)], num_players=3, options={}, deals=10, seed=1)
        assert result.games == 30


def test_nothing_uses_the_evaluation_that_ignores_masks():
    sources = [path.read_text() for path in Path(__file__).parents[1].joinpath("train").rglob("*.py")]
    assert not any(re.search(r"\bEvalCallback\b|common\.evaluation", source) for source in sources)


def test_one_policy_for_every_player_count(tmp_path):
    folder = train(tmp_path, "players=[2, 2, 4]", "evaluation.against=[low]", "budget.steps=1024", "evaluation.deals=4")
    report = json.loads((folder.path / "evaluation.json").read_text())
    assert [e["players"] for e in report["evaluations"]] == [2, 4, 2, 4]
    rows = folder.read(folder.metrics)
    assert {"evaluation/win share against low, 2 players/mean", "evaluation/win share against low, 4 players/mean"} <= rows[-1].keys()
    # Seat 3 exists in the games for four only, and the learner sits there too.
    assert any("rollout/win_rate_player_3" in row for row in rows)


SMALL = (
    *("game=piraten_pitt", "options={dense: true, max_turns: 60}", "opponents={agents: {hunter: 1}}", "evaluation.against=[hunter]"),
    *("budget.steps=512", "checkpoint_every=256", "evaluation.every=256", "evaluation.deals=4", "evaluation.final_deals=4"),
    "variants={events: {}, features: {options.memory: features}}",
)


def test_variants_are_trained_in_turn_compared_and_not_trained_again(tmp_path):
    config = load_config("smoke", SMALL)
    folder = RunFolder.create(tmp_path, config)
    grids = train_variants(config, folder, Console(quiet=True))
    assert {path.name for path in folder.path.iterdir()} == {
        *(".lock", "config.yaml", "versions.json", "events", "features", "comparison.json", "comparison.md", "curve.png"),
    }
    report = json.loads((folder.path / "comparison.json").read_text())
    assert report["schema"] == "deckhand/comparison/1"
    assert {name: variant["changes"] for name, variant in report["variants"].items()} == config.variants
    for name in config.variants:
        own, stored = RunFolder.open(folder.path / name, TrainConfig)
        assert {path.name for path in own.path.iterdir() if path.is_file()} == FILES
        evaluations = json.loads((own.path / "evaluation.json").read_text())["evaluations"]
        assert report["variants"][name]["evaluations"] == evaluations
        assert stored.options == {**config.options, **({"memory": "features"} if name == "features" else {})}
        for grid, evaluation in zip(grids, evaluations, strict=True):
            texts = {row[0]: row[1 + list(config.variants).index(name)] for row in grid.rows}
            assert texts["win share"].startswith(f"{100 * evaluation['figures'][0]['win_share']['mean']:.1f} %")
            accuracy = evaluation["statistics"][0]["rates"]["show_accuracy"]
            assert texts["show accuracy"].startswith(f"{100 * accuracy['mean']:.1f} %" if accuracy else "-")
    assert grids[0].header == ("", "events", "features")

    # Killed in the second variant, before its end: the first is left alone, the second goes on from its last checkpoint to the same end.
    finished = (folder.path / "features" / "policy.safetensors").read_bytes()
    (folder.path / "features" / "evaluation.json").unlink()
    (folder.path / "features" / "policy.safetensors").unlink()
    before = (folder.path / "events" / "timing.jsonl").stat().st_mtime_ns
    assert train_variants(config, folder, Console(quiet=True)) == grids
    assert (folder.path / "events" / "timing.jsonl").stat().st_mtime_ns == before
    assert (folder.path / "features" / "policy.safetensors").read_bytes() == finished


def test_damaged_results_of_a_variant_are_named(tmp_path):
    config = load_config("smoke", SMALL)
    folder = RunFolder.create(tmp_path, config)
    (folder.path / "events").mkdir()
    for text in ("garbage", "[]", "{}"):
        (folder.path / "events" / "evaluation.json").write_text(text)
        with pytest.raises(DeckhandError, match=r"evaluation\.json is damaged"):
            train_variants(config, folder, Console(quiet=True))


def test_the_command_trains_and_resumes_variants(tmp_path):
    changes = [text for change in SMALL for text in ("--set", change)]
    first = CliRunner().invoke(app, ["train", "smoke", "--out", str(tmp_path), *changes])
    again = CliRunner().invoke(app, ["train", "--resume", str(tmp_path / "smoke-1")])
    assert first.exit_code == again.exit_code == 0, first.output
    assert "variant features" in first.output
    assert "variant" not in again.output
    assert "show accuracy" in again.output


WARM = (
    "warm_start={agent: low, steps: 16384}",
    "budget.steps=256",
    "evaluation.deals=4",
    "evaluation.final_deals=100",
    "ppo.learning_rate=1e-6",
)


def test_a_warm_start_learns_what_its_agent_does(tmp_path):
    folder = train(tmp_path, *WARM)
    rows = folder.read(folder.metrics)
    agreement = [row["warm_start/agreement"] for row in rows if "warm_start/agreement" in row]
    assert len(agreement) == 64
    assert [row["warm_start/round"] for row in rows if row["steps"] == 0] == [*range(1, 69)]
    assert np.mean(agreement[-8:]) > 0.4 > np.mean(agreement[:1])
    report = json.loads((folder.path / "evaluation.json").read_text())
    # The untrained network, which PPO at this rate leaves as it is, wins half of its games against random.
    assert report["evaluations"][0]["figures"][0]["win_share"]["low"] > 0.6


def test_a_warm_start_from_a_search_learns_more_than_its_agent_does(tmp_path):
    changes = [change for change in WARM if not change.startswith(("warm_start", "budget"))]
    folder = train(tmp_path, *changes, "warm_start={agent: 'flat(4,low)', steps: 8192}", "budget.steps=0")
    assert {row["steps"] for row in folder.read(folder.metrics)} == {0}
    report = json.loads((folder.path / "evaluation.json").read_text())
    assert report["evaluations"][0]["figures"][0]["win_share"]["low"] > 0.6
    assert not (folder.path / "warm_start").exists()


def test_an_anchor_holds_the_network_to_what_the_search_does(tmp_path):
    """Of one world a decision the search knows no better than its rollouts' agent, but what it is told to learn is chance."""
    agreement = {}
    for anchor in (0, 10):
        changes = [change for change in WARM if not change.startswith(("warm_start", "budget"))]
        warm_start = f"warm_start={{agent: 'flat(1,low)', steps: 8192, anchor: {anchor}, led: 0.5}}"
        folder = train(tmp_path, *changes, warm_start, "budget.steps=0")
        rows = folder.read(folder.metrics)
        agreement[anchor] = np.mean([row["warm_start/agreement"] for row in rows if "warm_start/agreement" in row][-8:])
    assert agreement[10] > agreement[0] + 0.1


def test_a_prior_holds_the_network_to_what_it_has_learned(tmp_path):
    """At this temperature returns say nothing: with a prior the network stays as the first stage made it, without one all becomes equal."""
    surest = {}
    for prior in (0, 1):
        changes = [change for change in WARM if not change.startswith(("warm_start", "budget"))]
        second = f"{{agent: 'flat(1,low)', steps: 4096, epochs: 16, temperature: 1000, prior: {prior}}}"
        folder = train(tmp_path, *changes, f"warm_start=[{{agent: low, steps: 16384}}, {second}]", "budget.steps=0")
        agent = PolicyAgent.load(folder.path)
        step = LearnerBatch(agent.game, 64, 2, {}, opponents=[RandomAgent(agent.game)]).reset(1)
        # How many times as likely as in a draw the likeliest action is.
        surest[prior] = np.mean(agent.probabilities(step.observations, step.masks).max(axis=1) * step.masks.sum(axis=1))
    assert surest[1] > 1.3 * surest[0]


@pytest.mark.parametrize("rounds", [1, 2, 4, 5, 7])
def test_a_run_killed_in_its_warm_start_goes_on_in_it(tmp_path, rounds):
    """In the first stage (rounds 1 to 5) and in the second (6 to 9), and between them."""
    stages = "[{agent: 'flat(2,low)', steps: 512, epochs: 3}, {agent: low, steps: 512, epochs: 2}]"
    config = load_config("smoke", [*WARM, f"warm_start={stages}"])
    whole, cut = RunFolder.create(tmp_path, config), RunFolder.create(tmp_path, config)
    Trainer(config, whole, Console(quiet=True)).run()

    class Killed(Exception):
        pass

    trainer = Trainer(config, cut, Console(quiet=True))
    shown = trainer.display.show_warm_start

    def kill(*values):
        shown(*values)
        if trainer.warm_rounds > rounds:
            raise Killed

    trainer.display.show_warm_start = kill
    with pytest.raises(Killed):
        trainer.run()
    assert len(cut.read(cut.metrics)) == rounds + 1
    Trainer(config, cut, Console(quiet=True)).run(resume=True)
    assert cut.metrics.read_bytes() == whole.metrics.read_bytes()
