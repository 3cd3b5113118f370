"""Every way to write a component wrongly, with the whole message that it gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import make_executor
from rlg.errors import (
    AssemblyError,
    BackendError,
    BuildError,
    ComponentError,
    ExecutionError,
    RLGError,
)
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, Tuple
from rlg.testing import ComponentTest
from tests.bank import CASES, covers
from tests.graph.core.parts import LINE, ROWS, SCALAR, VECTOR, AddOne, Counter, Dense, Noise, Plus

BOX = "Box(shape=(), dtype='float32', ranks='B')"
BOX2 = "Box(shape=(2,), dtype='float32', ranks='B')"


def refused(
    component: Any, spaces: dict[str, Any], kind: type[RLGError] = BuildError, **options: Any
) -> str:
    with pytest.raises(RLGError) as error:
        ComponentTest(component, spaces, **options)
    assert type(error.value) is kind
    return str(error.value)


def fn(function: Any, **marks: Any) -> Component:
    """A component whose only API is this graph function."""
    marks.setdefault("outputs", 1)
    function.__name__ = "call"
    return type("Fn", (Component,), {"call": api(graph_fn(**marks)(function))})()


class Parent(Component):
    """One child, and an API method that does what it is told."""

    def __init__(self, child: Any, function: Any) -> None:
        self.child = child
        self.function = function

    @api
    def call(self, x):
        return self.function(self, x)


# -- what is given to the build -------------------------------------------------------------------
def test_missing_input():
    assert refused(Plus(), {"x": SCALAR}) == (
        f"plus.call: the space of `y` is missing. Given: x={BOX}. Add 'y' to the input spaces, or "
        "leave "
        "the method out with apis=[...]."
    )


def test_unknown_input_space_name():
    assert refused(Plus(), {"x": SCALAR, "yy": SCALAR}) == (
        "plus: a space is given for `yy`, but no API method has such an argument. Did you mean "
        "'y'? "
        ""
        "Arguments: x, y."
    )


def test_space_for_a_static():
    class Takes(Component):
        @api
        @graph_fn
        def call(self, k: Static[int] = 1) -> Tensor: ...

    assert refused(Takes(), {"k": SCALAR}) == (
        f"takes.call: `k` is static, but a space is given for it, {BOX}. Give the value to build "
        "with, "
        "or nothing."
    )


def test_static_without_a_value():
    class Takes(Component):
        @api
        @graph_fn
        def call(self, k: Static[int]) -> Tensor: ...

    assert refused(Takes(), {}) == (
        "takes.call: `k` is static and has no default. Give it one, or give a value to build with: "
        "{'k': ...}."
    )


def test_size_that_is_no_number():
    class Takes(Component):
        @api
        @graph_fn
        def call(self, n: Size) -> Tensor: ...

    assert refused(Takes(), {"n": 2.5}) == "takes.call: `n` must be an integer, got 2.5."


def test_no_api():
    class Nothing(Component):
        pass

    assert refused(Nothing(), {}) == (
        "nothing: Nothing has no API method, so there is nothing to build. Mark at least one "
        "method "
        ""
        "@api."
    )


def test_unknown_name_in_apis():
    assert refused(Plus(), {"x": SCALAR, "y": SCALAR}, apis=["cal"]) == (
        "plus: apis names 'cal', which is not an API method. Did you mean 'call'? API: call."
    )


def test_wrong_backend():
    class TorchOnly(AddOne):
        backends = ("torch",)

    assert refused(TorchOnly(), {"x": SCALAR}, BackendError) == (
        "torch-only: TorchOnly runs on torch, not on numpy. Choose one of its backends, or a "
        "component "
        "written against self.ops."
    )


def test_two_roots_of_one_path():
    executor = make_executor("numpy")
    with pytest.raises(ComponentError) as error:
        executor.build([AddOne(), AddOne()], {"x": SCALAR})
    assert str(error.value) == (
        "add-one: two components have this path, AddOne and AddOne. Give one another name: "
        ".configure(scope='...')."
    )


# -- inputs that never come -----------------------------------------------------------------------
@covers("build.unused_argument_is_named")
def test_unfed_required_argument():
    case = CASES["build.unused_argument_is_named"]

    class Dead(Component):
        @api
        @graph_fn
        def call(self, y: Tensor) -> Tensor:
            return y

    class Root(Component):
        def __init__(self) -> None:
            self.dead = Dead()

        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return x

    message = refused(Root(), {"x": SCALAR})
    assert message == (
        "root/dead: its argument `y` is never fed: no API method that is built calls root/dead "
        "with "
        "it. "
        "Spaces at hand: none. Call it, remove the component, or set must_be_complete=False on it "
        "if it "
        "may stay unconnected."
    )
    assert all(word in message for word in case["expected"]["message_contains"])


def test_unfed_need_of_create_variables():
    class Needs(Component):
        def create_variables(self, *, x: Box, goal: Box) -> None: ...

        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return x

    assert refused(Needs(), {"x": SCALAR}) == (
        "needs: its argument `goal` is never fed: no API method that is built calls needs with it. "
        f"Spaces at hand: x={BOX}. Call it, remove the component, or set must_be_complete=False on "
        "it "
        "if it may stay unconnected."
    )


class Circular(Component):
    def create_variables(self, *, rows: Box) -> None:
        self.v = self.variable("v", rows.shape)

    @api
    @graph_fn
    def sample(self) -> Tensor:
        return self.ops.arange(3)

    @api
    @graph_fn
    def update(self, rows: Tensor) -> None: ...


def test_cycle():
    root = Parent(Circular(), lambda self, x: self.child.update(self.child.sample()))
    assert refused(root, {"x": SCALAR}) == (
        "parent/child: a cycle: its variables need the space of `rows`, and `rows` comes from "
        "parent/child.sample, which needs those variables. Make them from another input, or split "
        "the "
        "component."
    )


def test_cycle_through_another_component():
    class Root(Component):
        def __init__(self) -> None:
            self.one, self.two = Circular(), Circular()

        @api
        def call(self):
            self.one.update(self.two.sample())
            self.two.update(self.one.sample())

    assert refused(Root(), {}) == (
        "root/one: a cycle: its variables need the space of `rows`, and `rows` comes from "
        "root/one.sample, which needs those variables. Make them from another input, or split the "
        "component."
    )


def test_cycle_through_a_loop():
    class Root(Component):
        def __init__(self) -> None:
            self.child = Circular()

        @api
        def step(self, carry, x):
            self.child.update(x)
            return carry, None

        @api
        def call(self):
            return self.scan(self.step, 0.0, self.child.sample())[0]

    message = refused(Root(), {}, apis=["call"])
    assert message.startswith("root/child: a cycle: its variables need the space of `rows`")


# -- graph functions that don't run ---------------------------------------------------------------
def test_wrong_rank_or_shape():
    component = fn(lambda self, x: self.ops.matmul(x, self.ops.zeros((3, 2))))
    message = refused(component, {"x": VECTOR})
    assert message.startswith(
        f"fn.call: it does not run on these inputs (x={BOX2}): ValueError: matmul: "
    )
    assert message.endswith(". Feed spaces that it can take, or convert them before it.")


def test_wrong_dtype():
    component = fn(lambda self, x: ~x)
    assert refused(component, {"x": SCALAR}) == (
        f"fn.call: it does not run on these inputs (x={BOX}): TypeError: ufunc 'invert' not "
        "supported for "
        "the input types, and the inputs could not be safely coerced to any supported types "
        "according to "
        "the casting rule ''safe''. Feed spaces that it can take, or convert them before it."
    )


class Writes(Component):
    def __init__(self, op: str, value: Any) -> None:
        self.op = op
        self.value = value

    def create_variables(self) -> None:
        self.v = self.variable("v", (3, 2))

    @api
    @graph_fn
    def call(self) -> None:
        if self.op == "scatter_rows":
            self.ops.scatter_rows(self.v, *self.value)
        else:
            getattr(self.ops, self.op)(self.v, self.value)


@pytest.mark.parametrize(
    ("op", "value", "what"),
    [
        ("assign", np.zeros((3, 2)), "assign: the value is float64, the variable float32"),
        (
            "assign",
            np.zeros((2, 3), "float32"),
            "assign: the value has shape (2, 3), the variable takes (3, 2)",
        ),
        (
            "assign_add",
            np.zeros((), "int64"),
            "assign_add: the value is int64, the variable float32",
        ),
        (
            "scatter_rows",
            (np.zeros(2, "int32"), np.zeros((2, 2), "float32")),
            "scatter_rows takes int64 rows, these are int32",
        ),
        (
            "scatter_rows",
            (np.zeros(2, "int64"), np.zeros((4, 2), "float32")),
            "scatter_rows: the value has shape (4, 2), the variable takes (2, 2)",
        ),
    ],
)
def test_writes_that_do_not_fit(op, value, what):
    assert refused(Writes(op, value), {}) == (
        f"writes.call: it does not run on these inputs (none): {what}. Feed spaces that it can "
        "take, or "
        "convert them before it."
    )


def test_gradients_of_a_vector():
    class Loss(Component):
        def create_variables(self) -> None:
            self.w = self.variable("w", trainable=True)

        @graph_fn
        def gradients(self, x: Tensor, weights: Tensor) -> Tensor:
            return self.ops.gradients(x * self.w, weights)

        @api
        def call(self, x):
            return self.gradients(x, self.variables())

    weights = "Dict({'w': Box(shape=(), dtype='float32', ranks='')})"
    assert refused(Loss(), {"x": SCALAR}) == (
        f"loss.gradients: it does not run on these inputs (x={BOX}, weights={weights}): gradients "
        "take a "
        "scalar loss, this one has shape (2,): use ops.mean. Feed spaces that it can take, or "
        "convert "
        "them before it."
    )


def test_promised_outputs_that_are_not_returned():
    assert refused(fn(lambda self, x: (x, x), outputs=3), {"x": SCALAR}) == (
        "fn.call: it promises 3 values (annotation or `outputs=`) and returned 2 values. Make the "
        "two "
        "agree."
    )
    assert refused(fn(lambda self, x: x, outputs=2), {"x": SCALAR}) == (
        "fn.call: it promises 2 values (annotation or `outputs=`) and returned one value. Make the "
        "two "
        "agree."
    )


def test_nothing_promised_but_something_returned():
    class Says(Component):
        @api
        @graph_fn
        def call(self, x: Tensor) -> None:
            return x

    assert refused(Says(), {"x": SCALAR}) == (
        "says.call: it is annotated `-> None` but returned a value. Fix the annotation."
    )


def test_something_promised_but_nothing_returned():
    message = refused(fn(lambda self, x: None), {"x": SCALAR})
    assert message == (
        "fn.call: it returned None, a NoneType. Graph functions return tensors, or dicts and "
        "tuples "
        "of "
        "tensors."
    )


def test_no_tensor_returned():
    assert refused(fn(lambda self, x: "x"), {"x": SCALAR}) == (
        "fn.call: it returned 'x', a str. Graph functions return tensors, or dicts and tuples of "
        "tensors."
    )


def test_unannotated_graph_function():
    class Says(Component):
        @api
        @graph_fn
        def call(self, x: Tensor):
            return x

    assert refused(Says(), {"x": SCALAR}, ComponentError) == (
        "says.call: can't tell how many values it returns. Annotate the return (`-> Tensor`, "
        "`-> tuple[Tensor, Tensor]`, `-> None`), or give `outputs=lambda self: ...` where "
        "configuration "
        "decides."
    )


def test_declared_spaces_of_the_wrong_number():
    component = fn(lambda self, x: (x, x), outputs=2, spaces=lambda self, x: SCALAR)
    assert refused(component, {"x": SCALAR}) == (
        f"fn.call: it returns 2 values, but `spaces=` declares {BOX}. Declare one Space for each, "
        "as a "
        "tuple if there are several."
    )


def test_varying_axis_that_does_not_lead():
    component = fn(lambda self, x: self.ops.transpose(x, (1, 0)))
    assert refused(component, {"x": VECTOR}) == (
        "fn.call: axis 1 of its output changes with the batch ((2, 2) and (2, 5)), but only "
        "leading "
        "axes "
        "may. Move it to the front, or give it a fixed size."
    )


def test_batch_by_batch():
    component = fn(lambda self, x: self.ops.expand_dims(x, 1) - self.ops.expand_dims(x, 0))
    assert refused(component, {"x": SCALAR}) == (
        "fn.call: axis 1 of its output changes with the batch ((2, 2) and (5, 5)), but only "
        "leading "
        "axes "
        "may. Move it to the front, or give it a fixed size."
    )


def test_graph_function_calling_a_component():
    class Root(Component):
        def __init__(self) -> None:
            self.add = AddOne()

        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return self.add.call(x)

    assert refused(Root(), {"x": SCALAR}, AssemblyError) == (
        "root.call: a graph function called root/add.call, but only API methods call components. "
        "Call it "
        "in an API method and pass the result in."
    )


def test_graph_function_using_regions():
    component = fn(lambda self, x: self.scan(None, 0.0, x))
    assert refused(component, {"x": SCALAR}, AssemblyError) == (
        "fn.call: `self.scan` belongs into API methods; graph functions use self.ops."
    )


# -- spaces that don't fit ------------------------------------------------------------------------
def test_mismatching_spaces_at_the_second_call():
    root = Parent(Dense(3), lambda self, x: self.child.call(self.child.call(x)))
    assert refused(root, {"x": VECTOR}) == (
        "parent/child.call: `inputs` is Box(shape=(3,), dtype='float32', ranks='B'), but its "
        "variables "
        f"were made for {BOX2}. Feed equal spaces, or use a second component (.copy()) for the "
        "other one."
    )


@covers("graphfn.key_mismatch_is_an_error")
def test_container_key_mismatch_in_split():
    class Add(Component):
        @api
        @graph_fn(split=True)
        def call(self, x: Tensor, y: Tensor) -> Tensor:
            return x + y

    case = CASES["graphfn.key_mismatch_is_an_error"]["inputs"]
    spaces = {
        name: Dict(dict.fromkeys(keys, SCALAR))
        for name, keys in zip("xy", case.values(), strict=True)
    }
    assert refused(Add(), spaces) == (
        "add.call: it is split over the leaves of its inputs, but `x` has a, b and `y` has a, c. "
        "Feed "
        "containers with equal keys, or a single tensor, which goes to every leaf."
    )


def test_time_in_two_orders():
    component = fn(lambda self, x, y: x + y, fold_time=True)
    assert refused(component, {"x": Box(ranks="BT"), "y": Box(ranks="TB")}) == (
        "fn.call: it folds time, but `x` is BT and `y` is TB. Bring all inputs into one order, "
        "batch or "
        "time first."
    )


def test_unknown_key_of_a_record():
    root = Parent(AddOne(), lambda self, x: self.child.call(x["q"]))
    assert refused(root, {"x": Dict(a=SCALAR, b=SCALAR)}) == (
        f"parent.call: ['q'] of Dict({{'a': {BOX}, 'b': {BOX}}}): its keys are a, b."
    )


def test_key_of_what_is_no_container():
    root = Parent(AddOne(), lambda self, x: self.child.call(x["q"]))
    assert refused(root, {"x": SCALAR}) == f"parent.call: ['q'] of {BOX}: it is not a container."


def test_position_beyond_a_tuple():
    root = Parent(AddOne(), lambda self, x: self.child.call(x[2]))
    assert refused(root, {"x": Tuple(SCALAR, SCALAR)}) == (
        f"parent.call: [2] of Tuple({BOX}, {BOX}): it has 2 elements."
    )


def test_variables_of_a_component_without_any():
    root = Parent(AddOne(), lambda self, x: (self.child.variables(), self.child.call(x)))
    assert refused(root, {"x": SCALAR}) == (
        "parent.call: asks for the trainable variables of parent/child, which has none."
    )


# -- regions --------------------------------------------------------------------------------------
class Loop(Component):
    def __init__(self, body: Any, carry: Any = 0.0) -> None:
        self.body = body
        self.carry = carry
        self.plus = Plus()

    @api
    def step(self, carry, x):
        return self.body(self, carry, x)

    @api
    def call(self, xs):
        return self.scan(self.step, self.carry, xs)


def loop(body: Any, space: Any = None, carry: Any = 0.0, kind: type[RLGError] = BuildError) -> str:
    component = Loop(body, carry)
    component.plus.must_be_complete = False
    return refused(component, {"xs": space or Box(ranks="T")}, kind, apis=["call"])


def test_scan_body_that_returns_no_pair():
    assert loop(lambda self, carry, x: carry, kind=AssemblyError) == (
        "loop.step: the body of a scan returns (carry, y), this one returned record. Return "
        "`carry, "
        ""
        "None` if nothing is stacked."
    )


def test_scan_carry_of_another_structure():
    assert loop(lambda self, carry, x: ({"a": carry}, x), kind=AssemblyError) == (
        "loop.step: the carry goes in as record and comes out as {a: record}; a scan needs the "
        "same "
        ""
        "structure on both sides."
    )


def test_scan_carry_of_another_shape():
    one = "Box(shape=(), dtype='float32', ranks='')"
    two = "Box(shape=(2,), dtype='float32', ranks='')"
    assert loop(lambda self, carry, x: (self.plus.call(carry, x), x), Box((2,), ranks="T")) == (
        f"loop.step: the carry is {one} going in and {two} coming out. A scan needs equal spaces "
        "on "
        "both "
        "sides."
    )


def test_scan_carry_that_gains_a_rank():
    one = "Box(shape=(), dtype='float32', ranks='')"
    assert loop(lambda self, carry, x: (self.plus.call(carry, x), x), Box(ranks="TB")) == (
        f"loop.step: the carry is {one} going in and {BOX} coming out. A scan needs equal spaces "
        "on "
        "both "
        "sides."
    )


def test_batch_major_scan():
    assert loop(lambda self, carry, x: (carry, x), Box(ranks="BT")) == (
        "loop.step: a scan runs over the leading axis, but `x` is batch-major, Box(shape=(), "
        "dtype='float32', ranks='BT'). Put time first."
    )


def test_scan_over_a_scalar():
    assert loop(lambda self, carry, x: (carry, x), Box(ranks="")) == (
        "loop.step: a scan runs over the leading axis, and `x` is Box(shape=(), dtype='float32', "
        "ranks=''): it has none."
    )


def test_scan_over_nothing():
    class Empty(Component):
        @api
        def step(self, carry, x):
            return carry, None

        @api
        def call(self, x):
            return self.scan(self.step, x, None)

    assert refused(Empty(), {"x": SCALAR}, AssemblyError, apis=["call"]) == (
        "empty.step: a scan runs over the leading axis of `xs`, and they hold no record. Pass at "
        "least "
        "one, such as the steps to count."
    )


class Branch(Component):
    def __init__(self, one: Any, two: Any) -> None:
        self.one, self.two = one, two

    @api
    def yes(self, x):
        return self.one(x)

    @api
    def no(self, x):
        return self.two(x)

    @api
    def call(self, flag, x):
        return self.cond(flag, self.yes, self.no, x)


FLAG = Box((), "bool", ranks="")


def branch(one: Any, two: Any, flag: Any = FLAG, kind: type[RLGError] = BuildError) -> str:
    spaces = {"flag": flag, "x": Dict(a=SCALAR, b=VECTOR)}
    return refused(Branch(one, two), spaces, kind, apis=["call"])


def test_cond_branches_of_different_structure():
    assert branch(lambda x: x, lambda x: (x, x), kind=AssemblyError) == (
        "branch: the branches of a cond return record and (record, record); both must return the "
        "same "
        "structure."
    )


def test_cond_branches_of_different_spaces():
    assert branch(lambda x: x["a"], lambda x: x["b"]) == (
        f"branch: the branches of a cond give {BOX} and {BOX2}; both must give equal spaces."
    )


def test_cond_predicate_per_item():
    assert branch(lambda x: x, lambda x: x, flag=Box((), "bool")) == (
        "branch: the predicate of a cond is Box(shape=(), dtype='bool', ranks='B'); it must be one "
        "bool "
        "without ranks. For a choice per item use ops.where in a graph function."
    )


def test_cond_predicate_that_is_a_python_value():
    class Static_(Branch):  # noqa: N801
        @api
        def call(self, x):
            return self.cond(True, self.yes, self.no, x)

    component = Static_(lambda x: x, lambda x: x).configure(scope="branch")
    assert refused(component, {"x": SCALAR}, AssemblyError, apis=["call"]) == (
        "branch: the predicate of a cond is True, a Python value. Use a plain `if` on static "
        "values."
    )


# -- variables ------------------------------------------------------------------------------------
def variables(create: Any, **attributes: Any) -> Component:
    body = {"create_variables": create, "call": AddOne.call, **attributes}
    return type("Vars", (Component,), body)()


def test_initial_value_of_another_shape():
    component = variables(lambda self: self.variable("v", (3,), value=[1.0, 2.0]))
    assert refused(component, {"x": SCALAR}) == (
        "vars/v: its initial value has shape (2,), the variable (3,). Give a scalar, or a value of "
        "the "
        "variable's shape."
    )


def test_duplicate_variable():
    component = variables(lambda self: (self.variable("v"), self.variable("v")))
    assert refused(component, {"x": SCALAR}) == (
        "vars/v: the variable exists already. Give each variable of a component its own name."
    )


def test_shared_variable_of_another_shape():
    class Root(Component):
        def __init__(self) -> None:
            self.one = Dense(2).configure(shared_scope="s")
            self.two = Dense(3).configure(shared_scope="s")

        @api
        def call(self, x):
            return self.one.call(x), self.two.call(x)

    assert refused(Root(), {"x": VECTOR}) == (
        "root/two: s/kernel: it is shared, and exists as Box(shape=(2, 2), dtype='float32', "
        "ranks=''), "
        "but root/two asks for Box(shape=(2, 3), dtype='float32', ranks=''). Components that share "
        "a "
        "scope must have equal variables."
    )


def test_variable_in_the_constructor():
    class Eager(Component):
        def __init__(self) -> None:
            self.v = self.variable("v")

    with pytest.raises(ComponentError) as error:
        Eager()
    assert str(error.value) == (
        "eager: variables are made by the build. Create `v` in create_variables, not in the "
        "constructor."
    )


def test_variable_in_a_graph_function():
    def call(self, x):
        self.variable("v")
        return x

    assert refused(fn(call), {"x": SCALAR}) == (
        f"fn.call: it does not run on these inputs (x={BOX}): fn: variables are made by the "
        "build. Create `v` in create_variables, not in a graph function. Feed spaces that it can "
        "take, or convert them before it."
    )


def test_variable_in_an_api_method():
    root = Parent(AddOne(), lambda self, x: (self.variable("v"), self.child.call(x))[1])
    assert refused(root, {"x": SCALAR}, ComponentError) == (
        "parent: variables are made by the build. Create `v` in create_variables, not in an API "
        "method."
    )


def test_failing_create_variables():
    class Fails(Component):
        def create_variables(self, *, x: Box) -> None:
            _ = x.shape[4]

        @api
        @graph_fn
        def call(self, x: Tensor) -> Tensor:
            return x

    assert refused(Fails(), {"x": SCALAR}) == (
        f"fails.create_variables: IndexError: tuple index out of range. Spaces at hand: x={BOX}."
    )


# -- calls ----------------------------------------------------------------------------------------
def failing(
    component: Component, spaces: dict[str, Any], *call: Any, kind: type[RLGError] = ExecutionError
) -> str:
    test = ComponentTest(component, spaces)
    with pytest.raises(RLGError) as error:
        test.call(*call)
    assert type(error.value) is kind
    return str(error.value)


def test_execute_before_the_build():
    with pytest.raises(ExecutionError) as error:
        make_executor("numpy").execute("call")
    assert str(error.value) == "nothing is built yet: call build(component, spaces) first."


def test_unknown_api():
    assert failing(AddOne(), {"x": SCALAR}, "cal", LINE) == (
        "there is no API method 'cal'. Did you mean 'call'? API: call."
    )


def test_api_of_several_roots():
    executor = make_executor("numpy")
    executor.build([AddOne().configure(scope="a"), Noise().configure(scope="b")], {"x": SCALAR})
    with pytest.raises(ExecutionError) as error:
        executor.execute("call", LINE)
    assert str(error.value) == "call: several roots have it. Say which one: a/call, b/call."


@pytest.mark.parametrize("calls_before", [0, 1])
@pytest.mark.parametrize(
    ("args", "what"), [((), "misses the argument `x`"), ((LINE, LINE), "got 2 arguments")]
)
def test_wrong_number_of_arguments(args, what, calls_before):
    test = ComponentTest(AddOne(), {"x": SCALAR})
    for _ in range(calls_before):
        test.call("call", LINE)
    with pytest.raises(AssemblyError) as error:
        test.call("call", *args)
    assert str(error.value) == f"add-one.call: the call {what}. Call it as call(x)."


def test_none_for_a_required_tensor():
    assert failing(AddOne(), {"x": SCALAR}, "call", None) == (
        f"add-one.call: `x` is None, but it is required. It takes {BOX}."
    )


def test_optional_tensor_without_a_space():
    class Masked(Component):
        @api
        @graph_fn
        def call(self, x: Tensor, mask: Tensor = None) -> Tensor:
            return x if mask is None else x * mask

    assert failing(Masked(), {"x": SCALAR}, "call", LINE, LINE, kind=BuildError) == (
        f"masked.call: no space was given for `mask`, so it must stay None. Given: x={BOX}. Add "
        "'mask' to "
        "the input spaces."
    )


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (ROWS, "`x` has shape (3, 2), but it takes [B]"),
        (1.0, "`x` has shape (), but it takes [B]"),
    ],
)
def test_input_of_a_wrong_shape(value, what):
    assert failing(AddOne(), {"x": SCALAR}, "call", value) == (
        f"add-one.call: {what} ({BOX}). Add or drop the leading axes, or build with another space."
    )


def test_input_of_a_wrong_value_shape():
    assert failing(Dense(), {"inputs": VECTOR}, "call", np.zeros((3, 4), "float32")) == (
        f"dense.call: `inputs` has shape (3, 4), but it takes [B, 2] ({BOX2}). Add or drop the "
        "leading "
        "axes, or build with another space."
    )


def test_input_of_a_wrong_dtype():
    space = {"n": Box((), "int64", ranks="")}
    assert failing(Counter(), space, "up", 1.5) == (
        "counter.up: `n` is float64, but it takes int64. Convert it first, as in n.astype('int64')."
    )


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8"])
def test_integers_that_do_not_fit(dtype):
    component = fn(lambda self, x: x)
    assert failing(component, {"x": Box((), dtype)}, "call", [2**40]) == (
        f"fn.call: `x` is int64, but it takes {dtype}. Convert it first, as in x.astype('{dtype}')."
    )


def test_ragged_input():
    message = failing(AddOne(), {"x": SCALAR}, "call", [[1.0], [1.0, 2.0]])
    assert message.startswith("add-one.call: `x` is not an array: ")
    assert message.endswith(f". It takes {BOX}.")


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ({"a": LINE}, "['a']"),
        ({"a": LINE, "b": LINE, "c": LINE}, "['a', 'b', 'c']"),
        (LINE, "ndarray"),
    ],
)
def test_input_with_wrong_keys(value, got):
    component = fn(lambda self, x: x["a"])
    assert failing(component, {"x": Dict(a=SCALAR, b=SCALAR)}, "call", value) == (
        f"fn.call: `x` takes a dict with the keys a, b; this is {got}."
    )


def test_input_tuple_of_a_wrong_length():
    component = fn(lambda self, x: x[0])
    assert failing(component, {"x": Tuple(SCALAR, SCALAR)}, "call", ([1.0],)) == (
        "fn.call: `x` takes a tuple of 2; this is ([1.0],)."
    )


def test_leaf_of_a_wrong_shape_is_named():
    component = fn(lambda self, x: x["a"][0])
    assert failing(
        component, {"x": Dict(a=Tuple(SCALAR, SCALAR))}, "call", {"a": (LINE, ROWS)}
    ) == (
        f"fn.call: `x/a/1` has shape (3, 2), but it takes [B] ({BOX}). Add or drop the leading "
        "axes, or "
        "build with another space."
    )


def test_gradients_on_numpy():
    class Loss(Component):
        def create_variables(self) -> None:
            self.w = self.variable("w", trainable=True)

        @graph_fn
        def gradients(self, x: Tensor, weights: Tensor) -> Tensor:
            return self.ops.gradients(self.ops.mean(x * self.w), weights)

        @api
        def call(self, x):
            return self.gradients(x, self.variables())

    assert failing(Loss(), {"x": SCALAR}, "call", LINE, kind=BackendError) == (
        "gradients: the numpy backend is forward-only; use torch or tf."
    )


def test_weights_of_a_wrong_path_or_shape():
    test = ComponentTest(Dense(), {"inputs": VECTOR})
    before = test.read("bias")
    with pytest.raises(ExecutionError) as error:
        test.executor.set_weights(
            {"dense/bias": before + 1.0, "dense/kernal": before}, partial=True
        )
    assert str(error.value) == "there is no variable 'dense/kernal'. Did you mean 'dense/kernel'?"
    with pytest.raises(ExecutionError) as error:
        test.executor.set_weights(
            {"dense/bias": before + 1.0, "dense/kernel": before}, partial=True
        )
    assert (
        str(error.value) == "dense/kernel: the variable is float32 (2, 2), the value float32 (2,)."
    )
    np.testing.assert_array_equal(test.read("bias"), before)


def test_unknown_backend():
    with pytest.raises(BackendError) as error:
        make_executor("jax")
    assert str(error.value) == "there is no backend 'jax'; choose numpy, torch, tf or tf-graph."
