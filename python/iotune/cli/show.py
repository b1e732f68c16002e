"""Show what a run did: its patterns per file and dataset, or the calls themselves.

Without TRACE the last run's. Descriptors are those of docs/descriptors.md; a star before a
dataset says that it speaks for its file (it is one of the largest). Of files without HDF5 the
array is inferred from the bytes of all ranks, and what else they may be is said below. With
--calls one line a call: seconds since the epoch, call with arguments and result, duration in
seconds; ~ before times that were interpolated from the pattern's. With --json too, one object
a line.
"""

import fnmatch
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.actual_io import done_text, taken_apart
from iotune.cli.call_options import (
    CallOption,
    FileOption,
    FromOption,
    LayerOption,
    LimitOption,
    RankOption,
    ToOption,
    chosen_calls,
)
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
from iotune.cli.show_calls import show_calls
from iotune.cli.traces import chosen_trace, words_for
from iotune.summary import DatasetPattern, FilePattern, RunSummary

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
    rank: RankOption = None,
    layer: LayerOption = None,
    file: FileOption = None,
    call: CallOption = None,
    start: FromOption = None,
    stop: ToOption = None,
    limit: LimitOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Show it."""
    if not calls and any(one is not None for one in (rank, layer, call, start, stop, limit)):
        raise typer.BadParameter("--rank, --layer, --call, --from, --to and --limit need --calls")
    wanted = chosen_calls(rank, layer, file, call, start, stop, limit)
    run = chosen_trace(trace)
    if calls:
        show_calls(run, wanted, limit, as_json)
        next_command("iotune", "show", *words_for(run, trace), why="the patterns")
        return
    if as_json:
        print_json(run.raw_summary)
    else:
        _patterns(run.summary, wanted.files)
    next_command("iotune", "explain", *words_for(run, trace))


def _patterns(run: RunSummary, files: tuple[str, ...]) -> None:
    data(_headline(run))
    for warning in run.warnings:
        say(warning)
    # Of files outside the sample the warning tells, where none is asked for by name.
    shown = [
        one for one in run.files if (is_file(one.path, files) if files else not one.sampled_out)
    ]
    if not shown:
        data("no file" if not files else f"the run touched no {', '.join(files)}")
    for one in shown:
        _file(one)


def is_file(path: str, wanted: Iterable[str]) -> bool:
    """Whether one of the patterns names the file: /a/b/c.h5 is itself, b/c.h5, c.h5 and *.h5."""
    parts = path.split("/")
    ends = [path, *("/".join(parts[at:]) for at in range(1, len(parts)))]
    return any(
        end == pattern or fnmatch.fnmatchcase(end, pattern) for pattern in wanted for end in ends
    )


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
    if file.sampled_out:
        data(f"{file.path}   not in the sample that was recorded of its series")
        return
    data(
        f"{file.path}   {', '.join(moved) or 'no bytes moved'} "
        f"in {seconds_text(file.io_seconds)} ({rate})"
    )
    if file.datasets:
        table(_COLUMNS, [_row(file, one) for one in file.datasets], indent=2)
    apart = Counter(
        done_text(one.actual_io, one.not_collective) for one in file.datasets if taken_apart(one)
    )
    for text, datasets in apart.items():
        data(f"    actual I/O: {text}" + (f" (so of {datasets} datasets)" if datasets > 1 else ""))
    for text in dict.fromkeys(_inferred_text(one) for one in file.datasets if one.inferred):
        data(f"    {text}")


def _inferred_text(one: DatasetPattern) -> str:
    if not one.ambiguity:
        return "inferred: the array is the one that the views declare"
    return f"inferred: {one.ambiguity}"


def _grid_text(one: DatasetPattern) -> str:
    """The process grid, 3x1; with a halo, 3+2x1: neighbours share 2 elements of the first."""
    halo = one.halo or [0] * len(one.process_grid)
    parts = [f"{n}+{shared}" if shared else str(n) for n, shared in zip(one.process_grid, halo)]
    return "x".join(parts) or "–"


def _row(file: FilePattern, one: DatasetPattern) -> list[str]:
    return [
        ("* " if file.speaks_for_file(one) else "  ") + one.dataset,
        one.descriptor,
        "write" if one.write else "read",
        one.mode,
        str(one.ranks),
        _grid_text(one),
        str(one.calls),
        str(one.repeats),
        size_text(one.bytes),
        seconds_text(one.seconds),
        rate_text(one.bandwidth),
    ]
