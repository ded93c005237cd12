"""Keltis: worked examples, every rule, options, rewards, hidden information, and the oracle. K numbers refer to envs/keltis/README.md."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from deckhand.agents import RuleAgent, make_agent
from deckhand.agents.compiled_agent import compiled_numbers
from deckhand.agents.rules import rule_set
from deckhand.envs import get_game
from deckhand.envs.core import IllegalAction, OptionError, Position, load_records, replay
from deckhand.envs.core.agent import show_turns
from deckhand.envs.keltis import rules
from deckhand.envs.keltis.table import CARD_NAMES, LETTERS
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_keltis import DECK, ORDER, Oracle

GAME = get_game("keltis")
TYPE = {name: i for i, name in enumerate(ORDER)}


def new(players=2, seed=1, **options):
    return Position.new(GAME, players, options, seed)


def table(hands, rows=(), neutral=(), stones=(), stock=40, piles=None, seat=0, left=None, **options):
    """A position built card by card: ``hands`` and ``rows`` (colour to card names) a seat; the stock holds cards that are left over."""
    p = new(len(hands), **options)
    s = p.states[0]
    for name in ("hand", "hand_size", "known", "on_table", "in_piles", "pile", "pile_size"):
        s[name][:] = 0
    used = Counter()
    for player, cards in enumerate(hands):
        cards = sorted(cards.split(), key=ORDER.index)
        used += Counter(cards)
        s["hand_size"][player] = len(cards)
        s["hand"][player][: len(cards)] = [TYPE[c] for c in cards]
    for player, own in enumerate(rows):
        for colour, text in own.items():
            for card in text.split():
                used[card] += 1
                row = LETTERS.index(colour)
                s["laid"][s["laid_size"]] = TYPE[card]
                s["laid_row"][s["laid_size"]] = 6 * player + row
                s["laid_size"] += 1
                s["on_table"][TYPE[card]] += 1
                if row == 5:
                    s["neutral"][player] += 1
                    continue
                s["row_size"][player][row] += 1
                if card.endswith("E"):
                    s["closed_rows"] += s["row_ends"][player][row] == 0
                    s["row_ends"][player][row] += 1
                elif card[0] != "N":
                    value = int(card[1:])
                    if s["row_last"][player][row] not in (-1, value):
                        s["row_direction"][player][row] = 1 if value > s["row_last"][player][row] else -1
                    s["row_last"][player][row] = value
    for player, values in enumerate(stones):
        s["stones"][player] = len(values)
        s["stone_owner"][[v - 1 for v in values]] = player
    for letter, text in (piles or {}).items():
        for card in text.split():
            used[card] += 1
            pile = LETTERS.index(letter)
            s["pile"][pile][s["pile_size"][pile]] = TYPE[card]
            s["pile_size"][pile] += 1
            s["in_piles"][TYPE[card]] += 1
            s["on_table"][TYPE[card]] += 1
    rest = list((Counter(DECK) - used).elements())
    s["deck"][:] = -1
    s["deck"][:stock] = [TYPE[c] for c in rest[:stock]]
    s["stock"] = stock
    if len(hands) == 2:
        removed = rest[stock : stock + rules.REMOVED]
        s["deck"][rules.CARDS - rules.REMOVED :][: len(removed)] = [TYPE[c] for c in removed]
        stock += rules.REMOVED
    np.add.at(s["on_table"], [TYPE[c] for c in rest[stock:]], 1)  # the rest counts as seen
    s["to_move"] = seat
    if left is not None:
        s["max_turns"] = left
    for player in range(len(hands)):
        own = rows[player] if player < len(rows) else {}
        size = {c: len(text.split()) for c, text in own.items()}
        points = sum(rules.ROW_SCORE[min(n, 9)] for c, n in size.items() if c != "N") + size.get("N", 0)
        s["score"][player] = points + rules.STONE_SCORE[min(s["stones"][player], 5)]
    return p


def play(p, *actions):
    for text in actions:
        p.apply(p.string_to_action(text))
    return p


def legal(p, start=""):
    return [a for a in p.legal_strings() if a.startswith(start)]


def mirror(p, oracle):
    """Everything the oracle knows agrees with the record."""
    s = p.record
    assert p.legal_strings() == oracle.legal()
    assert p.is_over == oracle.over
    assert [int(x) for x in s["score"][: oracle.n]] == oracle.scores()
    for seat in range(oracle.n):
        hand = [CARD_NAMES[c] for c in s["hand"][seat][: s["hand_size"][seat]]]
        assert hand == sorted(oracle.hands[seat], key=ORDER.index)
        assert [v + 1 for v in range(9) if s["stone_owner"][v] == seat] == sorted(oracle.stones[seat])
        for k, colour in enumerate("RYGBP"):
            cards = [CARD_NAMES[c] for c in GAME._row(s, seat, k)]
            assert cards == oracle.rows[seat][colour]
        told = {1: True, -1: False}.get(int(s["lay_known"][seat]))
        assert told == oracle.asked.get(seat)
    for k, letter in enumerate("RYGBPN"):
        assert [CARD_NAMES[c] for c in GAME._pile(s, k)] == oracle.piles[letter]
    assert int(s["stock"]) == len(oracle.stock)
    if not p.is_over:
        assert p.to_move == oracle.mover


def oracle_of(p, **options):
    s = p.record
    n = p.num_players
    hands = [[CARD_NAMES[c] for c in s["hand"][i]] for i in range(n)]
    stock = [CARD_NAMES[c] for c in s["deck"][: s["stock"]][::-1]]
    return Oracle(hands, stock, p.to_move, **options)


# Random games against the oracle


@pytest.mark.needs_jit
@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("options", [{}, {"stone_with_point_card": False, "max_turns": 12}, {"max_turns": 0}])
def test_oracle_equals_engine(players, options):
    rng = np.random.default_rng(players)
    ends = Counter()
    for seed in range(12):
        p = new(players, seed, **options)
        oracle = oracle_of(p, **options)
        while True:
            mirror(p, oracle)
            if p.is_over:
                break
            actions = p.legal_strings()
            ends_row = [a for a in actions if a.startswith("lay") and a.endswith("E")]
            # Games that seek, avoid or ignore the end by rows.
            preferred = (ends_row, [a for a in actions if a not in ends_row], actions)[seed % 3] or actions
            text = preferred[rng.integers(len(preferred))]
            play(p, text)
            oracle.play(text)
            ends.update(e["reason"] for e in p.events() if e["event"] == "end")
        scores = oracle.scores()
        assert p.outcome()["scores"] == scores
        assert p.outcome()["winners"] == [i for i in range(players) if scores[i] == max(scores)]
    assert ends["rows"] > 0
    assert ends["stock"] > 0


# Worked examples


def example(**options):
    a = {"R": "R0 R3 R3 N3 R5 R6 R7 R9", "B": "B10 B8 B7 B7 B4", "G": "G5 GE", "P": "P6", "N": "N1 N2"}
    b = {"R": "RE", "B": "B2 B3 B5 BE", "G": "G1 G2 G5 G6 G8 G9 G10", "Y": "Y7 Y7 Y4 Y4 Y3 Y1", "P": "P0 P4 P4 P7 P8 P10 PE PE"}
    p = table(["RE B3 P8 Y9", "N10 Y0 Y2"], [a, b], stones=[(1, 2, 3), (4,)], stock=20, seat=0, **options)
    return play(p, "lay RE")


def test_worked_example_scores():
    p = example()
    assert p.phase == "final"
    assert [int(x) for x in p.record["score"][:2]] == [11, 12]
    assert p.events() == [{"event": "end", "reason": "rows", "player": 0}]
    assert p.to_move == 1  # K7: the player after the ender first
    play(p, "lay N10 on G", "lay Y0")
    assert p.to_move == 0
    play(p, "lay B3", "lay P8")
    assert p.outcome() == {"scores": [13, 16], "winners": [1], "returns": [-3, 3], "truncated": False}


def test_worked_example_second_end_card_on_a_row_does_not_count_again():
    rows = [{"R": "RE", "G": "G5 GE"}, {"B": "BE", "P": "PE"}]
    p = table(["PE R1", "PE BE"], [{**rows[0], "R": "RE RE"}, {**rows[1], "P": "P1 PE"}], seat=1)
    play(p, "lay PE")
    assert p.phase == "draw"  # four rows, the pink one with two end cards


@pytest.mark.parametrize(
    ("row", "yes", "no"),
    [
        ("R7 R7", "R4 R9 RE", ""),
        ("R7 R7 R4", "R4 R3 RE", "R5"),
        ("R4 R6", "R6 R7 RE", "R5 R3"),
        ("R7 RE", "RE", "R7 R9"),
        ("RE", "RE", "R0 R10"),
        ("", "R0 R7 RE", ""),
    ],
)
def test_worked_example_legality(row, yes, no):
    p = table([" ".join([yes, no]), "Y0"], [{"R": row}])
    assert legal(p, "lay") == sorted(f"lay {c}" for c in yes.split())


def test_worked_example_point_cards_on_rows():
    p = table(["N7 N4", "Y0"], [{"R": "R7 R7", "G": "G7 G7 G4", "B": "B7 BE", "P": ""}])
    assert legal(p, "lay") == ["lay N4", "lay N4 on G", "lay N7", "lay N7 on R"]
    play(p, "lay N7 on R", "draw stock")
    s = p.record
    assert (s["row_last"][0][0], s["row_direction"][0][0], s["row_size"][0][0]) == (7, 0, 3)  # K4 d: changes neither


def test_worked_example_pairs():
    p = table(["R5 R5 N5 G0 B0 N10 P10", "Y1 Y2"], piles={"R": "R1", "N": "N1", "G": "G2"})
    assert legal(p, "stone") == ["stone R5 N5", "stone R5 R5"]
    a = play(p.clone(), "stone R5 N5")
    assert legal(a) == ["draw G", "draw stock"]
    assert legal(play(a, "draw stock")) == ["draw G", "draw stock"]  # K5: blocked for both draws
    b = play(p.clone(), "stone R5 R5")
    assert legal(b) == ["draw G", "draw N", "draw stock"]
    play(b, "draw N", "draw G")
    assert (b.to_move, b.phase) == (1, "act")


def test_score_table():
    assert [int(x) for x in rules.ROW_SCORE] == [0, -4, -3, -2, 1, 2, 3, 6, 7, 10]
    assert [int(x) for x in rules.STONE_SCORE] == [-4, -1, 0, 4, 6, 10]
    p = table(["R0", "Y0"], [{"R": "R0 R1 R2 R3 R3 R4 R4 R5 R5 R6", "N": "N1"}], stones=[(1, 2, 3, 4, 5, 6)])
    play(p, "discard R0", "draw stock")
    assert p.record["score"][0] == 10 + 1 + 10


# Rule by rule


def test_k1_k2_cards_and_stones():
    assert sorted(DECK) == sorted(CARD_NAMES[c] for c in rules.FULL_DECK)
    assert len(DECK) == rules.CARDS == 101
    assert (new().record["stone_owner"] == -1).all()


@pytest.mark.parametrize(("players", "stock"), [(2, 55), (3, 77), (4, 69)])
def test_k3_deal(players, stock):
    starters = set()
    for seed in range(40):
        p = new(players, seed)
        [event] = p.events()
        assert event["stock"] == int(p.record["stock"]) == stock
        assert all(hand == sorted(hand, key=ORDER.index) and len(hand) == 8 for hand in event["hands"])
        assert event["starter"] == p.to_move
        starters.add(p.to_move)
    assert starters == set(range(players))


@pytest.mark.needs_jit
def test_k3_deal_is_uniform():
    counts = np.zeros(71)
    for seed in range(3000):
        counts[new(2, seed).record["hand"][1]] += 1
    expected = rules.COPIES * 3000 * 8 / 101
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected * 1.1)).all()


def test_k4a_discard_goes_to_its_pile():
    p = play(table(["N3 GE R4 B0", "Y0"]), "discard N3")
    assert [GAME._pile(p.record, k) for k in range(6)] == [[], [], [], [], [], [TYPE["N3"]]]
    assert legal(p) == ["draw stock"]


def test_k4b_stone_is_taken_once():
    p = table(["R5 Y5 G1", "B5 P5 N5"])
    play(p, "stone R5 Y5", "draw stock", "draw stock")
    assert not legal(p, "stone")
    assert p.record["stones"][0] == 1
    assert p.record["score"][0] == -1


def test_k4b_option_without_point_cards():
    hands = ["R5 Y5 N5 N6 G6", "Y0"]
    assert legal(table(hands), "stone") == ["stone G6 N6", "stone R5 N5", "stone R5 Y5", "stone Y5 N5"]
    assert legal(table(hands, stone_with_point_card=False), "stone") == ["stone R5 Y5"]


def test_k4b_same_type_pairs_only_where_two_copies_exist():
    names = [GAME.action_to_string(None, a) for a in range(rules.STONE, rules.DRAW_STOCK)]
    assert len(names) == 160
    assert sum(a == b for _, a, b in map(str.split, names)) == 25
    assert not any(c in n.split() for n in names for c in ("R0", "R10", "RE", "N0", "N10"))


def test_k5_draws_see_each_other_and_may_share_a_pile():
    p = table(["R5 Y5 G1", "B5"], piles={"G": "G2 G3 G4"})
    play(p, "stone R5 Y5", "draw G", "draw G")
    assert {"discard G3", "discard G4"} <= {f"discard {CARD_NAMES[c]}" for c in p.record["hand"][0][: p.record["hand_size"][0]]}
    assert GAME._pile(p.record, 2) == [TYPE["G2"]]


def test_k6_rows_end_at_once_without_a_draw():
    p = example()
    assert p.phase == "final"
    assert int(p.record["stock"]) == 20


@pytest.mark.parametrize("action", ["discard G1", "stone R5 Y5"])
def test_k6_stock_ends_at_once(action):
    p = table(["R5 Y5 G1", "B5"], stock=1)
    play(p, action, "draw stock")
    assert p.phase == "final"
    assert [e["event"] for e in p.events()] == ["draw", "end"]
    assert p.events()[1] == {"event": "end", "reason": "stock", "player": 0}
    assert p.to_move == 1


def test_k6_stock_ends_after_the_second_card_of_a_double_draw():
    p = table(["R5 Y5 G1", "B5"], stock=2)
    play(p, "stone R5 Y5", "draw stock")
    assert p.phase == "draw"
    play(p, "draw stock")
    assert p.phase == "final"


def closing(*hands, own="RYGB", others=(), **options):
    """Seat 0, with closed rows ``own``, closes the fifth row; ``hands`` are for the final phase, ``others`` rows of seats 1, 2, .."""
    p = table([f"PE {hands[0]}", *hands[1:]], [{c: f"{c}5 {c}E" for c in own}, *others], **options)
    return play(p, "lay PE")


def test_k7_no_decision_without_a_lay():
    p = closing("R1 Y1 PE", "N1", "R3 Y9", own="RY", others=[{}, {"R": "RE", "Y": "Y7 Y9 YE"}])
    assert p.to_move == 1
    assert legal(p) == ["lay N1", "stop"]
    play(p, "stop")
    assert p.to_move == 0  # seat 2 can lay nothing
    assert [int(x) for x in p.record["lay_known"][:3]] == [1, 1, -1]
    play(p, "lay PE")
    assert p.is_over


def test_k7_at_most_two_cards_each_and_no_other_action():
    p = closing("R1 Y1", "N1 N2 N3 G1 G2")
    assert all(a.startswith("lay") or a == "stop" for a in legal(p))
    play(p, "lay N1", "lay N2")
    assert p.is_over  # seat 0 can lay nothing, seat 1 has laid two
    assert p.record["neutral"][1] == 2


def test_k7_nobody_can_lay():
    p = closing("R1", "G1", own="RYB", others=[{"G": "G7 GE"}])
    assert p.is_over
    assert p.events() == [{"event": "end", "reason": "rows", "player": 0}]


def test_k10_after_max_turns_the_stock_must_be_drawn():
    p = table(["R5 Y5 G1", "B5 P1"], piles={"G": "G2 G3"}, max_turns=2)
    for action in ("discard R5", "draw G", "discard B5", "draw stock"):
        play(p, action)
    play(p, "discard Y5")
    assert legal(p) == ["draw stock"]
    q = play(table(["R5 Y5 G1", "B5 P1"], piles={"G": "G2 G3"}, max_turns=0), "discard R5")
    q.states["turn"] = 30000
    assert legal(q) == ["draw G", "draw stock"]


# Options and rewards


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"reward": "points"}, "reward"),
        ({"max_turns": -1}, "max_turns"),
        ({"dense": True, "reward": "win"}, "dense"),
        ({"turns": 3}, "unknown option 'turns'"),
        ({"stone_with_point_card": 1}, "stone_with_point_card"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(OptionError, match=text):
        new(2, **options)


@pytest.mark.parametrize("players", [1, 5, 2.0, True])
def test_bad_player_counts(players):
    with pytest.raises(OptionError, match="2 to 4"):
        new(players)


def test_header_options_in_order():
    assert list(GAME.options().model_dump()) == ["stone_with_point_card", "max_turns", "reward", "dense"]


def finish(p, seed=0):
    rng = np.random.default_rng(seed)
    paid = []
    while not p.is_over:
        p.apply(int(rng.choice(p.legal_actions())))
        paid.append(p.states["reward"][0, : p.num_players].copy())
    return np.array(paid)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_rewards(players):
    for seed in range(6):
        results = {}
        for reward in ("margin", "win", "score"):
            p = new(players, seed, reward=reward)
            paid = finish(p, seed)
            assert not paid[:-1].any()
            results[reward] = paid[-1]
        scores = p.outcome()["scores"]
        best_other = [max(scores[:i] + scores[i + 1 :]) for i in range(players)]
        assert results["score"].tolist() == scores
        assert results["margin"].tolist() == [s - o for s, o in zip(scores, best_other, strict=True)]
        winners = p.outcome()["winners"]
        alone = [[1 if i == w else -1 / (players - 1) for i in range(players)] for w in winners]
        assert results["win"] == pytest.approx(np.mean(alone, axis=0))


def test_shared_win():
    p = closing("Y1", "P1", own="YGB", others=[{"R": "R5 RE"}], reward="win")
    s = p.states
    s["score"][0, :2] = (4, 8)
    play(p, "lay P1")
    assert p.outcome()["winners"] == [0, 1]
    assert p.outcome()["returns"] == [0, 0]


@pytest.mark.parametrize("reward", ["margin", "score"])
@pytest.mark.parametrize("players", [2, 4])
def test_dense_rewards_are_differences_of_the_score_now(players, reward):
    p = new(players, 3, reward=reward, dense=True)
    rng = np.random.default_rng(5)
    before = np.zeros(players)
    total = np.zeros(players)
    while not p.is_over:
        p.apply(int(rng.choice(p.legal_actions())))
        score = p.record["score"][:players].astype(float)
        now = score if reward == "score" else np.array([score[i] - np.delete(score, i).max() for i in range(players)])
        assert (p.record["reward"][:players] == now - before).all()
        before = now
        total += p.record["reward"][:players]
    sparse = new(players, 3, reward=reward)
    rng = np.random.default_rng(5)
    while not sparse.is_over:
        sparse.apply(int(rng.choice(sparse.legal_actions())))
    assert p.outcome()["returns"] == sparse.outcome()["returns"] == total.tolist()


# Notation


def test_actions_and_strings_give_each_other_back():
    p = new()
    names = [p.action_to_string(a) for a in range(GAME.num_actions)]
    assert len(set(names)) == len(names) == 365
    assert all(GAME.string_to_action(p.record, name) == a for a, name in enumerate(names))
    kinds = Counter(name.split()[0] for name in names)
    assert kinds == {"discard": 71, "lay": 60 + 11 + 55, "stone": 160, "draw": 7, "stop": 1}
    for first, last, _ in GAME.action_table:
        assert names[first].split()[0] == names[last].split()[0]
    assert sum(last - first + 1 for first, last, _ in GAME.action_table) == 365


@pytest.mark.parametrize("text", ["lay R11", "discard", "stone N5 R5", "lay N3 on N", "Draw stock", ""])
def test_unknown_action_strings(text):
    with pytest.raises(IllegalAction):
        new().string_to_action(text)


# Invariants


@pytest.mark.needs_jit
@settings(max_examples=25, deadline=None)
@given(
    players=st.integers(2, 4),
    seed=st.integers(0, 2**53 - 1),
    point=st.booleans(),
    max_turns=st.sampled_from([0, 5, 200]),
    choices=st.randoms(use_true_random=False),
)
def test_invariants(players, seed, point, max_turns, choices):
    p = new(players, seed, stone_with_point_card=point, max_turns=max_turns)
    low, high = GAME.layout.bounds()
    while True:
        s = p.record
        cards = [int(c) for c in s["deck"] if c >= 0]
        for seat in range(players):
            cards += [int(c) for c in s["hand"][seat][: s["hand_size"][seat]]]
        on_table = [int(c) for c in s["laid"][: s["laid_size"]]]
        in_piles = [c for k in range(6) for c in GAME._pile(s, k)]
        assert sorted(cards + on_table + in_piles) == rules.FULL_DECK.tolist()
        assert np.bincount(in_piles, minlength=71).tolist() == s["in_piles"].tolist()
        assert np.bincount(on_table + in_piles, minlength=71).tolist() == s["on_table"].tolist()
        assert all(-24 <= x <= 71 for x in s["score"][:players])
        assert int(s["closed_rows"]) == int((s["row_ends"] > 0).sum())
        if p.phase == "act":
            assert (s["hand_size"][:players] == 8).all()
        for seat in range(players):
            observation = p.observation(seat)
            assert np.isfinite(observation).all()
            assert (observation >= low).all()
            assert (observation <= high).all()
        if p.is_over:
            break
        actions = p.legal_actions()
        assert 1 <= len(actions) <= 28
        p.apply(choices.choice(actions))
    assert p.record["terminal"] == 1
    assert p.record["truncated"] == 0


# Hidden information (K9)


def signature(p, seat):
    mask = p.mask().tobytes() if p.to_move == seat else b""
    view = p.view(seat)
    return p.observation(seat).tobytes(), mask, view.states.tobytes(), str(view), GAME.paint(view.record).svg()


@pytest.mark.needs_jit
@pytest.mark.parametrize("players", [2, 3, 4])
def test_no_leak_and_consistent_worlds_in_every_phase(players):
    rng = np.random.default_rng(players)
    phases = Counter()
    for game in range(4):
        p = new(players, game)
        while True:
            final = p.phase == "final" or p.is_over
            if final or rng.random() < 0.04:
                phases[p.phase if not p.is_over else "over"] += 1
                for seat in range(players):
                    world = p.resample(seat, int(rng.integers(2**40)))
                    assert signature(world, seat) == signature(p, seat)
                    cards = [int(c) for c in world.record["deck"] if c >= 0] + [
                        int(c) for c in world.record["laid"][: world.record["laid_size"]]
                    ]
                    cards += [c for k in range(6) for c in GAME._pile(world.record, k)]
                    for other in range(players):
                        hand = [int(c) for c in world.record["hand"][other][: world.record["hand_size"][other]]]
                        assert hand == sorted(hand)
                        assert not Counter({c: int(n) for c, n in enumerate(world.record["known"][other]) if n}) - Counter(hand)
                        cards += hand
                        told = int(world.record["lay_known"][other])
                        if told:
                            assert rules.can_lay(world.states[0], other) == (told == 1)
                    assert sorted(cards) == rules.FULL_DECK.tolist()
            if p.is_over:
                break
            p.apply(int(rng.choice(p.legal_actions())))
    assert set(phases) == {"act", "draw", "final", "over"}


def test_cards_taken_from_piles_are_known_until_played():
    p = table(["R5 R5 G1 G2", "B5 B6"], piles={"Y": "Y7 Y8", "B": "B5"})
    play(p, "discard G1", "draw B", "discard B6", "draw Y")
    view = p.view(0)
    assert [int(c) for c in view.record["hand"][1][:2]] == [TYPE["Y8"], -1]
    assert p.observation(0)[GAME.layout["known"]].reshape(3, 71)[0, TYPE["Y8"]] == 0.5
    own = p.view(1)
    assert [int(c) for c in own.record["hand"][0][:4]] == [TYPE["B5"], -1, -1, -1]
    play(p, "discard R5", "draw stock", "discard Y8", "draw stock")
    assert not p.record["known"][1].any()
    for seed in range(20):
        assert TYPE["B5"] in p.resample(1, seed).record["hand"][0]


def test_of_two_equal_cards_the_known_one_counts_as_played():
    p = table(["R5 G1", "B1 B2"], piles={"R": "R5"})
    play(p, "discard G1", "draw R", "discard B1", "draw stock")
    assert p.record["known"][0, TYPE["R5"]] == 1
    play(p, "discard R5", "draw stock")
    assert p.record["known"][0, TYPE["R5"]] == 0
    hands = [TYPE["R5"] in p.resample(1, seed).record["hand"][0][:2] for seed in range(600)]
    assert any(hands)
    assert not all(hands)


@pytest.mark.needs_jit
def test_resample_is_uniform_over_the_unseen_cards():
    p = play(table(["R5 G1 G2", "B1 B2 B3"], stock=30), "discard R5", "draw stock")
    s = p.record
    counts = np.zeros(71)
    rounds = 3000
    unseen = rules.COPIES - s["on_table"] - np.bincount(s["hand"][1][:3], minlength=71)
    places = 3
    for seed in range(rounds):
        counts[p.resample(1, seed).record["hand"][0][:places]] += 1
    expected = rounds * places * unseen / unseen.sum()
    assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def final_phase():
    """A position and the hands of seats 1 and 2 that fit what seat 0 knows of it, with how many ways each comes about.

    Small enough to enumerate: the two hands and two stock cards come from eight unseen cards.
    """
    full = {c: f"{c}5 {c}E" for c in "RYGBP"}
    p = table(
        ["PE R1", "R3 R4", "Y1 Y2"],
        [{**full, "P": "P3"}, {**full, "Y": "Y5 Y6 Y6", "R": "R3 RE"}, {**full, "R": "R6 R7", "P": "P7"}],
        stock=4,
    )
    s = p.states[0]
    unseen = [TYPE[c] for c in ("R3", "R4", "Y1", "Y2", "R8", "Y9", "N1", "B1")]
    s["closed_rows"] = 5
    s["on_table"][:] = rules.COPIES - np.bincount([*unseen, TYPE["PE"], TYPE["R1"]], minlength=71)
    s["deck"][:] = -1
    s["deck"][:4] = unseen[4:]
    s["phase"] = rules.FINAL
    s["ender"] = 0
    s["lay_known"][:3] = (0, -1, 1)
    record = p.states[0]

    def fits(seat, card):
        return rules.COLOUR[card] == 5 or bool(rules.fits(record, seat, card))

    worlds = Counter()
    for i in range(8):
        for j in range(i):
            for k in range(8):
                for m in range(k):
                    if len({i, j, k, m}) == 4:
                        one, two = [unseen[i], unseen[j]], [unseen[k], unseen[m]]
                        if not any(fits(1, c) for c in one) and any(fits(2, c) for c in two):
                            worlds[tuple(sorted(one)), tuple(sorted(two))] += 1
    return p, worlds


def imagined_hands(p, seed):
    hand = p.resample(0, seed).record["hand"]
    return tuple(int(c) for c in hand[1][:2]), tuple(int(c) for c in hand[2][:2])


def test_final_phase_tells():
    p, worlds = final_phase()
    found = {imagined_hands(p, seed) for seed in range(100)}
    assert len(found) > 20
    assert found <= set(worlds)


@pytest.mark.needs_jit
def test_resample_is_uniform_given_what_the_final_phase_tells():
    p, worlds = final_phase()
    rounds = 6000
    found = Counter(imagined_hands(p, seed) for seed in range(rounds))
    assert set(found) == set(worlds)
    expected = rounds / len(worlds)
    assert sum((found[w] - expected) ** 2 / expected for w in worlds) < len(worlds) + 5 * np.sqrt(2 * len(worlds))


# Records


def test_example_record():
    [record] = load_records(Path(__file__).parent / "data" / "keltis_1.jsonl")
    positions = list(replay(record, "given"))
    assert len(positions) == len(record.decisions) + 1
    assert positions[-1].outcome() == {"scores": [5, -3], "winners": [0], "returns": [8, -8], "truncated": False}


# Drawing


@pytest.mark.parametrize("players", [2, 4])
def test_drawings_show_a_seat_only_what_it_knows(players):
    p = new(players, 4)
    for _ in range(60):
        p.apply(p.legal_actions()[-1])
    text = str(p.view(0))
    assert "?" in text
    assert "stones:" in text
    assert "?" not in str(p)
    assert GAME.paint(p.record).svg().startswith("<svg")


# Rule agents


def match(names, games):
    """Share of wins and mean score of each rule agent (None: the random one) over all seat rotations of the same deals."""
    n = len(names)
    numbers = compiled_numbers([make_agent(GAME, name or "random") for name in names])
    wins, scores = np.zeros(n), np.zeros(n)
    for turn in range(n):
        order = [(seat + turn) % n for seat in range(n)]
        states = GAME.deal(n, {}, range(games))
        seating = np.tile(order, (games, 1))
        rule_set(GAME).loops.play(states, 0, seating, *numbers, 1, GAME.allocate(1), np.zeros(GAME.num_actions, bool))
        won = states["winner"][:, :n] / states["winner"].sum(axis=1, keepdims=True)
        wins[order] += won.mean(axis=0) / n
        scores[order] += states["score"][:, :n].mean(axis=0) / n
    return wins, scores


@pytest.mark.needs_jit
@pytest.mark.parametrize(("players", "low", "high"), [(2, 11, 16), (3, 8, 12), (4, 4, 8)])
def test_greedy_scores_as_published_and_beats_random(players, low, high):
    assert low < match(["greedy"] * players, 150)[1].mean() < high
    wins, scores = match(["greedy"] + [None] * (players - 1), 150)
    assert wins[0] > 0.97
    assert -16 < scores[1:].mean() < -8


@pytest.mark.needs_jit
@pytest.mark.parametrize(("players", "share"), [(2, 0.7), (3, 0.5), (4, 0.6)])
def test_strong_beats_greedy(players, share):
    wins, _ = match(["strong"] + ["greedy"] * (players - 1), 300)
    assert wins[0] > share


ROWS = [{"R": "R0 R1", "Y": "Y10 Y8"}, {}]


@pytest.mark.parametrize(
    ("count", "weight", "others", "without", "expected", "position"),
    [
        # R4 leaves out 2 and 3, Y7 nothing.
        ("gap", 1, {"laying": 1}, "lay R4", "lay Y7", {"hand": "R4 Y7", "rows": ROWS}),
        # Four numbers are below 4, two above 8.
        ("start", 1, {"laying": 10}, "lay R4", "lay Y8", {"hand": "R4 Y8"}),
        ("opening_held", 1, {"laying": 10}, "lay R4", "lay Y8", {"hand": "R4 Y8 Y9"}),
        ("opening_held", -1, {"laying": 10}, "lay R4", "lay R4", {"hand": "R4 Y8 Y9"}),
        ("neutral", 0.5, {"laying": 1}, "lay R4", "lay N0", {"hand": "R4 N0", "rows": ROWS}),
        ("closing", 1, {"laying": 1}, "lay R4", "lay RE", {"hand": "R4 RE", "rows": ROWS}),
        # The second end card closes nothing.
        ("closing", -1, {"laying": 1}, "lay RE", "lay RE", {"hand": "RE N0", "rows": [{"R": "R0 RE"}, {}]}),
        # The next player has begun yellow, not red.
        ("wish_new", 1, {"laying": -99, "giving": 1}, "discard R4", "discard Y8", {"hand": "R4 Y8", "rows": [{}, {"Y": "Y5 Y6"}]}),
        ("wish_stone", 1, {"laying": -99, "giving": 1}, "discard R4", "discard Y8", {"hand": "R4 Y8", "stones": [[8], []]}),
        # His next stone is the first; had he five, one more would give him nothing.
        ("stone_deny", 1, {"laying": 3.5}, "discard R4", "stone R4 Y4", {"hand": "R4 Y0 Y4", "stones": [[1, 2, 3, 5, 6], []]}),
        ("stone_deny", 1, {"laying": 8.5}, "lay R4", "lay R4", {"hand": "R4 Y0 Y4", "stones": [[1, 2], [3, 5, 6, 7, 8]]}),
        # Both would make a row longer; he can lay red 2, not yellow 8.
        (
            "again",
            0.5,
            {"laying": -99, "in_hand": 1},
            "discard R2",
            "discard Y8",
            {"hand": "R2 Y8", "rows": [{"R": "R0 R1", "Y": "Y5 Y6"}, {"R": "R5 R4", "Y": "Y7 Y4"}]},
        ),
        # Red 2 is worth a point.
        ("drawing", 1.5, {"in_hand": 1}, "draw R", "draw stock", {"pile": "R2", "rows": ROWS}),
        ("tempo", 1.5, {"in_hand": 1, "drawing": 0.5}, "draw R", "draw stock", {"pile": "R2", "rows": ROWS}),
        ("tempo", 0.3, {"in_hand": 1, "drawing": 0.5}, "draw R", "draw R", {"pile": "R2", "rows": ROWS}),
        # Two turns and the final phase are enough for three cards; with five to lay a turn costs a point.
        ("crowd", 8, {"in_hand": 1, "drawing": 0.5}, "draw Y", "draw Y", {"hand": "R3 R4 R5 B9", "pile": "Y7", "rows": ROWS, "stock": 4}),
        (
            "crowd",
            8,
            {"in_hand": 1, "drawing": 0.5},
            "draw Y",
            "draw stock",
            {"hand": "R3 R4 R5 R6 R7 B9", "pile": "Y7", "rows": ROWS, "stock": 4},
        ),
        # A fourth card is worth 3 points, between a third and a fifth 1 on average.
        ("blur", 1, {"in_hand": 1, "drawing": 2}, "draw R", "draw stock", {"pile": "R2", "rows": [{"R": "R0 R1 R1"}, {}]}),
        # Two cards of a new row and three are both worth nothing unless that is rounded.
        ("soft", 2, {"in_hand": 1, "unopened": 1, "drawing": 0.05}, "draw stock", "draw R", {"hand": "R0 R1 B9", "pile": "R2"}),
        # Of the cards around 4 only one side can be laid.
        (
            "other_way",
            0.5,
            {"in_hand": 1, "drawing": 0.1},
            "draw stock",
            "draw R",
            {"hand": "R6 B9", "pile": "R2", "rows": [{"R": "R4"}, {}]},
        ),
    ],
)
def test_what_strong_counts(count, weight, others, without, expected, position):
    assert decide(others, **position) == without
    assert decide({**others, count: weight}, **position) == expected


@pytest.mark.parametrize(
    ("count", "others", "early", "late", "position"),
    [
        ("in_hand_late", {"drawing": 0.5}, "draw stock", "draw R", {"pile": "R2", "rows": ROWS}),
        ("unopened_late", {"in_hand": 1, "drawing": 0.5}, "draw stock", "draw R", {"hand": "R0 R1 R2 R3 B9", "pile": "R4"}),
        ("single_late", {"drawing": 0.5}, "draw stock", "draw Y", {"pile": "Y4"}),
        ("point_card_late", {"drawing": 0.5}, "draw stock", "draw N", {"pile": "N0"}),
        ("drawn_late", {"in_hand": 1, "drawing": 0.5}, "draw R", "draw stock", {"pile": "R2", "rows": ROWS}),
        ("drawing_late", {"in_hand": 1, "drawing": 0.5}, "draw R", "draw stock", {"pile": "R2", "rows": ROWS}),
        ("gap_late", {"laying": 1}, "lay R4", "lay Y7", {"hand": "R4 Y7", "rows": ROWS}),
        # What R4 leaves out may still come.
        ("unseen_late", {"laying": 1}, "lay R4", "lay Y7", {"hand": "R4 Y7", "rows": ROWS}),
    ],
)
def test_what_strong_counts_late(count, others, early, late, position):
    assert decide({**others, count: 1}, **position, stock=55) == early
    assert decide({**others, count: 1}, **position, stock=4) == late
    assert decide(others, **position, stock=4) == early


def decide(weights, hand="B9", pile="", **position):
    """What the strong agent does if it counts nothing but ``weights``; with a ``pile``, what it draws after it has discarded blue 9."""
    p = table([hand, "B0 B1"], piles={pile[0]: pile} if pile else None, **position)
    if pile:
        play(p, "discard B9")
    numbers = rule_set(GAME).parameters["strong"]
    assert all(f"two.{name}" in {n.name for n in numbers} for name in weights)
    agent = RuleAgent(GAME, "strong", [weights.get(n.name.removeprefix("two."), 0) for n in numbers])
    return p.action_to_string(int(agent.act(show_turns(GAME, p.states, np.array([0]), agent))[0]))
