"""Flotsam Fight, rule by rule: F1 .. F17 and E1 .. E5 are the paragraphs and worked examples of the rules page."""

import itertools
import random
from collections import Counter

import numpy as np
import oracle_flotsam_fight as oracle
import pytest
from deckhand.envs import get_game
from deckhand.envs.core import IllegalAction, OptionError, Position
from scipy.stats import chisquare

GAME = get_game("flotsam_fight")
RULES = GAME.rules
VALUES = [int(v) for v in RULES.CARD_VALUES]
INDEX = {v: i for i, v in enumerate(VALUES)}


def new(players=3, seed=0, **options):
    return Position.new(GAME, players, options, seed)


def arrange(hands, mover=0, deck=None, aside=(), boats=None, last_player=-1, passed=(), round_no=1, piles=None, seed=0, **options):
    """A position written by hand. Cards are values; ``deck`` is drawn from its end and holds every unnamed card by default."""
    p = new(len(hands), seed, **options)
    r = p.record
    named = {c for hand in hands for c in hand} | set(aside) | {c for cards in (boats or {}).values() for c in cards}
    if deck is None:
        deck = [c for c in VALUES if c not in named]
    else:
        aside = [*aside, *(c for c in VALUES if c not in named | set(deck))]
    r["place"][:] = RULES.SET_ASIDE
    r["boat_of"][:] = -1
    r["hand"][:] = 0
    r["top"][:] = 0
    for seat, hand in enumerate(hands):
        r["hand_size"][seat] = len(hand)
        for k, card in enumerate(sorted(hand)):
            r["hand"][seat, k] = INDEX[card]
            r["place"][INDEX[card]] = seat
    for k, card in enumerate(deck):
        r["deck"][k] = INDEX[card]
        r["place"][INDEX[card]] = RULES.IN_DECK
    for boat, cards in (boats or {}).items():
        r["top"][boat - 3] = cards[-1]
        for card in cards:
            r["place"][INDEX[card]] = RULES.ON_BOAT
            r["boat_of"][INDEX[card]] = boat - 3
    r["passed"][list(passed)] = 1
    r["pile_of"][:] = 0
    for card, pile in (piles or {}).items():
        r["pile_of"][INDEX[card]] = pile
    for name, value in (
        ("deck_size", len(deck)),
        ("active", len(boats or {})),
        ("last_player", last_player),
        ("to_move", mover),
        ("round_no", round_no),
        ("shuffles", max((piles or {0: 0}).values())),
    ):
        p.states[name][0] = value
    return p


def play(p, *texts):
    """Play action strings; returns all events."""
    events = []
    for text in texts:
        p.apply(p.string_to_action(text))
        events += p.events()
    return events


def hand(p, seat):
    return [VALUES[c] for c in p.record["hand"][seat][: p.record["hand_size"][seat]]]


def set_aside(p):
    return [VALUES[c] for c in range(64) if p.record["place"][c] == RULES.SET_ASIDE]


# The rules.


def test_f2_cards_and_pairs():
    listed = (
        "3 4 5 6 7 8 9 10 12 14 15 16 18 20 21 24 25 27 28 30 32 33 35 36 39 40 42 44 45 48 49 50 51 52 54 55 56 57 60 63 64 65 66 68 69 "
        "70 72 75 76 77 78 80 81 84 85 87 88 90 91 92 93 95 96 98"
    )
    assert [int(c) for c in listed.split()] == VALUES
    per_boat = Counter(int(b) + 3 for b in RULES.PAIR_BOAT)
    assert [per_boat[b] for b in range(3, 11)] == [32, 24, 19, 16, 14, 12, 10, 9]
    per_card = Counter(Counter(RULES.PAIR_CARD.tolist()).values())
    assert per_card == {1: 26, 2: 18, 3: 9, 4: 8, 5: 3}
    pairs = [(VALUES[c], int(b) + 3) for c, b in zip(RULES.PAIR_CARD, RULES.PAIR_BOAT, strict=True)]
    assert len(pairs) == 136
    assert pairs == sorted(pairs)
    assert all(c % b == 0 for c, b in pairs)
    assert GAME.num_actions == 137


