"""Alle in die Boote: rules 1 .. 26, the worked examples of section 12 (``test_example_...``), options, knowledge and the rule agents."""

import random
from itertools import chain

import numpy as np
import pytest
from deckhand.agents import make_agent
from deckhand.agents.compiled_agent import compiled_numbers
from deckhand.agents.rules import rule_set
from deckhand.envs import get_game
from deckhand.envs.alle_in_die_boote.table import CARD_NAMES, CARD_OF_NAME, rank_name
from deckhand.envs.core import IllegalAction, OptionError, Position
from oracle_alle_in_die_boote import Oracle
from scipy.stats import chisquare

GAME = get_game("alle_in_die_boote")
RULES = GAME.rules
DEFAULTS = GAME.options().model_dump()


def new(players=1, seed=0, **options):
    return Position.new(GAME, players, options, seed)


def ids(text):
    return [CARD_OF_NAME[name] for name in text.split()]


def arrange(
    queues,
    stock="",
    discard="",
    hand="",
    boats=("", "", "", ""),
    coins=(3, 3, 2, 1, 1, 0),
    lifebuoys=2,
    players=1,
    known="",
    reshuffles=0,
    start=None,
    seed=0,
    **options,
):
    """A position written by hand. A queue is ``"face-down cards | open cards"``; ``boats`` are red 1, 2, black 1, 2.

    Cards that are not named do not exist. Hidden cards have never been seen, but for the face-down cards in ``known`` and, after
    ``reshuffles``, the stock.
    """
    p = new(players, seed, **options)
    s = p.states
    r = p.record
    if start is not None:
        s["start_coins"][0] = start
    s["coins"][0] = coins
    s["lifebuoys"][0] = lifebuoys
    s["reshuffles"][0] = reshuffles
    for name in ("queue", "queue_size", "face_down", "run", "stock", "where", "unseen", "unseen_at", "boat", "boat_suits"):
        s[name][0] = 0
    s["where"][0] = 1 << 30  # nowhere
    strange = 0
    r["where"][ids(stock)] = 1 << RULES.IN_STOCK if reshuffles else 0
    for i, text in enumerate([*queues, *[""] * (6 - len(queues))]):
        hidden, bar, shown = text.partition("|")
        down, up = (ids(hidden), ids(shown)) if bar else ([], ids(text))
        cards = down + up
        r["queue"][i, : len(cards)] = cards
        r["queue_size"][i], r["face_down"][i] = len(cards), len(down)
        r["linked"][i] = 1 << i
        r["where"][up] = 1 << i
        for card in down:
            if CARD_NAMES[card] in known.split():
                r["where"][card] = 1 << RULES.FACE_DOWN + i
            else:
                r["where"][card] = 0
                r["unseen"][i] += 1
                strange |= 1 << RULES.FACE_DOWN + i
        r["front"][i] = RULES.KIND[cards[-1]] if cards else RULES.EMPTY
        if not cards and r["start_coins"][i] > 0 and coins[i] == 0:
            r["front"][i] = RULES.FLOODED
        kinds = [RULES.KIND[c] for c in reversed(up)]
        while r["run"][i] < len(kinds) and kinds[r["run"][i]] == kinds[0] + r["run"][i] < 13 * (kinds[0] // 13 + 1):
            r["run"][i] += 1
    r["stock"][: len(ids(stock))] = ids(stock)
    r["where"][ids(discard)] = 1 << RULES.DISCARDED
    if stock and not reshuffles:
        strange |= 1 << RULES.IN_STOCK
    for b, text in enumerate(boats):
        for k, card in enumerate(ids(text)):
            assert RULES.RANK[card] == k + 1
            assert RULES.COLOUR[card] == b // 2
            suit = RULES.SUIT[card] % 2
            same = k > 0 and r["boat_suits"][b] >> (k - 1) & 1 == suit
            r["stretch"][b] = r["stretch"][b] + 1 if same else 1
            r["longest"][b] = max(r["longest"][b], r["stretch"][b])
            r["boat_suits"][b] |= suit << k
            r["where"][card] = 1 << RULES.IN_BOAT + b % 2
        r["boat"][b] = len(ids(text))
    for k, card in enumerate(ids(hand)):
        r["hand"][k] = card
        r["where"][card] = 1 << RULES.IN_HAND + k
    rescued = sum(len(ids(b)) for b in boats)
    s["score"][0, :players] = rescued
    for name, value in (
        ("unseen_at", strange),
        ("stock_size", len(ids(stock))),
        ("discard_size", len(ids(discard))),
        ("hand_size", len(ids(hand))),
        ("phase", RULES.PLACING if hand else RULES.MAIN),
        ("rescued", rescued),
    ):
        s[name][0] = value
    return p


def play(p, *texts):
    """Play action strings; returns all events."""
    events = []
    for text in texts:
        p.apply(p.string_to_action(text))
        events += p.events()
    return events


def cards_in(p, section):
    """All cards of a section, back to front."""
    return [CARD_NAMES[c] for c in p.record["queue"][section - 1][: p.record["queue_size"][section - 1]]]


def queue(p, section):
    """``(face-down cards, open cards)`` of a section, back to front."""
    names, down = cards_in(p, section), int(p.record["face_down"][section - 1])
    return names[:down], names[down:]


def shown(p, section):
    return queue(p, section)[1]


def coins(p):
    return p.record["coins"].tolist()


def discard(p):
    return {CARD_NAMES[c] for c in np.flatnonzero(p.record["where"] == 1 << RULES.DISCARDED)}


def stock(p):
    top = int(p.record["stock_top"])
    return [CARD_NAMES[c] for c in p.record["stock"][top : top + p.record["stock_size"]]]


def legal(p, *verbs):
    """Legal action strings, all or those that begin with one of the verbs."""
    return [t for t in p.legal_strings() if not verbs or t.split()[0] in verbs]


def lifebuoys(p):
    return int(p.record["lifebuoys"])


# Set-up and levels.


@pytest.mark.parametrize(
    ("level", "start", "rings"),
    [
        ("leicht", [4, 3, 3, 2, 1, 0], 3),
        ("normal", [3, 3, 2, 1, 1, 0], 2),
        ("schwer", [3, 2, 1, 1, 1, 0], 1),
        ("profi", [3, 2, 1, 1, 1, 0], 0),
    ],
)
def test_rule_6_set_up(level, start, rings):
    p = new(level=level, seed=4)
    assert coins(p) == start
    assert lifebuoys(p) == rings
    assert [len(queue(p, i)[0]) for i in range(1, 7)] == [3, 5, 7, 9, 0, 0]
    assert [len(shown(p, i)) for i in range(1, 7)] == [1, 1, 1, 1, 0, 0]
    (event,) = p.events()
    assert event == {"event": "deal", "queues": [cards_in(p, i) for i in range(1, 7)], "stock": stock(p)}
    assert len(stock(p)) == 24
    assert sorted(chain(*event["queues"], event["stock"])) == sorted(CARD_NAMES)
    assert p.to_move == 0
    assert p.phase == "main"


@pytest.mark.needs_jit
def test_deals_are_uniform():
    places = np.zeros((52, 52), int)
    for seed in range(2000):
        (event,) = new(seed=seed).events()
        for place, name in enumerate(chain(*event["queues"], event["stock"])):
            places[place, CARD_OF_NAME[name]] += 1
    assert chisquare(places.ravel()).pvalue > 0.001


# Section 12.


def test_example_1():
    p = arrange(["3h 4s 9c | 7h", "2d | Qs", "5d | 8c", "Kd Js 6h | Ac"], stock="2c 9d 5s")
    play(p, "board 4>boat1")
    assert shown(p, 4) == ["6h"]
    play(p, "move 4>1")
    assert shown(p, 1) == ["7h", "6h"]
    assert shown(p, 4) == ["Js"]
    play(p, "move 4>2")
    assert shown(p, 4) == ["Kd"]
    assert play(p, "rescue 3") == [{"event": "draw", "cards": ["2c", "9d", "5s"]}]
    assert p.phase == "place"
    assert legal(p) == ["place 2c>boat1"]
    play(p, "place 2c>boat1")
    assert discard(p) == {"9d", "5s"}
    assert p.record["rescued"] == 2
    assert p.phase == "main"


def test_example_2():
    p = arrange(["7h"], stock="4s 3s 2s", players=2)
    events = play(p, "rescue 3")
    assert events == [
        {"event": "draw", "cards": ["4s", "3s", "2s"]},
        {"event": "flood", "section": 1, "left": 2},
        {"event": "lifebuoy", "player": 0},
    ]
    assert coins(p) == [2, 3, 2, 1, 1, 0]
    assert lifebuoys(p) == 3
    assert discard(p) == {"4s", "3s", "2s"}
    assert (p.to_move, p.phase) == (1, "main")


def test_example_3_a_flood_mixes_two_queues():
    p = arrange(["2h | 9h 8h", "3d | 9s 8c"], stock="5s", coins=(1, 3, 2, 1, 1, 0))
    events = play(p, "rescue 1")
    assert [e["event"] for e in events] == ["draw", "flood", "merge", "lifebuoy"]
    down, up = queue(p, 2)
    assert events[2] == {"event": "merge", "into": 2, "queue": down + up}
    assert sorted(down + up) == ["2h", "3d", "8c", "8h", "9h", "9s"]
    assert (len(down), len(up)) == (5, 1)
    assert queue(p, 1) == ([], [])
    assert p.record["front"][0] == RULES.FLOODED


def test_example_4_an_empty_queue_floods_without_mixing():
    p = arrange(["", "3d | 9s 8c"], stock="5s", coins=(1, 3, 2, 1, 1, 0))
    events = play(p, "rescue 1")
    assert [e["event"] for e in events] == ["draw", "flood", "lifebuoy"]
    assert queue(p, 2) == (["3d"], ["9s", "8c"])
    assert p.record["front"][0] == RULES.FLOODED


def test_example_5_a_flood_into_an_empty_section():
    p = arrange(["9s 8c 7s", ""], stock="5s", coins=(1, 3, 2, 1, 1, 0))
    play(p, "rescue 1")
    down, up = queue(p, 2)
    assert (len(down), len(up)) == (2, 1)
    assert sorted(down + up) == ["7s", "8c", "9s"]


def test_example_6_the_reshuffle_costs_a_coin_without_a_lifebuoy():
    p = arrange(["7h"], discard="6h 2s 3s 4s")
    assert legal(p, "rescue") == ["rescue 1", "rescue 2", "rescue 3"]
    events = play(p, "rescue 3")
    assert [e["event"] for e in events][:3] == ["shuffle", "flood", "draw"]
    assert sorted(events[0]["stock"]) == ["2s", "3s", "4s", "6h"]
    assert events[2]["cards"] == events[0]["stock"][:3]
    if "6h" in events[2]["cards"]:
        assert coins(p) == [2, 3, 2, 1, 1, 0]
        assert lifebuoys(p) == 2
        assert p.phase == "place"
    else:
        assert coins(p) == [1, 3, 2, 1, 1, 0]
        assert lifebuoys(p) == 3


def test_example_7_the_last_coin_at_a_reshuffle():
    p = arrange(["", "", "", "", "9s 7h"], discard="6h 2s", boats=("Ah 2d", "", "", ""), coins=(0, 0, 0, 0, 1, 0))
    events = play(p, "rescue 3")
    assert [e["event"] for e in events] == ["shuffle", "flood"]
    assert events[1] == {"event": "flood", "section": 5, "left": 0}
    assert p.is_over
    assert p.outcome() == {"scores": [2], "winners": [], "rescued": 2, "returns": [0], "truncated": False}
    assert queue(p, 5) == ([], ["9s", "7h"])


def test_example_8_both_piles_are_empty():
    p = arrange(["7h"], players=2)
    assert play(p, "rescue 1") == [{"event": "flood", "section": 1, "left": 2}]
    assert lifebuoys(p) == 2
    assert (p.to_move, p.phase) == (1, "main")


def test_example_9_a_short_stock_limits_the_rescue():
    p = arrange(["7h"], stock="6h", discard="2s")
    assert legal(p, "rescue") == ["rescue 1"]
    assert play(p, "rescue 1") == [{"event": "draw", "cards": ["6h"]}]
    assert legal(p) == ["place 6h>1"]


def test_example_10_a_lone_king_must_be_placed():
    p = arrange(["7h"], stock="Ks")
    play(p, "rescue 1")
    assert legal(p) == [f"place Ks>{i}" for i in range(2, 7)]


def test_example_11_runs():
    p = arrange(["2c | 9s 8c 7c", "8s", "9d"])
    assert legal(p, "move") == ["move 1>2"]
    play(p, "move 1>2")
    assert (shown(p, 1), shown(p, 2)) == (["9s", "8c"], ["8s", "7c"])
    p = arrange(["2c | Ks Qc"])
    assert "move 1>4" in legal(p)
    play(p, "move 1>4")
    assert (shown(p, 1), shown(p, 4)) == (["2c"], ["Ks", "Qc"])


def test_example_12_no_return():
    p = arrange(["9s 8c 7c", "8s", "2d | 3d"], stock="6s 5s 5h 4h")
    play(p, "move 1>2")
    assert "move 2>1" not in legal(p)
    with pytest.raises(IllegalAction):
        p.apply(p.game.string_to_action(p.record, "move 2>1"))
    play(p, "letpass 3")
    assert "move 2>1" in legal(p)


def test_example_13_aces():
    p = arrange(["Ah", "Ad", "2h"])
    assert legal(p, "board") == ["board 1>boat1", "board 2>boat1"]
    play(p, "board 1>boat1")
    assert legal(p, "board") == ["board 2>boat2", "board 3>boat1"]
    play(p, "board 2>boat2")
    assert legal(p, "board") == ["board 3>boat1", "board 3>boat2"]


def test_example_14_an_ace_on_a_two():
    p = arrange(["2h", "5c | Ad"])
    assert legal(p, "move") == ["move 2>1"]


def suit_run(suit):
    return " ".join(r + suit for r in (*"A23456789", "10", *"JQK"))


def test_example_15_the_bonus():
    mixed = "Ah 2h 3h 4d 5d 6d 7d 8h 9h 10h Jh Qh Kh"
    other = "Ad 2d 3d 4h 5h 6h 7h 8d 9d 10d Jd Qd"
    p = arrange(["Kd"], boats=(mixed, other, suit_run("s"), suit_run("c")), coins=(0, 0, 1, 1, 1, 0))
    p.states["coins"][0], p.states["front"][0, 1:] = (1, 0, 0, 1, 1, 0), RULES.EMPTY
    play(p, "board 1>boat2")
    assert p.outcome() == {"scores": [74], "winners": [0], "rescued": 52, "returns": [1 + 3 + 6 + 13], "truncated": False}
    assert p.record["terminal"] == 1


def test_example_16_commands():
    def start():
        return arrange(["2c 3c 4c 5c | 9s", "7d"], stock="Kd", discard="8s 2d", coins=(2, 3, 2, 1, 1, 0), lifebuoys=9, level="normal")

    p = start()
    assert legal(p, "even", "letpass", "pump", "call") == ["call 8s", "even 1-2", "letpass 1", "pump"]
    play(p, "letpass 1")
    assert lifebuoys(p) == 7
    assert queue(p, 1) == (["2c", "3c", "4c"], ["9s", "5c"])
    assert "call 8s" not in legal(p)
    p = start()
    play(p, "pump")
    assert coins(p) == [3, 3, 2, 1, 1, 0]
    assert lifebuoys(p) == 6
    assert "pump" not in legal(p)
    p = start()
    (event,) = play(p, "even 1-2")
    assert lifebuoys(p) == 8
    assert [len(queue(p, i)[0]) for i in (1, 2)] == [2, 2]
    assert [shown(p, i) for i in (1, 2)] == [["9s"], ["7d"]]
    assert event == {"event": "even", "queues": [queue(p, 1)[0], queue(p, 2)[0]]}


def test_example_16_in_sequence():
    p = arrange(["2c 3c 4c 5c | 9s", "7d"], stock="Kd", discard="8s 2d", coins=(2, 3, 2, 1, 1, 0), lifebuoys=9)
    play(p, "letpass 1")
    assert lifebuoys(p) == 7
    play(p, "pump")
    assert lifebuoys(p) == 4
    assert "pump" not in legal(p)
    play(p, "even 1-2")
    assert lifebuoys(p) == 3
    assert [len(queue(p, i)[0]) for i in (1, 2)] == [1, 2]
    assert [shown(p, i)[-1] for i in (1, 2)] == ["5c", "7d"]
    assert "call 8s" not in legal(p)


def test_example_17_the_last_card_boards_in_the_free_moves():
    boats = (suit_run("h"), suit_run("d"), suit_run("s"), suit_run("c")[:-3])
    p = arrange(["", "Kc"], boats=boats, coins=(3, 3, 2, 1, 1, 0), players=3)
    play(p, "board 2>boat2")
    assert p.is_over
    assert p.outcome()["scores"] == [88] * 3
    assert p.outcome()["winners"] == [0, 1, 2]
    assert p.outcome()["rescued"] == 52


# More of the rules.


def test_rule_7_a_red_king_and_a_black_ace_are_no_run():
    p = arrange(["As Kh"])
    assert legal(p, "move") == [f"move 1>{j}" for j in range(2, 7)]
    play(p, "move 1>2")
    assert (shown(p, 1), shown(p, 2)) == (["As"], ["Kh"])
    p = arrange(["Kh", "As"])
    assert legal(p, "move") == [f"move 1>{j}" for j in range(3, 7)]


def test_rule_8_a_king_run_flees_to_another_section():
    p = arrange(["Kd Qh"], coins=(3, 3, 2, 1, 1, 0))
    assert legal(p, "move") == [f"move 1>{j}" for j in range(2, 7)]
    play(p, "move 1>6")
    assert shown(p, 6) == ["Kd", "Qh"]
    # Not back, not to an arrangement seen before, but to the others.
    assert legal(p, "move") == [f"move 6>{j}" for j in range(2, 6)]


def test_rule_14_one_card_is_placed_by_choice_of_card_and_place():
    p = arrange(["7h", "7d", "5s"], stock="6h 6d 4c 9s")
    play(p, "rescue 3")
    assert legal(p) == ["place 4c>3", "place 6d>1", "place 6d>2", "place 6h>1", "place 6h>2"]
    play(p, "place 6d>1")
    assert discard(p) == {"6h", "4c"}
    assert stock(p) == ["9s"]


def test_rule_16_the_flood_may_spoil_the_fit():
    p = arrange(["7h", "9s"], discard="6h", coins=(1, 3, 2, 1, 1, 0), seed=1)
    events = play(p, "rescue 1")
    merged = events[2]["queue"]
    assert [e["event"] for e in events][:4] == ["shuffle", "flood", "merge", "draw"]
    assert (p.phase == "place") == (merged[-1] == "7h")


def test_rule_15_a_failure_after_a_reshuffle_costs_two_coins():
    p = arrange(["7h"], discard="2s")
    events = play(p, "rescue 3")
    assert [e["event"] for e in events] == ["shuffle", "flood", "draw", "flood", "lifebuoy"]
    assert coins(p) == [1, 3, 2, 1, 1, 0]
    assert lifebuoys(p) == 3


def test_rule_19_the_last_coin_sinks_the_ship_after_a_failed_rescue():
    p = arrange(["", "", "", "", "9s 7h"], stock="2s", coins=(0, 0, 0, 0, 1, 0), boats=("Ah", "", "", ""), players=2)
    events = play(p, "rescue 1")
    assert [e["event"] for e in events] == ["draw", "flood"]
    assert p.outcome()["scores"] == [1, 1]
    assert p.record["terminal"] == 1
    assert not p.record["truncated"]


def test_rule_20_a_single_card_is_merged_too():
    p = arrange(["9s"], stock="5h", coins=(1, 3, 2, 1, 1, 0))
    events = play(p, "rescue 1")
    assert events[2] == {"event": "merge", "into": 2, "queue": ["9s"]}
    assert queue(p, 2) == ([], ["9s"])


def test_rule_21_a_merge_into_section_6_in_another_layout():
    p = arrange(["", "", "", "", "9s", "3d | 4h"], stock="2s", coins=(0, 0, 0, 0, 1, 1), start=(3, 3, 2, 1, 1, 1))
    events = play(p, "rescue 1")
    assert events[2]["event"] == "merge"
    assert events[2]["into"] == 6
    assert sum(map(len, queue(p, 6))) == 3
    assert not p.is_over


def test_rule_24_turns_go_round():
    p = arrange(["7h | 9c", "2h 3h 4h | 7d"], stock="6h Jd 2s 2c 4s", discard="8c", players=3, lifebuoys=9, coins=(2, 3, 2, 1, 1, 0))
    movers = []
    for text in ("rescue 1", "place 6h>2", "even 1-2", "letpass 2", "pump", "rescue 3"):
        movers.append(p.to_move)
        play(p, text)
    assert movers == [0, 0, 1, 2, 0, 1]
    assert p.to_move == 2


def test_a_flood_between_queues_of_open_cards_hides_them():
    p = arrange(["9s", "7h 8c"], stock="2d", coins=(1, 3, 2, 1, 1, 0), open_queues=True)
    play(p, "rescue 1")
    assert len(queue(p, 2)[0]) == 2


# Commands.


def test_call_is_paid_when_named_and_then_places():
    p = arrange(["7h", "3h"], stock="9s", discard="6d 2c", lifebuoys=3)
    assert play(p, "call 6d") == []
    assert lifebuoys(p) == 1
    assert discard(p) == {"2c"}
    assert legal(p) == ["place 6d>1"]
    assert p.phase == "place"
    play(p, "place 6d>1")
    assert shown(p, 1) == ["7h", "6d"]
    assert discard(p) == {"2c"}


def test_let_pass_may_continue_a_run():
    p = arrange(["2h 8c | 9s", "5d"])
    play(p, "letpass 1")
    assert queue(p, 1) == (["2h"], ["9s", "8c"])
    assert p.record["run"][0] == 2


def test_even_gives_the_odd_card_to_the_stern():
    p = arrange(["2h 3h 4h 5h 6h | 9s 8s", "7d 8d | 9d"])
    (event,) = play(p, "even 1-2")
    assert [len(q) for q in event["queues"]] == [3, 4]
    assert [shown(p, i) for i in (1, 2)] == [["9s", "8s"], ["9d"]]
    assert "even 1-2" not in legal(p)


def test_pump_needs_a_lost_coin_on_the_bow_section():
    assert "pump" not in legal(arrange(["7h"], coins=(3, 3, 2, 1, 1, 0), lifebuoys=9))
    assert "pump" not in legal(arrange(["", "7h"], coins=(0, 3, 1, 1, 1, 0), lifebuoys=9))
    assert "pump" in legal(arrange(["", "7h"], coins=(0, 2, 2, 1, 1, 0), lifebuoys=9))
    assert "pump" not in legal(arrange(["", "7h"], coins=(0, 2, 2, 1, 1, 0), lifebuoys=2))


def test_costs_are_options():
    costs = {"cost_even": 0, "cost_letpass": 4, "cost_call": 5, "cost_pump": 9}
    p = arrange(["2c 3c 4c | 9s", "7d"], stock="Kd", discard="8s", coins=(2, 3, 2, 1, 1, 0), lifebuoys=9, **costs)
    assert legal(p, "even", "letpass", "call", "pump") == ["call 8s", "even 1-2", "letpass 1", "pump"]
    for text, left in (("even 1-2", 9), ("letpass 1", 5), ("call 8s", 4), ("pump", 0)):
        q = p.clone()
        play(q, text)
        assert lifebuoys(q) == left
    p = arrange(["2c 3c 4c | 9s", "7d"], stock="Kd", discard="8s", coins=(2, 3, 2, 1, 1, 0), lifebuoys=4, **costs)
    assert legal(p, "even", "letpass", "call", "pump") == ["even 1-2", "letpass 1"]


@pytest.mark.parametrize("bad", [{"cost_pump": 10}, {"cost_even": -1}, {"level": "hart"}, {"reward": "round"}, {"coins": 3}])
def test_bad_options(bad):
    with pytest.raises(OptionError, match=next(iter(bad))):
        new(**bad)


def test_options_stand_in_header_order():
    assert DEFAULTS == {
        "level": "normal",
        "open_queues": False,
        "own_lifebuoys": False,
        "cost_even": 1,
        "cost_letpass": 2,
        "cost_call": 2,
        "cost_pump": 3,
        "reward": "score",
    }
    assert list(DEFAULTS) == ["level", "open_queues", "own_lifebuoys", "cost_even", "cost_letpass", "cost_call", "cost_pump", "reward"]


# Variants and rewards.


def test_rule_25_own_lifebuoys():
    p = arrange(["2c 3c 4c | 9s"], stock="2s 3s 4h 5h", players=2, lifebuoys=1, own_lifebuoys=True)
    assert play(p, "rescue 1")[-1] == {"event": "lifebuoy", "player": 0}
    assert p.record["own"].tolist() == [1, 0, 0, 0, 0]
    assert lifebuoys(p) == 1
    assert legal(p, "letpass") == []  # player 1 has the common one only
    play(p, "rescue 1")
    assert p.record["own"].tolist() == [1, 1, 0, 0, 0]
    play(p, "rescue 1")
    assert p.record["own"].tolist() == [2, 1, 0, 0, 0]
    assert len(queue(p, 2)[0]) == 3
    play(p, "letpass 2")  # player 1: the own one first, then the common one
    assert p.record["own"].tolist() == [2, 0, 0, 0, 0]
    assert lifebuoys(p) == 0
    assert "letpass 2" in legal(p)
    play(p, "letpass 2")
    assert p.record["own"].tolist() == [0, 0, 0, 0, 0]


def test_rule_25_observation_tells_own_from_others():
    p = arrange(["9s"], stock="2s", players=3, lifebuoys=1, own_lifebuoys=True)
    p.states["own"][0, :3] = (4, 2, 0)
    seen = [GAME.layout.unpack(p.observation(seat))["globals"][1:3] * 16 for seat in range(3)]
    assert [x.tolist() for x in seen] == [[5, 2], [3, 4], [1, 6]]


def test_rule_26_open_queues():
    p = new(open_queues=True, seed=3)
    assert [len(shown(p, i)) for i in range(1, 7)] == [4, 6, 8, 10, 0, 0]
    assert legal(p, "letpass", "even") == []
    cards = GAME.layout.unpack(p.observation(0))["cards"]
    assert cards[:, :6].sum() == 28
    assert not cards[:, 13:19].any()
    assert cards[:, 12].sum() == 24


@pytest.mark.parametrize(("reward", "boarding", "last"), [("score", 1, 1 + 10 + 26), ("rescued", 1, 1), ("win", 0, 1)])
def test_rewards(reward, boarding, last):
    boats = (suit_run("h"), suit_run("d"), suit_run("s"), suit_run("c")[:-6])
    p = arrange(["", "Kc", "Qc"], boats=boats, players=2, reward=reward)
    play(p, "board 3>boat2")
    assert p.states["reward"][0, :3].tolist() == [boarding, boarding, 0]
    play(p, "board 2>boat2")
    assert p.states["reward"][0, :3].tolist() == [last, last, 0]
    assert p.outcome()["returns"] == [boarding + last] * 2
    assert p.outcome()["scores"] == [88, 88]


def test_the_last_card_may_be_placed_from_the_hand():
    boats = (suit_run("h"), suit_run("d"), suit_run("s"), suit_run("c")[:-3])
    p = arrange([""], boats=boats, stock="Kc", players=2)
    play(p, "rescue 1")
    assert legal(p) == ["place Kc>1", "place Kc>2", "place Kc>3", "place Kc>4", "place Kc>5", "place Kc>6", "place Kc>boat2"]
    play(p, "place Kc>boat2")
    assert p.is_over
    assert p.outcome()["winners"] == [0, 1]
    assert p.states["reward"][0, :2].tolist() == [37, 37]


def test_truncation_after_1000_decisions():
    p = arrange(["7h"], stock="6h 2s", coins=(2, 3, 2, 1, 1, 0), cost_pump=0, boats=("Ah", "", "", ""))
    p.states["decisions"][0] = 998
    play(p, "rescue 1")
    assert not p.is_over
    play(p, "place 6h>1")
    assert p.is_over
    assert p.record["truncated"] == 1
    assert not p.record["terminal"]
    assert p.outcome() == {"scores": [1], "winners": [], "rescued": 1, "returns": [0], "truncated": True}


def test_winning_with_the_1000th_decision_is_no_truncation():
    p = arrange(["Kc"], boats=(suit_run("h"), suit_run("d"), suit_run("s"), suit_run("c")[:-3]))
    p.states["decisions"][0] = 999
    play(p, "board 1>boat2")
    assert p.record["terminal"] == 1
    assert not p.record["truncated"]


# Section 3: the no-return rule.


@pytest.mark.needs_jit
def test_every_arrangement_of_a_segment_comes_once_and_at_most_24_moves():
    kings = ["Kh Qd Jh 10d", "Ks Qc Js 10c", "Kd Qh Jd 10h", "Kc Qs Jc 10s"]
    longest = 0
    for seed in range(30):
        rnd = random.Random(seed)
        p = arrange(kings)
        seen = {tuple(tuple(shown(p, i)) for i in range(1, 7))}
        while legal(p, "move"):
            play(p, rnd.choice(legal(p, "move")))
            arrangement = tuple(tuple(shown(p, i)) for i in range(1, 7))
            assert arrangement not in seen
            seen.add(arrangement)
            assert p.record["segment"] == len(seen) - 1
        longest = max(longest, len(seen) - 1)
    assert longest == 24


def test_an_irreversible_move_clears_the_memory():
    p = arrange(["9s 8c 7c", "8s", "2d | 3d", "4h"])
    play(p, "move 1>2", "move 3>4")  # the second turns up the 2d
    assert "move 2>1" in legal(p)


def test_a_boarding_and_a_placement_clear_the_memory():
    p = arrange(["9s 8c 7c", "8s", "Ah", "4h"])
    play(p, "move 1>2", "board 3>boat1")
    assert "move 2>1" in legal(p)
    p = arrange(["9s 8c 7c", "8s", "Ah", "4h"], stock="3h", players=2)
    play(p, "move 1>2", "rescue 1", "place 3h>4")
    assert "move 2>1" in legal(p)


def test_emptying_a_section_of_a_run_without_a_king_is_irreversible():
    p = arrange(["8c 7c", "9s", "9c"])
    play(p, "move 1>2")
    assert p.record["segment"] == 0
    assert "move 2>3" in legal(p)


# The oracle.


def random_options(rnd):
    return {
        "level": rnd.choice(["leicht", "normal", "schwer", "profi"]),
        "open_queues": rnd.random() < 0.3,
        "own_lifebuoys": rnd.random() < 0.4,
        "cost_even": rnd.choice([0, 1]),
        "cost_letpass": rnd.choice([0, 2]),
        "cost_call": rnd.choice([0, 2]),
        "cost_pump": rnd.choice([1, 3]),
        "reward": "score",
    }


@pytest.mark.needs_jit
@pytest.mark.parametrize("seed", range(4))
def test_oracle_equals_engine(seed):
    """Legal actions, rewards, players on turn and every float of the observation, in random games that like different actions."""
    rnd = random.Random(seed)
    seen = set()
    for game in range(6):
        players = rnd.randint(1, 5)
        options = random_options(rnd)
        p = new(players, 100 * seed + game, **options)
        oracle = Oracle(players, options, p.events()[0])
        liking = {verb: rnd.choice([0.2, 1, 3]) for verb in ("move", "board", "rescue", "even", "letpass", "call", "pump", "place")}
        while not p.is_over:
            assert p.to_move == oracle.mover
            texts = p.legal_strings()
            assert texts == oracle.legal()
            seat = rnd.randrange(players)
            found = GAME.layout.unpack(p.observation(seat))
            for name, expected in oracle.observe(seat).items():
                np.testing.assert_array_equal(found[name], np.array(expected, np.float32), err_msg=name)
            text = rnd.choices(texts, [liking[t.split()[0]] for t in texts])[0]
            seen.add(text.split()[0])
            p.apply(p.string_to_action(text))
            assert p.states["reward"][0, :players].tolist() == [oracle.play(text, p.events())] * players
        assert oracle.over
        assert oracle.truncated == bool(p.record["truncated"])
        assert p.outcome()["rescued"] == oracle.rescued()
    assert seen >= {"move", "board", "rescue", "even", "letpass", "call", "place"}


# Knowledge (section 8.2) and hidden facts.


def may_be(p, card):
    """Columns 12-18 of a card: stock, queues 1-6."""
    return GAME.layout.unpack(p.observation(0))["cards"][CARD_OF_NAME[card], 12:19].astype(int).tolist()


def test_never_seen_cards_may_be_wherever_never_seen_cards_are():
    p = new(seed=2)
    hidden = stock(p)[5]
    assert may_be(p, hidden) == [1, 1, 1, 1, 1, 0, 0]
    assert may_be(p, shown(p, 1)[0]) == [0] * 7


def test_a_flood_moves_what_is_known():
    p = arrange(["2h | 9h 8h", "3d | 9s 8c", "4d | 5c"], stock="5s Jc", known="2h", coins=(1, 1, 2, 1, 1, 0))
    play(p, "rescue 1")
    front = shown(p, 2)[0]
    for card in {"2h", "9h", "8h", "9s", "8c"} - {front}:
        assert may_be(p, card) == [0, 0, 1, 0, 0, 0, 0]
    for card in {"3d", "4d", "Jc"} - {front}:
        assert may_be(p, card) == [1, 0, int(front != "3d"), 1, 0, 0, 0]
    sections = GAME.layout.unpack(p.observation(0))["sections"]
    assert (sections[:, 6] * 52).round(4).tolist() == [0, int(front != "3d"), 1, 0, 0, 0]


def test_even_joins_what_is_known():
    p = arrange(["2h 3h 4h 6h | 9s", "7d | Jc", "8h | 5c"], stock="Qs", known="2h 3h 7d 8h")
    play(p, "even 1-2")
    for card in ("2h", "3h", "7d"):
        assert may_be(p, card) == [0, 1, 1, 0, 0, 0, 0]
    for card in ("4h", "6h", "Qs"):
        assert may_be(p, card) == [1, 1, 1, 0, 0, 0, 0]
    assert may_be(p, "8h") == [0, 0, 0, 1, 0, 0, 0]
    sections = GAME.layout.unpack(p.observation(0))["sections"]
    np.testing.assert_allclose(sections[:3, 6] * 52, [2 * 2 / 5, 2 * 3 / 5, 0], rtol=1e-5)


def test_after_a_reshuffle_the_stock_is_known():
    p = arrange(["2h | 9h"], discard="2s 3s 4s 5s")
    play(p, "rescue 1")
    for card in stock(p):
        assert may_be(p, card) == [1, 0, 0, 0, 0, 0, 0]
    assert may_be(p, "2h") == [0, 1, 0, 0, 0, 0, 0]
    assert GAME.layout.unpack(p.observation(0))["globals"][12] == 1


def test_an_exhausted_section_holds_nothing_any_more():
    p = arrange(["2h 3h 4h | 9s", "7d | Jc"], stock="Qs", known="2h 3h 4h 7d", lifebuoys=9)
    play(p, "even 1-2", "letpass 1")  # two face down each, then one
    play(p, "letpass 1")
    left = queue(p, 2)[0]
    for card in left:
        assert may_be(p, card) == [0, 0, 1, 0, 0, 0, 0]


def test_views_hide_order_and_nothing_else():
    p = new(seed=8)
    play(p, "rescue 3")
    v = p.view(0)
    assert (v.record["stock"] == -1).all()
    for i in range(6):
        assert (v.record["queue"][i][: v.record["face_down"][i]] == -1).all()
        assert v.record["queue"][i][v.record["face_down"][i] : v.record["queue_size"][i]].tolist() == [
            CARD_OF_NAME[c] for c in shown(p, i + 1)
        ]
    assert (v.observation(0) == p.observation(0)).all()
    assert v.legal_actions() == p.legal_actions()
    assert str(v) == str(p)
    assert GAME.paint(v.record).svg() == GAME.paint(p.record).svg()


def worlds(p, read, count=3000):
    """How often each outcome of ``read(position)`` comes in ``count`` resampled worlds."""
    found = {}
    for seed in range(count):
        key = read(p.resample(0, seed))
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.needs_jit
def test_resample_mixes_known_and_never_seen_cards_of_a_merged_queue():
    """The 2h is known to be in section 1, the 3d, 4d and 5d are strangers; one of these is the stock."""
    p = arrange(["2h 3d 4d | 9s"], stock="5d", known="2h")
    found = worlds(p, lambda w: (tuple(queue(w, 1)[0]), *stock(w)))
    # Three places for the 2h times 3! ways for the others.
    assert len(found) == 18
    assert chisquare(list(found.values())).pvalue > 0.001


@pytest.mark.needs_jit
def test_resample_after_even():
    p = arrange(["2h 3h | 9s", "4h | Jc", "7d 8d | 5c"], known="2h 3h 4h 7d")
    p.states["linked"][0, :2] = 3
    for card in ("2h", "3h", "4h"):
        p.states["where"][0, CARD_OF_NAME[card]] = 3 << RULES.FACE_DOWN
    found = worlds(p, lambda w: (*queue(w, 1)[0], *queue(w, 2)[0], *queue(w, 3)[0]))
    assert len(found) == 6 * 2
    assert chisquare(list(found.values())).pvalue > 0.001


@pytest.mark.needs_jit
def test_resample_after_overlapping_evens_is_uniform():
    """Cards a, b may be in 1-3, cards c, d in 2-4, one place each in 1 and 4 and two in 2 and 3: overlapping, not nested."""
    p = arrange(["2h | 9s", "3h | Jc", "4h | 5c", "6h | 8c"], known="2h 3h 4h 6h")
    p.states["linked"][0, :4] = 15
    for card, mask in (("2h", 7), ("3h", 7), ("4h", 14), ("6h", 14)):
        p.states["where"][0, CARD_OF_NAME[card]] = mask << RULES.FACE_DOWN
    found = worlds(p, lambda w: tuple(queue(w, i)[0][0] for i in range(1, 5)))
    # Section 1 holds one of two, section 4 one of two, the others in either order.
    assert len(found) == 2 * 2 * 2
    assert chisquare(list(found.values())).pvalue > 0.001


@pytest.mark.needs_jit
def test_resample_keeps_the_views_of_long_games():
    rnd = random.Random(5)
    for seed in range(4):
        p = new(2, seed, cost_even=0, cost_letpass=1, level="leicht")
        while not p.is_over:
            v = p.view(1)
            w = v.resample(1, rnd.randrange(1000))
            assert w.view(1) == v
            held = [*stock(w), *chain(*(cards_in(w, i) for i in range(1, 7)))]
            held += [CARD_NAMES[c] for c in w.record["hand"][: w.record["hand_size"]]]
            held += [CARD_NAMES[c] for c in range(52) if w.record["where"][c] in (64, 128, 256)]
            assert sorted(held) == sorted(CARD_NAMES)
            # A world plays on by the rules.
            while not w.is_over:
                w.apply(rnd.choice(w.legal_actions()))
            texts = p.legal_strings()
            play(p, rnd.choices(texts, [4 if t.startswith("even") else 1 for t in texts])[0])


# Text and drawing.


def test_rank_names():
    assert [rank_name(n) for n in (0, 8, 9, 16, 17, 24, 25, 34, 35, 44, 45, 51, 55, 64, 65, 91)] == [
        "Untergang",
        "Untergang",
        "Kalte Nacht",
        "Kalte Nacht",
        "Besser als 1912",
        "Besser als 1912",
        "Helden der Nacht",
        "Helden der Nacht",
        "Retter der Meere",
        "Retter der Meere",
        "Fast alle",
        "Fast alle",
        "Alle in den Booten",
        "Alle in den Booten",
        "Legende des Nordatlantiks",
        "Legende des Nordatlantiks",
    ]


def test_text_and_drawing_show_what_is_open():
    p = arrange(["2h | 9h 8h", "3d | 9s 8c"], stock="5s 6s", discard="Jc", boats=("Ah 2d", "", "As", ""), hand="7h")
    text = str(p)
    for part in ("[1 face down] 9h 8h", "red boat1: Ah 2d", "discard pile: Jc", "hand: 7h", "stock 2", "player 0"):
        assert part in text
    assert "2h" not in text
    assert "5s" not in text
    svg = GAME.paint(p.record).svg()
    assert "flooded" not in svg
    assert GAME.paint(p.record).pixels(0.5).shape == (320, 400, 3)
    p = arrange(["", "9s"], coins=(0, 3, 2, 1, 1, 0))
    assert "flooded" in GAME.paint(p.record).svg()


# Rule agents (section 11).


def decide(p, agent, params=None):
    rules = rule_set(GAME)
    kind, defaults = rules.agents[agent]
    params = defaults if params is None else params
    actions = np.empty(1, np.int64)
    values = np.zeros(rules.width)
    values[: len(params)] = params
    rules.loops.choose_all(kind, p.view(p.to_move).states, p.mask()[None], np.ones(4, np.int64), values, actions)
    return p.action_to_string(int(actions[0]))


def test_simple_prefers_boarding_then_runs_then_the_largest_rescue():
    assert decide(arrange(["2c | 8h", "Ah", "9d", "3h"], stock="5s 6s"), "simple") == "board 2>boat1"
    assert decide(arrange(["2c | 8h", "3h", "9d"], stock="5s 6s"), "simple") == "move 1>3"
    assert decide(arrange(["3h"], stock="5s 6s"), "simple") == "rescue 2"
    assert decide(arrange(["3h"], discard="5s"), "simple") == "rescue 3"


def test_simple_moves():
    # Never a split; a King run with nothing behind stays.
    assert decide(arrange(["2c | 9h 8h", "9d"], stock="5s"), "simple") == "rescue 1"
    assert decide(arrange(["Kh Qh"], stock="5s"), "simple") == "rescue 1"
    # A front before an empty section, then turning up, then most face-down cards, then the stern-most target.
    assert decide(arrange(["2c | Kh", "4c | 8h", "9d"], stock="5s"), "simple") == "move 2>3"
    assert decide(arrange(["2c | 7h", "8h", "3c | 6d", "7d"], stock="5s"), "simple") == "move 3>4"
    assert decide(arrange(["2c | 8h", "2s 3s | 8d", "9d", "9h"], stock="5s"), "simple") == "move 2>4"
    assert decide(arrange(["2c | Kh"], stock="5s"), "simple") == "move 1>6"


def test_simple_places():
    assert decide(arrange(["7h", "5s"], hand="6h 4s 2c", boats=("", "", "Ac", "As")), "simple") == "place 2c>boat1"
    assert decide(arrange(["7h", "5s", "7d"], hand="4s 6h 6d"), "simple") == "place 6h>3"
    assert decide(arrange(["7h"], hand="Ks 6h"), "simple") == "place 6h>1"
    assert decide(arrange(["7h"], hand="Ks Kh"), "simple") == "place Ks>6"


def test_call_pump():
    p = arrange(["9h"], stock="5s", discard="2h 2d 3c", boats=("Ah", "Ad", "As 2s", ""), coins=(2, 3, 2, 1, 1, 0), lifebuoys=5)
    assert decide(p, "call_pump") == "call 2h"
    assert decide(p, "simple") == "rescue 1"
    play(p, "call 2h")
    assert decide(p, "call_pump") == "place 2h>boat1"
    p = arrange(["9h"], stock="5s", discard="8h", coins=(2, 3, 2, 1, 1, 0), lifebuoys=5)
    assert decide(p, "call_pump") == "pump"
    p = arrange(["9h"], stock="5s", discard="8h", lifebuoys=5)
    assert decide(p, "call_pump") == "rescue 1"


def simulate(agent, games, seed=10**6, players=1, **options):
    """Final records of games that one rule agent plays alone."""
    states = GAME.deal(players, options, range(seed, seed + games))
    seating = np.zeros((games, GAME.max_players), np.int64)
    numbers = compiled_numbers([make_agent(GAME, agent)])
    rule_set(GAME).loops.play(states, 0, seating, *numbers, 1, GAME.allocate(1), np.zeros(GAME.num_actions, np.bool_))
    return states


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("agent", "level", "mean", "error", "wins"),
    [
        ("simple", "leicht", 17.45, 0.09, 0.047),
        ("simple", "normal", 14.74, 0.08, 0.019),
        ("simple", "schwer", 12.88, 0.07, 0.007),
        ("simple", "profi", 12.88, 0.07, 0.007),
        ("call_pump", "leicht", 20.37, 0.09, 0.080),
        ("call_pump", "normal", 17.83, 0.08, 0.038),
        ("call_pump", "schwer", 15.37, 0.07, 0.008),
        ("call_pump", "profi", 14.60, 0.07, 0.007),
    ],
)
def test_regression_6_5(agent, level, mean, error, wins):
    """Within three combined standard errors of the C++ row (20,000 deals)."""
    n = 1000
    rescued = simulate(agent, n, level=level)["rescued"].astype(float)
    assert abs(rescued.mean() - mean) < 3 * np.hypot(rescued.std() / n**0.5, error)
    assert abs((rescued == 52).mean() - wins) < 3 * np.sqrt(wins * (1 - wins) * (1 / n + 1 / 20000))


