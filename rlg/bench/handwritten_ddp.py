"""Double DQN by hand under torch's DistributedDataParallel, as its tutorial has it.

One process per replica; gradients are averaged by gloo while the backward pass goes on. An opponent
of the suite `devices`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

Batch = Mapping[str, NDArray[Any]]


class DuelingQ(nn.Module):
    """Q-values of a dueling network: an MLP, or the Nature CNN for frames."""

    def __init__(self, inputs: int, hidden: Sequence[int], actions: int, frames: bool) -> None:
        super().__init__()
        self.frames, layers = frames, list[nn.Module]()
        if frames:
            for channels, filters, size, stride in (
                (4, 32, 8, 4),
                (32, 64, 4, 2),
                (64, 64, 3, 1),
            ):
                layers += [nn.Conv2d(channels, filters, size, stride), nn.ReLU()]
            layers.append(nn.Flatten())
        sizes = [inputs, *hidden]
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.body.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.value, self.advantage = nn.Linear(sizes[-1], 1), nn.Linear(sizes[-1], actions)

    def forward(self, x: Tensor) -> Tensor:
        """[B, A]."""
        if self.frames:
            x = x.permute(0, 3, 1, 2).to(torch.float32) / 255.0
        x = self.body(x)
        advantage: Tensor = self.advantage(x)
        value: Tensor = self.value(x)
        return value + advantage - advantage.mean(-1, keepdim=True)


class Learner:
    """Updates on one part of a batch; with `others` gradients are averaged over all processes."""

    def __init__(
        self, shape: Sequence[int], hidden: Sequence[int], actions: int, *, others: bool
    ) -> None:
        frames = len(shape) == 3
        make = (3136 if frames else shape[0], hidden, actions, frames)
        online, self.target = DuelingQ(*make), DuelingQ(*make)
        self.target.load_state_dict(online.state_dict())
        self.online: nn.Module = DistributedDataParallel(online) if others else online
        self.plain = online  # passes without gradients need no exchange
        self.optimizer = torch.optim.Adam(online.parameters(), lr=1e-4, fused=True)

    def update(self, batch: Batch) -> float:
        """One step; returns the loss."""
        tensors = {name: torch.from_numpy(np.asarray(values)) for name, values in batch.items()}
        actions, following_states = tensors["actions"][:, None], tensors["next_states"]
        with torch.no_grad():
            best = self.plain(following_states).argmax(-1, keepdim=True)
            following = self.target(following_states).gather(1, best).squeeze(1)
            following = torch.where(tensors["terminals"], 0.0, following)
            target = tensors["rewards"] + 0.99 * following
        q = self.online(tensors["states"]).gather(1, actions).squeeze(1)
        loss = 0.5 * (target - q).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())
