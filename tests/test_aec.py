import copy
import pickle
import random
import sys
import tracemalloc
import warnings

import deckhand.envs
import numpy as np
import pytest
from deckhand.envs.core import IllegalAction, OptionError, ResetNeeded
from deckhand.envs.core.ansi import plain
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.conversions import aec_to_parallel

GAMES = deckhand.envs.game_names()


def play(env, rng, steps=None, observe=False):
    """Random legal actions; the sums of ``last()`` rewards, of ``rewards``, and the terminal ``last()`` calls, by agent."""
    flags = set()
    lasts = dict.fromkeys(env.possible_agents, 0.0)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    ends = dict.fromkeys(env.possible_agents, 0)
    for agent in env.agent_iter() if steps is None else env.agent_iter(steps):
        _, reward, terminated, truncated, _ = env.last(observe)
        lasts[agent] += reward
        over = terminated or truncated
        if over:
            flags.add((terminated, truncated))
        ends[agent] += over
        env.step(None if over else int(rng.choice(np.flatnonzero(env.action_masks()))))
        for other, paid in env.rewards.items():
            totals[other] += paid
    record = env.position.record
    assert flags <= {(bool(record["terminal"]), bool(record["truncated"]))}
    assert not flags & {(True, True)}
    return lasts, totals, ends


def counts(name):
    game = deckhand.envs.get_game(name)
    return sorted({game.min_players, game.max_players})


