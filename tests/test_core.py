"""The parts under every game: generator, layout, options, canvas, registry, compiling, positions."""

import json
import os
import pickle
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from deckhand.envs import check_game, get_game, register_game
from deckhand.envs.core import Canvas, IllegalAction, Layout, OptionError, Piece, Position, RecordError, UnknownGame, record_dtype, rng
from deckhand.envs.core.ansi import plain, style
from deckhand.envs.core.check import CheckFailed
from deckhand.envs.core.yaml_text import read_yaml
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

GAME = get_game("flotsam_fight")
JIT = os.environ.get("NUMBA_DISABLE_JIT") != "1"


def generator(seed=1, stream=0):
    words = np.zeros(4, np.int64)
    rng.seed_rng(words, seed, stream)
    return words


# Styled text.


def test_styles_start_again_after_a_styled_part():
    text = style(f"a{style('b', 'red')}c", "bold")
    assert text == "\x1b[1ma\x1b[31mb\x1b[0m\x1b[1mc\x1b[0m"
    assert plain(text) == "abc"
    assert style("", "bold") == ""
    assert style("a") == "a"
    assert style("a", "reverse", "cyan") == "\x1b[7;36ma\x1b[0m"


# The generator.


class Sfc32:
    """sfc32 as its author wrote it, on 32-bit unsigned words."""

    def __init__(self, a, b, c, counter):
        self.a, self.b, self.c, self.counter = (np.array([x], np.uint32) for x in (a, b, c, counter))

    def __call__(self):
        with np.errstate(over="ignore"):
            result = self.a + self.b + self.counter
            self.counter = self.counter + np.uint32(1)
            self.a = self.b ^ (self.b >> np.uint32(9))
            self.b = self.c + (self.c << np.uint32(3))
            self.c = ((self.c << np.uint32(21)) | (self.c >> np.uint32(11))) + result
        return int(result[0])


@given(st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1))
def test_random_words_are_those_of_sfc32(seed, stream):
    ours = generator(seed, stream)
    reference = Sfc32(seed & 0xFFFFFFFF, seed >> 32, (stream & 0xFFFFFFFF) ^ 0x9E3779B9, (stream >> 32) + 1)
    for _ in range(16):
        reference()
    for _ in range(20):
        assert rng.random_word(ours) == reference()
        assert (ours >= 0).all()
        assert (ours < 2**32).all()


def test_known_answers_of_sfc32():
    # Worked out by hand: word = 1 + 2 + 4; a = 2 ^ 0; b = 3 + 24; c = (3 << 21) + 7; then word = 2 + 27 + 5.
    words = np.array([1, 2, 3, 4], np.int64)
    assert rng.random_word(words) == 7
    assert words.tolist() == [2, 27, (3 << 21) + 7, 5]
    assert rng.random_word(words) == 34


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 64, 137])
def test_randint_is_uniform(n):
    words = generator(n)
    counts = np.bincount([rng.randint(words, n) for _ in range(400 * n)], minlength=n)
    assert len(counts) == n
    if n > 1:
        assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("kind", [int, np.int16, np.int32, np.int64])
def test_randint_takes_every_integer_type_when_it_has_to_draw_again(kind):
    # Found by reading: a word of 0 needs the threshold, and NumPy refused 2**32 - int16.
    words = np.array([0, 0, 5, 0], np.int64)
    assert 0 <= rng.randint(words, kind(3)) < 3
    assert words[3] >= 2  # the first word was thrown away


