"""The benchmark: what its report says of what was measured."""

import pytest
from deckhand.envs.core import get_game
from deckhand.train import bench


def test_evaluation_is_compared_with_the_batch_of_the_same_run(monkeypatch):
    monkeypatch.setattr(bench, "installed_peers", dict)
    monkeypatch.setattr(bench, "import_seconds", lambda: 0.1)
    for name in ("batch", "evaluation", "aec", "gymnasium", "clone"):
        # Every figure another one, so that no two can be mixed up.
        monkeypatch.setattr(bench, name, lambda game, n, name=name: lambda seconds: float(len(name)) + n)
    report = bench.run([get_game("flotsam_fight")], seconds=0.1, repeats=2, with_ppo=False)
    rows = {row["name"]: row for row in report["results"]}
    assert rows["flotsam_fight/evaluation"]["per_second"] == 12
    assert rows["flotsam_fight/evaluation"]["ratios"] == {"flotsam_fight/batch": 12 / 7}


@pytest.mark.needs_jit
@pytest.mark.parametrize("name", ["keltis", "alle_in_die_boote"])
def test_evaluation_counts_the_decisions_of_whole_evaluations(monkeypatch, name):
    played = []

    def evaluate(*args, **kwargs):
        played.append(real(*args, **kwargs))
        return played[-1]

    real = bench.evaluate
    monkeypatch.setattr(bench, "evaluate", evaluate)
    monkeypatch.setattr(bench, "EVALUATION_DEALS", 4)
    monkeypatch.setattr(bench, "counted", lambda run, seconds: run() + run())
    game = get_game(name)
    assert bench.evaluation(game, game.min_players)(1.0) == sum(found.decisions for found in played)
    assert [found.deals for found in played] == [4, 5]
    assert len({row.agent for found in played for row in found.rows}) == 1
