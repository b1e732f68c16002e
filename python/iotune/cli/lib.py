"""Print the path of libiotune.so, for LD_PRELOAD.

  LD_PRELOAD=$(iotune lib) mpirun -n 4 ./program
  cc -I"$(iotune lib --include)" program.c      with iotune.h (docs/prefetch.md)

The path holds neither spaces nor colons: where the installation's does, a private link below
/tmp is printed, which exists on this machine only.
"""

from pathlib import Path
from typing import Annotated

import typer

import iotune
from iotune.cli.output import data, errors_in_one_line, next_command
from iotune.preload import preload_path


@errors_in_one_line
def command(
    include: Annotated[
        bool, typer.Option("--include", help="The folder of iotune.h instead.")
    ] = False,
) -> None:
    """Print the path."""
    if include:
        data(str(Path(iotune.__file__).parent / "include"))
        return
    path = preload_path()
    data(path)
    next_command(
        "iotune",
        "run",
        "--",
        "mpirun",
        "-n",
        "4",
        "./program",
        why="sets the preload and names the trace",
    )
