"""Show what a run did: its patterns per file and dataset, or the calls themselves.

Without TRACE the last run's. Descriptors are those of docs/descriptors.md; a star before a
dataset says that it speaks for its file (it is one of the largest). With --calls one line a
call: seconds since the epoch, call with arguments and result, duration in seconds; ~ before
times that were interpolated from the pattern's.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import (
    Column,
    count_text,
    data,
    errors_in_one_line,
    next_command,
    print_json,
    rate_text,
    say,
    seconds_text,
    size_text,
    table,
)
from iotune.cli.traces import chosen_trace, words_for
from iotune.core import Call
from iotune.summary import DatasetPattern, FilePattern, RunSummary
from iotune.trace import Trace

_COLUMNS = [
    Column("  dataset"),
    Column("descriptor"),
    Column("operation"),
    Column("mode"),
    Column("ranks", number=True),
    Column("grid"),
    Column("calls", number=True),
    Column("repeats", number=True),
    Column("bytes", number=True),
    Column("seconds", number=True),
    Column("bandwidth", number=True),
]


@errors_in_one_line
def command(
    trace: Annotated[
        Optional[Path], typer.Argument(metavar="TRACE", help="Default: the last run's.")
    ] = None,
    calls: Annotated[bool, typer.Option("--calls", help="The calls instead of patterns.")] = False,
    rank: Annotated[Optional[int], typer.Option(help="Calls of this rank only.")] = None,
    layer: Annotated[
        Optional[str],
        typer.Option(help="Only hdf5, mpiio, posix, stdio or iotune."),
    ] = None,
    file: Annotated[
        Optional[str], typer.Option("--file", help="Only this file: its path, or the end of it.")
    ] = None,
    limit: Annotated[Optional[int], typer.Option(min=0, help="Stop after so many calls.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show it."""
    if not calls and (rank is not None or layer is not None or limit is not None):
        raise typer.BadParameter("--rank, --layer and --limit need --calls")
    run = chosen_trace(trace)
    if calls:
        _calls(run, rank, layer, file, limit, as_json)
        next_command("iotune", "show", *words_for(run, trace), why="the patterns")
        return
    if as_json:
        print_json(run.raw_summary)
    else:
        _patterns(run.summary, file)
    next_command("iotune", "explain", *words_for(run, trace))


def _calls(
    run: Trace,
    rank: Optional[int],
    layer: Optional[str],
    file: Optional[str],
    limit: Optional[int],
    as_json: bool,
) -> None:
    found = run.calls(rank=rank, layer=layer, file=file, limit=limit)
    if as_json:
        print_json([asdict(call) for call in found])
        return
    several = len({(call.rank, call.pid) for call in found}) > 1
    for call in found:
        data(call_line(call, with_rank=several))
    if not found:
        say("no call matches")


def call_line(call: Call, with_rank: bool) -> str:
    """One call as in the paper's figure 2: start, name (arguments) result, duration."""
    mark = "" if call.exact else "~"
    who = f"[{call.rank if call.rank >= 0 else call.pid}] " if with_rank else ""
    return f"{who}{mark}{call.start:.6f} {'  ' * call.depth}{call.text} {mark}{call.seconds:.6f}"


def _patterns(run: RunSummary, file: Optional[str]) -> None:
    data(_headline(run))
    for warning in run.warnings:
        say(warning)
    shown = [one for one in run.files if file is None or is_file(one.path, file)]
    if not shown:
        data("no file" if file is None else f"the run touched no {file}")
    for one in shown:
        _file(one)


def is_file(path: str, wanted: str) -> bool:
    """Whether `wanted` names the file: /a/b/c.h5 is itself, b/c.h5 and c.h5."""
    return path == wanted or path.endswith("/" + wanted)


def _headline(run: RunSummary) -> str:
    parts = [
        run.program_name or run.program or "?",
        count_text(run.ranks, "rank"),
        count_text(run.nodes, "node"),
        f"{run.elapsed_seconds:.2f} s",
        count_text(run.calls, "call"),
    ]
    return ", ".join(parts + [text for text in (run.mpi, run.hdf5 and f"HDF5 {run.hdf5}") if text])


def _file(file: FilePattern) -> None:
    moved = [
        f"{size_text(count)} {verb}"
        for count, verb in ((file.bytes_written, "written"), (file.bytes_read, "read"))
        if count
    ]
    rate = rate_text(file.bytes / file.io_seconds if file.io_seconds > 0 else 0.0)
    data()
    data(
        f"{file.path}   {', '.join(moved) or 'no bytes moved'} "
        f"in {seconds_text(file.io_seconds)} ({rate})"
    )
    if file.datasets:
        table(_COLUMNS, [_row(file, one) for one in file.datasets], indent=2)


def _row(file: FilePattern, one: DatasetPattern) -> list[str]:
    return [
        ("* " if file.speaks_for_file(one) else "  ") + one.dataset,
        one.descriptor,
        "write" if one.write else "read",
        one.mode,
        str(one.ranks),
        "x".join(str(parts) for parts in one.process_grid) or "–",
        str(one.calls),
        str(one.repeats),
        size_text(one.bytes),
        seconds_text(one.seconds),
        rate_text(one.bandwidth),
    ]
