"""Sessions of `graph` mode: in this process, or on a server of a cluster.

Variables belong to a task of the cluster, or to whoever says to be their owner; a session that
joins leaves those that exist as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf.config_pb2 import CallableOptions

from rlg.backends.tf import devices
from rlg.errors import ClosedError, DisconnectedError, ExecutionError

# Every call runs in a thread of its own, whose request numbers start from 32 random bits, and a
# server remembers 100,000 of them: once in some ten thousand calls it takes a new request for one
# that it knows, and refuses it before anything of it has run.
REFUSED = "request was received twice"
GONE = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError)

Run = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session runs, and which variables it initialises.

    `target` is a server, "" this process. Variables that are absent there are made by an `owner`
    only; with a `task`, "/job:actor/task:1", by the task that they are placed on. Devices outside
    of `filters` are not looked at: a task that is not there yet, or no longer, blocks nobody else.
    """

    target: str = ""
    owner: bool = True
    task: str = ""
    filters: tuple[str, ...] = ()

    def owns(self, variable: Any) -> bool:
        return devices.task_of(variable.device) == self.task if self.task else self.owner


class Sessions:
    """The session of one graph, opened on first use, and opened anew after a disconnection."""

    def __init__(self, graph: Any, place: Place) -> None:
        self.graph = graph
        self.place = place
        self._session: Any = None
        self._initialized: set[int] = set()
        self._reads: dict[int, Any] = {}
        self._writes: dict[int, Any] = {}

    def reconnect(self) -> None:
        """The next call opens a session anew. The old one is left alone: closing a session whose
        server is gone never returns.
        """
        self._session = None
        self._initialized.clear()

    def running(self, variables: Sequence[Any]) -> Any:
        """The session, with these variables initialised."""
        if self._session is None:
            config = tf.compat.v1.ConfigProto(device_filters=list(self.place.filters))
            self._session = tf.compat.v1.Session(self.place.target, graph=self.graph, config=config)
        fresh = [v for v in variables if id(v) not in self._initialized]
        if fresh:
            self._initialize(fresh)
            self._initialized.update(id(variable) for variable in fresh)
        return self._session

    def _initialize(self, fresh: list[Any]) -> None:
        absent = self._absent(fresh) if self.place.target else fresh
        foreign = [variable for variable in absent if not self.place.owns(variable)]
        if foreign:
            raise ExecutionError(
                f"{foreign[0].name.partition(':')[0]} is not initialised on {self.place.target}: "
                "its owner has not started yet. Wait for it, and try again."
            )
        self._sent(self._session.run, [variable.initializer for variable in absent])

    def _absent(self, variables: list[Any]) -> list[Any]:
        """On a server another session may have made them and learned since: they stay."""
        with self.graph.as_default():
            questions = [variable.is_initialized() for variable in variables]
        answers = self._sent(self._session.run, questions)
        return [v for v, is_there in zip(variables, answers, strict=True) if not is_there]

    def call(self, places: Sequence[Any], fetches: Sequence[Any], variables: Any) -> Run:
        """A function from fed arrays to fetched ones; `variables()` are those of the graph.

        Names alone cross over: a quarter of what `make_callable` costs for each call.
        """
        options = CallableOptions()
        options.feed.extend(place.name for place in places)
        options.fetch.extend(fetch.name for fetch in fetches)
        bound: list[Any] = [None, None]  # a session, and the callable on it

        def run(flat: list[Any]) -> list[Any]:
            if bound[0] is None or bound[0] is not self._session:
                session = self.running(variables())
                with explained(self.place.target):
                    bound[:] = session, session._make_callable_from_options(options)
            results: list[Any] = self._sent(bound[1], *flat)
            # They may share memory with a variable, or with what was fed.
            return [np.array(result) for result in results]

        return run

    def read(self, variables: Sequence[Any], known: Sequence[Any]) -> list[NDArray[Any]]:
        """Values in one run: a fetch of its own for each variable would optimise the graph anew."""
        session = self.running(known)
        with self.graph.as_default():
            for variable in variables:
                if id(variable) not in self._reads:
                    with tf.device(variable.device):
                        self._reads[id(variable)] = variable.read_value()
        found = self._sent(session.run, [self._reads[id(variable)] for variable in variables])
        return [np.array(value) for value in found]

    def write(self, values: Sequence[tuple[Any, NDArray[Any]]], known: Sequence[Any]) -> None:
        """Overwrites variables in one run."""
        session = self.running(known)
        with self.graph.as_default():
            for variable, _ in values:
                if id(variable) not in self._writes:
                    with tf.device(variable.device):
                        place = tf.compat.v1.placeholder(variable.dtype, variable.shape)
                        operation = variable.assign(place, read_value=False)
                    self._writes[id(variable)] = (operation, place)
        pairs = [(self._writes[id(variable)], value) for variable, value in values]
        feeds: Mapping[Any, Any] = {place: value for (_, place), value in pairs}
        self._sent(session.run, [operation for (operation, _), _ in pairs], feeds)

    def _sent(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a call; one that was refused is made again, if no other task has a part in
        it that may have run.
        """
        with explained(self.place.target):
            while True:
                try:
                    return function(*args)
                except tf.errors.AbortedError as error:
                    if REFUSED not in str(error.message) or len(self.place.filters) != 1:
                        raise


@contextmanager
def explained(target: str) -> Iterator[None]:
    """Errors of a cluster in one line; those of a computation stay as they are."""
    try:
        yield
    except tf.errors.OpError as error:
        raise translated(error, target) from None


def translated(error: tf.errors.OpError, target: str = "") -> Exception:
    """What a task that is gone, or a queue that was closed, is called here; else the error."""
    # Errors of a worker begin with a line that only says which one: "From /job:learner/...:".
    lines = [line for line in str(error.message).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("From /job:")] or lines
    line = " ".join(said[0].split()) if said else type(error).__name__
    if isinstance(error, GONE):
        return DisconnectedError(f"{target}: a task of the cluster is gone: {line}")
    if isinstance(error, (tf.errors.CancelledError, tf.errors.OutOfRangeError)):
        return ClosedError(f"{target or 'queue'}: closed by its owner: {line}")
    found: Exception = error
    return found
