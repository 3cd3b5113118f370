"""Exported policies act as their runs do, in programs that have no rlg."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.api.agents.on_policy import OnPolicyAgent
from rlg.api.agents.random import RandomAgent
from rlg.api.export.export import policy_of
from rlg.api.export.formats import FORMATS
from rlg.api.export.greedy import GreedyPolicy
from rlg.api.export.parity import check_parity
from rlg.errors import ExportError
from rlg.execution.types import Action
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.spaces import FloatBox, IntBox, Tuple
from tests.api.exporting import CASES, untrained
from tests.api.test_on_policy import DoublingAgent


def compared(case, to, folder, backend):
    """The parity of a case's file with the agent on a backend, and the policy."""
    run, kind = untrained(case, backend), FORMATS[to]
    policy = policy_of(run, kind)
    path = folder / f"policy{kind.suffix}"
    kind.write(policy, path, "A policy.")
    loaded = kind.load(path, policy)
    return check_parity(run.agent, policy, loaded, run.config["env"], 32, seed=3), policy


@pytest.mark.parametrize("case", CASES)
def test_numpy_acts_as_every_agent_does_on_torch(case, tmp_path):
    parity, _ = compared(case, "numpy", tmp_path, "torch")
    assert parity.agrees, parity.line
    assert parity.observations == 33
    # To the rounding of float32; an image's sums are larger.
    assert parity.largest_difference < (1e-3 if case == "ppo_nested" else 1e-5)


# Feed-forward, recurrent with what it remembers of rewards, images, masks, scaled actions.
SOME = ["rainbow", "impala_lstm", "pong", "ppo_masks", "dqn_masks", "sac", "ppo_squashed"]


@pytest.mark.parametrize("case", SOME)
@pytest.mark.parametrize("to", ["torch", "savedmodel"])
def test_files_of_frameworks_act_as_agents_do_on_numpy(case, to, tmp_path):
    parity, _ = compared(case, to, tmp_path, "numpy")
    assert parity.agrees, parity.line


@pytest.mark.parametrize("case", ["ppo_lstm", "ppo_nested"])
def test_onnx_files_act_as_agents_do(case, tmp_path):
    parity, _ = compared(case, "onnx", tmp_path, "numpy")
    assert parity.agrees, parity.line


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("to", ["torch", "savedmodel", "onnx"])
def test_every_agent_can_be_exported_to_every_format(case, to, tmp_path):
    parity, _ = compared(case, to, tmp_path, "numpy")
    assert parity.agrees, parity.line


# -- without rlg ----------------------------------------------------------------------------------
ALONE = """
import importlib.abc, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {refused!r}:
            raise ImportError(f"{{name}} is not allowed here")

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {folder!r})
import numpy as np
inputs = dict(np.load({folder!r} + "/inputs.npz"))
{program}
for name, value in dict(np.load({folder!r} + "/outputs.npz")).items():
    np.testing.assert_allclose(np.asarray(outputs[name]), value, rtol=1e-4, atol=1e-5)
assert {{name.partition(".")[0] for name in sys.modules}}.isdisjoint({refused!r})
print(sorted(outputs))
"""
PROGRAMS = {
    "numpy": (
        {"rlg", "torch", "tensorflow", "numba", "gymnasium", "ray"},
        "from policy import Policy\noutputs = Policy()(**inputs)",
    ),
    "torch": (
        {"rlg", "numba", "gymnasium", "ray"},
        (
            "import torch\nmodule = torch.export.load({folder!r} + '/policy.pt2').module()\n"
            "with torch.no_grad():\n    outputs = module(*map(torch.from_numpy, inputs.values()))"
        ),
    ),
    "savedmodel": (
        {"rlg", "torch", "gymnasium", "ray"},
        (
            "import tensorflow as tf\nmodel = tf.saved_model.load({folder!r} + '/policy')\n"
            "outputs = model.signatures['serving_default'](\n"
            "    **{{k: tf.constant(v) for k, v in inputs.items()}})"
        ),
    ),
    "onnx": (
        {"rlg", "torch", "tensorflow", "gymnasium", "ray"},
        (
            "import onnxruntime\n"
            "session = onnxruntime.InferenceSession({folder!r} + '/policy.onnx')\n"
            "names = [output.name for output in session.get_outputs()]\n"
            "outputs = dict(zip(names, session.run(names, inputs)))"
        ),
    ),
}


