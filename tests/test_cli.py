"""The command line: what it prints and writes, and how it refuses bad input."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from deckhand.envs.core import Position, game_names, get_game, load_records, replay
from deckhand.envs.core.jit import JIT_DISABLED
from deckhand.train.cli import app, tell_of_compiling
from typer.main import get_command
from typer.testing import CliRunner

GAME = "flotsam_fight"
EXAMPLE = Path(__file__).parent / "data" / "flotsam_fight_1.jsonl"


def run(*args, text=None):
    return CliRunner().invoke(app, [str(a) for a in args], input=text)


def succeed(*args, text=None):
    result = run(*args, text=text)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def fail(*args, code=2):
    """The one line that the command prints when it refuses."""
    result = run(*args)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("deckhand: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def record_file(tmp_path):
    path = tmp_path / "r.jsonl"
    result = run("record", GAME, "--players", 3, "--games", 3, "--seed", 4, "-o", "rounds=1", "--out", path)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"3 games written to {path}\n")
    return path


def commands():
    return list(get_command(app).commands)


def test_every_command_has_help_with_an_example():
    assert {"list", "describe", "record", "replay", "play"} <= set(commands())
    for command in commands():
        assert f"Example: deckhand {command}" in " ".join(succeed(command, "--help").split())


def test_help_lists_every_command():
    text = succeed("--help")
    assert all(command in text for command in commands())


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_person_is_told_once_that_it_compiles(monkeypatch, capsys):
    functions = [numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2)]
    command = tell_of_compiling(lambda value: [function(value) for function in functions])
    assert command(1) == [2, 3]
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert command(1) == [2, 3]
    assert capsys.readouterr().err == ""  # compiled already
    assert command(1.5) == [2.5, 3.5]
    assert re.fullmatch("deckhand: compiling for this machine, once .*\n", capsys.readouterr().err)
    functions[0](1j)
    assert capsys.readouterr().err == ""  # no command


def test_list_names_every_game():
    text = succeed("list")
    for name in game_names():
        assert name in text
        assert get_game(name).id in text


@pytest.mark.parametrize("name", game_names())
def test_describe(name):
    game = get_game(name)
    facts = json.loads(succeed("describe", name, "--json"))
    assert (facts["name"], facts["id"], facts["phases"]) == (name, game.id, list(game.phases))
    assert [o["name"] for o in facts["options"]] == list(game.options.model_fields)
    assert all(o["text"] for o in facts["options"])
    defaults = {o["name"]: o["default"] for o in facts["options"]}
    assert defaults == game.parse_options({}).model_dump(mode="json")
    pieces = facts["observation"]["pieces"]
    assert [p["start"] for p in pieces] + [facts["observation"]["size"]] == [0] + [p["stop"] for p in pieces]
    rows = facts["actions"]["table"]
    assert [row["first"] for row in rows] + [game.num_actions] == [0] + [row["last"] + 1 for row in rows]
    assert succeed("describe", game.id, "--json") == succeed("describe", name, "--json")
    text = succeed("describe", name)
    assert game.title in text
    assert f"Discrete({game.num_actions})" in text


def test_record_writes_replayable_games(record_file):
    records = list(load_records(record_file))
    assert [r.seed for r in records] == [4, 5, 6]
    assert all(r.num_players == 3 and r.options.rounds == 1 for r in records)
    assert all(list(replay(r))[-1].is_over for r in records)


def test_record_is_the_same_in_every_process_and_part(record_file):
    args = ["record", GAME, "--players", "3", "--seed", "4", "-o", "rounds=1"]
    command = [sys.executable, "-c", "from deckhand.train.cli import main; main()", *args, "--games", "3"]
    output = subprocess.run(command, capture_output=True, check=True).stdout
    assert output == record_file.read_bytes()
    # A game depends on its own seed only.
    alone = succeed(*args[:-3], 5, "-o", "rounds=1")
    assert alone.encode() in output


def test_record_with_an_agent_for_every_seat(tmp_path):
    args = ["record", GAME, "--players", 2, "-o", "rounds=1", "--seed", 1]
    texts = {succeed(*args, *agents) for agents in (["-a", "low"], ["-a", "random"], ["-a", "low,random"])}
    assert len(texts) == 3


def test_replay_prints_a_line_for_every_record(record_file):
    lines = succeed("replay", record_file).splitlines()
    assert len(lines) == 3
    assert all(f"{GAME}, 3 players, seed {4 + i}" in line for i, line in enumerate(lines))
    assert succeed("replay", record_file, "--game", 2).splitlines() == lines[1:2]


def test_replay_draws(record_file, tmp_path):
    record = next(iter(load_records(record_file)))
    positions = list(replay(record))
    text = succeed("replay", record_file, "--game", 1, "--draw")
    assert all(str(position) in text for position in positions)
    succeed("replay", record_file, "--game", 1, "--svg", tmp_path / "pictures")
    files = sorted((tmp_path / "pictures").iterdir())
    assert len(files) == len(positions)
    assert files[0].read_text() == record.game.paint(positions[0].record).svg()


def test_replay_of_given_chance():
    assert "seed 3" in succeed("replay", EXAMPLE, "--given")
    assert ": line 2: " in fail("replay", EXAMPLE, code=1)


BAD_INPUT = {
    "no such command": (["sail"], "No such command 'sail'"),
    "no game": (["record"], "Missing argument"),
    "unknown game": (["record", "chess"], "unknown game 'chess'; the games are: "),
    "unknown game to describe": (["describe", "chess"], "unknown game 'chess'"),
    "too many players": (["record", GAME, "--players", 7], "num_players cannot be 7; allowed are 2 to 6"),
    "players no number": (["record", GAME, "--players", "x"], "--players"),
    "unknown option": (["record", GAME, "-o", "speed=2"], "unknown option 'speed'; the options are: rounds"),
    "option value": (["record", GAME, "-o", "rounds=0"], "option 'rounds' cannot be 0"),
    "option type": (["record", GAME, "-o", "rounds=many"], "option 'rounds' cannot be 'many'"),
    "option without value": (["record", GAME, "-o", "rounds"], "option 'rounds' must be written key=value"),
    "option twice": (["record", GAME, "-o", "rounds=1", "-o", "rounds=2"], "given twice"),
    "option no YAML": (["record", GAME, "-o", "rounds=[1"], "no YAML"),
    "option no date": (["record", GAME, "-o", "rounds=2026-99-99"], "option 'rounds' cannot be '2026-99-99'"),
    "option too deep": (["record", GAME, "-o", f"rounds={'[' * 3000}"], "nested too deeply"),
    "seed": (["record", GAME, "--seed", -1], "seed cannot be -1"),
    "seed too large": (["record", GAME, "--seed", 2**53 - 1, "--games", 2], "seed cannot be"),
    "no games": (["record", GAME, "--games", 0], "greater than or equal to 1, not '0'"),
    "games no number": (["record", GAME, "--games", "many"], "not 'many'"),
    "too many games": (["simulate", GAME, "--games", 2**63], f"games cannot be {2**63}: it must be 2 at least and 10,000,000 at most"),
    "too many deals": (["evaluate", GAME, "--agents", "low,random", "--deals", 10**9], "10,000,000 at most"),
    "one file twice": (["evaluate", GAME, "--agents", "low,random", "--json", "x", "--csv", "./x"], "must name different files"),
    "endless measurement": (["bench", "--seconds", "inf"], "seconds cannot be inf"),
    "measurement of no time": (["bench", "--seconds", "nan"], "seconds cannot be nan"),
    "unknown agent": (["record", GAME, "--agents", "captain"], "unknown agent 'captain'"),
    "agents for other seats": (["record", GAME, "-p", 3, "-a", "low,low"], "2 agents do not fit 3 seats"),
    "seat": (["play", GAME, "--seat", 2], "seat cannot be 2; allowed are 0 to 1"),
    "too many agents": (["play", GAME, "--agents", "low,low"], "2 agents do not fit 1 other seats"),
    "agents of no seat": (["play", "alle_in_die_boote", "--players", 1, "--agents", "low"], "there are no other seats"),
    "empty agents": (["play", GAME, "--agents", ""], "unknown agent ''"),
    "no file": (["replay", "missing.jsonl"], "No such file or directory: missing.jsonl"),
    "a folder": (["replay", "."], "Is a directory"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args, words = BAD_INPUT[case]
    if args[0] == "record":
        args = [*args, "--out", "r.jsonl"]
    assert words in fail(*args)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_command_leaves_the_old_file(record_file):
    before = record_file.read_bytes()
    fail("record", GAME, "--players", 9, "--out", record_file)
    fail("record", GAME, "--seed", 2**53 - 1, "--games", 2, "--out", record_file)
    assert record_file.read_bytes() == before
    assert [path.name for path in record_file.parent.iterdir()] == [record_file.name]


def test_output_folder_must_exist(tmp_path):
    assert "no such folder" in fail("record", GAME, "--out", tmp_path / "missing" / "r.jsonl")
    assert "this is a folder" in fail("record", GAME, "--out", tmp_path)


def test_damaged_files(record_file, tmp_path):
    lines = record_file.read_text().splitlines(keepends=True)
    bad = tmp_path / "bad.jsonl"
    pictures = tmp_path / "pictures"
    damages = {
        "line 1: the file holds no record": [],
        "line 5: the record of line 1 is cut": lines[:5],
        f"line {len(lines)}: the line is cut": [*lines[:-1], lines[-1][:-5]],
        "line 3: action '99>3' is illegal": [*lines[:2], re.sub('"action":"[^"]*"', '"action":"99>3"', lines[2]), *lines[3:]],
    }
    for words, text in damages.items():
        bad.write_text("".join(text))
        result = run("replay", bad, "--svg", pictures)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"deckhand: {bad}: {words}")
        assert result.stderr.count("\n") == 1
        assert not pictures.exists()


def test_missing_record_number(record_file):
    assert "holds 3 records" in fail("replay", record_file, "--game", 4)


# A person plays.


def play(text, *args, seed=3):
    return succeed("play", GAME, "--players", 3, "--agents", "low,random", "-o", "rounds=1", "--seed", seed, *args, text=text)


def test_play_shows_only_what_the_seat_knows():
    position = Position.new(get_game(GAME), 3, {"rounds": 1}, 3)
    first = play("q\n").split("\n\n1: ")[0]
    assert str(position.view(0)) in first
    assert first.count("?") >= 20
    assert "You left the game." in play("q\n")


def test_play_takes_numbers_and_actions():
    position = Position.new(get_game(GAME), 3, {"rounds": 1}, 3)
    action = position.legal_actions()[1]
    by_number = play("2\nq\n")
    by_name = play(f"{position.action_to_string(action)}\nq\n")
    assert by_number == by_name
    assert "player 1: " in by_number


def test_play_helps_and_asks_again():
    text = play("?\n\n0\n999\n98>3\nahoy\nq\n")
    assert text.count("Enter the number") == 2
    assert text.count("is no legal action") == 4
    assert "load a card onto a boat" in text


def test_play_ends_with_the_scores():
    text = play("1\n" * 300)
    assert "scores " in text
    assert "winners " in text
    assert "You left" not in text


def test_play_stops_at_the_end_of_the_input():
    assert "You left the game." in play("1\n")


def test_play_another_seat():
    text = play("q\n", "--seat", 2)
    assert "player 2: you" in text
    shown = [line for line in text.splitlines() if line.startswith((">", " ")) and " player " in line]
    assert ["?" in line for line in shown] == [True, True, False]


@pytest.mark.parametrize("name", game_names())
def test_every_game_can_be_played_to_its_end(name):
    text = succeed("play", name, "--seed", 1, text="1\n" * 3000)
    assert "scores " in text


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "name a config, for example: deckhand train flotsam"),
        (("smoke", "--resume", "x"), "x goes on with its own config: leave out smoke\n"),
        (("--resume", "x", "--steps", 5), "x goes on with its own config: leave out budget.steps=5\n"),
    ],
)
def test_a_training_is_opened_by_a_config_or_by_its_folder(args, words):
    assert words in fail("train", *args)


# Processes.


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_slow_libraries_are_not_loaded():
    code = """
import sys
from deckhand.train.cli import app
assert not {"numba", "torch", "numpy"} & set(sys.modules), "importing the command line"
try:
    app(["list"])
except SystemExit as end:
    assert not end.code
assert not {"torch", "matplotlib"} & set(sys.modules), "deckhand list"
"""
    result = python(code)
    assert result.returncode == 0, result.stderr


def test_the_installed_command_refuses_in_one_line():
    result = subprocess.run([Path(sys.executable).parent / "deckhand", "record", "chess"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
