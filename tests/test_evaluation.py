"""Evaluation and simulation: the protocol, the intervals, the reports."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from itertools import permutations

import numpy as np
import pytest
from coin_game import BID, FOLD, REDUCTION, WINS, Always, Coin
from deckhand.agents import Agent, RandomAgent, agent_names, make_agent, show_turns
from deckhand.envs import LearnerBatch, game_names, get_game
from deckhand.envs.alle_in_die_boote.rules import CARDS
from deckhand.envs.core import IllegalAction, OptionError
from deckhand.envs.core.jit import JIT_DISABLED
from deckhand.envs.core.rng import derive_seed
from deckhand.train import evaluation
from deckhand.train.cli import app
from deckhand.train.evaluation import AFFORDABLE, CSV_COLUMNS, DEAL_SETS, EVALUATION_STREAM, FIRST_LOOK, arrange, deal_seeds, evaluate
from deckhand.train.simulation import CHUNK, Outcomes, play_games, simulate
from deckhand.train.statistics import bootstrap, number_text, rates, share, wilson
from rich.console import Console
from typer.testing import CliRunner

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


@pytest.mark.parametrize("reward", ["round", "game", "placement"])
@pytest.mark.parametrize("players", [2, 4])
def test_mirror_blocks_differ_by_exactly_zero_for_every_kind_of_reward(players, reward):
    result = run("strong", ["strong"], num_players=players, options={"rounds": 1, "reward": reward}, deals=20)
    for figure in result.difference[0].figures.values():
        assert (figure.mean, figure.low, figure.high) == (0.0, 0.0, 0.0)
    for name in ("win_share", "score"):
        mine, theirs = (row.figures[name] for row in result.rows)
        assert mine.mean == pytest.approx(theirs.mean)
    assert result.main.mean == pytest.approx(1 / players)


def tables():
    """Every game with every player count."""
    games = [get_game(name) for name in game_names()]
    return [(game.name, n) for game in games for n in range(game.min_players, game.max_players + 1)]


@pytest.mark.parametrize(("name", "players"), tables())
def test_every_agent_can_be_measured_and_ties_with_its_copies(name, players):
    game = get_game(name)
    for rule in agent_names(game):
        agent, copy = make_agent(game, rule), make_agent(game, rule)
        # Two copies at a table of three are two opponents: mixed tables have mirrors as well.
        others = [copy, make_agent(game, rule)][: max(players - 1, 1)]
        result = evaluate(game, agent, others, num_players=players, options={}, deals=2, seed=1)
        assert result.games == 2 * result.seatings
        assert result.decisions > 0
        if game.cooperative:
            assert result.seating is None
            assert 0 <= result.rows[0].figures["win_rate"].low <= result.rows[0].figures["win_rate"].high <= 1
        else:
            assert sum(figure.mean for figure in result.by_seat) == pytest.approx(players * result.main.mean)
            assert result.main.mean <= 1
        if decides_alike(game, agent):
            for row in result.difference:
                assert {(f.mean, f.low, f.high) for f in row.figures.values()} == {(0.0, 0.0, 0.0)}


@pytest.mark.parametrize("n", range(2, 7))
def test_seatings_are_fair_to_every_player(n):
    for opponents in range(1, n):
        players = [0, *(1 + j % opponents for j in range(n - 1))]
        every = set(permutations(players))
        for seating in ("rotations", "permutations", "auto"):
            name, found = arrange(n, opponents, seating)
            rows = [tuple(row) for row in found.tolist()]
            assert len(rows) == (n if name == "rotations" else len(every))
            if name == "permutations" or opponents == 1:
                assert set(rows) == every
                assert len(rows) == len(every)
            for seat in range(n):
                # As often as there are players of that name at the table.
                assert Counter(row[seat] for row in rows) == {j: players.count(j) * len(rows) // n for j in players}
        automatic = len(arrange(n, opponents)[1])
        assert automatic == (len(every) if len(every) <= AFFORDABLE else n)


def test_every_deal_is_played_once_in_every_seat_against_the_opponents_in_order():
    spies = [Spy(make_agent(GAME, "low"), name) for name in "abc"]
    deals = 3
    result = run(spies[0], spies[1:], num_players=4, deals=deals, seating="rotations")
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
    result = run("strong", ["low", "random"], num_players=4, deals=10, seating="rotations")
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


def test_a_cooperative_game_has_nothing_to_seat():
    game = get_game(COOPERATIVE[0])
    agent = make_agent(game, "random")
    with pytest.raises(OptionError, match="seating cannot be 'rotations': in a cooperative game an agent has all the seats"):
        evaluate(game, agent, [], num_players=2, options={}, deals=2, seed=1, seating="rotations")


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
        ({"deal_set": "train"}, ["low"], "deal_set cannot be 'train'; the deal sets are: dev, test"),
        ({"seating": "random"}, ["low"], "seating cannot be 'random'; allowed are: auto, rotations, permutations"),
        ({"until_ci": 0.0}, ["low"], "until_ci cannot be 0.0"),
        ({"until_ci": float("nan")}, ["low"], "until_ci cannot be nan"),
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
        *("schema", "game", "players", "options", "agents", "protocol", "confidence", "seating", "seatings", "deal_set", "seed"),
        *("deal_seeds", "deals", "stopping", "games", "decisions", "truncated", "figures", "by_seat", "difference"),
        *("variance_reduction", "statistics", "versions", "seconds"),
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


def test_full_rescues_and_quantiles_are_those_of_the_deals():
    game = get_game("alle_in_die_boote")
    agents = [make_agent(game, "strong"), make_agent(game, "random")]
    options = {"level": "leicht", "open_queues": True}
    result = evaluate(game, agents[0], agents[1:], num_players=1, options=options, deals=60, seed=2, deal_set="dev")
    parts = play_games(game, agents[:1], np.zeros((60, 1), int), options=options, seeds=deal_seeds(60, 0, "dev"), seed=2)
    rescued = Outcomes.join(list(parts)).extra["rescued"]
    figures, quantiles = result.rows[0].figures, result.rows[0].quantiles["rescued"]
    everybody = int(np.sum(rescued == CARDS))
    assert 0 < everybody < 60
    assert figures["win_rate"] == wilson(everybody, 60)
    assert figures["rescued"].mean == pytest.approx(rescued.mean())
    assert quantiles == {str(q): float(np.percentile(rescued, q)) for q in (0, 5, 25, 50, 75, 95, 100)}


def test_progress_is_told():
    told = []
    run("low", ["random"], progress=lambda done, total, text: told.append((done, total, text)))
    assert told[-1][:2] == (80, 80)
    assert "win share" in told[-1][2]
    assert "±" in told[-1][2]


class Slow(Spy):
    """An agent that is to be shown few games at once."""

    games_at_once = 3


def test_progress_is_told_while_slow_agents_play():
    told = []
    agents = [Slow(make_agent(GAME, "low")), make_agent(GAME, "strong")]
    result = evaluate(
        *(GAME, agents[0], agents[1:]),
        **{"num_players": 2, "options": {"rounds": 1}, "deals": 6, "seed": 3},
        progress=lambda done, total, text: told.append((done, total, text)),
    )
    games = [done for done, _, _ in told]
    assert games == sorted(games)
    assert set(games) == set(range(13))
    # The estimate comes long before the end, and no game was shown beside more than two others.
    assert any("win share" in text and done <= 8 for done, _, text in told)
    assert result.to_json()["figures"] == run(Spy(agents[0].inner), ["strong"], deals=6).to_json()["figures"]


def test_games_side_by_side_come_in_order_whatever_their_number():
    agents = [make_agent(GAME, "low"), make_agent(GAME, "strong")]
    seating = np.tile([[0, 1], [1, 0]], (20, 1))

    def play(*players, **settings):
        return list(play_games(GAME, players, seating, options={}, seeds=range(40), seed=1, **settings))

    expected = Outcomes.join(play(*agents))
    for width in (1, 7, 64):
        spy = Slow(agents[0])
        spy.games_at_once = width
        parts = play(spy, agents[1])
        assert {len(part.scores) for part in parts[:-1]} <= {width}
        found = Outcomes.join(parts)
        for field in ("scores", "winners", "returns", "truncated", "decisions"):
            np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))


def figures(result):
    report = result.to_json()
    del report["seconds"]
    return report


def test_the_number_of_processes_changes_no_result():
    told = []
    settings = {"num_players": 2, "options": {"rounds": 1}, "deals": 20, "seed": 3}
    one, two = (
        evaluate(GAME, "flat(4,random)", ["random"], workers=workers, progress=lambda *report: told.append(report), **settings)
        for workers in (1, 2)
    )
    assert figures(one) == figures(two)
    assert told[-1] == (40, 40, told[-1][2])
    # Several times on the way.
    assert {done for done, *_ in told[told.index((40, 40, told[-1][2])) + 1 :]} > {16, 32}
    # Agents that are objects play the same.
    assert figures(run("flat(4,random)", ["random"], deals=20)) == figures(one)


def test_several_processes_stop_when_the_interval_is_narrow_enough(monkeypatch):
    monkeypatch.setattr(evaluation, "FIRST_LOOK", 12)
    settings = {"num_players": 2, "options": {"rounds": 1}, "deals": 5000, "seed": 3, "until_ci": 0.04}
    one, two = (evaluate(GAME, "flat(2,random)", ["random"], workers=workers, **settings) for workers in (1, 2))
    assert one.stopping.reached
    assert 12 < one.deals < 200
    assert figures(one) == figures(two)


def test_agents_that_are_shown_many_games_at_once_keep_their_batches():
    """What a network answers depends by a rounding on how many turns it is shown together."""

    class Batched(Spy):
        def act(self, turns):
            sizes.append(len(turns))
            return self.inner.act(turns)

    sizes: list[int] = []
    agents = [Batched(make_agent(GAME, "low")), make_agent(GAME, "strong")]
    run(agents[0], agents[1:], deals=600)
    whole = sizes.copy()
    sizes.clear()
    seats = np.tile([[0, 1], [1, 0]], (600, 1))
    seeds = [seed for seed in deal_seeds(600, 3) for _ in range(2)]
    list(play_games(GAME, agents, seats, options={"rounds": 1}, seeds=seeds, seed=3))
    assert sizes == whole


def test_compiled_games_are_the_same_in_whatever_parts_they_are_played():
    agents = [make_agent(GAME, name) for name in ("random", "low")]
    seating = np.tile(np.arange(2), (60, 1))

    def play(part):
        games = {"seeds": range(60)[part], "seed": 9, "first": part.start}
        return Outcomes.join(list(play_games(GAME, agents, seating[part], options={"rounds": 1}, **games)))

    whole = play(slice(0, 60))
    parts = Outcomes.join([play(slice(0, 25)), play(slice(25, 60))])
    np.testing.assert_array_equal(parts.scores, whole.scores)
    np.testing.assert_array_equal(parts.decisions, whole.decisions)


@pytest.mark.skipif(JIT_DISABLED, reason="thousands of games")
@pytest.mark.parametrize("name", ["flotsam_fight_strong_low_2", "piraten_pitt_hunter0_8_collector0_8_4"])
def test_stored_results_of_compiled_agents_are_found_again(name):
    stored = json.loads((files("deckhand.configs") / "results" / f"{name}.json").read_text())
    game = get_game(stored["game"])
    settings = {"num_players": stored["players"], "options": stored["options"], "deals": stored["deals"], "seed": stored["seed"]}
    found = evaluate(game, stored["agents"][0], stored["agents"][1:], **settings).to_json()
    assert (found["games"], found["decisions"]) == (stored["games"], stored["decisions"])
    for mine, theirs in zip(found["figures"], stored["figures"], strict=True):
        assert {key: mine[key]["mean"] for key in ("win_share", "return", "score")} == {
            key: theirs[key]["mean"] for key in ("win_share", "return", "score")
        }


def test_what_other_processes_cannot_play_is_refused():
    low = make_agent(GAME, "low")
    for workers, words in (
        (0, "workers cannot be 0: it is a number of processes, 1 at least"),
        (2, "workers cannot be 2: only agents named by texts play in other processes, not the object 'low'"),
    ):
        with pytest.raises(OptionError, match=words):
            evaluate(GAME, "random", [low], num_players=2, options={}, deals=2, seed=1, workers=workers)


def test_the_command_plays_in_several_processes_and_leaves_nothing_where_it_is_interrupted(tmp_path):
    base = ["evaluate", "flotsam_fight", "--agents", "flat(4,low),low", "-o", "rounds=1", "--json"]
    reports = []
    for workers in ("1", "2"):
        path = tmp_path / f"{workers}.json"
        result = CliRunner().invoke(app, [*base, str(path), "--deals", "12", "--workers", workers])
        assert result.exit_code == 0, result.output
        reports.append(json.loads(path.read_text()) | {"seconds": 0})
    assert reports[0] == reports[1]
    refused = CliRunner().invoke(app, [*base, str(tmp_path / "none.json"), "--workers", "0"])
    assert refused.exit_code == 2
    assert refused.stderr == "deckhand: workers cannot be 0: it is a number of processes, 1 at least\n"
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from deckhand.train.cli import main; main()"
    path = tmp_path / "slow.json"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *base, str(path), "--deals", "5000", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(list(tmp_path.iterdir())) < 3:  # until the report is begun
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    # Returns when the workers, which hold the pipes too, have ended.
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130
    assert sorted(file.name for file in tmp_path.iterdir()) == ["1.json", "2.json"]


def coin(luck, mine=BID, other=FOLD, **settings):
    settings = {"num_players": 2, "options": {"luck": luck}, "deals": 1500, "seed": 1} | settings
    return evaluate(COIN, Always(mine), [Always(other)], **settings)


COIN = Coin()


def test_the_interval_of_a_known_effect_is_the_one_that_theory_gives():
    # One deal decides both games of a block: the block is the trial, not the game.
    result = coin("same")
    wins = round(result.main.mean * result.deals)
    expected = wilson(wins, result.deals)
    assert (result.main.low, result.main.high) == pytest.approx((expected.low, expected.high), abs=0.003)
    assert result.main.low < WINS < result.main.high
    gain = result.difference[0].figures["win_share"]
    assert gain.low < 2 * WINS - 1 < gain.high
    assert gain.mean == pytest.approx(2 * result.main.mean - 1)
    # Opposed luck: shares of 1 (0.4 of the deals) and 1/2, and a narrower interval of the same mean.
    result = coin("opposed")
    half = (result.main.high - result.main.low) / 2
    assert half == pytest.approx(1.96 * np.sqrt(0.06 / result.deals), rel=0.1)
    assert result.main.low < WINS < result.main.high


@pytest.mark.parametrize("luck", REDUCTION)
def test_variance_reduction_is_the_ratio_that_theory_gives(luck):
    result = coin(luck, deals=4000)
    for name in ("win_share", "score", "return"):
        assert result.variance_reduction[name] == pytest.approx(REDUCTION[luck], rel=0.12)


def test_equal_agents_differ_by_exactly_zero_however_lucky_the_seats():
    result = coin("independent", mine=FOLD, deals=50)
    assert {(f.mean, f.low, f.high) for f in result.difference[0].figures.values()} == {(0.0, 0.0, 0.0)}
    assert (result.main.mean, result.main.low, result.main.high) == (0.5, 0.5, 0.5)
    assert result.variance_reduction == {}
    assert result.by_seat[0].mean != 0.5


@pytest.mark.parametrize("luck", REDUCTION)
def test_an_evaluation_stops_by_itself_when_its_interval_is_narrow_enough(luck):
    told = []
    result = coin(luck, deals=20_000, until_ci=0.02, progress=lambda done, total, text: told.append((done, total)))
    assert result.stopping.reached
    assert (result.main.high - result.main.low) / 2 <= 0.02
    # Not much later than theory asks for: the number of blocks grows by a quarter from look to look.
    needed = (1.96 / 0.02) ** 2 * {"same": 0.21, "independent": 0.105, "opposed": 0.06}[luck]
    assert 0.85 * needed < result.deals < 1.4 * max(needed, FIRST_LOOK)
    assert result.games == 2 * result.deals < told[-1][1] < 2 * 20_000
    # What it reports is what the blocks played report anyway.
    fixed = coin(luck, deals=result.deals)
    assert [row.to_json() for row in fixed.rows] == [row.to_json() for row in result.rows]
    assert fixed.stopping is None


def test_an_evaluation_that_may_not_play_long_enough_says_so():
    result = coin("same", deals=600, until_ci=0.001)
    assert result.deals == 600
    assert result.to_json()["stopping"] == {"until_ci": 0.001, "max_deals": 600, "looks": 3, "reached": False}
    # A few blocks are no reason to stop, however narrow the interval.
    assert coin("same", deals=5000, until_ci=0.9).deals == FIRST_LOOK


def test_stopping_of_a_cooperative_game_goes_by_the_score():
    game = get_game(COOPERATIVE[0])
    agents = [make_agent(game, name) for name in ("simple", "random")]
    result = evaluate(game, agents[0], agents[1:], num_players=1, options={}, deals=2000, seed=1, until_ci=0.7)
    assert result.stopping.reached
    assert result.main == result.rows[0].figures["score"]
    assert (result.main.high - result.main.low) / 2 <= 0.7
    assert result.games == 2 * result.deals < 4000


def test_deal_sets_are_public_and_nobody_else_plays_them():
    assert set(DEAL_SETS) == {"dev", "test"}
    sets = [set(deal_seeds(3000, 0, name)) for name in DEAL_SETS]
    sets += [set(deal_seeds(300, seed)) for seed in (0, 1, 2, 20261130)]
    assert sum(map(len, sets)) == len(set.union(*sets)) == 7200
    # What training and simulation deal.
    dealt = {derive_seed(seed, k) for seed in range(5) for k in range(1000)}
    for seed in (0, 1, 20261130):
        batch = LearnerBatch(GAME, 16, 2, {"rounds": 1}, opponents=[make_agent(GAME, "low")], seed=seed)
        masks = batch.reset(seed).masks
        for _ in range(60):
            masks = batch.step(np.argmax(masks, axis=1)).masks
            dealt |= {int(batch.position(i).record["seed"]) for i in range(16)}
    assert len(dealt) > 5100
    assert not dealt & set.union(*sets)
    assert deal_seeds(3, 5, "test") == deal_seeds(3, 6, "test")
    assert deal_seeds(3, 5) != deal_seeds(3, 6)


def test_a_deal_set_fixes_the_deals_and_is_named_in_the_report():
    one, other = (run("low", ["strong"], deal_set="test", seed=seed, deals=10) for seed in (3, 4))
    assert one.to_json()["figures"] == other.to_json()["figures"]
    assert one.to_json()["figures"] != run("low", ["strong"], deal_set="dev", deals=10).to_json()["figures"]
    report = one.to_json()
    assert report["deal_set"] == "test"
    assert report["deal_seeds"] == f"derive_seed(0, {DEAL_SETS['test']} + k), k = 0 .. deals - 1"
    assert "deal set test" in one.to_markdown()
    assert run("low", ["strong"]).to_json()["deal_set"] is None


@pytest.mark.parametrize("name", game_names())
def test_csv_has_every_figure_of_the_report(name):
    game = get_game(name)
    agents = [make_agent(game, rule) for rule in (agent_names(game)[1], "random")]
    result = evaluate(game, agents[0], agents[1:], num_players=game.max_players, options={}, deals=6, seed=1)
    report = json.loads(json.dumps(result.to_json()))
    lines = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert tuple(lines[0]) == CSV_COLUMNS
    expected = {}
    for table in ("figures", "difference"):
        for row in report[table]:
            expected |= {(table, row["role"], figure, ""): row[figure] for figure in list(row)[2:]}
    expected |= {("by_seat", "agent", "win_share", str(seat)): figure for seat, figure in enumerate(report["by_seat"])}
    for row in report["statistics"]:
        expected |= {("statistics", row["role"], figure, ""): value for figure, value in (row["means"] | row["rates"]).items()}
    assert len(lines) == len(expected)
    for line in lines:
        figure = expected[line["table"], line["role"], line["figure"], line["seat"]] or {"mean": "", "low": "", "high": ""}
        assert [line[key] for key in ("mean", "low", "high")] == [str(figure[key]) for key in ("mean", "low", "high")]
        quantiles = figure.get("quantiles", {})
        assert {key[1:]: float(line[key]) for key in line if key[0] == "q" and line[key]} == quantiles
        assert (line["game"], json.loads(line["options"])) == (game.id, report["options"])
        assert (line["players"], line["deals"], line["games"], line["seed"]) == (str(game.max_players), "6", str(result.games), "1")
    factors = {line["figure"]: float(line["variance_reduction"]) for line in lines if line["variance_reduction"]}
    assert factors == report["variance_reduction"]


def test_the_command_writes_every_format_and_stops_by_itself(tmp_path):
    paths = {kind: tmp_path / f"r.{kind}" for kind in ("json", "csv", "markdown")}
    files = [str(part) for kind, path in paths.items() for part in (f"--{kind}", path)]
    base = ["evaluate", "flotsam_fight", "--agents", "low,random", "-o", "rounds=1"]
    result = CliRunner().invoke(app, [*base, "--until-ci", "0.03", *files])
    assert result.exit_code == 0, result.output
    report = json.loads(paths["json"].read_text())
    assert report["stopping"]["reached"]
    assert report["deal_set"] == "dev"
    figure = report["figures"][0]["win_share"]
    assert (figure["high"] - figure["low"]) / 2 <= 0.03
    assert f"Narrow enough after {report['deals']:,} deals" in result.output
    assert next(csv.DictReader(io.StringIO(paths["csv"].read_text())))["mean"] == str(figure["mean"])
    assert "deal set dev" in paths["markdown"].read_text()
    assert CliRunner().invoke(app, [*base, "--seed", "7", "--deals", "5", *files]).exit_code == 0
    report = json.loads(paths["json"].read_text())
    assert (report["deal_set"], report["seed"], report["deals"], report["stopping"]) == (None, 7, 5, None)
    refused = CliRunner().invoke(app, [*base, "--deal-set", "secret", "--json", str(tmp_path / "none.json")])
    assert refused.exit_code == 2
    assert refused.stderr == "deckhand: deal_set cannot be 'secret'; the deal sets are: dev, test\n"
    assert not (tmp_path / "none.json").exists()


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
