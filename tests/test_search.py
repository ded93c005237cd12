"""Search agents: repeatable, blind to what their seat cannot know, and better than the rules that play their rollouts."""

import dataclasses

import numpy as np
import pytest
from deckhand.agents import Budget, FlatSearch, RuleAgent, SearchStats, TreeSearch, default_agent, make_agent, show_turns, split_specs
from deckhand.agents.compiled_agent import compiled_numbers
from deckhand.agents.policy import PolicyAgent
from deckhand.agents.rules import rule_set
from deckhand.envs import game_names, get_game
from deckhand.envs.alle_in_die_boote.rules import BOARD, move_size
from deckhand.envs.core import OptionError, Position
from deckhand.envs.core.agent import RandomAgent
from deckhand.envs.core.jit import JIT_DISABLED
from deckhand.envs.core.rng import derive_seed
from deckhand.train.evaluation import evaluate

ROW = np.zeros(1, np.int64)
# Plain Python needs minutes for what is compiled in a second: there the kernels are only shown to run.
SPECS = ["flat(1,horizon=3)", "ismcts(3,horizon=3)"] if JIT_DISABLED else ["flat(6)", "ismcts(40)"]
compiled = pytest.mark.skipif(JIT_DISABLED, reason="takes too long in plain Python")


def act(agent, position):
    return int(agent.act(show_turns(position.game, position.states, ROW, agent))[0])


def played(game, players, seed, decisions):
    """A game after some decisions of its baseline."""
    position = Position.new(get_game(game), players, {}, seed)
    agent = make_agent(game, default_agent(game))
    for _ in range(decisions):
        if not position.is_over:
            position.apply(act(agent, position))
    return position


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", game_names())
def test_legal_and_blind_to_what_the_seat_cannot_know(name, spec):
    """The true position and worlds redrawn from the seat's view give the same move from the same generator state."""
    game = get_game(name)
    agent = make_agent(game, spec)
    for players in (game.max_players,) if JIT_DISABLED else range(game.min_players, game.max_players + 1):
        for decisions in (9,) if JIT_DISABLED else (0, 7, 24):
            position = played(name, players, 50 + players, decisions)
            if position.is_over:
                continue
            agent.reset(decisions)
            action = act(agent, position)
            assert position.mask()[action]
            for seed in range(2):
                agent.reset(decisions)
                assert act(agent, position.resample(position.to_move, seed)) == action


@pytest.mark.parametrize("spec", SPECS)
def test_turns_shown_together_are_answered_like_one_after_another(spec):
    game = get_game("flotsam_fight")
    states = game.deal(3, {}, range(6))
    agent = make_agent(game, spec)
    agent.reset(4)
    together = agent.act(show_turns(game, states, np.arange(6), agent)).tolist()
    stats, agent.stats = agent.stats, SearchStats()
    agent.reset(4)
    assert [int(agent.act(show_turns(game, states, np.array([i]), agent))[0]) for i in range(6)] == together
    assert dataclasses.replace(agent.stats, seconds=0) == dataclasses.replace(stats, seconds=0)