@pytest.mark.parametrize("to", PROGRAMS)
def test_a_program_without_rlg_loads_a_recurrent_policy_and_gets_the_same(to, tmp_path):
    run, kind = untrained("ppo_lstm", "torch"), FORMATS[to]
    policy = policy_of(run, kind)
    kind.write(policy, tmp_path / f"policy{kind.suffix}", "A policy.")
    rng = np.random.default_rng(2)
    state = run.agent.state_space.sample(rng, batch=5)
    observations = rng.normal(size=(5, 4)).astype("float32")
    resets = np.array([True, False, False, True, False])
    action = run.agent.act(observations, state, resets, _clock(), explore=False)
    names = ["state_policy_c", "state_policy_h", "state_value_c", "state_value_h"]
    flat = [state[a][b] for a in ("policy", "value") for b in sorted(state[a])]
    after = [action.state[a][b] for a in ("policy", "value") for b in sorted(state[a])]
    inputs = {"observations": observations, **dict(zip(names, flat, strict=True))}
    assert list(policy.inputs) == [*inputs, "resets"]
    np.savez(tmp_path / "inputs.npz", **inputs, resets=resets)
    later = [f"next_{name}" for name in names]
    outputs = {"actions": action.env, **dict(zip(later, after, strict=True))}
    np.savez(tmp_path / "outputs.npz", **outputs)
    refused, program = PROGRAMS[to]
    folder = str(tmp_path)
    code = ALONE.format(refused=refused, folder=folder, program=program.format(folder=folder))
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.replace("'", '"')) == ["actions", *later]


def _clock():
    from rlg.execution.types import Clock

    return Clock()


def test_a_module_of_numpy_says_what_it_takes(tmp_path):
    run, kind = untrained("dqn", "numpy"), FORMATS["numpy"]
    policy = policy_of(run, kind)
    kind.write(policy, tmp_path / "policy.py", "The policy of a test.")
    text = (tmp_path / "policy.py").read_text()
    assert text.startswith('"""The policy of a test.')
    assert "# agent/policy/network/dense-0" in text
    assert "epsilon" not in text  # what exploration takes is not there
    loaded = kind.load(tmp_path / "policy.py", policy)
    with pytest.raises(ValueError, match=r"observations: expected \[batch, \*\(4,\)\]"):
        loaded(observations=np.zeros((2, 3), np.float32))
    with pytest.raises(TypeError, match="the policy takes observations; got states"):
        loaded(states=np.zeros((2, 4), np.float32))
    with pytest.raises(TypeError, match="same_kind"):
        loaded(observations=np.zeros((2, 4), np.complex64))
    assert loaded(np.zeros((2, 4), np.float64))["actions"].shape == (2,)
    assert loaded.initial_state(3) == {}


def test_a_recurrent_module_has_its_first_state(tmp_path):
    run, kind = untrained("dqn_lstm", "numpy"), FORMATS["numpy"]
    policy = policy_of(run, kind)
    kind.write(policy, tmp_path / "policy.py", "A policy.")
    state = kind.load(tmp_path / "policy.py", policy).initial_state(3)
    assert {name: value.shape for name, value in state.items()} == {
        "state_c": (3, 8),
        "state_h": (3, 8),
    }


BOUNDS = {
    "both": (FloatBox(-1.0, 1.0), [-1.0, 0.5, 1.0]),
    "below": (FloatBox(low=-1.0), [-1.0, 0.5, 6.0]),
    "above": (FloatBox(high=1.0), [-4.0, 0.5, 1.0]),
}


@pytest.mark.parametrize("case", BOUNDS)
@pytest.mark.parametrize("to", ["numpy", "savedmodel"])
def test_actions_that_an_agent_clips_are_clipped_in_its_file(case, to, tmp_path):
    box, expected = BOUNDS[case]
    agent, kind = DoublingAgent(FloatBox(), Tuple(IntBox(), box)), FORMATS[to]
    agent.build(roles=["actor"], executor=kind.executor())
    policy = GreedyPolicy(agent)
    kind.write(policy, tmp_path / f"policy{kind.suffix}", "A policy.")
    loaded = kind.load(tmp_path / f"policy{kind.suffix}", policy)
    found = loaded(observations=np.float32([-2.0, 0.25, 3.0]))
    np.testing.assert_array_equal(found["actions_1"], np.float32(expected))


class Shifting(Component):
    """Acts by what it sees, times one number, plus a number for each environment."""

    @api
    def act(self, states: Any, factor: Any, offsets: Any, explore: Static[bool] = True) -> Any:
        return self.shifted(states, factor, offsets)

    @graph_fn
    def shifted(self, states: Tensor, factor: Tensor, offsets: Tensor) -> Tensor:
        return states * factor + offsets


class ShiftingAgent(OnPolicyAgent):
    def make_root(self) -> Component:
        return Shifting().configure(scope="agent")

    def input_spaces(self) -> dict[str, Any]:
        return {"states": FloatBox(), "factor": FloatBox(ranks=""), "offsets": FloatBox()}

    def act(self, observations, state, resets, clock, *, explore=True):
        numbers = np.float32(3.0), np.full(len(observations), 0.5, np.float32)
        found = self.executor.execute("act", observations, *numbers, explore)
        return Action(found, {"actions": found})


