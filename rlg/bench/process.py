"""The process that `running` starts: measures suites and writes one line of JSON for each."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict

from rlg.bench.running import Settings, measure
from rlg.tracking.files import to_json


def main(words: str) -> int:
    """What libraries print goes to stderr: stdout is for suites alone."""
    names, options = json.loads(words)
    settings = Settings(**{**options, "backends": tuple(options["backends"])})
    try:
        with os.fdopen(os.dup(1), "w") as out:
            os.dup2(2, 1)
            for name in names:
                print(to_json(asdict(measure(name, settings))), file=out, flush=True)
    except (KeyboardInterrupt, BrokenPipeError):  # the process that started this one reports it
        return 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # opponents are taken along
    sys.exit(main(sys.argv[1]))
