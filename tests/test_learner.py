import copy
import pickle
import random

import deckhand.envs
import gymnasium
import numpy as np
import pytest
from deckhand.agents.gym import make_learner_env
from deckhand.envs import LearnerBatch, LearnerEnv
from deckhand.envs.core import IllegalAction, OptionError, ResetNeeded
from deckhand.envs.core.agent import Agent, RandomAgent
from gymnasium.utils.env_checker import check_env
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.env_checker import check_env as sb3_check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

GAMES = deckhand.envs.game_names()
COMPETITIVE = [name for name in GAMES if not deckhand.envs.get_game(name).cooperative]


class FirstAgent(Agent):
    """Plays the first legal action: no randomness, so games do not depend on what else is played."""

    name = "first"
    sees_observations = False
    sees_views = False

    def act(self, turns):
        return turns.masks.argmax(axis=1)


class LastAgent(FirstAgent):
    name = "last"

    def act(self, turns):
        return turns.masks.shape[1] - 1 - turns.masks[:, ::-1].argmax(axis=1)


def pick(masks, rng):
    """A random legal action a row."""
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in np.atleast_2d(masks)])


def counts(name):
    game = deckhand.envs.get_game(name)
    return sorted({game.min_players, game.max_players})


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_checkers(name, observation):
    for n in counts(name):
        env_id = f"deckhand/{deckhand.envs.get_game(name).id}"
        env = gymnasium.make(env_id, num_players=n, illegal="resample", observation=observation, render_mode="rgb_array")
        check_env(env.unwrapped)
        if observation == "flat":
            sb3_check_env(env.unwrapped)


@pytest.mark.parametrize("name", GAMES)
def test_rewards_add_up_for_every_seat(name):
    for n in counts(name):
        for seat in range(n):
            env = LearnerEnv(name, n, opponents=[FirstAgent(), RandomAgent(deckhand.envs.get_game(name))], seat=seat)
            rng = np.random.default_rng(seat)
            for seed in range(2):
                _, info = env.reset(seed=seed)
                total, terminated, truncated = 0.0, False, False
                while not (terminated or truncated):
                    assert info["seat"] == seat
                    assert env.position.to_move == seat
                    assert set(info) == {"action_mask", "seat", "illegal_actions"}
                    assert info["action_mask"].dtype == np.int8
                    assert np.array_equal(info["action_mask"], env.action_masks())
                    _, reward, terminated, truncated, info = env.step(pick(env.action_masks(), rng)[0])
                    total += reward
                outcome = env.position.outcome()
                assert total == pytest.approx(outcome["returns"][seat])
                assert terminated != truncated
                assert truncated == outcome["truncated"]
                assert {"scores", "winners", "returns"} <= set(info)
                assert info["winners"] == outcome["winners"]
                assert not env.action_masks().any()
                with pytest.raises(ResetNeeded):
                    env.step(0)


def test_loss_on_the_move_of_another_arrives():
    env = LearnerEnv("flotsam_fight", 2, opponents=[FirstAgent()], seat=0, rounds=1, reward="game")
    losses = 0
    for seed in range(20):
        env.reset(seed=seed)
        over = False
        while not over:
            # The last action is to pass, so it is the opponent who goes out.
            action = np.flatnonzero(env.action_masks())[-1]
            _, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        if info["winners"] == [1]:
            assert env.position.record["hand_size"][1] == 0
            assert reward == -1
            losses += 1
    assert losses


@pytest.mark.parametrize("name", GAMES)
def test_illegal_actions(name):
    for n in counts(name):
        for seat in range(n):
            env = LearnerEnv(name, n, opponents=[FirstAgent()], seat=seat)
            env.reset(seed=4)
            before, masks = env.position, env.action_masks()
            wrong = int(np.flatnonzero(~masks)[0])
            for action in (wrong, -1, env.game.num_actions, 0.5, "x", None):
                with pytest.raises(IllegalAction, match=f"illegal for player {seat}"):
                    env.step(action)
            assert env.position == before

            env = LearnerEnv(name, n, opponents=[FirstAgent()], seat=seat, illegal="terminate")
            env.reset(seed=4)
            _, reward, terminated, truncated, info = env.step(wrong)
            assert (terminated, truncated) == (True, False)
            assert reward == env.position.outcome()["returns"][seat]
            assert reward - before.outcome()["returns"][seat] == -1
            assert info["illegal_actions"] == 1
            assert info["winners"] == []
            env.reset()
            assert env.action_masks().any()

            env = LearnerEnv(name, n, opponents=[FirstAgent()], seat=seat, illegal="resample")
            traces = []
            for _ in range(2):
                env.reset(seed=4)
                *_, info = env.step("nonsense")
                assert info["illegal_actions"] == 1
                traces.append(env.position)
            assert traces[0] == traces[1]
            assert traces[0] != before


