"""Fitted rule agents: configurations, files of parameters, searches that repeat, resume and find something."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import types
from importlib.resources import files

import numpy as np
import pytest
import yaml
from deckhand.agents import RuleAgent, agent_names, make_agent, register_rules
from deckhand.agents.parameters import Parameter, ParameterError, ParameterFile, load_parameters
from deckhand.agents.rules import FITTED, rule_set
from deckhand.agents.rules import flotsam_fight as flotsam_rules
from deckhand.envs import game_names, get_game
from deckhand.envs.core import DeckhandError
from deckhand.envs.flotsam_fight.table import FlotsamFight
from deckhand.train.cli import app
from deckhand.train.config import ConfigError, load_kind, shipped_configs
from deckhand.train.evaluation import evaluate
from deckhand.train.fit import UNRELATED, Fit, FitConfig
from deckhand.train.runs import RunFolder
from rich.console import Console
from typer.testing import CliRunner

GAME = get_game("flotsam_fight")
NAMES = [p.name for p in rule_set(GAME).parameters["strong"]]
SMALL = ["generations=4", "population=4", "deals=3", "players=[2, 3]", "evaluation.deals=4", "workers=1", "opponents={low: 1, strong: 2}"]


def fit(parent, *changes, config="fit_flotsam_fight"):
    """One fit, in this process."""
    chosen = load_kind(FitConfig, config, changes)
    folder = RunFolder.create(parent, chosen)
    evaluations = Fit(chosen, folder, Console(quiet=True)).run()
    return folder, evaluations


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return fit(tmp_path_factory.mktemp("runs"), *SMALL)[0]


# Configurations.


def test_every_game_has_a_config_that_explains_every_key():
    assert shipped_configs(FitConfig) == sorted(f"fit_{name}" for name in game_names())
    for name in shipped_configs(FitConfig):
        config = load_kind(FitConfig, name)
        text = files("deckhand.configs").joinpath(f"{name}.yaml").read_text()
        explained = set(re.findall(r"\b(\w+)", " ".join(re.findall(r"^# ([\w, ]+):", text, re.MULTILINE))))
        assert set(FitConfig.model_fields) <= explained
        assert set(yaml.safe_load(text)) == set(FitConfig.model_fields)
        assert config.name == name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("agent=low", ["agent cannot be 'low'", "no parameters", "strong"]),
        ("agent=random", ["agent cannot be 'random'", "strong"]),
        ("agent=lowest", ["agent: ", "unknown agent 'lowest'"]),
        ("fixed=[rank]", ["fixed", "'rank'", "two.rank"]),
        ("opponents={}", ["opponents", "at least one"]),
        ("opponents={low: 0}", ["opponents.low cannot be 0", "greater than 0"]),
        ("opponents={lowest: 1}", ["opponents: ", "unknown agent 'lowest'"]),
        ("players=[7]", ["players: ", "7", "2"]),
        ("players=[]", ["players cannot be []"]),
        ("options={rounds: 0}", ["options: ", "rounds"]),
        ("population=3", ["population cannot be 3", "4"]),
        ("deals=1", ["deals cannot be 1", "2"]),
        ("sigma=0", ["sigma cannot be 0"]),
        ("sigma=.inf", ["sigma cannot be inf", "finite"]),
        ("evaluation.deals=1000000000000", ["evaluation.deals", "10000000"]),
        ("evaluation.games=1", ["evaluation.games: unknown key", "deals"]),
        ("speed=1", ["speed: unknown key", "generations"]),
        (f"fixed=[{', '.join(NAMES)}]", ["fixed: no parameter is left", "2, 3, 4 players"]),
    ],
)
def test_wrong_configs_are_refused_in_one_clear_line(change, words):
    with pytest.raises(ConfigError) as caught:
        load_kind(FitConfig, "fit_flotsam_fight", [change])
    for word in ["fit_flotsam_fight.yaml", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_games_played_together_have_no_opponents():
    with pytest.raises(ConfigError, match="played together"):
        load_kind(FitConfig, "fit_alle_in_die_boote", ["opponents={strong: 1}"])


# Files of parameters.


def parameter_file(**changes):
    values = dict(zip(NAMES, rule_set(GAME).agents["strong"][1], strict=True))
    return ParameterFile(**{"game": GAME.id, "agent": "strong", "parameters": values} | changes)


def write(path, file):
    path.write_text(yaml.safe_dump(file.model_dump()))
    return path


def test_files_keep_every_number_and_say_what_it_is(tmp_path):
    parameters = rule_set(GAME).parameters["strong"]
    file = parameter_file(parameters={name: i / 7 for i, name in enumerate(NAMES)}, provenance={"start": "strong"})
    path = tmp_path / "mine.yaml"
    file.save(path, parameters)
    assert load_parameters(path, GAME, {"strong": parameters}) == file
    text = path.read_text()
    for p in parameters:
        assert re.search(rf"^  {re.escape(p.name)}: .* # {re.escape(p.about)}; default {p.default:g}$", text, re.MULTILINE)
    agent = RuleAgent.load(path, GAME)
    assert agent.name == "mine"
    assert agent.params.tolist() == [i / 7 for i in range(len(NAMES))]
    assert make_agent(GAME, str(path)).params.tolist() == agent.params.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": dict.fromkeys(NAMES[1:], 1.0)}, ["missing two.rank"]),
        ({"parameters": dict.fromkeys([*NAMES, "two.luck"], 1.0)}, ["unknown two.luck"]),
        ({"parameters": dict.fromkeys([*NAMES[:-1], "two.luck"], 1.0)}, [f"missing {NAMES[-1]}", "unknown two.luck"]),
        ({"game": "FlotsamFight-v9"}, ["FlotsamFight-v9", "FlotsamFight-v0"]),
        ({"agent": "low"}, ["'low' has no parameters", "strong"]),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, change, words):
    path = write(tmp_path / "x.yaml", parameter_file(**change))
    with pytest.raises(ParameterError) as caught:
        RuleAgent.load(path, GAME)
    for word in [str(path), *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "a: [", "format: other/1", "- 1", "format: deckhand-parameters/1\ngame: 3"])
def test_damaged_files_are_refused(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=r"x\.yaml"):
        RuleAgent.load(path, GAME)
    with pytest.raises(ParameterError, match=r"y\.yaml cannot be read"):
        RuleAgent.load(tmp_path / "y.yaml", GAME)


@pytest.mark.parametrize("number", [".nan", ".inf", "'1'", "true", "null"])
def test_what_is_no_number_is_refused(tmp_path, number):
    path = write(tmp_path / "x.yaml", parameter_file())
    path.write_text(re.sub(r"two\.rank: .*", f"two.rank: {number}", path.read_text()))
    with pytest.raises(ParameterError, match=r"parameters\.two\.rank"):
        RuleAgent.load(path, GAME)


def test_a_file_beside_a_module_is_the_agent_fitted(tmp_path):
    class Game(FlotsamFight):
        name = "flotsam_with_file"

    game = Game()
    module = types.ModuleType("rules_with_file")
    module.AGENTS = {"counter": (1, (0.5, 2.0))}
    module.PARAMETERS = {"counter": (Parameter("one", 0.5, "a number"), Parameter("two", 2.0, "another"))}
    module.decide = flotsam_rules.decide
    module.__file__ = str(tmp_path / "counting.py")
    sys.modules[module.__name__] = module
    try:
        register_rules(game.name, module.__name__)
        assert agent_names(game) == ["random", "counter"]
        register_rules(game.name, module.__name__)
        write(tmp_path / "counting.yaml", ParameterFile(game=game.id, agent="counter", parameters={"two": 7.0, "one": -1.0}))
        assert agent_names(game) == ["random", "counter", FITTED]
        agent = make_agent(game, FITTED)
        assert (agent.kind, agent.params.tolist(), agent.name) == (1, [-1.0, 7.0], FITTED)
        assert make_agent(game, "counter").params.tolist() == [0.5, 2.0]
        register_rules(game.name, module.__name__)
        write(tmp_path / "counting.yaml", ParameterFile(game=game.id, agent="counter", parameters={"one": 1.0}))
        with pytest.raises(ParameterError, match="missing two"):
            agent_names(game)
    finally:
        del sys.modules[module.__name__]


# The search.


@pytest.mark.needs_jit
def test_a_fit_leaves_every_file(finished):
    names = {path.name for path in finished.path.iterdir()}
    assert names == {".lock", "config.yaml", "versions.json", "metrics.jsonl", "curve.png", "fitted.yaml", "evaluation.json"}
    assert (finished.path / "curve.png").read_bytes().startswith(b"\x89PNG")
    rows = finished.read(finished.metrics)
    assert [row["steps"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert [len(group["returns"]) for group in row["groups"].values()] == [4, 4]
    # The first mean is the start, and both play the same deals with the same luck.
    assert all(group["gain"] == {"mean": 0, "low": 0, "high": 0} for group in rows[0]["groups"].values())
    file = yaml.safe_load((finished.path / "fitted.yaml").read_text())
    assert file["provenance"]["config"] == load_kind(FitConfig, str(finished.path / "config.yaml")).model_dump(exclude={*UNRELATED})
    report = json.loads((finished.path / "evaluation.json").read_text())["evaluations"]
    assert [(e["players"], e["agents"]) for e in report] == [(2, ["fitted", "strong"]), (3, ["fitted", "strong"])]
    for result, evaluation in zip(file["provenance"]["results"], report, strict=True):
        assert result["difference"]["win_share"]["mean"] == pytest.approx(evaluation["difference"][0]["win_share"]["mean"], abs=1e-4)


@pytest.mark.needs_jit
def test_the_result_is_the_mean_over_the_last_generations(finished):
    rows = finished.read(finished.metrics)
    config = load_kind(FitConfig, str(finished.path / "config.yaml"))
    last = Fit(config, finished, Console(quiet=True))
    last._replay()
    agent = RuleAgent.load(finished.path / "fitted.yaml", GAME)
    for group in last.groups:
        means = [rows[3]["groups"][group.name]["mean"], group.values(group.search.mean)]
        assert agent.params[group.indexes] == pytest.approx(np.mean(means, axis=0), abs=1e-4)


@pytest.mark.needs_jit
def test_only_what_counts_for_the_players_and_is_not_fixed_changes(tmp_path):
    folder, _ = fit(tmp_path, *SMALL, "players=[2]", "fixed=[two.rank, two.opens]", "generations=1")
    agent, start = RuleAgent.load(folder.path / "fitted.yaml", GAME), make_agent(GAME, "strong")
    changed = [p.name for p, new, old in zip(agent.parameters, agent.params, start.params, strict=True) if new != old]
    assert changed == [name for name in NAMES if name.startswith("two.") and name not in ("two.rank", "two.opens")]


@pytest.mark.needs_jit
def test_a_stopped_fit_goes_on_as_if_nothing_had_happened(finished, tmp_path):
    config = load_kind(FitConfig, str(finished.path / "config.yaml"))
    folder = RunFolder.create(tmp_path, config)
    lines = finished.metrics.read_text().splitlines(keepends=True)
    # The end came while the third line was written.
    folder.metrics.write_text("".join(lines[:2]) + lines[2][:40])
    state = np.random.get_state()[1].tobytes()  # noqa: NPY002
    Fit(config, folder, Console(quiet=True)).run()
    assert np.random.get_state()[1].tobytes() == state  # noqa: NPY002
    for name in ("metrics.jsonl", "fitted.yaml"):
        assert (folder.path / name).read_bytes() == (finished.path / name).read_bytes()


@pytest.mark.needs_jit
def test_a_folder_of_another_fit_is_refused(finished, tmp_path):
    config = load_kind(FitConfig, str(finished.path / "config.yaml"), ["seed=5"])
    folder = RunFolder.create(tmp_path, config)
    folder.metrics.write_bytes(finished.metrics.read_bytes())
    with pytest.raises(DeckhandError, match=r"metrics\.jsonl does not fit"):
        Fit(config, folder, Console(quiet=True)).run()


@pytest.mark.needs_jit
@pytest.mark.parametrize("group", ["{}", "[]", '{"mean": [], "returns": [], "gain": {}}', '{"mean": "x", "returns": ["x"], "gain": 1}'])
def test_damaged_metrics_are_refused(group, finished, tmp_path):
    config = load_kind(FitConfig, str(finished.path / "config.yaml"))
    folder = RunFolder.create(tmp_path, config)
    name = Fit(config, folder, Console(quiet=True)).groups[0].name
    folder.metrics.write_text(f'{{"steps": 1, "groups": {{"{name}": {group}}}}}\n')
    with pytest.raises(DeckhandError, match=r"metrics\.jsonl does not fit"):
        Fit(config, folder, Console(quiet=True)).run()


@pytest.mark.needs_jit
def test_a_search_stays_within_the_ranges_of_the_parameters(finished, monkeypatch):
    config = load_kind(FitConfig, str(finished.path / "config.yaml"))
    group = Fit(config, finished, Console(quiet=True)).groups[0]
    agent = make_agent(GAME, "strong")
    agent.parameters = [p._replace(low=value - 1, high=value + 1) for p, value in zip(agent.parameters, agent.params, strict=False)]
    narrow = type(group)(config, 0, group.players, group.indexes, agent)
    for sign in (-1, 1):
        assert narrow.values(np.full(len(group.names), sign * 1e9)) == pytest.approx(narrow.start + sign)
    assert group.values(np.zeros(len(group.names))).tolist() == group.start.tolist()


@pytest.mark.needs_jit
def test_a_killed_fit_resumes_and_processes_change_nothing(finished, tmp_path):
    changes = [f"--set={change}" for change in [*SMALL, "workers=2"]]
    command = [sys.executable, "-c", "from deckhand.train.cli import main; main()", "fit", "fit_flotsam_fight", *changes]
    process = subprocess.Popen([*command, "--out", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)
    metrics = tmp_path / "fit_flotsam_fight-1" / "metrics.jsonl"
    deadline = time.monotonic() + 300
    try:
        while (not metrics.exists() or b"\n" not in metrics.read_bytes()) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert not (metrics.parent / "fitted.yaml").exists()
    result = CliRunner().invoke(app, ["fit", "--resume", str(metrics.parent), "--set", "workers=1"])
    assert result.exit_code == 0, result.output
    assert "generation   4 of 4" in result.output
    assert "fitted.yaml" in result.output
    assert metrics.read_bytes() == finished.metrics.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["fit_flotsam_fight-1"]


@pytest.mark.needs_jit
def test_a_small_fit_mends_a_bad_start(tmp_path):
    changes = ["agent=strong(6,-4)", f"fixed=[{', '.join(NAMES[2:])}]", "players=[2]", "opponents={low: 1}", "generations=8", "deals=60"]
    _, (evaluation,) = fit(tmp_path, *changes, "population=6", "sigma=2", "workers=1", "evaluation.deals=300")
    assert evaluation.difference[0].figures["win_share"].low > 0.05


def test_command_line_errors():
    for arguments, words in (([], "name a config"), (["nothing"], "fit_keltis"), (["fit_keltis", "--resume", "x"], "leave out fit_keltis")):
        result = CliRunner().invoke(app, ["fit", *arguments])
        assert result.exit_code == 2
        assert words in result.output


# What ships.


@pytest.mark.needs_jit
@pytest.mark.parametrize("name", [name for name in game_names() if FITTED in agent_names(name)])
def test_shipped_agents_come_from_the_shipped_config_and_beat_their_start(name):
    game = get_game(name)
    file = yaml.safe_load(files("deckhand.agents.rules").joinpath(f"{name}.yaml").read_text())
    assert file["provenance"]["config"] == load_kind(FitConfig, f"fit_{name}").model_dump(exclude={*UNRELATED})
    for result in file["provenance"]["results"]:
        assert result["difference"]["return"]["low"] > 0
    n = file["provenance"]["results"][0]["players"]
    pair = [make_agent(game, FITTED), make_agent(game, file["provenance"]["start"])]
    again = evaluate(game, pair[0], pair[1:], num_players=n, options=file["provenance"]["config"]["options"], deals=500, seed=11)
    assert again.difference[0].figures["return"].mean > 0
