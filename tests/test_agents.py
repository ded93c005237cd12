"""Agents: by name, legal, seeded, blind to what their seat cannot know."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from deckhand.agents import HumanAgent, RuleAgent, agent_names, default_agent, make_agent, register_rules, shipped, show_turns
from deckhand.agents.by_players import ByPlayers
from deckhand.agents.parameters import ParameterError, ParameterFile
from deckhand.agents.registry import RESERVED
from deckhand.agents.rules import flotsam_fight as flotsam_rules
from deckhand.agents.rules import rule_set
from deckhand.envs import game_names, get_game
from deckhand.envs.core import IllegalAction, OptionError, Position, kernel
from deckhand.envs.flotsam_fight.table import FlotsamFight

ROW = np.zeros(1, np.int64)
RULES = [(game, rule) for game in game_names() for rule in agent_names(game) if rule != "random"]


def act(agent, position):
    return int(agent.act(show_turns(position.game, position.states, ROW, agent))[0])


def flotsam(hands, tops=None, options=None):
    """A two-player position, seat 0 to move: hands as card values, tops as boat -> value."""
    position = Position.new(get_game("flotsam_fight"), 2, options or {}, 1)
    s = position.record
    values = [c for c in range(3, 99) if any(c % b == 0 for b in range(3, 11))]
    s["place"][:] = 6
    for seat, hand in enumerate(hands):
        s["hand_size"][seat] = len(hand)
        for k, value in enumerate(sorted(hand)):
            s["hand"][seat][k] = values.index(value)
            s["place"][values.index(value)] = seat
    for boat, value in (tops or {}).items():
        s["top"][boat - 3] = value
        s["place"][values.index(value)] = 7
    deck = [c for c in range(64) if s["place"][c] == 6]
    position.states["deck_size"][0] = len(deck)
    s["deck"][: len(deck)] = deck
    position.states["active"][0] = len(tops or {})
    position.states["last_player"][0] = 1
    position.states["to_move"][0] = 0
    return position


@pytest.mark.parametrize("name", game_names())
def test_every_agent_name_makes_an_agent(name):
    names = agent_names(name)
    assert names[0] == "random"
    assert default_agent(name) == (names[1] if len(names) > 1 else "random")
    for agent_name in names:
        assert make_agent(name, agent_name).name == agent_name
        assert make_agent(get_game(name), f"{name}:{agent_name}").name == agent_name
        assert make_agent(name, f"{get_game(name).id}:{agent_name}").name == agent_name


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("lowest", ["unknown agent 'lowest'", "random", "low", "strong", ".safetensors"]),
        ("", ["unknown agent ''"]),
        ("keltis:low", ["another game", "flotsam_fight"]),
        ("low(1)", ["'low'", "0 parameters"]),
        ("low(x)", ["numbers"]),
        ("best(1)", ["'best'", "no parameters"]),
        ("sample(low)", ["trained policy", "'low'"]),
        ("sample()", ["unknown agent ''"]),
        ("random(1)", ["'random'", "no parameters"]),
        ("no/such/folder", ["unknown agent"]),
        (f"low({','.join(['0.123'] * 60)})", ["'low'", "0 parameters"]),  # longer than a file name can be
        ("flat(4,low,caution=1,caution=0)", ["caution", "twice"]),
        (None, ["None", "named by a text"]),
        (5, ["5", "named by a text"]),
        (Path("low"), ["Path", "named by a text"]),
    ],
)
def test_wrong_specs_are_refused_in_one_clear_line(spec, words):
    with pytest.raises(OptionError) as caught:
        make_agent("flotsam_fight", spec)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("game", "spec", "parameter", "value", "allowed"),
    [
        ("flotsam_fight", "strong(nan)", "two.rank", "nan", "-1e+06 to 1e+06"),
        ("flotsam_fight", "strong(0,inf)", "two.opens", "inf", "-1e+06 to 1e+06"),
        ("keltis", "strong(-inf)", "two.in_hand", "-inf", "-1e+06 to 1e+06"),
        ("keltis", "strong(1e308)", "two.in_hand", "1e+308", "-1e+06 to 1e+06"),
        ("alle_in_die_boote", "strong(-1000001)", "turn_up", "-1000001.0", "-1e+06 to 1e+06"),
        ("piraten_pitt", "collector(1.01)", "recall", "1.01", "0 to 1"),
        ("piraten_pitt", "collector(-1)", "recall", "-1.0", "0 to 1"),
        ("piraten_pitt", "hunter(nan)", "recall", "nan", "0 to 1"),
    ],
)
def test_parameters_out_of_their_range_are_refused(game, spec, parameter, value, allowed):
    rule = spec.partition("(")[0]
    with pytest.raises(OptionError) as caught:
        make_agent(game, spec)
    assert str(caught.value) == f"{game}: agent '{rule}': parameter {parameter} cannot be {value}: it must be a number from {allowed}"
    with pytest.raises(OptionError, match="it must be a number"):
        RuleAgent(get_game(game), rule, [None])


def test_missing_weights_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"missing|read"):
        make_agent("flotsam_fight", str(tmp_path / "none.safetensors"))


def test_reserved_names_are_no_rule_agents():
    for name in game_names():
        assert not {*agent_names(name)[1:], *shipped.shipped_networks(get_game(name))} & {*RESERVED}


@pytest.mark.parametrize("name", game_names())
def test_best_plays_in_every_player_count(name):
    game = get_game(name)
    assert (shipped.WEIGHTS_FOLDER / name / "best.yaml").is_file()
    best = make_agent(game, "best")
    assert best.name.startswith("best")
    assert make_agent(game, f"{name}:best").name == best.name
    for players in range(game.min_players, game.max_players + 1):
        turns = show_turns(game, game.deal(players, {}, [1]), ROW, best)
        assert turns.masks[0, best.act(turns)[0]]


def test_best_may_differ_by_player_count(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS_FOLDER", tmp_path)
    game = get_game("flotsam_fight")
    assert make_agent(game, "best").name == "best: low"  # nothing ships: the baseline
    file = tmp_path / "flotsam_fight" / "best.yaml"
    file.parent.mkdir()
    file.write_text("strong")
    assert make_agent(game, "best").name == "best: strong"
    assert isinstance(make_agent(game, "best"), RuleAgent)
    file.write_text("{2: low, 3: strong, 4: strong, 5: random, 6: low}")
    best = make_agent(game, "best")
    assert best.name == "best"
    states = np.concatenate([game.deal(players, {}, range(20)) for players in (3, 2, 5, 6)])
    mixed = show_turns(game, states, np.arange(80), best)
    best.reset(3)
    actions = best.act(mixed).reshape(4, 20)
    for k, spec in enumerate(("strong", "low", "random", "low")):
        agent = make_agent(game, spec)
        agent.reset(3)
        assert agent.act(show_turns(game, states, np.arange(20 * k, 20 * k + 20), agent)).tolist() == actions[k].tolist()


@pytest.mark.parametrize(
    "text", ["", "7", "[low]", "{2: low}", "{2: low, 3: low, 4: low, 5: low, 6: 1}", "{2: low, 3: low, 4: low, 5: low, 6: low, 7: low}"]
)
def test_a_wrong_choice_of_the_best_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS_FOLDER", tmp_path)
    (tmp_path / "flotsam_fight").mkdir()
    (tmp_path / "flotsam_fight" / "best.yaml").write_text(text)
    with pytest.raises(OptionError, match=r"best\.yaml must hold an agent, or an agent for each player count 2 to 6"):
        make_agent("flotsam_fight", "best")


@pytest.mark.parametrize("data", [b"{2: low", b"{2: low, 2: low}", b"\xff", b"a: b: c"])
def test_a_damaged_choice_of_the_best_is_refused_by_name(data, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS_FOLDER", tmp_path)
    (tmp_path / "flotsam_fight").mkdir()
    (tmp_path / "flotsam_fight" / "best.yaml").write_bytes(data)
    with pytest.raises(OptionError, match=r"^.*best\.yaml cannot be read: .+$") as caught:
        make_agent("flotsam_fight", "best")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lowest", ": flotsam_fight: unknown agent 'lowest'; the agents are: random, low"),
        ("{2: low, 3: low, 4: low, 5: low, 6: low(1)}", ": flotsam_fight: agent 'low' takes 0 parameters at most, not 1"),
        ("none.yaml", ": none.yaml cannot be read"),
        ("best", " cannot hold 'best'"),
        ("{2: low, 3: 'flotsam_fight:best', 4: low, 5: low, 6: low}", " cannot hold 'flotsam_fight:best'"),
        ("flat(4, best)", " cannot hold 'flat(4, best)'"),
        ("flat(4,policy=best)", " cannot hold 'flat(4,policy=best)'"),
        ("sample(best)", " cannot hold 'sample(best)'"),
    ],
)
def test_a_best_that_cannot_be_made_is_refused_by_its_file(text, words, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "WEIGHTS_FOLDER", tmp_path)
    file = tmp_path / "flotsam_fight" / "best.yaml"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(OptionError) as caught:
        make_agent("flotsam_fight", "best")
    assert str(caught.value).startswith(f"{file}{words}")
    assert "\n" not in str(caught.value)


def test_agents_by_player_count_see_what_they_ask_for():
    game = get_game("flotsam_fight")
    seen = []

    class Blind(RuleAgent):
        def act(self, turns):
            seen.append((len(turns.seats), len(turns.observations), len(turns.views)))
            return super().act(turns)

    agent = ByPlayers(game, {2: Blind(game, "low"), 3: make_agent(game, "random")}, "two")
    states = np.concatenate([game.deal(2, {}, range(4)), game.deal(3, {}, range(2))])
    agent.act(show_turns(game, states, np.arange(6), agent))
    assert seen == [(4, 0, 4)]


def test_parameters_replace_the_first_defaults():
    class Game(FlotsamFight):
        name = "flotsam_with_numbers"

    game = Game()
    module = types.ModuleType("rules_with_numbers")
    module.AGENTS = {"counter": (1, (0.5, 2.0, 3.0))}
    module.decide = flotsam_rules.decide
    sys.modules[module.__name__] = module
    try:
        register_rules(game.name, module.__name__)
        agent = make_agent(game, "counter(0.25, 4)")
        assert agent.name == "counter(0.25,4)"
        assert agent.params.tolist() == [0.25, 4.0, 3.0]
        assert make_agent(game, "counter").params.tolist() == [0.5, 2.0, 3.0]
        with pytest.raises(OptionError, match="3 parameters at most, not 4"):
            make_agent(game, "counter(1,2,3,4)")
        with pytest.raises(OptionError, match=r"'counter': parameter 2 cannot be nan: it must be a number from"):
            make_agent(game, "counter(1,nan)")
    finally:
        del sys.modules[module.__name__]


@kernel
def decide_by_number(kind, view, mask, rng, params):
    return int(params[0])


def test_a_rule_that_chooses_illegally_is_stopped():
    class Game(FlotsamFight):
        name = "flotsam_with_a_wrong_rule"

    game = Game()
    module = types.ModuleType("wrong_rules")
    module.AGENTS = {"constant": (1, (0.0,))}
    module.decide = decide_by_number
    sys.modules[module.__name__] = module
    try:
        register_rules(game.name, module.__name__)
        choose = rule_set(game).loops.choose
    finally:
        del sys.modules[module.__name__]
    states = get_game("flotsam_fight").deal(2, {}, [1])
    mask = Position(get_game("flotsam_fight"), states).mask()
    rng = np.zeros(4, np.int64)
    assert choose(1, states[0], mask, rng, np.array([float(mask.argmax())])) == mask.argmax()
    for wrong in (-1, int(mask.argmin()), len(mask), 10**6):
        with pytest.raises(IllegalAction, match="rule agent"):
            choose(1, states[0], mask, rng, np.array([float(wrong)]))


@pytest.mark.needs_jit
@pytest.mark.parametrize(("name", "rule"), [(game, rule) for game, rule in RULES if rule_set(get_game(game)).agents[rule][1]])
def test_rule_agents_play_legally_whatever_their_parameters(name, rule):
    game = get_game(name)
    parameters = make_agent(game, rule).parameters
    chance = np.random.default_rng(0)
    for k in range(4):
        ends = ([p.low for p in parameters], [p.high for p in parameters])
        values = ends[k] if k < 2 else [chance.choice(pair) for pair in zip(*ends, strict=True)]
        agent = RuleAgent(game, rule, values)
        for players in {game.min_players, game.max_players}:
            position = Position.new(game, players, {}, k)
            for _ in range(150):
                if position.is_over:
                    break
                position.apply(act(agent, position))


def parameter_text(**changes):
    parameters = rule_set(get_game("piraten_pitt")).parameters["collector"]
    values = {p.name: p.default for p in parameters} | changes
    return yaml.safe_dump(ParameterFile(game="PiratenPitt-v0", agent="collector", parameters=values).model_dump())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (parameter_text(recall=1.5), r"agent 'collector': parameter recall cannot be 1\.5: it must be a number from 0 to 1"),
        (parameter_text(detour=-2e6), r"parameter detour cannot be -2000000\.0"),
        (parameter_text().replace("recall: 1.0", f"recall: 1{'0' * 400}"), "recall"),
        (parameter_text().replace("recall: 1.0", "recall: 1.0\n  recall: 0.5"), r"line \d: key 'recall' stands twice"),
        (parameter_text() + "day: 2026-99-99\n", "cannot be read: not YAML: month must be"),
        ("[" * 600, "cannot be read: nested too deeply"),
        ("? [a]\n: 1\n", r"line 1: key \['a'\] is no single value"),
    ],
)
def test_files_of_parameters_that_are_no_use_are_refused(text, words, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(parameter_text(recall=0.5))
    assert make_agent("piraten_pitt", str(path)).params[0] == 0.5
    path.write_text(text)
    with pytest.raises(ParameterError, match=re.escape(str(path)) + ".*" + words) as caught:
        make_agent("piraten_pitt", str(path))
    assert "\n" not in str(caught.value)


def test_a_file_of_parameters_with_an_impossible_name_is_refused():
    with pytest.raises(ParameterError, match="cannot be read"):
        make_agent("piraten_pitt", "a\0b.yaml")


def test_a_game_without_rule_agents_has_the_random_one():
    class Game(FlotsamFight):
        name = "flotsam_without_rules"

    game = Game()
    assert agent_names(game) == ["random"]
    assert default_agent(game) == "random"
    with pytest.raises(OptionError, match="the rule agents are: none"):
        RuleAgent(game, "low")


@pytest.mark.parametrize(("name", "rule"), RULES)
def test_rule_agents_play_legally_in_every_player_count_and_see_nothing_hidden(name, rule):
    """The true position and worlds redrawn from the seat's view give the same decision from the same generator state."""
    game = get_game(name)
    for players in range(game.min_players, game.max_players + 1):
        agent, twin = make_agent(game, rule), make_agent(game, rule)
        chance = np.random.default_rng(players)
        position = Position.new(game, players, {}, 100 + players)
        for decision in range(80):
            if position.is_over:
                break
            agent.reset(decision)
            action = act(agent, position)
            if decision % 4 == 0:
                twin.reset(decision)
                assert act(twin, position.resample(position.to_move, decision)) == action
            # Every third decision is random, so that odd positions are seen too.
            position.apply(int(chance.choice(position.legal_actions())) if decision % 3 == 2 else action)


