"""Shared files that are kept as logs: a directory each, in which every process has its own.

  iotune log ls DIR                   which files below DIR are kept so
  iotune log stat FILE                who wrote it, and how large it is
  iotune log verify FILE              whether all that was synced is there
  iotune log cat FILE > COPY
  iotune log flatten FILE COPY        as an ordinary file

What was written and not synced when a process died is not in the file. What was synced and is lost
is an error here, and never zeros.
"""

import datetime
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

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
from iotune.logstore.container import LogContainer, LogWriter, is_container
from iotune.output_file import demand_replaceable, new_file

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_PIECE = 8 << 20
_File = Annotated[Path, typer.Argument(metavar="FILE", help="The directory that the file is.")]
_Json = Annotated[bool, typer.Option("--json", help="For programs.")]


def _pieces(container: LogContainer) -> Iterator[bytes]:
    for offset in range(0, container.size, _PIECE):
        yield container.read(offset, _PIECE)


@app.command("ls")
@errors_in_one_line
def list_files(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Searched with all below it.")],
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
        print_json(found)
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
            {
                "size": container.size,
                "made_ns": container.made_ns,
                "id": container.id,
                "map_bytes": container.map_bytes,
                "whole": container.is_whole(),
                "writers": [writer._asdict() for writer in container.writers],
                "strangers": container.strangers,
                "handle_bytes": container.handle_bytes,
            }
        )
        return
    made = datetime.datetime.fromtimestamp(container.made_ns / 1e9).isoformat(" ", "seconds")
    logs = sum(writer.log_bytes for writer in container.writers)
    data(f"size     {size_text(container.size)} ({container.size} bytes)")
    data(f"logs     {size_text(logs)} of {count_text(len(container.writers), 'writer')}")
    data(f"index    {size_text(container.map_bytes)} in memory")
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
        yield f"{writer.missing_bytes} bytes were synced and are not in its log"
    if writer.index_bytes_lost:
        yield f"{writer.index_bytes_lost} bytes of its index are damaged"


@app.command("verify")
@errors_in_one_line
def verify(file: _File) -> None:
    """Check that all that was synced is there; else the exit status is 1."""
    container = LogContainer(file)
    for writer in container.writers:
        for complaint in _complaints(writer):
            data(f"{writer.name}: {complaint}")
        if writer.has_index and writer.unplaced_bytes:
            say(f"{writer.name}: {writer.unplaced_bytes} bytes were written and never synced")
        if writer.dropped_bytes:
            say(f"{writer.name}: {writer.dropped_bytes} bytes that were not synced are not there")
    for name in container.strangers:
        say(f"{name} does not belong to the file")
    past = container.handle_bytes
    if past:
        data(
            f"handle: a program wrote past the log store; its {size_text(past)} are not in the file"
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
    for piece in _pieces(LogContainer(file)):
        sys.stdout.buffer.write(piece)


@app.command("flatten")
@errors_in_one_line
def flatten(
    file: _File,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="The ordinary file to make.")],
    force: Annotated[bool, typer.Option("--force", help="Replace COPY where it exists.")] = False,
) -> None:
    """Make an ordinary file of it, whole or not at all; FILE stays as it is."""
    container = LogContainer(file)
    if not container.is_whole():
        raise Error(f"{file} has lost bytes: see iotune log verify")
    demand_replaceable(copy, force)
    # Holes stay holes: no more is needed than was written.
    needed = min(container.size, sum(writer.log_bytes for writer in container.writers))
    room = os.statvfs(copy.parent)
    if needed > room.f_bavail * room.f_frsize:
        raise Error(f"{copy.parent} has no room for {size_text(needed)}")
    with new_file(copy, force) as output:
        for piece in _pieces(container):
            if piece.count(0) == len(piece):
                output.seek(len(piece), os.SEEK_CUR)
            else:
                output.write(piece)
        output.truncate(container.size)
    say(f"{copy}: {size_text(container.size)}")
    copied = shlex.quote(str(copy))
    say(f"next: iotune log cat {shlex.quote(str(file))} | cmp - {copied}")
