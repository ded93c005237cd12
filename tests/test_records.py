"""Game records: written, read, replayed, refused when damaged."""

import contextlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deckhand.envs.core import (
    Game,
    IllegalAction,
    OptionError,
    Position,
    RecordError,
    game_names,
    get_game,
    load_records,
    read_records,
    record_game,
    replay,
)
from deckhand.train.commands.record import record_games

HERE = Path(__file__).parent
GOLDEN = sorted((HERE / "golden").glob("*.jsonl"))
EXAMPLES = sorted((HERE / "data").glob("*.jsonl"))
TABLES = [(name, players) for name in game_names() for players in range(get_game(name).min_players, get_game(name).max_players + 1)]
# Options that change what chance does, or how a game ends.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "alle_in_die_boote": [{"level": "leicht", "open_queues": True, "own_lifebuoys": True}, {"level": "profi", "cost_even": 0}],
    "flotsam_fight": [{"rounds": 1, "reward": "game"}, {"rounds": 2, "lead_may_pass": True, "reward": "placement"}],
    "keltis": [{"max_turns": 10, "dense": True}, {"stone_with_point_card": False, "reward": "win"}],
    "piraten_pitt": [{"random_start": True, "attention": 0.5, "max_turns": 30}, {"arrow_variant": True, "turn_visibility": "blind"}],
}


def at_random(seed: int) -> Callable[[Position], int]:
    generator = random.Random(seed)
    return lambda position: generator.choice(position.legal_actions())


def check_round_trip(game: Game, players: int, options: dict[str, Any], seed: int) -> None:
    lines = record_game(game, players, options, seed, at_random(seed))
    # With another seed in the header, only the events tell what chance did.
    other_deal = [lines[0].replace(f'"seed":{seed}}}', f'"seed":{seed + 999}}}'), *lines[1:]]
    for text, chance in ((lines, "seed"), (lines, "given"), (other_deal, "given")):
        (record,) = read_records(text)
        *before, end = replay(record, chance)
        assert (record.game, record.num_players) == (game, players)
        assert record.options == game.parse_options(options)
        assert len(before) == len(record.decisions)
        assert end.is_over
        assert json.loads(text[-1]) == end.outcome()
        assert [p.to_move for p in before] == [line.data["player"] for line in record.decisions]
        sums = [sum(line.data["rewards"][seat] for line in record.decisions) for seat in range(players)]
        assert sums == pytest.approx(end.outcome()["returns"])


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_round_trip(name, players):
    for seed in range(2):
        check_round_trip(get_game(name), players, {}, seed)


@pytest.mark.parametrize(("name", "options"), [(name, options) for name in game_names() for options in OPTIONS[name]])
def test_round_trip_with_options(name, options):
    game = get_game(name)
    for seed in range(3):
        check_round_trip(game, game.max_players, options, seed)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_another_generator_replay_with_given_chance(path):
    records = list(load_records(path))
    assert records
    for record in records:
        assert [p.is_over for p in replay(record, "given")][-2:] == [False, True]
        with pytest.raises(RecordError, match=r"^line \d+: .*the rules give"):
            list(replay(record))


def test_there_is_a_golden_record_for_every_game_and_player_count():
    assert {path.stem for path in GOLDEN} == {f"{name}_{players}" for name, players in TABLES}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_record(path):
    text = path.read_bytes().decode("ascii")
    (record,) = load_records(path)
    assert f"{record.game.name}_{record.num_players}" == path.stem
    assert "".join(record_games(record.game, record.num_players, record.options, record.seed, 1, ["random"])) == text
    assert list(replay(record))[-1].outcome() == record.last.data