def test_action_strings_are_the_pairs_in_order():
    p = new()
    assert [GAME.action_to_string(p.record, a) for a in (0, 1, 2, 3, 4, 135, 136)] == ["3>3", "4>4", "5>5", "6>3", "6>6", "98>7", "pass"]
    for a in range(137):
        assert GAME.string_to_action(p.record, GAME.action_to_string(p.record, a)) == a
    for text in ("", ">", "35", "35>4", "35>11", "035>5", " 35>5", "35>5 ", "35 > 5", "+35>5", "PASS", "Pass", "3_5>5", "٣>3", "35>5>5"):
        with pytest.raises(ValueError, match="is no action"):
            GAME.string_to_action(p.record, text)


@pytest.mark.parametrize("players", range(2, 7))
def test_f3_deal(players):
    p = new(players, 5)
    size = 8 if players == 6 else 10
    (event,) = p.events()
    assert list(event) == ["event", "round", "hands", "starter"]
    assert (event["event"], event["round"], event["starter"]) == ("deal", 1, p.to_move)
    assert event["hands"] == [hand(p, s) for s in range(players)]
    assert all(len(h) == size and h == sorted(h) for h in event["hands"])
    assert p.record["deck_size"] == 64 - size * players
    assert p.record["active"] == 0
    assert set_aside(p) == []


@pytest.mark.needs_jit
def test_f3_every_card_reaches_every_place_equally_often():
    counts = np.zeros((64, 3))
    for seed in range(1500):
        place = new(2, seed).record["place"]
        for k, where in enumerate((0, 1, RULES.IN_DECK)):
            counts[:, k] += place == where
    assert counts[:, 0].sum() == 15000
    for k, share in enumerate((10, 10, 44)):
        expected = 1500 * share / 64
        z = (counts[:, k] - expected) / np.sqrt(expected * (1 - share / 64))
        assert abs(z).max() < 4.5
        assert 0.6 < (z**2).mean() < 1.5


@pytest.mark.needs_jit
@pytest.mark.parametrize("players", range(2, 7))
def test_f4_the_first_starter_is_random(players):
    starters = Counter(new(players, seed).to_move for seed in range(300 * players))
    assert sorted(starters) == list(range(players))
    assert chisquare(list(starters.values())).pvalue > 1e-4


def test_f4_later_rounds_start_with_the_holder_of_the_minus_one():
    p = arrange([[9], [12, 98], [4, 5]], mover=0)
    events = play(p, "9>3")
    assert [e["event"] for e in events] == ["round_end", "deal"]
    assert p.to_move == 1 == events[1]["starter"]
    assert events[1]["round"] == 2


def test_f4_turns_go_clockwise():
    p = arrange([[3, 30], [9, 33], [12, 36], [15, 39]], mover=2)
    movers = []
    for text in ("12>3", "15>3", "pass", "pass", "36>3"):
        movers.append(p.to_move)
        play(p, text)
    assert movers == [2, 3, 0, 1, 2]


def test_f5_passing_is_allowed_when_a_card_could_be_played():
    p = arrange([[3, 30], [9, 33]], mover=0)
    play(p, "3>3")
    assert p.legal_strings() == ["33>3", "9>3", "9>9", "pass"]


def test_f6_divisors_limit_and_ascending():
    p = arrange([[3, 30, 60], [9, 33, 70, 90], [8, 10]], mover=0)
    assert p.legal_strings() == sorted(["3>3", "30>3", "30>5", "30>6", "30>10", "60>3", "60>4", "60>5", "60>6", "60>10"])
    play(p, "30>10")
    assert p.legal_strings() == sorted(["9>3", "9>9", "33>3", "70>5", "70>7", "70>10", "90>3", "90>5", "90>6", "90>9", "90>10", "pass"])
    play(p, "70>10")
    assert "10>10" not in p.legal_strings()
    play(p, "10>5")
    assert p.legal_strings() == sorted(["3>3", "60>3", "60>4", "60>5", "60>6", "pass"])
    play(p, "3>3")
    # Three boats are active: 3 (top 3), 5 (top 10), 10 (top 70).
    assert p.legal_strings() == sorted(["9>3", "33>3", "90>3", "90>5", "90>10", "pass"])
    assert p.record["active"] == 3


def test_f6_an_equal_card_cannot_exist_and_a_lower_one_does_not_fit():
    p = arrange([[9, 27], [12, 42]], mover=0, boats={3: [24]}, last_player=1)
    assert p.legal_strings() == ["27>3", "27>9", "9>9", "pass"]


