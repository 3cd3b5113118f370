"""One replica per device: where its operations run, and that it learns what one replica learns."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from rlg.backends.executor import make_executor
from rlg.backends.tf import devices as tf_devices
from rlg.backends.torch import devices as torch_devices
from rlg.backends.torch.transfer import Moving, to_device
from rlg.errors import BackendError
from rlg.graph.spaces import FloatBox
from tests.backends.test_replicas import Parts, Slope, floats

# TensorFlow takes the number of logical devices before its first use: a process of its own.
CPUS = """
import json, sys
import numpy as np
import tensorflow as tf
from rlg.backends.executor import make_executor
from rlg.backends.tf.traced import operations
from rlg.errors import BackendError
from rlg.graph.spaces import FloatBox
from tests.backends.test_replicas import Parts, Slope
from tests.components.test_dqn_replicas import course, learner

TWO = ["CPU:0", "CPU:1"]
found = {}

def devices_of(executor):
    graph = tf.compat.v1.GraphDef.FromString(operations(executor, "update_from")["update_from"])
    return [[node.name, node.op, node.device] for node in graph.node]

def differences(one, other):
    return [np.abs(np.asarray(a, "float64") - b).max() for a, b in zip(one, other, strict=True)]

plain = learner("tf", 1, replica_devices=TWO)
found["replicas"], found["devices"] = plain.replicas, list(plain.replica_devices)
found["operations"] = devices_of(plain)
found["variables"] = sorted({
    info.variable.device for info in plain.builder.binding.variables.values()
    if not isinstance(info.variable, np.ndarray)
})
one = course(learner("tf", 1), updates=8)
ways = {
    "function": ("tf", {"replica_devices": TWO}),
    "session": ("tf-graph", {"replica_devices": TWO}),
    "by run": ("tf", {"replica_devices": TWO, "define_by_run": True}),
    "backwards": ("tf", {"replica_devices": TWO[::-1]}),
    "one device": ("tf", {"device": "CPU:1"}),
}
found["courses"] = {
    way: float(max(differences(one, course(learner(backend, 1, **words), updates=8))))
    for way, (backend, words) in ways.items()
}
words = {"dqn/policy": {"ops": "CPU:0", "variables": "CPU:1"}, "dqn/loss": "CPU:1"}
mapped = learner("tf", 1, devices=words, replica_devices=["CPU:0", "CPU:0"])
found["mapped"] = devices_of(mapped)
found["kept apart"] = {
    path: info.variable.device for path, info in mapped.builder.binding.variables.items()
    if not isinstance(info.variable, np.ndarray)
}
moved = learner("tf", 1, device="CPU:1")
found["moved"] = sorted({device for _, op, device in devices_of(moved) if op == "MatMul"})
try:
    make_executor("tf", device="CPU:2")
