"""Which packages are there, as the installed metadata says."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version

from packaging.requirements import Requirement

from rlg.errors import DISTRIBUTION


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of rlg: `pip install 'rlgraph-next[name]'`."""

    name: str
    present: tuple[str, ...]  # with versions
    missing: tuple[str, ...]


def version_of(package: str) -> str | None:
    """The installed version."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def extras(package: str = DISTRIBUTION) -> list[Extra]:
    """Every extra, with what of it is installed."""
    found = []
    for name in metadata(package).get_all("Provides-Extra") or []:
        versions = {other: version_of(other) for other in _needed(package, name)}
        present = tuple(f"{other} {version}" for other, version in versions.items() if version)
        missing = tuple(other for other, version in versions.items() if not version)
        found.append(Extra(name, present, missing))
    return found


def _needed(package: str, extra: str) -> list[str]:
    """The packages that an extra brings; those that another package's extra brings as well."""
    found: list[str] = []
    with suppress(PackageNotFoundError):
        for requirement in map(Requirement, requires(package) or []):
            marker = requirement.marker
            if marker and marker.evaluate({"extra": extra}) > marker.evaluate({"extra": ""}):
                parts, name = sorted(requirement.extras), requirement.name
                found += [inner for part in parts for inner in _needed(name, part)] or [name]
    return list(dict.fromkeys(found))
