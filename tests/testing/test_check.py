"""The check finds what is wrong with a component, names it, and leaves others in peace."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import BackendError, SpaceError, SpecError
from rlg.graph.spaces import Box, Dict, IntBox
from rlg.testing.check import Report, check_component
from rlg.testing.check.calls import calls_of
from rlg.testing.check.differences import difference, misfit
from rlg.testing.check.differentiated import Differentiated
from rlg.testing.check.instance import Instance
from rlg.testing.goldens import GOLDENS, Golden
from tests.testing import wrong

BY_NAME = {golden.name: golden for golden in GOLDENS}
ARRAYS = ("numpy", "torch")
INPUTS = {"inputs": Box((3,))}


def check(name: str, backends: tuple[str, ...] = ARRAYS, **settings) -> Report:
    return check_component(Golden(name, {"type": f"check_{name}"}, INPUTS), backends, **settings)


# -- what is wrong is found -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "backends", "expected"),
    [
        ("other_on_torch", ARRAYS, "call: numpy and torch: outputs are not equal: differs by 0.00"),
        ("other_state_on_torch", ARRAYS,
         "count: numpy and torch: variables are not equal afterwards: `check_"),
        ("hidden_randomness", ARRAYS, "call: numpy and torch: outputs are not equal"),
        ("forgetful", ("numpy",), "numpy: a restored component continues differently: call"),
        ("forgetful", ("torch",), "torch: a restored component continues differently: call"),
        ("unbounded", ("numpy",), "call: numpy: the output is outside of its space: holds 1."),
        ("squeezed", ARRAYS, "call: torch: the output is outside of its space: shape is (3,)"),
        ("reused", ARRAYS, "steps: numpy: a result changes with later calls: return a copy"),
        ("failing_on_torch", ARRAYS, "call: torch: raises RuntimeError: no room"),
        ("cut_on_torch", ARRAYS,
         "call: torch: the gradient by `w` is not the slope of the loss: 0 along a line"),
        ("cut_inputs_on_torch", ARRAYS, "call: torch: the gradient by input `inputs` is not the"),
        ("cut_torch_only", ("numpy", "torch", "tf"),
         "call: torch: the gradient by `w` is not the slope of the loss: 0 along a line"),
        ("cut_on_torch", ("torch", "tf"),
         "call: torch and tf: gradients by `w` are not equal: largest ones 0 and "),
        ("twofold_on_torch", ARRAYS, "call: torch: the gradient by `w` is not the slope of the"),
        ("skewed_on_torch", ("torch", "tf"),
         "call: torch and tf: gradients by `w` are not equal: largest ones"),
        ("cut_inputs_on_torch", ("numpy", "torch", "tf-graph"),
         "call: torch and tf-graph: gradients by input `inputs` are not equal: largest ones 0 and"),
        ("branching", ("numpy", "torch", "tf"), "call: tf: raises OperatorNotAllowedInGraph"),
        ("centred", ("numpy", "torch", "tf"), "tf: the build raises BuildError: centred.call"),
        ("steep", ("torch",), "call: torch: the gradient by input `inputs` is not finite"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(name, backends, expected):
    report = check(name, backends)
    assert not report.passed
    said = [text.replace("other-state-on-torch", "check_") for text in report.problems]
    assert [text for text in said if text.startswith(expected)], report.problems


def test_a_cut_gradient_is_found_where_outputs_are_equal():
    report = check("cut_on_torch", ("numpy", "torch", "tf"))
    assert [row.name for row in report.methods] == ["call", "count", "call(explore=False)"]
    assert report.methods[0].error.absolute < 1e-6
    assert [text.partition(" are not")[0] for text in report.problems] == [
        "call: torch and tf: gradients by `w`",
        "call(explore=False): torch and tf: gradients by `w`",
    ]
    assert [row.verdict for row in report.methods] == ["failed", "ok", "failed"]


def test_only_the_method_that_differs_is_blamed():
    report = check("other_state_on_torch")
    assert {row.name: row.verdict for row in report.methods} == {
        "call": "ok",
        "count": "failed",
        "call(explore=False)": "ok",
    }


def test_a_backend_that_cannot_build_is_a_finding_and_the_others_go_on():
    report = check("centred", ("numpy", "torch", "tf"))
    assert [bool(about.problems) for about in report.backends] == [False, False, True]
    assert report.methods[0].compared == ["numpy", "torch"]


# -- what is right is left in peace ---------------------------------------------------------------
@pytest.mark.parametrize("backends", [ARRAYS, ("torch",), ("numpy", "torch", "tf", "tf-graph")])
@pytest.mark.parametrize("name", ["scaled", "held_back"])
def test_a_right_component_passes(name, backends):
    report = check(name, backends)
    assert report.problems == []
    gradients = report.methods[0].gradients
    way = {
        2: "torch against finite differences on numpy",
        1: "torch against finite differences on torch",
        4: "torch and tf",
    }
    assert (gradients.check, gradients.variables, gradients.inputs) == (way[len(backends)], 1, 1)


def test_differences_below_the_tolerance_are_no_differences():
    assert check("other_on_torch", tolerance=0.01).passed


def test_a_component_of_one_backend_runs_there_and_nowhere_else():
    report = check("torch_only", ("numpy", "torch"))
    assert report.passed
    assert report.backends[0].left_out == "TorchOnly runs on torch only"
    assert report.methods[0].milliseconds.keys() == {"torch"}
    with pytest.raises(SpecError, match=r"can't run on numpy, tf: TorchOnly runs on torch only"):
        check("torch_only", ("numpy", "tf"))


@pytest.mark.parametrize("name", ["dense", "prioritized_replay", "adam", "epsilon_greedy", "gae"])
def test_goldens_pass(name):
    report = check_component(BY_NAME[name], ("numpy", "torch", "tf"), brief=True)
    assert report.problems == []
    assert all(about.restored for about in report.backends)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", BY_NAME)
def test_every_golden_passes_with_all_variants(name):
    report = check_component(BY_NAME[name], ("numpy", "torch", "tf"))
    assert report.problems == []


# -- numbers --------------------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
def test_gradients_are_those_of_the_formula(backend):
    subject = wrong.Scaled(factor=2.0)
    calls = calls_of(subject, INPUTS, None, {}, 4).calls[:1]
    root = Differentiated(subject, calls, ["gradients"])
    instance = Instance(root, {"gradients_0.inputs": Box((3,))}, backend, ["gradients_0"], 0)
    x = np.array([[1.0, -3.0, 0.5], [2.0, 0.0, -0.25]], "float32")
    loss, gradients = instance.executor.execute("gradients_0", x)
    y = 2.0 * x + 1.0  # the outputs
    slope = 1.0 / (1.0 + np.abs(y)) ** 2
    np.testing.assert_allclose(loss, (y / (1.0 + np.abs(y))).sum(), rtol=1e-6)
    np.testing.assert_allclose(gradients["w"], (slope * x).sum(0), rtol=1e-5)
    np.testing.assert_allclose(
        gradients["0/value"], (slope * 2.0 * (1.0 + x * x)).sum(0), rtol=1e-5
    )


def test_errors_are_absolute_and_relative():
    error, reason = difference(
        {"a": np.float32([1.0, 4.0]), "b": np.int64([1])},
        {"a": np.float32([1.5, 4.0]), "b": np.int64([1])},
        1e-5,
    )
    assert (error.absolute, error.relative) == (0.5, 0.125)
    assert reason == "`a` differs by 0.5 (1 and 1.5)"
    assert difference(np.float32(1), np.float64(1), 1.0)[1] == "has dtypes float32 and float64"
    assert difference(np.int64([1, 2]), np.int64([1, 3]), 1.0)[1] == "differs in 1 of 2 values"
    other = "has infinities, or numbers that are none, in other places"
    assert difference(np.float32(np.nan), np.float32(1), 1.0)[1] == other
    assert difference(np.float32(np.inf), np.float32(-np.inf), 1.0)[1] == other
    assert difference(np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), 1.0)[1] is None


def test_outputs_fit_their_space_in_shape_dtype_and_finite_numbers():
    space = Dict({"a": Box((2,))})
    assert misfit(space, {"a": np.zeros((3, 2), "float32")}) is None
    assert misfit(space, {"a": np.zeros((3, 1), "float32")}) is not None
    assert misfit(space, {"a": np.zeros((3, 2))}) == "a: dtype is float64, should be float32"
    assert misfit(space, {"a": np.float32([[0, np.inf]])}) == "a: holds numbers that are not finite"


def test_learning_calls_are_compared_between_frameworks_and_numpy_follows():
    report = check_component(BY_NAME["sgd"], ("numpy", "torch", "tf"), brief=True)
    compared = {row.name: row.compared for row in report.methods}
    assert compared == {
        "apply": ["numpy", "torch", "tf"],
        "call": ["numpy", "torch", "tf"],
        "fit": ["torch", "tf"],
    }
    assert report.problems == []


def test_what_numpy_alone_cannot_do_is_left_out():
    report = check_component(BY_NAME["sgd"], ("numpy",), brief=True)
    assert report.passed
    assert list(report.left_out) == ["fit"]
    assert "forward only" in report.left_out["fit"]


# -- what is called -------------------------------------------------------------------------------
def test_methods_without_a_space_are_left_out_and_said_so():
    golden = Golden("policy", {**BY_NAME["policy"].spec}, {"states": Box((3,))})
    report = check_component(golden, ("numpy",), brief=True)
    assert {row.name for row in report.methods} == {
        "get_actions",
        "get_actions_log_probs",
        "entropy",
        "parameters",
    }
    assert report.left_out["kl"] == "it needs the space of `parameters`: spaces.parameters=..."


def test_a_component_without_any_space_is_refused():
    with pytest.raises(SpecError, match=r"call: it needs the space of `inputs`: spaces.inputs="):
        check_component(Golden("dense", {"type": "dense", "units": 2}), ("numpy",))


def test_spaces_that_fit_nowhere_are_the_users_mistake():
    golden = Golden("dense", {"type": "dense", "units": 2}, {"inputs": IntBox(3)})
    with pytest.raises(SpaceError, match="Dense takes float vectors"):
        check_component(golden, ARRAYS)
    with pytest.raises(BackendError, match="there is no backend"):
        check_component(BY_NAME["dense"], ("abacus",))


def test_static_arguments_without_a_default_are_asked_for():
    with pytest.raises(SpecError, match=r"`exponent` is static .* statics.exponent="):
        check("powered")
    report = check("powered", statics={"exponent": 3})
    assert report.problems == []
    assert [row.name for row in report.methods] == ["call(exponent=3)"]


def test_flags_are_turned_and_optional_arguments_left_out():
    golden = BY_NAME["actor_critic"]
    found = calls_of(golden.make(), golden.spaces, golden.calls, {}, 5)
    labels = [call.label for call in found.variants]
    assert {"act(explore=False)", "act(masks=None)", "entropy(masks=None)"} <= set(labels)
    fixed = calls_of(golden.make(), golden.spaces, golden.calls, {"explore": False}, 5)
    labels = [call.label for call in (*fixed.calls, *fixed.variants)]
    assert "act(explore=False)" in labels
    assert "act" not in labels
