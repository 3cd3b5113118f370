"""What one would write by hand in torch: the opponents of the suites `build` and `act`.

Tuned as an expert would: functional calls on plain tensors (no nn.Module), inference mode, fused
bias, channels_last kernels on permuted NHWC frames, fused Adam.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

Array = NDArray[Any]


def _weights(*shape: int) -> Tensor:
    limit = np.sqrt(6.0 / (shape[-2] + shape[-1]))
    return torch.empty(shape).uniform_(-limit, limit).requires_grad_(True)


class DuelingQ:
    """Q-values of a dueling network: an MLP, or the Nature CNN when `frames` is set."""

    def __init__(self, inputs: int, hidden: Sequence[int], actions: int, frames: bool) -> None:
        self.frames = frames
        self.convolutions: list[tuple[Tensor, Tensor, int]] = []
        if frames:
            channels = 4
            for filters, size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
                kernel = nn.Conv2d(channels, filters, size).weight.detach()
                kernel = kernel.to(memory_format=torch.channels_last).requires_grad_(True)
                self.convolutions.append((kernel, torch.zeros(filters, requires_grad=True), stride))
                channels = filters
        sizes = [inputs, *hidden]
        self.hidden = [
            (_weights(a, b), torch.zeros(b, requires_grad=True)) for a, b in pairwise(sizes)
        ]
        self.value = (_weights(sizes[-1], 1), torch.zeros(1, requires_grad=True))
        self.advantage = (_weights(sizes[-1], actions), torch.zeros(actions, requires_grad=True))

    def parameters(self) -> list[Tensor]:
        """All weights."""
        pairs = [*self.hidden, self.value, self.advantage]
        conv = [tensor for kernel, bias, _ in self.convolutions for tensor in (kernel, bias)]
        return [*conv, *(tensor for pair in pairs for tensor in pair)]

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """[B, A] and [B, 1]."""
        if self.frames:
            x = x.permute(0, 3, 1, 2).to(torch.float32) / 255.0
            for kernel, bias, stride in self.convolutions:
                x = torch.relu(functional.conv2d(x, kernel, bias, stride))
            x = x.permute(0, 2, 3, 1).flatten(1)
        for weight, bias in self.hidden:
            x = torch.relu(torch.addmm(bias, x, weight))
        value = torch.addmm(self.value[1], x, self.value[0])
        return torch.addmm(self.advantage[1], x, self.advantage[0]), value

    def q_values(self, x: Tensor) -> Tensor:
        """[B, A]."""
        advantage, value = self.heads(x)
        return value + advantage - advantage.mean(-1, keepdim=True)

    def act(self, states: Array) -> Array:
        """Greedy actions, numpy in and numpy out."""
        with torch.inference_mode():
            actions: Array = self.q_values(torch.from_numpy(states)).argmax(-1).numpy()
        return actions


class Memory:
    """A ring of transitions in preallocated tensors."""

    def __init__(self, size: int, shape: Sequence[int], dtype: torch.dtype) -> None:
        self.states = torch.zeros((size, *shape), dtype=dtype)
        self.next_states = torch.zeros((size, *shape), dtype=dtype)
        self.actions = torch.zeros(size, dtype=torch.int64)
        self.rewards = torch.zeros(size)
        self.terminals = torch.zeros(size, dtype=torch.bool)
        self.index, self.count, self.capacity = 0, 0, size
        self.generator = np.random.default_rng()

    def insert(self, records: dict[str, Array]) -> None:
        """Overwrites the oldest."""
        n = len(records["rewards"])
        rows = torch.from_numpy((self.index + np.arange(n)) % self.capacity)
        for name, values in records.items():
            getattr(self, name)[rows] = torch.from_numpy(values)
        self.index = (self.index + n) % self.capacity
        self.count = min(self.count + n, self.capacity)

    def sample(self, n: int) -> list[Tensor]:
        """States, actions, rewards, terminals, next states."""
        rows = torch.from_numpy(self.generator.integers(0, max(self.count, 1), n))
        names = ("states", "actions", "rewards", "terminals", "next_states")
        return [getattr(self, name).index_select(0, rows) for name in names]


class DQN:
    """Double dueling DQN with memory, target network and fused Adam."""

    def __init__(
        self, shape: Sequence[int], hidden: Sequence[int], actions: int, size: int
    ) -> None:
        self.frames = len(shape) == 3
        inputs = 3136 if self.frames else shape[0]
        self.online = DuelingQ(inputs, hidden, actions, self.frames)
        self.target = DuelingQ(inputs, hidden, actions, self.frames)
        self.memory = Memory(size, shape, torch.uint8 if self.frames else torch.float32)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=1e-4, fused=True)
        self.sync()

    def sync(self) -> None:
        """Copies the weights into the target network."""
        with torch.no_grad():
            for target, source in zip(
                self.target.parameters(), self.online.parameters(), strict=True
            ):
                target.copy_(source)

    def update(self, n: int) -> float:
        """One step on a batch from memory."""
        states, actions, rewards, terminals, next_states = self.memory.sample(n)
        q = self.online.q_values(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.online.q_values(next_states).argmax(-1)
            following = self.target.q_values(next_states).gather(1, best[:, None]).squeeze(1)
            target = rewards + 0.99 * torch.where(terminals, 0.0, following)
        loss = 0.5 * (target - q).square().mean()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return float(loss.detach())
