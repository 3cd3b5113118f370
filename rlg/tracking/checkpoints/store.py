"""Checkpoints: folders that appear complete or not at all, and are checked when they are read.

A save writes aside, syncs every file, renames, and only then prunes old ones. Arrays of a section
`memory` are in `memory.safetensors`, all other values in `state.json`; `manifest.json` comes last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.arrays import ArraySection
from rlg.tracking.checkpoints.loaded import Checkpoint
from rlg.tracking.checkpoints.manifest import Manifest, broken
from rlg.tracking.checkpoints.shelf import Shelf
from rlg.tracking.checkpoints.tree import decode
from rlg.tracking.checkpoints.writing import STATE, Draft


class _UnknownSectionError(CheckpointError):
    """A request that no older checkpoint would fulfil either."""


class CheckpointStore:
    """The checkpoints of one run, by environment step."""

    def __init__(
        self, folder: Path | str, keep: int | None = 3, *, read_only: bool = False
    ) -> None:
        """Removes what killed writers left, unless it may only read.

        Args:
            keep: how many of the newest to keep; None keeps all. During a save there is one more.
            read_only: for those who look at another process's run, maybe from another machine.
        """
        if keep is not None and keep < 1:
            raise CheckpointError(
                f"{folder}: keep={keep}; keep at least 1 checkpoint, or None: all."
            )
        self.folder = Path(folder)
        self.keep = keep
        self.read_only = read_only
        self._shelf = Shelf(self.folder)
        if not read_only:
            self._shelf.tidy()

    # -- writing ----------------------------------------------------------------------------------
    def save(self, step: int, tree: Mapping[str, Any]) -> Path:
        """Writes a tree of arrays and plain values; one of the same step is replaced.

        If the disk is full, earlier checkpoints are all still there. Log the metrics of a step
        before its checkpoint, so that a resumed run finds them.
        """
        self._refuse_if_read_only()
        path = self._shelf.place(Draft(step, tree))
        if self.keep is not None:
            self._prune(step, self.keep)
        return path

    def _prune(self, newest: int, keep: int) -> None:
        """Broken ones don't count: they go when they are older than all that are kept."""
        complete = self.steps()
        others = [step for step in complete if step != newest]
        dropped = others[: max(0, len(others) + 1 - keep)]
        oldest = min({newest, *others} - set(dropped))
        broken_ones = [step for step in self._shelf.steps() if step not in complete]
        self._shelf.remove([*dropped, *(step for step in broken_ones if step < oldest)])

    def truncate_after(self, step: int) -> None:
        """Removes later checkpoints: they belong to a past that a resume from `step` discards."""
        self._refuse_if_read_only()
        self._shelf.remove([other for other in self._shelf.steps() if other > step])

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise CheckpointError(f"{self.folder}: opened to read only. Open it without read_only.")

    # -- reading ----------------------------------------------------------------------------------
    def steps(self) -> list[int]:
        """Steps with a complete checkpoint, oldest first; contents aren't read."""
        return [step for step in self._shelf.steps() if self._is_complete(step)]

    def latest(self) -> int | None:
        """The newest complete checkpoint's step."""
        return max(self.steps(), default=None)

    def load(
        self,
        step: int | None = None,
        *,
        fallback: bool = False,
        sections: Collection[str] | None = None,
    ) -> Checkpoint:
        """Reads and verifies one checkpoint, by default the newest.

        Args:
            fallback: go back to the newest intact one (up to `step`) instead of raising.
            sections: read and verify only these, e.g. for an evaluation without the memory.
        """
        known = self._shelf.steps()
        if step is not None and step not in known:
            have = ", ".join(self._shelf.path(other).name for other in known) or "none"
            raise CheckpointError(
                f"{self.folder}: no checkpoint of step {step}. There are: {have}."
            )
        if not known:
            raise CheckpointError(
                f"{self.folder}: no checkpoint yet. Start the run anew, or give another folder."
            )
        skipped: list[str] = []
        for candidate in reversed([other for other in known if step is None or other <= step]):
            try:
                return self._load(candidate, sections, tuple(skipped))
            except _UnknownSectionError:
                raise
            except CheckpointError as error:
                line = f"{error} {self._way_out(candidate)}"
                if not fallback:
                    raise CheckpointError(line) from None
                skipped.append(str(error))
        raise CheckpointError(
            f"{skipped[0]} No older checkpoint is intact either. Start the run anew."
        )

    def _load(
        self, step: int, sections: Collection[str] | None, skipped: tuple[str, ...]
    ) -> Checkpoint:
        path = self._shelf.path(step)
        manifest = Manifest.read(path)
        if manifest.step != step:
            raise broken(path, f"holds step {manifest.step}, its folder was renamed")
        names = _chosen(path, manifest, sections)
        files = {str(manifest.sections[name]["file"] or STATE) for name in names}
        manifest.check_content(path, files | {STATE})
        try:
            values = json.loads((path / STATE).read_text(encoding="utf-8"))
            tree = {name: _read(path, manifest, name, values[name]) for name in names}
        except OSError as error:
            raise broken(path, f"can't be read ({error.strerror})") from None
        digests = {name: manifest.sections[name]["digest"] for name in names}
        return Checkpoint(step, tree, digests, skipped)

    def _is_complete(self, step: int) -> bool:
        path = self._shelf.path(step)
        try:
            Manifest.read(path).check_sizes(path)
        except CheckpointError:
            return False
        return True

    def _way_out(self, step: int) -> str:
        before = max((other for other in self.steps() if other < step), default=None)
        if before is None:
            return "There is none before it: start the run anew."
        return f"Resume from the one before: --checkpoint {self._shelf.path(before).name}"


def step_of(name: str) -> int:
    """The step in a checkpoint's name: step-000000123, or just 123."""
    found = re.fullmatch(r"(?:step-)?(\d+)", name)
    if found is None:
        raise CheckpointError(f"{name!r} names no checkpoint. Write it as step-000000123, or 123.")
    return int(found.group(1))


def _chosen(path: Path, manifest: Manifest, sections: Collection[str] | None) -> list[str]:
    unknown = sorted(set(sections or ()) - set(manifest.sections))
    if unknown:
        have = ", ".join(manifest.sections)
        raise _UnknownSectionError(f"{path}: has no section {unknown[0]!r}. It has: {have}.")
    return [name for name in manifest.sections if sections is None or name in sections]


def _read(path: Path, manifest: Manifest, section: str, value: Any) -> Any:
    name = manifest.sections[section]["file"]
    arrays = ArraySection() if name is None else ArraySection.load(path / name)
    return decode(value, arrays.fetch)
