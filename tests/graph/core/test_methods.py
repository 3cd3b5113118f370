from __future__ import annotations

from typing import Any, Tuple  # noqa: UP035

import pytest

from rlg.errors import ComponentError
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn, host_fn
from rlg.graph.core.component.methods import Mark, Method, mark_of

Pair = tuple[Tensor, Tensor]


def method_of(function: Any) -> Method:
    return Method.of(function.__name__, function, mark_of(function) or Mark())


def real(annotation: Any) -> Any:
    """A function whose return annotation is a type, not its text."""

    def fn(self): ...

    fn.__annotations__ = {"return": annotation}
    return fn


def text(annotation: str) -> Any:
    return real(annotation)


def outputs(function: Any) -> int:
    return method_of(function).output_count(Component())


# -- marks ----------------------------------------------------------------------------------------
def test_decorators_return_the_function_itself():
    def fn(self): ...

    assert api(fn) is fn
    assert graph_fn(fn) is fn
    assert graph_fn(split=True)(fn) is fn


def test_marks_add_up_in_any_order():
    @api
    @graph_fn(split=True)
    def one(self): ...

    @graph_fn(split=True)
    @api
    def two(self): ...

    expected = Mark(is_api=True, is_graph_fn=True, split=True)
    assert mark_of(one) == mark_of(two) == expected


def test_an_unmarked_function_has_no_mark():
    assert mark_of(len) is None


def test_host_functions_are_graph_functions_that_declare_spaces():
    def spaces(self): ...

    @host_fn(spaces=spaces)
    def fn(self): ...

    assert mark_of(fn) == Mark(is_graph_fn=True, is_host=True, spaces=spaces)


# -- the number of outputs ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("annotation", "count"),
    [
        ("None", 0),
        ("Tensor", 1),
        ("dict[str, Tensor]", 1),
        ("tuple[Tensor]", 1),
        ("tuple[Tensor, Tensor]", 2),
        ("Tuple[Tensor, Tensor, Tensor]", 3),
        ("tuple[dict[str, Tensor], tuple[Tensor, Tensor]]", 2),
        ("tuple[()]", 0),
        ("Pair", 2),
    ],
)
def test_text_annotations_tell_the_number_of_outputs(annotation, count):
    assert outputs(text(annotation)) == count


@pytest.mark.parametrize(
    ("annotation", "count"),
    [
        (None, 0),
        (Tensor, 1),
        (dict[str, Tensor], 1),
        (tuple[Tensor], 1),
        (tuple[Tensor, Tensor], 2),
        (Tuple[Tensor, Tensor, Tensor], 3),  # noqa: UP006
        (tuple[()], 0),
        (Pair, 2),
    ],
)
def test_real_annotations_tell_the_number_of_outputs(annotation, count):
    assert outputs(real(annotation)) == count


UNKNOWN = (
    "component.fn: can't tell how many values it returns. Annotate the return (`-> Tensor`, "
    "`-> tuple[Tensor, Tensor]`, `-> None`), or give `outputs=lambda self: ...` where "
    "configuration "
    ""
    "decides."
)


@pytest.mark.parametrize("annotation", ["tuple[Tensor, ...]", tuple[Tensor, ...], tuple, "tuple"])
def test_open_ended_tuples_are_refused(annotation):
    with pytest.raises(ComponentError) as error:
        outputs(real(annotation))
    assert str(error.value) == UNKNOWN


def test_a_missing_return_annotation_is_refused():
    def fn(self): ...

    with pytest.raises(ComponentError) as error:
        outputs(fn)
    assert str(error.value) == UNKNOWN


def test_a_module_qualified_tuple_counts_like_a_plain_one():
    assert outputs(text("typing.Tuple[Tensor, Tensor]")) == 2