def test_f7_who_passes_is_out_until_the_reset():
    p = arrange([[3, 30, 45], [9, 33], [12, 36]], mover=0)
    play(p, "3>3", "pass")
    assert p.record["passed"].tolist()[:3] == [0, 1, 0]
    play(p, "12>3")
    assert p.to_move == 0
    play(p, "30>3")
    assert p.to_move == 2
    assert play(p, "pass") == []
    assert p.to_move == 0  # the last one, with one card
    play(p, "pass")
    assert not p.record["passed"].any()


def test_f8_f13_emptying_the_hand_ends_the_round():
    p = arrange([[30], [9, 33], [12, 36], [4, 5]], mover=0)
    (end, deal) = play(p, "30>3")
    assert end == {"event": "round_end", "points": [2, 0, -1, 1]}
    assert deal["event"] == "deal"
    assert p.record["score"].tolist()[:4] == [2, 0, -1, 1]
    assert p.record["reward"].tolist()[:4] == [2, 0, -1, 1]
    assert p.record["active"] == 0


def test_f9_the_last_with_several_cards_gets_no_turn():
    p = arrange([[3, 30, 33], [9, 12], [15, 18]], mover=0)
    events = play(p, "3>3", "pass", "pass")
    assert events == [{"event": "reset", "starter": 0}]
    assert p.to_move == 0
    assert p.legal_strings() == sorted(["30>3", "30>5", "30>6", "30>10", "33>3"])
    assert not p.record["passed"].any()


def test_f9_the_last_with_one_card_gets_one_turn_and_may_pass():
    p = arrange([[3, 30], [9, 12], [15, 18]], mover=0)
    play(p, "3>3", "pass", "pass")
    assert p.to_move == 0
    assert p.legal_strings() == ["30>10", "30>3", "30>5", "30>6", "pass"]
    events = play(p, "pass")
    assert [e["event"] for e in events] == ["reset", "draw", "draw"]
    assert events[0]["starter"] == 0
    assert len(hand(p, 0)) == 3


def test_f9_the_last_player_need_not_be_the_one_who_played_last():
    p = arrange([[33, 36], [98], [7, 15]], mover=0, boats={3: [3]}, last_player=2)
    play(p, "33>3")
    assert p.to_move == 1
    play(p, "pass", "pass")
    # Seat 0 is last with one card.
    assert p.to_move == 0
    play(p, "pass")
    assert p.to_move == 0  # he played the most recent card
    assert sorted(p.record["hand_size"].tolist()[:3]) == [2, 3, 3]


def test_f10_everybody_with_one_card_draws_two_starting_with_the_next_starter():
    p = arrange([[3], [90, 96], [20], [98]], mover=1, boats={9: [81]}, last_player=2, deck=[4, 5, 6, 7, 8, 9], aside=[10])
    play(p, "90>9", "pass", "pass")
    events = play(p, "pass")
    # Seat 1 is last with one card left.
    assert events == []
    assert p.to_move == 1
    events = play(p, "pass")
    assert events[0] == {"event": "reset", "starter": 1}
    # The deck holds six cards: 1, 2, 3 draw two each in this order; then the set-aside cards are shuffled for seat 0.
    assert events[1:7] == [{"event": "draw", "player": s, "card": c} for s, c in ((1, 9), (1, 8), (2, 7), (2, 6), (3, 5), (3, 4))]
    assert events[7] == {"event": "shuffle"}
    assert [e["player"] for e in events[8:]] == [0, 0]
    assert p.record["hand_size"].tolist()[:4] == [3, 3, 3, 3]
    assert p.record["active"] == 0
    assert p.record["top"].tolist() == [0] * 8


def test_f11_the_draw_pile_is_rebuilt_between_the_two_cards_of_a_draw():
    p = arrange([[9], [12, 24], [30, 33]], mover=1, boats={3: [6]}, last_player=2, deck=[98], seed=3)
    play(p, "pass")
    events = play(p, "pass")
    assert events == []
    assert p.to_move == 0
    aside_before = set(set_aside(p)) | {6}
    events = play(p, "pass")
    assert [e["event"] for e in events] == ["reset", "draw", "shuffle", "draw"]
    assert events[0]["starter"] == 2
    assert events[1] == {"event": "draw", "player": 0, "card": 98}
    assert events[3]["card"] in aside_before
    assert set_aside(p) == []
    assert p.record["deck_size"] == len(aside_before) - 1
    assert p.record["shuffles"] == 1


