"""A3C inside of a graph: actors differentiate, the learner is a parameter server; see FusedRoot."""

from __future__ import annotations

import math
from typing import Any

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.algorithms.a3c import A3C, RecurrentA3C
from rlg.graph.components.algorithms.fused import ENDS, FusedRecurrentRoot, FusedRoot
from rlg.graph.components.algorithms.on_policy import Learner
from rlg.graph.components.losses.a2c import A2CLoss
from rlg.graph.spaces import Dict, FloatBox, IntBox

# Figures of gradients, in the order in which they travel.
FIGURES = ("loss", "policy_loss", "value_loss", "entropy", "explained_variance")


class FusedA3C(FusedRoot, A3C):
    """A3C with the environments' steps and a queue of gradients inside of the graph.

    An actor differentiates the loss on its rollout by its own copy of the weights, as `gradients`
    does, and puts all gradients into the queue as one row of `weights` numbers: so many trainable
    ones has the policy. `learn` descends once by the mean of `count` rows; A3C takes them one by
    one.
    """

    acted = ("log_probs", "values")

    def __init__(self, *args: Any, weights: int, **options: Any) -> None:
        self.weights = weights
        super().__init__(*args, **options)
        loss = A2CLoss(self.vf_coef, self.ent_coef)
        self.worker = Learner(self.actor, loss, self.optimizer, self.normalize_advantage)

    def _record_space(self) -> dict[str, Any]:
        return {
            "gradients": FloatBox(shape=(self.weights,)),
            "figures": FloatBox(shape=(len(FIGURES),)),
            "report": Dict(returns=FloatBox(), lengths=IntBox()),
        }

    # -- actors -----------------------------------------------------------------------------------
    def _record(self, carry: Any, after: Any, steps: Any, report: Any) -> dict[str, Any]:
        batch = {name: steps[name] for name in ("states", "actions", *self.acted, *ENDS)}
        last_hidden = None if self.remembered is None else after["hidden"]
        with self.no_gradient():
            batch["bootstrap_values"] = self._bootstrap_values(
                self.actor, steps["truncations"], report
            )
            last_values = self._values(self.actor, after["seen"]["states"], last_hidden)
        masks = self._masks(steps)
        memory = self._memory(carry, steps)
        records, explained = self._prepared(batch, last_values, masks=masks, **memory)
        gradients, figures = self.worker.differentiate(records, masks is not None)
        return {
            "gradients": self.joined(gradients),
            "figures": self.lined_up(self.metrics(figures, explained)),
            "report": {name: report[name] for name in ("returns", "lengths")},
        }

    def _memory(self, carry: Any, steps: Any) -> dict[str, Any]:
        """What a recurrent policy learns from beside the steps."""
        return {}

    @graph_fn
    def joined(self, gradients: Tensor) -> Tensor:
        """[1, W]: between tasks of a cluster each tensor would be a call of its own."""
        ops = self.ops
        parts = [ops.reshape(gradient, (-1,)) for gradient in gradients.values()]
        return ops.expand_dims(ops.concat(parts, 0), 0)

    @graph_fn
    def lined_up(self, figures: Tensor) -> Tensor:
        """[1, F]."""
        return self.ops.expand_dims(self.ops.stack([figures[name] for name in FIGURES], 0), 0)

    # -- the learner ------------------------------------------------------------------------------
    def _learned(self, found: Any, learning_rate: Any) -> Any:
        gradients = self.parted(found["gradients"], self.policy.variables())
        return self.report(found["figures"], self.apply(gradients, learning_rate))

    @graph_fn
    def parted(self, rows: Tensor, variables: Tensor) -> Tensor:
        """The mean of the rows [N, W], as a gradient for each variable."""
        ops, found, start = self.ops, {}, 0
        mean = ops.mean(rows, 0)
        for name, variable in variables.items():
            shape = ops.shape_of(variable)
            end = start + math.prod(size or 0 for size in shape)
            found[name], start = ops.reshape(mean[start:end], shape), end
        return found

    @graph_fn
    def report(self, figures: Tensor, gradient_norm: Tensor) -> Tensor:
        """Figures of an update."""
        means = self.ops.mean(figures, 0)
        named = {name: means[index] for index, name in enumerate(FIGURES)}
        return {**named, "gradient_norm": gradient_norm}


class FusedRecurrentA3C(FusedRecurrentRoot, FusedA3C, RecurrentA3C):
    """The same with a recurrent policy: gradients are of sequences."""

    def _memory(self, carry: Any, steps: Any) -> dict[str, Any]:
        return {"hidden": carry["hidden"], "resets": steps["resets"]}