def test_outputs_is_resolved_per_instance():
    class Splitter(Component):
        def __init__(self, *keys: str) -> None:
            self.keys = keys

        @graph_fn(outputs=lambda self: len(self.keys))
        def call(self, x: Tensor) -> tuple[Tensor, ...]: ...

    counts = [s.methods()["call"].output_count(s) for s in (Splitter("a"), Splitter("a", "b", "c"))]
    assert counts == [1, 3]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_outputs_may_be_a_number(count):
    @graph_fn(outputs=count)
    def fn(self): ...

    assert outputs(fn) == count


# -- arguments ------------------------------------------------------------------------------------
def kinds(function: Any) -> dict[str, str]:
    return {p.name: p.kind for p in method_of(function).parameters}


def test_text_annotations_tell_the_kinds_of_arguments():
    def fn(self, x, y: Tensor, n: Size, k: Static[int], flag: Static[bool] = True): ...

    assert kinds(fn) == {"x": "tensor", "y": "tensor", "n": "size", "k": "static", "flag": "static"}


def test_real_annotations_tell_the_kinds_of_arguments():
    def fn(self, x, n, k): ...

    fn.__annotations__ = {"x": Tensor, "n": Size, "k": Static[int]}
    assert kinds(fn) == {"x": "tensor", "n": "size", "k": "static"}


def test_a_static_or_none_is_static_by_text_and_by_type():
    def by_text(self, k: Static[int] | None = None): ...
    def by_type(self, k=None): ...

    by_type.__annotations__ = {"k": Static[int] | None}
    assert kinds(by_text) == kinds(by_type) == {"k": "static"}


def test_only_tensors_that_default_to_none_are_optional():
    def fn(self, x, y: Tensor = None, z: Tensor = 0.5, k: Static[int] = None): ...

    found = {p.name: (p.is_required, p.is_optional_tensor) for p in method_of(fn).parameters}
    assert found == {
        "x": (True, False),
        "y": (False, True),
        "z": (False, False),
        "k": (False, False),
    }


def with_args(self, *args): ...
def with_kwargs(self, **kwargs): ...


@pytest.mark.parametrize("function", [with_args, with_kwargs])
def test_open_argument_lists_are_refused(function):
    with pytest.raises(ComponentError) as error:
        method_of(function)
    assert str(error.value) == (
        f"{function.__name__}: *args and **kwargs have no spaces. Name every argument; pass a Dict "
        "or "
        "Tuple where their number varies."
    )


def test_the_signature_shows_defaults():
    def insert(self, records, priorities=None, n: Size = 4): ...

    assert method_of(insert).signature() == "insert(records, priorities=None, n=4)"


def test_bind_orders_arguments_and_fills_in_defaults():
    def fn(self, x, y, k: Static[int] = 3): ...

    bound = method_of(fn).bind("net.fn", (1,), {"y": 2})
    assert list(bound.items()) == [("x", 1), ("y", 2), ("k", 3)]


# -- inheritance ----------------------------------------------------------------------------------
class Base(Component):
    @api
    @graph_fn
    def call(self, x: Tensor) -> Tensor: ...

    @api
    def act(self, x): ...


def test_overriding_an_api_method_without_a_mark_keeps_it_an_api():
    class Child(Base):
        def call(self, x: Tensor) -> tuple[Tensor, Tensor]: ...

        def act(self, y): ...

    methods = Child().methods()
    assert methods["call"].mark == Mark(is_api=True, is_graph_fn=True)
    assert methods["call"].annotated_outputs == 2
    assert [p.name for p in methods["act"].parameters] == ["y"]
    assert list(Child().api_methods()) == ["call", "act"]


def test_a_mark_on_the_overriding_method_replaces_the_inherited_one():
    class Child(Base):
        @api
        def call(self, x): ...

    assert Child().methods()["call"].mark == Mark(is_api=True)


def test_siblings_do_not_see_each_others_marks():
    class Child(Base):
        @api
        def extra(self, x): ...

    assert "extra" in Child().api_methods()
    assert "extra" not in Base().api_methods()
