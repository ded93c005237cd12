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


INVARIANTS = {"flotsam_fight": flotsam_fight}
