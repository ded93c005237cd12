"""Studies: configurations, trials within the space, pruning, resumption, what a study leaves."""

import re
from importlib.resources import files
from io import StringIO

import optuna
import pytest
import yaml
from deckhand.agents import make_agent
from deckhand.envs import get_game
from deckhand.envs.core import DeckhandError
from deckhand.train.cli import app
from deckhand.train.config import ConfigError, load_config, load_kind, shipped_configs
from deckhand.train.runs import RunFolder
from deckhand.train.tune import JOURNAL, Tune, TuneConfig, Values, objective
from optuna.trial import TrialState
from rich.console import Console
from typer.testing import CliRunner

SPACE = {
    "ppo.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "ppo.epochs": {"low": 1, "high": 2},
    "network.hidden": {"choices": [[8], [32]]},
}
SMALL = {
    "name": "small",
    "train": "smoke",
    "changes": {"budget.steps": 512, "evaluation.every": 256, "evaluation.deals": 2, "checkpoint_every": 256},
    "space": SPACE,
    "trials": 3,
    "startup": 2,
    "objective": {"against": ["low"], "deals": 2},
}


@pytest.fixture
def write(tmp_path):
    """Write a small study's config with changes."""

    def make(**changes):
        path = tmp_path / "small.yaml"
        path.write_text(yaml.safe_dump(SMALL | changes, sort_keys=False))
        return str(path)

    return make


def tune(parent, path):
    """One study, in this process, and what it says."""
    config = load_kind(TuneConfig, path)
    folder = RunFolder.create(parent, config)
    out = StringIO()
    Tune(config, folder, Console(file=out, width=200)).run()
    return folder, out.getvalue()


def trials(folder):
    """The trials that count, as optuna reads them from the folder."""
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(folder.path / JOURNAL)))
    study = optuna.load_study(study_name=None, storage=storage)
    return study.get_trials(states=(TrialState.COMPLETE, TrialState.PRUNED))