def test_randint_of_large_ranges():
    words = generator(3)
    n = 2**31 - 1
    drawn = [rng.randint(words, n) for _ in range(4000)]
    assert 0 <= min(drawn) < n // 100
    assert n - n // 100 < max(drawn) < n
    assert chisquare(np.bincount([x * 10 // n for x in drawn])).pvalue > 1e-4


def test_random_unit():
    words = generator(4)
    drawn = np.array([rng.random_unit(words) for _ in range(4000)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert chisquare(np.bincount((drawn * 16).astype(int), minlength=16)).pvalue > 1e-4


def test_every_shuffle_is_equally_likely():
    words = generator(5)
    counts = {}
    for _ in range(4800):
        items = np.arange(5)
        rng.shuffle(words, items, 4)
        assert items[4] == 4
        counts[tuple(items)] = counts.get(tuple(items), 0) + 1
    assert len(counts) == 24
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_derived_seeds_are_distinct_and_in_range():
    found = {int(rng.derive_seed(seed, k)) for seed in (0, 1, 2, 2**53 - 1) for k in range(2000)}
    assert len(found) == 8000
    assert min(found) >= 0
    assert max(found) <= rng.MAX_SEED
    assert max(found) > rng.MAX_SEED // 2
    assert rng.derive_seed(12345, 0) == 12345


def test_near_seeds_and_streams_share_no_words():
    words = [rng.random_word(generator(seed, stream)) for seed in range(50) for stream in range(50)]
    assert len(set(words)) > 2490


@pytest.mark.skipif(not JIT, reason="compares compiled code with plain Python")
def test_compiled_and_plain_generators_agree():
    code = """
import numpy as np
from deckhand.envs.core import rng
w = np.zeros(4, np.int64); rng.seed_rng(w, 2**53 - 1, 2**40 + 7)
items = np.arange(30)
rng.shuffle(w, items, 30)
print([int(rng.random_word(w)) for _ in range(9)], [int(rng.randint(w, 7)) for _ in range(9)], float(rng.random_unit(w)), items.tolist())
print([int(rng.derive_seed(5, k)) for k in range(5)], w.tolist())
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": off}, capture_output=True, check=True
        ).stdout
        for off in "01"
    }
    assert len(outputs) == 1


# Layout.


def test_layout():
    layout = Layout(Piece("a", (2, 3), "x"), Piece("b", (), "one number", low=-1.0), Piece("c", (4,), "y", high=5.0))
    assert layout.size == 11
    assert layout["a"] == slice(0, 6)
    assert (layout.start("b"), layout.start("c")) == (6, 7)
    low, high = layout.bounds()
    assert low.dtype == high.dtype == np.float32
    assert low.tolist() == [0] * 6 + [-1] + [0] * 4
    assert high.tolist() == [1] * 7 + [5] * 4
    batch = np.arange(22, dtype=np.float32).reshape(2, 11)
    pieces = layout.unpack(batch)
    assert {k: v.shape for k, v in pieces.items()} == {"a": (2, 2, 3), "b": (2,), "c": (2, 4)}
    assert np.shares_memory(pieces["a"], batch)
    assert pieces["c"][1].tolist() == [18, 19, 20, 21]
    with pytest.raises(KeyError):
        layout["d"]


def test_layout_signatures_differ_with_every_change():
    base = Piece("a", (2,), "text")
    others = [
        Piece("b", (2,), "text"),
        Piece("a", (3,), "text"),
        Piece("a", (1, 2), "text"),
        Piece("a", (2,), "text", low=-1),
        Piece("a", (2,), "text", high=2),
    ]
    assert len({Layout(p).signature for p in [base, *others]} | {Layout(base, base).signature}) == 7
    assert Layout(base).signature == Layout(Piece("a", (2,), "other words")).signature


def test_records_have_no_padding_and_no_unsafe_names():
    for name in ("flotsam_fight",):
        dtype = get_game(name).dtype
        used = sum(dtype[field].itemsize for field in dtype.names)
        assert dtype.itemsize - used < 8
        assert np.all([dtype[field].base.kind in "if" for field in dtype.names])
    with pytest.raises(ValueError, match=r"cannot be named \['round', 'put'\]"):
        record_dtype(2, 4, [("round", np.int16), ("fine", np.int16), ("put", np.int16)])


# Canvas.


def every_shape():
    canvas = Canvas(120, 80, background="#102030")
    canvas.rect(5, 5, 20, 10, fill="#ff0000", stroke="#00ff00", width=2, radius=3)
    canvas.circle(50, 40, 10, fill="#0000ff")
    canvas.polygon([(80, 10), (100, 10), (90, 30)], fill="#ffffff")
    canvas.line(0, 79, 119, 79, stroke="#ffff00", width=3)
    canvas.text(60, 70, '<&"> ö', 10, "#ffffff", "start", bold=True)
    return canvas


def test_svg_is_well_formed_and_escaped():
    root = ElementTree.fromstring(every_shape().svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("viewBox") == "0 0 120 80"
    kinds = [child.tag.partition("}")[2] for child in root]
    assert kinds == ["rect", "rect", "circle", "polygon", "line", "text"]
    assert root[-1].text == '<&"> ö'
    assert every_shape().svg() == every_shape().svg()


def test_pixels_need_no_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    pixels = every_shape().pixels()
    assert pixels.shape == (80, 120, 3)
    assert pixels.dtype == np.uint8
    assert pixels[40, 50].tolist() == [0, 0, 255]
    assert pixels[10, 15].tolist() == [255, 0, 0]
    assert pixels[60, 10].tolist() == [0x10, 0x20, 0x30]
    assert every_shape().pixels(scale=0.5).shape == (40, 60, 3)


# Registry.


def test_unknown_games_are_named():
    with pytest.raises(UnknownGame) as error:
        get_game("flotsam")
    assert str(error.value).startswith("unknown game 'flotsam'; the games are: ")
    assert "flotsam_fight" in str(error.value)
    assert get_game("FlotsamFight-v0") is GAME
    with pytest.raises(UnknownGame):
        get_game("FlotsamFight-v1")


def test_a_game_registered_under_a_wrong_name_is_refused(monkeypatch):
    from deckhand.envs.core import registry

    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    register_game("other", "Other-v0", "deckhand.envs.flotsam_fight.table:FlotsamFight")
    with pytest.raises(ValueError, match="registered as 'other'"):
        get_game("other")


def test_check_game_wants_a_registered_game():
    with pytest.raises(CheckFailed, match="register the game first"):
        check_game(type(GAME)())
    with pytest.raises(OptionError, match="allowed are 2 to 6"):
        check_game(GAME, players=9)


# Compiling.


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_changed_dependency_is_compiled_anew(tmp_path):
    """The cached code of a kernel holds a copy of what it calls: a change there must be noticed."""
    for name, text in {
        "base/__init__.py": "",
        "base/inner.py": "from deckhand.envs.core import kernel\n@kernel\ndef inner(x):\n    return x + 1\n",
        "top/__init__.py": "",
        "top/outer.py": "from base.inner import inner\nfrom deckhand.envs.core import kernel\n"
        "@kernel\ndef outer(x):\n    return 10 * inner(x)\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run():
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        code = "from top.outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"
        return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout.split()

    assert run() == ["20", "0"]
    assert run() == ["20", "1"]
    inner = tmp_path / "base/inner.py"
    inner.write_text(inner.read_text().replace("x + 1", "x + 5"))
    assert run() == ["60", "0"]
    assert run() == ["60", "1"]


# Positions.


def position(players=3, seed=1, decisions=20):
    p = Position.new(GAME, players, {}, seed)
    chance = random.Random(seed)
    for _ in range(decisions):
        p.apply(chance.choice(p.legal_actions()))
    return p


def test_illegal_actions_name_everything_in_one_line():
    p = Position.new(GAME, 3, {}, 1)
    before = p.states.tobytes()
    legal = p.legal_strings()
    for action in (136, np.int64(136), -1, 137, 1.0, True, None, "pass", [1], np.array([1, 2])):
        with pytest.raises(IllegalAction) as error:
            p.apply(action)
        text = str(error.value)
        assert "\n" not in text
        assert f"illegal for player {p.to_move}" in text
        assert all(name in text for name in legal)
    with pytest.raises(IllegalAction, match=r"action 136 \(pass\) is illegal"):
        p.apply(np.int64(136))
    for name in ("pass", "", "3>4", "x", 5, None):
        with pytest.raises(IllegalAction, match=f"action {name!r} is illegal for player"):
            p.string_to_action(name)
    assert p.states.tobytes() == before


@pytest.mark.parametrize("seat", [-1, 3, 5, 6, 100, 1.0, None, True, "0"])
def test_seats_out_of_range_are_refused(seat):
    # Found by trying: compiled code read beyond the record without a word.
    p = position()
    for look in (p.observation, p.view, lambda s: p.resample(s, 1)):
        with pytest.raises(OptionError, match=r"seat cannot be .*: the seats of this game are 0 to 2"):
            look(seat)


@pytest.mark.parametrize("seed", [-1, 2**53, 1.0, "1", None, True])
def test_wrong_seeds_are_refused(seed):
    with pytest.raises(OptionError, match=r"seed cannot be .*: it must be an integer from 0 to 9007199254740991"):
        Position.new(GAME, 3, {}, seed)
    with pytest.raises(OptionError, match="seed cannot be"):
        position().resample(0, seed)


def test_options_with_strange_keys_are_refused():
    with pytest.raises(OptionError):
        GAME.parse_options({1: 2})


def test_equality_and_hash():
    p, q = position(), position()
    assert p == q
    assert hash(p) == hash(q)
    assert p != position(seed=2)
    assert p != "p"
    q.apply(q.legal_actions()[0])
    assert p != q
    assert pickle.loads(pickle.dumps(p)) == p
    assert repr(p) == "<FlotsamFight-v0, 3 players, decision 20, turn>"


CHANGES = {
    "to_move": [70000, 7, -2, True, 1.0, "1", None, [1], {}],
    "players": [99, 0, 4],
    "phase": [5, -1],
    "terminal": [1],
    "seed": [2**70, -1, 2],
    "rng": [[1, 2, 3], [2**40] * 4, 5],
    "reward": [[float("nan")] * 6, [1e400] * 6, [10**400] * 6, [0] * 5],
    "hand": [[[99] * 10] * 6, [[1] * 10] * 5, 3],
    "place": [[300] * 64, [-1] * 64, "x" * 64],
    "log_size": [5000, -1],
    "decisions": [-3, 21],
    "deck_size": [300],
}


@pytest.mark.parametrize(("field", "value"), [(f, v) for f, values in CHANGES.items() for v in values], ids=lambda v: str(v)[:20])
def test_changed_positions_are_refused(field, value):
    # Found by trying: 70000 was read as 4464, and every value that fitted its type was believed.
    saved = json.loads(position().to_json())
    assert saved["state"][field] != value
    saved["state"][field] = value
    with pytest.raises(RecordError) as error:
        Position.from_json(GAME, json.dumps(saved))
    assert "\n" not in str(error.value)


def test_cut_and_foreign_positions_are_refused():
    text = position().to_json()
    for cut in range(0, len(text), 97):
        with pytest.raises(RecordError, match="no saved position"):
            Position.from_json(GAME, text[:cut])
    for wrong in ("", "[]", "null", "5", '"x"', "{}", '{"game":"FlotsamFight-v0"}', "[" * 100000, None, 5):
        with pytest.raises(RecordError, match="no saved position"):
            Position.from_json(GAME, wrong)
    saved = json.loads(text)
    with pytest.raises(RecordError, match="is of 'Other-v0', not 'FlotsamFight-v0'"):
        Position.from_json(GAME, json.dumps({**saved, "game": "Other-v0"}))
    fields = dict(saved["state"])
    del fields["hand"]
    with pytest.raises(RecordError, match=r"other fields than FlotsamFight-v0: \['hand'\]"):
        Position.from_json(GAME, json.dumps({**saved, "state": fields}))
    with pytest.raises(RecordError, match="other fields"):
        Position.from_json(GAME, json.dumps({**saved, "state": {**saved["state"], "extra": 1}}))
    assert Position.from_json(GAME, text) == position()


def test_batches_are_copied_by_value():
    states = GAME.deal(4, {}, [1, 2, 3])
    copied = GAME.copy(states)
    GAME.loops.advance_all(states, np.array([int(np.flatnonzero(Position(GAME, states[i : i + 1]).mask())[0]) for i in range(3)]))
    assert copied.tobytes() == GAME.deal(4, {}, [1, 2, 3]).tobytes()
    assert copied.tobytes() != states.tobytes()


def test_the_suite_runs_on_the_sources_of_this_repository():
    import deckhand.envs

    assert Path(deckhand.envs.__file__).parent == Path(__file__).parent.parent / "envs"


def test_yaml_has_the_numbers_of_its_standard():
    assert read_yaml("{a: 7e-4, b: 1E3, c: [1, .5], d: text}") == {"a": 7e-4, "b": 1e3, "c": [1, 0.5], "d": "text"}
    assert read_yaml("") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: key 'a' stands twice"),
        ("b: {a: 1, a: 1}", "line 1: key 'a' stands twice"),
        ("? [a]\n: 1", r"line 1: key \['a'\] is no single value"),
        ("? {a: b}\n: 1", r"line 1: key \{'a': 'b'\} is no single value"),
        ("a: [", "line 1: "),
        ("a: 2026-99-99", "not YAML: month must be"),
        ("!!timestamp a", "not YAML: "),
        ("!!int ''", "not YAML: "),
        ("!!bool a", "not YAML: "),
        ("!!python/object:os.system {}", "line 1: could not determine a constructor"),
        ("[" * 600, "nested too deeply"),
        ("a: \0", "not YAML"),
    ],
)
def test_what_is_no_yaml_is_one_clear_line(text, words):
    with pytest.raises(ValueError, match=f"^{words}") as caught:
        read_yaml(text)
    assert "\n" not in str(caught.value)
