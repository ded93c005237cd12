"""What the rules of each game keep true in every position: ``INVARIANTS[name](position)`` asserts it. Every game adds its own."""

import numpy as np


def flotsam_fight(p):
    """64 cards, each in one place; hands ascend and are not empty between turns; boats ascend, active ones within the limit."""
    rules, r, n = p.game.rules, p.record, p.num_players
    place = r["place"]
    held = [r["hand"][s][: r["hand_size"][s]].tolist() for s in range(n)]
    assert all(hand == sorted(set(hand)) for hand in held)
    for seat in range(n):
        assert np.flatnonzero(place == seat).tolist() == held[seat]
        assert not r["hand"][seat][r["hand_size"][seat] :].any()
    deck = r["deck"][: r["deck_size"]].tolist()
    assert np.flatnonzero(place == rules.IN_DECK).tolist() == sorted(deck)
    on_boats = np.flatnonzero(place == rules.ON_BOAT)
    aside = np.flatnonzero(place == rules.SET_ASIDE)
    assert sum(map(len, held)) + len(deck) + len(on_boats) + len(aside) == 64
    tops = [max((int(rules.CARD_VALUES[c]) for c in on_boats if r["boat_of"][c] == b), default=0) for b in range(rules.BOATS)]
    assert r["top"].tolist() == tops
    assert np.flatnonzero(r["boat_of"] >= 0).tolist() == on_boats.tolist()
    assert all(rules.CARD_VALUES[c] % (r["boat_of"][c] + 3) == 0 for c in on_boats)
    assert r["active"] == np.count_nonzero(tops) <= n
    assert (r["pile_of"] <= r["shuffles"]).all()
    # The draw pile is the newest pile, nothing else.
    assert (r["pile_of"][deck] == r["shuffles"]).all()
    if not p.is_over:
        assert min(map(len, held)) >= 1
        assert not r["passed"][p.to_move]
        assert r["round_decisions"] < rules.ROUND_LIMIT
    finished = r["round_no"] - (0 if r["terminal"] else 1)
    assert r["score"].sum() == finished * 2
    assert r["outs"].sum() == finished
    assert r["last_points"].sum() == (2 if finished else 0)
    assert not r["passed"][n:].any()
    assert not r["hand_size"][n:].any()


def piraten_pitt(p):
    """I1 .. I4 of the rules page; chests hold what they should; whatever a seat believes leaves room for the truth."""
    r, n = p.record, p.num_players
    taken = np.zeros(4, int)
    if p.phase == "place" and not p.is_over:
        taken[r["met"]] = r["to_place"]
    assert (r["gem"].sum(1) + r["loaded"] + r["score"] + taken)[:n].tolist() == [5] * n
    assert set(r["gem"].ravel().tolist()) <= {0, 1}
    assert r["pirate"] != r["bay"]
    assert (5 - r["gem"].sum(1) >= taken)[:n].all()
    assert (r["content"].sum(1) == r["loaded"]).all()
    assert r["content"].min() >= 0
    assert ((r["orientation"] >= 0) & (r["orientation"] < 4)).all()
    for chest in range(n):
        on_side_0 = r["content"][chest, int(r["orientation"][chest]) >> 1]
        assert (r["belief"][:n, chest].sum(1) == 1).all()
        assert (r["belief"][:n, chest, on_side_0] > 0).all()


INVARIANTS = {"flotsam_fight": flotsam_fight, "piraten_pitt": piraten_pitt}
