"""Tournaments and ratings: order does not matter, cycles are found, work is kept, the number of processes changes nothing."""

import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib.resources import files

import choix
import numpy as np
import pytest
import yaml
from deckhand.agents import make_agent
from deckhand.agents.policy import Card, save_policy
from deckhand.envs import get_game
from deckhand.envs.core import DeckhandError, RecordError
from deckhand.envs.core.rng import derive_seed
from deckhand.train import workers
from deckhand.train.cli import app
from deckhand.train.config import ConfigError, dump_config, load_kind, shipped_configs
from deckhand.train.ratings import VIRTUAL_GAMES, Rankings, plackett_luce
from deckhand.train.runs import RunFolder
from deckhand.train.simulation import Outcomes, play_games
from deckhand.train.standings import evaluate_games, standings
from deckhand.train.statistics import Figure
from deckhand.train.tournament import (
    TOURNAMENT_STREAM,
    Games,
    Player,
    TournamentConfig,
    load_games,
    plan_tables,
    plan_units,
    play_tournament,
)
from typer.testing import CliRunner

SCALE = 400 / np.log(10)
FILES = {
    *(".lock", "config.yaml", "versions.json", "agents.json", "agents.csv", "matrix.csv", "matrix.png"),
    *("alpharank.json", "tournament.md", "tournament.json"),
}


def make(**changes):
    values = {
        "name": "t",
        "game": "flotsam_fight",
        "players": 2,
        "options": {"rounds": 1},
        "agents": ["random", "low", "strong"],
        "deals": 12,
        "unit": 5,
        "workers": 1,
    }
    return TournamentConfig.model_validate(values | changes)


def run(parent, config):
    folder = RunFolder.create(parent, config).path
    play_tournament(config, folder)
    result = standings(config, folder)
    result.write(folder)
    return folder, result


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("runs"), make())


def planted(config, rng, strength, deals=200):
    """Games of two that are won with given chances, ``strength[i][j]`` for i against j."""
    agents, winners, numbers = [], [], []
    for i, j in itertools.combinations(range(len(config.agents)), 2):
        for deal in range(deals):
            for pair in ((i, j), (j, i)):
                first = rng.random() < strength[pair[0]][pair[1]]
                agents.append(pair)
                winners.append((first, not first))
                numbers.append(deal)
    won = np.array(winners)
    ones = np.ones(len(won), np.int64)
    outcomes = Outcomes(won.astype(np.int64), won, won * 2.0 - 1, ones == 0, ones, {}, {})
    return Games(np.array(agents), np.array(numbers), outcomes, 1.0)


# Ratings


