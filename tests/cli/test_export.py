"""`rlg export`: files, what is beside them, and mistakes in one line."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlg.api.export import formats
from rlg.errors import ParityError
from tests.cli.conftest import TINY


@pytest.fixture
def run(rlg, folder):
    assert rlg("train", *TINY, "hydra.run.dir=run", "checkpoint.interval=256").code == 0
    return folder / "run"


def test_a_run_becomes_a_file_with_its_comparison_and_usage(rlg, run, folder):
    result = rlg("export", "run", "--to", "numpy", "--observations", "20")
    assert result.code == 0, result.err
    assert result.out.splitlines()[:3] == [
        "numpy:      run/export/numpy/policy.py",
        "parity:     25 of 25 actions equal, largest difference 0",
        "details:    run/export/numpy/policy.json",
    ]
    details = json.loads((run / "export/numpy/policy.json").read_text())
    assert details["format"] == "numpy"
    assert details["step"] == 640
    assert details["agent"] == "dqn"
    assert details["env"]["name"] == "cartpole"
    assert details["inputs"] == {"observations": {"shape": [None, 4], "dtype": "float32"}}
    assert details["outputs"] == {"actions": {"shape": [None], "dtype": "int64"}}
    assert details["action_space"]["high"] == 1
    assert details["parity"] == {
        "observations": 25,
        "equal_actions": 25,
        "equal_states": 25,
        "largest_difference": 0.0,
        "agrees": True,
    }
    assert details["versions"]["numpy"] == np.__version__
    run_usage(details["usage"], run / "export/numpy")


def run_usage(usage: str, folder: Path) -> None:
    """The lines that a user is shown run as they are."""
    program = f"import numpy as np\nobservations = np.zeros((3, 4))\n{usage}\n"
    program += "assert outputs['actions'].shape == (3,)"
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)


def test_a_checkpoint_and_a_file_can_be_chosen(rlg, run, folder):
    words = ["--to", "numpy", "--observations", "8", "--json"]
    found = {}
    for checkpoint in ("512", "best", "step-000000640"):
        result = rlg("export", "run", *words, "--checkpoint", checkpoint, "-o", f"at-{checkpoint}")
        assert result.code == 0, result.err
        found[checkpoint] = json.loads(result.out)
        assert found[checkpoint]["file"] == f"at-{checkpoint}.py"
        assert (folder / f"at-{checkpoint}.npz").exists()
    run_usage(json.loads((folder / "at-512.json").read_text())["usage"], folder)
    assert [found[name]["step"] for name in ("512", "step-000000640")] == [512, 640]
    first, last = (np.load(folder / f"at-{name}.npz") for name in ("512", "step-000000640"))
    kernel = "agent/policy/network/dense-0/kernel"
    assert not np.array_equal(first[kernel], last[kernel])


def test_a_run_of_one_backend_becomes_a_file_of_the_other(rlg, run, folder):
    for to, name in (("torch", "policy.pt2"), ("savedmodel", "policy")):
        result = rlg("export", "run", "--to", to, "--observations", "8")
        assert result.code == 0, result.err
        assert "9 of 9 actions equal" in result.out or "actions equal" in result.out
        assert (run / "export" / to / name).exists()


MISTAKES = {
    ("run", "--to", "onxx"): (2, "--to onxx: there is no such format. Did you mean 'onnx'?"),
    ("nothing", "--to", "numpy"): (2, "nothing: not a run folder:"),
    ("run", "--to", "numpy", "-o", "p.onnx"): (
        2,
        "--output p.onnx: files of the format numpy end in .py. Write p.py or --to onnx.",
    ),
    ("run", "--to", "savedmodel", "-o", "run"): (2, "--output run: it exists, and is not a Saved"),
    ("run", "--to", "numpy", "--checkpoint", "x"): (2, "--checkpoint: "),
    ("run", "--to", "numpy", "--observations", "0"): (2, "--observations"),
    ("run",): (2, "Missing option '--to'"),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_mistakes_get_one_line(rlg, folder, words):
    (folder / "run").mkdir()
    if "--checkpoint" in words:
        assert rlg("train", *TINY, "hydra.run.dir=run").code == 0
    code, text = MISTAKES[words]
    result = rlg("export", *words)
    assert result.code == code
    (line,) = result.err.splitlines()
    assert text in line


def test_a_missing_extra_is_named(rlg, folder, monkeypatch):
    found = formats.find_spec
    monkeypatch.setattr(
        formats, "find_spec", lambda name: None if name == "onnxscript" else found(name)
    )
    result = rlg("export", "run", "--to", "onnx")
    assert result.code == 2
    assert "--to onnx: it needs onnxscript: pip install 'rlgraph-next[onnx]'." in result.err


def test_a_run_without_a_checkpoint_that_can_be_read_says_so(rlg, run):
    for file in run.glob("checkpoints/*/model*"):
        file.write_bytes(b"broken")
    result = rlg("export", "run", "--to", "numpy")
    assert result.code == 1
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("to", ["numpy", "torch"])
def test_an_export_that_can_not_be_written_leaves_the_earlier_one(rlg, run, to):
    words = ("export", "run", "--to", to, "--observations", "1")
    assert rlg(*words).code == 0
    place = run / "export" / to
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    _, most = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, most))  # as if the disk were full
    try:
        result = rlg(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.code == 1
    assert "File too large. Give a place that can be written." in result.err
    assert {file.name: file.read_bytes() for file in place.iterdir()} == before


def test_a_file_that_acts_differently_exits_1(rlg, run, monkeypatch):
    load = formats.FORMATS["numpy"].load

    def spoilt(path, policy):
        loaded = load(path, policy)
        return lambda **arrays: {"actions": 1 - loaded(**arrays)["actions"]}

    kind = formats.FORMATS["numpy"]
    words = {field: getattr(kind, field) for field in kind.__slots__}
    changed = formats.Format(**{**words, "load": spoilt})
    monkeypatch.setitem(formats.FORMATS, "numpy", changed)
    result = rlg("export", "run", "--to", "numpy", "--observations", "8")
    assert result.code == 1
    assert (
        "it does not act as the run does: 0 of 9 actions equal, largest difference 1." in result.err
    )
    details = json.loads((run / "export/numpy/policy.json").read_text())
    assert details["parity"]["agrees"] is False
    import rlg as package

    with pytest.raises(ParityError):
        package.export(run, "numpy", observations=8)


def test_tab_completes_formats_and_runs(rlg, folder):
    place = folder / "outputs/2030-01-01/a"
    place.mkdir(parents=True)
    (place / "status.json").write_text("{}")
    assert "outputs/2030-01-01/a" in rlg("__complete", "bash", "rlg export ").out
    line = "rlg export outputs/2030-01-01/a --to sa"
    assert rlg("__complete", "bash", line).out.split() == ["savedmodel"]


def test_help_pages_know_all_formats():
    from rlg.cli.export import FORMATS

    assert list(FORMATS) == list(formats.FORMATS)