@pytest.mark.parametrize("name", GAMES)
def test_pettingzoo_kit(name, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in counts(name):
            api_test(deckhand.envs.make(name, n), num_cycles=20)
        seed_test(lambda: deckhand.envs.make(name), num_cycles=50)
        render_test(lambda render_mode: deckhand.envs.make(name, render_mode=render_mode), {"svg": lambda s: s.startswith("<svg")})


@pytest.mark.parametrize("name", GAMES)
def test_every_agent_ends_once_and_rewards_add_up(name):
    for n in counts(name):
        env = deckhand.envs.make(name, n)
        rng = np.random.default_rng(n)
        for seed in range(4):
            env.reset(seed=seed)
            lasts, totals, ends = play(env, rng)
            returns = env.position.outcome()["returns"]
            assert list(lasts.values()) == pytest.approx(returns, abs=1e-9)
            assert list(totals.values()) == pytest.approx(returns, abs=1e-9)
            assert set(ends.values()) == {1}
            assert env.agents == []


@pytest.mark.parametrize("name", GAMES)
def test_masks(name):
    for n in counts(name):
        env = deckhand.envs.make(name, n)
        env.reset(seed=5)
        rng = np.random.default_rng(0)
        for _ in range(60):
            legal = env.position.mask()
            assert legal.any()
            assert env.action_masks().dtype == bool
            for agent in env.agents:
                expected = legal if agent == env.agent_selection else np.zeros_like(legal)
                seen = env.observe(agent)
                for mask in (seen["action_mask"], env.infos[agent]["action_mask"]):
                    assert mask.dtype == np.int8
                    assert np.array_equal(mask, expected)
                assert env.observation_space(agent).contains(seen)
            env.step(int(rng.choice(np.flatnonzero(legal))))
            if env.terminations[env.agent_selection] or env.truncations[env.agent_selection]:
                assert not env.action_masks().any()
                assert not any(env.observe(a)["action_mask"].any() for a in env.agents)
                env.reset()


@pytest.mark.parametrize("name", GAMES)
def test_arrays_are_fresh(name):
    env = deckhand.envs.make(name)
    env.reset(seed=1)
    agent = env.agent_selection
    before, legal = env.position, env.action_masks()
    seen, *_, info = env.last()
    masks = (seen["action_mask"], info["action_mask"], env.action_masks(), env.infos[agent]["action_mask"])
    for array in (seen["observation"], *masks, env.position.states):
        array[...] = np.zeros((), array.dtype)
    assert env.position == before
    assert np.array_equal(env.action_masks(), legal)
    assert np.array_equal(env.last()[0]["action_mask"], legal)
    assert np.array_equal(env.last()[4]["action_mask"], legal)


@pytest.mark.parametrize("name", GAMES)
def test_copies_continue_equally(name):
    env = deckhand.envs.make(name, illegal="resample")
    env.reset(seed=3)
    play(env, np.random.default_rng(0), steps=7)
    copies = [copy.deepcopy(env), env.clone(), pickle.loads(pickle.dumps(env))]
    kept = env.position
    others = []
    for one in (env, *copies):
        assert one.position == kept
        rng = np.random.default_rng(1)
        trace = []
        for _ in range(40):
            # Also illegal actions: the replacement is drawn by a generator that is copied too.
            one.step(
                None
                if one.terminations[one.agent_selection] or one.truncations[one.agent_selection]
                else int(rng.integers(one.game.num_actions))
            )
            if not one.agents:
                one.reset()
            trace.append((one.position, one.agent_selection, dict(one.rewards), dict(one._cumulative_rewards)))
        others.append(trace)
    assert others[0] == others[1] == others[2] == others[3]
    assert others[0][-1][0] != kept


@pytest.mark.parametrize("name", GAMES)
def test_seeds(name):
    env, other = deckhand.envs.make(name), deckhand.envs.make(name)
    env.reset(seed=7)
    assert int(env.position.record["seed"]) == 7
    first = [env.position]
    for _ in range(3):
        env.reset()
        first.append(env.position)
    other.reset(seed=7)
    again = [other.position]
    for _ in range(3):
        other.reset()
        again.append(other.position)
    assert first == again
    assert len(set(first)) == 4
    unseeded = [deckhand.envs.make(name) for _ in range(2)]
    for one in unseeded:
        one.reset()
    assert unseeded[0].position != unseeded[1].position


@pytest.mark.parametrize("name", GAMES)
def test_global_generators_are_untouched(name):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    env = deckhand.envs.make(name, illegal="resample")
    env.reset()
    for action in range(20):
        if env.terminations[env.agent_selection]:
            env.reset()
        env.step(action)
    assert random.getstate() == before[0]
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def until_seat_moves(env, seat):
    rng = np.random.default_rng(seat)
    for seed in range(50):
        env.reset(seed=seed)
        while env.agents and not (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            if env.agent_selection == f"player_{seat}" and not env.action_masks().all():
                return
            env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
    raise AssertionError("the seat never moves")


@pytest.mark.parametrize("name", GAMES)
def test_illegal_actions(name):
    game = deckhand.envs.get_game(name)
    n = min(game.max_players, 3)
    for seat in range(n):
        env = deckhand.envs.make(name, n)
        until_seat_moves(env, seat)
        before, infos, rewards = env.position, copy.deepcopy(env.infos), dict(env.rewards)
        wrong = int(np.flatnonzero(~env.action_masks())[0])
        for action in (wrong, -1, game.num_actions, 0.5, "0", True, None):
            with pytest.raises(IllegalAction, match=f"illegal for player {seat}"):
                env.step(action)
        assert env.position == before
        assert env.rewards == rewards
        assert all(np.array_equal(env.infos[a]["action_mask"], infos[a]["action_mask"]) for a in env.agents)

        env = deckhand.envs.make(name, n, illegal="terminate")
        until_seat_moves(env, seat)
        cumulative = dict(env._cumulative_rewards)
        env.step(wrong)
        paid = {a: -1.0 if a == f"player_{seat}" else 0.0 for a in env.agents}
        assert env.rewards == paid
        assert all(env.terminations.values())
        assert not any(env.truncations.values())
        cumulative[f"player_{seat}"] = 0.0
        finals = {}
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            assert (terminated, truncated) == (True, False)
            assert not seen["action_mask"].any()
            finals[agent] = reward
            env.step(None)
        assert finals == {a: cumulative[a] + paid[a] for a in env.possible_agents}
        env.reset()
        assert len(env.agents) == n

        env = deckhand.envs.make(name, n, illegal="resample")
        until_seat_moves(env, seat)
        decisions = int(env.position.record["decisions"])
        env.step(wrong)
        assert int(env.position.record["decisions"]) == decisions + 1
        assert env.infos[f"player_{seat}"]["illegal_actions"] == 1
        assert sum(info["illegal_actions"] for info in env.infos.values()) == 1


@pytest.mark.parametrize("name", GAMES)
def test_order_of_calls(name):
    env = deckhand.envs.make(name)
    for call in (lambda: env.step(0), env.last, lambda: env.observe("player_0"), lambda: env.position):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    env.reset(seed=1)
    play(env, np.random.default_rng(0))
    for call in (lambda: env.step(None), env.last):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    with pytest.raises(OptionError, match="player_0"):
        env.observe("nobody")


def test_dead_agents_are_stepped_with_none():
    env = deckhand.envs.make("flotsam_fight", illegal="terminate")
    env.reset(seed=1)
    env.step(-1)
    with pytest.raises(ValueError, match="None"):
        env.step(0)


def test_loser_is_paid_on_the_move_of_another():
    env = deckhand.envs.make("flotsam_fight", 3, rounds=1, reward="game")
    rng = np.random.default_rng(0)
    for seed in range(5):
        env.reset(seed=seed)
        while not env.terminations[env.agent_selection]:
            mover = env.agent_selection
            env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        losers = [a for a in env.agents if env.rewards[a] < 0]
        finals = {}
        for agent in env.agent_iter():
            finals[agent] = env.last()[1]
            env.step(None)
        assert [a for a in losers if a != mover]
        assert all(finals[a] < 0 for a in losers)
        assert sum(finals.values()) == pytest.approx(0)


@pytest.mark.parametrize("name", GAMES)
def test_spaces_state_and_metadata(name):
    env = deckhand.envs.make(name)
    env.reset(seed=2)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
    assert env.state_space.contains(env.state())
    assert env.metadata["name"] == env.game.id
    with pytest.raises(AssertionError, match="is_parallelizable"):
        aec_to_parallel(env)
    module = pytest.importorskip(type(env.game).__module__.rpartition(".")[0])
    assert module.env(num_players=env.num_players).game is env.game
    assert module.raw_env().game is env.game


@pytest.mark.parametrize("name", GAMES)
def test_render_shows_only_what_the_seat_knows(name):
    n = deckhand.envs.get_game(name).max_players
    env = deckhand.envs.make(name, n, render_mode="ansi", render_seat=0)
    env.reset(seed=1)
    assert env.render() == env.position.view(0).ansi()
    assert env._repr_svg_() == env.position.view(0)._repr_svg_()


@pytest.mark.parametrize("name", GAMES)
def test_ansi_is_the_plain_text_with_styles(name):
    n = deckhand.envs.get_game(name).max_players
    for seat in (None, *range(n)):
        env = deckhand.envs.make(name, n, render_mode="ansi", render_seat=seat)
        env.reset(seed=1)
        for _ in range(30):
            if env.terminations[env.agent_selection] or env.truncations[env.agent_selection]:
                break
            text = env.render()
            shown = env.position if seat is None else env.position.view(seat)
            assert "\x1b[" in text
            assert "\x1b" not in str(shown)
            assert plain(text) == str(shown)
            env.step(int(np.flatnonzero(env.action_masks())[0]))


@pytest.mark.parametrize("terminal", [False, True])
def test_human_prints_styles_on_a_terminal_only(terminal, monkeypatch, capsys):
    env = deckhand.envs.make("keltis", render_mode="human")
    env.reset(seed=1)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert env.render() is None
    assert capsys.readouterr().out == f"{env.position.ansi() if terminal else env.position}\n"
    monkeypatch.setenv("NO_COLOR", "1")
    env.render()
    assert capsys.readouterr().out == f"{env.position}\n"


def test_bad_arguments():
    for wrong in (
        {"num_players": 99},
        {"illegal": "ignore"},
        {"illegal": np.array(["raise"] * 2)},
        {"render_mode": "gif"},
        {"render_seat": 9},
        {"render_seat": -1},
        {"render_seat": True},
        {"render_seat": 1.0},
        {"colour": 1},
    ):
        with pytest.raises(OptionError, match=str(next(iter(wrong)))):
            deckhand.envs.make("flotsam_fight", **wrong)
    env = deckhand.envs.make("flotsam_fight")
    for seed in (-1, 2**60, 1.5, "1", True):
        with pytest.raises(OptionError, match="seed"):
            env.reset(seed=seed)
    with pytest.raises(OptionError, match="rounds"):
        env.reset(options={"rounds": 2})
    with pytest.raises(OptionError, match="options of reset cannot be 5"):
        env.reset(options=5)
    env.reset(seed=1)
    for agent in ("player_9", [], None, 0):
        with pytest.raises(OptionError, match="the agents are player_0, player_1"):
            env.observe(agent)


def test_pettingzoo_registry():
    pettingzoo = pytest.importorskip("pettingzoo")
    if not hasattr(pettingzoo, "make"):
        pytest.skip("PettingZoo before 1.27")
    for name, game_id in deckhand.envs.game_ids().items():
        env = pettingzoo.make("aec", f"deckhand/{game_id}")
        assert env.game.name == name


def test_no_memory_growth():
    env = deckhand.envs.make("flotsam_fight", rounds=1)
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def games(n):
        for _ in range(n):
            env.reset()
            play(env, rng, observe=True)

    games(20)
    tracemalloc.start()
    games(20)
    before = tracemalloc.get_traced_memory()[0]
    games(100)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100_000
