"""Print the path of libiotune.so, for LD_PRELOAD.

  LD_PRELOAD=$(iotune lib) mpirun -n 4 ./program

The path holds neither spaces nor colons: where the installation's does, a private link below
/tmp is printed, which exists on this machine only.
"""

from iotune.cli.output import data, errors_in_one_line, next_command
from iotune.preload import preload_path


@errors_in_one_line
def command() -> None:
    """Print the path."""
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
