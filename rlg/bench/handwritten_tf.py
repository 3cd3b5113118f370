"""What one would write by hand in TensorFlow: opponents of the suites `build` and `act`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf


def _weights(*shape: int) -> tf.Variable:
    limit = np.sqrt(6.0 / (shape[-2] + shape[-1]))
    return tf.Variable(np.random.default_rng().uniform(-limit, limit, shape).astype("float32"))


class DuelingQ:
    """Q-values of a dueling network: an MLP, or the Nature CNN when `frames` is set."""

    def __init__(self, inputs: int, hidden: Sequence[int], actions: int, frames: bool) -> None:
        self.frames = frames
        self.convolutions = []
        if frames:
            channels = 4
            for filters, size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
                kernel = _weights(size, size, channels, filters)
                self.convolutions.append((kernel, tf.Variable(tf.zeros(filters)), stride))
                channels = filters
        sizes = [inputs, *hidden]
        self.hidden = [(_weights(a, b), tf.Variable(tf.zeros(b))) for a, b in pairwise(sizes)]
        self.value = (_weights(sizes[-1], 1), tf.Variable(tf.zeros(1)))
        self.advantage = (_weights(sizes[-1], actions), tf.Variable(tf.zeros(actions)))

    def variables(self) -> list[Any]:
        """All weights."""
        pairs = [*self.hidden, self.value, self.advantage]
        conv = [v for kernel, bias, _ in self.convolutions for v in (kernel, bias)]
        return [*conv, *(variable for pair in pairs for variable in pair)]

    def q_values(self, x: Any) -> Any:
        """[B, A]."""
        if self.frames:
            x = tf.cast(x, tf.float32) / 255.0
            for kernel, bias, stride in self.convolutions:
                x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, stride, "VALID"), bias))
            x = tf.reshape(x, [-1, 3136])
        for weight, bias in self.hidden:
            x = tf.nn.relu(tf.matmul(x, weight) + bias)
        value = tf.matmul(x, self.value[0]) + self.value[1]
        advantage = tf.matmul(x, self.advantage[0]) + self.advantage[1]
        return value + advantage - tf.reduce_mean(advantage, -1, keepdims=True)


def make_act(network: DuelingQ, shape: Sequence[int]) -> Any:
    """Greedy actions through a tf.function, numpy in and numpy out."""
    dtype = tf.uint8 if network.frames else tf.float32

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None, *shape], dtype)])  # type: ignore[untyped-decorator]
    def function(states: Any) -> Any:
        return tf.argmax(network.q_values(states), -1)

    return lambda states: function(states).numpy()


class Memory:
    """A ring of transitions in variables."""

    def __init__(self, size: int, shape: Sequence[int]) -> None:
        dtype = tf.uint8 if len(shape) == 3 else tf.float32
        self.columns = {
            "states": tf.Variable(tf.zeros((size, *shape), dtype)),
            "next_states": tf.Variable(tf.zeros((size, *shape), dtype)),
            "actions": tf.Variable(tf.zeros(size, tf.int64)),
            "rewards": tf.Variable(tf.zeros(size)),
            "terminals": tf.Variable(tf.zeros(size, tf.bool)),
        }
        self.index = tf.Variable(0, dtype=tf.int64)
        self.count = tf.Variable(0, dtype=tf.int64)
        self.capacity = size
        specs = {
            name: tf.TensorSpec([None, *column.shape[1:]], column.dtype)
            for name, column in self.columns.items()
        }
        self.functions = [
            tf.function(self.insert, autograph=False).get_concrete_function(specs),
            tf.function(self.sample, autograph=False).get_concrete_function(
                tf.TensorSpec([None], tf.float64)
            ),
        ]

    def insert(self, records: dict[str, Any]) -> None:
        """Overwrites the oldest."""
        n = tf.shape(records["rewards"], out_type=tf.int64)[0]
        rows = (self.index + tf.range(n)) % self.capacity
        for name, values in records.items():
            self.columns[name].scatter_update(tf.IndexedSlices(values, rows))
        self.index.assign((self.index + n) % self.capacity)
        self.count.assign(tf.minimum(self.count + n, self.capacity))

    def sample(self, uniform: Any) -> dict[str, Any]:
        """Rows by uniform numbers."""
        rows = tf.cast(uniform * tf.cast(self.count, tf.float64), tf.int64)
        return {name: tf.gather(column, rows) for name, column in self.columns.items()}


class DQN:
    """Double dueling DQN with memory, target network and Adam, all in variables."""

    def __init__(
        self, shape: Sequence[int], hidden: Sequence[int], actions: int, size: int
    ) -> None:
        frames = len(shape) == 3
        inputs = 3136 if frames else shape[0]
        dtype = tf.uint8 if frames else tf.float32
        self.online = DuelingQ(inputs, hidden, actions, frames)
        self.target = DuelingQ(inputs, hidden, actions, frames)
        self.memory = Memory(size, shape)
        self.step = tf.Variable(0.0)
        self.slots = [
            (tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v)))
            for v in self.online.variables()
        ]
        states = tf.TensorSpec([None, *shape], dtype)
        self.functions = [
            tf.function(self._act, autograph=False).get_concrete_function(states),
            tf.function(self._update, autograph=False).get_concrete_function(
                tf.TensorSpec([None], tf.float64)
            ),
            tf.function(self._sync, autograph=False).get_concrete_function(),
        ]

    def _act(self, states: Any) -> Any:
        return tf.argmax(self.online.q_values(states), -1)

    def _sync(self) -> None:
        for target, source in zip(self.target.variables(), self.online.variables(), strict=True):
            target.assign(source)

    def _update(self, uniform: Any) -> Any:
        batch = self.memory.sample(uniform)
        variables = self.online.variables()
        q = tf.gather(self.online.q_values(batch["states"]), batch["actions"], batch_dims=1)
        best = tf.argmax(self.online.q_values(batch["next_states"]), -1)
        following = tf.gather(self.target.q_values(batch["next_states"]), best, batch_dims=1)
        following = tf.where(batch["terminals"], tf.zeros_like(following), following)
        target = tf.stop_gradient(batch["rewards"] + 0.99 * following)
        loss = 0.5 * tf.reduce_mean(tf.square(target - q))
        gradients = tf.gradients(loss, variables)
        self.step.assign_add(1.0)
        for variable, gradient, (m, v) in zip(variables, gradients, self.slots, strict=True):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=tf.pow(0.9, self.step),
                beta2_power=tf.pow(0.999, self.step),
                lr=1e-4,
                beta1=0.9,
                beta2=0.999,
                epsilon=1e-8,
                grad=gradient,
            )
        return loss
