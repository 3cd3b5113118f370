"""IMPALA by hand on TensorFlow's distributed runtime: the opponent of `executor=tf_cluster`.

A learner and its actors, each a `tf.compat.v1.train.Server` with a session, as DeepMind published
it (Espeholt et al., 2018): actors roll out inside of their graphs and put rollouts into a queue of
the learner's, whose weights they copy once before each. No restarts, no checkpoints, no logs, and
episodes that a time limit cuts end like others.

`python -m rlg.bench.handwritten_cluster TASK INDEX` is the process of an actor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import CallableOptions

from rlg.bench.handwritten_convolutions import Network
from rlg.envs import VectorEnv, make_env

LEARNER = "/job:learner/task:0"
GAMMA, ENTROPY, BASELINE = 0.99, 0.01, 0.5
POLL = 0.1  # seconds between looks for the learner


@dataclass(frozen=True)
class Task:
    """What all tasks of a cluster are told.

    `acting` is "fused": a rollout is one call of the session. With "copying" it copies the weights
    before each step, with "outside" each step is a call and Python steps the environments.
    """

    learner: str  # addresses
    actors: Sequence[str]
    env: Mapping[str, Any]  # of `make_env`
    network: str
    n_steps: int
    batch_rollouts: int
    queue: int
    acting: str = "fused"

    def server(self, job: str, index: int) -> Any:
        """One thread for operations, and one for what others ask of it."""
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=1, inter_op_parallelism_threads=2
        )
        spec = {"learner": [self.learner], "actor": list(self.actors)}
        return tf.compat.v1.train.Server(spec, job, index, config=config)


class Shared:
    """What lies on the learner: the weights and the queue."""

    def __init__(self, task: Task, env: VectorEnv) -> None:
        space: Any = env.observation_space
        self.shape, self.dtype = list(space.shape), tf.as_dtype(space.dtype)
        actions: Any = env.action_space
        self.actions = int(actions.num_categories)
        count, steps = env.num_envs, task.n_steps
        with tf.device(f"{LEARNER}/device:CPU:0"):
            with tf.name_scope("shared"):
                self.policy = Network(task.network, self.shape, self.actions)
            shapes = [[steps + 1, count, *self.shape], *([[steps, count]] * 4)]
            dtypes = [self.dtype, tf.int64, tf.float32, tf.float32, tf.bool]
            self.queue = tf.queue.FIFOQueue(task.queue, dtypes, shapes, shared_name="rollouts")


def session_of(server: Any, *tasks: str) -> Any:
    config = tf.compat.v1.ConfigProto(device_filters=list(tasks))
    return tf.compat.v1.Session(server.target, config=config)


# -- the learner -----------------------------------------------------------------------------------
class Learner:
    """Learns from what its actors, processes of their own, put into the queue."""

    def __init__(self, task: Task) -> None:
        self.task = task
        server = task.server("learner", 0)
        with make_env(**task.env) as env, tf.Graph().as_default():
            self.steps = task.batch_rollouts * task.n_steps * env.num_envs  # of an update
            shared = Shared(task, env)
            with tf.device(f"{LEARNER}/device:CPU:0"):
                items = [shared.queue.dequeue() for _ in range(task.batch_rollouts)]
                loss, train = learning(
                    shared.policy, [tf.concat(c, 1) for c in zip(*items, strict=True)]
                )
                size = shared.queue.size()
            session = session_of(server, LEARNER)
            session.run(tf.compat.v1.global_variables_initializer())
            self._update = session.make_callable([loss, train])
            self._size = session.make_callable(size)
        words = [sys.executable, "-m", __spec__.name, json.dumps(asdict(task))]
        self.actors = [
            subprocess.Popen([*words, str(index)], stdin=subprocess.PIPE)
            for index in range(len(task.actors))
        ]

    def update(self) -> float:
        """One step from the oldest rollouts; waits for them."""
        return float(self._update()[0])

    def waiting(self) -> int:
        return int(self._size())

    def close(self) -> None:
        for process in self.actors:
            process.kill()
            process.wait()


def learning(policy: Network, batch: Sequence[Any]) -> tuple[Any, Any]:
    """The loss of a batch of rollouts, time first, and the operation that descends by it."""
    states, actions, behaviour, rewards, ends = batch
    logits, values = policy.heads(states)
    log_probs = tf.nn.log_softmax(logits[:-1])
    chosen = -tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits[:-1])
    discounts = GAMMA * (1.0 - tf.cast(ends, tf.float32))
    weights = tf.minimum(1.0, tf.exp(chosen - behaviour))
    rewards = tf.clip_by_value(rewards, -1.0, 1.0)
    targets = vtrace(rewards, values, weights, discounts)
    following = tf.concat([targets[1:], values[-1:]], 0)
    advantages = tf.stop_gradient(weights * (rewards + discounts * following - values[:-1]))
    losses = -chosen * advantages
    losses += 0.5 * BASELINE * tf.square(tf.stop_gradient(targets) - values[:-1])
    losses += ENTROPY * tf.reduce_sum(tf.exp(log_probs) * log_probs, -1)
    loss = tf.reduce_mean(tf.reduce_sum(losses, 0))
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, policy.variables), 1.25)
    optimizer = tf.compat.v1.train.RMSPropOptimizer(6e-4, decay=0.99, epsilon=1e-4)
    return loss, optimizer.apply_gradients(zip(gradients, policy.variables, strict=True))


def vtrace(rewards: Any, values: Any, weights: Any, discounts: Any) -> Any:
    """Value targets [T, N]; `values` [T + 1, N], `weights` bounded by 1."""
    deltas = weights * (rewards + discounts * values[1:] - values[:-1])
    factors = discounts * weights
    traced, found = tf.zeros_like(values[0]), []
    for t in reversed(range(deltas.shape[0])):
        traced = deltas[t] + factors[t] * traced
        found.append(traced)
    return tf.stack(found[::-1]) + values[:-1]


# -- actors ----------------------------------------------------------------------------------------
class Actor:
    """Rolls out by a copy of the learner's weights."""

    def __init__(self, task: Task, index: int, env: VectorEnv) -> None:
        self.task, self.env = task, env
        me = f"/job:actor/task:{index}"
        server = task.server("actor", index)
        self.shared = Shared(task, env)
        with tf.device(f"{me}/device:CPU:0"):
            self.policy = Network(task.network, self.shared.shape, self.shared.actions)
            missing = tf.compat.v1.report_uninitialized_variables(self.shared.policy.variables)
            self.seen = env.reset()
            self.rollout = self._outside if task.acting == "outside" else self._fused
            operations = self._stepwise() if task.acting == "outside" else [self._whole()]
        self.session = session_of(server, LEARNER, me)
        while len(self.session.run(missing)):
            time.sleep(POLL)
        self._calls = [self._callable(*operation) for operation in operations]

    def _callable(self, feeds: Sequence[Any], fetches: Sequence[Any]) -> Callable[..., Any]:
        """What `make_callable` makes, without its four times slower look at feeds."""
        options = CallableOptions()
        options.feed.extend(feed.name for feed in feeds)
        options.fetch.extend(fetch.name for fetch in fetches)
        run: Callable[..., Any] = self.session._make_callable_from_options(options)
        return run

    def _copied(self) -> Any:
        """The operation that copies the learner's weights."""
        pairs = zip(self.policy.variables, self.shared.policy.variables, strict=True)
        return tf.group([mine.assign(theirs, read_value=False) for mine, theirs in pairs])

    def _drawn(self, states: Any) -> tuple[Any, Any]:
        """Actions and their log-probabilities."""
        logits, _ = self.policy.heads(states)
        actions = tf.random.categorical(logits, 1)[:, 0]
        return actions, -tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits)

    def _step(self, actions: Any) -> tuple[Any, Any, Any]:
        found = self.env.step(actions)
        self.seen = found.observations
        return self.seen, found.rewards, found.terminals | found.truncations

    def _put(self, rollout: Sequence[Any]) -> Any:
        with tf.control_dependencies([self.shared.queue.enqueue(rollout)]):
            return tf.constant(True)

    # -- a rollout as one call --------------------------------------------------------------------
    def _fused(self) -> None:
        self._calls[0]()

    def _whole(self) -> tuple[list[Any], list[Any]]:
        steps, shared, count = self.task.n_steps, self.shared, self.env.num_envs
        each_step = self.task.acting == "copying"

        def body(t: Any, states: Any, kept: Any) -> Any:
            with tf.control_dependencies([self._copied()] if each_step else []):
                actions, log_probs = self._drawn(states)
            dtypes = [shared.dtype, tf.float32, tf.bool]
            following, rewards, ends = tf.numpy_function(self._step, [actions], dtypes)
            columns = (states, actions, log_probs, rewards, ends)
            kept = [array.write(t, column) for array, column in zip(kept, columns, strict=True)]
            return t + 1, tf.ensure_shape(following, states.shape), kept

        rows = [[count, *shared.shape], *([[count]] * 4)]
        dtypes = [shared.dtype, tf.int64, tf.float32, tf.float32, tf.bool]
        kept = [
            tf.TensorArray(dtype, steps + (n == 0), element_shape=row)
            for n, (dtype, row) in enumerate(zip(dtypes, rows, strict=True))
        ]
        with tf.control_dependencies([] if each_step else [self._copied()]):
            first = tf.numpy_function(lambda: self.seen, [], shared.dtype)
            _, last, kept = tf.while_loop(
                lambda t, *_: t < steps,
                body,
                (tf.constant(0), tf.ensure_shape(first, rows[0]), kept),
                parallel_iterations=1,
            )
            kept[0] = kept[0].write(steps, last)
        return [], [self._put([array.stack() for array in kept])]

    # -- a call for each step ---------------------------------------------------------------------
    def _outside(self) -> None:
        copy, draw, put = self._calls
        copy()
        columns: list[list[Any]] = [[self.seen], [], [], [], []]
        for _ in range(self.task.n_steps):
            drawn, certain = draw(self.seen)
            seen, reward, end = self._step(drawn)
            for column, value in zip(columns, (seen, drawn, certain, reward, end), strict=True):
                column.append(value)
        put(*map(np.stack, columns))

    def _stepwise(self) -> list[tuple[list[Any], list[Any]]]:
        place = tf.compat.v1.placeholder
        shared, count, steps = self.shared, self.env.num_envs, self.task.n_steps
        states = place(shared.dtype, [count, *shared.shape])
        dtypes = (tf.int64, tf.float32, tf.float32, tf.bool)
        columns = [place(shared.dtype, [steps + 1, count, *shared.shape])]
        columns += [place(dtype, [steps, count]) for dtype in dtypes]
        with tf.control_dependencies([self._copied()]):
            copied = tf.constant(True)
        return [
            ([], [copied]),
            ([states], list(self._drawn(states))),
            (columns, [self._put(columns)]),
        ]


def main(text: str, index: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task = Task(**json.loads(text))
    seed = int(task.env.get("seed", 0)) + index
    try:
        with make_env(**{**task.env, "seed": seed}) as env, tf.Graph().as_default():
            actor = Actor(task, index, env)
            while True:
                actor.rollout()
    except BaseException:  # noqa: BLE001 whatever it is, this process has to end
        traceback.print_exc()
    os._exit(1)  # Python would close the session first, which a learner that is gone never answers.


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
