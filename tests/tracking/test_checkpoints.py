"""Promises of checkpoints: complete or absent, verified when read, pruned when superseded."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from rlg.errors import CheckpointError
from rlg.tracking import CheckpointStore
from rlg.tracking.checkpoints.store import step_of
from tests.tracking.processes import run

FILES = ["manifest.json", "memory.safetensors", "state.json", "weights.safetensors"]


def tree(step: int) -> dict[str, object]:
    return {
        "weights": {"agent/policy/kernel": np.full((2, 3), step, "float32")},
        "memory": {"frames": np.full(1000, step % 256, "uint8"), "size": step},
        "counters": {"steps": step, "updates": step // 4},
    }


def filled(folder, *steps: int, keep: int | None = 3) -> CheckpointStore:
    store = CheckpointStore(folder, keep=keep)
    for step in steps:
        store.save(step, tree(step))
    return store


def flip(path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def test_save_load(tmp_path):
    path = filled(tmp_path, 123).save(1234567890, tree(5))
    assert path == tmp_path / "step-1234567890"
    loaded = CheckpointStore(tmp_path).load(123)
    assert loaded.step == 123
    assert loaded.skipped == ()
    np.testing.assert_equal(loaded.tree, tree(123))
    assert CheckpointStore(tmp_path).steps() == [123, 1234567890]


def test_steps_may_be_numpy_integers(tmp_path):
    store = filled(tmp_path, np.int64(5))
    assert (store.steps(), store.load(np.int64(5)).step) == ([5], 5)


def test_each_section_has_its_own_file_that_safetensors_reads(tmp_path):
    filled(tmp_path, 7)
    folder = tmp_path / "step-000000007"
    assert sorted(path.name for path in folder.iterdir()) == FILES
    arrays = load_file(folder / "weights.safetensors")
    np.testing.assert_array_equal(
        arrays["weights/agent/policy/kernel"], np.full((2, 3), 7, "float32")
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["format"], manifest["step"]) == (2, 7)
    assert set(manifest["files"]) == set(FILES) - {"manifest.json"}
    assert manifest["sections"]["counters"]["file"] is None
    assert manifest["sections"]["memory"]["file"] == "memory.safetensors"


def test_all_files_are_as_readable_as_the_others(tmp_path):
    filled(tmp_path, 7)
    modes = {path.stat().st_mode for path in (tmp_path / "step-000000007").iterdir()}
    assert len(modes) == 1


def test_sections_whose_names_are_no_file_names_stay_apart(tmp_path):
    names = ["a/b", "a b", "a?b", "", "state", "manifest", "..", "x" * 300]
    sections = {name: np.array(number) for number, name in enumerate(names)}
    CheckpointStore(tmp_path).save(0, sections)
    np.testing.assert_equal(CheckpointStore(tmp_path).load().tree, sections)


def test_a_section_can_be_loaded_alone_even_if_another_is_broken(tmp_path):
    store = filled(tmp_path, 7)
    flip(tmp_path / "step-000000007" / "memory.safetensors", -1)
    assert list(store.load(sections=["weights"]).tree) == ["weights"]
    with pytest.raises(CheckpointError, match=r"no section 'wieghts'. It has: weights, memory"):
        store.load(sections=["wieghts"], fallback=True)


# -- keeping and removing -------------------------------------------------------------------------
def test_the_newest_are_kept(tmp_path):
    assert filled(tmp_path, 1, 2, 3, 4, 5).steps() == [3, 4, 5]
    assert filled(tmp_path, 6, keep=1).steps() == [6]
    assert filled(tmp_path, *range(7, 12), keep=None).steps() == [6, 7, 8, 9, 10, 11]


def test_a_save_never_prunes_itself(tmp_path):
    store = filled(tmp_path, 10, 20, 30)
    store.save(5, tree(5))
    assert store.steps() == [5, 20, 30]


def test_broken_checkpoints_do_not_count_as_kept(tmp_path):
    store = filled(tmp_path, 1, 2, 3)
    for step in (2, 3):
        (tmp_path / f"step-00000000{step}" / "state.json").unlink()
    store.save(4, tree(4))
    assert store.steps() == [1, 4]
    assert len(list(tmp_path.iterdir())) == 4  # broken, but not older than all that are kept
    store.save(5, tree(5))
    store.save(6, tree(6))
    assert [path.name[-1] for path in sorted(tmp_path.iterdir())] == ["4", "5", "6"]


def test_saving_a_step_again_replaces_it(tmp_path):
    store = filled(tmp_path, 1)
    store.save(1, {"new": 1})
    assert store.load(1).tree == {"new": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001"]


def test_an_interrupt_while_a_step_is_replaced_leaves_the_old_one_in_place(tmp_path, monkeypatch):
    store, rename = filled(tmp_path, 1), Path.rename

    def interrupted(path, target):
        if path.name.startswith(".tmp"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.save(1, {"new": 1})
    np.testing.assert_equal(store.load(1).tree, tree(1))
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001"]


def test_truncate_after_removes_the_discarded_future(tmp_path):
    store = filled(tmp_path, 10, 20, 30)
    store.truncate_after(10)
    assert store.steps() == [10]


@pytest.mark.parametrize("kind", ["tmp", "old"])
def test_leftovers_of_killed_writers_are_cleaned_at_start(tmp_path, kind):
    filled(tmp_path, 1)
    dead = int(run("import os; print(os.getpid())"))
    (tmp_path / f".{kind}-1-{dead}").mkdir()
    (tmp_path / f".{kind}-1-{os.getpid()}").mkdir()
    (tmp_path / f".{kind}-1-{os.getppid()}").mkdir()  # alive
    CheckpointStore(tmp_path, read_only=True)
    assert len(list(tmp_path.iterdir())) == 4
    assert CheckpointStore(tmp_path).steps() == [1]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f".{kind}-1-{os.getppid()}", "step-000000001"]


def test_a_replaced_checkpoint_comes_back_if_its_successor_never_came(tmp_path):
    filled(tmp_path, 1)
    (tmp_path / "step-000000001").rename(tmp_path / f".old-1-{os.getpid()}")
    assert CheckpointStore(tmp_path).load().step == 1


def test_a_store_to_read_neither_makes_nor_changes_anything(tmp_path):
    store = CheckpointStore(tmp_path / "none", read_only=True)
    assert (store.steps(), store.latest()) == ([], None)
    assert not (tmp_path / "none").exists()
    with pytest.raises(CheckpointError, match="read only"):
        store.save(1, {})


# -- what is broken -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("offset", [0, 100, -2])
def test_a_changed_byte_is_detected_and_its_file_named(tmp_path, name, offset):
    store = filled(tmp_path, 1, 2)
    path = tmp_path / "step-000000002" / name
    flip(path, min(offset, path.stat().st_size - 1))
    with pytest.raises(CheckpointError) as caught:
        store.load()
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith("Resume from the one before: --checkpoint step-000000001")
    assert "\n" not in message


@pytest.mark.parametrize("name", FILES)
def test_changed_bytes_anywhere_are_detected(tmp_path, name):
    store = CheckpointStore(tmp_path)
    store.save(1, {"weights": np.zeros(1), "memory": np.zeros(1)})
    path = tmp_path / "step-000000001" / name
    for offset in range(0, path.stat().st_size, 5):
        flip(path, offset)
        try:
            loaded = store.load()
        except CheckpointError:
            pass
        else:  # white space between the manifest's entries carries nothing
            assert name == "manifest.json"
            assert loaded.tree == {"weights": [0.0], "memory": [0.0]}
        flip(path, offset)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named_and_latest_skips_it(tmp_path, name):
    store = filled(tmp_path, 1, 2)
    path = tmp_path / "step-000000002" / name
    os.truncate(path, path.stat().st_size - 3)
    assert (store.latest(), store.steps()) == (1, [1])
    with pytest.raises(CheckpointError, match=f"{name}: (has|can't be read)"):
        store.load()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named_and_latest_skips_it(tmp_path, name):
    store = filled(tmp_path, 1, 2)
    (tmp_path / "step-000000002" / name).unlink()
    assert store.latest() == 1
    with pytest.raises(CheckpointError, match=f"{name}: is missing"):
        store.load()


def test_fallback_goes_to_the_newest_intact_one_and_reports_the_others(tmp_path):
    store = filled(tmp_path, 1, 2, 3)
    flip(tmp_path / "step-000000003" / "state.json", 5)
    (tmp_path / "step-000000002" / "manifest.json").unlink()
    loaded = store.load(fallback=True)
    assert loaded.step == 1
    assert [line.split(": ")[0].rsplit("/", 2)[1:] for line in loaded.skipped] == [
        ["step-000000003", "state.json"],
        ["step-000000002", "manifest.json"],
    ]
    assert store.load(3, fallback=True).step == 1
    (tmp_path / "step-000000001" / "state.json").unlink()
    with pytest.raises(CheckpointError, match="No older checkpoint is intact either"):
        store.load(fallback=True)


@pytest.mark.parametrize("name", FILES)
def test_a_read_error_is_no_damage_nothing_older_is_loaded_and_nothing_goes(
    tmp_path, monkeypatch, name
):
    store = filled(tmp_path, 1, 2)
    opened = Path.open

    def failing(path, *args, **kwargs):
        if path.name == name and path.parent.name == "step-000000002":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", failing)
        with pytest.raises(CheckpointError, match=f"{name}: can't be read .Input/output error"):
            store.load(fallback=True)
        assert store.latest() == 2
        store.save(3, tree(3))
    assert store.steps() == [1, 2, 3]
    assert store.load(2).step == 2


def test_an_error_of_the_disk_is_told_from_damage(tmp_path):
    store = filled(tmp_path, 1, 2)
    manifest = tmp_path / "step-000000002" / "manifest.json"
    kept = manifest.rename(tmp_path / "kept")
    manifest.symlink_to("/proc/self/mem")  # its first byte can't be read: EIO
    with pytest.raises(CheckpointError, match="Input/output error"):
        store.load(fallback=True)
    kept.replace(manifest)
    assert store.load(fallback=True).step == 2


def test_what_a_fallback_skips_is_set_aside_and_never_deleted(tmp_path):
    store = filled(tmp_path, 1, 2, 3, keep=2)
    flip(tmp_path / "step-000000003" / "memory.safetensors", -1)
    loaded = store.load(fallback=True)
    assert loaded.step == 2
    assert loaded.skipped[0].endswith("have changed. Set aside as broken-000000003.")
    store.truncate_after(2)
    for step in (3, 4, 5, 6):
        store.save(step, tree(step))
    assert (store.steps(), (tmp_path / "broken-000000003" / "manifest.json").exists()) == (
        [5, 6],
        True,
    )
    flip(tmp_path / "step-000000006" / "memory.safetensors", -1)
    assert store.load(fallback=True).step == 5
    (tmp_path / "broken-000000006").mkdir()  # an earlier one of the same step
    store.truncate_after(5)
    assert (tmp_path / "broken-000000006.2" / "manifest.json").exists()


def test_the_future_that_a_resume_discards_can_be_set_aside(tmp_path):
    store = filled(tmp_path, 10, 20, 30)
    store.truncate_after(10, set_aside=True)
    assert store.steps() == [10]
    assert (tmp_path / "discarded-000000030" / "manifest.json").exists()


def test_those_are_kept_that_a_resume_from_one_of_some_steps_needs(tmp_path):
    store = filled(tmp_path, 10, 20, 30, 40, 50, keep=None)
    store.keep_for([9, 25, 30])
    assert store.steps() == [20, 30, 50]


# -- big arrays -----------------------------------------------------------------------------------
def test_a_section_may_be_made_when_its_turn_comes(tmp_path):
    made = []

    def make(name: str):
        def section():
            made.append(name)
            return {"x": np.full(3, len(made)), "n": len(made)}

        return section

    store = CheckpointStore(tmp_path)
    store.save(1, {"first": make("first"), "plain": {"x": np.zeros(2)}, "last": make("last")})
    assert made == ["first", "last"]
    loaded = store.load().tree
    assert list(loaded) == ["first", "plain", "last"]
    np.testing.assert_equal(loaded["last"], {"x": np.full(3, 2), "n": 2})


def test_a_stored_section_is_read_into_arrays_that_exist(tmp_path):
    frames = np.arange(24, dtype="uint8").reshape(4, 6)
    memory = {"frames": frames, "turned": frames.T, "size": np.array(7), "names": np.array(["ab"])}
    CheckpointStore(tmp_path).save(1, {"memory": memory, "weights": {"w": np.ones(2)}})
    loaded = CheckpointStore(tmp_path).load(stored=["memory"])
    assert list(loaded.tree) == ["weights"]
    targets = {name: np.zeros_like(array) for name, array in memory.items()}
    targets["frames"] = np.zeros((6, 4), "uint8").T  # of another layout
    loaded.read_into("memory", targets)
    np.testing.assert_equal(targets, memory)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({"a": np.zeros(3)}, "the saved state also has b"),
        ({"a": np.zeros(3), "b": np.zeros(2, "f4"), "c": np.zeros(1)}, "the saved state lacks c"),
        (
            {"a": np.zeros(4), "b": np.zeros(2, "f4")},
            r"a was saved as float64\[3\], and is",
        ),
        ({"a": np.zeros(3), "b": np.zeros(2)}, r"b was saved as float32\[2\], and is float64\[2\]"),
    ],
)
def test_a_stored_section_that_does_not_fit_changes_nothing(tmp_path, targets, message):
    CheckpointStore(tmp_path).save(1, {"memory": {"a": np.ones(3), "b": np.ones(2, "float32")}})
    loaded = CheckpointStore(tmp_path).load(stored=["memory"])
    with pytest.raises(CheckpointError, match=message):
        loaded.read_into("memory", targets)
    assert not any(array.any() for array in targets.values())


def test_a_changed_byte_of_a_stored_section_is_detected_when_it_is_loaded(tmp_path):
    store = filled(tmp_path, 1, 2)
    flip(tmp_path / "step-000000002" / "memory.safetensors", -1)
    with pytest.raises(CheckpointError, match=r"memory.safetensors: doesn't match its sha256"):
        store.load(stored=["memory"])
    assert store.load(stored=["memory"], fallback=True).step == 1


def test_a_renamed_checkpoint_is_no_other_step(tmp_path):
    store = filled(tmp_path, 1)
    (tmp_path / "step-000000001").rename(tmp_path / "step-000000002")
    with pytest.raises(CheckpointError, match="holds step 1"):
        store.load(2)


def test_another_format_is_refused_and_no_reason_to_go_back(tmp_path):
    path = filled(tmp_path, 1, 2).folder / "step-000000002" / "manifest.json"
    content = json.loads(path.read_text()) | {"format": 3}
    text = json.dumps({key: content[key] for key in content if key != "digest"}, sort_keys=True)
    path.write_text(json.dumps(content | {"digest": hashlib.sha256(text.encode()).hexdigest()}))
    with pytest.raises(CheckpointError, match="has format 3, this rlg reads 2"):
        CheckpointStore(tmp_path).load(fallback=True)
    assert CheckpointStore(tmp_path).steps() == [1, 2]


def test_missing_checkpoints_say_which_there_are(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        CheckpointStore(tmp_path).load()
    with pytest.raises(
        CheckpointError, match=r"no checkpoint of step 9. There are: step-000000001"
    ):
        filled(tmp_path, 1).load(9)


@pytest.mark.parametrize("keep", [0, -1])
def test_keeping_none_is_refused(tmp_path, keep):
    with pytest.raises(CheckpointError, match="keep at least 1"):
        CheckpointStore(tmp_path, keep=keep)


def test_negative_steps_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="steps start at 0"):
        CheckpointStore(tmp_path).save(-1, {})


def test_names_of_checkpoints_are_understood():
    assert (step_of("step-000000123"), step_of("123")) == (123, 123)
    with pytest.raises(CheckpointError, match="does not name a checkpoint"):
        step_of("latest")


# -- what was restored ----------------------------------------------------------------------------
def test_a_restore_that_silently_failed_is_detected(tmp_path):
    loaded = filled(tmp_path, 7).load()
    loaded.check("weights", tree(7)["weights"])
    with pytest.raises(CheckpointError, match=r"section 'counters'.*steps is 8 instead of 7"):
        loaded.check("counters", tree(8)["counters"])
    with pytest.raises(CheckpointError, match=r"agent/policy/kernel is float32\[2, 3\]"):
        loaded.check("weights", tree(8)["weights"])
