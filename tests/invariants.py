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


def alle_in_die_boote(p):
    """52 cards, each in one place; fronts, runs and piles are what the cards say; what is known fits what is true."""
    rules, r = p.game.rules, p.record
    where, down, size = r["where"].tolist(), r["face_down"].tolist(), r["queue_size"].tolist()
    queues = [r["queue"][i][: size[i]].tolist() for i in range(6)]
    hidden = {card: rules.FACE_DOWN + i for i in range(6) for card in queues[i][: down[i]]}
    stock = r["stock"][r["stock_top"] : r["stock_top"] + r["stock_size"]].tolist()
    hidden.update(dict.fromkeys(stock, rules.IN_STOCK))
    shown = {card: i for i in range(6) for card in queues[i][down[i] :]}
    shown.update({card: rules.IN_HAND + k for k, card in enumerate(r["hand"][: r["hand_size"]].tolist())})
    for card, place in shown.items():
        assert where[card] == 1 << place
    for card, place in hidden.items():
        assert (where[card] or int(r["unseen_at"])) >> place & 1
    discarded = where.count(1 << rules.DISCARDED)
    boarded = where.count(1 << rules.IN_BOAT) + where.count(1 << rules.IN_BOAT + 1)
    assert len(hidden) + len(shown) + discarded + boarded == 52
    assert (discarded, boarded) == (r["discard_size"], r["rescued"])
    assert r["boat"].sum() == boarded
    unseen = [sum(where[card] == 0 for card in queues[i][: down[i]]) for i in range(6)]
    for i in range(6):
        assert bool(queues[i]) == (down[i] < size[i])
        group = [t for t in range(6) if r["linked"][i] >> t & 1]
        assert i in group
        assert r["unseen"][i] == sum(unseen[t] for t in group)
        assert bool(r["front"][i] == rules.FLOODED) <= (r["coins"][i] == 0)
        assert 0 <= r["coins"][i] <= r["start_coins"][i]
        if queues[i]:
            kinds = [int(rules.KIND[card]) for card in queues[i][down[i] :]]
            assert r["front"][i] == kinds[-1]
            assert kinds[len(kinds) - r["run"][i] :] == [kinds[-1] + k for k in range(r["run"][i] - 1, -1, -1)]
        else:
            assert r["front"][i] in (rules.EMPTY, rules.FLOODED)
    assert r["lifebuoys"] >= 0
    assert (r["own"] >= 0).all()
    if not p.is_over:
        assert r["coins"].sum() > 0
        assert (r["phase"] == rules.PLACING) == (r["hand_size"] > 0)


INVARIANTS = {"alle_in_die_boote": alle_in_die_boote, "flotsam_fight": flotsam_fight, "piraten_pitt": piraten_pitt}
