"""Shared files that are kept as logs: a directory each, in which every process has its own.

  iotune log ls DIR                   which files below DIR are kept so
  iotune log stat FILE                who wrote it, and how large it is
  iotune log verify FILE              whether all that was synced is there
  iotune log cat FILE > COPY
  iotune log flatten FILE [COPY]      as an ordinary file, or in its own place
  iotune log compact FILE             one index, and logs without what was overwritten
  iotune log map FILE > MAP.csv       all writes; --draw MAP.svg draws them

What was written and not synced when a process died is not in the file. What was synced and is lost
is an error here, and never zeros.
"""

import datetime
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.analysis.launched import Abandoned, Ranks
from iotune.cli.output import (
    Column,
    count_text,
    data,
    errors_in_one_line,
    next_command,
    print_json,
    say,
    size_text,
    table,
)
from iotune.errors import Error
from iotune.logstore.container import (
    LogContainer,
    LogMap,
    LogWriter,
    is_container,
)
from iotune.logstore.container import compact as compact_container
from iotune.output_file import new_file

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_PIECE = 8 << 20
_File = Annotated[
    Path, typer.Argument(metavar="FILE", help="The file, which is a directory on the storage.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _pieces(container: LogContainer) -> Iterator[bytes]:
    for offset in range(0, container.size, _PIECE):
        yield container.read(offset, _PIECE)


@app.command("ls")
@errors_in_one_line
def list_files(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The directory to search, with all below it.")
    ],
    as_json: _Json = False,
) -> None:
    """Print the files below DIR that are kept as logs."""
    if not directory.is_dir():
        raise Error(f"{directory}: no such directory")
    found = []
    for path, folders, _ in os.walk(directory):
        folders.sort()
        if is_container(path):
            folders.clear()
            found.append(path)
    if as_json:
        print_json("log-ls", found)
    else:
        for path in found:
            data(path)
    if found:
        next_command("iotune", "log", "stat", found[0])
    else:
        say(f"no file below {directory} is kept as logs")


@app.command("stat")
@errors_in_one_line
def stat(file: _File, as_json: _Json = False) -> None:
    """Print who wrote the file, and how large it is."""
    container = LogContainer(file)
    if as_json:
        print_json(
            "log-stat",
            {
                "size": container.size,
                "made_ns": container.made_ns,
                "id": container.id,
                "live_bytes": container.live_bytes(),
                "map_bytes": container.map_bytes,
                "index_bytes": container.index_bytes,
                "handle_bytes": container.handle_bytes,
                "compactions": container.generation,
                "whole": container.is_whole(),
                "writers": [writer._asdict() for writer in container.writers],
                "strangers": container.strangers,
            },
        )
        return
    made = datetime.datetime.fromtimestamp(container.made_ns / 1e9).isoformat(" ", "seconds")
    logs = sum(writer.log_bytes for writer in container.writers)
    data(f"size     {size_text(container.size)} ({container.size} bytes)")
    data(f"logs     {size_text(logs)} of {count_text(len(container.writers), 'writer')}")
    data(f"live     {size_text(container.live_bytes())} of these at most")
    on_disk = f"{size_text(container.index_bytes)} on disk"
    data(f"index    {on_disk}, {size_text(container.map_bytes)} in memory")
    data(f"made     {made}")
    if container.writers:
        columns = [Column("writer"), *(Column(name, number=True) for name in _NUMBERS)]
        data()
        table(columns, [_row(writer) for writer in container.writers])
    next_command("iotune", "log", "verify", str(file))


_NUMBERS = ("entries", "log", "synced", "lost")


def _row(writer: LogWriter) -> list[str]:
    return [
        writer.name,
        f"{writer.entries:,}",
        size_text(writer.log_bytes),
        size_text(writer.durable_bytes),
        size_text(writer.missing_bytes) if writer.missing_bytes else "",
    ]


def _complaints(writer: LogWriter) -> Iterator[str]:
    if not writer.has_index:
        yield f"no index: where {writer.unplaced_bytes} bytes of its log belong is not known"
    if writer.missing_bytes:
        when = "synced" if writer.durable_bytes else "closed, not synced,"
        yield f"{writer.missing_bytes} bytes were {when} and are not in its log"
    if writer.index_bytes_lost:
        yield f"{writer.index_bytes_lost} bytes of its index are damaged"


@app.command("verify")
@errors_in_one_line
def verify(file: _File) -> None:
    """Check that all that was synced is there; else the exit status is 1."""
    container = LogContainer(file, verify=True)
    if container.merged_damage:
        data(f"merged.index: {container.merged_damage}; the single indexes count")
    for writer in container.writers:
        for complaint in _complaints(writer):
            data(f"{writer.name}: {complaint}")
        if writer.has_index and writer.unplaced_bytes:
            say(f"{writer.name}: {writer.unplaced_bytes} bytes were written and never synced")
        if writer.dropped_bytes:
            say(f"{writer.name}: {writer.dropped_bytes} bytes that were not synced are not there")
    for name in container.strangers:
        say(f"{name} does not belong to the file")
    for name in container.spare_files:
        say(f"{name} is left over; the next compaction removes it")
    past = container.handle_bytes
    if past:
        data(
            f"handle: {size_text(past)} that were written past the log store; they are no part "
            "of the file"
        )
    if not container.is_whole():
        say(f"{file} has lost bytes")
    if past or not container.is_whole():
        raise typer.Exit(1)
    say(f"{file}: all that was synced is there")
    next_command("iotune", "log", "flatten", str(file), f"{file}.copy")


@app.command("cat")
@errors_in_one_line
def cat(file: _File) -> None:
    """Write the file's bytes to stdout."""
    container = LogContainer(file)
    if container.merged_damage and not all(one.has_index for one in container.writers):
        raise Error(f"{file} has lost bytes: see iotune log verify")
    for piece in _pieces(container):
        sys.stdout.buffer.write(piece)


@app.command("flatten")
@errors_in_one_line
def flatten(
    file: _File,
    copy: Annotated[
        Optional[Path],
        typer.Argument(metavar="[COPY]", help="The file to make. Default: replace FILE."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace COPY where it exists.")] = False,
) -> None:
    """Make an ordinary file of it, whole or not at all.

    With COPY, FILE stays as it is; without, the file takes its place, and nobody may have it open
    for writing. Under mpirun or srun all ranks copy. After a kill the same command goes on.

    FILE may be an ordinary file as well, of a run with IOTUNE_GATHER=log that was killed: what was
    gathered, and is in the log beside it, is written into it.
    """
    from iotune.logstore.flatten import Replaced
    from iotune.logstore.flatten import flatten as flatten_container
    from iotune.logstore.journal import complete, has_journal

    ranks = Ranks.of_environment()
    try:
        if has_journal(file):
            if ranks.rank != 0:
                return
            size = complete(file, copy, force)
        else:
            size = flatten_container(file, copy or file, ranks, force)
    except Replaced:
        say(f"{file} is an ordinary file already: an earlier attempt was complete")
        return
    except Abandoned:
        raise typer.Exit(1) from None  # the rank that failed says why
    if ranks.rank != 0:
        return
    say(f"{copy or file}: {size_text(size)}")
    if copy is not None and not has_journal(file):
        say(f"next: iotune log cat {shlex.quote(str(file))} | cmp - {shlex.quote(str(copy))}")


@app.command("compact")
@errors_in_one_line
def compact(
    file: _File,
    as_one: Annotated[
        bool, typer.Option("--all", help="Write all logs anew, as one in the file's order.")
    ] = False,
    keep_indexes: Annotated[
        bool,
        typer.Option(
            "--keep-indexes",
            help="Only merge the indexes: single indexes, with times, and logs stay.",
        ),
    ] = False,
) -> None:
    """Make one index of all, and write logs anew of which less than half is still needed.

    Refused while somebody has the file open for writing, and where bytes are lost. A death at any
    moment leaves the old or the new.
    """
    if as_one and keep_indexes:
        raise typer.BadParameter("keeps all logs as they are", param_hint="--keep-indexes")
    done = compact_container(file, least_live=2.0 if as_one else 0.5, keep_indexes=keep_indexes)
    before, after = size_text(done.index_bytes_before), size_text(done.index_bytes)
    data(f"index    {before} -> {after}")
    before, after = size_text(done.log_bytes_before), size_text(done.log_bytes)
    data(f"logs     {before} -> {after}, {size_text(done.copied_bytes)} copied")
    next_command("iotune", "log", "stat", str(file))


@app.command("map")
@errors_in_one_line
def write_map(
    file: _File,
    output: Annotated[
        Optional[Path],
        typer.Option("-o", "--output", metavar="CSV", help="Write to CSV; - is stdout."),
    ] = None,
    drawing: Annotated[
        Optional[Path],
        typer.Option("--draw", metavar="SVG", help="Draw it: offset against time and writer."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace CSV where it exists.")] = False,
) -> None:
    """Write all writes as lines: writer, offset, length, time, place in the log.

    With --draw and without -o, only the figure. What was compacted has neither times nor what was
    overwritten, and comes in the file's order.
    """
    if drawing is not None:
        from iotune.logstore.map_drawing import draw_map

        total, drawn = draw_map(file, drawing)
        say(f"{drawing}: {drawn:,} of {count_text(total, 'write')}")
        if output is None:
            return
    log_map = LogMap(file)
    if not log_map.has_times:
        say("what was compacted has no times: there is no column of them")
    if output is None or output == Path("-"):
        for lines in log_map.csv():
            sys.stdout.buffer.write(lines)
        return
    with new_file(output, force) as to:
        for lines in log_map.csv():
            to.write(lines)
    next_command("iotune", "replay", str(output), "--layer", "posix")
