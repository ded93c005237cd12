"""Piraten-Pitt: worked examples, board files, chests, meetings, what is hidden, options, agents. Numbers refer to the rules page."""

import copy
import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest
from deckhand.agents.rules import piraten_pitt as bots
from deckhand.envs import get_game
from deckhand.envs.core import IllegalAction, OptionError, Position
from deckhand.envs.core.records import load_records, replay
from deckhand.envs.piraten_pitt import rules
from deckhand.envs.piraten_pitt.board import load_board, parse_board
from deckhand.envs.piraten_pitt.observation import LAYOUT
from hypothesis import given, settings
from hypothesis import strategies as st
from invariants import INVARIANTS

GAME = get_game("piraten_pitt")
BOARD = load_board("proposal-a")
NODE = {name: i for i, name in enumerate(BOARD.ids)}
FILE = json.loads((Path(__file__).parent.parent / "envs/piraten_pitt/boards/proposal-a.json").read_text())
MIRROR = {NODE[a]: NODE[b] for a, b in FILE["mirror"].items()}
PHASE = {name: i for i, name in enumerate(GAME.phases)}


def new(players=4, seed=1, **options):
    return Position.new(GAME, players, options, seed)


def roll(p, face, player=None):
    """Put the position at the start of a turn with a given roll."""
    s = p.states
    seat = int(s["roller"][0]) if player is None else player
    s["roller"], s["to_move"], s["die"] = seat, seat, 5 if face == "P" else face
    s["phase"] = PHASE["pirate" if face == "P" else "move"]
    return p


def put(p, pirate=None, **sailors):
    """Put sailors (``s0="r5"``) and the pirate on nodes."""
    for name, node in sailors.items():
        p.states["position"][0, int(name[1:])] = NODE[node]
    if pirate:
        p.states["pirate"] = NODE[pirate]
    return p


def load(p, seat, side_0, side_1, secured=0):
    """Fill a chest by side; everybody knows. The gems come from the first hideouts."""
    s = p.states[0]
    a = int(s["orientation"][seat]) >> 1
    s["content"][seat, a], s["content"][seat, 1 - a] = side_0, side_1
    s["loaded"][seat] = side_0 + side_1
    s["score"][seat] = secured
    s["gem"][seat] = [int(h >= side_0 + side_1 + secured) for h in range(5)]
    for observer in [*range(p.num_players), rules.PUBLIC]:
        s["belief"][observer, seat] = 0
        s["belief"][observer, seat, side_0] = 1
    return p


def piles(p, seat):
    """Gems on side 0 and side 1."""
    s = p.record
    a = int(s["orientation"][seat]) >> 1
    return int(s["content"][seat, a]), int(s["content"][seat, 1 - a])


def play(p, *texts):
    for text in texts:
        p.apply(p.string_to_action(text))
    return p


def targets(p):
    return {text.split()[1] for text in p.legal_strings()}


def some_games(players, seed, **options):
    """Every position of a random game."""
    p = new(players, seed, **options)
    rng = random.Random(seed)
    while not p.is_over:
        yield p
        p.apply(rng.choice(p.legal_actions()))
    yield p


# Movement.

SAILOR = {
    "ES1": ("bay", 1, "m3", "bay r0 r24"),
    "ES2": ("bay", 4, "m3", "bay r0 r1 r2 r3 r21 r22 r23 r24"),
    "ES3": ("bay", 4, "r0", "bay r21 r22 r23 r24"),
    "ES4": ("h1", 4, "r3", "h1"),
    "ES5": ("h1", 4, "r2", "h1 r3 r4 r5 r6"),
    "ES6": ("r5", 3, "r6", "h1 r2 r3 r4 r5"),
    "ES7": ("r5", 4, "m1", "h1 h2 r1 r2 r3 r4 r5 r6 r7 r8 r9"),
    "ES8": ("r1", 4, "m3", "bay h1 r0 r1 r2 r3 r4 r5 r22 r23 r24"),
    "ES9": ("m2", 2, "m2", "r6 m1 m2 m3 m4"),
    "ES10": ("h3", 2, "h3", "h3 r11 r12 r13"),
    "ES11": ("r12", 1, "h3", "r11 r12 r13"),
}


@pytest.mark.parametrize("case", SAILOR)
def test_sailor_targets(case):
    start, face, pirate, expected = SAILOR[case]
    p = put(roll(new(), face), pirate, s0=start)
    assert targets(p) == set(expected.split())


PIRATE = {
    "EP1": ("m3", {}, "r6 r18 m1 m2 m4 m5"),
    "EP2": ("m3", {"s1": "m4"}, "r6 m1 m2 m4"),
    "EP3": ("m3", {"s1": "m2", "s0": "m4"}, "m2 m4"),
    "EP4": ("r2", {}, "h1 r0 r1 r3 r4 r5 r24"),
    "EP5": ("r2", {"s1": "r1"}, "h1 r1 r3 r4 r5"),
    "EP6": ("h1", {}, "r1 r2 r3 r4 r5"),
    "EP7": ("h1", {"s2": "r3"}, "r3"),
    "EP8": ("r6", {"s0": "r7", "s1": "m1", "s2": "r4"}, "r4 r5 r7 m1"),
    "EP9": ("r12", {"s1": "h3"}, "h3 r9 r10 r11 r13 r14 r15"),
}