@pytest.mark.parametrize("name", GAMES)
def test_copies_continue_equally(name):
    env = LearnerEnv(name, deckhand.envs.get_game(name).max_players, illegal="resample")
    env.reset(seed=2)
    rng = np.random.default_rng(0)
    for _ in range(3):
        if env.step(pick(env.action_masks(), rng)[0])[2]:
            env.reset()
    traces = []
    for one in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env):
        rng = np.random.default_rng(1)
        trace = []
        for _ in range(40):
            seen, reward, terminated, truncated, info = one.step(int(rng.integers(one.game.num_actions)))
            trace.append((seen.tobytes(), reward, info["action_mask"].tobytes(), one.position))
            if terminated or truncated:
                trace.append(one.reset()[0].tobytes())
        traces.append(trace)
    assert traces[0] == traces[1] == traces[2]


@pytest.mark.parametrize("name", GAMES)
def test_seeds(name):
    env, other = LearnerEnv(name), LearnerEnv(name)
    rng = np.random.default_rng(0)

    def games(one, seed):
        one.reset(seed=seed)
        found = [one.position]
        for _ in range(3):
            one.reset()
            found.append(one.position)
        return found

    first = games(env, 9)
    env.step(pick(env.action_masks(), rng)[0])
    assert first == games(env, 9) == games(other, 9)
    assert len(set(first)) == 4
    # Not by luck: a single learner's first game is dealt from the seed itself.
    env.reset(seed=9)
    record = env.position.record
    assert int(record["seed"]) == 9 or env.num_players > 1
    fresh = [LearnerEnv(name), LearnerEnv(name)]
    assert fresh[0].reset()[0].tobytes() != fresh[1].reset()[0].tobytes() or fresh[0].position != fresh[1].position


@pytest.mark.parametrize("name", GAMES)
def test_interleaved_environments_do_not_disturb_each_other(name):
    def trace(env, rng):
        return [env.step(pick(env.action_masks(), rng)[0])[0].tobytes()] if env.action_masks().any() else [env.reset()[0].tobytes()]

    alone = LearnerEnv(name)
    alone.reset(seed=1)
    rng = np.random.default_rng(0)
    expected = [trace(alone, rng) for _ in range(30)]
    one, two = LearnerEnv(name), LearnerEnv(name)
    one.reset(seed=1)
    two.reset(seed=2)
    rng, rng2 = np.random.default_rng(0), np.random.default_rng(5)
    state = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    seen = []
    for _ in range(30):
        seen.append(trace(one, rng))
        trace(two, rng2)
    assert seen == expected
    assert random.getstate() == state[0]
    assert np.array_equal(np.random.get_state()[1], state[1])  # noqa: NPY002


@pytest.mark.parametrize("name", GAMES)
def test_masks_through_vector_environments(name):
    def build():
        return Monitor(LearnerEnv(name))

    alone = [LearnerEnv(name), LearnerEnv(name)]
    for kind in (DummyVecEnv, SubprocVecEnv):
        venv = kind([build, build]) if kind is DummyVecEnv else kind([build, build], start_method="fork")
        venv.seed(11)
        venv.reset()
        for i, env in enumerate(alone):
            env.reset(seed=11 + i)
        rng = np.random.default_rng(0)
        for _ in range(5):
            masks = get_action_masks(venv)
            assert masks.dtype == bool
            assert np.array_equal(masks, [env.action_masks() for env in alone])
            actions = pick(masks, rng)
            venv.step(actions)
            for env, action in zip(alone, actions, strict=True):
                if any(env.step(action)[2:4]):
                    env.reset()
        venv.close()


@pytest.mark.parametrize("name", GAMES)
def test_dict_observation_is_the_flat_one_in_pieces(name):
    flat, pieces = LearnerEnv(name), LearnerEnv(name, observation="dict")
    one, _ = flat.reset(seed=1)
    two, _ = pieces.reset(seed=1)
    assert np.array_equal(one, np.concatenate([two[p.name].ravel() for p in flat.game.layout.pieces]))
    assert pieces.observation_space.contains(two)


