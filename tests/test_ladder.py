"""Search ladders: what is measured, what is stored, and how an interrupted ladder goes on."""

import json

import pytest
import yaml
from deckhand.envs.core import DeckhandError, RecordError
from deckhand.envs.core.jit import JIT_DISABLED
from deckhand.train import ladder
from deckhand.train.cli import app
from deckhand.train.config import ConfigError, dump_config, load_kind, shipped_configs
from deckhand.train.ladder import Ladder, LadderConfig, ladder_grid, specs
from deckhand.train.runs import RunFolder
from typer.testing import CliRunner

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="takes too long in plain Python")

SMALL = {
    "game": "flotsam_fight",
    "players": 2,
    "options": {"rounds": 1},
    "against": ["low"],
    "target": 0.6,
    "deals": 3,
    "workers": 1,
    "series": {"flat": {"agent": "flat({budget},low)", "budgets": [1, "2"]}},
}


def write(path, **changes):
    path.write_text(yaml.safe_dump(SMALL | changes))
    return str(path)


def read(path, **changes):
    return load_kind(LadderConfig, write(path, **changes))


@pytest.mark.parametrize("name", shipped_configs(LadderConfig))
def test_shipped_ladders_are_valid_and_survive_being_written(name, tmp_path):
    config = load_kind(LadderConfig, name)
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    assert load_kind(LadderConfig, str(path)) == config


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"series": {"flat": {"agent": "flat(4,low)", "budgets": [4]}}}, ["series.flat.agent", "{budget}"]),
        ({"series": {"flat": {"agent": "flat({budget},low)", "budgets": [0]}}}, ["series.flat", "budget", "'0'"]),
        ({"series": {"flat": {"agent": "flat({budget},lower)", "budgets": [1]}}}, ["series.flat", "unknown agent 'lower'"]),
        ({"series": {"flat": {"agent": "flat({budget},low)", "budgets": []}}}, ["series.flat.budgets"]),
        ({"series": {}}, ["series"]),
        ({"series": {"rule": {"agent": "strong({budget})", "budgets": [1]}}}, ["series.rule.agent cannot be 'strong(1)'", "a search"]),
        ({"series": {"rule": {"agent": "{budget}", "budgets": ["low"]}}}, ["series.rule.agent cannot be 'low'", "a search"]),
        ({"against": ["low", "low"]}, ["against", "1 opponent"]),
        ({"against": ["lower"]}, ["against", "unknown agent 'lower'"]),
        ({"players": 9}, ["players", "2 to 6"]),
        ({"options": {"rounds": 0}}, ["options", "rounds"]),
        ({"deals": 1}, ["deals"]),
        ({"target": float("inf")}, ["target cannot be inf"]),
        ({"deal_set": "mine"}, ["deal_set", "test"]),
        ({"figure": "rescued"}, ["figure", "'rescued'", "win_share"]),
        ({"speed": 1}, ["speed: unknown key"]),
    ],
)
def test_wrong_configs_are_refused_in_one_clear_line(changes, words, tmp_path):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "x.yaml", **changes)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_rung_is_an_evaluation_on_the_public_deals(tmp_path):
    found = Ladder(read(tmp_path / "x.yaml"), tmp_path)
    found.climb()
    stored = json.loads((tmp_path / "x.json").read_text())
    assert stored["schema"] == "deckhand/ladder/1"
    assert [report["search"]["budget"] for report in stored["evaluations"]] == ["1", "2"]
    for report in stored["evaluations"]:
        assert report["schema"].startswith("deckhand/evaluation/")
        assert report["deal_set"] == "test"
        assert report["search"]["games"] == report["games"] == 6
        assert report["search"]["simulations"] <= int(report["search"]["budget"]) * report["search"]["turns"]
        assert report["search"]["decisions"] >= report["search"]["simulations"] > 0
        assert report["search"]["cpu_seconds"] > 0
    # With one world there is no spread, so the rule agent's choice stands and both sides play alike.
    assert stored["evaluations"][0]["difference"][0]["win_share"] == {"mean": 0, "low": 0, "high": 0}
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert [row[0] for row in ladder_grid(found.report()).rows] == ["flat(1,low)", "flat(2,low)"]


