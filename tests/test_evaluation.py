"""Evaluation and simulation: the protocol, the intervals, the reports."""

import io
import json
from collections.abc import Sequence

import numpy as np
import pytest
from deckhand.agents import Agent, RandomAgent, agent_names, make_agent, show_turns
from deckhand.envs import game_names, get_game
from deckhand.envs.core import IllegalAction, OptionError
from deckhand.envs.core.rng import derive_seed
from deckhand.train.evaluation import EVALUATION_STREAM, evaluate
from deckhand.train.simulation import CHUNK, Outcomes, play_games, simulate
from deckhand.train.statistics import bootstrap, number_text, rates, share, wilson
from rich.console import Console

GAME = get_game("flotsam_fight")
COMPETITIVE = [name for name in game_names() if not get_game(name).cooperative]
COOPERATIVE = [name for name in game_names() if get_game(name).cooperative]


class Spy(Agent):
    """Plays like another agent and notes what it was shown. Not compiled, so the batched loop plays it."""

    def __init__(self, agent: Agent, name: str = "spy") -> None:
        self.name = name
        self.inner = agent
        self.shown: list[tuple[int, bytes]] = []

    def act(self, turns):
        self.shown += [(int(seat), view.tobytes()) for seat, view in zip(turns.seats, turns.views, strict=True)]
        return self.inner.act(turns)


def run(agent: str | Agent, opponents: Sequence[str | Agent], **changes):
    settings = {"num_players": 2, "options": {"rounds": 1}, "deals": 40, "seed": 3} | changes
    agents = [a if isinstance(a, Agent) else make_agent(GAME, a) for a in (agent, *opponents)]
    return evaluate(GAME, agents[0], agents[1:], **settings)


def test_low_beats_random():
    result = run("low", ["random"], deals=500)
    assert result.main.low > 0.6
    assert result.difference[0].figures["win_share"].low > 0.2
    assert result.games == 1000
    assert all(figure.low > 0.6 for figure in result.by_seat)


@pytest.mark.parametrize("rule", ["low", "strong"])
@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("reward", ["round", "game", "placement"])
def test_mirror_blocks_differ_by_exactly_zero(rule, players, reward):
    result = run(rule, [rule], num_players=players, options={"rounds": 1, "reward": reward}, deals=20)
    for figure in result.difference[0].figures.values():
        assert (figure.mean, figure.low, figure.high) == (0.0, 0.0, 0.0)
    for name in ("win_share", "score"):
        mine, theirs = (row.figures[name] for row in result.rows)
        assert mine.mean == pytest.approx(theirs.mean)
    assert result.main.mean == pytest.approx(1 / players)


def test_every_deal_is_played_once_in_every_seat_against_the_opponents_in_order():
    spies = [Spy(make_agent(GAME, "low"), name) for name in "abc"]
    deals = 3
    result = run(spies[0], spies[1:], num_players=4, deals=deals)
    seeds = [derive_seed(3, EVALUATION_STREAM + k) for k in range(deals)]
    states = GAME.deal(4, {"rounds": 1}, seeds)
    for seat in range(4):
        views = GAME.allocate(deals)
        GAME.loops.write_views(states, np.arange(deals), np.full(deals, seat), views)
        starting = {views[k].tobytes() for k in range(deals) if states["to_move"][k] == seat}
        for spy in spies:
            # Rotation brings everybody into every seat: whoever opens a deal is shown it from the opening seat.
            assert starting <= {view for shown, view in spy.shown if shown == seat}
    assert result.games == 4 * deals
    assert [row.agent for row in result.rows] == ["a", "b", "c"]


def test_opponents_fill_the_seats_clockwise_and_cyclically():
    seating = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]])
    agents = [make_agent(GAME, name) for name in ("strong", "low", "random")]
    seeds = [int(derive_seed(3, EVALUATION_STREAM + k)) for k in range(10)]
    parts = play_games(GAME, agents, np.tile(seating, (10, 1)), options={"rounds": 1}, seeds=[s for s in seeds for _ in range(4)], seed=3)
    shares = Outcomes.join(list(parts)).win_shares()
    result = run("strong", ["low", "random"], num_players=4, deals=10)
    for j, row in enumerate(result.rows):
        assert row.figures["win_share"].mean == pytest.approx(shares[np.tile(seating, (10, 1)) == j].mean())


