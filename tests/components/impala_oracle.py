"""IMPALA a second time, in plain numpy and torch: what the root is compared with.

Written from Espeholt et al. (2018) without any component: V-trace by the recursion of remark 1, one
environment at a time, the loss of section 4.2, all in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.components.on_policy_oracle import Weights, dense


def vtrace(
    ratios: Any, batch: dict[str, Any], values: Any, bootstrap: Any, options: dict[str, Any]
) -> tuple[Any, Any]:
    """v_s = V(x_s) + delta_s + gamma c_s (v_{s+1} - V(x_{s+1})), and r_s + gamma v_{s+1} - V(x_s).

    An episode that a terminal ended is worth nothing more; one that was truncated is worth what
    `bootstrap_values` say, and nothing flows back from the rows behind it.
    """
    gamma, rho_bar, c_bar = options["gamma"], options["rho_bar"], options["c_bar"]
    targets, advantages = np.zeros_like(values), np.zeros_like(values)
    for env in range(values.shape[1]):
        next_target = next_value = bootstrap[env]
        for t in reversed(range(len(values))):
            terminal, truncated = batch["terminals"][t, env], batch["truncations"][t, env]
            if truncated:
                next_target = next_value = batch["bootstrap_values"][t, env]
            if terminal:
                next_target = next_value = 0.0
            reward = batch["rewards"][t, env]
            if options["reward_clip"] is not None:
                reward = min(max(reward, -options["reward_clip"]), options["reward_clip"])
            rho, c = min(ratios[t, env], rho_bar), min(ratios[t, env], c_bar)
            delta = rho * (reward + gamma * next_value - values[t, env])
            targets[t, env] = values[t, env] + delta + gamma * c * (next_target - next_value)
            advantages[t, env] = reward + gamma * next_target - values[t, env]
            next_target, next_value = targets[t, env], values[t, env]
    return targets, advantages


def remembering(weights: Weights, records: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities, entropies and values [T + 1, B] of an LSTM over what is seen and, where
    the records have it, the action and reward before; step by step.
    """
    c, h = records["hidden/c"], records["hidden/h"]
    previous = records.get("first_actions"), records.get("first_rewards")
    outputs = []
    for t, states in enumerate(records["states"]):
        keep = 1.0 - records["resets"][t].double()[:, None]
        c, h = keep * c, keep * h
        lead = "network/network/networks-states" if previous[0] is not None else "network/network"
        x = torch.tanh(dense(weights, f"{lead}/dense-0", states))
        if previous[0] is not None:
            actions, rewards = previous
            one_hot = torch.nn.functional.one_hot(actions.long(), 3).double()
            seen = torch.cat([one_hot, rewards.clamp(-1.0, 1.0)[:, None]], -1)
            x = torch.cat([keep * seen, x], -1)
            previous = (
                records["actions"][t],
                records["rewards"][min(t, len(records["rewards"]) - 1)],
            )
        gates = dense(weights, "network/layer", torch.cat([x, h], -1))
        i, j, f, o = gates.chunk(4, -1)
        c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(j)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs.append(h)
    features = torch.stack(outputs)
    logs = torch.log_softmax(dense(weights, "head/outputs-all/output", features), -1)
    log_probs = logs.gather(-1, records["actions"].long()[..., None])[..., 0]
    values = dense(weights, "value_head/output/dense-0", features)[..., 0]
    return log_probs, -(logs.exp() * logs).sum(-1), values


class RMSprop(torch.optim.Optimizer):
    """With its epsilon inside of the root, as TensorFlow had it."""

    def __init__(self, weights: list[Tensor], lr: float, epsilon: float) -> None:
        super().__init__(weights, {"lr": lr, "epsilon": epsilon})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for x in group["params"]:
                mean = self.state[x].setdefault("mean", torch.zeros_like(x))
                mean.mul_(0.99).add_(0.01 * x.grad**2)
                x.sub_(group["lr"] * x.grad / torch.sqrt(mean + group["epsilon"]))


class Oracle:
    """The learner, on weights of its own in float64."""

    def __init__(
        self, weights: dict[str, Any], evaluate: Callable[..., Any], optimizer: Any, **options: Any
    ) -> None:
        self.weights = {
            name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
            for name, value in weights.items()
        }
        self.evaluate = evaluate
        self.optimizer = optimizer(list(self.weights.values()))
        self.options = {
            "gamma": 0.99,
            "ent_coef": 0.01,
            "vf_coef": 0.5,
            "max_grad_norm": 1.25,
            "reward_clip": 1.0,
            "rho_bar": 1.0,
            "c_bar": 1.0,
            "pg_rho_bar": 1.0,
            "clip_range": None,
            "n_epochs": 1,
            "normalize_advantage": False,
            "sums": False,  # over sequences, as the paper's code does
            **options,
        }

    def update(self, batch: dict[str, Any], last_states: Any, **more: Any) -> dict[str, float]:
        """Steps on rollouts [T, B]; the figures of the last one."""
        for _ in range(self.options["n_epochs"]):
            figures = self.step(batch, last_states, **more)
        return figures

    def step(self, batch: dict[str, Any], last_states: Any, **more: Any) -> dict[str, float]:
        """One step; its figures."""
        options = self.options
        last = batch["actions"][-1:]
        rows = {
            "states": np.concatenate([batch["states"], last_states[None]]),
            "actions": np.concatenate([batch["actions"], last]),
            "rewards": batch["rewards"],
            **more,
        }
        if "masks" in rows:
            rows["masks"] = np.concatenate([rows["masks"], rows["masks"][-1:]])
        if "resets" in batch:
            ended = batch["terminals"][-1:] | batch["truncations"][-1:]
            rows["resets"] = np.concatenate([batch["resets"], ended])
        known = {name: torch.tensor(x) for name, x in rows.items()}
        known = {n: x.double() if x.is_floating_point() else x for n, x in known.items()}
        log_probs, entropies, values = self.evaluate(self.weights, known)
        log_probs, entropies, bootstrap, values = (
            log_probs[:-1], entropies[:-1], values[-1], values[:-1],
        )  # fmt: skip
        ratio = torch.exp(log_probs - torch.tensor(batch["log_probs"], dtype=torch.float64))
        found = [x.detach().numpy() for x in (ratio, values, bootstrap)]
        targets, adv = map(torch.tensor, vtrace(found[0], batch, found[1], found[2], options))
        if options["clip_range"] is None:
            adv = ratio.detach().clamp(max=options["pg_rho_bar"]) * adv
        if options["normalize_advantage"]:
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        if options["clip_range"] is None:
            policy = -adv * log_probs
        else:
            near = ratio.clamp(1.0 - options["clip_range"], 1.0 + options["clip_range"])
            policy = -torch.min(ratio * adv, near * adv)
        value = 0.5 * (targets - values) ** 2
        steps = policy + options["vf_coef"] * value - options["ent_coef"] * entropies
        loss = steps.sum(0).sum() if options["sums"] else steps.sum(0).mean()
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(self.weights.values()), options["max_grad_norm"])
        self.optimizer.step()
        figures = {
            "loss": loss,
            "policy_loss": policy.mean(),
            "value_loss": value.mean(),
            "entropy": entropies.mean(),
            "gradient_norm": norm,
            "approx_kl": (ratio - 1.0 - ratio.log()).mean(),
            "importance_weight": ratio.clamp(max=options["rho_bar"]).mean(),
        }
        return {name: float(figure.detach()) for name, figure in figures.items()}