@pytest.mark.parametrize("name", GAMES)
def test_render_shows_what_the_learner_knows(name):
    n = deckhand.envs.get_game(name).max_players
    for mode, kind in (("ansi", str), ("svg", str), ("rgb_array", np.ndarray)):
        env = LearnerEnv(name, n, opponents=[FirstAgent()], seat=0, render_mode=mode)
        env.reset(seed=1)
        assert isinstance(env.render(), kind)
        if mode == "ansi":
            assert env.render() == env.position.view(0).ansi()


@pytest.mark.parametrize("name", COMPETITIVE)
def test_opponents_by_name(name):
    env = gymnasium.make(f"deckhand/{deckhand.envs.get_game(name).id}", opponents=["random", "random"], weights=[1, 3], num_players=2)
    env.reset(seed=1)
    assert env.get_wrapper_attr("action_masks")().any()
    with pytest.raises(OptionError, match="nobody"):
        make_learner_env(name, opponents="nobody")


def test_bad_arguments():
    for wrong in (
        {"num_players": 99},
        {"seat": 2},
        {"illegal": "ignore"},
        {"observation": "image"},
        {"render_mode": "gif"},
        {"opponents": []},
        {"opponents": "low"},
        {"weights": [1, 2]},
        {"weights": [-1]},
        {"weights": ["a"]},
        {"weights": [[1], [2, 3]]},
        {"weights": 5},
        {"opponents": 5},
        {"opponents": [5]},
        {"seat": True},
        {"seat": 0.0},
        {"seat": -1},
        {"illegal": np.array(["raise", "terminate"])},
        {"observation": ["flat"]},
        {"colour": 1},
    ):
        with pytest.raises(OptionError, match=str(next(iter(wrong)))):
            LearnerEnv("flotsam_fight", **wrong)
    env = LearnerEnv("flotsam_fight")
    for early in (lambda: env.step(0), lambda: env.position, env.render, env._repr_svg_):
        with pytest.raises(ResetNeeded):
            early()
    for wrong in (None, 5, "low", [None]):
        with pytest.raises(OptionError, match="opponents"):
            env.set_opponents(wrong)
    with pytest.raises(OptionError, match="opponents"):
        make_learner_env("flotsam_fight", opponents=5)
    with pytest.raises(OptionError, match="game cannot be 'flotsam_fight'"):
        LearnerBatch("flotsam_fight", 2)
    for wrong in (5, [], "rounds"):
        with pytest.raises(OptionError, match="options of reset cannot be"):
            env.reset(options=wrong)
    with pytest.raises(OptionError, match="seed"):
        env.reset(seed=-1)
    with pytest.raises(OptionError, match="rounds"):
        env.reset(options={"rounds": 1})


def test_opponents_of_another_game_are_refused():
    other = RandomAgent(deckhand.envs.get_game("keltis"))
    with pytest.raises(OptionError, match=r"'random': it plays Keltis-v0, not FlotsamFight-v0"):
        LearnerEnv("flotsam_fight", opponents=[FirstAgent(), other])
    env = LearnerEnv("flotsam_fight", seat=np.int64(1))
    with pytest.raises(OptionError, match="Keltis-v0"):
        env.set_opponents([other])
    env.set_opponents((FirstAgent(), RandomAgent(env.game)))
    assert env.reset(seed=1)[1]["seat"] == 1


@pytest.mark.parametrize("name", GAMES)
def test_batch_episodes(name):
    game = deckhand.envs.get_game(name)
    batch = LearnerBatch(game, 6, counts(name), opponents=[FirstAgent(), LastAgent()], seed=3)
    step = batch.reset()
    rng = np.random.default_rng(0)
    earned, lengths, seen = np.zeros(6), np.zeros(6, int), 0
    while seen < 12:
        assert step.masks.any(axis=1).all()
        for i in range(6):
            position = batch.position(i)
            assert position.to_move == batch.seats[i] or game.cooperative
            assert np.array_equal(step.observations[i], position.observation(position.to_move))
            assert np.array_equal(step.masks[i], position.mask())
        step = batch.step(pick(step.masks, rng))
        earned += step.rewards
        lengths += 1
        over = step.terminated | step.truncated
        assert not (step.terminated & step.truncated).any()
        assert sorted(step.episodes.rows) == np.flatnonzero(over).tolist()
        for k, i in enumerate(step.episodes.rows):
            seat = step.episodes.seats[k]
            assert earned[i] == pytest.approx(step.episodes.learner_returns[k])
            assert earned[i] == pytest.approx(step.episodes.returns[k, seat])
            assert lengths[i] == step.episodes.lengths[k]
            assert step.episodes.won[k] == step.episodes.winners[k, seat]
            assert step.episodes.players[k] == counts(name)[i % len(counts(name))]
            seen += 1
        earned[over] = 0
        lengths[over] = 0