# Not Piraten-Pitt: its agents draw random numbers, each loop in its own order.
@pytest.mark.parametrize("name", [name for name in game_names() if name != "piraten_pitt"])
def test_compiled_loop_and_batched_loop_play_the_same_games(name):
    game = get_game(name)
    agents = [agent for agent in (make_agent(game, rule) for rule in agent_names(game)[1:]) if decides_alike(game, agent)]
    players = game.max_players
    seating = np.add.outer(np.arange(8), np.arange(players)) % len(agents)
    found = []
    for compiled in (True, False):
        parts = play_games(game, agents, seating, options={}, seeds=range(8), seed=1, compiled=compiled)
        found.append(Outcomes.join(list(parts)))
    for field in ("scores", "winners", "returns", "truncated", "decisions"):
        np.testing.assert_array_equal(getattr(found[0], field), getattr(found[1], field))


def decides_alike(game, agent):
    """Whether an agent makes no use of its generator, as far as some openings show."""
    states = game.deal(game.max_players, {}, range(200))
    answers = []
    for seed in range(3):
        agent.reset(seed)
        answers.append(agent.act(show_turns(game, states, np.arange(200), agent)).tolist())
    return answers[0] == answers[1] == answers[2]


def test_games_do_not_depend_on_how_many_are_played():
    agents = [make_agent(GAME, "low"), make_agent(GAME, "random")]
    found = []
    for count in (CHUNK + 30, CHUNK + 10):
        seating = np.tile(np.arange(2), (count, 1))
        parts = list(play_games(GAME, agents, seating, options={"rounds": 1}, seeds=range(count), seed=9))
        assert [len(p.scores) for p in parts] == [CHUNK, count - CHUNK]
        found.append(Outcomes.join(parts))
    np.testing.assert_array_equal(found[0].scores[: CHUNK + 10], found[1].scores)


def test_same_seed_same_report():
    reports = [run("low", ["random"], seed=seed).to_json() for seed in (3, 3, 4)]
    for report in reports:
        del report["seconds"]
    assert reports[0] == reports[1]
    assert reports[0]["figures"] != reports[2]["figures"]


def test_evaluation_deals_are_none_of_training_or_simulation():
    evaluation = {derive_seed(seed, EVALUATION_STREAM + k) for seed in range(10) for k in range(500)}
    others = {derive_seed(seed, k) for seed in range(10) for k in range(500)}
    assert len(evaluation) == 5000
    assert not evaluation & others


def test_illegal_choices_are_reported_with_the_agent():
    class Cheat(RandomAgent):
        def act(self, turns):
            turns.masks[:] = True
            return np.full(len(turns), -1)

    cheat = Cheat(GAME)
    cheat.name = "cheat"
    with pytest.raises(IllegalAction, match="agent 'cheat' chose action -1"):
        run(cheat, ["low"])


@pytest.mark.parametrize(
    ("changes", "opponents", "words"),
    [
        ({"deals": 1}, ["low"], "deals cannot be 1"),
        ({"num_players": 7}, ["low"], "num_players cannot be 7"),
        ({"seed": -1}, ["low"], "seed cannot be -1"),
        ({"options": {"round": 1}}, ["low"], "unknown option 'round'"),
        ({}, [], "1 to 1 opponents, not 0"),
        ({}, ["low", "low"], "1 to 1 opponents, not 2"),
    ],
)
def test_bad_settings_are_refused(changes, opponents, words):
    with pytest.raises(OptionError, match=words):
        run("low", opponents, **changes)


