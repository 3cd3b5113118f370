"""IMPALA's networks in plain TensorFlow: weights are variables of the graph in force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

FILTERS = (16, 32, 32)  # of the sections of the large network


class Network:
    """Logits and values of states [..., *shape]: "mlp" (64, 64, tanh), or figure 3 of Espeholt et
    al. (2018): "small", on the left, and "large", on the right.
    """

    def __init__(self, kind: str, shape: Sequence[int], actions: int) -> None:
        self.shape = list(shape)
        self.variables: list[Any] = []
        self._kernels: list[Any] = []
        trunk = {"mlp": self._mlp, "small": self._small, "large": self._large}[kind]
        self._trunk, features = trunk()
        self._logits, self._value = self._dense(features, actions), self._dense(features, 1)

    def heads(self, states: Any) -> tuple[Any, Any]:
        """Logits [..., A] and values [...]."""
        leading = states.shape[: -len(self.shape)].as_list()
        features = self._trunk(tf.reshape(states, [-1, *self.shape]))
        logits, values = self._logits(features), self._value(features)
        return tf.reshape(logits, [*leading, -1]), tf.reshape(values, leading)

    # -- trunks -----------------------------------------------------------------------------------
    def _mlp(self) -> tuple[Any, int]:
        first, second = self._dense(self.shape[0], 64), self._dense(64, 64)
        return lambda x: tf.tanh(second(tf.tanh(first(x)))), 64

    def _small(self) -> tuple[Any, int]:
        first, second = (
            self._conv(8, 4, self.shape[-1], 16, "VALID"),
            self._conv(4, 2, 16, 32, "VALID"),
        )
        sides = [((side - 4) // 4 - 2) // 2 for side in self.shape[:2]]
        inside = 32 * math.prod(sides)
        dense = self._dense(inside, 256)

        def trunk(x: Any) -> Any:
            x = tf.cast(x, tf.float32) / 255.0
            x = tf.nn.relu(second(tf.nn.relu(first(x))))
            return tf.nn.relu(dense(tf.reshape(x, [-1, inside])))

        return trunk, 256

    def _large(self) -> tuple[Any, int]:
        sections, channels = [], self.shape[-1]
        for filters in FILTERS:
            inner = [self._conv(3, 1, filters, filters, "SAME") for _ in range(4)]
            sections.append((self._conv(3, 1, channels, filters, "SAME"), inner))
            channels = filters
        inside = channels * math.prod(
            math.ceil(side / 2 ** len(FILTERS)) for side in self.shape[:2]
        )
        dense = self._dense(inside, 256)

        def trunk(x: Any) -> Any:
            x = tf.cast(x, tf.float32) / 255.0
            for first, (a, b, c, d) in sections:
                x = tf.nn.max_pool2d(first(x), 3, 2, "SAME")
                x += b(tf.nn.relu(a(tf.nn.relu(x))))
                x += d(tf.nn.relu(c(tf.nn.relu(x))))
            return tf.nn.relu(dense(tf.reshape(tf.nn.relu(x), [-1, inside])))

        return trunk, 256

    # -- layers -----------------------------------------------------------------------------------
    def _weights(self, *shape: int) -> tuple[Any, Any]:
        limit = math.sqrt(3.0 / math.prod(shape[:-1]))
        kernel = tf.Variable(tf.random.uniform(shape, -limit, limit))
        self.variables += [kernel, tf.Variable(tf.zeros(shape[-1]))]
        return self.variables[-2], self.variables[-1]

    def _dense(self, inputs: int, outputs: int) -> Any:
        kernel, bias = self._weights(inputs, outputs)
        return lambda x: tf.nn.bias_add(tf.matmul(x, kernel), bias)

    def _conv(self, size: int, stride: int, channels: int, filters: int, padding: str) -> Any:
        kernel, bias = self._weights(size, size, channels, filters)
        return lambda x: tf.nn.bias_add(tf.nn.conv2d(x, kernel, stride, padding), bias)
