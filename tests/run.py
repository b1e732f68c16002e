"""Runs a script that lies below this folder: python3 tests/run.py SCRIPT ARGUMENTS…

Python searches imports in the folder of the script that it starts. That is this one, wherever
SCRIPT lies, so every script can import support, bench and zoo, and none edits the search path.
"""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: run.py SCRIPT ARGUMENTS…")
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
