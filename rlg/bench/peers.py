"""Opponents in an environment and a process of their own: other libraries want other versions.

They speak a line protocol on stdin and stdout, so that their blocks and ours interleave: after
`{"ready": ...}` each line `block`, with words behind it or without, is answered by
`{"wall": s, "cpu": s, "steps": n}`. The other side is `opponents/serve.py`.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from rlg.backends.threads import ONE_THREAD
from rlg.bench.measuring import Absent, Cost

ENVIRONMENT = ".venv-peers"
COMMAND = "make bench-peers"
SERVE = Path(__file__).parent / "opponents" / "serve.py"
START, BLOCK = 180.0, 300.0  # seconds to wait for


def interpreter() -> Path | None:
    """The peers' Python: that of $RLG_PEERS, or `.venv-peers` here or beside the package."""
    given = os.environ.get("RLG_PEERS")
    folders = [Path(given)] if given else [Path.cwd(), Path(__file__).parents[2]]
    names = [folder if given else folder / ENVIRONMENT for folder in folders]
    return next((p for name in names if (p := name / "bin" / "python").exists()), None)


class Opponent:
    """One opponent's process. It may be missing or die: `missing` then says why.

    with Opponent("sb3_ppo", {"rollouts": 4}) as sb3:
        costs = interleave({"rlg": ours, "SB3": sb3.block}, rounds=7)
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        *,
        wanted: bool = True,
        command: Sequence[str] | None = None,
        limits: tuple[float, float] = (START, BLOCK),
    ) -> None:
        self.name, self.missing = name, ""
        self.facts: dict[str, Any] = {}  # what it said of itself: versions, threads
        self.samples: list[dict[str, Any]] = []
        self._limit = limits[1]
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._unread = b""
        if command is None:
            python = interpreter()
            if python is None:
                self.missing = f"no {ENVIRONMENT}: {COMMAND}, then bench=all"
            elif not wanted:
                self.missing = f"left out: bench=all measures it (after {COMMAND})"
            else:
                command = [str(python), str(SERVE)]
        if command is not None:
            self._start([*command, name, json.dumps(dict(settings))], limits[0])

    def _start(self, command: Sequence[str], limit: float) -> None:
        environment = {**os.environ, **ONE_THREAD}
        environment.pop("PYTHONPATH", None)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                env=environment,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
            self.facts = self._read(limit).get("ready", {})
        except (Absent, OSError) as error:
            self.missing = self.missing or f"{self.name}: {error}"

    def block(self, *words: str) -> Cost:
        """One block of the opponent's work, which may be told something about it; raises Absent if
        there is none any more.
        """
        if self.missing or self._process is None or self._process.stdin is None:
            raise Absent(self.missing)
        try:
            self._process.stdin.write(f"{' '.join(('block', *words))}\n".encode())
        except OSError:
            self._fail("it has ended")
        answer = self._read(self._limit)
        try:
            steps = max(1, int(answer["steps"]))
            cost = Cost(float(answer["wall"]) / steps, float(answer["cpu"]) / steps)
        except (KeyError, TypeError, ValueError):
            self._fail(f"expected wall, cpu and steps, got {json.dumps(answer)}")
        self.samples.append(answer)
        return cost

    @property
    def described(self) -> str:
        """Its versions, as it told them."""
        return ", ".join(f"{k} {v}" for k, v in self.facts.get("versions", {}).items())

    def _read(self, limit: float) -> dict[str, Any]:
        """The next line, as JSON."""
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(limit):
                    self._fail(f"no answer within {limit:g} s")
                if not (read := os.read(self._process.stdout.fileno(), 65536)):
                    self._fail("it ended")
                self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self._fail(f"expected a JSON object, got {line[:80]!r}")
        if "error" in answer:
            self._fail(str(answer["error"]))
        found: dict[str, Any] = answer
        return found

    def _fail(self, what: str) -> None:
        self.close()
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().splitlines()[-1:]
        code = None if self._process is None else self._process.returncode
        ended = f", exit code {code}" if what.startswith("it ") else ""
        said = f" ({last[0][:200]})" if last else ""
        self.missing = f"{self.name}: {what}{ended}{said}"
        raise Absent(self.missing)

    def close(self) -> None:
        """Asks it to stop, then insists."""
        process = self._process
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._errors.close()