def test_f12_the_leader_must_play():
    p = new(4, 1)
    assert "pass" not in p.legal_strings()
    with pytest.raises(IllegalAction, match=r"action 136 \(pass\) is illegal for player"):
        p.apply(136)


def test_f12_lead_may_pass_and_a_trick_without_a_card():
    p = arrange([[3, 30], [9, 33], [12, 36]], mover=1, lead_may_pass=True)
    assert "pass" in p.legal_strings()
    events = play(p, "pass", "pass")
    # Nobody has played in this round: the sole player who has not passed leads.
    assert events == [{"event": "reset", "starter": 0}]
    assert p.to_move == 0
    play(p, "pass", "9>3", "pass")
    # Seat 1 holds one card, so he gets a turn.
    assert p.to_move == 1
    play(p, "pass")
    assert p.to_move == 1
    # Now a trick without a card: it is led by who last played in an earlier trick, seat 1, although seat 0 is the last in.
    events = play(p, "pass", "pass")
    assert events[0] == {"event": "reset", "starter": 1}
    assert p.to_move == 1


def test_f12_nobody_has_played_and_the_sole_player_passes_too():
    p = arrange([[3], [9, 33], [12, 36]], mover=1, lead_may_pass=True)
    assert play(p, "pass", "pass") == []
    assert p.to_move == 0
    events = play(p, "pass")
    assert events[0] == {"event": "reset", "starter": 0}
    assert [e["event"] for e in events] == ["reset", "draw", "draw"]
    assert p.to_move == 0


def test_f14_two_players():
    p = arrange([[16], [50, 60]], mover=0)
    (end, deal) = play(p, "16>8")
    assert end["points"] == [2, 0]
    assert deal["starter"] == 1
    assert p.record["marker"] == 1


def test_f16_what_a_view_shows():
    p = arrange([[3, 30], [9, 33], [12, 36]], mover=0, boats={5: [5, 10]}, aside=[98], deck=[4, 6, 7])
    view = p.view(1)
    text = str(view)
    assert "9 33" in text
    assert text.count("? ?") == 2
    assert set_aside(view) == set_aside(p)
    assert view.record["top"].tolist() == p.record["top"].tolist()
    assert view.record["hand_size"].tolist() == p.record["hand_size"].tolist()
    assert view.record["deck_size"] == 3
    assert not view.record["deck"].any()
    assert not view.record["rng"].any()
    assert view.record["seed"] == 0
    for hidden in (3, 30, 12, 36, 4, 6, 7):
        assert view.record["place"][INDEX[hidden]] == RULES.UNSEEN


def test_f16_a_view_of_a_view_after_a_rebuild():
    # Found by check_game: hands of mixed piles were garbled when a view was hidden again.
    p = arrange([[3, 30, 45], [9, 33], [12, 36, 98]], piles={30: 1, 98: 2, 12: 1}, deck=[4, 6])
    for seat in range(3):
        assert p.view(seat).view(seat) == p.view(seat)
        assert p.view(seat).resample(seat, 4) == p.resample(seat, 4)


def test_f17_truncation_after_600_decisions():
    for players in (2, 5):
        p = new(players, 9, lead_may_pass=True, rounds=2)
        decisions = 0
        while not p.is_over:
            assert decisions < 600
            p.apply(136)
            decisions += 1
        assert decisions == 600
        assert p.record["truncated"] == 1
        assert p.record["terminal"] == 0
        assert p.outcome() == {"scores": [0] * players, "winners": [], "returns": [0] * players, "truncated": True}
        assert not p.mask().any()
        with pytest.raises(IllegalAction, match="the game is over"):
            p.apply(136)
        assert p.observation(0).max() <= 1


def test_f17_points_of_finished_rounds_stand():
    p = arrange([[30], [9, 33], [12, 36]], mover=0, lead_may_pass=True)
    play(p, "30>3")
    while not p.is_over:
        p.apply(136)
    assert p.outcome() == {"scores": [2, 1, -1], "winners": [], "returns": [2, 1, -1], "truncated": True}
    assert p.record["decisions"] == 601