@pytest.mark.parametrize("spec", SPECS)
def test_views_and_generators_stay_untouched(spec):
    game = get_game("flotsam_fight")
    position = played("flotsam_fight", 4, 3, 9)
    agent = make_agent(game, spec)
    turns = show_turns(game, position.states, ROW, agent)
    before = turns.views.tobytes(), turns.masks.tobytes(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    agent.act(turns)
    assert (turns.views.tobytes(), turns.masks.tobytes(), np.random.get_state()[1].tobytes()) == before  # noqa: NPY002


@compiled
@pytest.mark.parametrize("others", [None, "strong"])
def test_flat_search_takes_the_action_with_the_best_mean_over_common_worlds(others):
    """A literal second program: clone, resample, play on through ``Position`` and the rule agent's ``act``."""
    worlds, seed = 5, 21
    game = get_game("flotsam_fight")
    low = make_agent(game, "low")
    rivals = make_agent(game, others) if others else low
    position = played("flotsam_fight", 3, 8, 4)
    seat = position.to_move
    search = FlatSearch(game, Budget(worlds), low, others=rivals if others else None, caution=0)
    search.reset(seed)
    (chosen,), (values,) = search.act_and_judge(show_turns(game, position.states, ROW, search))
    world_stream = int(np.random.default_rng(seed).integers(2**53, size=1)[0])
    returns = {}
    for w in range(worlds):
        world = position.resample(seat, derive_seed(world_stream, w + 1))
        for action in position.legal_actions():
            copy = world.clone()
            copy.apply(action)
            while not copy.is_over:
                copy.apply(act(low if copy.to_move == seat else rivals, copy))
            returns.setdefault(action, []).append(copy.record["returns"][seat])
    means = {action: np.mean(values) for action, values in returns.items()}
    best = max(means.values())
    assert means[chosen] == pytest.approx(best)
    assert search.stats.simulations == worlds
    likeliest = act(low, position)
    for action, value in enumerate(values):
        assert value == pytest.approx(means[action] - means[likeliest] if action in means else 0)
    # Told to try some of the actions, it judges these, and the likeliest one, as before.
    tried = np.zeros((1, game.num_actions), np.bool_)
    tried[0, [action for action in means if action != likeliest][::2]] = True
    search.reset(seed)
    _, (fewer,) = search.act_and_judge(show_turns(game, position.states, ROW, search), tried)
    assert (fewer == np.where(tried[0], values, 0)).all()
    assert fewer.any()


@compiled
def test_rollouts_end_with_the_reward_where_that_is_asked():
    """Of three rounds only the first is played out: a third of the decisions, more or less."""
    game = get_game("flotsam_fight")
    position = Position.new(game, 2, {"rounds": 3}, 1)
    spent = {}
    for until in ("end", "reward"):
        agent = make_agent(game, f"flat(8,until={until})")
        act(agent, position)
        spent[until] = agent.stats.decisions
    assert spent["reward"] < 0.5 * spent["end"]
    assert act(make_agent(game, "flat(8)"), position) == act(make_agent(game, "flat(8,until=reward)"), position)


def test_a_horizon_limits_every_rollout():
    game = get_game("flotsam_fight")
    position = Position.new(game, 2, {}, 1)
    agent = make_agent(game, "flat(4,horizon=3)")
    act(agent, position)
    assert agent.stats.decisions <= 4 * 4 * len(position.legal_actions())


@compiled
def test_one_world_and_a_sure_loss_keep_the_rule_agents_choice():
    game = get_game("flotsam_fight")
    for seed in range(5):
        position = played("flotsam_fight", 2, seed, 6)
        low = act(make_agent(game, "low"), position)
        assert act(make_agent(game, "flat(1)"), position) == low
        assert act(make_agent(game, "flat(20,caution=1000)"), position) == low


@compiled
@pytest.mark.parametrize("spec", ["flat(24)", "ismcts(200)"])
def test_search_sees_a_win(spec):
    """With one card left that fits, playing it ends the round with +2; passing does not."""
    game = get_game("flotsam_fight")
    found = 0
    for seed in range(30):
        position = played("flotsam_fight", 2, seed, 18)
        if position.is_over or position.states["hand_size"][0][position.to_move] != 1 or len(position.legal_actions()) < 2:
            continue
        found += 1
        assert position.action_to_string(act(make_agent(game, spec), position)) != "pass"
    assert found > 0


@compiled
def test_the_tree_keeps_its_books():
    game = get_game("flotsam_fight")
    agent = TreeSearch(game, Budget(3000), make_agent(game, "low"))
    position = Position.new(game, 2, {"rounds": 1}, 5)
    act(agent, position)
    tree = agent._tree
    n = agent.stats.nodes
    assert n == tree["nodes"][0] <= 3001 < len(tree) + 1
    assert tree["visits"][0] == 3000
    inner = np.unique(tree["parent"][1:n])
    for node in inner:
        below = tree["visits"][1:n][tree["parent"][1:n] == node].sum()
        # Every visit goes on to a child, but for the one that made the node and those that found the round over.
        assert below <= tree["visits"][node]
    assert tree["visits"][1:n][tree["parent"][1:n] == 0].sum() == 3000
    assert np.all(tree["available"][1:n] >= tree["visits"][1:n])
    assert np.all((tree["total"][1:n] >= 0) & (tree["total"][1:n] <= 2 * tree["visits"][1:n]))


def stubborn(game, highest=True):
    """A network without hidden layers that likes actions the more, the higher (or lower) their number, whatever it sees."""
    taste = np.arange(game.num_actions, dtype=np.float32) * (1 if highest else -1)
    return PolicyAgent(game, [(np.zeros((game.num_actions, game.layout.size), np.float32), taste)], "relu")


@pytest.mark.parametrize("name", game_names())
def test_a_policy_says_where_the_search_starts(name):
    """Where nothing may overrule it, its choice is played: by flat search with infinite caution, by the tree with infinite bias."""
    game = get_game(name)
    position = played(name, game.max_players, 5, 8)
    rule = make_agent(game, default_agent(game))
    for policy in (stubborn(game), stubborn(game, highest=False)):
        wanted = act(policy, position)
        assert act(FlatSearch(game, Budget(2), rule, policy=policy, caution=1e9, horizon=3), position) == wanted
        assert act(TreeSearch(game, Budget(5), rule, policy=policy, bias=1e9, horizon=3), position) == wanted


def test_what_the_policy_finds_unlikely_is_not_tried():
    """Every action is e times as likely as the next lower one: with 0.1 few remain, judged as ever."""
    game = get_game("flotsam_fight")
    policy = stubborn(game)
    for cards in range(4, 12):
        position = played("flotsam_fight", 3, cards, 8)
        turns = show_turns(game, position.states, ROW, policy)
        likely = policy.probabilities(turns.observations, turns.masks)[0] >= 0.1
        search = FlatSearch(game, Budget(5), make_agent(game, "low"), policy=policy, caution=0, least=0.1)
        _, (values,) = search.act_and_judge(show_turns(game, position.states, ROW, search))
        assert likely.sum() < turns.masks.sum()
        assert not values[~likely].any()
        everything = FlatSearch(game, Budget(5), make_agent(game, "low"), policy=policy, caution=0)
        _, (all_values,) = everything.act_and_judge(show_turns(game, position.states, ROW, everything))
        assert values[likely] == pytest.approx(all_values[likely])


def test_a_policy_sees_no_more_than_the_seat():
    """It is asked once a turn, for the observation that the environment gives."""
    game = get_game("flotsam_fight")
    asked = []

    class Watched(PolicyAgent):
        def probabilities(self, observations, masks):
            asked.append(observations.copy())
            return super().probabilities(observations, masks)

    policy = Watched(game, stubborn(game).layers, "relu")
    position = played("flotsam_fight", 3, 4, 5)
    act(FlatSearch(game, Budget(2), make_agent(game, "low"), policy=policy, horizon=3), position)
    assert len(asked) == 1
    assert asked[0].tobytes() == position.observation(position.to_move).tobytes()


@pytest.mark.parametrize("worlds", [1] if JIT_DISABLED else [5])
def test_rollouts_of_a_policy_are_its_own_games(worlds):
    """A literal second program, as for rule agents; worlds and actions are played side by side, the results are those of single games."""
    seed = 3
    game = get_game("flotsam_fight")
    policy = random_network(game)
    position = played("flotsam_fight", 2, 8, 9)
    seat = position.to_move
    search = FlatSearch(game, Budget(worlds), policy, caution=0)
    search.reset(seed)
    chosen = act(search, position)
    world_stream = int(np.random.default_rng(seed).integers(2**53, size=1)[0])
    returns = {}
    decisions = 0
    for w in range(worlds):
        world = position.resample(seat, derive_seed(world_stream, w + 1))
        for action in position.legal_actions():
            copy = world.clone()
            copy.apply(action)
            decisions += 1
            while not copy.is_over:
                copy.apply(act(policy, copy))
                decisions += 1
            returns.setdefault(action, []).append(copy.record["returns"][seat])
    means = {action: np.mean(values) for action, values in returns.items()}
    assert means[chosen] == pytest.approx(max(means.values()))
    assert search.stats.decisions == decisions


def random_network(game):
    generator = np.random.default_rng(1)
    return PolicyAgent(game, [(generator.normal(size=(game.num_actions, game.layout.size)).astype(np.float32), np.float32([0]))], "relu")


@compiled
def test_rollouts_of_a_policy_keep_their_limits():
    game = get_game("flotsam_fight")
    position = Position.new(game, 2, {"rounds": 3}, 1)

    def spent(**limits):
        """Decisions a rollout."""
        agent = FlatSearch(game, Budget(1), random_network(game), **limits)
        act(agent, position)
        return agent.stats.decisions / len(position.legal_actions())

    assert spent(horizon=4) == 4
    assert 4 < spent(until="reward") < 0.5 * spent()


@compiled
def test_actions_that_change_nothing_cost_little():
    """Once every other action has returned the same in sixteen worlds, there is nothing left to find out."""
    game = get_game("flotsam_fight")
    position = Position.new(game, 2, {"rounds": 1, "reward": "game"}, 1)
    search = FlatSearch(game, Budget(4000), make_agent(game, "low"), horizon=1)
    act(search, position)
    assert search.stats.simulations == 16


@compiled
@pytest.mark.parametrize("name", game_names())
def test_the_same_seed_gives_the_same_decisions(name):
    game = get_game(name)
    agent = make_agent(game, "flat(2,horizon=20)")
    games = []
    for _ in range(2):
        position = Position.new(game, game.min_players, {}, 4)
        agent.reset(7)
        actions = []
        while not position.is_over and len(actions) < 60:
            actions.append(act(agent, position))
            position.apply(actions[-1])
        games.append(actions)
    assert games[0] == games[1]


@pytest.mark.parametrize("spec", ["flat(5ms)", "ismcts(5ms)"])
def test_budgets_of_time(spec):
    game = get_game("flotsam_fight")
    states = game.deal(2, {}, range(3))
    agent = make_agent(game, spec)
    turns = show_turns(game, states, np.arange(3), agent)
    actions = agent.act(turns)
    assert all(turns.masks[i, a] for i, a in enumerate(actions))
    assert agent.stats.simulations >= 3
    assert agent.stats.seconds >= 3 * 0.005


@compiled
def test_random_rollouts_serve_games_without_rule_agents():
    game = get_game("flotsam_fight")
    position = played("flotsam_fight", 3, 2, 3)
    for spec in ("flat(4,random)", "ismcts(30,random)"):
        assert position.mask()[act(make_agent(game, spec), position)]


def test_specs_name_budget_rollout_and_settings():
    game = get_game("flotsam_fight")
    flat = make_agent(game, "flat(64, strong, caution=0, horizon=50)")
    assert isinstance(flat, FlatSearch)
    assert flat.name == "flat(64,strong,caution=0,horizon=50)"
    assert make_agent(game, flat.name).name == flat.name
    assert make_agent(game, "flotsam_fight:ismcts(200ms,low)").budget == Budget(200, in_ms=True)
    assert split_specs("flat(64,low(1)), low,ismcts(5ms)") == ["flat(64,low(1))", "low", "ismcts(5ms)"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("flat", ["'flat'", "budget", "flat(64)"]),
        ("flat()", ["budget"]),
        ("flat(0)", ["budget", "'0'", "from 1"]),
        ("flat(1.5)", ["budget", "'1.5'", "50ms"]),
        ("flat(9,lowest)", ["unknown agent 'lowest'", "low", "strong"]),
        ("flat(9,flat(9))", ["rollouts need a rule agent", "'flat(9)'"]),
        ("flat(9,low,strong)", ["no setting 'strong'", "caution="]),
        ("flat(9,depth=3)", ["no setting 'depth=3'", "horizon="]),
        ("flat(9,horizon=x)", ["horizon", "'x'", "number"]),
        ("flat(9,horizon=-1)", ["horizon", "-1"]),
        ("flat(9,horizon=99999999999999999999999)", ["horizon", "99999999999999999999999", "1073741824"]),
        ("ismcts(9,bias=1,bias=1)", ["bias", "twice"]),
        ("flat(9,caution=-1)", ["caution", "-1"]),
        ("flat(9,caution=nan)", ["caution", "nan"]),
        ("flat(9,policy=policy,least=2)", ["least", "2", "0 to 1"]),
        ("flat(9,low,least=0.1)", ["least", "0.1", "policy"]),
        ("flat(9,until=never)", ["until", "'never'", "'end'", "'reward'"]),
        ("flat(9,others=flat(9))", ["others", "rule agent", "'flat(9)'"]),
        ("flat(9,low,others=policy)", ["others", "rule agent", "'policy'"]),
        ("flat(9,policy,others=low)", ["'policy' plays", "every seat"]),
        ("flat(9,policy=low)", ["policy", "trained policy", "'low'"]),
        ("ismcts(9,policy=nowhere)", ["unknown agent 'nowhere'"]),
        ("ismcts(9,caution=1)", ["no setting 'caution=1'", "exploration="]),
        ("ismcts(9,exploration=-1)", ["exploration", "-1"]),
        ("keltis:flat(9)", ["another game"]),
    ],
)
def test_wrong_specs_are_refused_in_one_clear_line(spec, words):
    with pytest.raises(OptionError) as caught:
        make_agent("flotsam_fight", spec)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_search_plays_its_own_game_only():
    flotsam, keltis = get_game("flotsam_fight"), get_game("keltis")
    with pytest.raises(OptionError, match="rollouts need a rule agent of this game"):
        FlatSearch(flotsam, Budget(4), RuleAgent(keltis, "greedy"))
    with pytest.raises(OptionError, match="rollouts need"):
        TreeSearch(flotsam, Budget(4), RandomAgent(keltis))
    with pytest.raises(OptionError, match="rollouts need"):
        FlatSearch(flotsam, Budget(4), stubborn(keltis))
    with pytest.raises(OptionError, match="must be a trained policy of this game"):
        FlatSearch(flotsam, Budget(4), RuleAgent(flotsam, "low"), policy=stubborn(keltis))
    with pytest.raises(OptionError, match="rollouts of a tree need a rule agent"):
        TreeSearch(flotsam, Budget(4), stubborn(flotsam))
    states = keltis.deal(2, {}, [1])
    agent = make_agent(flotsam, "flat(4)")
    with pytest.raises(OptionError, match="plays FlotsamFight-v0, not Keltis-v0"):
        agent.act(show_turns(keltis, states, ROW, agent))