@pytest.mark.parametrize("to", ["numpy", "savedmodel"])
def test_what_acting_always_hands_to_its_graph_is_part_of_the_file(to, tmp_path):
    agent, kind = ShiftingAgent(FloatBox(), FloatBox()), FORMATS[to]
    agent.build(roles=["actor"], executor=kind.executor())
    policy = GreedyPolicy(agent)
    kind.write(policy, tmp_path / f"policy{kind.suffix}", "A policy.")
    loaded = kind.load(tmp_path / f"policy{kind.suffix}", policy)
    found = loaded(observations=np.float32([-1.0, 0.0, 2.0, 4.0]))
    np.testing.assert_array_equal(found["actions"], np.float32([-2.5, 0.5, 6.5, 12.5]))


# -- what is compared, and what can't be exported --------------------------------------------------
def test_a_file_that_acts_differently_is_found_out(tmp_path):
    run, kind = untrained("ppo_normal", "numpy"), FORMATS["numpy"]
    policy = policy_of(run, kind)
    kind.write(policy, tmp_path / "policy.py", "A policy.")
    loaded = kind.load(tmp_path / "policy.py", policy)
    last = len(loaded.weights) - 1
    name = sorted(name for name in loaded.weights if name.endswith("bias"))[0]
    assert last > 0
    loaded.weights[name] = loaded.weights[name] + np.float32(0.5)
    parity = check_parity(run.agent, policy, loaded, run.config["env"], 16, seed=3)
    assert not parity.agrees
    assert parity.equal_actions < parity.observations == 17
    assert parity.largest_difference > 0.01


def test_rows_are_compared_one_by_one():
    from rlg.api.export.parity import _Count

    count = _Count()
    actions = np.array([[1.0, 2.0], [3.0, 4.0], [5000.0, 0.0]], np.float32)
    found = actions + np.float32([[0.0, 0.0005], [0.004, 0.0], [2.0, 0.0]])
    count.add(
        {"actions": actions, "next_state_h": actions}, {"actions": found, "next_state_h": actions}
    )
    assert (count.rows, count.equal) == (3, {"actions": 2, "state": 3})
    assert count.largest == pytest.approx(2.0)
    choices = np.array([1, 0, 2])
    count.add({"actions": choices}, {"actions": np.array([1, 1, 2])})
    assert (count.rows, count.equal) == (6, {"actions": 4, "state": 6})
    count.add({"actions": choices}, {"actions": choices.astype("float32")})
    assert (count.rows, count.equal["actions"], count.largest) == (9, 4, np.inf)
    count.add({"actions": actions}, {"actions": np.full_like(actions, np.nan)})
    assert (count.rows, count.equal["actions"]) == (12, 4)


def test_agents_without_a_policy_are_refused():
    agent = RandomAgent(FloatBox(shape=(3,)), IntBox(2))
    agent.build(BuildOptions("numpy"), roles=["actor"])
    with pytest.raises(ExportError, match="RandomAgent: its actions are drawn at random"):
        GreedyPolicy(agent)


class Doubled(DQNAgent):
    def act(self, observations, state, resets, clock, *, explore=True):
        action = super().act(observations, state, resets, clock, explore=explore)
        return action._replace(env=action.env * 2)


class Twice(DQNAgent):
    def act(self, observations, state, resets, clock, *, explore=True):
        super().act(observations, state, resets, clock, explore=explore)
        return super().act(observations, state, resets, clock, explore=explore)


class Counting(DQNAgent):
    def act(self, observations, state, resets, clock, *, explore=True):
        numbered = observations + np.arange(len(observations), dtype="float32")[:, None]
        return super().act(numbered, state, resets, clock, explore=explore)


REFUSED = {
    Doubled: "Doubled: its actions are not those that its graph returns.",
    Twice: "Twice: acting takes 2 calls of its graph",
    Counting: "Counting: acting hands its graph something that differs between environments",
}


class Counter(Component):
    """Counts its calls, in a variable."""

    def create_variables(self, *, inputs):
        self.calls = self.variable("calls")

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        self.ops.assign_add(self.calls, 1.0)
        return inputs * 1.0


def test_policies_that_write_variables_are_refused():
    network = {"type": "stack", "layers": [Counter(), {"type": "dense", "units": 4}]}
    agent = DQNAgent(FloatBox(shape=(3,)), IntBox(2), network=network)
    agent.build(BuildOptions("numpy"), roles=["actor"])
    with pytest.raises(ExportError, match="DQNAgent: acting changes variables of its graph"):
        GreedyPolicy(agent)


@pytest.mark.parametrize("cls", REFUSED)
def test_what_agents_do_beside_their_graph_is_refused(cls):
    agent = cls(FloatBox(shape=(3,)), IntBox(2), network="mlp")
    agent.build(BuildOptions("numpy"), roles=["actor"])
    with pytest.raises(ExportError, match=REFUSED[cls]):
        GreedyPolicy(agent)
