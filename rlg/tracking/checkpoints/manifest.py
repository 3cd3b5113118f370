"""`manifest.json` of a checkpoint: what belongs to it, with sizes and digests to check it by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlg.errors import CheckpointError

NAME = "manifest.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files by name with bytes and sha256; sections by name with content digest and file."""

    step: int
    files: dict[str, dict[str, Any]]
    sections: dict[str, dict[str, Any]]
    saved: str
    rlg: str
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        path = folder / NAME
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            own = content.pop("digest")
            version = content["format"]
        except FileNotFoundError:
            raise broken(path, "is missing") from None
        except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
            raise broken(path, f"can't be read ({error})") from None
        if version != FORMAT:
            raise CheckpointError(
                f"{path}: has format {version}, this rlg reads {FORMAT}. Use the version of rlg "
                f"that wrote it ({content.get('rlg', 'unknown')})."
            )
        if own != _digest(content):
            raise broken(path, "doesn't match its own sha256")
        return cls(**content)

    def text(self) -> str:
        content = asdict(self)
        return json.dumps({**content, "digest": _digest(content)}, indent=1) + "\n"

    def check_sizes(self, folder: Path, names: set[str] | None = None) -> None:
        """Raises where a file is missing or has another length: no content is read."""
        for name, entry in self._entries(names):
            path = folder / name
            try:
                size = path.stat().st_size
            except OSError:
                raise broken(path, "is missing") from None
            if size != entry["bytes"]:
                raise broken(path, f"has {size:,} bytes instead of {entry['bytes']:,}")

    def check_content(self, folder: Path, names: set[str] | None = None) -> None:
        """Raises where a file isn't byte for byte what was written."""
        self.check_sizes(folder, names)
        for name, entry in self._entries(names):
            path = folder / name
            try:
                found = file_digest(path)
            except OSError as error:
                raise broken(path, f"can't be read ({error.strerror})") from None
            if found != entry["sha256"]:
                raise broken(path, "doesn't match its sha256: its bytes have changed")

    def _entries(self, names: set[str] | None) -> list[tuple[str, dict[str, Any]]]:
        return [item for item in self.files.items() if names is None or item[0] in names]


def file_digest(path: Path) -> str:
    """The sha256 of a file, read in chunks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def broken(path: Path, what: str) -> CheckpointError:
    """An error without the way out, which the store knows."""
    return CheckpointError(f"{path}: {what}.")


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