@compiled
@pytest.mark.parametrize("name", game_names())
def test_rollouts_play_like_the_rule_agents_at_the_table(name):
    """Games played out inside the search end as the same games played by ``loops.play``: the players of a rollout see views too."""
    from deckhand.agents.search import _bound_loops

    game = get_game(name)
    rules = rule_set(game)
    others = make_agent(game, next(iter(rules.agents)))
    seat, n = 1, game.max_players
    for rule in rules.agents:
        agent = make_agent(game, rule)
        states = game.deal(n, {}, [derive_seed(9, k) for k in range(2)])
        table = game.copy(states)
        mask = np.zeros(game.num_actions, np.bool_)
        seated = [agent if k == seat else others for k in range(n)]
        seating = np.tile([int(player is others) for player in seated], (2, 1))
        rules.loops.play(table, 0, seating, *compiled_numbers([agent, others]), 6, game.allocate(1), mask)
        kinds, params = np.array([agent.kind, others.kind]), np.array([agent.params, others.params])
        rng = np.zeros(4, np.int64)
        for i in range(2):
            game.loops.seed_rng(rng, 6, i)
            _bound_loops(game).roll_out(states, i, seat, kinds, params, False, 1 << 30, rng, game.allocate(1), mask)
        assert states.tobytes() == table.tobytes()


