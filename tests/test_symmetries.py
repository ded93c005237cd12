"""Renaming what the rules treat alike changes nothing but names: the game, its observations and its legal actions stay the same."""

import random

import numpy as np
import pytest
from deckhand.envs import game_names, get_game
from deckhand.envs.alle_in_die_boote.rules import CALL, CARDS
from deckhand.envs.core import Position
from deckhand.envs.core.chance import GivenChance
from deckhand.envs.keltis.rules import DISCARD, TYPES
from hypothesis import given
from hypothesis import strategies as st

CARD_ACTIONS = {"alle_in_die_boote": range(CALL, CALL + CARDS), "keltis": range(DISCARD, DISCARD + TYPES)}
"""One action a card, by which a symmetry tells how it renames the cards."""
NAMINGS = {"alle_in_die_boote": 8, "flotsam_fight": 1, "keltis": 120, "piraten_pitt": 1}


@pytest.mark.parametrize("name", game_names())
def test_symmetries_are_different_and_begin_with_the_identity(name):
    game = get_game(name)
    symmetries = game.symmetries()
    assert (symmetries[0].columns == np.arange(game.layout.size)).all()
    assert (symmetries[0].actions == np.arange(game.num_actions)).all()
    for symmetry in symmetries:
        assert (np.sort(symmetry.columns) == np.arange(game.layout.size)).all()
        assert (np.sort(symmetry.actions) == np.arange(game.num_actions)).all()
    assert len({symmetry.columns.tobytes() for symmetry in symmetries}) == len(symmetries) == NAMINGS[name]


@pytest.mark.parametrize("name", CARD_ACTIONS)
@given(data=st.data())
def test_a_renamed_game_is_the_same_game(name, data):
    game = get_game(name)
    n = data.draw(st.integers(game.min_players, game.max_players), "players")
    symmetry = data.draw(st.sampled_from(game.symmetries()), "symmetry")
    seed = data.draw(st.integers(0, 2**53 - 1), "seed")
    chance = random.Random(seed)
    position = Position.new(game, n, {}, seed)
    events, played = position.events(), []
    while not position.is_over and len(played) < 200:
        played.append(chance.choice(position.legal_actions()))
        position.apply(played[-1])
        events += position.events()
    outcomes = list(game.chance(n, game.parse_options({}), events))
    cards = CARD_ACTIONS[name]
    renamed_card = np.argsort(symmetry.actions[cards]).tolist()
    renamed_outcomes = [outcome if isinstance(outcome, int) else [renamed_card[card] for card in outcome] for outcome in outcomes]
    renamed_action = np.argsort(symmetry.actions)

    def start(outcomes):
        position, referee = Position(game, game.allocate(1)), GivenChance(game, outcomes)
        referee.restart(position.states, game.template(n, {}), 0)
        return position, referee

    (given, referee), (renamed, other_referee) = start(outcomes), start(renamed_outcomes)
    for action in played:
        assert renamed.to_move == given.to_move
        assert (renamed.mask() == given.mask()[symmetry.actions]).all()
        for seat in range(n):
            assert (renamed.observation(seat) == given.observation(seat)[symmetry.columns]).all()
        referee.advance(given.states, action)
        other_referee.advance(renamed.states, renamed_action[action])
    assert (renamed.record["score"] == given.record["score"]).all()
    assert (renamed.record["returns"] == given.record["returns"]).all()
