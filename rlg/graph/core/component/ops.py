"""The operations that graph functions are written against, implemented by each backend.

Names and meanings are numpy's wherever numpy has the operation. Rules that hold for all of them:
tensors are passed by position (backends keep their own names for them), operands have equal dtypes
(no silent promotion), sums are over floats and int64, indices are int64, `axis` is static, images
are NHWC with HWIO kernels, and state changes happen in program order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

# A tensor of whatever backend runs: numpy array, torch tensor, tf tensor.
Tensor: TypeAlias = Any
# A variable of whatever backend runs; usable wherever a tensor is.
Variable: TypeAlias = Any
# A static size, or the scalar that `batch_size` gives while a backend traces.
Size: TypeAlias = Any
Axis: TypeAlias = int | tuple[int, ...] | None
# The minimum of no priorities: finite, so that it saves and compares as any number.
EMPTY = sys.float_info.max
# Numbers of a kernel from which on a layer asks for `addmm_wide`.
WIDE = 1 << 14


class Ops(Protocol):
    """What a graph function may ask of a backend through `self.ops`."""

    # -- inspection: static facts only, never the values ------------------------------------------
    def shape_of(self, x: Tensor) -> tuple[int | None, ...]:
        """The static shape; None where the size is unknown while tracing."""

    def dtype_of(self, x: Tensor) -> str:
        """The dtype by its numpy name."""

    def batch_size(self, x: Tensor) -> Size:
        """The size of the leading axis: an int where it is known, else an int64 scalar tensor."""

    def axis_size(self, x: Tensor, axis: int) -> Size:
        """The size of any axis, as `batch_size` returns it."""

    # -- making and reshaping ---------------------------------------------------------------------
    def constant(self, value: Any, dtype: str) -> Tensor: ...
    def cast(self, x: Tensor | Size, dtype: str) -> Tensor:
        """Another dtype; a size (`batch_size`) becomes a scalar tensor."""

    def zeros(self, shape: Sequence[Size], dtype: str = "float32") -> Tensor: ...
    def full(self, shape: Sequence[Size], value: float, dtype: str = "float32") -> Tensor: ...
    def zeros_like(self, x: Tensor) -> Tensor: ...
    def ones_like(self, x: Tensor) -> Tensor: ...
    def arange(self, n: Size) -> Tensor:
        """0, 1, ..., n - 1 as int64."""

    def reshape(self, x: Tensor, shape: Sequence[Size]) -> Tensor: ...
    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor: ...
    def expand_dims(self, x: Tensor, axis: int) -> Tensor: ...
    def squeeze(self, x: Tensor, axis: int) -> Tensor: ...
    def broadcast_to(self, x: Tensor, shape: Sequence[Size]) -> Tensor: ...
    def concat(self, xs: Sequence[Tensor], axis: int) -> Tensor: ...
    def stack(self, xs: Sequence[Tensor], axis: int) -> Tensor: ...
    def split(self, x: Tensor, parts: int, axis: int) -> Sequence[Tensor]:
        """Equal parts of an axis, which must divide; cheaper to differentiate than slices."""

    def flip(self, x: Tensor, axis: int) -> Tensor: ...
    def fold_time(self, x: Tensor) -> Tensor:
        """Merges the two leading axes into one."""

    def unfold_time(self, x: Tensor, like: Tensor) -> Tensor:
        """Splits the leading axis into the two leading axes of `like`."""

    def flatten(self, x: Tensor, keep: int = 1) -> Tensor:
        """Merges all axes after the first `keep` ones (in HWC order for images)."""

    # -- element by element -----------------------------------------------------------------------
    def abs(self, x: Tensor) -> Tensor: ...
    def sign(self, x: Tensor) -> Tensor: ...
    def exp(self, x: Tensor) -> Tensor: ...
    def log(self, x: Tensor) -> Tensor: ...
    def log1p(self, x: Tensor) -> Tensor: ...
    def sqrt(self, x: Tensor) -> Tensor: ...
    def square(self, x: Tensor) -> Tensor: ...
    def power(self, x: Tensor, y: Tensor | float) -> Tensor: ...
    def tanh(self, x: Tensor) -> Tensor: ...
    def atanh(self, x: Tensor) -> Tensor: ...
    def floor(self, x: Tensor) -> Tensor: ...
    def round(self, x: Tensor) -> Tensor:
        """Rounds halves to the even neighbour."""

    def sigmoid(self, x: Tensor) -> Tensor: ...
    def relu(self, x: Tensor) -> Tensor: ...
    def elu(self, x: Tensor) -> Tensor: ...
    def leaky_relu(self, x: Tensor) -> Tensor:
        """Slope 0.01 below zero."""

    def gelu(self, x: Tensor) -> Tensor:
        """The exact form, by the error function."""

    def silu(self, x: Tensor) -> Tensor: ...
    def softplus(self, x: Tensor) -> Tensor: ...
    def lgamma(self, x: Tensor) -> Tensor: ...
    def digamma(self, x: Tensor) -> Tensor: ...
    def minimum(self, x: Tensor, y: Tensor) -> Tensor: ...
    def maximum(self, x: Tensor, y: Tensor) -> Tensor: ...
    def clip(self, x: Tensor, low: float, high: float) -> Tensor: ...
    def where(self, condition: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor: ...
    def isfinite(self, x: Tensor) -> Tensor: ...
    def equal(self, x: Tensor, y: Tensor | float) -> Tensor:
        """Element by element; `==` compares objects where a backend traces into a graph."""

    def logical_and(self, x: Tensor, y: Tensor) -> Tensor: ...
    def logical_or(self, x: Tensor, y: Tensor) -> Tensor: ...
    def logical_not(self, x: Tensor) -> Tensor: ...

    # -- over axes --------------------------------------------------------------------------------
    def sum(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def mean(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def max(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        """The largest; its gradient is shared evenly between ties."""

    def min(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor: ...
    def any(self, x: Tensor, axis: Axis = None) -> Tensor: ...
    def all(self, x: Tensor, axis: Axis = None) -> Tensor: ...
    def argmax(self, x: Tensor, axis: int) -> Tensor:
        """The first largest index, int64."""

    def argsort(self, x: Tensor, axis: int) -> Tensor:
        """Indices that sort upwards, int64; equal values keep their order."""

    def cumsum(self, x: Tensor, axis: int) -> Tensor: ...
    def logsumexp(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor: ...
    def softmax(self, x: Tensor, axis: int = -1) -> Tensor: ...
    def log_softmax(self, x: Tensor, axis: int = -1) -> Tensor: ...

    # -- linear and images ------------------------------------------------------------------------
    def matmul(self, x: Tensor, y: Tensor) -> Tensor: ...
    def addmm(self, bias: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
        """bias + x @ kernel in one operation, for matrices x [N, I] and kernel [I, O]."""

    def addmm_wide(self, bias: Tensor, x: Tensor, kernel: Tensor) -> Tensor:
        """The same for kernels of `WIDE` numbers and more: a backend may know a faster way."""

    def conv2d(
        self,
        x: Tensor,
        kernel: Tensor,
        stride: tuple[int, int],
        padding: str,
        bias: Tensor | None = None,
    ) -> Tensor:
        """NHWC images, HWIO kernel, padding "valid" or "same" (TensorFlow's rule)."""

    def max_pool2d(
        self, x: Tensor, size: tuple[int, int], stride: tuple[int, int], padding: str
    ) -> Tensor: ...

    def lstm_step(
        self, x: Tensor, recurrent: Tensor, c: Tensor, h: Tensor, resets: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next c and h: i, j, f, o = x + h @ recurrent; c = sigmoid(f) c + sigmoid(i) tanh(j);
        h = sigmoid(o) tanh(c). x [B, 4U]; recurrent [U, 4U]; c, h [B, U]; bool resets [B] clear c
        and h first.
        """

    def lstm(
        self, x: Tensor, recurrent: Tensor, c: Tensor, h: Tensor, resets: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """`lstm_step` over time-major x [T, B, 4U], resets [T, B]: all h, and the last c and h."""

    # -- picking ----------------------------------------------------------------------------------
    def take_rows(self, x: Tensor, rows: Tensor) -> Tensor:
        """x[rows] along the leading axis."""

    def pick(self, x: Tensor, index: Tensor) -> Tensor:
        """x[..., index]: one element of the last axis for each leading position."""

    def one_hot(self, x: Tensor, depth: int, dtype: str = "float32") -> Tensor: ...

    # -- state ------------------------------------------------------------------------------------
    def variable(
        self,
        value: NDArray[Any],
        *,
        trainable: bool = False,
        layout: str | None = None,
        like: Variable | None = None,
        path: str = "variable",
    ) -> Variable:
        """Creates a variable; `layout="kernel"` marks HWIO kernels, `like` copies another's."""

    def assign(self, variable: Variable, value: Tensor) -> None: ...
    def assign_add(self, variable: Variable, value: Tensor) -> None: ...
    def assign_all(self, variables: Sequence[Variable], values: Sequence[Tensor]) -> None:
        """Overwrites each variable; what small ones take from another process travels together."""

    def scatter_rows(self, variable: Variable, rows: Tensor, values: Tensor) -> None:
        """variable[rows] = values along the leading axis; of equal rows the last one wins."""

    def priority_raise(
        self, largest: Variable, errors: Tensor, epsilon: float, alpha: float
    ) -> Tensor:
        """Leaves (|errors| + epsilon)^alpha, float64 [B]; `largest` |errors| + epsilon is kept.

        An error that is not finite counts as the largest so far.
        """

    def priority_set(
        self, sums: Variable, mins: Variable, rows: Tensor, values: Tensor, update: bool = False
    ) -> None:
        """Writes leaves of a sum and a min tree (float64 [2L], root at 1, leaves from L on).

        Rows are from 0 to L - 1, and of equal ones the last wins. A leaf of 0 is empty, and as a
        minimum the largest float64; an `update` leaves empty leaves empty.
        """

    def priority_find(self, sums: Variable, prefixes: Tensor) -> Tensor:
        """The leaves where running sums pass the prefixes (float64 [n]); never an empty one."""

    def priority_draw(self, sums: Variable, shares: Tensor) -> tuple[Tensor, Tensor]:
        """Leaves at `shares` (float64 [n], in [0, 1)) of n equal parts of the sum; their values."""

    def require(self, condition: Tensor, message: str) -> None:
        """Raises ExecutionError when a call finds `condition` (a scalar bool) false."""

    def value_of(self, variable: Variable) -> Tensor:
        """A snapshot of a variable that later assignments don't change."""

    # -- gradients --------------------------------------------------------------------------------
    def stop_gradient(self, x: Tensor) -> Tensor: ...
    def gradients(self, loss: Tensor, variables: Mapping[str, Variable]) -> dict[str, Tensor]:
        """d loss / d variable for each; zeros where the loss does not depend on it."""

    def global_norm(self, tensors: Sequence[Tensor]) -> Tensor:
        """The square root of the sum of all squares of all tensors, as one number."""

    def scale_all(self, tensors: Sequence[Tensor], factor: Tensor) -> Sequence[Tensor]:
        """Each tensor times one number."""

    def adam(
        self,
        variables: Sequence[Variable],
        gradients: Sequence[Tensor],
        first: Sequence[Variable],
        second: Sequence[Variable],
        step: Variable,
        *,
        learning_rate: Tensor | float,
        beta1: float,
        beta2: float,
        epsilon: float,
        weight_decay: float = 0.0,
    ) -> None:
        """One fused Adam step (AdamW if weight_decay > 0) by torch's formula; counts `step` up."""

    # -- randomness: declared here, drawn by one generator per component path ---------------------
    def random_uniform(self, shape: Sequence[Size], dtype: str = "float32") -> Tensor:
        """In [0, 1); float64 where float32 would be too coarse, as for places in a large tree."""

    def random_normal(self, shape: Sequence[Size]) -> Tensor:
        """float32, standard normal."""

    def random_rows(self, shape: Sequence[Size], high: Size) -> Tensor:
        """int64 uniform in [0, high); `high` may be a tensor."""

    # -- regions: how a backend runs a nested plan ------------------------------------------------
    def scan(
        self,
        body: Callable[[Any, Any], tuple[Any, Any]],
        carry: Any,
        xs: Any,
        length: Size | None = None,
    ) -> tuple[Any, Any]:
        """`carry, y = body(carry, x)` over the leading axis of every leaf of `xs`; stacks y."""

    def cond(
        self, predicate: Tensor, when_true: Callable[[], Any], when_false: Callable[[], Any]
    ) -> Any:
        """Runs one of two branches that give equal structures."""

    # -- the host ---------------------------------------------------------------------------------
    def host(
        self, fn: Callable[..., Any], args: Sequence[Tensor], outputs: Sequence[tuple[str, Any]]
    ) -> tuple[Tensor, ...]:
        """Calls Python on numpy values; `outputs` gives (dtype, static shape) of each result."""
