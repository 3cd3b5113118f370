"""Checkpoints: folders that appear complete or not at all, and are checked when they are read.

A save writes aside, syncs every file, renames, and only then prunes old ones. Arrays of a section
`memory` are in `memory.safetensors`, all other values in `state.json`; `manifest.json` comes last.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.arrays import BrokenCheckpointError, StoredArray
from rlg.tracking.checkpoints.files import Draft, Manifest
from rlg.tracking.checkpoints.folders import CheckpointFolders
from rlg.tracking.checkpoints.tree import Array, digest, first_difference


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree as it was saved, with the digest of each section.

    `skipped` has one line for each newer checkpoint that was broken: show it to the user.
    """

    step: int
    tree: dict[str, Any]
    digests: dict[str, str]
    skipped: tuple[str, ...] = ()
    stored: dict[str, Any] = field(default_factory=dict)  # sections that are still on disk

    def replace(self, section: str, value: Any) -> None:
        """Another value for a section, which is what `check` expects from then on."""
        if value is not self.tree[section]:
            self.tree[section], self.digests[section] = value, digest(value)

    def check(self, section: str, restored: Any) -> None:
        """Raises unless a restored section is what was saved: verified by digest."""
        if digest(restored) == self.digests[section]:
            return
        difference = first_difference(self.tree[section], restored) or "its digest differs"
        raise CheckpointError(
            f"step {self.step}, section {section!r}: restored differently than saved: "
            f"{difference}. {_OTHER_CONFIGURATION}"
        )

    def read_into(self, section: str, targets: Mapping[str, Array]) -> None:
        """Reads a stored section, a dict of arrays, into the memory of arrays that exist.

        Nothing is written unless names, shapes and dtypes all agree.
        """
        stored: Mapping[str, StoredArray] = self.stored[section]
        for name in sorted({*stored, *targets}):
            if name not in stored:
                problem = f"the saved state lacks {name}"
            elif name not in targets:
                problem = f"the saved state also has {name}"
            elif (found := _kind(stored[name])) != (expected := _kind(targets[name])):
                problem = f"{name} was saved as {found}, and is {expected} here"
            else:
                continue
            raise CheckpointError(
                f"step {self.step}, section {section!r}: {problem}. {_OTHER_CONFIGURATION}"
            )
        for name, array in stored.items():
            array.read_into(targets[name])


def _kind(array: StoredArray | Array) -> str:
    return f"{array.dtype}{list(array.shape)}"


