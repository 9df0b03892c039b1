"""python -m tests.mutants; the work is in run.py, because processes that are spawned cannot load this file."""

from __future__ import annotations

import sys

from tests.mutants.run import main

if __name__ == "__main__":
    sys.exit(main())