def test_f17_a_round_that_ends_with_its_600th_decision_is_no_truncation():
    p = arrange([[30], [9, 33], [12, 36]], mover=0)
    p.states["round_decisions"][0] = 599
    play(p, "30>3")
    assert not p.is_over
    assert p.record["round_decisions"] == 0


# The worked examples.


def test_e1():
    p = arrange([[9, 35, 98], [12, 42, 77], [20, 64]], mover=0)
    play(p, "9>3", "12>4", "20>5")
    assert p.legal_strings() == ["35>5", "pass"]
    play(p, "35>5")
    assert p.legal_strings() == ["42>3", "pass"]
    play(p, "42>3")
    assert p.legal_strings() == ["64>4", "pass"]
    (end, deal) = play(p, "64>4")
    assert end["points"] == [-1, 1, 2]
    assert deal["starter"] == 0


def test_e2():
    p = arrange([[9, 35, 98], [12, 42, 77], [20, 64]], mover=0)
    play(p, "9>3", "12>4", "20>5", "35>5", "42>3", "pass")
    assert p.legal_strings() == ["pass"]
    play(p, "pass")
    assert p.to_move == 1
    assert p.legal_strings() == ["pass"]
    events = play(p, "pass")
    assert events[0] == {"event": "reset", "starter": 1}
    assert [e["player"] for e in events[1:]] == [1, 1, 2, 2, 0, 0]
    assert set_aside(p) == [9, 12, 20, 35, 42]
    assert p.to_move == 1
    assert p.record["hand_size"].tolist()[:3] == [3, 3, 3]


@pytest.mark.parametrize("last", ["16>8", "16>4"])
def test_e3(last):
    p = arrange([[8, 16], [50, 60]], mover=0)
    play(p, "8>8", "pass")
    assert p.legal_strings() == ["16>4", "16>8", "pass"]
    (end, deal) = play(p, last)
    assert end["points"] == [2, 0]
    assert deal["starter"] == 1


def test_e4():
    p = arrange([[8, 16, 24], [50, 60]], mover=0)
    assert play(p, "8>8", "pass") == [{"event": "reset", "starter": 0}]
    assert p.to_move == 0


def last_round(points, outs, last, reward="round"):
    """One decision (``9>3``) before the end: ``points`` and +2 markers so far, and the points that the last round will give."""
    zeros = iter([40, 50, 60, 70])
    hands = [[9] if x == 2 else [20] if x == 1 else [98] if x == -1 else [next(zeros)] for x in last]
    p = arrange(hands, mover=last.index(2), round_no=3, reward=reward)
    n = len(points)
    p.record["score"][:n] = points
    p.record["outs"][:n] = outs
    if reward == "round":
        p.record["returns"][:n] = points
    return p


def test_e5_tie_break_by_points_of_the_last_round():
    # Rounds (2, 1, -1), (-1, 2, 1), (1, -1, 2).
    p = last_round([1, 3, 0], [1, 1, 0], [1, -1, 2])
    play(p, "9>3")
    assert p.outcome() == {"scores": [2, 2, 2], "winners": [2], "returns": [2, 2, 2], "truncated": False}


def test_f15_more_plus_two_markers_win_a_tie():
    p = last_round([4, -1, 2], [2, 0, 0], [-1, 2, 1])
    play(p, "9>3")
    assert p.outcome() == {"scores": [3, 1, 3], "winners": [0], "returns": [3, 1, 3], "truncated": False}


def test_f15_most_points_win_whatever_the_markers():
    p = last_round([4, 3, -1], [2, 0, 0], [-1, 1, 2])
    play(p, "9>3")
    assert p.outcome()["winners"] == [1]


@pytest.mark.parametrize(("players", "reward"), list(itertools.product((5, 6), ("round", "game", "placement"))))
def test_f15_shared_win_with_five_or_six_players(players, reward):
    # Seats 0 and 1 have 2 points, one +2 and no point in the last round.
    rest = [0] * (players - 5)
    p = last_round([2, 2, -1, -1, 0, *rest], [1, 1, 0, 0, 0, *rest], [0, 0, 2, -1, 1, *rest], reward)
    play(p, "9>3")
    outcome = p.outcome()
    assert outcome["scores"][:2] == [2, 2]
    assert outcome["winners"] == [0, 1]
    if reward == "round":
        assert outcome["returns"] == outcome["scores"]
    elif reward == "game":
        other = 1 / (players - 1)
        assert outcome["returns"] == pytest.approx([(1 - other) / 2] * 2 + [-other] * (players - 2))
    else:
        keys = list(zip(outcome["scores"], p.record["outs"].tolist(), p.record["last_points"].tolist(), strict=False))
        expected = [sum((a > b) - (a < b) for b in keys) / (players - 1) for a in keys]
        assert outcome["returns"] == pytest.approx(expected)
    if reward != "round":
        assert sum(outcome["returns"]) == pytest.approx(0)