@pytest.mark.parametrize("name", COMPETITIVE)
def test_report_of_a_competitive_game(name):
    game = get_game(name)
    n = game.max_players
    result = evaluate(game, make_agent(game, "random"), [make_agent(game, "random")], num_players=n, options={}, deals=4, seed=1)
    report = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert list(report) == [
        *("schema", "game", "players", "options", "agents", "protocol", "confidence", "seed", "deal_seeds", "deals", "games"),
        *("decisions", "truncated", "figures", "by_seat", "difference", "variance_reduction", "statistics", "versions", "seconds"),
    ]
    assert report["schema"] == "deckhand/evaluation/1"
    assert report["game"] == game.id
    assert report["options"] == json.loads(json.dumps(game.parse_options({}).model_dump()))
    assert report["games"] == 4 * n
    assert len(report["by_seat"]) == n
    for row in (*report["figures"], *report["difference"]):
        assert list(row) == ["agent", "role", "win_share", "return", "score"]
        for key in ("win_share", "return", "score"):
            assert list(row[key]) == ["mean", "low", "high"]
            assert row[key]["low"] <= row[key]["mean"] <= row[key]["high"]
    markdown = result.to_markdown()
    assert game.id in markdown
    assert "| random |" in markdown


@pytest.mark.parametrize("name", COOPERATIVE)
def test_report_of_a_cooperative_game(name):
    game = get_game(name)
    first = make_agent(game, agent_names(game)[-1])
    result = evaluate(game, first, [make_agent(game, "random")], num_players=game.min_players, options={}, deals=12, seed=1)
    report = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert report["games"] == 24
    assert report["by_seat"] == []
    assert [row["role"] for row in report["figures"]] == ["agent", "baseline"]
    agent, baseline = report["figures"]
    assert list(agent["score"]) == ["mean", "low", "high", "quantiles"]
    assert 0 <= agent["win_rate"]["low"] <= agent["win_rate"]["high"] <= 1
    (difference,) = report["difference"]
    for key in ("score", "return", *game.extra_outcome(game.deal(game.min_players, {}, [1])[0])):
        assert difference[key]["mean"] == pytest.approx(agent[key]["mean"] - baseline[key]["mean"])
    same = evaluate(game, first, [first], num_players=game.min_players, options={}, deals=12, seed=1)
    if decides_alike(game, first):
        assert same.difference[0].figures["score"].to_json() == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert evaluate(game, first, [], num_players=game.min_players, options={}, deals=2, seed=1).difference == []


def test_progress_is_told():
    told = []
    run("low", ["random"], progress=lambda done, total, text: told.append((done, total, text)))
    assert told[-1][:2] == (80, 80)
    assert "win share" in told[-1][2]


def test_simulation_report():
    agents = [make_agent(GAME, name) for name in ("low", "random", "strong")]
    result = simulate(GAME, agents, num_players=3, options={"rounds": 1}, games=50, seed=2)
    report = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert list(report) == [
        *("schema", "game", "players", "options", "agents", "seed", "games", "decisions", "seats", "per_game"),
        *("statistics", "versions", "seconds"),
    ]
    assert report["agents"] == ["low", "random", "strong"]
    # Every round has +2, +1 and -1.
    assert sum(seat["score"]["mean"] for seat in report["seats"]) == pytest.approx(2)
    assert sum(seat["win_rate"]["mean"] for seat in report["seats"]) == pytest.approx(1)
    assert list(report["seats"][0]["score"]["quantiles"]) == ["0", "5", "25", "50", "75", "95", "100"]
    assert report["per_game"]["decisions"]["mean"] == pytest.approx(report["decisions"] / 50)
    assert "player 2: score" in result.grids()[0].to_markdown()


@pytest.mark.parametrize("name", COOPERATIVE)
def test_simulation_of_a_team_shows_the_games_own_figures(name):
    game = get_game(name)
    result = simulate(game, [make_agent(game, "random")], num_players=game.max_players, options={}, games=10, seed=2)
    report = result.to_json()
    assert len(report["seats"]) == 1
    for key in game.extra_outcome(game.deal(1, {}, [1])[0]):
        assert key in report["per_game"]