def draw(rng, strengths, seats, games):
    """Rankings drawn from the model, as places."""
    agents = np.array([rng.permutation(len(strengths))[:seats] for _ in range(games)])
    noisy = np.asarray(strengths)[agents] + rng.gumbel(size=agents.shape)
    return Rankings(agents, np.argsort(np.argsort(-noisy, axis=1), axis=1), np.arange(games) // 2)


def means(rankings, agents, **settings):
    return np.array([figure.mean for figure in plackett_luce(rankings, agents, **({"resamples": 2} | settings))])


def test_ratings_are_those_of_choix_on_the_single_rankings():
    rankings = draw(np.random.default_rng(1), [1.0, 0.3, 0.0, -1.5], 3, 60)
    # The virtual games as all six orders of each table, and three times as much of everything so that their weights are whole.
    assert VIRTUAL_GAMES == 2
    order = np.argsort(rankings.places, axis=1)
    data = [tuple(row) for row in np.take_along_axis(rankings.agents, order, axis=1)] * 3
    for table in {tuple(sorted(row)) for row in rankings.agents.tolist()}:
        data += itertools.permutations(table)
    expected = choix.opt_rankings(4, data, alpha=0, tol=1e-10)
    assert means(rankings, 4) == pytest.approx((expected - expected.mean()) * SCALE, abs=1e-3)


def test_a_tie_is_the_mean_of_its_orders():
    def rate(*games):
        agents = np.tile(np.arange(3), (len(games), 1))
        return means(Rankings(agents, np.array(games), np.arange(len(games))), 3)

    assert rate((0, 1, 1), (0, 1, 1)) == pytest.approx(rate((0, 1, 2), (0, 2, 1)))
    assert rate((0, 0, 2), (0, 0, 2)) == pytest.approx(rate((0, 1, 2), (1, 0, 2)))
    assert rate((0, 0, 0)) == pytest.approx([0, 0, 0])


@pytest.mark.parametrize("seats", [2, 4])
def test_shuffled_games_have_the_same_ratings(seats):
    rng = np.random.default_rng(2)
    rankings = draw(rng, [2.0, 0.5, 0.0, -0.5, -2.0], seats, 150)
    rankings.places[::3] = np.minimum(rankings.places[::3], 1)
    order = rng.permutation(150)
    columns = np.array([rng.permutation(seats) for _ in order])
    shuffled = Rankings(
        np.take_along_axis(rankings.agents[order], columns, axis=1),
        np.take_along_axis(rankings.places[order], columns, axis=1),
        rankings.deals[order],
    )
    for one, other in zip(plackett_luce(rankings, 5, 20), plackett_luce(shuffled, 5, 20), strict=True):
        assert [one.mean, one.low, one.high] == pytest.approx([other.mean, other.low, other.high], abs=1e-6)


def test_intervals_cover_the_truth():
    truth = np.array([0.8, 0.0, -0.8])
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(25):
        for figure, value in zip(plackett_luce(draw(rng, truth, 3, 120), 3, 60), truth * SCALE, strict=True):
            covered += figure.low <= value <= figure.high
    # 95 % of 75 would be 71; 60 resamples make somewhat narrow intervals, and the three ratings of one draw are not independent.
    assert covered >= 62


def test_an_unbeaten_agent_has_a_finite_rating_and_an_interval():
    agents, places = np.tile([0, 1], (100, 1)), np.tile([0, 1], (100, 1))
    best, worst = plackett_luce(Rankings(agents, places, np.arange(100)), 2, 400)
    assert best.mean == pytest.approx(200 * np.log10(101))
    # Clopper and Pearson: at most 3.62 losses in 100 games are compatible with none.
    assert best.low == pytest.approx(200 * np.log10(96.4 / 3.62), rel=0.1)
    assert best.high > best.mean + 50
    assert (worst.low, worst.high) == pytest.approx((-best.high, -best.low))


def test_agents_that_nothing_connects_are_refused():
    agents = np.array([[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="connect"):
        plackett_luce(Rankings(agents, np.array([[0, 1], [0, 1]]), np.arange(2)), 4)


# Standings


def test_rock_paper_scissors_is_reported_as_a_cycle():
    config = make(agents={"rock": "low", "paper": "low", "scissors": "low", "gravel": "low"})
    beats = np.array([[0.5, 0.3, 0.7, 0.8], [0.7, 0.5, 0.3, 0.8], [0.3, 0.7, 0.5, 0.8], [0.2, 0.2, 0.2, 0.5]])
    result = evaluate_games(config, planted(config, np.random.default_rng(1), beats))
    (cycle,) = result.to_json()["cycles"]
    assert "".join(cycle["agents"]) in "rockscissorspaperrockscissorspaper"
    assert set(cycle["agents"]) == {"rock", "paper", "scissors"}
    for edge in cycle["edges"]:
        assert 0.5 < edge["low"] < 0.7 < edge["high"]
    assert "> rock" in result.to_markdown()
    assert result.names[-1] == "gravel"
    # Three equal agents: the model sees nothing of the cycle.
    assert all(abs(row.figures["rating"].mean) < 120 for row in result.rows[:3])


def test_what_chance_can_explain_is_no_cycle():
    config = make(agents={"rock": "low", "paper": "low", "scissors": "low"})
    beats = np.array([[0.5, 0.4, 0.6], [0.6, 0.5, 0.4], [0.4, 0.6, 0.5]])
    result = evaluate_games(config, planted(config, np.random.default_rng(1), beats, deals=10))
    assert result.cycles == []
    assert "No cycle" in result.to_markdown()
    in_line = np.array([[0.5, 0.8, 0.9], [0.2, 0.5, 0.8], [0.1, 0.2, 0.5]])
    result = evaluate_games(config, planted(config, np.random.default_rng(1), in_line))
    assert result.names == ["rock", "paper", "scissors"]
    assert result.cycles == []


def test_standings_do_not_depend_on_the_order_of_the_games():
    config = make(agents={"a": "low", "b": "low", "c": "low"})
    rng = np.random.default_rng(4)
    games = planted(config, rng, np.array([[0.5, 0.6, 0.9], [0.4, 0.5, 0.7], [0.1, 0.3, 0.5]]), deals=30)
    order = rng.permutation(len(games.agents))
    o = games.outcomes
    shuffled = Outcomes(o.scores[order], o.winners[order], o.returns[order], o.truncated[order], o.decisions[order], {}, {})
    one = evaluate_games(config, games)
    other = evaluate_games(config, Games(games.agents[order], games.deals[order], shuffled, 1.0))
    for row, same in zip(one.rows, other.rows, strict=True):
        assert row.name == same.name
        for name, figure in row.figures.items():
            assert figure.to_json() == pytest.approx(same.figures[name].to_json(), abs=1e-6)


CIRCLE = [[0.5, 0.2, 0.8], [0.8, 0.5, 0.2], [0.2, 0.8, 0.5]]
LINE = [[0.5, 0.7, 0.7], [0.3, 0.5, 0.7], [0.3, 0.3, 0.5]]


@pytest.mark.parametrize(("beats", "expected"), [(CIRCLE, [1 / 3, 1 / 3, 1 / 3]), (LINE, [1, 0, 0])], ids=["circle", "line"])
def test_alpha_rank_of_open_spiel_reads_the_export(beats, expected, tmp_path):
    alpharank = pytest.importorskip("open_spiel.python.egt.alpharank")
    config = make(agents={"a": "low", "b": "low", "c": "low"})
    result = evaluate_games(config, planted(config, np.random.default_rng(1), np.array(beats)))
    result.write(tmp_path)
    data = json.loads((tmp_path / "alpharank.json").read_text())
    tables = [np.array(table) for table in data["payoff_tables"]]
    found = dict(zip(data["agents"], alpharank.sweep_pi_vs_epsilon(tables), strict=True))
    assert found == pytest.approx(dict(zip("abc", expected, strict=True)), abs=0.01)


# Playing


def test_a_tournament_leaves_every_file(finished):
    folder, result = finished
    assert {path.name for path in folder.iterdir() if path.is_file()} == FILES
    assert (folder / "matrix.png").read_bytes().startswith(b"\x89PNG")
    assert load_kind(TournamentConfig, str(folder / "config.yaml")) == make()
    report = json.loads((folder / "tournament.json").read_text())
    assert report == result.to_json()
    assert list(report) == [
        *("schema", "name", "game", "players", "options", "protocol", "confidence", "seed", "deal_seeds", "deals", "unit", "tables"),
        *("games", "decisions", "truncated", "agents", "matrix", "cycles", "by_seat", "versions", "seconds"),
    ]
    assert report["schema"] == "deckhand/tournament/1"
    assert (report["games"], report["tables"]) == (3 * 12 * 2, {"played": 3, "of": 3})
    assert [row["rank"] for row in report["agents"]] == [1, 2, 3]
    assert sum(row["rating"]["mean"] for row in report["agents"]) == pytest.approx(0)
    assert report["agents"][-1]["name"] == "random"
    ratings = [row["rating"]["mean"] for row in report["agents"]]
    assert ratings == sorted(ratings, reverse=True)
    with (folder / "agents.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["rating"]) for row in rows] == pytest.approx(ratings)
    with (folder / "matrix.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6
    assert "![" in (folder / "tournament.md").read_text()


def test_the_matrix_counts_what_the_agents_won_on_the_stated_deals(finished):
    _, result = finished
    game = get_game("flotsam_fight")
    seeds = [int(derive_seed(make().seed, TOURNAMENT_STREAM + k)) for k in range(12) for _ in range(2)]
    agents = [make_agent(game, "low"), make_agent(game, "strong")]
    parts = play_games(game, agents, np.tile([[0, 1], [1, 0]], (12, 1)), options={"rounds": 1}, seeds=seeds, seed=0)
    shares = Outcomes.join(list(parts)).win_shares()
    low = shares[np.tile([[True, False], [False, True]], (12, 1))].mean()
    i, j = result.names.index("low"), result.names.index("strong")
    assert result.ahead[i][j].mean == pytest.approx(low)
    assert result.ahead[j][i].mean == pytest.approx(1 - low)
    assert result.ahead[i][i] is None


def test_copies_of_a_deterministic_agent_are_exactly_equal(tmp_path):
    _, result = run(tmp_path, make(agents={"one": "strong", "other": "strong"}))
    assert result.ahead[0][1] == Figure(0.5, 0.5, 0.5)
    assert all(row.figures["rating"].mean == pytest.approx(0, abs=1e-9) for row in result.rows)


def test_everybody_has_every_seat_of_every_deal(tmp_path):
    config = make(game="keltis", players=3, options={}, agents=dict.fromkeys("abcd", "greedy"), deals=6)
    folder, result = run(tmp_path, config)
    games = load_games(config, folder)
    seats = Counter((deal, agent, seat) for deal, row in zip(games.deals, games.agents, strict=True) for seat, agent in enumerate(row))
    # Four tables of three: everybody sits at three of them.
    assert set(seats.values()) == {3}
    assert len(seats) == 6 * 4 * 3
    left = Counter((row[s], row[s - 1]) for row in games.agents for s in range(3))
    assert len(left) == 12
    assert len(result.by_seat) == 3
    assert sum(figure.mean for figure in result.by_seat) == pytest.approx(1)


def test_all_tables_or_a_balanced_choice():
    config = make(game="keltis", players=4, options={}, agents=dict.fromkeys("abcdefgh", "greedy"))
    assert plan_tables(config) == list(itertools.combinations(range(8), 4))
    few = config.model_copy(update={"tables": 14})
    tables = plan_tables(few)
    assert len(set(tables)) == 14
    assert set(Counter(a for table in tables for a in table).values()) == {7}
    # 14 tables have 84 pairs, three for each of the 28.
    met = Counter(pair for table in tables for pair in itertools.combinations(table, 2))
    assert len(met) == 28
    assert max(met.values()) - min(met.values()) <= 2
    assert plan_tables(few) == tables
    assert plan_tables(few.model_copy(update={"seed": 1})) != tables


def test_pairs_that_never_met_are_left_open(tmp_path):
    config = make(game="keltis", players=3, options={}, agents=dict.fromkeys("abcde", "greedy"), tables=2, deals=2)
    folder, result = run(tmp_path, config)
    tables = plan_tables(config)
    met = {pair for table in tables for pair in itertools.permutations(table, 2)}
    names = list(config.agents)
    for (i, one), (j, other) in itertools.product(enumerate(result.names), repeat=2):
        assert (result.ahead[i][j] is None) == ((names.index(one), names.index(other)) not in met)
    assert not (folder / "alpharank.json").exists()
    assert json.loads((folder / "tournament.json").read_text())["tables"] == {"played": 2, "of": 10}


def test_cooperative_games_are_ranked_by_score(tmp_path):
    config = make(game="alle_in_die_boote", players=1, options={}, agents=["random", "simple", "strong"], deals=15)
    folder, result = run(tmp_path, config)
    report = json.loads((folder / "tournament.json").read_text())
    scores = [row["score"]["mean"] for row in report["agents"]]
    assert scores == sorted(scores, reverse=True)
    assert list(result.rows[0].figures) == ["score", "return", "win_rate"]
    games = load_games(config, folder)
    assert len(games.agents) == 45
    by_agent = {name: games.outcomes.scores[games.agents[:, 0] == i, 0] for i, name in enumerate(config.agents)}
    for row in result.rows:
        assert row.figures["score"].mean == pytest.approx(by_agent[row.name].mean())
    for (i, one), (j, other) in itertools.permutations(enumerate(result.names), 2):
        ahead = (np.sign(by_agent[one] - by_agent[other]) + 1).mean() / 2
        assert result.ahead[i][j].mean == pytest.approx(ahead)


def test_progress_counts_games_and_kept_units_are_not_played_again(tmp_path):
    config = make(agents=["random", "low"])
    folder = RunFolder.create(tmp_path, config).path
    told = []
    play_tournament(config, folder, lambda *what: told.append(what))
    assert [done for done, _, _ in told] == [10, 20, 24]
    assert told[-1][1] == 24
    assert "low" in told[-1][2]
    before = standings(config, folder).to_json()
    units = {path: path.stat().st_mtime_ns for path in (folder / "units").iterdir()}
    assert {path.name for path in units} == {unit.file for unit in plan_units(config)}
    gone, *kept = sorted(units)
    gone.unlink()
    told.clear()
    play_tournament(config, folder, lambda *what: told.append(what))
    assert [done for done, _, _ in told] == [24]
    assert all(path.stat().st_mtime_ns == units[path] for path in kept)
    after = standings(config, folder).to_json()
    del before["seconds"], after["seconds"]
    assert after == before


def test_damaged_units_are_named(tmp_path):
    config = make(agents=["random", "low"])
    folder = RunFolder.create(tmp_path, config).path
    play_tournament(config, folder)
    unit = folder / "units" / plan_units(config)[1].file
    unit.write_bytes(unit.read_bytes()[:-40])
    with pytest.raises(RecordError, match=unit.name):
        standings(config, folder)


DAMAGES = {
    "other shape": {"scores": np.zeros((10, 3), np.int64)},
    "other length": {"decisions": np.zeros(3, np.int64)},
    "unknown agents": {"agents": np.full((10, 2), 7)},
    "other deals": {"deals": np.arange(10)},
    "texts": {"returns": np.full((10, 2), "a")},
    "no truths": {"winners": np.ones((10, 2))},
}


@pytest.mark.parametrize("case", DAMAGES)
def test_units_of_other_games_are_named(case, finished, tmp_path):
    folder = tmp_path / "t"
    shutil.copytree(finished[0], folder)
    unit = folder / "units" / plan_units(make())[0].file
    with np.load(unit) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(unit, **arrays)
    assert load_games(make(), folder).agents.shape == (3 * 12 * 2, 2)
    np.savez_compressed(unit, **arrays | DAMAGES[case])
    with pytest.raises(RecordError, match=f"{unit.name} is missing or damaged .*delete it and resume"):
        load_games(make(), folder)


@pytest.mark.parametrize("text", ["garbage", "[]", "[1, 2, 3]", "{}", "null", "[" * 100_000, '[{"name": "low"}]'])
def test_damaged_lists_of_agents_are_named(text, finished, tmp_path):
    folder = tmp_path / "t"
    shutil.copytree(finished[0], folder)
    (folder / "agents.json").write_text(text)
    with pytest.raises(RecordError, match=r"agents\.json is damaged"):
        play_tournament(make(), folder)


def test_two_processes_cannot_play_in_one_folder(finished, tmp_path):
    folder = tmp_path / "t"
    shutil.copytree(finished[0], folder)
    draft = folder / "units" / ".draft-of-the-other"
    draft.touch()
    with RunFolder(folder).held(), pytest.raises(DeckhandError, match="is in use by another process"):
        play_tournament(make(), folder)
    assert draft.exists()
    play_tournament(make(), folder)
    assert not draft.exists()


def test_other_weights_are_refused(tmp_path):
    game = get_game("flotsam_fight")
    card = Card.for_game(game, [4], "relu")

    def save(seed):
        rng = np.random.default_rng(seed)
        shapes = [(4, game.layout.size), (game.num_actions, 4)]
        save_policy(tmp_path, [(rng.normal(size=s).astype(np.float32), np.zeros(s[0], np.float32)) for s in shapes], card)

    save(1)
    config = make(agents={"random": "random", "mine": str(tmp_path)}, deals=2)
    folder, result = run(tmp_path, config)
    (row,) = (row for row in result.rows if row.name == "mine")
    assert row.sha256 == make_agent(game, str(tmp_path)).card.weights_sha256
    play_tournament(config, folder)
    save(2)
    with pytest.raises(RecordError, match="other weights of 'mine'"):
        play_tournament(config, folder)


def start(*args):
    code = "from deckhand.train.cli import main; main()"
    return subprocess.Popen([sys.executable, "-c", code, "tournament", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_killed_tournament_goes_on_with_any_number_of_workers(tmp_path):
    config = make(agents=["random", "low", "flat(8)"], deals=40, unit=2, workers=2)
    file = tmp_path / "c.yaml"
    file.write_text(dump_config(config))
    process = start(file, "--out", tmp_path)
    units = tmp_path / "t-1" / "units"
    plan = {unit.file for unit in plan_units(config)}
    while len(list(units.glob("[0-9]*"))) < 3:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()  # returns when the workers, which hold the pipes too, have ended
    kept = {path: path.stat().st_mtime_ns for path in units.glob("[0-9]*")}
    assert 3 <= len(kept) < len(plan)
    assert {path.name for path in kept} <= plan
    result = CliRunner().invoke(app, ["tournament", "--resume", str(tmp_path / "t-1"), "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert all(path.stat().st_mtime_ns == modified for path, modified in kept.items())
    assert {path.name for path in units.iterdir()} == plan
    resumed = json.loads((tmp_path / "t-1" / "tournament.json").read_text())
    _, whole = run(tmp_path, config.model_copy(update={"workers": 1}))
    expected = whole.to_json()
    del resumed["seconds"], expected["seconds"]
    assert resumed == json.loads(json.dumps(expected))


def test_workers_end_at_once_and_without_a_word_on_ctrl_c():
    code = """
import os, signal, time
from multiprocessing import active_children
from deckhand.train import workers
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
try:
    with workers.worker_pool(2) as pool:
        for moment in (0, 0.5):  # while they start, and while they wait
            time.sleep(moment)
            for child in active_children():
                os.kill(child.pid, signal.SIGINT)
            assert pool.submit(int).result() == 0
        for _ in range(8):
            pool.submit(time.sleep, 100)
        print("started", flush=True)
        time.sleep(100)
except KeyboardInterrupt:
    print("aborted")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "started\n", process.stderr.read()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    # Returns when the workers, which hold the pipes too, have ended.
    assert process.communicate(timeout=60) == ("aborted\n", "")
    assert process.returncode == 0


def test_a_worker_that_ends_early_is_one_clear_error():
    with pytest.raises(DeckhandError, match=r"^a worker process ended before its work was done$"), workers.worker_pool(1) as pool:
        pool.submit(os._exit, 1).result()


def test_units_do_not_depend_on_what_was_played_before(tmp_path):
    config = make(agents=["random", "flat(4)"], deals=4, unit=2)
    first, second = plan_units(config)

    def games(name, *units):
        folder = tmp_path / name
        folder.mkdir()
        player = Player(config, folder)
        for unit in units:
            player.play(unit)
        with np.load(folder / second.file) as data:
            return {key: data[key].tolist() for key in data.files if key != "seconds"}

    assert games("alone", second) == games("after", first, second)


# Configurations and the command


@pytest.mark.parametrize("name", shipped_configs(TournamentConfig))
def test_shipped_configs_are_valid_and_survive_being_written(name, tmp_path):
    config = load_kind(TournamentConfig, name)
    assert config.name == name
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    assert load_kind(TournamentConfig, str(path)) == config


def test_the_shipped_config_explains_every_key():
    text = files("deckhand.configs").joinpath("tournament_flotsam.yaml").read_text()
    for key in TournamentConfig.model_fields:
        assert f"# {key}: " in text
        assert key in yaml.safe_load(text)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("agent=[low]", ["agent: unknown key", "agents"]),
        ("agents=[low]", ["agents", "at least 2"]),
        ("agents=[low, lo]", ["agents", "unknown agent 'lo'"]),
        ("agents=[low, low]", ["agents", "low stands twice"]),
        ("agents=[[low], random]", ["agents", "texts"]),
        ("agents=[{a: 1}, random]", ["agents", "texts"]),
        ("agents={a: low, b: 3}", ["agents.b", "3", "string"]),
        ("players=3", ["agents", "3 players need as many different agents, not 2"]),
        ("players=7", ["players", "7", "2 to 6"]),
        ("game=chess", ["game", "chess", "flotsam_fight"]),
        ("options.round=1", ["options", "round"]),
        ("deals=1", ["deals", "1", "2"]),
        ("deals=1000000000000", ["deals", "1000000000000", "10000000"]),
        ("workers=0", ["workers", "0"]),
        ("unit=0", ["unit", "0"]),
        ("seed=-1", ["seed", "-1"]),
    ],
)
def test_errors_name_the_key(override, words, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(dump_config(make(agents=["low", "random"])))
    with pytest.raises(ConfigError) as error:
        load_kind(TournamentConfig, str(path), [override])
    assert "\n" not in str(error.value)
    for word in (str(path), *words):
        assert word in str(error.value)


def test_too_few_tables_are_refused(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(dump_config(make(agents=dict.fromkeys("abcdef", "low"), players=3)))
    with pytest.raises(ConfigError, match="tables cannot be 2: so few do not bring all 6 agents together"):
        load_kind(TournamentConfig, str(path), ["tables=2"])


def test_the_command_plays_resumes_and_refuses(tmp_path):
    file = tmp_path / "small.yaml"
    values = make(agents=["random", "low"], deals=4).model_dump()
    del values["name"]
    file.write_text(yaml.safe_dump(values))

    def call(*args):
        result = CliRunner().invoke(app, ["tournament", *map(str, args)])
        return result.exit_code, result.stdout, result.stderr

    code, out, _ = call(file, "--out", tmp_path / "runs")
    assert code == 0
    assert "low" in out
    folder = tmp_path / "runs" / "small-1"
    assert {path.name for path in folder.iterdir() if path.is_file()} == FILES
    assert call("--resume", folder)[0] == 0
    assert call("--resume", folder, "--workers", 3)[0] == 0
    assert load_kind(TournamentConfig, str(folder / "config.yaml")) == load_kind(
        TournamentConfig, str(file), [f"runs={tmp_path / 'runs'}", "workers=3"]
    )
    for args, words in [
        ((), "name a config"),
        (("--resume", folder, "--deals", "5"), "leave out deals=5; only workers can change"),
        ((file, "--resume", folder), f"goes on with its own config: leave out {file}"),
        (("--resume", tmp_path), "is no run folder"),
        (("nothing",), "tournament_flotsam"),
        (("--resume", folder, "--workers", "0"), "workers cannot be 0"),
    ]:
        code, out, error = call(*args)
        assert code in (1, 2)
        assert (out, error.count("\n")) == ("", 1)
        assert words in error
