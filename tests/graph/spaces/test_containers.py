"""Dicts and tuples of spaces: reading, order, equality, refusals."""

from __future__ import annotations

import pytest

from rlg.errors import SpaceError
from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox, Tuple

PAIR = Dict(b=FloatBox(), a=IntBox(3))


def test_a_dict_reads_like_a_mapping_in_sorted_order():
    assert list(PAIR) == list(PAIR.keys()) == ["a", "b"]
    assert list(PAIR.items()) == [("a", IntBox(3)), ("b", FloatBox())]
    assert list(PAIR.values()) == [IntBox(3), FloatBox()]
    assert PAIR["a"] == IntBox(3)
    assert "a" in PAIR
    assert "c" not in PAIR
    assert len(PAIR) == 2
    assert dict(PAIR) == {"a": IntBox(3), "b": FloatBox()}


def test_a_tuple_reads_like_a_sequence():
    space = Tuple(IntBox(3), FloatBox())
    assert list(space) == [IntBox(3), FloatBox()]
    assert (space[0], space[-1], len(space)) == (IntBox(3), FloatBox(), 2)


def test_all_keys_are_free():
    assert Dict(self="int", spaces="int") == Dict({"spaces": IntBox(), "self": IntBox()})
    assert list(Dict({"z": "int"}, type="int")) == ["type", "z"]
    assert Dict({"a/b": "int"}).flatten() == {("a/b",): IntBox()}


def test_plain_forms_inside_are_converted():
    assert Dict(a={"b": "bool"}, c=("int", ["float"])) == Dict(
        a=Dict(b=BoolBox()), c=Tuple(IntBox(), Tuple(FloatBox()))
    )
    assert Tuple("int", {"a": "float"}) == Tuple(IntBox(), Dict(a=FloatBox()))


def test_the_order_of_keys_makes_no_difference():
    other = Dict(a=IntBox(3), b=FloatBox())
    assert (PAIR, hash(PAIR), repr(PAIR)) == (other, hash(other), repr(other))


def test_kinds_differ():
    assert Tuple("int") != Dict(a="int")
    assert Tuple("int") != IntBox()
    assert not Tuple("int").like(Dict(a="int"))
    assert not Tuple("int").like(Tuple("int", "int"))
    assert not Dict(a="int").like(Dict(a="float"))
    assert not IntBox().like(Tuple("int"))
    assert PAIR.is_container


def test_ranks_are_those_that_all_leaves_share():
    assert PAIR.ranks == "B"
    assert Dict(a=PAIR, b=FloatBox(ranks="T")).ranks is None
    assert Tuple(Tuple(FloatBox(), FloatBox(ranks="T")), FloatBox()).ranks is None
    assert Dict(a=PAIR, b=FloatBox(ranks="T")).with_ranks("BT").ranks == "BT"


def test_map_keeps_the_structure():
    space = Dict(a=PAIR, b=Tuple("int", "bool"))
    mapped = space.map(lambda box: BoolBox((2,), box.ranks))
    leaf = BoolBox((2,))
    assert mapped == Dict(a=Dict(a=leaf, b=leaf), b=Tuple(leaf, leaf))


def test_values_are_plain_dicts_and_tuples():
    assert Dict(a=["int"]).zeros(2)["a"][0].tolist() == [0, 0]
    assert type(Dict(a="int").sample(0)) is dict
    assert type(Tuple("int").sample(0)) is tuple


def test_the_repr_can_be_read_back():
    assert repr(Dict(a=Tuple("bool", "bool"))) == (
        "Dict({'a': Tuple(Box(shape=(), dtype='bool', ranks='B'), "
        "Box(shape=(), dtype='bool', ranks='B'))})"
    )


@pytest.mark.parametrize("space", [PAIR, Tuple("int")])
def test_containers_are_frozen(space):
    message = f"A {type(space).__name__} space is frozen; make a new one."
    with pytest.raises(AttributeError, match=message):
        space._spaces = {}
    with pytest.raises(AttributeError, match=message):
        del space._spaces


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Dict, "Dict has no entries; give at least one, as in Dict(a=FloatBox())."),
        (Tuple, "Tuple has no entries; give at least one, as in Tuple(FloatBox())."),
        (
            lambda: Dict([("a", "int")]),
            "Dict takes a mapping from keys to spaces, but got [('a', 'int')].",
        ),
        (lambda: Dict({3: "int"}), "Dict key 3: keys are strings that aren't empty."),
        (lambda: Dict({"": "int"}), "Dict key '': keys are strings that aren't empty."),
        (
            lambda: Dict({"a": "int"}, a="int"),
            "Dict has two entries for 'a'; give each key once.",
        ),
        (
            lambda: Dict(a={"b": ["int", 3]}),
            "a/b/1: 3 is not a space; give a space, a dict, a list or a word.",
        ),
        (lambda: PAIR["c"], "Dict has no key 'c'; it has 'a', 'b'."),
        (lambda: Tuple("int")[1], "Tuple has no position 1; its length is 1."),
        (
            lambda: PAIR.with_ranks("X"),
            "Box ranks are 'X'; use one of '', 'B', 'T', 'BT', 'TB', 'F'.",
        ),
    ],
)
def test_a_wrong_container_is_refused_with_the_way_out(make, message):
    with pytest.raises(SpaceError) as refusal:
        make()
    assert str(refusal.value) == message
