"""Which packages are there, as the installed metadata says."""

from __future__ import annotations

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
    names = metadata(package).get_all("Provides-Extra") or []
    return [_extra(package, name) for name in names]


def _extra(package: str, name: str) -> Extra:
    wanted = _needed(package, name)
    versions = {other: version_of(other) for other in wanted}
    present = tuple(f"{other} {found}" for other, found in versions.items() if found)
    return Extra(name, present, tuple(other for other, found in versions.items() if not found))


def _needed(package: str, extra: str) -> list[str]:
    """The packages that an extra brings; those that another package's extra brings as well."""
    found: list[str] = []
    try:
        lines = requires(package) or []
    except PackageNotFoundError:
        return found
    for line in lines:
        requirement = Requirement(line)
        marker = requirement.marker
        is_of_extra = marker is not None and marker.evaluate({"extra": extra})
        if not is_of_extra or (marker is not None and marker.evaluate({"extra": ""})):
            continue
        inner = [
            name for part in sorted(requirement.extras) for name in _needed(requirement.name, part)
        ]
        found += inner or [requirement.name]
    return list(dict.fromkeys(found))