_OTHER_CONFIGURATION = (
    "The configuration or the version of a component differs from the saved run's. Resume with the "
    "run's own config.yaml."
)
__all__ = ["BrokenCheckpointError", "Checkpoint", "CheckpointStore", "step_of"]


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
        self._folders = CheckpointFolders(self.folder)
        self._broken: set[int] = set()  # as `load` found out
        if not read_only:
            self._folders.tidy()

    # -- writing ----------------------------------------------------------------------------------
    def save(self, step: int, sections: Mapping[str, Any]) -> Path:
        """Writes trees of arrays and plain values; a checkpoint of the same step is replaced.

        Arrays are written straight from their memory. A section may be a function that returns
        its tree: it is called just before the section is written, and the tree is dropped after.
        If the disk is full, earlier checkpoints are all still there. Log the metrics of a step
        before its checkpoint, so that a resumed run finds them.
        """
        self._refuse_if_read_only()
        path = self._folders.commit(Draft(step, sections))
        if self.keep is not None:
            self._prune(step, self.keep)
        return path

    def _prune(self, newest: int, keep: int) -> None:
        """Broken ones don't count: they go when they are older than all that are kept."""
        complete = self.steps()
        others = [step for step in complete if step != newest]
        dropped = others[: max(0, len(others) + 1 - keep)]
        oldest = min({newest, *others} - set(dropped))
        broken = [step for step in self._folders.steps() if step not in complete]
        self._folders.remove([*dropped, *(step for step in broken if step < oldest)])

    def keep_for(self, steps: Collection[int]) -> None:
        """Keeps the newest checkpoint and, for each of `steps`, the newest one up to it."""
        self._refuse_if_read_only()
        known = self._folders.steps()
        needed = {max((own for own in known if own <= step), default=-1) for step in steps}
        self._folders.remove([own for own in known[:-1] if own not in needed])

    def truncate_after(self, step: int, *, set_aside: bool = False) -> None:
        """Removes later checkpoints: they belong to a past that a resume from `step` discards.

        Those that `load` found broken, or all if asked to, are renamed instead of deleted.
        """
        self._refuse_if_read_only()
        for other in self._folders.steps():
            if other > step and (set_aside or other in self._broken):
                kind = "broken" if other in self._broken else "discarded"
                self._folders.set_aside(other, kind)
            elif other > step:
                self._folders.remove([other])

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise CheckpointError(f"{self.folder}: opened to read only. Open it without read_only.")

    # -- reading ----------------------------------------------------------------------------------
    def steps(self) -> list[int]:
        """Steps whose checkpoint is not known to be broken, oldest first; contents aren't read."""
        return [step for step in self._folders.steps() if self._is_complete(step)]

    def latest(self) -> int | None:
        """The newest complete checkpoint's step."""
        return max(self.steps(), default=None)

    def load(
        self,
        step: int | None = None,
        *,
        fallback: bool = False,
        sections: Collection[str] | None = None,
        stored: Collection[str] = (),
    ) -> Checkpoint:
        """Reads and verifies one checkpoint, by default the newest.

        Args:
            fallback: where content is provably not what was saved, go back to the newest intact
                checkpoint (up to `step`). A file that can't be read now is an error all the same.
            sections: read and verify only these, e.g. for an evaluation without the memory.
            stored: verify these and leave their arrays on disk, for `Checkpoint.read_into`.
        """
        known = self._folders.steps()
        if step is not None and step not in known:
            have = ", ".join(self._folders.path(other).name for other in known) or "none"
            raise CheckpointError(
                f"{self.folder}: no checkpoint of step {step}. There are: {have}."
            )
        if not known:
            raise CheckpointError(
                f"{self.folder}: no checkpoint yet. Start a new run, or pass another folder."
            )
        broken, skipped = "", list[str]()
        for candidate in reversed([other for other in known if step is None or other <= step]):
            try:
                return self._load(candidate, sections, stored, tuple(skipped))
            except BrokenCheckpointError as error:
                if not fallback:
                    raise BrokenCheckpointError(f"{error} {self._way_out(candidate)}") from None
                self._broken.add(candidate)
                broken = broken or str(error)
                aside = self._folders.path(candidate, "broken").name
                skipped.append(str(error) if self.read_only else f"{error} Set aside as {aside}.")
        raise BrokenCheckpointError(
            f"{broken} No older checkpoint is intact either. Start a new run."
        )

    def _load(
        self,
        step: int,
        sections: Collection[str] | None,
        stored: Collection[str],
        skipped: tuple[str, ...],
    ) -> Checkpoint:
        path = self._folders.path(step)
        manifest = Manifest.read(path)
        if manifest.step != step:
            raise BrokenCheckpointError(
                f"{path}: holds step {manifest.step}, its folder was renamed."
            )
        unknown = sorted(set(sections or ()) - set(manifest.sections))
        if unknown:
            have = ", ".join(manifest.sections)
            raise CheckpointError(f"{path}: has no section {unknown[0]!r}. It has: {have}.")
        names = [name for name in manifest.sections if sections is None or name in sections]
        found = manifest.read_sections(path, names, stored)
        digests = {name: manifest.sections[name]["digest"] for name in names}
        left = {name: found.pop(name) for name in names if name in stored}
        return Checkpoint(step, found, digests, skipped, left)

    def _is_complete(self, step: int) -> bool:
        path = self._folders.path(step)
        try:
            Manifest.read(path).check_sizes(path)
        except BrokenCheckpointError:
            return False
        except CheckpointError:
            pass  # it can't be read now, or by this version: nothing is proven
        return True

    def _way_out(self, step: int) -> str:
        before = max((other for other in self.steps() if other < step), default=None)
        if before is None:
            return "There is none before it: start a new run."
        return f"Resume from the one before: --checkpoint {self._folders.path(before).name}"


def step_of(name: str) -> int:
    """The step in a checkpoint's name: step-000000123, or just 123."""
    found = re.fullmatch(r"(?:step-)?(\d+)", name)
    if found is None:
        raise CheckpointError(
            f"{name!r} does not name a checkpoint. Write it as step-000000123, or 123."
        )
    return int(found.group(1))