def test_simulation_refuses_bad_settings():
    low = make_agent(GAME, "low")
    with pytest.raises(OptionError, match="2 agents cannot sit in 3 seats"):
        simulate(GAME, [low, low], num_players=3, options={}, games=10, seed=1)
    with pytest.raises(OptionError, match="games cannot be 0"):
        simulate(GAME, [low], num_players=3, options={}, games=0, seed=1)


def test_wilson_interval():
    # Newcombe (1998), Statistics in Medicine 17, table I: 81/263, 15/148, 0/20, 1/29.
    for successes, trials, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)):
        figure = wilson(successes, trials)
        assert (figure.low, figure.high) == pytest.approx((low, high), abs=5e-5)
        assert figure.mean == successes / trials
    assert wilson(7, 7).high == 1


def test_bootstrap_of_a_known_bernoulli():
    p, n = 0.3, 400
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        (figure,) = bootstrap((rng.random((n, 1)) < p).astype(float), resamples=300)
        covered += figure.low <= p <= figure.high
    # 95 % of 200 intervals, give or take four standard deviations.
    assert 178 <= covered <= 200
    column = (np.arange(n) < 120).astype(float)
    (figure,) = bootstrap(column[:, None])
    half = 1.96 * np.sqrt(p * (1 - p) / n)
    assert figure.mean == pytest.approx(p)
    assert (figure.low, figure.high) == pytest.approx((p - half, p + half), abs=0.006)


def test_bootstrap_draws_whole_rows_and_is_exact_on_constants():
    noise = np.random.default_rng(0).random(50)
    columns = np.stack([noise, 1 - noise, np.full(50, 1 / 3)], axis=1)
    one, other, constant = bootstrap(columns)
    assert one.low + other.high == pytest.approx(1)
    assert (constant.mean, constant.low, constant.high) == (1 / 3, 1 / 3, 1 / 3)


def test_shares_of_one_have_an_interval():
    column = np.ones(100)
    (blind,) = bootstrap(column[:, None])
    assert blind.low == 1
    assert share(column, blind) == wilson(100, 100)
    mixed = np.array([0.5, 1.0])
    assert share(mixed, blind) is blind


@pytest.mark.parametrize("players", [2, 4])
def test_statistics_of_the_agents_are_sums_over_their_own_seats(players):
    game = get_game("piraten_pitt")
    agents = [make_agent(game, "hunter(0.9)"), make_agent(game, "hunter(0.5)")]
    result = evaluate(game, agents[0], agents[1:], num_players=players, options={}, deals=15, seed=3)
    seating = np.tile(1 - np.eye(players, dtype=np.int64), (15, 1))
    seeds = [int(derive_seed(3, EVALUATION_STREAM + k)) for k in range(15) for _ in range(players)]
    counts = Outcomes.join(list(play_games(game, agents, seating, options={}, seeds=seeds, seed=3))).statistics
    for j in range(2):
        found = result.statistics[j]
        own = seating == j
        for name, figure in found.rates.items():
            assert figure.mean == pytest.approx(counts[name][own, 0].sum() / counts[name][own, 1].sum())
            assert figure.low <= figure.mean <= figure.high
        assert found.means["turns"].mean == pytest.approx(counts["turns"].mean())
        for name in ("meetings", "robberies", "gems_lost"):
            assert found.means[name].mean == pytest.approx(counts[name][own].mean())
    parts = [counts[f"show_accuracy_turned_{age}"] for age in ("once", "twice", "more")]
    assert (sum(parts) == counts["show_accuracy"]).all()
    report = result.to_json()["statistics"]
    assert [row["agent"] for row in report] == ["hunter(0.9)", "hunter(0.5)"]
    assert report[0]["rates"]["show_accuracy"]["mean"] == result.statistics[0].rates["show_accuracy"].mean
    assert "| show accuracy turned once |" in result.to_markdown()


