"""The command `iotune`. One module a subcommand; its docstring is the help."""

import os
import sys
from typing import Annotated, Optional

import typer

from iotune import __version__
from iotune.cli import db, explain, lib, replay, run, show, train
from iotune.cli.output import next_command

app = typer.Typer(
    name="iotune",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"iotune {__version__}")
        next_command("iotune", "--help")
        raise typer.Exit()


@app.callback()
def iotune(
    version: Annotated[
        Optional[bool],
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = None,
) -> None:
    """Watches an unmodified MPI or HDF5 program, understands its I/O as patterns, and runs it
    with settings that were measured to be good for them.

    Start with:  iotune run -- mpirun -n 4 ./program
    """


app.command(name="run", help=run.__doc__, context_settings=run.CONTEXT)(run.command)
app.command(name="show", help=show.__doc__)(show.command)
app.command(name="explain", help=explain.__doc__)(explain.command)
app.command(name="train", help=train.__doc__)(train.command)
app.command(name="replay", help=replay.__doc__)(replay.command)
app.add_typer(db.app, name="db", help=db.__doc__)
app.command(name="lib", help=lib.__doc__)(lib.command)


def main() -> None:
    """Entry point. iotune's own process is never one of those that are watched."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    if "libiotune.so" in preloaded:
        kept = [path for path in preloaded.split(":") if "libiotune.so" not in path]
        os.environ["LD_PRELOAD"] = ":".join(kept)
    sys.exit(app())