# Options.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "option 'rounds' cannot be 0: input should be greater than or equal to 1"),
        ({"rounds": 101}, "option 'rounds' cannot be 101: input should be less than or equal to 100"),
        ({"rounds": "3"}, "option 'rounds' cannot be '3'"),
        ({"rounds": 2.0}, "option 'rounds' cannot be 2.0"),
        ({"lead_may_pass": 1}, "option 'lead_may_pass' cannot be 1"),
        ({"reward": "points"}, "option 'reward' cannot be 'points': input should be 'round', 'game' or 'placement'"),
        ({"variant": 1}, "unknown option 'variant'; the options are: rounds, lead_may_pass, reward"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(OptionError) as error:
        new(**options)
    assert message in str(error.value)
    assert str(error.value).startswith("flotsam_fight: ")


@pytest.mark.parametrize("players", [1, 7, 0, -2, 2.0, "3", None, True])
def test_wrong_player_counts(players):
    with pytest.raises(OptionError, match=r"flotsam_fight: num_players cannot be .*; allowed are 2 to 6"):
        new(players)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_number_of_rounds(rounds):
    p = new(3, 2, rounds=rounds)
    rng = random.Random(0)
    ends = 0
    while not p.is_over:
        p.apply(rng.choice(p.legal_actions()))
        ends += sum(e["event"] == "round_end" for e in p.events())
    assert ends == rounds


# The observation.


def test_observation_of_a_position_by_hand():
    p = arrange([[3, 30], [9, 33, 60], [12, 36]], mover=1, boats={5: [5, 10]}, aside=[98], deck=[4, 6, 7], passed=[2], last_player=0)
    seen = GAME.layout.unpack(p.observation(1))
    cards = lambda name: [VALUES[i] for i in np.flatnonzero(seen[name])]  # noqa: E731
    assert cards("hand") == [9, 33, 60]
    assert cards("on_boat") == [5, 10]
    assert cards("set_aside") == set_aside(p)
    assert cards("unseen") == [3, 4, 6, 7, 12, 30, 36]
    assert cards("surely_held") == []
    assert seen["boats"][5 - 3] == pytest.approx([1, 10 / 98, 1, 0.1])
    assert seen["boats"][3 - 3] == pytest.approx([0, 0, 1, 0.3])
    assert seen["boats"][8 - 3] == pytest.approx([0, 0, 1, 0])
    assert seen["players"][0][:4] == pytest.approx([1, 0.3, 0, 0])
    assert seen["players"][1][:4] == pytest.approx([1, 0.2, 1, 0])  # seat 2
    assert seen["players"][2][:4] == pytest.approx([1, 0.2, 0, 1])  # seat 0
    assert not seen["players"][3:].any()
    assert seen["globals"][:4] == pytest.approx([0.5, 1 / 3, 3 / 64, 1 / 3])


def test_ten_playable_cards_stay_within_the_bounds():
    # Found by reading: ten times 0.1 in float32 is 1.0000001.
    p = arrange([[3, 6, 9, 12, 15, 18, 21, 24, 27, 30], [4, 5]], mover=0)
    assert GAME.layout.unpack(p.observation(0))["boats"][0, 3] == 1


def test_surely_held_cards():
    # Pile 0 is used up: its unseen cards (30, 3, 12) are in hands. 36 and 98 come from pile 1, as the draw pile does.
    piles = dict.fromkeys((36, 98, 4, 6), 1)
    p = arrange([[3, 30, 98], [9], [12, 36]], deck=[4, 6], piles=piles)
    held = GAME.layout.unpack(p.observation(1))["surely_held"]
    assert [VALUES[i] for i in np.flatnonzero(held)] == [3, 12, 30]
    p = arrange([[3, 30, 98], [9], [12, 36]], deck=[], piles=piles)
    held = GAME.layout.unpack(p.observation(1))["surely_held"]
    assert [VALUES[i] for i in np.flatnonzero(held)] == [3, 12, 30, 36, 98]


# What a seat can work out: brute force over all deals.


def worlds_that_fit(hands, deck, piles, seat):
    """All (hands of others, order of the deck) in which every hidden place holds a card of the same pile as in truth, counted."""
    others = [s for s in range(len(hands)) if s != seat]
    slots = [(s, piles.get(c, 0)) for s in others for c in hands[s]] + [("deck", piles.get(c, 0)) for c in deck]
    unseen = [c for s in others for c in hands[s]] + list(deck)
    found = Counter()
    for order in itertools.permutations(unseen):
        if all(piles.get(c, 0) == pile for c, (_, pile) in zip(order, slots, strict=True)):
            world = tuple(frozenset(c for c, (where, _) in zip(order, slots, strict=True) if where == s) for s in others)
            deck_order = tuple(c for c, (where, _) in zip(order, slots, strict=True) if where == "deck")
            found[world, deck_order] += 1
    return found


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("hands", "deck", "piles"),
    [
        ([[3, 4], [9, 33], [12]], [98, 96], {}),
        ([[3], [9, 33], [12, 36]], [98, 96], {33: 1, 98: 1, 96: 1, 36: 1}),
        ([[3], [9, 33, 30], [12]], [98, 96], {33: 1, 12: 2, 98: 2, 96: 2}),
        ([[3, 90], [9, 33], [12, 36]], [], {33: 1, 12: 1}),
        ([[3, 5], [9, 12], [33], [30]], [95], {9: 1, 33: 1, 95: 1}),
    ],
)
def test_f16_resample_is_uniform_over_the_worlds_that_fit(hands, deck, piles):
    p = arrange(hands, deck=deck, piles=piles, seed=11)
    if not deck:
        p.states["shuffles"][0] = max(piles.values())
    expected = worlds_that_fit(hands, deck, piles, 0)
    assert len(set(expected.values())) == 1
    draws = 60 * len(expected)
    found = Counter()
    for seed in range(draws):
        world = p.resample(0, seed)
        others = tuple(frozenset(hand(world, s)) for s in range(1, len(hands)))
        found[others, tuple(VALUES[c] for c in world.record["deck"][: world.record["deck_size"]])] += 1
        assert hand(world, 0) == sorted(hands[0])
        assert all(hand(world, s) == sorted(hand(world, s)) for s in range(len(hands)))
    assert set(found) == set(expected)
    assert chisquare(list(found.values())).pvalue > 1e-4


