"""How a call of a marked method is taken: traced (assembly), guarded (dry run) or carried out.

While a mode is installed on a tree of components, their marked methods lead to it; afterwards they
are plain Python again. Nothing of this is left in a running plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

from rlg.errors import UnknownAPIError
from rlg.spelling import suggestion

if TYPE_CHECKING:
    from rlg.graph.core.component.component import Component
    from rlg.graph.core.component.methods import Method


class Mode(Protocol):
    """Interface of a call handler."""

    def call(
        self, component: Component, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...
    def variables(self, component: Component, trainable: bool | None) -> Any: ...
    def scan(
        self, component: Component, body: Callable[..., Any], carry: Any, xs: Any
    ) -> tuple[Any, Any]: ...
    def cond(
        self,
        component: Component,
        predicate: Any,
        when_true: Callable[..., Any],
        when_false: Callable[..., Any],
        args: tuple[Any, ...],
    ) -> Any: ...
    def replicate(
        self, component: Component, body: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any: ...
    def no_gradient(self) -> AbstractContextManager[None]: ...
    def summary(self, component: Component, name: str, value: Any, kind: str) -> None: ...


class Switch:
    """A mode that hands everything to the one that is active now."""

    def __init__(self, active: Any) -> None:
        self.active = active

    def __getattr__(self, name: str) -> Any:
        return getattr(self.active, name)


class Dispatched:
    """A marked method on an instance while a mode is installed."""

    __slots__ = ("component", "method")

    def __init__(self, component: Component, method: Method) -> None:
        self.component = component
        self.method = method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mode = self.component._current_mode(self.method.name)
        return mode.call(self.component, self.method, args, kwargs)


@contextmanager
def installed(mode: Mode | Switch, components: Sequence[Component]) -> Iterator[None]:
    """Leads the calls of all these components to `mode`; the mode before comes back afterwards."""
    before = [component._mode for component in components]
    for component in components:
        if component._mode is None:
            for name, method in component.methods().items():
                component.__dict__[name] = Dispatched(component, method)
        component._mode = cast(Mode, mode)
    try:
        yield
    finally:
        for component, mode_before in zip(components, before, strict=True):
            component._mode = mode_before
            if mode_before is None:
                for name in component.methods():
                    component.__dict__.pop(name, None)


def unknown_api(error: Exception) -> UnknownAPIError | None:
    """Names what a component has, if the error is that it lacks an attribute."""
    component: Any = getattr(error, "obj", None)
    name = getattr(error, "name", None) or "_"
    if not hasattr(component, "api_methods") or name.startswith("_"):
        return None
    known = sorted(component.api_methods())
    return UnknownAPIError(
        f"{component.path_or_name}: {type(component).__name__} has no API method or attribute "
        f"{name!r}.{suggestion(name, known)} "
        f"API: {', '.join(known) or 'none'}."
    )