def test_an_interrupted_ladder_goes_on_where_it_stopped(tmp_path, monkeypatch):
    measured = []
    true_measure = ladder.measure

    def measure(config, series, budget, spec):
        measured.append(spec)
        if spec == "flat(2,low)" and measured.count(spec) == 1:
            raise KeyboardInterrupt
        return true_measure(config, series, budget, spec)

    monkeypatch.setattr(ladder, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        Ladder(read(tmp_path / "x.yaml"), tmp_path).climb()
    before = json.loads((tmp_path / "x.json").read_text())["evaluations"]
    found = Ladder(read(tmp_path / "x.yaml"), tmp_path)
    assert [rung[2] for rung in found.missing] == ["flat(2,low)"]
    found.climb()
    assert measured == ["flat(1,low)", "flat(2,low)", "flat(2,low)"]
    assert json.loads((tmp_path / "x.json").read_text())["evaluations"][0] == before[0]
    assert Ladder(read(tmp_path / "x.yaml"), tmp_path).missing == []


def test_results_of_another_ladder_are_not_mixed_in(tmp_path):
    Ladder(read(tmp_path / "x.yaml", series={"flat": {"agent": "flat({budget},low)", "budgets": [1]}}), tmp_path).climb()
    for changes, key in (
        ({"deals": 4}, "deals"),
        ({"against": ["random"]}, "against"),
        ({"series": {"flat": {"agent": "flat({budget},strong)", "budgets": [1]}}}, "series.flat.agent"),
    ):
        with pytest.raises(ConfigError, match=f"{key} differ"):
            Ladder(read(tmp_path / "x.yaml", **changes), tmp_path)
    more = {"flat": {"agent": "flat({budget},low)", "budgets": [1, 2]}, "ismcts": {"agent": "ismcts({budget},low)", "budgets": [4]}}
    assert [rung[2] for rung in Ladder(read(tmp_path / "x.yaml", series=more), tmp_path).missing] == ["flat(2,low)", "ismcts(4,low)"]


def test_two_processes_cannot_measure_in_one_folder(tmp_path):
    found = Ladder(read(tmp_path / "x.yaml"), tmp_path)
    with RunFolder(tmp_path).held():
        with pytest.raises(DeckhandError, match="is in use by another process"):
            found.climb()
        result = CliRunner().invoke(app, ["ladder", str(tmp_path / "x.yaml"), "--out", str(tmp_path)])
        assert (result.exit_code, result.stderr) == (2, f"deckhand: {tmp_path} is in use by another process\n")
    assert not (tmp_path / "x.json").exists()
    first = Ladder(read(tmp_path / "x.yaml"), tmp_path)
    first.climb()
    # The rungs of the other process are not measured again.
    found.climb(lambda done, total, text: pytest.fail("a rung") if total else None)
    assert found.evaluations == first.evaluations


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "deckhand/evaluation/1"}', '{"schema": "deckhand/ladder/1", "config": {}}'])
def test_damaged_results_are_refused_and_kept(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(RecordError, match="does not hold the results of a ladder"):
        Ladder(read(tmp_path / "x.yaml"), tmp_path)
    assert (tmp_path / "x.json").read_text() == text


def test_budgets_are_put_into_the_agents():
    assert specs(ladder.Series(agent="flat({budget},low)", budgets=["64", "50ms"])) == ["flat(64,low)", "flat(50ms,low)"]


def test_the_command_writes_results_and_curve(tmp_path):
    result = CliRunner().invoke(app, ["ladder", write(tmp_path / "x.yaml"), "--out", str(tmp_path / "out"), "--set", "name=mine"])
    assert result.exit_code == 0, result.output
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [".lock", "mine.json", "mine.png"]
    assert "flat(2,low)" in result.output


def test_the_command_writes_nothing_for_a_wrong_config(tmp_path):
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["ladder", write(tmp_path / "x.yaml"), "--out", str(out), "--set", "deals=0"])
    assert result.exit_code == 2
    assert not out.exists()
