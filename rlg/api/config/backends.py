"""The section `backend`: which one, and the options of its executor."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rlg.api.config.signatures import Arguments, arguments_of, checked
from rlg.errors import SpecError
from rlg.graph.core.diagnose import suggestion

EXECUTORS = {
    "torch": "rlg.backends.torch.executor:TorchExecutor",
    "tf": "rlg.backends.tf.executor:TFExecutor",
    "tf-graph": "rlg.backends.tf.executor:TFExecutor",
}
# The seed is the run's; the mode is in the type.
_HIDDEN = ("seed", "mode")


def check_backend(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section, converted and complete; loads the framework that it names."""
    name = check_backend_type(section)
    words = {key: value for key, value in section.items() if key != "type"}
    return {"type": name, **checked(words, backend_arguments(name), "backend", f"backend {name}")}


def check_backend_type(section: Mapping[str, Any]) -> str:
    """The type alone, without loading anything."""
    name = section.get("type", "torch")
    if name == "numpy":
        raise SpecError(
            "backend.type: numpy computes forward only, it can't train. "
            "Write backend=torch or backend=tf."
        )
    if not isinstance(name, str) or name not in EXECUTORS:
        raise SpecError(
            f"backend.type: there is no backend {name!r}.{suggestion(str(name), EXECUTORS)} "
            f"Known: {', '.join(EXECUTORS)}."
        )
    return name


def backend_arguments(name: str) -> Arguments:
    """The keys of a backend's executor."""
    module, _, attribute = EXECUTORS[name].partition(":")
    return arguments_of(getattr(import_module(module), attribute), without=_HIDDEN)
