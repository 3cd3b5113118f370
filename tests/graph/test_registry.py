from __future__ import annotations

import json

import pytest

from rlg.errors import SpecError
from rlg.graph import Component, registry
from rlg.graph.registry import component_class, make, names, register


class Head(Component):
    def __init__(self, units: int, activation: str = "relu") -> None:
        self.units = units
        self.activation = activation


class Plain(Component):
    pass


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with two names of its own, and nothing left of them afterwards."""
    monkeypatch.setattr(registry, "COMPONENTS", {})
    monkeypatch.setattr(registry, "_ADDED", {"head": Head, "plain": Plain})


def message(spec: object, **defaults: object) -> str:
    with pytest.raises(SpecError) as error:
        make(spec, **defaults)
    return str(error.value)


# -- specs ----------------------------------------------------------------------------------------
def test_a_dict_makes_a_component():
    head = make({"type": "head", "units": 4})
    assert isinstance(head, Head)
    assert (head.units, head.activation) == (4, "relu")


def test_a_name_alone_makes_a_component():
    assert isinstance(make("plain"), Plain)


def test_a_component_passes_through():
    head = Head(3)
    assert make(head) is head


def test_the_spec_is_left_as_it_is():
    spec = {"type": "head", "units": 4, "scope": "q"}
    make(spec)
    assert spec == {"type": "head", "units": 4, "scope": "q"}


@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_a_yaml_file_makes_a_component(tmp_path, suffix):
    path = tmp_path / f"head.{suffix}"
    path.write_text("type: head\nunits: 5\n")
    assert make(path).units == 5
    assert make(str(path)).units == 5


def test_a_json_file_makes_a_component(tmp_path):
    path = tmp_path / "head.json"
    path.write_text(json.dumps({"type": "head", "units": 6}))
    assert make(path).units == 6


def test_a_file_may_hold_a_name_alone(tmp_path):
    path = tmp_path / "plain.yaml"
    path.write_text("plain\n")
    assert isinstance(make(path), Plain)


def test_defaults_fill_what_the_spec_leaves_open():
    assert make("head", units=3, unknown=1).units == 3
    assert make({"type": "head", "units": 4}, units=3).units == 4


def test_options_are_the_arguments_of_the_base_class():
    class Wide(Head):
        def __init__(self, width: int = 2, **options: int) -> None:
            super().__init__(**options)
            self.width = width

    register("wide", Wide)
    made = make({"type": "wide", "units": 3})
    assert (made.width, made.units) == (2, 3)
    assert list(registry.parameters_of(Wide)) == ["width", "units", "activation"]
    with pytest.raises(SpecError, match=r"has no argument 'unit'. Did you mean 'units'\?"):
        make({"type": "wide", "unit": 3})


def test_settings_of_every_component_stand_in_the_spec():
    head = make({"type": "head", "units": 4, "scope": "q", "device": "cpu", "shared_scope": "s"})
    assert (head.scope, head.device, head.shared_scope) == ("q", "cpu", "s")


# -- refusals -------------------------------------------------------------------------------------
def test_an_unknown_name_lists_the_known_ones():
    assert (
        message("heat") == "there is no component 'heat'. Did you mean 'head'? Known: head, plain."
    )
    assert message("q") == "there is no component 'q'. Known: head, plain."


def test_an_unknown_argument_lists_the_known_ones():
    assert message({"type": "head", "unit": 4}) == (
        "component 'head' has no argument 'unit'. Did you mean 'units'? Arguments: units, "
        "activation."
    )
    assert message({"type": "plain", "unit": 4}) == (
        "component 'plain' has no argument 'unit'. Arguments: none."
    )


def test_a_missing_argument_shows_the_spec():
    assert (
        message("head") == "component 'head' needs the argument 'units': {type: head, units: ...}."
    )


@pytest.mark.parametrize("spec", [None, 3, {"units": 4}, ["head"]])
def test_what_is_no_spec_is_refused(spec):
    assert message(spec) == (
        f"a component spec is a name, a mapping with `type`, or a file of one; this is {spec!r}."
    )


@pytest.mark.parametrize("kind", [3, None, ["head"]])
def test_a_type_that_is_no_name_is_refused(kind):
    assert message({"type": kind}) == (
        f"a component's `type` is a registry name; this is {kind!r}. Known: head, plain."
    )


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "none.yaml"
    assert message(path) == f"{path}: can't be read: No such file or directory."


def test_a_broken_file_is_named(tmp_path):
    path = tmp_path / "head.json"
    path.write_text("{")
    assert message(path).startswith(f"{path}: no valid JSON: ")
    path = tmp_path / "head.yaml"
    path.write_text("a: [")
    assert message(path).startswith(f"{path}: no valid YAML: ")


def test_an_empty_file_is_named(tmp_path):
    path = tmp_path / "head.yaml"
    path.write_text("")
    assert message(path) == (
        f"{path}: a component spec is a name, a mapping with `type`, or a file of one; this is "
        "None."
    )


# -- register -------------------------------------------------------------------------------------
def test_a_registered_class_is_made_by_its_name():
    class Mine(Component):
        pass

    register("mine", Mine)
    assert isinstance(make("mine"), Mine)
    assert names() == ["head", "mine", "plain"]


def test_a_registered_path_is_imported_on_use():
    register("lazy", "tests.graph.core.parts:AddOne")
    assert component_class("lazy").__name__ == "AddOne"


def test_the_table_of_the_library_is_relative_to_it(monkeypatch):
    monkeypatch.setattr(registry, "_LIBRARY", "tests.graph")
    monkeypatch.setattr(registry, "COMPONENTS", {"add": "core.parts:AddOne"})
    assert component_class("add").__name__ == "AddOne"


def test_registering_the_same_again_is_harmless():
    register("head", Head)
    assert names() == ["head", "plain"]


def test_a_name_that_is_taken_is_refused(monkeypatch):
    with pytest.raises(SpecError) as error:
        register("head", Plain)
    assert str(error.value) == f"the component name 'head' is taken by {Head}; choose another name."
    monkeypatch.setattr(registry, "COMPONENTS", {"dense": "layers.dense:Dense"})
    with pytest.raises(SpecError) as error:
        register("dense", Plain)
    assert str(error.value) == (
        "the component name 'dense' is taken by layers.dense:Dense; choose another name."
    )


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("no.such.module:Thing", "No module named 'no'"),
        ("tests.graph.core.parts:Nothing", "the module has no 'Nothing'"),
        ("tests.graph.core.parts:trace", "it is not a Component class"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(target, why):
    register("gone", target)
    assert message("gone") == f"component 'gone': {target} can't be imported: {why}."
