"""Value trees: literal cases and refusals; the round trips are in `test_properties.py`."""

from __future__ import annotations

import pytest

from rlg.errors import SpaceError
from rlg.graph.spaces import Dict, Tuple, flatten, map_leaves, path_name, unflatten

TREE = {"b": (1, {"d": 2, "c": 3}), "a": 4}


def test_flatten_goes_depth_first_with_sorted_keys():
    assert list(flatten(TREE).items()) == [
        (("a",), 4),
        (("b", 0), 1),
        (("b", 1, "c"), 3),
        (("b", 1, "d"), 2),
    ]


def test_lists_and_all_else_are_leaves():
    assert flatten([1, 2]) == {(): [1, 2]}
    assert flatten({"a": [{"b": 1}], "c": None}) == {("a",): [{"b": 1}], ("c",): None}


def test_a_path_has_a_name():
    assert path_name((0, "c", "d")) == "0/c/d"
    assert path_name(()) == ""


def test_unflatten_follows_a_space():
    space = Dict(a="int", b=Tuple("int", Dict(c="int", d="int")))
    assert unflatten(flatten(TREE), space) == TREE


def test_unflatten_follows_a_template_with_empty_places():
    assert unflatten({("a",): 1}, {"a": 0, "b": {}, "c": ()}) == {"a": 1, "b": {}, "c": ()}


def test_unflatten_puts_tuple_positions_in_order():
    assert unflatten({(1,): "b", (0,): "a"}) == ("a", "b")
    assert unflatten({(position,): position for position in range(11)}) == tuple(range(11))


def test_unflatten_leaves_leaves_alone():
    assert unflatten({("a",): {"x": 1}, ("b",): (2,)}) == {"a": {"x": 1}, "b": (2,)}
    assert unflatten({(): {"x": 1}}) == {"x": 1}
    assert unflatten({}) == {}


def test_map_leaves_takes_several_trees():
    assert map_leaves(lambda one, two: one - two, (1, {"a": 5}), (1, {"a": 2})) == (0, {"a": 3})


def test_a_single_leaf_goes_with_every_leaf_of_the_first_tree():
    assert map_leaves(lambda one, two: one * two, (1, {"a": 5}), 10) == (10, {"a": 50})
    assert map_leaves(max, 1, 2, 3) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: map_leaves(max, {"a": 1, "b": 2}, {"a": 1, "c": 2}),
            (
                "value trees differ: a dict with keys 'a', 'b' and a dict with keys 'a', 'c'. "
                "Give equal structures."
            ),
        ),
        (
            lambda: map_leaves(max, {"a": {"x": 1}}, {"a": 1}),
            "a: value trees differ: a dict with keys 'x' and a leaf (int). Give equal structures.",
        ),
        (
            lambda: map_leaves(max, {"a": (1, 2)}, {"a": (1,)}),
            "a: value trees differ: a tuple of 2 and a tuple of 1. Give equal structures.",
        ),
        (
            lambda: map_leaves(max, {"a": 1}, {"a": {}}),
            "a: value trees differ: a leaf (int) and a dict with keys none. Give equal structures.",
        ),
        (
            lambda: map_leaves(max, 1, (1,)),
            "value trees differ: a leaf (int) and a tuple of 1. Give equal structures.",
        ),
        (
            lambda: flatten({"a": {0: 1}}),
            "a: dict key 0: keys of a value tree are strings.",
        ),
        (
            lambda: unflatten({("a", "b"): 1}, {"a": {"b": 0, "c": 0}}),
            "No leaf for 'a/c'; there are only 'a/b'.",
        ),
        (
            lambda: unflatten({}, Dict(a="int")),
            "No leaf for 'a'; there are only none.",
        ),
        (
            lambda: unflatten({("a",): 1, ("b", 0): 2}, Dict(a="int")),
            "Leaves 'b/0' have no place in the template; leave them out.",
        ),
        (
            lambda: unflatten({(): 1, ("a",): 2}),
            "There is a leaf at the root, so there can be no others beside it.",
        ),
        (
            lambda: unflatten({("a",): 1, ("a", "b"): 2}),
            "'a/b' passes through another leaf; rename one of them.",
        ),
        (
            lambda: unflatten({("a", "b"): 2, ("a",): 1}),
            "'a' passes through another leaf; rename one of them.",
        ),
        (
            lambda: unflatten({("a", 0): 1, ("a", 2): 2}),
            "a: keys are 0, 2; they must be all strings, or 0, 1, 2... without gaps.",
        ),
        (
            lambda: unflatten({(0,): 1, ("b",): 2}),
            "keys are 'b', 0; they must be all strings, or 0, 1, 2... without gaps.",
        ),
    ],
)
def test_trees_that_do_not_fit_are_refused_with_the_place(call, message):
    with pytest.raises(SpaceError) as refusal:
        call()
    assert str(refusal.value) == message