def test_show_accuracy_is_the_recall_of_the_rule_agents():
    """Piraten-Pitt 7.4: the hunter shows the right side with the probability that its name says, however long ago he saw the gems."""
    game = get_game("piraten_pitt")
    agents = [make_agent(game, "hunter(1)"), make_agent(game, "hunter(0.6)")]
    result = evaluate(game, agents[0], agents[1:], num_players=4, options={}, deals=25, seed=5)
    perfect, forgetful = (counts.rates for counts in result.statistics)
    for name in ("show_accuracy", "show_accuracy_turned_once", "show_accuracy_turned_more"):
        assert perfect[name].mean == perfect[name].high == 1
        assert perfect[name].low < 1
        assert abs(forgetful[name].mean - 0.6) < 0.06
    assert result.statistics[0].means["robberies"].mean == 0


def test_a_game_without_statistics_reports_none():
    result = run("low", ["random"])
    assert [counts.to_json() for counts in result.statistics] == [{"means": {}, "rates": {}}] * 2


def test_simulation_reports_the_statistics_of_the_game():
    game = get_game("piraten_pitt")
    agents = [make_agent(game, name) for name in ("hunter(1)", "hunter(0.5)")]
    result = simulate(game, agents, num_players=2, options={}, games=40, seed=2)
    report = json.loads(json.dumps(result.to_json(), allow_nan=False))["statistics"]
    assert list(report["turns"]) == ["all"]
    meetings = report["meetings"]
    assert meetings["all"]["mean"] == pytest.approx(sum(seat["mean"] for seat in meetings["seats"]))
    assert report["robberies"]["seats"][0]["mean"] == 0 < report["robberies"]["seats"][1]["mean"]
    accuracy = report["show_accuracy"]
    assert accuracy["seats"][0]["mean"] == 1
    assert accuracy["seats"][1]["mean"] < accuracy["all"]["mean"] < 1
    rows = {row[0]: row[1] for row in result.grids()[0].rows}
    assert rows["gems lost"].count("±") == rows["turns"].count("±") == 1
    assert "%" in rows["show accuracy"]
    # Seats are listed where different agents sit in them.
    assert "- player 1" in rows
    same = simulate(game, agents[:1], num_players=2, options={}, games=5, seed=2)
    assert "- player 1" not in {row[0] for row in same.grids()[0].rows}


@pytest.mark.parametrize("width", [80, 100])
def test_reports_fit_a_terminal_without_losing_a_digit(width):
    game = get_game("piraten_pitt")
    agents = [make_agent(game, name) for name in ("hunter(0.8)", "hunter(1)", "collector(1)")]
    simulation = simulate(game, agents[:1], num_players=4, options={}, games=20, seed=2)
    evaluation = evaluate(game, agents[0], agents[1:], num_players=4, options={}, deals=3, seed=1)
    for grid in (*simulation.grids(), *evaluation.grids()):
        text = io.StringIO()
        Console(file=text, width=width).print(grid.to_rich())
        assert "…" not in text.getvalue()
        assert max(map(len, text.getvalue().splitlines())) <= width


def test_numbers_have_three_digits():
    texts = {-1 / 3: "-0.333", 0: "0", 5: "5", 123456: "123456", 31.25: "31.2", 0.00123456: "0.00123"}
    assert {value: number_text(value) for value in texts} == texts


def test_rates_are_ratios_of_sums_with_intervals_over_the_units():
    rng = np.random.default_rng(3)
    p, covered = 0.7, 0
    for _ in range(100):
        # Units share their luck and have different numbers of trials.
        trials = rng.integers(0, 12, size=150)
        hits = rng.binomial(trials, np.clip(p + 0.25 * rng.choice([-1, 1], size=150), 0, 1))
        (figure,) = rates(hits[:, None], trials[:, None], resamples=300)
        assert figure.mean == hits.sum() / trials.sum()
        covered += figure.low <= p <= figure.high
    # 95 % of 100 intervals, give or take four standard deviations.
    assert 86 <= covered <= 100
    hits, trials = np.array([[1, 0, 0], [3, 0, 0]]), np.array([[1, 0, 2], [3, 0, 0]])
    always, nothing, never = rates(hits, trials)
    assert nothing is None
    assert always == wilson(2, 2)
    assert never == wilson(0, 1)