def test_seats_and_opponents_are_drawn_as_told():
    game = deckhand.envs.get_game("flotsam_fight")
    first, last = FirstAgent(), LastAgent()
    batch = LearnerBatch(game, 600, 3, {"rounds": 1}, opponents=[first, last], weights=[3, 1], seed=0)
    batch.reset()
    assert np.all(np.abs(np.bincount(batch.seats) - 200) < 60)
    shares = np.bincount(batch._controllers[batch._controllers >= 0]) / 1200
    assert shares == pytest.approx([0.75, 0.25], abs=0.06)
    fixed = LearnerBatch(game, 5, 3, opponents=[first], seat=2)
    fixed.reset()
    assert fixed.seats.tolist() == [2] * 5


def test_new_opponents_play_from_the_next_episode_on():
    class Counting(FirstAgent):
        def __init__(self):
            self.turns = 0
            self.seeds = []

        def reset(self, seed):
            self.seeds.append(seed)

        def act(self, turns):
            self.turns += len(turns)
            return super().act(turns)

    game = deckhand.envs.get_game("flotsam_fight")
    old, new = Counting(), Counting()
    batch = LearnerBatch(game, 4, 2, {"rounds": 1}, opponents=[old], seed=1)
    step = batch.reset()
    batch.set_opponents([new])
    assert len(old.seeds) == len(new.seeds) == 1
    assert old.seeds != new.seeds
    rng = np.random.default_rng(0)
    finished = np.zeros(4, bool)
    turns = new.turns
    while not finished.all():
        before = old.turns
        step = batch.step(pick(step.masks, rng))
        finished |= step.terminated | step.truncated
        if not finished.any():
            assert new.turns == turns
        if finished.all():
            break
        assert old.turns >= before
    before = old.turns
    for _ in range(30):
        step = batch.step(pick(step.masks, rng))
    assert old.turns == before
    assert new.turns > turns
    batch.set_opponents([new])
    assert batch.agents == [new]


def test_batch_refuses_illegal_actions_and_changes_nothing():
    game = deckhand.envs.get_game("flotsam_fight")
    batch = LearnerBatch(game, 3, 2, seed=1)
    for early in (lambda: batch.step([0, 0, 0]), lambda: batch.position(0), lambda: batch.view(0), lambda: batch.turns(FirstAgent())):
        with pytest.raises(ResetNeeded):
            early()
    step = batch.reset()
    before = [batch.position(i) for i in range(3)]
    actions = step.masks.argmax(axis=1)
    actions[1] = step.masks[1].argmin()
    with pytest.raises(IllegalAction, match="game 1"):
        batch.step(actions)
    assert [batch.position(i) for i in range(3)] == before
    for wrong in (actions[:2], actions.astype(float)):
        with pytest.raises(OptionError, match="3 integers"):
            batch.step(wrong)
    step.masks[:] = True
    step.observations[:] = 0
    with pytest.raises(IllegalAction):
        batch.step(actions)


def test_batch_refuses_an_illegal_opponent():
    class Cheat(FirstAgent):
        name = "cheat"

        def act(self, turns):
            return turns.masks.argmin(axis=1)

    # Among 20 games the opponent begins in some.
    batch = LearnerBatch(deckhand.envs.get_game("flotsam_fight"), 20, 2, opponents=[Cheat()], seat=0)
    with pytest.raises(IllegalAction, match="opponent cheat"):
        batch.reset()


@pytest.mark.parametrize("name", [name for name in GAMES if name not in COMPETITIVE])
def test_learner_plays_every_seat_of_a_cooperative_game(name):
    game = deckhand.envs.get_game(name)
    env = LearnerEnv(name, game.max_players)
    seats = set()
    rng = np.random.default_rng(0)
    env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        seats.add(env.position.to_move)
        assert np.array_equal(env.action_masks(), env.position.mask())
        _, reward, terminated, truncated, info = env.step(pick(env.action_masks(), rng)[0])
        total += reward
        over = terminated or truncated
    assert len(seats) > 1
    assert total == pytest.approx(info["returns"][0])