@compiled
def test_strength_grows_with_the_budget():
    """The deals are fixed, so the result is; enough of them that the interval carries the claim."""
    game = get_game("flotsam_fight")
    low = make_agent(game, "low")
    found = {}
    for spec in ("flat(1)", "flat(3)", "flat(40)"):
        result = evaluate(game, make_agent(game, spec), [low], num_players=2, options={"rounds": 1}, deals=120, seed=3)
        found[spec] = result.rows[0].figures["win_share"]
    # A single world has no spread: the search plays what its rollouts' agent plays.
    assert found["flat(1)"].mean == 0.5
    assert found["flat(3)"].mean < found["flat(40)"].mean
    assert found["flat(40)"].low > 0.5


@compiled
def test_solo_search_finds_free_moves_that_its_rollouts_never_make():
    """ "simple" moves whole runs only; with it in its rollouts the search moves parts of runs too, and rescues more on the same deals."""
    game = get_game("alle_in_die_boote")
    simple, search = make_agent(game, "simple"), make_agent(game, "flat(24,simple)")
    partial = 0
    for seed in range(4):
        position = Position.new(game, 1, {"level": "normal"}, seed)
        while not position.is_over:
            action = act(search, position)
            if action < BOARD:
                sections = action // 5, action % 5 + (action % 5 >= action // 5)
                partial += move_size(position.record, *sections) < position.record["run"][sections[0]]
            position.apply(action)
    assert partial > 0
    result = evaluate(game, search, [simple], num_players=1, options={"level": "normal"}, deals=100, seed=2)
    assert result.difference[0].figures["rescued"].low > 0
