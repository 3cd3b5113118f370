"""Promises that hold for every space, however nested."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rlg.graph.spaces import (
    RANKS,
    Box,
    Dict,
    Tuple,
    flatten,
    from_gymnasium,
    map_leaves,
    space_from_spec,
    to_gymnasium,
    unflatten,
)
from tests.graph.spaces.strategies import boxes, spaces, trees

examples = settings(deadline=None, max_examples=50)
sizes = st.integers(0, 3)


@examples
@given(spaces(), sizes, sizes, st.integers(0, 9))
def test_a_sample_is_contained(space, batch, time, seed):
    assert space.why_not(space.sample(seed, batch, time)) is None


@examples
@given(spaces(), st.integers(0, 9))
def test_a_seed_decides_the_sample(space, seed):
    first = space.sample(seed, 2, 3)
    again = space.sample(np.random.default_rng(seed), 2, 3)
    map_leaves(np.testing.assert_array_equal, first, again)


@examples
@given(spaces(), sizes, sizes)
def test_samples_and_zeros_have_ranks_shape_and_dtype(space, batch, time):
    known = {"B": batch, "T": time, "F": batch * time}
    zeros, samples = flatten(space.zeros(batch, time)), flatten(space.sample(0, batch, time))
    leaves = space.flatten()
    assert list(zeros) == list(samples) == list(leaves)
    for path, box in leaves.items():
        shape = tuple(known[rank] for rank in box.ranks) + box.shape
        for value in (zeros[path], samples[path]):
            assert type(value) is np.ndarray
            assert (value.shape, value.dtype.name) == (shape, box.dtype)
        assert not zeros[path].any()


@examples
@given(spaces())
def test_leaves_of_spaces_and_values_unflatten_into_them(space):
    value = space.sample(1)
    flat = flatten(value)
    assert list(flat) == list(space.flatten())
    for tree in (unflatten(flat, space), unflatten(flat, value), unflatten(flat)):
        assert all(map(lambda a, b: a is b, flatten(tree).values(), flat.values()))
    assert space_from_spec(unflatten(space.flatten(), space)) == space


@examples
@given(trees(st.integers()))
def test_value_trees_survive_flatten_and_unflatten(tree):
    assert unflatten(flatten(tree)) == tree
    assert unflatten(flatten(tree), tree) == tree
    assert map_leaves(lambda leaf: leaf, tree) == tree
    doubled = map_leaves(lambda one, two: one + two, tree, tree)
    assert list(flatten(doubled).values()) == [2 * leaf for leaf in flatten(tree).values()]


@examples
@given(spaces())
def test_specs_survive_json_and_yaml_exactly(space):
    spec = space.to_spec()
    assert space_from_spec(spec) == space
    assert space_from_spec(json.loads(json.dumps(spec, allow_nan=False))) == space
    assert space_from_spec(yaml.safe_load(yaml.safe_dump(spec))) == space


@examples
@given(spaces(), spaces())
def test_equal_spaces_hash_equal_and_copies_are_equal(space, other):
    for twin in (
        pickle.loads(pickle.dumps(space)),
        copy.copy(space),
        copy.deepcopy(space),
        space.map(lambda box: box),
        eval(repr(space), {"Box": Box, "Dict": Dict, "Tuple": Tuple, "inf": np.inf})
        if "<" not in repr(space)
        else space,
    ):
        assert twin == space
        assert hash(twin) == hash(space)
        assert twin.like(space)
    assert (space == other) == (space.to_spec() == other.to_spec())


@examples
@given(boxes())
def test_bounds_are_plain_numbers_that_build_the_same_box_again(box):
    assert Box(box.shape, box.dtype, box.low, box.high, box.ranks) == box
    for bound in (box.low, box.high):
        numbers = flatten(bound).values() if bound is not None else ()
        assert {type(number) for number in numbers} <= {int, float}
        assert not isinstance(bound, tuple) or np.shape(bound) == box.shape


@examples
@given(spaces(), st.sampled_from(RANKS))
def test_with_ranks_changes_the_ranks_of_every_leaf_and_nothing_else(space, ranks):
    changed = space.with_ranks(ranks)
    assert changed.ranks == ranks
    assert changed.like(space)
    for path, box in space.flatten().items():
        assert changed.flatten()[path] == Box(box.shape, box.dtype, box.low, box.high, ranks)


@examples
@given(spaces(ranks="B"))
def test_gymnasium_gives_back_what_it_got(space):
    there = to_gymnasium(space)
    back = from_gymnasium(there)
    assert back == space.map(_explicit)
    assert to_gymnasium(back) == there
    assert there.contains(space.with_ranks("").sample(0))


@examples
@given(spaces())
def test_flat_dim_is_the_number_of_values_in_one_element(space):
    values = flatten(space.with_ranks("").zeros()).values()
    assert space.flat_dim == sum(value.size for value in values)


def _explicit(box: Box) -> Box:
    """What gymnasium can say of a Box's bounds."""
    low, high = box.low, box.high
    if box.dtype == "uint8":
        low, high = 0 if low is None else low, 255 if high is None else high
    elif box.kind == "int":
        info = np.iinfo(box.dtype)
        low, high = None if low == info.min else low, None if high == info.max else high
    return Box(box.shape, box.dtype, low, high, box.ranks)
