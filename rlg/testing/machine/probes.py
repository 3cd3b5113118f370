"""Small real computations, one process each: `python -m rlg.testing.machine.probes torch`.

In processes of their own, because a broken framework may not raise an error but crash. Each probe
returns one line on what it saw, and may need up to a minute on a cold disk.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np


def torch() -> str:
    """A gradient, and the devices."""
    torch: Any = import_module("torch")
    x = torch.arange(3.0, requires_grad=True)
    (x @ x).backward()
    _expect(x.grad.tolist(), [0.0, 2.0, 4.0])
    devices = import_module("rlg.backends.torch.devices").available()
    return f"computes; devices: {', '.join(devices)}; {torch.get_num_threads()} threads by itself"


def tensorflow() -> str:
    """A gradient in a tf.function, and the devices."""
    tf: Any = import_module("tensorflow")

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x)
        return tape.gradient(y, x)

    found = tf.function(gradient, autograph=False)(tf.constant([0.0, 1.0, 2.0]))
    _expect(found.numpy().tolist(), [0.0, 2.0, 4.0])
    devices = import_module("rlg.backends.tf.devices").available()
    return f"computes; devices: {', '.join(devices)}"


def tf_server() -> str:
    """A server of a cluster of one, and a session on it."""
    tf: Any = import_module("tensorflow")
    v1 = tf.compat.v1
    server = v1.train.Server.create_local_server()
    with tf.Graph().as_default():
        total = tf.constant(20) + tf.constant(22)
        with v1.Session(server.target) as session:
            _expect(int(session.run(total)), 42)
    return "a server starts in this process and computes"


def numba() -> str:
    """A compiled loop."""
    numba: Any = import_module("numba")

    def total(x: Any) -> Any:
        found = 0.0
        for i in range(len(x)):
            found += x[i]
        return found

    _expect(numba.njit(total)(np.arange(5.0)), 10.0)
    return "compiles a kernel"


def ray() -> str:
    """A task on a cluster of one."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray: Any = import_module("ray")
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        logging_level="ERROR",
        log_to_driver=False,
        object_store_memory=80 * 2**20,
    )
    try:
        task = ray.remote(lambda: 42)
        _expect(ray.get(task.remote(), timeout=40), 42)
    finally:
        ray.shutdown()
    return "starts and runs a task"


def atari() -> str:
    """Some frames of Pong."""
    from rlg.envs import env_names, make_env
    from rlg.envs.registry import SHORT_NAMES

    with make_env("pong", num_envs=1) as env:
        shape = env.reset().shape
        env.step(np.zeros(1, np.int64))
    games = len([name for name in env_names() if name not in SHORT_NAMES])
    return f"Pong plays, observations {shape[1:]}; ROMs of {games} games"


def horovod() -> str:
    """Its two frameworks."""
    for framework in ("torch", "tensorflow"):
        import_module(f"horovod.{framework}")
    return "is there for torch and TensorFlow"


def components() -> str:
    """A component, built and executed on NumPy."""
    from rlg.backends.numpy.executor import NumpyExecutor
    from rlg.graph import registry
    from rlg.graph.spaces import FloatBox

    executor = NumpyExecutor()
    executor.build(registry.make({"type": "mlp", "units": [4]}), {"inputs": FloatBox(shape=(3,))})
    found = executor.execute("call", [[1.0, 2.0, 3.0]])
    _expect(found.shape, (1, 4))
    return "a component builds and runs"


PROBES: dict[str, Callable[[], str]] = {
    probe.__name__: probe
    for probe in (components, torch, tensorflow, tf_server, numba, ray, atari, horovod)
}


def _expect(found: Any, wanted: Any) -> None:
    if found != wanted:
        raise ArithmeticError(f"{wanted} was expected, {found} came out")


def main(name: str) -> int:
    """Runs one probe and prints what it saw as JSON, in the last line."""
    try:
        line, state = PROBES[name](), "ok"
    except ModuleNotFoundError as error:
        line, state = f"no module {error.name}", "missing"
    except Exception as error:  # noqa: BLE001 the report says what it was
        line, state = f"{type(error).__name__}: {' '.join(str(error).split())}", "broken"
    sys.stdout.write("\n" + json.dumps([state, line]) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
