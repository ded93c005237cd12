"""Rule invariants under arbitrary sequences of actions."""

import pytest
from deckhand.envs import game_names, get_game
from deckhand.envs.core import Position
from deckhand.envs.core.check import option_sets
from hypothesis import given
from hypothesis import strategies as st
from invariants import INVARIANTS


@pytest.mark.parametrize("name", INVARIANTS)
@given(data=st.data())
def test_invariant_after_every_decision(name, data):
    game = get_game(name)
    n = data.draw(st.integers(game.min_players, game.max_players), "players")
    options = data.draw(st.sampled_from(option_sets(game, n)), "options")
    p = Position.new(game, n, options, data.draw(st.integers(0, 2**53 - 1), "seed"))
    INVARIANTS[name](p)
    # Small numbers first: hypothesis shrinks towards the lowest legal action.
    for choice in data.draw(st.lists(st.integers(0, 2**16), max_size=250), "choices"):
        if p.is_over:
            break
        legal = p.legal_actions()
        p.apply(legal[choice % len(legal)])
        INVARIANTS[name](p)
        seat = choice % n
        if not p.is_over and choice % 8 == 0:
            INVARIANTS[name](p.resample(seat, choice))


def test_invariants_belong_to_games():
    assert set(INVARIANTS) <= set(game_names())