@pytest.mark.parametrize("case", PIRATE)
def test_pirate_targets(case):
    start, sailors, expected = PIRATE[case]
    p = put(roll(new(), "P"), start, **sailors)
    assert targets(p) == set(expected.split())


def test_the_pirate_may_reverse_by_option():
    """27: then he may step away and back, also onto a sailor who shares his field."""
    assert "r5" not in targets(put(roll(new(), "P"), "r5", s1="r5"))
    p = put(roll(new(pirate_may_reverse=True), "P"), "r5", s1="r5")
    assert "r5" in targets(p)
    load(p, 1, 1, 0)
    assert play(p, "pirate r5").phase == "turn"


def test_entering_the_bay_ends_the_move_and_secures():
    """22."""
    p = roll(put(load(new(), 0, 2, 1), s0="r1"), 4)
    play(p, "move bay")
    assert p.record["score"][0] == 3
    assert piles(p, 0) == (0, 0)
    assert not p.record["terminal"]
    assert p.to_move == 1


def test_e1_the_fifth_gem_ends_the_game_at_once():
    p = roll(put(load(new(3, dense=False), 0, 0, 1, secured=4), s0="r1"), 4)
    play(p, "move bay")
    assert p.is_over
    assert p.outcome() == {"scores": [5, 0, 0], "winners": [0], "returns": [1, -0.5, -0.5], "truncated": False}
    assert p.events() == []


# Chests.


@pytest.mark.parametrize(("axis", "k"), [(axis, k) for axis in (0, 1) for k in (1, 2, 3)])
def test_table_7_1(axis, k):
    other_side = {(0, 1): False, (0, 2): True, (0, 3): True, (1, 1): True, (1, 2): True, (1, 3): False}[axis, k]
    for half in (0, 2):
        p = new(2)
        p.states["orientation"][0, 1] = axis + half
        load(p, 1, 3, 1)
        play(roll(put(p, "r5", s1="r6"), "P"), "pirate r6", f"turn {k}")
        assert piles(p, 1) == ((1, 3) if other_side else (3, 1))
        assert p.record["orientation"][1] & 1 == (axis + k) % 2
        for seat in (0, 1):
            assert p.record["belief"][seat, 1, 1 if other_side else 3] == 1


def test_ec1_to_ec3():
    p = roll(put(new(2), "r9", s0="r3"), 1, 0)
    play(p, "move h1", "stow 0")
    assert p.record["orientation"][0] == 0
    play(put(roll(p, "P", 1), "r4", s1="bay"), "pirate r3")
    roll(put(p, "r4"), "P", 1)
    play(put(p, s0="r3"), "pirate r3", "turn 1")
    assert (p.record["orientation"][0], piles(p, 0)) == (1, (1, 0))
    play(p, "show 1")
    play(roll(put(p, "r4"), "P", 1), "pirate r3", "turn 2")
    assert (p.record["orientation"][0], piles(p, 0)) == (3, (0, 1))
    play(p, "show 0")
    play(roll(put(p, "r4"), "P", 1), "pirate r3", "turn 3")
    assert (p.record["orientation"][0], piles(p, 0)) == (2, (0, 1))
    play(p, "show 1")
    assert p.phase == "place"
    assert p.record["to_place"] == 1
    assert (p.record["robberies"][0], p.record["gems_lost"][0]) == (1, 1)


def meeting(p, owner=1, node="r6", turn="turn 2"):
    """Seat 0 moves the pirate onto the owner's sailor and turns the chest."""
    return play(roll(put(p, "r5", **{f"s{owner}": node}), "P", 0), f"pirate {node}", turn)


def placements(p):
    """All ways to place the taken gems, as sets of hideouts."""
    if p.phase != "place":
        return {frozenset()}
    found = set()
    for text in p.legal_strings():
        found |= {rest | {text.split()[1]} for rest in placements(play(p.clone(), text))}
    return found


def test_ec4_ec5_placements():
    p = meeting(load(new(), 1, 2, 1, secured=1))
    assert len(placements(play(p.clone(), "show 0"))) == 4
    assert len(placements(play(p.clone(), "show 1"))) == 6
    p = meeting(load(new(), 1, 2, 0))
    assert placements(play(p.clone(), "show 1")) == {frozenset({"h1", "h2"})}
    assert play(p, "show 0").phase in ("move", "pirate")


def test_ec6_blind_turns():
    for k, side_0, sure in ((1, 1, False), (3, 0, False), (2, 0, True)):
        p = meeting(load(new(turn_visibility="blind"), 1, 1, 0), turn=f"turn {k}")
        assert piles(p, 1) == (side_0, 1 - side_0)
        assert p.record["orientation"][1] & 1 == k % 2
        assert p.record["belief"][1, 1, side_0] == (1 if sure else 0.5)
        assert all(p.record["belief"][seat, 1, side_0] == 1 for seat in (0, 2, 3))
        after = play(p.clone(), "show 0")
        assert after.record["belief"][1, 1].max() == 1


# Meetings.


def test_em1_own_sailor_is_left_alone():
    p = roll(put(load(load(new(), 0, 1, 0), 2, 1, 0), "r5", s0="r6", s2="r6"), "P", 0)
    play(p, "pirate r6")
    assert (p.phase, p.to_move, p.record["met"]) == ("turn", 0, 2)
    play(p, "turn 1")
    assert (p.phase, p.to_move) == ("show", 2)
    play(p, "show 1")
    assert (p.to_move, p.phase) in ((1, "move"), (1, "pirate"))


