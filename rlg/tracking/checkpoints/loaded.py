"""A checkpoint in memory, and the check that its parts arrived where they belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.tree import digest, first_difference


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree as it was saved, with the digest of each section.

    `skipped` has one line for each newer checkpoint that was broken: show it to the user.
    """

    step: int
    tree: dict[str, Any]
    digests: dict[str, str]
    skipped: tuple[str, ...] = ()

    def check(self, section: str, restored: Any) -> None:
        """Raises unless what a component gives back after its restore is what was saved."""
        if digest(restored) == self.digests[section]:
            return
        difference = first_difference(self.tree[section], restored) or "its digest differs"
        raise CheckpointError(
            f"step {self.step}, section {section!r}: restored differently than saved: "
            f"{difference}. The configuration or the version of a component differs from the "
            "saved run's: resume with the run's own config.yaml."
        )