def test_plain_python_writes_the_same_records():
    script = f"""
from pathlib import Path
from deckhand.envs.core import load_records, replay
from deckhand.train.commands.record import record_games
for path in {[str(path) for path in GOLDEN]}:
    (r,) = load_records(path)
    assert "".join(record_games(r.game, r.num_players, r.options, r.seed, 1, ["random"])) == Path(path).read_text()
    list(replay(r, "given"))
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", script], env=environment, check=True)


def test_every_line_is_compact_ascii_json():
    for line in record_game(get_game("flotsam_fight"), 3, {}, 1, at_random(1)):
        assert line == json.dumps(json.loads(line), separators=(",", ":")) + "\n"
        assert line.isascii()


def test_many_records_stand_one_after_another():
    game = get_game("flotsam_fight")
    texts = [record_game(game, players, {"rounds": 1}, 5, at_random(5)) for players in (2, 4)]
    first, second = read_records(texts[0] + texts[1])
    assert (first.num_players, second.num_players) == (2, 4)
    assert second.header.number == len(texts[0]) + 1
    assert list(read_records([])) == []


def test_replayed_positions_are_independent_of_each_other():
    (record,) = read_records(record_game(get_game("flotsam_fight"), 2, {"rounds": 1}, 3, at_random(3)))
    positions = list(replay(record))
    again = Position.new(record.game, 2, record.options, 3)
    for position, line in zip(positions, record.decisions, strict=False):
        assert position == again
        again.apply(again.string_to_action(line.data["action"]))
    assert positions[-1] == again


def test_bad_arguments():
    game = get_game("flotsam_fight")
    with pytest.raises(OptionError, match="num_players"):
        record_game(game, 9, {}, 1, at_random(1))
    with pytest.raises(OptionError, match="unknown option 'rond'"):
        record_game(game, 3, {"rond": 1}, 1, at_random(1))
    with pytest.raises(OptionError, match="seed"):
        record_game(game, 3, {}, -1, at_random(1))
    with pytest.raises(IllegalAction, match="action 999"):
        record_game(game, 3, {}, 1, lambda position: 999)
    (record,) = read_records(record_game(game, 2, {"rounds": 1}, 1, at_random(1)))
    with pytest.raises(ValueError, match="'dice'"):
        list(replay(record, "dice"))


# Damage: a record of Flotsam Fight with resets and draws, one line of it changed.

SOUND = "".join(record_game(get_game("flotsam_fight"), 3, {}, 11, at_random(11))).splitlines(keepends=True)
SECOND_DECISION = 4  # lines count from 1: header, deal, decision, decision
DRAW = next(i for i, line in enumerate(SOUND, 1) if '"draw"' in line)
LAST_DRAW = next(i for i in range(DRAW, len(SOUND)) if '"draw"' in SOUND[i - 1] and '"draw"' not in SOUND[i])
ROUND_END = next(i for i, line in enumerate(SOUND, 1) if '"round_end"' in line)
LAST = len(SOUND)


def edit(number: int, pattern: str, replacement: str) -> list[str]:
    """The sound record with one line changed."""
    changed, count = re.subn(pattern, replacement, SOUND[number - 1], count=1)
    assert count == 1
    assert changed != SOUND[number - 1]
    return [*SOUND[: number - 1], changed, *SOUND[number:]]


def set_field(number: int, **fields: Any) -> list[str]:
    data = {**json.loads(SOUND[number - 1]), **fields}
    return [*SOUND[: number - 1], json.dumps(data, separators=(",", ":")) + "\n", *SOUND[number:]]


def drop(number: int) -> list[str]:
    return SOUND[: number - 1] + SOUND[number:]


def repeat(number: int) -> list[str]:
    return SOUND[:number] + SOUND[number - 1 :]


def legal(number: int) -> list[str]:
    return json.loads(SOUND[number - 1])["legal"]


DAMAGES: dict[str, tuple[list[str], int, str]] = {
    "version": (edit(1, "deckhand/1", "deckhand/2"), 1, "unknown version 'deckhand/2'"),
    "game": (edit(1, "flotsam_fight", "flotsam"), 1, "unknown game 'flotsam'"),
    "game of wrong type": (edit(1, '"flotsam_fight"', "[]"), 1, "unknown game"),
    "no header": (drop(1), 1, "must begin with its header"),
    "header field missing": (edit(1, '"players":3,', ""), 1, "the header lacks 'players'"),
    "header field unknown": (edit(1, '"players":3', '"players":3,"table":1'), 1, "the header cannot have 'table'"),
    "header order": (edit(1, '"game":"flotsam_fight","players":3', '"players":3,"game":"flotsam_fight"'), 1, "another order"),
    "player count": (edit(1, '"players":3', '"players":7'), 1, "num_players cannot be 7"),
    "player count type": (edit(1, '"players":3', '"players":"3"'), 1, "num_players cannot be '3'"),
    "seed": (edit(1, '"seed":11', '"seed":-11'), 1, "seed cannot be -11"),
    "seed type": (edit(1, '"seed":11', '"seed":11.5'), 1, "seed cannot be 11.5"),
    "options type": (edit(1, r'"options":\{.*?\}', '"options":3'), 1, '"options" cannot be 3'),
    "option unknown": (edit(1, '"rounds":3', '"rounds":3,"speed":1'), 1, "unknown option 'speed'"),
    "option missing": (edit(1, '"rounds":3,', ""), 1, "lacks 'rounds'"),
    "option order": (edit(1, r'"rounds":3,"lead_may_pass":false', '"lead_may_pass":false,"rounds":3'), 1, "another order"),
    "option value": (edit(1, '"rounds":3', '"rounds":0'), 1, "option 'rounds' cannot be 0"),
    "option type": (edit(1, '"rounds":3', '"rounds":"3"'), 1, "option 'rounds' cannot be '3'"),
    "no JSON": (edit(SECOND_DECISION, r"\}", ""), SECOND_DECISION, "not JSON"),
    "no object": ([*SOUND[:2], "[1]\n", *SOUND[2:]], 3, "no JSON object"),
    "empty line": ([*SOUND[:2], "\n", *SOUND[2:]], 3, "empty"),
    "spaces": (edit(SECOND_DECISION, ",", ", "), SECOND_DECISION, "compact ASCII JSON"),
    "field twice": (edit(SECOND_DECISION, '"player"', '"player":0,"player"'), SECOND_DECISION, "compact ASCII JSON"),
    "not ASCII": (edit(SECOND_DECISION, '"action":"', '"action":"\u00e9'), SECOND_DECISION, "compact ASCII JSON"),
    "not a number": (edit(SECOND_DECISION, r'"rewards":\[0', '"rewards":[NaN'), SECOND_DECISION, "not JSON"),
    "Windows line end": (edit(SECOND_DECISION, "\n", "\r\n"), SECOND_DECISION, "compact ASCII JSON"),
    "unknown line": ([*SOUND[:2], '{"note":"hello"}\n', *SOUND[2:]], 3, "no event, decision or last line"),
    "decision field missing": (edit(SECOND_DECISION, r',"rewards":\[.*?\]', ""), SECOND_DECISION, "a decision lacks 'rewards'"),
    "decision field unknown": (edit(SECOND_DECISION, r"\}", ',"time":1}'), SECOND_DECISION, "a decision cannot have 'time'"),
    "action of wrong type": (set_field(SECOND_DECISION, action=5), SECOND_DECISION, '"action" must be a string'),
    "illegal action": (set_field(SECOND_DECISION, action="98>3"), SECOND_DECISION, "action '98>3' is illegal"),
    "no action": (set_field(SECOND_DECISION, action="jump"), SECOND_DECISION, "action 'jump' is illegal"),
    "other legal action": (set_field(3, action=next(a for a in legal(3) if a not in SOUND[2].split('"action"')[1])), 4, ""),
    "wrong player": (edit(SECOND_DECISION, r'"player":\d', '"player":5'), SECOND_DECISION, '"player" is 5'),
    "legal action missing": (
        set_field(SECOND_DECISION, legal=legal(SECOND_DECISION)[:-1]),
        SECOND_DECISION,
        '"legal" has [] too many and lacks',
    ),
    "legal action added": (
        set_field(SECOND_DECISION, legal=[*legal(SECOND_DECISION), "zz"]),
        SECOND_DECISION,
        '"legal" has ["zz"] too many',
    ),
    "legal unsorted": (set_field(SECOND_DECISION, legal=legal(SECOND_DECISION)[::-1]), SECOND_DECISION, "not sorted"),
    "rewards": (set_field(SECOND_DECISION, rewards=[1, 0, 0]), SECOND_DECISION, '"rewards" is [1,0,0], the rules give [0,0,0]'),
    "too few rewards": (set_field(SECOND_DECISION, rewards=[0, 0]), SECOND_DECISION, '"rewards" is [0,0], the rules give [0,0,0]'),
    "event missing": (drop(2), 2, 'event {"event":"deal"'),
    "draw missing": (drop(LAST_DRAW), LAST_DRAW, 'event {"event":"draw"'),
    "event twice": (repeat(ROUND_END), ROUND_END + 1, ""),
    "unknown event": ([*SOUND[:3], '{"event":"storm"}\n', *SOUND[3:]], 4, 'do not produce the event {"event":"storm"}'),
    "event field": (edit(DRAW, r'"player":\d', '"player":9'), DRAW, '"player" is 9'),
    "event name": (edit(DRAW, '"draw"', '"drew"'), DRAW, ""),
    "event name of wrong type": (edit(DRAW, '"draw"', "1"), DRAW, '"event" must be a string'),
    "impossible card": (edit(DRAW, r'"card":\d+', '"card":11'), DRAW, ""),
    "card of wrong type": (edit(DRAW, r'"card":\d+', '"card":[]'), DRAW, ""),
    "card that is not in the pile": (edit(DRAW, r'"card":\d+', f'"card":{json.loads(SOUND[2])["action"].split(">")[0]}'), DRAW, ""),
    "event without its field": (edit(DRAW, r',"card":\d+', ""), DRAW, ""),
    "points": (set_field(ROUND_END, points=[9, 9, 9]), ROUND_END, '"points" is [9,9,9]'),
    "decision missing": (drop(SECOND_DECISION), SECOND_DECISION, '"player" is'),
    "decision twice": (repeat(SECOND_DECISION), SECOND_DECISION + 1, ""),
    "last line too early": (SOUND[:5] + SOUND[-1:], 6, "too early"),
    "scores": (set_field(LAST, scores=[9, 9, 9]), LAST, '"scores" is [9,9,9]'),
    "winners": (set_field(LAST, winners=[0, 1, 2]), LAST, '"winners" is [0,1,2]'),
    "returns": (set_field(LAST, returns=[9, 9, 9]), LAST, '"returns" is [9,9,9]'),
    "truncated": (set_field(LAST, truncated=True), LAST, '"truncated" is true'),
    "last line with more": (set_field(LAST, rank="captain"), LAST, "the rules give"),
    "decision after the end": ([*SOUND[:-1], SOUND[3], SOUND[-1]], LAST, "over before this line"),
    "event after the end": ([*SOUND[:-1], SOUND[ROUND_END - 1], SOUND[-1]], LAST, "over before this line"),
    "cut after a line": (SOUND[:10], 10, "the record of line 1 is cut"),
    "cut within a line": ([*SOUND[:9], SOUND[9][:20]], 10, "does not end with a newline"),
    "cut before the next record": (SOUND[:10] + SOUND, 11, "the record of line 1 has no last line"),
    "text at the end": ([*SOUND, "the end\n"], LAST + 1, "not JSON"),
    "line without record": ([*SOUND, SOUND[2]], LAST + 1, "must begin with its header"),
}


@pytest.mark.parametrize("chance", ["seed", "given"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found(damage, chance):
    lines, number, words = DAMAGES[damage]
    with pytest.raises(RecordError) as caught:
        [list(replay(record, chance)) for record in read_records(lines)]
    message = str(caught.value)
    assert message.startswith(f"line {number}: ")
    assert words in message
    assert "\n" not in message
    assert len(message) < 2000


def random_damage(lines: list[str], generator: random.Random) -> list[str]:
    """The record with one line dropped, doubled, exchanged with the next or cut, or one character changed."""
    i = generator.randrange(len(lines) - 1)
    line = lines[i]
    k = generator.randrange(len(line))
    return generator.choice(
        [
            lines[:i] + lines[i + 1 :],
            lines[: i + 1] + lines[i:],
            [*lines[:i], lines[i + 1], line, *lines[i + 2 :]],
            [*lines[:i], line[:k] + "\n", *lines[i + 1 :]],
            [*lines[:i], line[:k] + generator.choice('09aA["{}],:-\n ') + line[k + 1 :], *lines[i + 1 :]],
        ]
    )


@pytest.mark.parametrize("name", game_names())
def test_random_damage_is_refused_and_never_breaks_the_reader(name):
    path = min((path for path in GOLDEN if path.stem.startswith(name)), key=lambda path: path.stat().st_size)
    sound = path.read_text().splitlines(keepends=True)
    generator = random.Random(name)
    for _ in range(60):
        lines = random_damage(sound, generator)
        if lines == sound:
            continue
        with pytest.raises(RecordError, match=r"^line \d+: "):
            [list(replay(record)) for record in read_records(lines)]
        # Chance may have done what the damage says.
        with contextlib.suppress(RecordError):
            [list(replay(record, "given")) for record in read_records(lines)]


def test_the_sound_record_is_sound():
    (record,) = read_records(SOUND)
    assert list(map(str, replay(record))) == list(map(str, replay(record, "given")))


def test_numbers_are_compared_by_value_when_chance_is_given():
    lines = edit(SECOND_DECISION, r'"rewards":\[0,', '"rewards":[-0.0,')
    (record,) = read_records(lines)
    assert list(replay(record, "given"))[-1].is_over
    with pytest.raises(RecordError, match=f"line {SECOND_DECISION}: "):
        list(replay(record))


def test_another_seed_is_found_at_the_deal():
    (record,) = read_records(edit(1, '"seed":11', '"seed":12'))
    with pytest.raises(RecordError, match=r"line 2: .*chance='given'"):
        list(replay(record))


def test_files_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(128, 256)) + b"\n")
    with pytest.raises(RecordError, match="line 1: this is not JSON"):
        list(load_records(path))