except BackendError as error:
    found["late"] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def on_cpus() -> Any:
    run = subprocess.run(
        [sys.executable, "-c", CPUS], capture_output=True, text=True, check=False, timeout=600
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


def places(operations: list[list[str]], scope: str, kind: str) -> list[str]:
    """The devices of a component's operations of one kind, in the order of the program."""
    found = [device for name, op, device in operations if name.startswith(scope) and op == kind]
    return [device.rpartition("/device:")[2] for device in found]


# -- TensorFlow: logical devices of the CPU --------------------------------------------------------
def test_each_replica_of_tensorflow_computes_on_its_own_device(on_cpus):
    assert (on_cpus["replicas"], on_cpus["devices"]) == (2, ["CPU:0", "CPU:1"])
    operations = on_cpus["operations"]
    # Forward, then backward with respect to the kernel: once in each replica.
    assert set(places(operations, "dqn/policy/network/dense-0/", "MatMul")) == {"CPU:0", "CPU:1"}
    assert set(places(operations, "dqn/loss/", "Mean")) == {"CPU:0", "CPU:1"}
    gradients = places(operations, "dqn/optimizer/gradients", "MatMul")
    assert gradients.count("CPU:0") == gradients.count("CPU:1") > 0


def test_variables_and_what_is_outside_of_replicas_stay_on_the_device(on_cpus):
    assert [v.rpartition("/device:")[2] for v in on_cpus["variables"]] == ["CPU:0"]
    kinds = {"SplitV": 0, "MulNoNan": 0, "ResourceApplyAdam": 0}
    for _, kind, device in on_cpus["operations"]:
        if kind in kinds:
            kinds[kind] += 1
            assert device.endswith("CPU:0"), kind
    # Five columns of records; the mean of a loss and of six gradients over two replicas; six steps.
    assert kinds == {"SplitV": 5, "MulNoNan": 14, "ResourceApplyAdam": 6}


@pytest.mark.parametrize("way", ["function", "session", "by run", "backwards", "one device"])
def test_replicas_on_devices_learn_what_one_replica_learns(on_cpus, way):
    assert on_cpus["courses"][way] < 1e-5


def test_operations_and_variables_are_placed_apart_by_the_map(on_cpus):
    variables = on_cpus["kept apart"]
    kernel = variables["dqn/policy/network/dense-0/kernel"]
    assert kernel.endswith("CPU:1")
    assert variables["dqn/target_policy/network/dense-0/kernel"].endswith("CPU:0")
    operations = on_cpus["mapped"]
    assert set(places(operations, "dqn/policy/network/", "MatMul")) == {"CPU:0"}
    # What the map places stays there in every replica.
    assert set(places(operations, "dqn/loss/", "Mean")) == {"CPU:1"}


def test_all_of_tensorflow_computes_on_the_device_that_is_asked_for(on_cpus):
    assert [device.rpartition("/device:")[2] for device in on_cpus["moved"]] == ["CPU:1"]


def test_logical_devices_that_come_too_late_get_a_line(on_cpus):
    assert on_cpus["late"] == (
        "CPU:2: this process has used TensorFlow with 2 of the CPU's logical devices already. Make "
        "the executor that needs most of them first."
    )


# -- torch -----------------------------------------------------------------------------------------
def test_replicas_of_torch_on_several_cpus_learn_what_one_learns():
    expected: Any = None
    for words in ({}, {"replica_devices": ["cpu", "cpu"]}, {"replica_devices": ["cpu:0"]}):
        executor = make_executor("torch", **words)
        executor.build(Slope(), {"x": FloatBox()}, apis=["call"])
        assert executor.replicas == len(words.get("replica_devices", [1]))
        gradients, loss = executor.execute("call", floats(1, 2, 3, 4, 10))
        expected = expected or (gradients["w"], loss)
        np.testing.assert_allclose([gradients["w"], loss], expected, rtol=1e-5)
        executor.close()


def test_operations_inside_of_a_move_run_on_its_device():
    """On meta, torch's device without values: this machine may have no other."""
    weight = torch.ones(3, requires_grad=True)
    with Moving("meta"):
        x = torch.arange(3.0, device="cpu")
        y = 2.0 * (weight * x).sum() + torch.cat([torch.zeros(2), x]).sum()
        z = weight.to("cpu")
        stacked = torch.stack([weight, x])
        whole = weight.to(torch.float64)
    assert [t.device.type for t in (x, y, z, stacked, whole)] == ["meta"] * 5
    assert whole.dtype == torch.float64
    assert (torch.arange(3.0).device.type, weight.device.type) == ("cpu", "cpu")


class Elsewhere(Moving):
    """Believes that everything is elsewhere, so that the CPU stands in for two devices."""

    copies = 0

    def _moved(self, value: Any) -> Any:
        is_leaf = isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad
        return self._copy(value) if is_leaf else super()._moved(value)

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        before = len(self._copies)
        copy = super()._copy(tensor)
        if len(self._copies) > before:
            self.copies += 1
        return copy


def test_gradients_pass_from_copies_to_their_variables_and_copies_are_made_once():
    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    mode = Elsewhere("cpu")
    with mode:
        with torch.no_grad():
            constant = (weight * 3.0).sum()
        loss = (weight * weight).sum() * constant
        (gradient,) = torch.autograd.grad(loss, [weight])
    # 2 w * 9: the constant has none.
    assert gradient.tolist() == [18.0, 36.0]
    # One without autograd, one with it.
    assert mode.copies == 2


def test_trees_move_as_a_whole():
    tree = {"a": torch.ones(2), "b": (torch.ones(1), None, "word")}
    moved = to_device(tree, "meta")
    assert (moved["a"].device.type, moved["b"][0].device.type) == ("meta", "meta")
    assert moved["b"][1:] == (None, "word")


def test_a_replica_elsewhere_runs_in_a_move_and_its_outputs_come_back(monkeypatch):
    executor = make_executor("torch", replica_devices=["cpu", "cpu"])
    assert executor.placed(len, "cpu") is len
    seen: list[str] = []

    def body(part: Any) -> Any:
        seen.append((part["x"] + 1.0).device.type)
        return part["x"].device.type, torch.ones(2)

    executor.device = "meta"
    kind, ones = executor.placed(body, "cpu")({"x": torch.ones(2, device="cpu")})
    assert (seen, kind, ones.device.type) == (["cpu"], "cpu", "meta")


# -- names -----------------------------------------------------------------------------------------
def test_auto_is_the_first_accelerator_or_the_cpu():
    assert torch_devices.check("auto", ["cpu", "cuda:0", "cuda:1"]) == "cuda:0"
    assert torch_devices.check("Auto", ["cpu"]) == "cpu"
    assert tf_devices.check("auto", ["CPU:0", "GPU:0", "GPU:1"]) == "GPU:0"
    assert tf_devices.check("auto", ["CPU:0", "CPU:1"]) == "CPU:0"
    assert make_executor("numpy", device="auto").device == "cpu"


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_automatic_places_are_all_accelerators(backend, monkeypatch):
    executor = make_executor(backend, replicas=3, replica_devices="auto")
    assert (executor.replicas, executor.replica_devices) == (3, ())
    monkeypatch.setattr(type(executor), "accelerators", lambda self: ["gpu:0", "gpu:1"])
    monkeypatch.setattr(type(executor), "check_device", lambda self, device: device)
    executor = make_executor(backend, replica_devices="auto")
    assert (executor.replicas, executor.replica_devices) == (2, ("gpu:0", "gpu:1"))


def test_accelerators_are_what_is_not_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert torch_devices.accelerators() == ["cuda:0", "cuda:1"]
    monkeypatch.setattr(tf_devices, "physical", lambda: ["CPU:0", "GPU:0", "GPU:1"])
    assert tf_devices.accelerators() == ["GPU:0", "GPU:1"]
    assert tf_devices.possible()[-3:] == ["CPU:63", "GPU:0", "GPU:1"]


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_the_number_of_replicas_is_that_of_their_devices(backend):
    executor = make_executor(backend, replicas=2, replica_devices=["cpu", "cpu"])
    executor.build(Parts(), {"x": FloatBox()}, apis=["call"])
    doubled, _, sizes = executor.execute("call", floats(1, 2, 3))
    assert (doubled.tolist(), sizes.tolist()) == ([2, 4, 6], [2, 2, 1])
    # Fewer items than devices.
    assert executor.execute("call", floats(7))[0].tolist() == [14]
    executor.close()
    with pytest.raises(BackendError) as error:
        make_executor(backend, replicas=3, replica_devices=["cpu", "cpu"])
    assert str(error.value) == (
        "replicas is 3, but replica_devices names 2: cpu, cpu. There is one replica for each; "
        "leave replicas out."
    )


def test_threads_of_tensorflow_are_for_all_devices(monkeypatch):
    import tensorflow as tf

    counts: list[int] = []
    setter = "set_inter_op_parallelism_threads"
    monkeypatch.setattr(tf.config.threading, setter, counts.append)
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", lambda n: None)
    make_executor("tf", threads=2, replica_devices=["CPU:0", "CPU:0", "CPU:0"])
    assert counts == [6]


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_devices_that_are_not_here_are_refused(backend):
    with pytest.raises(BackendError, match=r"(?i)no device 'GPU:5' here; available: cpu(:0)?\.$"):
        make_executor(backend, replica_devices=["cpu", "GPU:5"])
