"""Print the path of libiotune.so, for LD_PRELOAD.

  LD_PRELOAD=$(iotune lib) mpirun -n 4 ./program
  cc -I"$(iotune lib --include)" program.c      with iotune.h (docs/prefetch.md)

The path holds neither spaces nor colons: where the installation's does, a private link below
/tmp is printed, which exists on this machine only.
"""

from typing import Annotated

import typer

from iotune.cli.output import errors_in_one_line
from iotune.launch.lib_path import print_path


@errors_in_one_line
def command(
    include: Annotated[
        bool, typer.Option("--include", help="Print the folder of iotune.h instead.")
    ] = False,
) -> None:
    """Print the path."""
    print_path(include)
