"""`python -m rlg` is `rlg`."""

import sys

from rlg.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