@pytest.mark.needs_jit
def test_strong_is_far_better_than_call_pump():
    n = 400
    better = simulate("strong", n)["rescued"] - simulate("call_pump", n)["rescued"].astype(float)
    assert better.mean() > 3
    assert better.mean() > 3 * better.std() / n**0.5


@pytest.mark.needs_jit
def test_strong_gives_every_command_and_draws_fewer_cards_when_most_fit():
    rnd = random.Random(0)
    verbs = set()
    for seed in range(12):
        p = new(rnd.randint(1, 5), seed, level="leicht")
        while not p.is_over:
            text = decide(p, "strong")
            verbs.add(text if text.startswith("rescue") else text.split()[0])
            play(p, text)
    assert verbs >= {"move", "board", "even", "letpass", "call", "pump", "place", "rescue 1", "rescue 2", "rescue 3"}


@pytest.mark.parametrize(
    ("weights", "position", "expected"),
    [
        # Three coins go before section 1 is flooded, eight before section 3 is; section 6 never is.
        ({"exposed": -1}, {"queues": ["7h", "9s", "7d"], "hand": "6h"}, "place 6h>3"),
        ({"exposed": 1}, {"queues": ["7h", "9s", "7d"], "hand": "6h"}, "place 6h>1"),
        ({"exposed": -1}, {"queues": ["7h", "9s", "9c", "9d", "9h", "7d"], "hand": "6h"}, "place 6h>6"),
        # With one coin left, none is flooded before the ship sinks: all are alike, and the first is taken.
        ({"exposed": -1}, {"queues": ["9s", "7h", "7d"], "hand": "6h", "coins": (0, 0, 1, 0, 0, 0)}, "place 6h>2"),
        # A King beside the long queue makes evening out possible.
        ({"slope": 1}, {"queues": ["9h", "9d", "9c", "2c 3c 4c 5c | 9s"], "hand": "Kh"}, "place Kh>5"),
        ({"slope": -1}, {"queues": ["9h", "9d", "9c", "2c 3c 4c 5c | 9s"], "hand": "Kh"}, "place Kh>6"),
        # Two face-down cards leave section 4, which can be flooded, for section 5, which cannot.
        (
            {"doomed": -1, "even_layout": 1, "lifebuoy": 0.6},
            {"queues": ["", "2h 3h 4h | 9h", "9d", "2c 3c 4c 5c | 9s", "Kh"], "stock": "5s"},
            "even 4-5",
        ),
        # No lifebuoy is worth that, or nothing is gained, or it is a loss.
        ({"doomed": -1, "even_layout": 1, "lifebuoy": 2}, {"queues": ["", "", "", "2c 3c 4c 5c | 9s", "Kh"], "stock": "5s"}, "rescue 1"),
        ({"doomed": -1, "even_layout": 1, "lifebuoy": 0.6}, {"queues": ["", "2h 3h 4h | 9h", "9d"], "stock": "5s"}, "rescue 1"),
        ({"doomed": 1, "even_layout": 1}, {"queues": ["", "", "", "2c 3c 4c 5c | 9s", "Kh"], "stock": "5s"}, "rescue 1"),
        ({"doomed": -1, "lifebuoy": 0.6}, {"queues": ["", "", "", "2c 3c 4c 5c | 9s", "Kh"], "stock": "5s"}, "rescue 1"),
        ({"passing": 1}, {"queues": ["9h", "2c | 9s"], "stock": "5s"}, "letpass 2"),
        ({"passing": 1, "lifebuoy": 0.5}, {"queues": ["9h", "2c | 9s"], "stock": "5s"}, "rescue 1"),
        # Turning up 8d lets it move to 9h, which 8s would not.
        ({"run": 1}, {"queues": ["9h", "8d | 5s"], "stock": "2s"}, "letpass 2"),
        ({"run": 1}, {"queues": ["9h", "8s | 5s"], "stock": "2s"}, "rescue 1"),
    ],
)
def test_what_the_strong_agent_counts(weights, position, expected):
    values = [weights.get(p.name, 0) for p in rule_set(GAME).parameters["strong"]]
    assert decide(arrange(**position), "strong", values) == expected


def test_letting_a_card_pass_is_worth_the_mean_of_what_could_come():
    """Any of the four cards that nobody has seen may pass; one of them could move on."""
    p = arrange(["9h", "8d 3s 4s | 6c"], stock="2s", lifebuoys=2)
    names = [parameter.name for parameter in rule_set(GAME).parameters["strong"]]
    for cost, expected in ((0.12, "letpass 2"), (0.13, "rescue 1")):  # for each of two lifebuoys
        assert decide(p, "strong", [{"run": 1, "lifebuoy": cost}.get(name, 0) for name in names]) == expected


@pytest.mark.parametrize("agent", ["simple", "call_pump", "strong"])
def test_agents_decide_by_what_they_know(agent):
    p = new(2, 3)
    while not p.is_over:
        text = decide(p, agent)
        assert decide(p.resample(p.to_move, 5), agent) == text
        play(p, text)
