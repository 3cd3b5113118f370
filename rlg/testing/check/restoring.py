"""Saving and restoring: what comes out of `get_state` must make any other instance go on alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.testing.check.calls import APICall
from rlg.testing.check.differences import difference
from rlg.testing.check.instance import Instance
from rlg.testing.check.lockstep import described


def restoring_problem(
    original: Instance, other: Instance, calls: Sequence[APICall], sizes: tuple[int, int]
) -> str | None:
    """What goes differently after `other` got the original's state; None if nothing does.

    The original has been called before, the other has not and started from another seed. The state
    moves in the middle of the calls, and once more at the start for the first half of them.
    """
    numbered = list(enumerate(filter(original.can_make, calls), start=1_000))
    half = len(numbered) // 2
    try:
        original.reset()
        for number, call in numbered[:half]:
            original.call(call, call.sample(number, *sizes))
        for part in (numbered[half:], numbered[:half]):
            other.executor.set_state(original.executor.get_state())
            for number, call in part:
                inputs = call.sample(number, *sizes)
                expected, got = _outcome(original, call, inputs), _outcome(other, call, inputs)
                _, reason = difference(expected, got, 1e-6)
                if reason is not None:
                    return (
                        f"a restored component continues differently: {call.label}: {reason}. Keep "
                        "everything that changes in variables (self.variable)"
                    )
            original.reset()
    except Exception as error:  # noqa: BLE001 whatever a component raises is its fault
        return f"restoring raises {described(error)}"
    return None


def _outcome(instance: Instance, call: APICall, inputs: Any) -> Any:
    outputs = instance.call(call, inputs)
    return {
        "variables": instance.variables(),
        **({} if outputs is None else {"outputs": outputs}),
    }