@pytest.mark.parametrize(("name", "rule"), [*RULES, *((game, "random") for game in game_names())])
def test_agents_repeat_after_reset_and_touch_no_global_generator(name, rule):
    game = get_game(name)
    agent = make_agent(game, rule)
    states = game.deal(game.max_players, {}, range(16))
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    answers = []
    for seed in (5, 5):
        agent.reset(seed)
        answers.append(agent.act(show_turns(game, states, np.arange(16), agent)).tolist())
    assert answers[0] == answers[1]
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_batched_decisions_equal_single_ones():
    game = get_game("flotsam_fight")
    states = game.deal(4, {}, range(32))
    for rule in ("low", "strong"):
        agent = make_agent(game, rule)
        together = agent.act(show_turns(game, states, np.arange(32), agent))
        alone = [int(agent.act(show_turns(game, states, np.array([i]), agent))[0]) for i in range(32)]
        assert together.tolist() == alone


def test_low_plays_the_lowest_card_with_the_smallest_jump():
    low = make_agent("flotsam_fight", "low")
    # Of boats 3 and 4 the higher top is nearer.
    position = flotsam([[12, 60], [50, 63]], {3: 9, 4: 8})
    assert position.action_to_string(act(low, position)) == "12>3"
    # An inactive boat counts as 0: the active one is nearer, whatever its number.
    position = flotsam([[12, 60], [50, 63]], {4: 4})
    assert position.action_to_string(act(low, position)) == "12>4"
    # Of inactive boats the lowest number.
    position = flotsam([[12, 60], [50, 63]])
    assert position.action_to_string(act(low, position)) == "12>3"
    # It passes only when nothing is legal.
    position = flotsam([[7, 11 * 3], [50, 63]], {4: 8, 5: 10})
    assert position.action_to_string(act(low, position)) == "pass"