def test_em2_each_met_sailor_clockwise_from_the_roller():
    p = new()
    for seat in (0, 2, 3):
        load(p, seat, 1, 0)
    roll(put(p, "r5", s0="r6", s2="r6", s3="r6"), "P", 1)
    play(p, "pirate r6")
    for owner in (2, 3, 0):
        assert (p.phase, p.to_move, p.record["met"]) == ("turn", 1, owner)
        play(p, "turn 1")
        assert (p.phase, p.to_move) == ("show", owner)
        play(p, "show 0")
        assert (p.phase, p.to_move) == ("place", 1)
        play(p, p.legal_strings()[0])
    assert p.to_move == 2


def test_em3_only_the_own_sailor():
    p = roll(put(load(new(), 0, 1, 0), "r5", s0="r6"), "P", 0)
    play(p, "pirate r6")
    assert p.to_move == 1
    assert p.phase in ("move", "pirate")


def test_empty_chests_are_passed_over_by_option():
    """36."""
    for skip in (True, False):
        p = play(roll(put(new(skip_empty_chest=skip), "r5", s1="r6"), "P", 0), "pirate r6")
        assert (p.phase == "turn") != skip
        if not skip:
            play(p, "turn 1")
            assert p.legal_strings() == ["show 0", "show 1"]
            assert play(p, "show 1").record["meetings"].tolist() == [0, 0, 0, 0]


G1 = [
    (0, 4, "move r3"),
    (1, 2, "move r23"),
    (0, 1, "move h1", "stow 0"),
    (1, "P", "pirate r6"),
    (0, 3, "move r5"),
    (1, "P", "pirate r5", "turn 1", "show 1"),
    (0, "P", "pirate r2"),
    (1, 3, "move h5", "stow 1"),
    (0, 4, "move h2", "stow 0"),
    (1, "P", "pirate r5"),
    (0, 2, "move r9"),
    (1, "P", "pirate r8"),
    (0, "P", "pirate m1"),
    (1, "P", "pirate r8"),
    (0, 1, "move r10"),
    (1, "P", "pirate r10", "turn 2", "show 1", "place h1", "place h2"),
]


def test_g1():
    p = new(2)
    for line, (player, face, *texts) in enumerate(G1, 1):
        assert p.record["roller"] == player
        roll(p, face)
        if line == 5:
            assert "r6" not in targets(p)
        for text in texts:
            assert p.to_move == (0 if text.startswith("show") else player)
            play(p, text)
        if line == 3:
            assert piles(p, 0) == (1, 0)
        if line == 4:
            assert p.record["meetings"].tolist()[:2] == [0, 0]
        if line == 6:
            assert (p.record["orientation"][0], piles(p, 0)) == (1, (1, 0))
        if line == 8:
            assert piles(p, 1) == (0, 1)
        if line == 9:
            assert piles(p, 0) == (2, 0)
    assert p.record["orientation"][0] == 3
    assert p.record["gem"][0].tolist() == [1, 1, 1, 1, 1]
    assert p.record["loaded"].tolist()[:2] == [0, 1]
    assert [BOARD.ids[n] for n in p.record["position"][:2]] == ["r10", "h5"]
    assert BOARD.ids[p.record["pirate"]] == "r10"
    assert p.record["gems_lost"][0] == 2


def test_g1_line_16_shown_the_other_way():
    p = new(2)
    for player, face, *texts in G1[:-1]:
        play(roll(p, face, player), *texts)
    play(roll(p, "P", 1), "pirate r10", "turn 2")
    placed = play(p.clone(), "show 1")
    assert placed.legal_strings() == ["place h1", "place h2"]
    assert play(p, "show 0").record["loaded"][0] == 2


def test_the_example_record():
    [record] = load_records(Path(__file__).parent / "data" / "piraten_pitt_1.jsonl")
    assert list(replay(record, "given"))[-1].is_over


# Options.


def test_collect_on_stay_and_decline():
    """21, 19."""
    for stay in (True, False):
        p = roll(put(new(collect_on_stay=stay), s0="h1"), 3, 0)
        assert (play(p, "move h1").phase == "stow") == stay
    for decline in (True, False):
        p = play(roll(put(new(allow_decline=decline), s0="r3"), 1, 0), "move h1")
        assert ("decline" in p.legal_strings()) == decline
    p = play(roll(put(new(), s0="r3"), 1, 0), "move h1", "decline")
    assert p.record["gem"][0, 0] == 1
    assert p.to_move == 1


def test_literal_english_turns():
    p = play(roll(put(load(new(turn_options=[1, 3]), 1, 1, 0), "r5", s1="r6"), "P", 0), "pirate r6")
    assert p.legal_strings() == ["turn 1", "turn 3"]


def test_arrow_variant():
    """38."""
    p = roll(put(load(new(arrow_variant=True), 2, 1, 0), s0="r0"), 2, 0)
    stayed = play(roll(put(p.clone(), s0="r1"), 2, 0), "move r1")
    assert stayed.to_move == 1
    play(p, "move r1")
    assert p.phase == "arrow"
    assert p.legal_strings() == ["arrow 2 1", "arrow 2 2", "arrow 2 3", "decline"]
    turned = play(p.clone(), "arrow 2 2")
    assert piles(turned, 2) == (0, 1)
    assert turned.to_move == 1
    assert turned.phase in ("move", "pirate")
    assert piles(play(p, "decline"), 2) == (1, 0)
    assert play(roll(put(new(arrow_variant=True), s0="r0"), 2, 0), "move r1").to_move == 1
    assert play(roll(put(load(new(), 2, 1, 0), s0="r0"), 2, 0), "move r1").to_move == 1


