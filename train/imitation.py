"""A warm start: the networks learn to do what an agent does before PPO makes them better than it.

In the first rollout the agent plays the learner's seat in every game, in the last in none; the share falls in a straight line, and the
network plays the rest. Whoever plays, the agent says what it would have done, and that is what the actor learns (cross-entropy): so it
learns it in the positions that its own play leads to as well (Ross, Gordon, Bagnell 2011, DAgger). The critic learns the returns.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from torch import nn

from ..agents import Agent
from ..envs.learner_batch import LearnerBatch
from .config import WarmStart


def imitate(
    ppo: MaskablePPO, batch: LearnerBatch, agent: Agent, settings: WarmStart, report: Callable[[int, dict[str, float]], None]
) -> None:
    """Train the networks of ``ppo`` on ``settings.steps`` decisions, rounded up to whole rollouts, of the games of ``batch``.

    ``report`` is told after each rollout how many decisions there were, with ``agreement`` (how often the network's own draw was what the
    agent would have done), ``loss`` (cross-entropy, nats) and ``value_loss``.
    """
    env, policy, buffer = ppo.env, ppo.policy, ppo.rollout_buffer
    assert env is not None
    optimizer = torch.optim.Adam(policy.parameters(), eps=1e-5)
    rollouts = -(-settings.steps // (buffer.buffer_size * batch.num_games))
    for k in range(rollouts):
        agreement = _collect(ppo, batch, agent, led=round(batch.num_games * (1 - k / max(rollouts - 1, 1))))
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate.at(k / rollouts)
        losses = []
        policy.set_training_mode(True)
        for _ in range(settings.epochs):
            for data in buffer.get(ppo.batch_size):
                values, log_prob, _ = policy.evaluate_actions(data.observations, data.actions.long().flatten(), data.action_masks)
                loss, value_loss = -log_prob.mean(), nn.functional.mse_loss(values.flatten(), data.returns)
                optimizer.zero_grad()
                (loss + ppo.vf_coef * value_loss).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(policy.parameters(), ppo.max_grad_norm)
                optimizer.step()
                losses.append((loss.item(), value_loss.item()))
        mean = np.mean(losses, axis=0)
        report(
            (k + 1) * buffer.buffer_size * batch.num_games,
            {"agreement": agreement, "loss": float(mean[0]), "value_loss": float(mean[1])},
        )


def _collect(ppo: MaskablePPO, batch: LearnerBatch, agent: Agent, led: int) -> float:
    """Fill the rollout buffer with the agent's actions; it plays the first ``led`` games. Returns the agreement."""
    env: Any = ppo.env
    policy: Any = ppo.policy
    buffer: Any = ppo.rollout_buffer
    policy.set_training_mode(False)
    buffer.reset()
    observations, starts = ppo._last_obs, ppo._last_episode_starts
    agreed = 0
    for _ in range(buffer.buffer_size):
        masks = batch.action_masks()
        labels = agent.act(batch.turns(agent))
        with torch.no_grad():
            drawn, values, _ = policy(torch.from_numpy(observations), action_masks=masks)
            log_prob = torch.zeros(batch.num_games)  # nothing here asks how likely the network found the action
        actions = drawn.numpy()
        agreed += int((actions == labels).sum())
        actions[:led] = labels[:led]
        seen, began = observations, starts
        observations, rewards, starts, _ = env.step(actions)
        buffer.add(seen, labels[:, None], rewards, began, values, log_prob, action_masks=masks)
    with torch.no_grad():
        last_values = policy.predict_values(torch.from_numpy(observations))
    buffer.compute_returns_and_advantage(last_values=last_values, dones=starts)
    ppo._last_obs, ppo._last_episode_starts = observations, starts
    return agreed / (buffer.buffer_size * batch.num_games)
