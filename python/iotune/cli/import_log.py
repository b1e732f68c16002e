"""Make a trace of another tool's log, to show, export, compare and replay like one of iotune.

  iotune import job.darshan                 Darshan (pip install 'iotune[darshan]'), or its text
  iotune import tracer.log                  FUSE-Tracer: pid path op offset length start end
  iotune import recorder-logs/_text         Recorder, by recorder2text
  iotune import run.strace                  strace -f -ttt -T, with -y or without
  iotune import trace.pfw.gz                dftracer
  iotune import accesses.csv -o run.iotrace rank,file,op,offset,length,start,end

The kind of log is recognised by its content; gzip may have packed it. A log of Darshan without
extended tracing gives totals of files and no calls. docs/import.md has the forms and what becomes
of them.
"""

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import count_text, errors_in_one_line, next_command, path_text, say
from iotune.importing import import_log


class Format(str, Enum):
    """What can be read."""

    darshan = "darshan"
    darshan_text = "darshan-text"
    fuse = "fuse"
    recorder = "recorder"
    csv = "csv"
    strace = "strace"
    dftracer = "dftracer"


class Times(str, Enum):
    """How much of the log's times is kept."""

    exact = "exact"
    call = "call"
    pattern = "pattern"


@errors_in_one_line
def command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A file, or Recorder's folder.")],
    output: Annotated[
        Optional[Path],
        typer.Option("-o", "--output", metavar="FILE", help="Default: LOG.iotrace, here."),
    ] = None,
    kind: Annotated[
        Optional[Format], typer.Option("--format", help="Default: recognised by the content.")
    ] = None,
    times: Annotated[
        Times,
        typer.Option("--timing", help="exact; call: a little rounded, smaller; pattern: smallest."),
    ] = Times.exact,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    columns: Annotated[
        Optional[str],
        typer.Option(
            "--columns",
            metavar="NAMES",
            help="The columns of a CSV without a head line: rank,file,op,offset,length,start,end.",
        ),
    ] = None,
) -> None:
    """Import it."""
    target = output or Path(log.resolve().name + ".iotrace")
    done = import_log(log, target, kind.value if kind else None, times.value, force, columns)
    for note in done.notes:
        say(note)
    what = f"{count_text(done.calls, 'call')} of {count_text(done.processes, 'rank')}"
    if not done.calls:
        what = f"totals of {count_text(done.ranks, 'rank')}, and no calls,"
    say(f"{done.format}: {what} written to {path_text(str(target))}")
    next_command("iotune", "show", str(target), why="the patterns")
