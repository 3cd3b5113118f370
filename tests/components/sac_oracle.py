"""SAC, discrete SAC and TD3 a second time, in plain torch and float64, written from the papers.

Without any component, so that a mistake would have to be made twice. Random numbers are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

Net = dict[str, torch.Tensor]
Records = Mapping[str, Any]


def tensor(x: Any) -> torch.Tensor:
    return torch.as_tensor(np.asarray(x, "float64"))


class Adam:
    """Kingma and Ba (2015), algorithm 1."""

    def __init__(self, net: Net) -> None:
        self.moments = {key: (torch.zeros_like(x), torch.zeros_like(x)) for key, x in net.items()}
        self.steps = 0

    def step(self, net: Net, loss: torch.Tensor, rate: float) -> None:
        gradients = torch.autograd.grad(loss, list(net.values()))
        self.steps += 1
        with torch.no_grad():
            for key, gradient in zip(net, gradients, strict=True):
                first, second = self.moments[key]
                first = 0.9 * first + 0.1 * gradient
                second = 0.999 * second + 0.001 * gradient**2
                self.moments[key] = first, second
                unbiased = first / (1.0 - 0.9**self.steps)
                scale = (second / (1.0 - 0.999**self.steps)).sqrt() + 1e-8
                net[key] -= rate * unbiased / scale


def dense(net: Net, name: str, x: torch.Tensor) -> torch.Tensor:
    return x @ net[f"{name}/kernel"] + net[f"{name}/bias"]


class Learner:
    """What the algorithms share: networks of one hidden layer, critics and their targets."""

    def __init__(self, nets: Mapping[str, Mapping[str, Any]], n_critics: int, tau: float) -> None:
        self.nets = {
            name: {key: tensor(x).requires_grad_() for key, x in net.items()}
            for name, net in nets.items()
        }
        self.optimizers = {name: Adam(net) for name, net in self.nets.items()}
        self.n_critics, self.tau = n_critics, tau

    def hidden(self, name: str, where: str, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(dense(self.nets[name], where, x), min=0.0)

    def q(self, name: str, states: torch.Tensor, actions: torch.Tensor) -> list[torch.Tensor]:
        """Of each critic, [B]."""
        x = torch.cat([actions, states], 1)  # By the order of the names.
        return [
            dense(
                self.nets[name],
                f"heads-{i}/output/dense-0",
                self.hidden(name, f"networks-{i}/dense-0", x),
            )[:, 0]
            for i in range(self.n_critics)
        ]

    def critic_step(
        self,
        q: list[torch.Tensor],
        records: Records,
        value: torch.Tensor,
        weights: Any,
        rate: float,
    ) -> tuple[float, Any]:
        going = 1.0 - tensor(records["terminals"])
        target = tensor(records["rewards"]) + tensor(records["discounts"]) * going * value
        errors = torch.stack([target.detach() - x for x in q], 1)
        loss = (tensor(weights) * 0.5 * (errors**2).sum(1)).mean()
        self.optimizers["critics"].step(self.nets["critics"], loss, rate)
        return float(loss.detach()), errors.mean(1).abs().detach().numpy()

    def follow(self, name: str) -> None:
        with torch.no_grad():
            for key, value in self.nets[f"target_{name}"].items():
                value.copy_(self.tau * self.nets[name][key] + (1.0 - self.tau) * value)


class SAC(Learner):
    """Haarnoja et al. (2018b), algorithm 1, with a tanh as in appendix C."""

    target_entropy = -2.0  # of two floats

    def policy(self, states: torch.Tensor, noise: Any) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.hidden("policy", "network/dense-0", states)
        mean = dense(self.nets["policy"], "head/outputs-all/mean", features)
        std = dense(self.nets["policy"], "head/outputs-all/log_std", features).clamp(-20, 2).exp()
        u = mean + std * tensor(noise)
        log_prob = torch.distributions.Normal(mean, std).log_prob(u)
        log_prob = log_prob - torch.log(1.0 - torch.tanh(u) ** 2)
        return torch.tanh(u), log_prob.sum(1)

    def update(
        self, records: Records, noises: list[Any], weights: Any, rate: float
    ) -> dict[str, Any]:
        log_alpha = self.nets["temperature"]["log_alpha"]
        alpha = log_alpha.exp().detach().clone()
        states, following = tensor(records["states"]), tensor(records["next_states"])
        with torch.no_grad():
            actions, log_probs = self.policy(following, noises[0])
            least = torch.stack(self.q("target_critics", following, actions)).min(0).values
            value = least - alpha * log_probs
        taken = self.q("critics", states, tensor(records["actions"]))
        critic_loss, priorities = self.critic_step(taken, records, value, weights, rate)
        actions, log_probs = self.policy(states, noises[1])
        least = torch.stack(self.q("critics", states, actions)).min(0).values
        loss = (alpha * log_probs - least).mean()
        self.optimizers["policy"].step(self.nets["policy"], loss, rate)
        ent_loss = (-log_alpha * (log_probs.detach() + self.target_entropy)).mean()
        self.optimizers["temperature"].step(self.nets["temperature"], ent_loss, rate)
        self.follow("critics")
        return {
            "critic_loss": critic_loss,
            "actor_loss": float(loss.detach()),
            "ent_coef": float(alpha),
            "ent_coef_loss": float(ent_loss.detach()),
            "priorities": priorities,
        }


class DiscreteSAC(Learner):
    """Christodoulou (2019), equations 10 to 12, over three choices."""

    target_entropy = 0.98 * np.log(3)

    def all_q(self, name: str, states: torch.Tensor) -> list[torch.Tensor]:
        return [
            dense(
                self.nets[name],
                f"heads-{i}/output",
                self.hidden(name, f"networks-{i}/dense-0", states),
            )
            for i in range(self.n_critics)
        ]

    def log_probs(self, states: torch.Tensor) -> torch.Tensor:
        features = self.hidden("policy", "network/dense-0", states)
        logits = dense(self.nets["policy"], "head/outputs-all/output", features)
        return logits - torch.logsumexp(logits, 1, keepdim=True)

    def update(
        self, records: Records, noises: list[Any], weights: Any, rate: float
    ) -> dict[str, Any]:
        assert not noises, "expectations need no draws"
        log_alpha = self.nets["temperature"]["log_alpha"]
        alpha = log_alpha.exp().detach().clone()
        states, following = tensor(records["states"]), tensor(records["next_states"])
        with torch.no_grad():
            log_probs = self.log_probs(following)
            least = torch.stack(self.all_q("target_critics", following)).min(0).values
            value = (log_probs.exp() * (least - alpha * log_probs)).sum(1)
        rows, chosen = torch.arange(len(states)), torch.as_tensor(np.asarray(records["actions"]))
        taken = [q[rows, chosen] for q in self.all_q("critics", states)]
        critic_loss, priorities = self.critic_step(taken, records, value, weights, rate)
        log_probs = self.log_probs(states)
        least = torch.stack(self.all_q("critics", states)).min(0).values.detach()
        loss = (log_probs.exp() * (alpha * log_probs - least)).sum(1).mean()
        entropies = -(log_probs.exp() * log_probs).sum(1).detach()
        self.optimizers["policy"].step(self.nets["policy"], loss, rate)
        ent_loss = (log_alpha * (entropies - self.target_entropy)).mean()
        self.optimizers["temperature"].step(self.nets["temperature"], ent_loss, rate)
        self.follow("critics")
        return {
            "critic_loss": critic_loss,
            "actor_loss": float(loss.detach()),
            "ent_coef": float(alpha),
            "ent_coef_loss": float(ent_loss.detach()),
            "priorities": priorities,
        }


class TD3(Learner):
    """Fujimoto et al. (2018), algorithm 1; without its three changes Lillicrap et al. (2016)."""

    delay, noise, limit = 2, 0.2, 0.5
    updates, actor_loss = 0, 0.0

    def policy(self, name: str, states: torch.Tensor) -> torch.Tensor:
        features = self.hidden(name, "network/dense-0", states)
        return torch.tanh(dense(self.nets[name], "output", features))

    def update(
        self, records: Records, noises: list[Any], weights: Any, rate: float
    ) -> dict[str, Any]:
        states, following = tensor(records["states"]), tensor(records["next_states"])
        with torch.no_grad():
            actions = self.policy("target_policy", following)
            if self.noise:
                (drawn,) = noises
                noise = (self.noise * tensor(drawn)).clamp(-self.limit, self.limit)
                actions = (actions + noise).clamp(-1.0, 1.0)
            value = torch.stack(self.q("target_critics", following, actions)).min(0).values
        taken = self.q("critics", states, tensor(records["actions"]))
        critic_loss, priorities = self.critic_step(taken, records, value, weights, rate)
        self.updates += 1
        if self.updates % self.delay == 0:
            loss = -self.q("critics", states, self.policy("policy", states))[0].mean()
            self.optimizers["policy"].step(self.nets["policy"], loss, rate)
            self.actor_loss = float(loss.detach())
            self.follow("critics")
            self.follow("policy")
        return {
            "critic_loss": critic_loss,
            "actor_loss": self.actor_loss,
            "priorities": priorities,
        }


class DDPG(TD3):
    delay, noise = 1, 0.0
