import copy
import pickle
import subprocess
import sys
import tracemalloc

import deckhand.envs
import gymnasium
import numpy as np
import pytest
from deckhand.envs import DeckhandVectorEnv, LearnerBatch, LearnerEnv
from deckhand.envs.core import IllegalAction, OptionError, ResetNeeded
from deckhand.envs.sb3 import Sb3VecEnv
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from test_learner import FirstAgent, pick

GAMES = deckhand.envs.game_names()


def single_transitions(name, n, seed, steps, rng, mode):
    """What a vector environment with one row must show, from a single environment."""
    env = LearnerEnv(name, n, opponents=[FirstAgent()])
    seen, info = env.reset(seed=seed)
    over, found = False, []
    for _ in range(steps):
        if over and mode is AutoresetMode.NEXT_STEP:
            seen, info = env.reset()
            found.append((seen.tobytes(), info["action_mask"].tobytes(), 0.0, False, False))
            over = False
            continue
        seen, reward, terminated, truncated, info = env.step(pick(info["action_mask"], rng)[0])
        over = terminated or truncated
        if over and mode is AutoresetMode.SAME_STEP:
            final = seen.tobytes(), info["scores"], info["returns"], info["winners"]
            seen, info = env.reset()
            found.append((seen.tobytes(), info["action_mask"].tobytes(), reward, terminated, truncated, *final))
        else:
            found.append((seen.tobytes(), info["action_mask"].tobytes(), reward, terminated, truncated))
    return found


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_vector_equals_single(name, mode):
    n = deckhand.envs.get_game(name).max_players
    rows, steps = 3, 400
    env = DeckhandVectorEnv(name, rows, n, opponents=[FirstAgent()], autoreset_mode=mode)
    seen, infos = env.reset(seed=6)
    rngs = [np.random.default_rng(i) for i in range(rows)]
    found = [[] for _ in range(rows)]
    for _ in range(steps):
        # Where a game is over, NEXT_STEP ignores the action.
        actions = np.array([pick(m, rng)[0] if m.any() else 0 for m, rng in zip(infos["action_mask"], rngs, strict=True)])
        seen, rewards, terminated, truncated, infos = env.step(actions)
        over = terminated | truncated
        assert np.array_equal(env.action_masks(), infos["action_mask"])
        for i in range(rows):
            row = [seen[i].tobytes(), infos["action_mask"][i].tobytes(), rewards[i], terminated[i], truncated[i]]
            if over[i] and mode is AutoresetMode.SAME_STEP:
                assert infos["_final_obs"][i]
                assert infos["_final_info"][i]
                final = infos["final_info"]
                row += [infos["final_obs"][i].tobytes(), final["scores"][i], final["returns"][i], final["winners"][i]]
            elif over[i]:
                assert infos["_scores"][i]
                assert infos["scores"][i]
            found[i].append(tuple(row))
        if mode is AutoresetMode.SAME_STEP:
            assert np.array_equal(infos.get("_final_obs", np.zeros(rows, bool)), over)
    for i in range(rows):
        rng = np.random.default_rng(i)
        assert found[i] == single_transitions(name, n, int(env.batch.seeds[i]), steps, rng, mode)
    assert sum(row[3] or row[4] for rows_ in found for row in rows_) > 0


@pytest.mark.parametrize("name", GAMES)
def test_make_vec(name):
    env = gymnasium.make_vec(f"deckhand/{deckhand.envs.get_game(name).id}", num_envs=3, illegal="resample", render_mode="ansi")
    assert isinstance(env, DeckhandVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    seen, infos = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert infos["action_mask"].dtype == np.int8
    assert env.action_masks().dtype == bool
    env.action_space.seed(0)
    for _ in range(20):
        seen, rewards, terminated, truncated, infos = env.step(env.action_space.sample())
        assert env.observation_space.contains(seen)
        assert rewards.shape == terminated.shape == truncated.shape == (3,)
    assert len(env.render()) == 3
    again, _ = env.reset(seed=[5, 5, 6])
    assert again[0].tobytes() == again[1].tobytes()
    with pytest.raises(OptionError, match="seed"):
        env.reset(seed=[1])


@pytest.mark.parametrize("name", GAMES)
def test_resets_continue_the_stream(name):
    env = DeckhandVectorEnv(name, 4)
    first = [env.reset(seed=3)[0], env.reset()[0]]
    again = [env.reset(seed=3)[0], env.reset()[0]]
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0], first[1])


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_terminate(name, mode):
    env = DeckhandVectorEnv(name, 2, illegal="terminate", autoreset_mode=mode)
    _, infos = env.reset(seed=1)
    actions = infos["action_mask"].argmax(axis=1)
    actions[1] = -1
    _, _, terminated, truncated, infos = env.step(actions)
    assert terminated[1]
    assert not truncated[1]
    count = infos["final_info"]["illegal_actions"] if mode is AutoresetMode.SAME_STEP else infos["illegal_actions"]
    assert count[1] == 1