def test_strong_plays_its_last_card():
    strong = make_agent("flotsam_fight", "strong")
    position = flotsam([[96], [50, 63]], {3: 9, 4: 8})
    assert position.action_to_string(act(strong, position)).startswith("96>")


@pytest.mark.parametrize(
    ("count", "weight", "hands", "tops", "expected"),
    [
        # 80 fits boat 4, which 36 has activated; boats 3, 6 and 9 would be of no use, and an opponent may activate the next one.
        ("last", 1, [[36, 80], [50, 63]], {}, "36>4"),
        # 75 fits boats 3 and 5: the opponent can cover one of them only.
        ("last", 1, [[30, 75], [50, 63]], {3: 6}, "30>5"),
        # After 88 only 96 and the multiples of 7 above 70 fit, after 98 most multiples of 8.
        ("free_last", -1, [[88, 98], [50, 63]], {7: 70, 8: 16}, "88>8"),
        ("free_last", 1, [[88, 98], [50, 63]], {7: 70, 8: 16}, "98>7"),
        # With two cards left it counts for nothing, and the lowest action is taken.
        ("free_last", 1, [[49, 88, 98], [50, 63]], {7: 42, 8: 16}, "49>7"),
        # 40 and 80 are multiples of 4, only 80 of 8, neither of 3.
        ("follow", 1, [[12, 40, 80], [50, 63]], {}, "12>4"),
        ("follow", -1, [[12, 40, 80], [50, 63]], {}, "12>3"),
        # After 30, 40 can go on boat 5 and 60 on boats 5 and 6; after 60 on boat 5, nothing.
        ("places", 1, [[30, 40, 60], [50, 63]], {5: 20, 6: 12}, "30>5"),
        ("places", -1, [[30, 40, 60], [50, 63]], {5: 20, 6: 12}, "60>5"),
        # After 40, of 14 and 30 only 14 can be played.
        ("fits", 1, [[14, 30, 40], [50, 63]], {5: 25, 7: 7}, "14>7"),
        ("fits", -1, [[14, 30, 40], [50, 63]], {5: 25, 7: 7}, "40>5"),
        # Without 21 all cards are multiples of 8; without one of the others two of three.
        ("boat", 1, [[21, 32, 40, 64], [50, 63]], {}, "21>3"),
        ("boat", -1, [[21, 32, 40, 64], [50, 63]], {}, "32>4"),
        ("boat_all", 1, [[21, 32, 40, 64], [50, 63]], {}, "21>3"),
        ("boat_all", -1, [[21, 32, 40, 64], [50, 63]], {}, "32>4"),
        ("opens_rank", 1, [[20, 77, 96], [50, 63]], {}, "96>3"),
        ("opens_rank", -1, [[20, 77, 96], [50, 63]], {}, "20>4"),
        # A boat that is active is not activated: 77 counts for nothing.
        ("opens_rank", -1, [[20, 77, 96], [50, 63]], {7: 70}, "77>7"),
        # No card is above 98, and none but 96 above 88 on boat 8: the opponent must pass.
        ("stuck_late", 1, [[56, 96, 98], [50]], {7: 49, 8: 88}, "98>7"),
        # With two cards the opponent will not draw at the reset.
        ("stuck_late", 1, [[56, 96, 98], [50, 63]], {7: 49, 8: 88}, "56>7"),
        ("stuck_exit", 1, [[56, 96, 98], [50, 63]], {7: 49, 8: 88}, "98>7"),
        # The same, but the cards left are of three boats: the lead alone is not enough.
        ("stuck_exit", 1, [[55, 56, 93, 96, 98], [50, 63]], {7: 49, 8: 88}, "56>7"),
    ],
)
def test_what_the_strong_agent_counts(count, weight, hands, tops, expected):
    game = get_game("flotsam_fight")
    weights = {f"two.{count}": weight, "two.passing": -100}
    values = [weights.get(p.name, 0) for p in rule_set(game).parameters["strong"]]
    position = flotsam(hands, tops)
    assert position.action_to_string(act(RuleAgent(game, "strong", values), position)) == expected


def test_human_agent_asks_for_one_turn_at_a_time():
    game = get_game("flotsam_fight")
    states = game.deal(3, {}, range(4))
    asked = []

    def ask(turns):
        asked.append(turns)
        return int(np.flatnonzero(turns.masks[0])[-1])

    human = HumanAgent(ask)
    turns = show_turns(game, states, np.arange(4), human)
    actions = human.act(turns)
    assert [len(t) for t in asked] == [1] * 4
    assert [int(t.seats[0]) for t in asked] == states["to_move"].tolist()
    assert all(turns.masks[i, a] for i, a in enumerate(actions))
    with pytest.raises(IllegalAction, match="human chose action 136"):
        HumanAgent(lambda turns: 136).act(turns)
