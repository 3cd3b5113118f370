"""Prints the files of the package that are longer than the style allows, and fails if any are."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 400  # lines


def offenders(folder: Path, limit: int = LIMIT) -> list[tuple[int, Path]]:
    """Python files below `folder` with more than `limit` lines, longest first."""
    sizes = [
        (len(path.read_text(encoding="utf-8").splitlines()), path) for path in folder.rglob("*.py")
    ]
    return sorted(((lines, path) for lines, path in sizes if lines > limit), reverse=True)


def main() -> int:
    """Checks `rlg/`; the exit code says whether every file fits."""
    too_long = offenders(ROOT / "rlg")
    for lines, path in too_long:
        print(f"{path.relative_to(ROOT)}: {lines} lines; split it, {LIMIT} are allowed.")
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
