"""What went wrong in a build: where, with which spaces at hand, and the way out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rlg.errors import BuildError, RLGError
from rlg.graph.core.assembly.records import Call, Node, Record, Variables, bodies_of, records_in
from rlg.graph.core.build.flow import space_of
from rlg.graph.core.component.component import Component, walk
from rlg.graph.core.component.methods import SIZE, STATIC, TENSOR, Method
from rlg.graph.spaces import Space
from rlg.spelling import suggestion

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Site


def check_given(
    spaces: Mapping[str, Any],
    wanted: Sequence[tuple[Component, Method]],
    roots: Sequence[Component],
) -> None:
    """Every tensor argument of the wanted API methods has a space, and every space an argument."""
    known: set[str] = set()
    for root in roots:
        for method in root.api_methods().values():
            for parameter in method.parameters:
                known |= {parameter.name, f"{method.name}.{parameter.name}"}
    for name in spaces:
        if name not in known:
            raise BuildError(
                f"{roots[0].path}: a space is given for `{name}`, but no API method has such an "
                "argument."
                f"{suggestion(name, known)} Arguments: "
                f"{', '.join(sorted(k for k in known if '.' not in k))}."
            )
    for root, method in wanted:
        for parameter in method.parameters:
            given = spaces.get(f"{method.name}.{parameter.name}", spaces.get(parameter.name))
            where = f"{root.path}.{method.name}"
            if parameter.kind == TENSOR and parameter.is_required and not isinstance(given, Space):
                raise BuildError(
                    f"{where}: the space of `{parameter.name}` is missing. Given: "
                    f"{at_hand(spaces)}. Add "
                    f"'{parameter.name}' to the input spaces, or leave the method out with "
                    "apis=[...]."
                )
            if parameter.kind != TENSOR and isinstance(given, Space):
                raise BuildError(
                    f"{where}: `{parameter.name}` is static, but a space is given for it, {given}. "
                    "Give the value to build with, or nothing."
                )
            if parameter.kind == STATIC and parameter.is_required and given is None:
                raise BuildError(
                    f"{where}: `{parameter.name}` is static and has no default. Give it one, or "
                    f"give a value to build with: {{'{parameter.name}': ...}}."
                )
            if parameter.kind == SIZE and given is not None and not isinstance(given, int):
                raise BuildError(f"{where}: `{parameter.name}` must be an integer, got {given!r}.")


def check_like(site: Site, node: Call) -> None:
    """The same argument has the same space in every call, as far as variables depend on it."""
    component, is_api = site.component, node.method.mark.is_api
    for name, known in site.spaces.items():
        if known is None or node.arguments.get(name) is None:
            continue
        if not is_api and name in site.api_arguments:
            continue
        given = space_of(node.arguments[name])
        if not given.like(known):
            raise BuildError(
                f"{component.path}.{node.method.name}: `{name}` is {given}, but its variables were "
                f"made for {known}. Feed equal spaces, or use a second component (.copy()) for the "
                "other one."
            )


@contextmanager
def naming(component: Component, spaces: Mapping[str, Space | None]) -> Iterator[None]:
    """Adds path and spaces to whatever goes wrong in `create_variables`."""
    try:
        yield
    except RLGError as error:
        message = str(error)
        if message.startswith(f"{component.path}"):
            raise
        raise type(error)(f"{component.path}: {message}") from error
    except Exception as error:
        raise BuildError(
            f"{component.path}.create_variables: {type(error).__name__}: {error}. Spaces at hand: "
            f"{at_hand(spaces)}."
        ) from error


def is_dead(site: Site) -> bool:
    """A component that nothing calls, though it takes inputs and was not declared optional."""
    component = site.component
    if site.is_called or not component.must_be_complete:
        return False
    if site.is_complete and not site.needs:
        return _first_argument(component) is not None and not any(
            True for _ in component.children()
        )
    return not site.is_complete


def unbuilt(pending: Sequence[Node], sites: Sequence[Site], dead: Sequence[Site]) -> BuildError:
    """The error for a build in which spaces stopped flowing too early."""
    stuck = [site for site in sites if not site.is_complete and site.is_called]
    circle = _circle(stuck, pending)
    if circle:
        component, name, producer = circle
        return BuildError(
            f"{component.path}: a cycle: its variables need the space of `{name}`, and `{name}` "
            "comes from "
            f"{producer}, which needs those variables. Make them from another input, or split the "
            "component."
        )
    for site in [*stuck, *dead]:
        missing = [
            name for name, required in site.needs.items() if required and name not in site.feeds
        ]
        argument = missing[0] if missing else _first_argument(site.component)
        if argument is not None:
            path = site.component.path
            return BuildError(
                f"{path}: its argument `{argument}` is never fed: no API method that is built "
                f"calls {path} with it. Spaces at hand: {at_hand(_fed(site))}. Call it, remove "
                "the component, or set must_be_complete=False on it if it may stay unconnected."
            )
    labels = ", ".join(sorted({node.label for node in pending})[:5])
    return BuildError(f"the build stopped: the input spaces of {labels} are not known.")


def _circle(stuck: Sequence[Site], pending: Sequence[Node]) -> tuple[Component, str, str] | None:
    """Follows what a component waits for until a component comes up twice."""
    waiting = {id(site.component): site for site in stuck}
    for site in stuck:
        for name, trees in site.feeds.items():
            records = [r for tree in trees for r in records_in(tree) if r.space is None]
            seen: set[int] = set()
            while records:
                record = records.pop()
                node = record.node or _region_of(record, pending)
                if node is None or id(node) in seen:
                    continue
                seen.add(id(node))
                if isinstance(node, Variables) and site.component in walk(node.component):
                    return site.component, name, f"{node.label}, which holds {site.component.path}"
                if isinstance(node, Call):
                    if node.component is site.component:
                        return site.component, name, node.label
                    other = waiting.get(id(node.component))
                    if other is not None:
                        records.extend(_unknown(other))
                records.extend(r for r in node.inputs() if r.space is None)
    return None


def _region_of(record: Record, pending: Sequence[Node]) -> Node | None:
    """The loop or branch whose body a record is an input of."""
    return next((n for n in pending if any(b is record.graph for b in bodies_of(n))), None)


def _fed(site: Site) -> dict[str, Space]:
    known = {}
    for name, trees in site.feeds.items():
        for tree in trees:
            if all(record.space is not None for record in records_in(tree)):
                known[name] = space_of(tree)
    return known


def _unknown(site: Site) -> list[Record]:
    trees = [tree for trees in site.feeds.values() for tree in trees]
    return [r for tree in trees for r in records_in(tree) if r.space is None]


def _first_argument(component: Component) -> str | None:
    for method in component.api_methods().values():
        for parameter in method.parameters:
            if parameter.kind == TENSOR and parameter.is_required:
                return parameter.name
    return None


def at_hand(spaces: Mapping[str, Any]) -> str:
    """`name=space, ...`, or `none`."""
    return ", ".join(f"{name}={space}" for name, space in spaces.items()) or "none"
