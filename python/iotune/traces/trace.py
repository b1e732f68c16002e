"""A trace as a Python object (docs/reading.md)."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iotune import core
from iotune.errors import Error
from iotune.traces.call_filter import CallFilter, Ranks, Time, Words, call_filter
from iotune.traces.calls import BATCH_ROWS, COLUMNS, Call, CallReader, calls
from iotune.traces.log_totals import run_of, summarized
from iotune.traces.regions import each_region
from iotune.traces.summary import RunSummary

if TYPE_CHECKING:
    import pandas as pd


class Trace:
    """One run's trace. Reads on demand; the file may not change meanwhile."""

    def __init__(self, path: Path):
        self.path = path

    @functools.cached_property
    def raw_summary(self) -> dict[str, Any]:
        """The analyzer's own result with what the run's log says, for `--json`."""
        return summarized(self.path)

    @functools.cached_property
    def summary(self) -> RunSummary:
        """What the run did, in patterns."""
        return run_of(self.path)

    @functools.cached_property
    def folded_summary(self) -> RunSummary:
        """The same for people: files that are alike are one, with FilePattern.alike."""
        return run_of(self.path, fold=True)

    @functools.cached_property
    def metadata(self) -> dict[str, Any]:
        """The run as a whole: program, ranks, nodes, versions, and under `losses` what is missing.

        `start_unix_ns` is the time of the run's first call, from which `start_ns` counts.
        """
        run = self.summary
        return {
            "path": str(self.path),
            "program": run.program,
            "argv": run.argv,
            "run_id": run.run_id,
            "ranks": run.ranks,
            "nodes": run.nodes,
            "processes": run.processes,
            "mpi": run.mpi,
            "hdf5": run.hdf5,
            "start_unix_ns": CallReader(self.path, columns=()).run_start_unix_ns,
            "elapsed_seconds": run.elapsed_seconds,
            "calls": run.calls,
            "dropped_calls": run.dropped,
            "losses": run.warnings,
        }

    def calls(
        self,
        rank: Ranks = None,
        layer: Words = None,
        file: Words = None,
        call: Words = None,
        start: Time = None,
        stop: Time = None,
        columns: Sequence[str] = COLUMNS,
        limit: int | None = None,
    ) -> pd.DataFrame:
        """The calls as a data frame, in time order, each before those made inside it.

        Filters as of `iotune show --calls`; `start` and `stop` are seconds after the run's first
        call, or texts with a unit.
        """
        from iotune.traces import frames

        return frames.calls_frame(
            self._reader((rank, layer, call, file, start, stop), columns, limit, BATCH_ROWS)
        )

    def call_chunks(
        self,
        rank: Ranks = None,
        layer: Words = None,
        file: Words = None,
        call: Words = None,
        start: Time = None,
        stop: Time = None,
        columns: Sequence[str] = COLUMNS,
        rows: int = BATCH_ROWS,
    ) -> Iterator[pd.DataFrame]:
        """The same in frames of at most `rows` rows, of which none is kept."""
        from iotune.traces import frames

        if rows < 1:
            raise Error(f"{rows}: a chunk has one row at least")
        return frames.call_chunks(
            self._reader((rank, layer, call, file, start, stop), columns, None, rows)
        )

    def each_call(
        self,
        rank: Ranks = None,
        layer: Words = None,
        file: Words = None,
        call: Words = None,
        start: Time = None,
        stop: Time = None,
        limit: int | None = None,
    ) -> Iterator[Call]:
        """The calls one at a time, with their text as `iotune show --calls` prints it."""
        return calls(self.path, _filter(rank, layer, call, file, start, stop), limit)

    def bytes_by_time(
        self,
        rank: Ranks = None,
        layer: Words = None,
        file: Words = None,
        call: Words = None,
        bins: int = 64,
    ) -> pd.DataFrame:
        """The bytes of each process, file and direction in equal bins of the run's time.

        As the program asked for them, or with `layer` as that layer's calls moved them. A row for
        each bin that is not empty: process, file, operation, start_ns and end_ns after the run's
        first call, bytes. `attrs["by_time_kind"]` says of how many bytes the time is known how well
        (docs/reading.md, `time_kind`).
        """
        from iotune.traces import bytes_by_time, frames

        wanted = _filter(rank, layer, call, file, None, None)
        elapsed = self.summary.elapsed_seconds
        return frames.by_time_frame(bytes_by_time.bytes_by_time(self.path, elapsed, wanted, bins))

    @functools.cached_property
    def processes(self) -> pd.DataFrame:
        """A row for each process; the index is what `process` of a call means."""
        from iotune.traces import frames

        return frames.processes_frame(core.processes(self.path))

    @property
    def ranks(self) -> pd.DataFrame:
        """The processes that are ranks of MPI_COMM_WORLD, by rank."""
        found = self.processes
        return found[found["rank"] >= 0].reset_index().set_index("rank").sort_index()

    @functools.cached_property
    def files(self) -> pd.DataFrame:
        """A row for each file that the run touched."""
        from iotune.traces import frames

        return frames.files_frame(self.summary)

    @functools.cached_property
    def patterns(self) -> pd.DataFrame:
        """A row for each dataset and direction: what `iotune show` prints."""
        from iotune.traces import frames

        return frames.patterns_frame(self.summary)

    @functools.cached_property
    def regions(self) -> pd.DataFrame:
        """A row for each entry of a region that the program marked (docs/howto/mark-regions.md).

        Times are in ns, `begin_ns` and `end_ns` after the run's first call. `region` is the path
        of names, joined by " / ". Where `entered` is more than 1 the row is a sum.
        """
        from iotune.traces import frames

        return frames.regions_frame(each_region(self.path))

    @property
    def descriptors(self) -> pd.DataFrame:
        """Of the patterns only where they are and what they are called."""
        return self.patterns[["file", "dataset", "operation", "descriptor"]]

    def _reader(
        self, filters: tuple[Any, ...], columns: Sequence[str], limit: int | None, rows: int
    ) -> CallReader:
        for column in columns:
            if column not in COLUMNS:
                raise Error(f"there is no column {column!r}: {', '.join(COLUMNS)}")
        return CallReader(self.path, _filter(*filters), columns, limit, rows)

    def __repr__(self) -> str:
        return f"Trace({str(self.path)!r})"


def _filter(
    rank: Ranks, layer: Words, call: Words, file: Words, start: Time, stop: Time
) -> CallFilter:
    try:
        return call_filter(rank, layer, call, file, start, stop)
    except ValueError as problem:
        raise Error(str(problem)) from None


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Open a trace or a process buffer. Raises Error where there is none to be read."""
    found = Path(path)
    if any(found.glob("[0-9]*.txt")) or (found / "_text").is_dir():  # Recorder's folder
        raise Error(_no_trace(found))
    if found.exists() and not found.is_file() and not found.is_dir():
        raise Error(f"{found}: no regular file")  # a pipe would be waited for
    if not is_trace(found):
        raise Error(_no_trace(found))
    return Trace(found)


def is_trace(path: Path) -> bool:
    """Whether the file begins as a trace or a process buffer does. Raises Error."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    return start == b"IOTUNE-TRACE" or start[:6] == b"IOTBUF"


def _no_trace(path: Path) -> str:
    """Why there is none, and what would make one of another tool's log."""
    from iotune.importing.guess import NAMES, format_of  # which itself builds on this package

    wrong = f"{path} is not a trace of iotune"
    try:
        form = format_of(path)
    except Error:
        return wrong
    return f"{wrong} but {NAMES[form]}: `iotune import {shlex.quote(str(path))}` makes one of it"
