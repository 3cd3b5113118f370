"""Double DQN by hand under TensorFlow's MirroredStrategy on logical devices of the CPU.

As its guide has it: a copy of each variable on each device, gradients summed by the optimizer. An
opponent of the suite `devices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rlg.bench.handwritten_tf import DuelingQ

Batch = Mapping[str, NDArray[Any]]


class Learner:
    """Updates on whole batches, which are shared out to the devices."""

    def __init__(
        self, shape: Sequence[int], hidden: Sequence[int], actions: int, devices: Sequence[str]
    ) -> None:
        frames = len(shape) == 3
        self.count = len(devices)
        self.strategy = tf.distribute.MirroredStrategy(list(devices))
        make = (3136 if frames else shape[0], hidden, actions, frames)
        with self.strategy.scope():
            self.online, self.target = DuelingQ(*make), DuelingQ(*make)
            for copy, source in zip(self.target.variables(), self.online.variables(), strict=True):
                copy.assign(source)
            self.optimizer = tf.keras.optimizers.Adam(1e-4)
            self.optimizer.build(self.online.variables())
        self._step = tf.function(self._distributed, autograph=False)

    def update(self, batch: Batch) -> float:
        """One step; returns the loss."""
        parts = {name: np.array_split(values, self.count) for name, values in batch.items()}
        shared = {
            name: self.strategy.experimental_distribute_values_from_function(
                lambda context, each=each: tf.constant(each[context.replica_id_in_sync_group])
            )
            for name, each in parts.items()
        }
        return float(self._step(shared, len(batch["rewards"])))

    def _distributed(self, batch: Any, size: int) -> Any:
        losses = self.strategy.run(self._replica, args=(batch, size))
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def _replica(self, batch: Any, size: int) -> Any:
        variables = self.online.variables()
        best = tf.argmax(self.online.q_values(batch["next_states"]), -1)
        following = tf.gather(self.target.q_values(batch["next_states"]), best, batch_dims=1)
        following = tf.where(batch["terminals"], tf.zeros_like(following), following)
        target = batch["rewards"] + 0.99 * following
        with tf.GradientTape() as tape:
            q = tf.gather(self.online.q_values(batch["states"]), batch["actions"], batch_dims=1)
            # The optimizer sums over replicas: shares of the whole batch's mean.
            loss = 0.5 * tf.reduce_sum(tf.square(target - q)) / size
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss
