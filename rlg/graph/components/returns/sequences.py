"""What estimators over time share: order of axes, ends of episodes, the recursion backwards."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor
from rlg.graph.spaces import Box, Space

ORDERS = ("TB", "BT", "T")


class Sequences(Component):
    """Runs over time, from the last step to the first.

    Sequences are [T, B]; batch-major ones, [B, T], are transposed on the way in and out; one alone
    is [T]. Where an episode ends, the next row belongs to another one, and nothing flows back.
    """

    _ranks: str

    def check_order(self, name: str, space: Space, kind: str = "float") -> None:
        """Takes the order of axes from this argument."""
        if not isinstance(space, Box) or space.shape or space.kind != kind:
            raise SpaceError(
                f"{self.path}: `{name}` is {space}; give one {kind} for each step: "
                f"{'BoolBox' if kind == 'bool' else 'FloatBox'}(ranks='TB')."
            )
        if space.ranks not in ORDERS:
            raise SpaceError(
                f"{self.path}: `{name}` is {space}, without time. Give sequences, with ranks "
                "'TB' (time first), 'BT', or 'T' for one alone."
            )
        self._ranks = space.ranks

    def check_same(self, kind: str, **spaces: Space | None) -> None:
        """Other arguments must be of this kind, in the same order."""
        for name, space in spaces.items():
            if space is None:
                continue
            wanted = self._ranks.replace("T", "") if name == "bootstrap" else self._ranks
            is_one = isinstance(space, Box) and not space.shape and space.kind == kind
            if not is_one or space.ranks != wanted:
                box = "BoolBox" if kind == "bool" else "FloatBox"
                raise SpaceError(
                    f"{self.path}: `{name}` is {space}, beside sequences of ranks "
                    f"{self._ranks!r}. Give a {box}(ranks={wanted!r})."
                )

    def time_first(self, x: Tensor) -> Tensor:
        """[T, B]; the same call brings results back into the caller's order."""
        return self.ops.transpose(x, (1, 0)) if self._ranks == "BT" else x

    def shifted(self, x: Tensor, last: Tensor) -> Tensor:
        """x_{t+1}, with `last` behind the end."""
        ops = self.ops
        return ops.concat([x[1:], ops.expand_dims(last, 0)], 0)

    def backward(self, x: Tensor, factors: Tensor, start: Tensor) -> Tensor:
        """y_t = x_t + factor_t * y_{t+1}, from y_T = start."""
        ops = self.ops

        def step(later: Tensor, now: Tensor) -> tuple[Tensor, Tensor]:
            total = now[0] + now[1] * later
            return total, total

        _, found = ops.scan(step, start, (ops.flip(x, 0), ops.flip(factors, 0)))
        return ops.flip(found, 0)


class Episodes(Sequences):
    """Sequences of rewards and values, whose episodes end by terminals or truncations.

    rewards, values: float [T, B]; bootstrap: [B], the value of the state after the last step;
    terminals: bool [T, B]. Where truncations (bool) are true, the next row is the first state of
    another episode, and `final_values` says what the state was worth that the step led to. They are
    read nowhere else; without them the state before the step stands in for the one after it.
    """

    gamma: float

    def create_variables(
        self,
        *,
        rewards: Space,
        bootstrap: Space,
        terminals: Space,
        truncations: Space | None = None,
        final_values: Space | None = None,
    ) -> None:
        if not 0.0 <= self.gamma <= 1.0:
            raise ComponentError(f"{self.path}: gamma must be between 0 and 1, got {self.gamma}.")
        self.check_order("rewards", rewards)
        self.check_same("float", bootstrap=bootstrap, final_values=final_values)
        self.check_same("bool", terminals=terminals, truncations=truncations)

    def ends(self, terminals: Tensor, truncations: Tensor | None) -> Tensor:
        return terminals if truncations is None else self.ops.logical_or(terminals, truncations)

    def next_values(
        self,
        values: Tensor,
        bootstrap: Tensor,
        terminals: Tensor,
        truncations: Tensor | None,
        final_values: Tensor | None,
    ) -> Tensor:
        """What the state is worth that each step led to: 0 after a terminal."""
        ops = self.ops
        following = self.shifted(values, bootstrap)
        if truncations is not None:
            final = values if final_values is None else final_values
            following = ops.where(truncations, final, following)
        return ops.where(terminals, 0.0, following)

    def ordered(self, *xs: Tensor | None) -> list[Tensor]:
        return [None if x is None else self.time_first(x) for x in xs]
