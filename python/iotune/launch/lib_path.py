"""What `iotune lib` prints."""

from __future__ import annotations

import os
import sys

import iotune
from iotune.launch.preload import preload_path
from iotune.talk import data, next_command


def print_path(include: bool = False) -> None:
    """Print the preload's path, or the folder of iotune.h; on failure raise Error."""
    if include:
        data(os.path.join(os.path.dirname(os.path.abspath(iotune.__file__)), "include"))
        return
    path = preload_path()
    data(path)
    # In `LD_PRELOAD=$(iotune lib) …` the next command stands behind it already.
    if sys.stdout.isatty():
        next_command(
            *("iotune", "run", "--", "mpirun", "-n", "4", "./program"),
            why="sets the preload and names the trace",
        )
