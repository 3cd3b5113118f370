"""A Ray cluster for one run: started on this machine, or joined by its address."""

from __future__ import annotations

import math
import os
import socket
import warnings
from collections.abc import Mapping
from typing import Any

from rlg.backends.threads import ONE_THREAD
from rlg.errors import ExecutionError, SpecError

# Nothing is reported to anybody, and nothing is printed that the run does not print itself.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # lines about actors that died: the run counts them itself
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "RAY_worker_niceness": "0",  # Ray's default of 15 would let the learner starve its workers
}
# What Ray does on other systems: a cluster for this machine alone listens on loopback only.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
GB = 2**30


class Cluster:
    """Makes remote actors; ends the cluster in the end if it began it."""

    def __init__(self, settings: Mapping[str, Any], num_cpus: float) -> None:
        address = settings["address"]
        _check_reachable(address)
        # Ray looks at them when it is imported.
        for name, value in (QUIET | LOOPBACK if address is None else QUIET).items():
            os.environ.setdefault(name, value)
        import ray

        self.ray: Any = ray
        self.is_own = not ray.is_initialized()
        if self.is_own:
            self._start(settings, num_cpus)
        self._actors: list[Any] = []

    def _start(self, settings: Mapping[str, Any], num_cpus: float) -> None:
        address = settings["address"]
        quiet: dict[str, Any] = {
            "logging_level": "ERROR",
            "log_to_driver": False,
            "configure_logging": True,
            "runtime_env": {"env_vars": ONE_THREAD | QUIET},
        }
        try:
            with warnings.catch_warnings():
                # Files and sockets of processes that Ray leaves to end by themselves.
                warnings.simplefilter("ignore")
                if address is None:
                    self.ray.init(
                        address="local",
                        num_cpus=math.ceil(num_cpus),
                        include_dashboard=False,
                        object_store_memory=int(settings["object_store_gb"] * GB),
                        **quiet,
                    )
                else:
                    self.ray.init(address=address, **quiet)
        except (ConnectionError, ValueError, TimeoutError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:200]
            if address is None:
                raise ExecutionError(f"executor: Ray can't be started here: {reason}") from error
            raise _unreachable(address, reason) from error

    def actor(self, cls: type, *args: Any, num_cpus: float, **options: Any) -> Any:
        """A remote actor that Ray restarts, whose tasks it repeats."""
        remote = self.ray.remote(cls).options(
            num_cpus=num_cpus, max_restarts=-1, max_task_retries=-1, **options
        )
        handle = remote.remote(*args)
        self._actors.append(handle)
        return handle

    def get(self, references: Any) -> Any:
        """The values, or the error of another process in one line."""
        try:
            return self.ray.get(references)
        except self.ray.exceptions.RayError as error:
            raise ExecutionError(last_line(error)) from error

    def store_used(self) -> float:
        """Bytes of objects in shared memory."""
        total = self.ray.cluster_resources().get("object_store_memory", 0.0)
        left = self.ray.available_resources().get("object_store_memory", total)
        return float(total - left)

    def close(self) -> None:
        """Ends all actors, and the cluster if it was started here."""
        if not self.ray.is_initialized():
            return
        for handle in self._actors:
            self.ray.kill(handle)
        self._actors.clear()
        if self.is_own:
            self.ray.shutdown()


def last_line(error: Exception) -> str:
    """Of a traceback in another process: it says what was wrong."""
    return str(error).strip().splitlines()[-1]


def _check_reachable(address: str | None) -> None:
    """Ray itself would try for a minute."""
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdigit():
        return  # `auto`, or this machine
    try:
        socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=5).close()
    except OSError as error:
        raise _unreachable(address, f"{error.strerror or error}.") from error


def _unreachable(address: str | None, reason: str) -> SpecError:
    return SpecError(
        f"executor.address: no Ray cluster can be reached at {address!r}: {reason} Start one with "
        "`ray start --head`, or leave the address out to run on this machine."
    )