def told(folder):
    """What a study was told of its trials."""
    return [(t.params, t.state, t.values, t.intermediate_values, t.user_attrs) for t in trials(folder)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    parent = tmp_path_factory.mktemp("runs")
    (parent / "small.yaml").write_text(yaml.safe_dump(SMALL, sort_keys=False))
    return tune(parent, str(parent / "small.yaml"))[0]


# Configurations.


def test_shipped_configs_explain_every_key():
    assert shipped_configs(TuneConfig) == ["tune_flotsam", "tune_keltis"]
    text = files("deckhand.configs").joinpath("tune_flotsam.yaml").read_text()
    explained = set(re.findall(r"\b(\w+)", " ".join(re.findall(r"^# ([\w, ]+):", text, re.MULTILINE))))
    assert set(TuneConfig.model_fields) <= explained
    for name in shipped_configs(TuneConfig):
        config = load_kind(TuneConfig, name)
        assert config.name == name
        assert config.start(), "the first trial is the start itself"
        text = files("deckhand.configs").joinpath(f"{name}.yaml").read_text()
        assert set(yaml.safe_load(text)) == set(TuneConfig.model_fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train": "smoky"}, ["train cannot be 'smoky'", "unknown config", "flotsam"]),
        ({"train": {"name": "x", "game": "keltis"}}, ["train.network: missing"]),
        ({"train": "memory"}, ["train: memory has variants"]),
        ({"changes": {"ppo.gama": 0.9}}, ["changes: ppo.gama: unknown key", "gamma"]),
        ({"changes": {"name": "x"}}, ["changes: name cannot be changed"]),
        ({"changes": {"game": "keltis"}}, ["changes: game cannot be changed"]),
        ({"changes": {"evaluation.final_deals": 5}}, ["changes: evaluation.final_deals", "objective.deals"]),
        ({"changes": {"evaluation.seed": 2_000_002}}, ["changes: evaluation.seed cannot be 2000002", "final_seed"]),
        ({"space": {}}, ["space cannot be {}"]),
        ({"space": {"ppo.gama": {"low": 0.9, "high": 1.0}}}, ["space: ppo.gama: unknown key", "gamma"]),
        ({"space": {"ppo.gamma": {"low": 0.9, "high": 1.5}}}, ["space: ppo.gamma cannot be 1.5"]),
        ({"space": {"ppo.epochs": {"low": 0.5, "high": 3.0}}}, ["space: ppo.epochs cannot be 0.5", "integer"]),
        ({"space": {"ppo.batch_size": {"choices": [128, 100]}}}, ["space: ppo.batch_size cannot be 100", "divide"]),
        ({"space": {"ppo.gamma": {"low": 0.9}}}, ["space.ppo.gamma cannot be", "low and high, or choices"]),
        ({"space": {"ppo.gamma": {"low": 0.9, "high": 1.0, "choices": [0.9, 1.0]}}}, ["space.ppo.gamma", "choices, or low and high"]),
        ({"space": {"ppo.gamma": {"low": 1.0, "high": 0.9}}}, ["space.ppo.gamma", "low must be below high"]),
        ({"space": {"ppo.entropy": {"low": 0.0, "high": 0.1, "log": True}}}, ["space.ppo.entropy", "above 0"]),
        ({"space": {"ppo.gamma": {"choices": [0.9, 0.9]}}}, ["space.ppo.gamma", "two different"]),
        ({"space": {"ppo.gamma": {"low": 0.9, "hihg": 1.0}}}, ["space.ppo.gamma.hihg: unknown key", "high"]),
        ({"space": {"evaluation.seed": {"choices": [1, 2]}}}, ["space: evaluation.seed cannot be tuned", "compared"]),
        ({"space": {"seed": {"choices": [1, 2]}}}, ["space: seed cannot be tuned"]),
        ({"space": {**SPACE, "ppo.learning_rate.end": {"low": 0.0, "high": 1.0}}}, ["ppo.learning_rate.end cannot be tuned"]),
        ({"changes": {"ppo": {}}}, ["space: ppo.learning_rate cannot be tuned: ppo stands"]),
        ({"objective": {"deals": 1}}, ["objective.deals cannot be 1"]),
        ({"objective": {"deals": 2, "seed": 2_000_002}}, ["objective.seed cannot be 2000002", "final_seed"]),
        ({"objective": {"deals": 2, "seed": 1_000_001}}, ["objective.seed cannot be 1000001", "pruned"]),
        ({"objective": {"deals": 2, "against": ["lowest"]}}, ["unknown agent 'lowest'"]),
        ({"trials": 0}, ["trials cannot be 0"]),
        ({"tries": 1}, ["tries: unknown key", "trials"]),
    ],
)
def test_wrong_configs_are_refused_in_one_clear_line(write, changes, words):
    with pytest.raises(ConfigError) as caught:
        load_kind(TuneConfig, write(**changes))
    for word in ["small.yaml", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_final_deals_are_never_played_by_a_trial(write):
    config = load_kind(TuneConfig, write(changes={"evaluation": {**load_config("smoke").evaluation.model_dump(), "every": 256}}))
    trial = config.trial("x", "trial-000", {})
    assert trial.evaluation.final_seed == config.objective.seed != config.train.evaluation.final_seed
    assert trial.evaluation.every == 256


@pytest.mark.parametrize(
    ("space", "start"),
    [
        (SPACE, {"ppo.learning_rate": 1e-3, "ppo.epochs": 2, "network.hidden": "[32]"}),
        ({"ppo.learning_rate": {"low": 1e-2, "high": 1e-1}}, None),
        ({"ppo.learning_rate": {"choices": [{"start": 1e-3, "end": 1e-3}, 1e-2]}}, {"ppo.learning_rate": '{"start": 0.001, "end": 0.001}'}),
        ({"network.hidden": {"choices": [[8], [16]]}}, None),
        ({"ppo.target_kl": {"low": 0.01, "high": 0.1}}, None),
        ({"ppo.target_kl": {"choices": [0.01, None]}}, {"ppo.target_kl": "null"}),
    ],
)
def test_the_first_trial_is_the_start_where_the_space_holds_it(write, space, start):
    assert load_kind(TuneConfig, write(space=space)).start() == start


def test_choices_can_be_anything():
    for choice in (None, True, [8, 8], {"start": 1, "end": 0}, "tanh"):
        values = Values(choices=[choice, 0.25])
        assert [values.value(text) for text in values.distribution().choices] == [choice, 0.25]


# Studies.


@pytest.mark.needs_jit
def test_trials_are_run_folders_with_values_of_the_space(finished):
    config = load_kind(TuneConfig, str(finished.path / "config.yaml"))
    found = trials(finished)
    assert [t.user_attrs["folder"] for t in found] == ["trial-000", "trial-001", "trial-002"]
    assert found[0].params == config.start()
    assert len({str(t.params) for t in found}) == 3
    for trial in found:
        chosen = load_config(str(finished.path / trial.user_attrs["folder"] / "config.yaml"))
        assert 1e-4 <= chosen.ppo.learning_rate.start == trial.params["ppo.learning_rate"] <= 1e-2
        assert chosen.ppo.epochs in (1, 2)
        assert chosen.network.hidden in ([8], [32])
        assert chosen.budget.steps == 512
        report = yaml.safe_load((finished.path / trial.user_attrs["folder"] / "evaluation.json").read_text())
        assert [(e["seed"], e["agents"][1:]) for e in report["evaluations"]] == 2 * [(4_000_004, ["low"])]
        assert trial.value == objective(report["evaluations"]).mean == report["evaluations"][0]["figures"][0]["win_share"]["mean"]
        assert list(trial.intermediate_values) == [1, 2]


@pytest.mark.needs_jit
def test_the_best_configuration_trains_and_is_measured_on_the_starts_own_deals(finished, tmp_path):
    best = max(trials(finished), key=lambda t: t.value)
    chosen, start = load_config(str(finished.path / "best.yaml")), load_config("smoke")
    assert chosen.ppo.learning_rate.end == best.params["ppo.learning_rate"]
    assert (chosen.evaluation, chosen.budget) == (start.evaluation, start.budget)
    changes = ["--steps", "256", "--set", "evaluation.final_deals=2", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, ["train", str(finished.path / "best.yaml"), *changes])
    assert result.exit_code == 0, result.output
    game = get_game("flotsam_fight")
    assert make_agent(game, str(tmp_path / "small-best-1")).name


@pytest.mark.needs_jit
def test_a_study_leaves_a_table_and_a_picture(finished):
    assert (finished.path / "curve.png").read_bytes().startswith(b"\x89PNG")
    rows = re.findall(r"^\| (trial-\d+)", (finished.path / "trials.md").read_text(), re.MULTILINE)
    assert rows == [t.user_attrs["folder"] for t in sorted(trials(finished), key=lambda t: -t.value)]
    with finished.held(), pytest.raises(DeckhandError, match="in use"):
        Tune(load_kind(TuneConfig, str(finished.path / "config.yaml")), finished, Console(quiet=True)).run()


@pytest.mark.needs_jit
def test_a_killed_study_goes_on_as_if_nothing_had_happened(finished, write, tmp_path, monkeypatch):
    from deckhand.train.trials import TrialTrainer

    checkpoint = TrialTrainer._save_checkpoint
    started = []

    def killed(self):
        checkpoint(self)
        started.append((self.folder.path.name, self.steps))
        if len(started) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(TrialTrainer, "_save_checkpoint", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(tmp_path, write())
    assert started[-1] == ("trial-001", 256)
    path = tmp_path / "small-1"
    with (path / JOURNAL).open("ab") as file:
        file.write(b'{"op_code":6,"wor')
    (path / f"{JOURNAL}.lock").touch()
    result = CliRunner().invoke(app, ["tune", "--resume", str(path)])
    assert result.exit_code == 0, result.output
    # Trial 1 goes on where it was.
    assert started[5:] == [("trial-001", 512), ("trial-002", 0), ("trial-002", 256), ("trial-002", 512)]
    folder = RunFolder(path)
    assert told(folder) == told(finished)
    assert (path / "best.yaml").read_text() == (finished.path / "best.yaml").read_text()
    again = CliRunner().invoke(app, ["tune", "--resume", str(path)])
    assert again.exit_code == 0
    assert len(started) == 9


@pytest.mark.needs_jit
def test_a_finished_study_is_given_more_trials(finished, write, tmp_path):
    folder, _ = tune(tmp_path, write(trials=2))
    assert told(folder) == told(finished)[:2]
    with folder.held():
        result = CliRunner().invoke(app, ["tune", "--resume", str(folder.path), "--trials", "3"])
        assert (result.exit_code, "in use" in result.output) == (2, True)
        assert load_kind(TuneConfig, str(folder.path / "config.yaml")).trials == 2
    result = CliRunner().invoke(app, ["tune", "--resume", str(folder.path), "--trials", "3"])
    assert result.exit_code == 0, result.output
    assert told(folder) == told(finished)
    for name in ("best.yaml", "trials.md", "config.yaml"):
        assert (folder.path / name).read_text() == (finished.path / name).read_text()


@pytest.mark.needs_jit
def test_trials_that_trail_end_early(write, tmp_path, monkeypatch):
    # The second is far behind at once, but is given two evaluations.
    figures = iter([0.5, 0.6, 0.9, 0.1, 0.55])
    monkeypatch.setattr("deckhand.train.tune.measured", lambda row: next(figures))
    space = {"ppo.gamma": {"low": 0.9, "high": 1.0}}
    path = write(trials=2, startup=1, space=space, prune_after=2, changes=SMALL["changes"] | {"budget.steps": 768})
    folder, text = tune(tmp_path, path)
    first, second = trials(folder)
    assert (first.state, first.intermediate_values) == (TrialState.COMPLETE, {1: 0.5, 2: 0.6, 3: 0.9})
    assert (second.state, second.intermediate_values) == (TrialState.PRUNED, {1: 0.1, 2: 0.55})
    assert "pruned after evaluation 2 with 55.0 %" in text
    pruned = RunFolder(folder.path / "trial-001")
    assert [row["steps"] for row in pruned.read(pruned.metrics)] == [256, 512]
    assert not (pruned.path / "evaluation.json").exists()
    assert load_config(str(folder.path / "best.yaml")).ppo.gamma == first.params["ppo.gamma"]


@pytest.mark.needs_jit
def test_values_that_do_not_go_together_are_left_out(write, tmp_path, monkeypatch):
    # Every value fits the start, but 16 games of 8 steps cannot be cut into batches of 256.
    space = {"ppo.steps": {"choices": [16, 8]}, "ppo.batch_size": {"choices": [128, 256]}}
    monkeypatch.setattr(TuneConfig, "start", lambda self: {"ppo.steps": "8", "ppo.batch_size": "256"})
    folder, text = tune(tmp_path, write(trials=2, space=space))
    assert re.search(r"trial +1 of 2 +left out, its values do not go together: .*batch_size cannot be 256", text)
    assert [t.state for t in trials(folder)] == [TrialState.PRUNED, TrialState.COMPLETE]
    assert not (folder.path / "trial-000").exists()


def test_damaged_and_foreign_studies_are_refused(write, tmp_path):
    config = load_kind(TuneConfig, write())
    folder = RunFolder.create(tmp_path, config)
    (folder.path / JOURNAL).write_text("{}\n{]\n{}\n")
    with pytest.raises(DeckhandError, match=r"study\.jsonl is damaged"):
        Tune(config, folder, Console(quiet=True)).run()


def test_command_line_errors():
    for arguments, words in (
        ([], "name a config"),
        (["nothing"], "tune_flotsam"),
        (["smoke", "--resume", "x"], "leave out smoke"),
        (["--resume", "x", "--seed", "1"], "leave out seed=1; only trials can change"),
    ):
        result = CliRunner().invoke(app, ["tune", *arguments])
        assert result.exit_code == 2
        assert words in result.output
