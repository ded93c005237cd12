"""A warm start: the networks learn to do what an agent does before PPO makes them better than it.

In some of the games the agent plays the learner's seat (a share that moves from the first rollout to the last, ``led``), in the others the
network, its likeliest actions. Whoever plays, the agent says what it would have done, and that is what the actor learns: so it learns it in
the positions that its own play leads to as well (Ross, Gordon, Bagnell 2011, DAgger). All decisions are kept, and after the last rollout
the actor learns from them in several passes. The critic learns the returns, of which every pass more would teach it the noise.

Of a flat search the actor learns more than what it would have done: what every action returned in a few worlds. The actor's loss is the
Kullback-Leibler divergence of its own distribution from the one proportional to exp(return / temperature), which but for a constant is
-(expected return) / temperature - entropy. It is linear in the returns, so the chance in a few worlds averages out over many positions, and
the network ends up stronger than the agent of the rollouts ("expert iteration", Anthony, Tian, Barber 2017). The divergence the other way
round would prefer whatever chance favours once. With an anchor, what the search would do counts as having returned so much more. With a
prior, the distribution to come near is prior(action) ** prior * exp(return / temperature), where prior(action) is how likely the network
found the action when it met the decision: the few worlds only shift what it has learned before (a policy update regularised by the policy
before, as in Abdolmaleki et al. 2018, "Maximum a posteriori policy optimisation").

With ``least``, only actions that the network finds at least so likely are tried, which leaves time for more decisions.

Every batch is learned in a naming drawn from the game's symmetries, unless the network is ``symmetric`` and gives the same in each.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from sb3_contrib import MaskablePPO
from torch import nn

from ..agents import Agent, FlatSearch
from ..envs.learner_batch import LearnerBatch
from .config import WarmStart

SURELY_NOT = 1e-9
"""Smaller probabilities count as this one: their logarithms must not grow beyond what float16 holds."""


class Imitation:
    """The rounds of one stage of a warm start: first each collects a rollout and learns a little, then each is a pass over all decisions.

    Decisions with a single legal action teach nothing and are left out. What a round collects is stored in ``folder``, so that a run that
    was stopped reads it again.
    """

    def __init__(
        self, ppo: MaskablePPO, batch: LearnerBatch, agent: Agent, settings: WarmStart, folder: Path, *, symmetric: bool = False
    ) -> None:
        self.ppo, self.batch, self.agent, self.settings, self.folder = ppo, batch, agent, settings, folder
        self._size = ppo.rollout_buffer.buffer_size * batch.num_games  # decisions of a rollout
        self.rollouts = -(-settings.steps // self._size)
        self.rounds = self.rollouts + settings.epochs
        """How often :meth:`run_round` is to be called."""
        self._searches = isinstance(agent, FlatSearch)
        self._namings = batch.game.symmetries()[: 1 if symmetric else None]

    def load(self, rounds: int) -> None:
        """Begin after ``rounds`` rounds: read what they have collected."""
        rows, actions = self.rollouts * self._size, self.batch.game.num_actions
        # Half the precision and a bit a legal action: a million decisions of the longest observations take 4 GB.
        self._data: dict[str, NDArray[Any]] = {
            "observations": np.empty((rows, self.batch.game.layout.size), np.float16),
            "masks": np.empty((rows, (actions + 7) // 8), np.uint8),
            "targets": np.empty((rows, actions), np.float16),
            "returns": np.empty(rows, np.float32),
        }
        self._used = 0
        for k in range(min(rounds, self.rollouts)):
            self._keep(load_file(self.folder / f"{k:04d}.safetensors"))

    def run_round(self, k: int) -> dict[str, float]:
        """Round ``k``, counted from 0.

        Returns ``loss`` (of an agent's actions the cross-entropy in nats; of a search the divergence from what is to be learned, but for a
        constant); of a round that collects also ``value_loss`` and ``agreement``: how often the network's likeliest action was what the
        agent would have done.
        """
        settings = self.settings
        generator = np.random.default_rng(k)
        if k < self.rollouts:
            collected, agreement = self._collect(led=round(self.batch.num_games * settings.led.at(k / max(self.rollouts - 1, 1))))
            self.folder.mkdir(parents=True, exist_ok=True)
            save_file(collected, self.folder / f"{k:04d}.safetensors")
            self._keep(collected)
            samples = generator.integers(self._used, size=len(collected["returns"]))
            rate = settings.learning_rate.start
            loss, value_loss = self._learn(samples, generator, rate, rate, with_critic=True)
            return {"agreement": agreement, "loss": loss, "value_loss": value_loss}
        done = (k - self.rollouts) / settings.epochs
        first, last = settings.learning_rate.at(done), settings.learning_rate.at(done + 1 / settings.epochs)
        return {"loss": self._learn(generator.permutation(self._used), generator, first, last, with_critic=False)[0]}

    def _keep(self, collected: dict[str, NDArray[Any]]) -> None:
        end = self._used + len(collected["returns"])
        for name, array in self._data.items():
            array[self._used : end] = collected[name]
        self._used = end

    def _learn(
        self, samples: NDArray[np.int64], generator: np.random.Generator, first_rate: float, last_rate: float, with_critic: bool
    ) -> tuple[float, float]:
        """One pass over the rows ``samples``, the learning rate moving in a straight line: the mean losses of actor and critic."""
        policy: Any = self.ppo.policy
        policy.set_training_mode(True)
        size = min(self.settings.batch_size, len(samples))
        batches = np.array_split(samples, len(samples) // size)
        losses = []
        for i, rows in enumerate(batches):
            for group in policy.optimizer.param_groups:
                group["lr"] = first_rate + (last_rate - first_rate) * i / len(batches)
            naming = self._namings[generator.integers(len(self._namings))]
            observations = torch.from_numpy(self._data["observations"][rows][:, naming.columns]).float()
            masks = np.unpackbits(self._data["masks"][rows], axis=1, count=self._data["targets"].shape[1]).astype(np.bool_)
            targets = torch.from_numpy(self._data["targets"][rows][:, naming.actions]).float()
            features = policy.extract_features(observations)
            illegal = torch.from_numpy(~masks[:, naming.actions])
            logits = policy.action_net(policy.mlp_extractor.forward_actor(features))
            log_probs = logits.masked_fill(illegal, -1e8).log_softmax(dim=1)
            if self._searches:
                loss = (log_probs.exp() * (log_probs - targets / self.settings.temperature)).sum(dim=1).mean()
            else:
                loss = -(targets * log_probs).sum(dim=1).mean()
            value_loss = torch.zeros(())
            if with_critic:
                values = policy.value_net(policy.mlp_extractor.forward_critic(features)).flatten()
                value_loss = nn.functional.mse_loss(values, torch.from_numpy(self._data["returns"][rows]))
            policy.optimizer.zero_grad()
            (loss + self.ppo.vf_coef * value_loss).backward()
            nn.utils.clip_grad_norm_(policy.parameters(), self.ppo.max_grad_norm)
            policy.optimizer.step()
            losses.append((loss.item(), value_loss.item()))
        mean = np.mean(losses, axis=0)
        return float(mean[0]), float(mean[1])

    def _collect(self, led: int) -> tuple[dict[str, NDArray[Any]], float]:
        """One rollout, the agent playing the first ``led`` games: the rows to keep, and the agreement."""
        ppo, batch = self.ppo, self.batch
        env: Any = ppo.env
        policy: Any = ppo.policy
        buffer: Any = ppo.rollout_buffer
        policy.set_training_mode(False)
        buffer.reset()
        observations, starts = ppo._last_obs, ppo._last_episode_starts
        agreed = 0
        parts = []
        for _ in range(buffer.buffer_size):
            masks = batch.action_masks()
            with torch.no_grad():
                distribution = policy.get_distribution(torch.from_numpy(observations), action_masks=masks)
                values = policy.predict_values(torch.from_numpy(observations))
                log_prob = torch.zeros(batch.num_games)  # nothing here asks how likely the network found the action
            actions = distribution.get_actions(deterministic=True).numpy()
            labels, targets = self._ask(distribution.distribution.probs.numpy())
            agreed += int((actions == labels).sum())
            actions[:led] = labels[:led]
            parts.append((np.asarray(observations, np.float16), np.packbits(masks, axis=1), targets.astype(np.float16)))
            seen, began = observations, starts
            observations, rewards, starts, _ = env.step(actions)
            buffer.add(seen, labels[:, None], rewards, began, values, log_prob, action_masks=masks)
        with torch.no_grad():
            last_values = policy.predict_values(torch.from_numpy(observations))
        buffer.compute_returns_and_advantage(last_values=last_values, dones=starts)
        ppo._last_obs, ppo._last_episode_starts = observations, starts
        several = np.concatenate([np.bitwise_count(part[1]).sum(axis=1) > 1 for part in parts])
        columns = [np.concatenate(column)[several] for column in zip(*parts, strict=True)]
        collected = dict(zip(("observations", "masks", "targets"), columns, strict=True), returns=buffer.returns.flatten()[several])
        return collected, agreed / self._size

    def _ask(self, likely: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """What the agent would do in every game, and what the actor is to learn, (games, num_actions): its probabilities or the returns.

        ``likely`` is the network's own distribution.
        """
        turns, settings = self.batch.turns(self.agent), self.settings
        if isinstance(self.agent, FlatSearch):
            labels, returns = self.agent.act_and_judge(turns, likely >= settings.least)
            returns[np.arange(len(labels)), labels] += settings.anchor
            # The loss divides by the temperature.
            returns += settings.temperature * settings.prior * np.log(np.where(turns.masks, likely, 1).clip(SURELY_NOT))
            return labels, returns
        labels = self.agent.act(turns)
        return labels, np.eye(self.batch.game.num_actions)[labels]
