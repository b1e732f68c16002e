"""Say what will work here and what will not: of the installation, a program, a directory.

  iotune doctor
  iotune doctor -- mpirun -n 4 ./program
  iotune doctor --on /scratch/me -- ./program

The program is not run. Each check says what was seen and what to do; the exit status is 1
where something does not work. --bundle writes all of it, and what the last run left, into a file
for those who support you, without your names and paths.
"""

from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import (
    errors_in_one_line,
    next_command,
    path_text,
    print_json,
    say,
    size_text,
    value_of,
)
from iotune.errors import Error

CONTEXT = {"ignore_unknown_options": False, "allow_interspersed_args": False}
_USAGE = 2


@errors_in_one_line
def command(
    words: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="COMMAND", help="A program after --, with its launcher if it has one."
        ),
    ] = None,
    on: Annotated[
        Optional[Path],
        typer.Option("--on", metavar="DIR", help="Check this directory and its file system."),
    ] = None,
    bundle: Annotated[
        Optional[Path],
        typer.Option("--bundle", metavar="FILE", help="Write a .tar.gz for a support ticket."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look at everything."""
    from iotune.doctor.check import FAILS
    from iotune.doctor.show import show_visit
    from iotune.doctor.visit import visit

    if on is not None and not on.is_dir():
        raise typer.BadParameter(f"{on} is no directory", param_hint="--on")
    if bundle is not None:
        from iotune.output_file import demand_replaceable

        with value_of("--bundle"):
            if not bundle.name.endswith((".tar.gz", ".tgz")):
                raise Error(f"{bundle}: a bundle's name ends in .tar.gz")
            if bundle.is_symlink() or bundle.exists():
                raise Error(f"{bundle} is there already: name another file")
            demand_replaceable(bundle.absolute(), force=False)
    found = visit(
        words or (), on.absolute() if on is not None else None, everything=bundle is not None
    )
    if as_json:
        print_json("doctor", found.as_json())
    else:
        show_visit(found)
    if bundle is not None:
        from iotune.doctor.bundle import write_bundle

        for name, size, what in write_bundle(found, bundle.absolute()):
            say(f"  {name:<16} {size_text(size):>9}  {what}")
        say(f"written to {path_text(bundle)}: look through it before you send it")
    if found.worst == FAILS:
        next_command("iotune", "doctor", "--help", why="docs/howto/when-nothing-happens.md has all")
        raise typer.Exit(1)
    if not words:
        next_command("iotune", "doctor", "--", "mpirun", "-n", "4", "./program")
    else:
        next_command("iotune", "run", "--", *words)
