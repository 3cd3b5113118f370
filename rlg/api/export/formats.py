"""The formats of exported policies: what each needs, how it is written and read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from rlg.api.export.greedy import GreedyPolicy
from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import BackendError, SpecError, pip_install
from rlg.spelling import suggestion

Loaded = Callable[..., dict[str, NDArray[Any]]]  # arrays by name, in and out


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file."""

    name: str
    suffix: str
    needs: tuple[str, ...]  # modules that only an extra installs, named like the format
    executor: Callable[[], GraphExecutor]
    write: Callable[[GreedyPolicy, Path, str], None]  # with a line that says what it is
    load: Callable[[Path, GreedyPolicy], Loaded]
    usage: str  # with {file} and {inputs}


def _recorder() -> GraphExecutor:
    from rlg.backends.numpy.recording import RecordingExecutor

    return RecordingExecutor()


def _tracer() -> GraphExecutor:
    from rlg.backends.torch.exporting import ExportingExecutor

    return ExportingExecutor()


def _write_numpy(policy: GreedyPolicy, path: Path, title: str) -> None:
    from rlg.backends.numpy.recording import RecordingExecutor
    from rlg.backends.numpy.standalone import write_module

    assert isinstance(policy.executor, RecordingExecutor)
    write_module(policy.executor, policy, policy.inputs, policy.state_names, path, title)


def _load_numpy(path: Path, policy: GreedyPolicy) -> Loaded:
    from rlg.backends.numpy.standalone import load_module

    return load_module(path)


def _write_torch(policy: GreedyPolicy, path: Path, title: str) -> None:
    from rlg.backends.torch.exporting import exported_program, write_program

    write_program(exported_program(policy.executor, policy, policy.inputs), path)


def _load_torch(path: Path, policy: GreedyPolicy) -> Loaded:
    from rlg.backends.torch.exporting import load_program

    return load_program(path, list(policy.inputs))


def _write_onnx(policy: GreedyPolicy, path: Path, title: str) -> None:
    from rlg.backends.torch.exporting import exported_program, write_onnx

    program = exported_program(policy.executor, policy, policy.inputs)
    write_onnx(program, path, list(policy.inputs), list(policy.outputs))


def _load_onnx(path: Path, policy: GreedyPolicy) -> Loaded:
    names: Sequence[str] = list(policy.outputs)
    if find_spec("onnxruntime") is not None:
        from onnxruntime import InferenceSession

        session = InferenceSession(str(path), providers=["CPUExecutionProvider"])
    else:  # Slow, but part of onnx itself.
        from onnx.reference import ReferenceEvaluator

        session = ReferenceEvaluator(str(path))
    # What the policy does not look at is no input of the graph.
    known = {value if isinstance(value, str) else value.name for value in _inputs(session)}

    def call(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
        given = {name: array for name, array in arrays.items() if name in known}
        return dict(zip(names, session.run(names, given), strict=True))

    return call


def _inputs(session: Any) -> Any:
    return session.get_inputs() if hasattr(session, "get_inputs") else session.input_names


def _write_saved_model(policy: GreedyPolicy, path: Path, title: str) -> None:
    from rlg.backends.tf.exporting import write_saved_model

    write_saved_model(policy.executor, policy, policy.inputs, path)


def _load_saved_model(path: Path, policy: GreedyPolicy) -> Loaded:
    from rlg.backends.tf.exporting import load_saved_model

    return load_saved_model(path)


FORMATS = {
    found.name: found
    for found in (
        Format(
            "onnx",
            ".onnx",
            ("onnx", "onnxscript"),
            _tracer,
            _write_onnx,
            _load_onnx,
            "import onnxruntime\n"
            "session = onnxruntime.InferenceSession({file!r})\n"
            "actions = session.run(['actions'], dict({inputs}))",
        ),
        Format(
            "torch",
            ".pt2",
            (),
            _tracer,
            _write_torch,
            _load_torch,
            "import torch\n"
            "policy = torch.export.load({file!r}).module()\n"
            "outputs = policy({names})  # tensors, in this order",
        ),
        Format(
            "savedmodel",
            "",
            (),
            lambda: make_executor("tf"),
            _write_saved_model,
            _load_saved_model,
            "import tensorflow as tf\n"
            "model = tf.saved_model.load({file!r})\n"
            "outputs = model.signatures['serving_default']({inputs})",
        ),
        Format(
            "numpy",
            ".py",
            (),
            _recorder,
            _write_numpy,
            _load_numpy,
            "{importing}\npolicy = Policy()\noutputs = policy({inputs})",
        ),
    )
}


def format_of(name: str) -> Format:
    """A format by name, if what it needs is installed."""
    if name not in FORMATS:
        raise SpecError(
            f"--to {name}: there is no such format.{suggestion(name, FORMATS)} "
            f"Known: {', '.join(FORMATS)}."
        )
    found = FORMATS[name]
    missing = [module for module in found.needs if find_spec(module) is None]
    if missing:
        raise BackendError(
            f"--to {name}: it needs {' and '.join(missing)}: {pip_install(found.name)}."
        )
    return found
