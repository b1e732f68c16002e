"""The command `iotune`. One module a subcommand; its docstring is the help."""

import io
import os
import signal
import sys
from types import ModuleType
from typing import Annotated, Any, Optional

import typer

from iotune import __version__
from iotune.cli import (
    analyze,
    db,
    db_exchange,  # noqa: F401  (adds its commands to db.app)
    db_history,  # noqa: F401
    explain,
    export,
    fuse,
    import_log,
    lib,
    replay,
    run,
    show,
    train,
)
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
    """Watch an unmodified MPI or HDF5 program, understand its I/O as patterns, and run it
    with settings that were measured to be good for them.

    Start with:  iotune run -- mpirun -n 4 ./program
    """


def _help(text: Optional[str]) -> str:
    """A docstring for click: its indented paragraphs are examples and keep their lines."""
    paragraphs = (text or "").strip("\n").split("\n\n")
    return "\n\n".join(
        ("\b\n" if paragraph.startswith("  ") else "") + paragraph for paragraph in paragraphs
    )


def _add(name: str, module: ModuleType, short: str, **more: Any) -> None:
    app.command(name=name, help=_help(module.__doc__), short_help=short, **more)(module.command)


_add("run", run, "Run a program: record it, and tune what is known.", context_settings=run.CONTEXT)
_add("show", show, "A run's patterns, or its calls.")
_add("export", export, "A run's calls for other programs: parquet, csv, perfetto.")
_add("import", import_log, "Another tool's log as a trace: Darshan, FUSE-Tracer, Recorder, CSV.")
_add("analyze", analyze, "Patterns of traces and logs: nests, sizes, next accesses.")
_add("explain", explain, "What was decided, applied, refused and gained.")
_add("train", train, "Measure settings for patterns without an answer.")
_add("replay", replay, "Reissue a recorded pattern without its program.")
_add(
    "fuse",
    fuse,
    "A folder as a file system that records or is slow.",
    context_settings=fuse.CONTEXT,
)
app.add_typer(db.app, name="db", help=db.__doc__, short_help="The pattern database.")
_add("lib", lib, "The path for LD_PRELOAD.")


def main() -> None:
    """Entry point. iotune's own process is never one of those that are watched."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    if "libiotune.so" in preloaded:
        kept = [path for path in preloaded.split(":") if "libiotune.so" not in path]
        os.environ["LD_PRELOAD"] = ":".join(kept)
    # Paths are bytes: what is not UTF-8 in them passes through as it is.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    # A replay's files are removed on the way out.
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(app())