def test_bad_arguments():
    for wrong in ({"num_envs": 0}, {"num_players": 9}, {"autoreset_mode": "Disabled"}, {"autoreset_mode": "x"}, {"colour": 1}, {"seat": 5}):
        with pytest.raises(OptionError):
            DeckhandVectorEnv("flotsam_fight", **wrong)
    env = DeckhandVectorEnv("flotsam_fight", 2, render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.render()
    for seed in (-1, 2**60, 1.5, True, [1], [1, -1], "1"):
        with pytest.raises(OptionError, match="seed"):
            env.reset(seed=seed)
    # A refused seed is none: the next reset asks the system, not the batch's default.
    assert env.reset()[0].tobytes() != DeckhandVectorEnv("flotsam_fight", 2).batch.reset().observations.tobytes()
    with pytest.raises(OptionError, match="options of reset cannot be 5"):
        env.reset(options=5)
    for options in ({"reset_mask": np.ones(2, bool)}, {"rounds": 1}):
        with pytest.raises(OptionError, match=next(iter(options))):
            env.reset(options=options)
    env.reset(seed=1)
    with pytest.raises(IllegalAction):
        env.step([-1, -1])


@pytest.mark.parametrize("name", GAMES)
def test_sb3_vec_env(name):
    game = deckhand.envs.get_game(name)
    venv = Sb3VecEnv(LearnerBatch(game, 4, opponents=[FirstAgent()], seed=2))
    twin = DeckhandVectorEnv(name, 4, opponents=[FirstAgent()])
    venv.seed(8)
    seen, (expected, _) = venv.reset(), twin.reset(seed=8)
    assert np.array_equal(seen, expected)
    assert is_masking_supported(venv)
    assert not venv.has_attr("nothing")
    rng = np.random.default_rng(0)
    ended, earned = 0, np.zeros(4)
    while ended < 8:
        masks = get_action_masks(venv)
        assert masks.dtype == bool
        assert np.array_equal(masks, twin.action_masks())
        assert np.array_equal(venv.env_method("action_masks", indices=[2])[0], masks[2])
        actions = pick(masks, rng)
        seen, rewards, dones, infos = venv.step(actions)
        other = twin.step(actions)
        assert np.array_equal(seen, other[0])
        assert rewards.dtype == np.float32
        assert rewards == pytest.approx(other[1], abs=1e-6)
        assert np.array_equal(dones, other[2] | other[3])
        earned += rewards
        for i in range(4):
            if dones[i]:
                assert np.array_equal(infos[i]["terminal_observation"], other[4]["final_obs"][i])
                assert infos[i]["TimeLimit.truncated"] == other[3][i]
                assert infos[i]["episode"]["r"] == pytest.approx(earned[i], abs=1e-5)
                ended += 1
            else:
                assert infos[i] == {}
        earned[dones] = 0


def test_sb3_refuses_a_batch_that_waits():
    with pytest.raises(OptionError, match="autoreset"):
        Sb3VecEnv(LearnerBatch(deckhand.envs.get_game("flotsam_fight"), 2, autoreset=False))


def test_maskable_ppo_learns_on_the_batch():
    venv = Sb3VecEnv(LearnerBatch(deckhand.envs.get_game("flotsam_fight"), 16, 2, {"rounds": 1}, seed=1))
    model = MaskablePPO("MlpPolicy", venv, n_steps=32, batch_size=128, n_epochs=1, seed=1, device="cpu")
    model.learn(1024)
    assert len(model.ep_info_buffer) > 0
    assert np.isfinite([info["r"] for info in model.ep_info_buffer]).all()


@pytest.mark.parametrize("name", GAMES)
def test_batch_copies_continue_equally(name):
    batch = LearnerBatch(deckhand.envs.get_game(name), 5, deckhand.envs.get_game(name).max_players, seed=4, illegal="resample")
    step = batch.reset()
    rng = np.random.default_rng(0)
    for _ in range(10):
        step = batch.step(pick(step.masks, rng))
    traces = []
    for one in (copy.deepcopy(batch), pickle.loads(pickle.dumps(batch)), batch):
        rng = np.random.default_rng(1)
        traces.append([])
        for _ in range(30):
            step = one.step(rng.integers(0, one.game.num_actions, 5))
            traces[-1].append((step.observations.tobytes(), step.masks.tobytes(), step.rewards.tobytes(), step.terminated.tobytes()))
    assert traces[0] == traces[1] == traces[2]


def test_no_memory_growth():
    batch = LearnerBatch(deckhand.envs.get_game("flotsam_fight"), 8, 2, {"rounds": 1}, seed=1, illegal="resample")
    batch.reset()
    actions = np.full(8, -1)

    def steps(n):
        for _ in range(n):
            batch.step(actions)

    steps(200)
    tracemalloc.start()
    steps(200)
    before = tracemalloc.get_traced_memory()[0]
    steps(1500)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100_000


@pytest.mark.parametrize("name", GAMES)
def test_gymnasium_ids_need_no_import_of_their_own(name):
    # Gymnasium imports the part before the colon; in a new process nothing else has.
    env_id = f"deckhand.envs:deckhand/{deckhand.envs.game_ids()[name]}"
    code = f"import gymnasium; print(gymnasium.make({env_id!r}).reset(seed=1)[0].shape)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str((deckhand.envs.get_game(name).layout.size,))
