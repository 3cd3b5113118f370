"""What got slower against an earlier `bench.json`.

Ratios are compared, not times: both runs had their opponents beside them. `significance` says
which rows differ by more than chance. A row's own spread does not: one row in twenty is outside of
it, so in a table of dozens there is nearly always one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rlg.bench.results import Report, Row
from rlg.bench.significance import slower
from rlg.bench.tables import compared

Word = Literal[
    "slower", "faster", "same", "missing", "other settings", "other machine", "no opponent", "new"
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one row stands to its predecessor."""

    suite: str
    row: Row
    word: Word
    before: str = ""
    now: str = ""
    earlier: Row | None = None  # the predecessor, where the two can be compared

    @property
    def is_inside(self) -> bool:
        """Whether the median is where the earlier run's spread expected that of another one."""
        if self.earlier is None:
            return False
        low, _, high = self.earlier.compared()
        return low <= self.row.compared().middle <= high

    @property
    def cells(self) -> list[str]:
        names = [self.suite, self.row.case, self.row.ours, self.row.opponent]
        return [*names, self.before, self.now, self.word]


COLUMNS = ("suite", "case", "rlg on", "against", "before", "now", "verdict")


def verdicts(old: Report, new: Report) -> list[Verdict]:
    """Of all rows of suites that ran now; rows that are gone are `missing`."""
    same_machine = not differences(old, new)
    earlier = {suite.name: {row.key: row for row in suite.rows} for suite in old.suites}
    found = []
    for suite in new.suites:
        left = dict(earlier.get(suite.name, {}))
        for row in (row for row in suite.rows if not row.is_model):  # those repeat other rows
            before = left.pop(row.key, None)
            found.append(_verdict(suite.name, before, row, same_machine))
        found += [
            Verdict(suite.name, row, "missing")
            for row in left.values()
            if row.costs and not row.is_model
        ]
    return _judged(found)


def differences(old: Report, new: Report) -> list[str]:
    """How the machine and its frameworks differ: reasons to doubt a comparison."""
    return [
        f"{name}: {old.machine.get(name)} before, {new.machine.get(name)} now"
        for name in ("cores", "processor", "memory")
        if not _alike(name, old.machine, new.machine)
    ]


def _alike(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    a, b = old.get(name), new.get(name)
    if name == "memory" and a and b:  # virtual machines have some pages more or fewer
        return bool(abs(a - b) <= 0.05 * max(a, b))
    return bool(a == b)


def _verdict(suite: str, old: Row | None, new: Row, same_machine: bool) -> Verdict:
    if old is None or not old.costs:
        return Verdict(suite, new, "missing" if new.missing and old is not None else "new")
    if not new.costs:
        return Verdict(suite, new, "missing", compared(old, old.compared()))
    texts = compared(old, old.compared()), compared(new, new.compared())
    if (old.kind, old.clock, dict(old.settings)) != (new.kind, new.clock, dict(new.settings)):
        return Verdict(suite, new, "other settings", *texts)
    if new.kind != "ratio" and not same_machine:
        return Verdict(suite, new, "other machine", *texts)  # seconds of two machines
    if new.kind == "figure":
        return Verdict(suite, new, "no opponent", *texts)  # nothing tells rlg from the machine
    return Verdict(suite, new, "same", *texts, old)


def _judged(found: list[Verdict]) -> list[Verdict]:
    """The rows that can be compared, as one table; the others as they are."""
    pairs = [(v.earlier, v.row) for v in found if v.earlier is not None]
    up, down = iter(slower(pairs)), iter(slower([(new, old) for old, new in pairs]))

    def word() -> Word:
        is_slower, is_faster = next(up), next(down)
        return "slower" if is_slower else "faster" if is_faster else "same"

    return [v if v.earlier is None else replace(v, word=word()) for v in found]
