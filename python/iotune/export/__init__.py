"""Calls of a trace as files for other programs (docs/reading.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from iotune.errors import Error
from iotune.output_file import new_file
from iotune.traces.call_filter import CallFilter

ENDINGS = {
    "parquet": ".parquet",
    "bytes-by-time": ".bytes-by-time.csv",  # before csv, whose ending it has
    "csv": ".csv",
    "perfetto": ".perfetto.json",
    "darshan": ".darshan",
}
_MODULES = {
    "parquet": "parquet",
    "bytes-by-time": "by_time",
    "csv": "comma_separated",
    "perfetto": "perfetto",
    "darshan": "darshan",
}
_BINARY = ("parquet", "darshan")


@dataclass(frozen=True)
class Exported:
    """What was written."""

    calls: int
    losses: list[str]  # of the run, in words


class _Writer(Protocol):
    def write(
        self, path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO
    ) -> Exported: ...


def export_calls(
    trace: Path,
    kind: str,
    output: str,
    wanted: CallFilter | None = None,
    limit: int | None = None,
    force: bool = False,
    regions: bool = False,
) -> Exported:
    """Write the calls that are wanted to a new file, "-" for stdout.

    With `regions` instead of them the entries of the program's regions, of the ranks that are
    wanted, as csv or parquet. Memory does not grow with their number. On any failure the file is
    as it was.
    """
    # Missing libraries are reported before anything is written.
    module = import_module(f"iotune.export.{_MODULES[kind]}")
    writer = cast(_Writer, module.Regions() if regions else module)
    if output != "-" and os.path.exists(output) and os.path.samefile(output, trace):
        raise Error(f"{output} is the trace itself")
    with _stdout(kind) if output == "-" else new_file(Path(output), force) as to:
        return writer.write(trace, wanted or CallFilter(), limit, to)


@contextmanager
def _stdout(kind: str) -> Iterator[BinaryIO]:
    if kind in _BINARY and sys.stdout.isatty():
        raise Error(f"{kind} is not for a terminal: -o FILE")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