# The oracle.


@pytest.mark.needs_jit
@pytest.mark.parametrize("players", range(2, 7))
@pytest.mark.parametrize("lead_may_pass", [False, True])
def test_oracle_equals_engine(players, lead_may_pass):
    """Legal sets, events, points, rewards and results are those of the literal second program at every step."""
    for seed in range(60):
        rng = random.Random(seed)
        reward = ("round", "game", "placement")[seed % 3]
        # A share of the games is played with a bias to pass or to play, so that rare situations come up.
        bias = (None, 0.6, 0.05)[seed // 3 % 3]
        p = new(players, seed, lead_may_pass=lead_may_pass, reward=reward, rounds=1 + seed % 4)
        second = oracle.Oracle(players, 1 + seed % 4, lead_may_pass)
        (event,) = p.events()
        second.deal(event)
        total = np.zeros(players)
        while not p.is_over:
            assert p.to_move == second.mover
            legal = p.legal_strings()
            assert legal == second.legal()
            choice = rng.choice(legal)
            if bias is not None and "pass" in legal and len(legal) > 1:
                choice = "pass" if rng.random() < bias else rng.choice([a for a in legal if a != "pass"])
            p.apply(p.string_to_action(choice))
            points = second.turn(choice, p.events())
            assert p.record["score"].tolist()[:players] == second.points
            assert [set(hand(p, s)) for s in range(players)] == second.hands
            if reward == "round":
                assert p.record["reward"].tolist()[:players] == (points or [0] * players)
            total += p.record["reward"][:players]
        assert second.over
        outcome = p.outcome()
        assert outcome["scores"] == second.points
        assert outcome["winners"] == second.winners
        assert outcome["truncated"] == second.truncated
        assert total == pytest.approx(second.returns(reward))
