"""The program `rlg`: what every command does with errors, signals and broken pipes.

Nothing but Python itself is imported at the top: a Ctrl-C while the rest is loaded ends with a
line too, and not with a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

TRACEBACK = "--traceback"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code says how it went."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    shows_all = TRACEBACK in given or os.environ.get("HYDRA_FULL_ERROR") == "1"
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _stop) if is_main else None
    try:
        from rlg.cli.app import UsageError, run, usage_error
        from rlg.cli.exits import report

        try:
            return run([word for word in given if word != TRACEBACK], shows_all)
        except UsageError as error:
            return report(usage_error(error), shows_all=shows_all)
        except BrokenPipeError:  # nobody reads any more: `rlg train --cfg job | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except Exception as error:  # noqa: BLE001 users get one line, whatever it is
            return report(error, shows_all=shows_all)
    except KeyboardInterrupt:
        print("rlg: interrupted", file=sys.stderr)
        return 130
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    """SIGTERM is Ctrl-C: job schedulers send it, and what was begun is cleaned up."""
    raise KeyboardInterrupt