def test_random_start():
    assert {new(seed=k, random_start=True).to_move for k in range(40)} == {0, 1, 2, 3}
    assert {new(seed=k).to_move for k in range(10)} == {0}
    p = new(seed=3, random_start=True)
    assert p.events()[0] == {"event": "start", "starter": p.to_move}
    assert p.events()[1]["player"] == p.to_move


def test_truncation():
    p = list(some_games(3, 5, max_turns=7))[-1]
    assert p.record["turn_no"] == 7
    assert p.outcome()["truncated"]
    assert p.outcome()["winners"] == []
    assert not p.record["terminal"]


def test_dense_rewards():
    p = roll(put(load(new(3, dense=True), 1, 2, 0), s1="r0"), 1, 1)
    play(p, "move bay")
    assert np.allclose(p.record["reward"][:3], [-0.1, 0.2, -0.1])
    p = roll(put(load(new(2, dense=True), 0, 1, 0, secured=4), s0="r0"), 1, 0)
    assert np.allclose(play(p, "move bay").record["reward"][:2], [1.1, -1.1])


def test_progress_rewards():
    """A step nearer home pays 0.02, and what it costs the others is shared; a robbery costs the owner what the gems are away."""
    p = play(roll(put(new(3, reward="progress"), s0="r1"), 2, 0), "move r3")
    assert np.allclose(p.record["reward"][:3], [0.04, -0.02, -0.02])
    p = meeting(load(new(2, reward="progress"), 1, 1, 0), node="r3")
    before = rules.steps_home(p.states[0], 1, NODE["r3"])
    play(p, f"show {piles(p, 1).index(1)}")
    assert not p.record["reward"].any()
    play(p, "place h1")
    assert rules.steps_home(p.states[0], 1, NODE["r3"]) == before + 2
    assert np.allclose(p.record["reward"][:2], [0.04, -0.04])
    p = roll(put(load(new(2, reward="progress"), 0, 1, 0, secured=4), s0="r1"), 2, 0)
    assert np.allclose(play(p, "move bay").record["reward"][:2], [1.04, -1.04])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"turn_options": []}, "turn_options"),
        ({"turn_options": [3, 1]}, "ascend"),
        ({"turn_options": [4]}, "turn_options"),
        ({"attention": 1.5}, "attention"),
        ({"memory": "perfect"}, "'events' or 'features'"),
        ({"board": "atlantis"}, "proposal-a"),
        ({"board": "/no/such.json"}, "No such file"),
        ({"max_turns": 0}, "max_turns"),
        ({"crew": 3}, "unknown option"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(OptionError, match="piraten_pitt") as error:
        new(**options)
    assert words in str(error.value)


def test_option_order_is_the_header_order():
    names = (
        "board turn_options turn_visibility memory event_window attention stow_visibility collect_on_stay allow_decline "
        "pirate_may_reverse skip_empty_chest arrow_variant random_start max_turns reward dense"
    )
    assert list(GAME.options.model_fields) == names.split()


# Board files.


def broken(change):
    data = copy.deepcopy(FILE)
    change(data)
    return data


def link(data, a, b):
    data["adjacency"][a].append(b)
    data["adjacency"][b].append(a)


def cut(data, a, b):
    data["adjacency"][a].remove(b)
    data["adjacency"][b].remove(a)


def retype(data, name, kind):
    next(n for n in data["nodes"] if n["id"] == name)["type"] = kind


FAULTS = {
    "format": (lambda d: d.update(format="x"), "format"),
    "id twice": (lambda d: d["nodes"][8].update(id="h3"), "'h3' stands twice"),
    "one-way": (lambda d: d["adjacency"]["r4"].remove("r5"), "'r5' lies beside 'r4', but not the other way round"),
    "unknown node": (lambda d: d["adjacency"]["r4"].append("r77"), "'r4' lies beside 'r77'"),
    "unknown key": (lambda d: d["adjacency"].update(r77=["r4"]), "names the node 'r77'"),
    "itself": (lambda d: d["adjacency"]["r4"].append("r4"), "'r4' cannot lie beside itself"),
    "no neighbours": (lambda d: d["adjacency"].pop("m2"), "'m2' needs a list"),
    "no bay": (lambda d: retype(d, "bay", "path"), "exactly one node of type 'bay'"),
    "two bays": (lambda d: retype(d, "r7", "bay"), "exactly one node of type 'bay'"),
    "other start": (lambda d: d.update(pirate_start="m2"), "names the node 'm2'"),
    "no start": (lambda d: retype(d, "m3", "path"), "exactly one node of type 'pirate_start'"),
    "start is a hideout": (lambda d: retype(d, "m3", "hideout"), "exactly one node of type 'pirate_start'"),
    "four hideouts": (lambda d: (retype(d, "h2", "path"), d["hideouts"].remove("h2")), "5 hideouts, not 4"),
    "unlisted hideout": (lambda d: d["hideouts"].remove("h2"), "'h2' has type 'hideout'"),
    "wrong type": (lambda d: retype(d, "r9", "swamp"), "'r9' cannot have type 'swamp'"),
    "long id": (lambda d: d["nodes"][9].update(id="a very long name"), "'a very long name'"),
    "no place": (lambda d: d["nodes"][9].update(xy=[1]), "'r3' needs 'xy'"),
    "apart": (lambda d: _island(d), "not connected"),
    "apart without the bay": (lambda d: _bridge(d), "not connected without the bay"),
    "too many": (lambda d: d["nodes"].append({"id": "x", "type": "path", "xy": [0, 0]}), "at most 36"),
}


def _island(d):
    cut(d, "m2", "m1")
    cut(d, "m5", "r18")


def _bridge(d):
    for a, b in (("m1", "r6"), ("m5", "r18")):
        cut(d, a, b)
    link(d, "m1", "bay")


@pytest.mark.parametrize("fault", FAULTS)
def test_damaged_boards_are_refused(fault):
    change, words = FAULTS[fault]
    with pytest.raises(ValueError, match=r"^[^\n]+$") as error:
        parse_board(broken(change))
    assert words in str(error.value)


def test_a_hideout_with_two_accesses_is_a_warning():
    with pytest.warns(UserWarning, match="'h1' has 2 access fields"):
        parse_board(broken(lambda d: link(d, "h1", "r2")))


def test_a_smaller_board_from_a_file(tmp_path):
    data = copy.deepcopy(FILE)
    for gone in ("r7", "r17"):
        data["nodes"] = [n for n in data["nodes"] if n["id"] != gone]
        beside = data["adjacency"].pop(gone)
        for name in beside:
            data["adjacency"][name] = [o for o in data["adjacency"][name] if o != gone] + [o for o in beside if o != name]
    path = tmp_path / "small.json"
    path.write_text(json.dumps({**data, "name": "small"}))
    p = list(some_games(4, 3, board=str(path), max_turns=150))[-1]
    assert p.record["nodes"] == 34
    assert "r7" not in GAME.node_names(p.record)
    assert p.observation(0).shape == (LAYOUT.size,)
    path.write_text("{")
    with pytest.raises(OptionError, match="board"):
        new(board=str(path))


def test_9_3_properties_of_the_board():
    degrees = sorted(len(n) for n in BOARD.neighbours)
    assert [degrees.count(d) for d in (1, 2, 3)] == [5, 22, 9]
    assert sum(degrees) == 2 * 38
    between = "h1-h2 7, h1-h3 11, h1-h4 13, h1-h5 9, h2-h3 6, h2-h4 10, h2-h5 13, h3-h4 6, h3-h5 11, h4-h5 7"
    ends = "bay-h1 5, bay-h2 10, bay-h3 14, bay-h4 10, bay-h5 5"
    for text in f"{ends}, {between}".split(", "):
        pair, steps = text.split()
        a, b = pair.split("-")
        goals = [*BOARD.hideouts, BOARD.bay]
        assert BOARD.steps[goals.index(NODE[b])][NODE[a]] == BOARD.steps[goals.index(NODE[a])][NODE[b]] == int(steps)
    p = new()
    assert rules.steps_home(p.states[0], 0, NODE["bay"]) == 36
    p.states["gem"][0, 0] = [0, 0, 0, 0, 1]
    assert rules.steps_home(p.states[0], 0, NODE["h1"]) == 9 + 5
    p.states["gem"][0, 0] = 0
    assert [rules.steps_home(p.states[0], 0, NODE[node]) for node in ("bay", "r2", "m3")] == [0, 3, 10]


# Invariants.


@pytest.mark.needs_jit
@settings(max_examples=12)
@given(
    players=st.integers(2, 4),
    seed=st.integers(0, 10**6),
    blind=st.booleans(),
    arrow=st.booleans(),
    stow=st.sampled_from(["all", "owner"]),
    attention=st.sampled_from([0.0, 0.5, 1.0]),
    turns=st.sampled_from([[1, 2, 3], [1, 3], [2], [1, 2]]),
)
def test_invariants(players, seed, blind, arrow, stow, attention, turns):
    options = {
        "turn_visibility": "blind" if blind else "open",
        "arrow_variant": arrow,
        "stow_visibility": stow,
        "attention": attention,
        "turn_options": turns,
        "max_turns": 250,
    }
    secured = np.zeros(4)
    for p in crowded(new(players, seed, **options), seed):
        s = p.record
        n = p.num_players
        INVARIANTS["piraten_pitt"](p)  # I1 .. I4
        assert p.is_over or p.legal_actions()  # I5
        assert (s["score"] >= secured).all()  # I6
        secured = s["score"].copy()
        for seat, chest in itertools.product(range(n), range(n)):
            if attention == 1 and (chest == seat or stow == "all") and not (blind and chest == seat):
                assert s["belief"][seat, chest, piles(p, chest)[0]] == 1  # I7


def crowded(p, seed):
    """Random play in which the pirate seeks meetings and sailors seek gems, so that chests fill and are robbed."""
    rng = random.Random(seed)
    while not p.is_over:
        yield p
        legal = p.legal_actions()
        s = p.record
        if p.phase == "pirate":
            legal = [a for a in legal if any(s["position"][o] == a and o != p.to_move for o in range(p.num_players))] or legal
        elif p.phase == "move":
            legal = [a for a in legal if s["node_kind"][a] >= rules.HIDEOUT] or legal
        p.apply(rng.choice(legal))
    yield p


@pytest.mark.needs_jit
def test_i8_one_pile_and_memory_never_lose():
    agents = [hunter(1.0)] * 4
    for seed in range(4):
        p = finish(new(4, seed), agents, seed)
        assert p.record["robberies"].sum() == 0
        assert p.record["meetings"].sum() > 0
        assert p.record["right_shows"].sum() == p.record["shows"].sum() > 0


def hunter(recall):
    """Kind and parameters of a hunter who shows the right side with probability ``recall``."""
    kind, (_, *others) = bots.AGENTS["hunter"]
    return kind, (recall, *others)


def finish(p, agents, seed, look=lambda p: None):
    rng = np.array([seed, 2, 3, 4], np.int64)
    while not p.is_over:
        look(p)
        kind, params = agents[p.to_move]
        p.apply(int(bots.decide(kind, p.view(p.to_move).record, p.mask(), rng, np.array(params))))
    return p


def test_i10_mirror_and_rotation():
    for face in (1, 2, 3, 4, "P"):
        rng = random.Random(str(face))
        for _ in range(20):
            nodes = rng.sample(range(36), 5)
            p, q = new(), new()
            for seat in range(4):
                p.states["position"][0, seat] = nodes[seat]
                q.states["position"][0, (seat + 1) % 4] = MIRROR[nodes[seat]]
            p.states["pirate"] = nodes[4] or 1
            q.states["pirate"] = MIRROR[nodes[4] or 1]
            roll(p, face, 0)
            roll(q, face, 1)
            assert {MIRROR[a] for a in p.legal_actions()} == set(q.legal_actions())


# What is hidden (7.4).

LEAKY = [
    {},
    {"turn_visibility": "blind"},
    {"event_window": "last"},
    {"event_window": "current"},
    {"event_window": "none"},
    {"attention": 0.3, "stow_visibility": "owner", "arrow_variant": True},
]


def swap_piles(p, chest):
    q = p.clone()
    q.states["content"][0, chest] = q.states["content"][0, chest, ::-1].copy()
    return q


@pytest.mark.needs_jit
@pytest.mark.parametrize("options", LEAKY)
def test_leaks_1_2_4_5(options):
    """Neither the piles nor o mod 4 reach observations, masks, strings, events, texts, drawings or rewards."""
    seen = 0
    for p in crowded(new(4, 11, max_turns=150, **options), 11):
        uneven = [chest for chest in range(4) if len(set(piles(p, chest))) == 2]
        shown = everything_shown(p) if uneven else []
        for chest in uneven:
            seen += 1
            swapped = swap_piles(p, chest)
            half_turned = swapped.clone()
            half_turned.states["orientation"][0, chest] ^= 2
            assert everything_shown(swapped) == shown
            assert everything_shown(half_turned) == shown
        if p.phase in ("stow", "show"):
            assert {f"{p.phase} 0", f"{p.phase} 1"} <= set(p.legal_strings())
    assert seen > 20


def everything_shown(p):
    observations, views = ([look(seat) for seat in range(4)] for look in (lambda seat: p.observation(seat).tobytes(), p.view))
    return [*observations, p.mask().tobytes(), p.legal_strings(), str(p), GAME.paint(p.record).svg(), p.events(), *views]


def test_knowledge_is_shown_only_with_memory_features():
    p = load(new(), 1, 3, 1)
    assert not p.observation(0)[LAYOUT["knowledge"]].any()
    q = meeting(load(new(memory="features", turn_visibility="blind"), 1, 3, 1), turn="turn 1")
    knows = LAYOUT.unpack(q.observation(0))["knowledge"]
    assert np.allclose(knows[1], [0.6, 0.2, 1, 0, 0])
    owner = LAYOUT.unpack(q.observation(1))["knowledge"]
    assert np.allclose(owner[0], [0.2, 0.6, 0.5, 0, 0])
    one_pile = meeting(load(new(memory="features"), 1, 3, 0))
    assert np.allclose(LAYOUT.unpack(one_pile.observation(1))["knowledge"][0], [0, 0.6, 1, 1, 0])


def events_of(p, chest, seat):
    """What a seat is shown of the past of a chest, newest first."""
    rows = LAYOUT.unpack(p.observation(seat))["events"][(chest - seat) % p.num_players]
    return [{-1: "stow", 1: "show"}.get(int(kind), "turn" if turn else "unload") for _, kind, turn, axis, *_ in rows if axis]


def show_empty(p):
    """The met owner shows the empty side."""
    return play(p, f"show {piles(p, int(p.record['met'])).index(0)}")


def test_leak_3_event_windows():
    p = meeting(load(new(), 1, 1, 0))
    assert events_of(p, 1, 1) == ["turn"]
    show_empty(p)
    assert events_of(p, 1, 1) == ["show"]  # cleared at the own decision
    assert events_of(p, 1, 0) == events_of(p, 1, 2) == ["show", "turn"]
    assert events_of(p, 2, 1) == []
    p = meeting(load(new(event_window="current"), 1, 2, 1))
    assert events_of(p, 1, 1) == events_of(p, 1, 3) == ["turn"]
    play(p, "show 0")
    assert events_of(p, 1, 0) == events_of(p, 1, 3) == ["show"]
    while p.phase == "place":
        play(p, p.legal_strings()[0])
    assert events_of(p, 1, 3) == []
    assert events_of(meeting(load(new(event_window="none"), 1, 1, 0)), 1, 1) == []


def test_the_last_eight_events_of_every_chest():
    p = roll(put(new(event_window="last"), "r9", s1="r3"), 1, 1)
    play(p, "move h1", "stow 0")
    for _ in range(3):
        show_empty(meeting(p))
    assert events_of(p, 1, 1) == events_of(p, 1, 3) == ["show", "turn", "show", "turn", "show", "turn", "stow"]
    play(roll(put(p, "m3", s1="r0"), 1, 1), "move bay")
    assert events_of(p, 1, 1) == ["unload", "show", "turn", "show", "turn", "show", "turn", "stow"]
    play(roll(put(p, s1="r8"), 1, 1), "move h2", "stow 1")
    assert events_of(p, 1, 1) == ["stow", "unload", "show", "turn", "show", "turn", "show", "turn"]
    assert events_of(p, 0, 1) == []


def test_what_an_event_says():
    p = meeting(load(new(), 1, 3, 1), turn="turn 3")
    p.states["fresh"][0, 1] = 1
    turn = LAYOUT.unpack(p.observation(1))["events"][0, 0]
    assert np.allclose(turn, [0, 0, 1, 1, 0, 1])  # axis 0 by 3: the other side, axis 1; the actor sits left of the owner by 3 places
    play(p, "show 1")
    show = LAYOUT.unpack(p.observation(0))["events"][1, 0]
    assert np.allclose(show, [-1, 1, 0, 1, 0.6, 1 / 3])
    p = play(roll(put(load(new(), 1, 3, 0), "m3", s1="r16"), 1, 1), "move h4", "stow 0")
    assert np.allclose(LAYOUT.unpack(p.observation(3))["events"][2, 0], [-1, -1, 0, -1, 0.6, 2 / 3])


@pytest.mark.needs_jit
def test_the_last_events_tell_where_the_pile_is():
    """For an owner of one pile: the newest event is the turn, the one before it the last sight of the pile."""
    seen = 0

    def look(p):
        nonlocal seen
        if p.phase == "show":
            (_, _, turn, *_), (side, *_), *_ = LAYOUT.unpack(p.observation(p.to_move))["events"][0]
            pile = side * (-turn)
            assert piles(p, p.to_move)[int(pile > 0)] == p.record["loaded"][p.to_move]
            seen += 1

    for seed in range(3):
        finish(new(4, seed, event_window="last"), [hunter(1.0)] * 4, seed, look)
    assert seen > 30


@pytest.mark.needs_jit
@pytest.mark.parametrize("options", [{}, {"arrow_variant": True, "pirate_may_reverse": True, "skip_empty_chest": False}])
def test_eight_events_always_suffice(options):
    """No chest has more of them between two decisions of a seat."""
    most = 0
    for seed in range(6):
        since = np.zeros((4, 4), int)  # by seat and chest
        last = None
        for p in crowded(new(4, seed, max_turns=200, **options), seed):
            if last is not None:
                since[last.to_move] = 0
                since[:, chests_used(last, p)] += 1
            assert p.record["fresh"].tolist() == since.tolist()
            most = max(most, since.max())
            last = p.clone()
    assert 3 <= most <= rules.WINDOW


def chests_used(before, after):
    """The chests of which a decision made an event."""
    seat, a, b = before.to_move, before.record, after.record
    if before.phase in ("turn", "show"):
        return [int(a["met"])]
    if before.phase == "stow":
        return [seat] * int(b["loaded"][seat] > a["loaded"][seat])
    if before.phase == "move":
        return [seat] * int(b["position"][seat] == b["bay"] != a["position"][seat])
    return np.flatnonzero(a["orientation"] != b["orientation"]).tolist()


def test_targets():
    """What a node promises the seat that chooses one."""

    def targets_of(p, seat):
        return LAYOUT.unpack(p.observation(seat))["targets"]

    p = roll(put(new(), s0="r3"), 2, 0)
    assert np.allclose(targets_of(p, 0)[[NODE[node] for node in ("r3", "h1", "r2", "r4", "r5", "bay")]], [0, 0.25, -0.25, -0.25, -0.5, -1])
    assert not targets_of(p, 1).any()
    assert np.isclose(LAYOUT.unpack(p.observation(0))["players"][0, 12], (1 + 7 + 6 + 6 + 7 + 5) / 50)
    p = roll(put(load(load(new(), 1, 2, 1), 2, 1, 0), "r7", s0="r5", s1="r6", s2="r6"), "P", 0)
    assert np.allclose(targets_of(p, 0), 0.6 * (np.arange(36) == NODE["r6"]))
    p = play(meeting(load(new(), 1, 2, 1), node="r3"), "show 0")
    assert targets_of(p, 0)[NODE["h3"]] == 10 / 36
    assert not targets_of(p, 1).any()


@pytest.mark.needs_jit
def test_blind_owners_and_inattentive_players_are_not_told():
    p = meeting(load(new(turn_visibility="blind"), 1, 1, 0))
    assert events_of(p, 1, 1) == []
    assert all(events_of(p, 1, seat) == ["turn"] for seat in (0, 2, 3))
    before = play(roll(put(load(new(turn_visibility="blind"), 1, 1, 0), "r5", s1="r6"), "P", 0), "pirate r6")
    action = before.string_to_action("turn 2")
    assert GAME.told(before.record, action, 1) == "turn ?"
    assert GAME.told(before.record, action, 2) == "turn 2"
    p = play(roll(put(new(stow_visibility="owner"), s0="r3"), 1, 0), "move h1", "stow 1")
    assert events_of(p, 0, 0) == ["stow"]
    assert events_of(p, 0, 1) == []
    assert p.record["belief"][1, 0, :2].tolist() == [0.5, 0.5]
    told = [bool(events_of(meeting(load(new(seed=k, attention=0.25), 1, 1, 0)), 1, 1)) for k in range(200)]
    assert 25 <= sum(told) <= 75
    for k in range(10):
        assert events_of(meeting(load(new(seed=k, attention=0.0), 1, 1, 0)), 1, 0) == ["turn"]


@pytest.mark.needs_jit
def test_told_makes_the_same_draw_as_the_decision():
    for seed in range(20):
        p = play(roll(put(new(3, seed, attention=0.5), s0="r3"), 1, 0), "move h1")
        action = p.string_to_action("stow 1")
        texts = [GAME.told(p.record, action, seat) for seat in range(3)]
        p.apply(action)
        assert [("stow" in events_of(p, 0, seat)) for seat in range(3)] == [text == "stow 1" for text in texts]


@pytest.mark.parametrize("options", LEAKY)
def test_worlds_fit_what_the_seat_knows(options):
    rng = random.Random(0)
    for p in crowded(new(3, 4, max_turns=120, **options), 4):
        if p.is_over or rng.random() > 0.15:
            continue
        for seat in range(3):
            world = p.resample(seat, rng.randrange(1000))
            assert world.view(seat) == p.view(seat)
            assert (world.record["content"].sum(1) == world.record["loaded"]).all()
            for chest in range(3):
                assert world.record["belief"][seat, chest, piles(world, chest)[0]] > 0
                assert all(world.record["belief"][o, chest, piles(world, chest)[0]] > 0 for o in range(3))


@pytest.mark.needs_jit
def test_worlds_of_a_blind_owner_are_even():
    p = meeting(load(new(turn_visibility="blind"), 1, 1, 0), turn="turn 1")
    found = [piles(p.resample(1, k), 1)[0] for k in range(400)]
    assert 150 <= sum(found) <= 250
    assert {piles(p.resample(2, k), 1)[0] for k in range(20)} == {1}
    assert p.resample(2, 1).record["belief"][1, 1, :2].tolist() == [0.5, 0.5]


# Statistics and agents.


def test_show_accuracy_by_age():
    p = load(new(), 1, 1, 0)
    for _ in range(4):
        meeting(p, turn="turn 2")
        play(p, f"show {0 if piles(p, 1)[0] == 0 else 1}")
    counts = {name: values[0] for name, values in GAME.statistics(p.states).items()}
    ages = [f"show_accuracy_turned_{age}" for age in ("once", "twice", "more")]
    assert [counts[age][1].tolist() for age in ages] == [[1, 1], [1, 1], [2, 2]]
    meeting(p)
    play(p, f"show {0 if piles(p, 1)[0] else 1}")
    counts = {name: values[0] for name, values in GAME.statistics(p.states).items()}
    assert counts["show_accuracy_turned_more"][1].tolist() == [2, 3]
    assert counts["show_accuracy"][1].tolist() == [4, 5]
    assert (counts["meetings"][1], counts["robberies"][1], counts["gems_lost"][1]) == (5, 1, 1)


@pytest.mark.needs_jit
def test_recall_is_the_share_of_right_shows():
    agents = [hunter(0.8)] * 4
    right = shows = 0
    for seed in range(12):
        p = finish(new(4, seed), agents, seed)
        right += p.record["right_shows"].sum()
        shows += p.record["shows"].sum()
    assert shows > 150
    assert abs(right / shows - 0.8) < 4 * (0.16 / shows) ** 0.5


@pytest.mark.needs_jit
def test_a_rule_agent_decides_by_its_view_alone():
    rng = np.array([1, 2, 3, 4], np.int64)
    for k, p in enumerate(crowded(new(4, 9, turn_visibility="blind", max_turns=150), 9)):
        if p.is_over:
            break
        for kind, params in (bots.AGENTS["collector"], hunter(1.0)):
            worlds = (p, p.resample(p.to_move, k), p.resample(p.to_move, k + 1))
            choices = {int(bots.decide(kind, q.view(q.to_move).record, q.mask(), rng.copy(), np.array(params))) for q in worlds}
            assert len(choices) == 1
            assert p.mask()[choices.pop()]


@pytest.mark.needs_jit
def test_memory_beats_guessing():
    """7.4: one player with perfect memory wins about three games of four against three who show a random side."""
    agents = [hunter(1.0), *[hunter(0.5)] * 3]
    wins = sum(int(finish(new(4, seed), agents, seed).record["winner"][0]) for seed in range(40))
    assert wins >= 20


def test_illegal_actions_are_refused():
    p = roll(new(), 1)
    with pytest.raises(IllegalAction):
        p.string_to_action("move h1")
    with pytest.raises(IllegalAction):
        p.string_to_action("pirate r0")
    with pytest.raises(IllegalAction):
        p.apply(rules.SIDE_0)
