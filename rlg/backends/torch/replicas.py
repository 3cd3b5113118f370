"""Replicas on torch: Python threads, of which each computes with the executor's own thread count.

Torch lets go of Python's lock while it computes, and on a CPU `backward` runs in the thread that
asks for it. So replicas meet once in an update, where the threads of a single operation meet at
the end of each one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import torch

from rlg.backends.replicas import Replicated, Task
from rlg.backends.torch.transfer import Moving, to_device


class TorchReplicas(Replicated):
    """Replicated bodies in threads: the caller's, and K - 1 that wait for work."""

    device: str
    _pool: ThreadPoolExecutor | None = None

    def placed(self, body: Callable[[Any], Any], device: str) -> Callable[[Any], Any]:
        if device == self.device:
            return body

        def elsewhere(part: Any) -> Any:
            with Moving(device):
                outputs = body(part)
            return to_device(outputs, self.device)

        return elsewhere

    def at_once(self, tasks: Sequence[Task]) -> list[Any]:
        # Modes belong to a thread: the others get those of the caller.
        modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        first, *others = tasks
        futures: list[Future[Any]] = [
            self._threads().submit(_in_modes, *modes, task) for task in others
        ]
        try:
            results = [first()]
        finally:
            wait(futures)  # No replica is left behind that still reads variables.
        return results + [future.result() for future in futures]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def cut(self, x: Any, sizes: Sequence[int], axis: int) -> Sequence[Any]:
        return torch.split(x, list(sizes), axis)

    def join(self, parts: Sequence[Any], axis: int) -> Any:
        return torch.cat(list(parts), axis)

    def average(self, columns: Sequence[Sequence[Any]], sizes: Sequence[int]) -> Sequence[Any]:
        total = sum(sizes)
        if not total or not columns:
            return [parts[0] for parts in columns]
        # One call for all tensors: the number of calls is what gradients of small networks cost.
        first, *others = [list(map(torch.as_tensor, part)) for part in zip(*columns, strict=True)]
        means = torch._foreach_mul(first, sizes[0] / total)
        for size, part in zip(sizes[1:], others, strict=True):
            torch._foreach_add_(means, part, alpha=size / total)
        return means

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            # The thread count is each thread's own, too.
            self._pool = ThreadPoolExecutor(
                self.replicas - 1,
                "rlg-replica",
                initializer=torch.set_num_threads,
                initargs=(torch.get_num_threads(),),
            )
        return self._pool


def _in_modes(inference: bool, grad: bool, task: Task) -> Any:
    with torch.inference_mode(inference), torch.set_grad_enabled(grad):
        return task()
