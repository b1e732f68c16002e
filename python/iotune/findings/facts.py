"""All that findings rest on: the run's summary, its streams, its datasets."""

from __future__ import annotations

import contextlib
import functools
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from iotune import core
from iotune.findings import thresholds
from iotune.findings.covered import Covered
from iotune.findings.datasets import DatasetReader
from iotune.findings.finding import Estimate, Evidence
from iotune.findings.streams import (
    BELOW,
    MPI_WRITE,
    MPI_WRITE_ALL,
    NOBODY,
    Stream,
    StreamReader,
)
from iotune.models.settings.file_layout import striping_of
from iotune.models.settings.prospects import prospect_of_file
from iotune.reports.explained import needs_training
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import MISSING, CallReader
from iotune.traces.run_epochs import RunEpochs, run_epochs
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary
from iotune.traces.trace import Trace
from iotune.verify.conflicts import FileConflicts
from iotune.verify.verdicts import FileVerdict, Verdicts, verdicts_of

# Of these nobody cares how they are read: they are the system's, or one call's own.
_NOT_DATA = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib/", "/lib64/")
_NOT_DATA_ENDS = (".py", ".pyc", ".so", ".jar")
_ZARR = (".zarray", ".zgroup", "zarr.json")
_LOCAL = ("ext4", "xfs", "btrfs", "tmpfs", "ramfs", "zfs", "f2fs", "overlay")
_SHARED_POINTER = ".shfp."  # ROMIO's own file beside one with a shared file pointer


class Facts:
    """Of one trace. Reads it four times at most, when first asked."""

    def __init__(self, trace: Trace):
        self.run: RunSummary = trace.summary
        self._trace = trace
        self._path = trace.path
        processes = core.processes(trace.path)
        ranks = [int(one.get("rank", -1)) for one in processes]
        self._calls = StreamReader(trace.path, ranks)
        if any(one.get("rank_from") == "log" for one in processes):
            _place_by_file(self._calls.streams)
        self._said = {one.path for one in self.run.files if one.is_stdout}
        self.streams: list[Stream] = [one for one in self._calls.streams if self._is_data(one.file)]
        self.files: dict[str, FilePattern] = {one.path: one for one in self.run.data_files}
        # Of a log: what it counted of each file.
        self.totals: dict[str, dict[str, Any]] = {
            path: one.totals
            for path, one in self.files.items()
            if one.totals is not None and self._is_data(path)
        }

    @functools.cached_property
    def hdf5(self) -> DatasetReader:
        """What HDF5 was asked for."""
        used = any(one.layer == "hdf5" for one in self.streams)
        return DatasetReader(self._path, self.run.hdf5, self._set_cache_bytes(), used)

    def _set_cache_bytes(self) -> dict[tuple[str, str], int]:
        """Chunk caches that iotune set, by file and dataset, which the reason of each names."""
        return {
            (file.path, one.reason): int(one.got or one.wanted)
            for file in self.run.data_files
            for one in file.settings
            if one.parameter == "chunk_cache"
            and one.has_effect
            and (one.got or one.wanted).isdigit()
        }

    @functools.cached_property
    def totals_by_rank(self) -> Mapping[int, Sequence[float]]:
        """Of a log, of files that not all ranks share: bytes read, bytes written, seconds in
        transfers, seconds in metadata of each rank that has some.
        """
        said = (self.run.log or {}).get("by_rank") or {}
        return {int(rank): sums for rank, sums in said.items()}

    def mode_is_unknown(self, file: str, writes: bool) -> bool:
        """Whether nobody recorded which of MPI-IO's transfers of a file were collective."""
        return [file, "write" if writes else "read"] in self._unknown_modes

    @functools.cached_property
    def _unknown_modes(self) -> list[list[str]]:
        return [said[:2] for said in (self.run.log or {}).get("modes", ())]

    @property
    def elapsed_seconds(self) -> float:
        return self.run.elapsed_seconds

    @property
    def covered(self) -> dict[tuple[str, bool, int], Covered]:
        """(file, is write, process) -> the different bytes that reached the file system."""
        return {key: one for key, one in self._calls.covered.items() if self._is_data(key[0])}

    def _is_data(self, file: str) -> bool:
        return is_data(file) and file not in self._said

    def placed_requests(self, file: str, writes: bool) -> Iterator[tuple[Any, Any]]:
        """Offsets and lengths of what reached a file, in batches; reads the trace again."""
        columns = ("call", "offset_bytes", "length_bytes")
        for batch in CallReader(self._path, CallFilter(layers=("posix",), files=(file,)), columns):
            wanted = [meaning_of(name).writes == writes and meaning_of(name).transfer
                      for name in batch.names("call")]  # fmt: skip
            offset, length = (np.asarray(batch.numbers(name)) for name in columns[1:])
            chosen = np.array(wanted)[np.asarray(batch.numbers("call"))] & (offset != MISSING)
            yield offset[chosen], length[chosen]

    def by_file(self, wanted: Callable[[Stream], bool]) -> dict[str, list[Stream]]:
        """The streams that are wanted, of each file that has some."""
        found: dict[str, list[Stream]] = defaultdict(list)
        for one in self.streams:
            if one.file and wanted(one):
                found[one.file].append(one)
        return found

    @functools.cached_property
    def conflicts(self) -> Sequence[tuple[FileConflicts, FileVerdict | None]]:
        """Of files whose bytes two processes touched, what is known of their order; reads the trace
        again.
        """
        found = self._verdicts
        return [(one, found.of_file(one.path)) for one in found.conflicts.files
                if self._is_data(one.path)]  # fmt: skip

    @property
    def order_recorded(self) -> bool:
        """Whether the trace says what orders its processes."""
        return self._verdicts.order_recorded

    @property
    def knows_all_order(self) -> bool:
        """Whether all that was recorded of order is understood."""
        return not self._verdicts.unknown

    @functools.cached_property
    def _verdicts(self) -> Verdicts:
        return verdicts_of([self._path])

    def is_sieved(self, file: str) -> bool:
        """Whether MPI-IO wrote more than it was asked for: whose bytes are rewritten by design."""
        return any(
            one.meaning.reads and one.parent in (MPI_WRITE, MPI_WRITE_ALL)
            for one in self.of_file[file]
            if one.meaning.below_mpi
        )

    @functools.cached_property
    def uses_zarr(self) -> bool:
        """Whether the run read or wrote arrays of zarr: folders with a file for each chunk."""
        return any(os.path.basename(one.file).startswith(_ZARR) for one in self.streams)

    @functools.cached_property
    def epochs(self) -> RunEpochs:
        """Workers and epochs; reads the trace again where there may be some."""
        return run_epochs(self._path, self.run)

    @functools.cached_property
    def of_file(self) -> Mapping[str, Sequence[Stream]]:
        """The streams of each file; of one that has none an empty list."""
        found: dict[str, list[Stream]] = defaultdict(list)
        for one in self.streams:
            found[one.file].append(one)
        return found

    @functools.cached_property
    def transfers(self) -> Mapping[tuple[str, str, bool], Sequence[Stream]]:
        """HDF5's transfers by file, dataset and whether they write; [] where there are none."""
        found: dict[tuple[str, str, bool], list[Stream]] = defaultdict(list)
        for one in self.streams:
            if one.layer == "hdf5" and one.meaning.transfer and one.dataset:
                found[one.file, one.dataset, one.meaning.writes].append(one)
        return found

    @functools.cached_property
    def patterns(self) -> Mapping[tuple[str, str, bool], DatasetPattern]:
        """The summary's patterns by file, dataset and whether it is written."""
        return {
            (file.path, one.dataset, one.write): one
            for file in self.run.data_files
            for one in file.datasets
        }

    @functools.cached_property
    def ranks_of_processes(self) -> Mapping[int, int]:
        """The rank of each process that made a call; -1: of none."""
        return {one.process: one.rank for one in self.streams}

    @functools.cache  # noqa: B019 - lives as long as one look at a trace
    def striping(self, file: str) -> dict[str, str]:
        """`striping_factor` and `striping_unit`: as a log has them, or of a file still there."""
        stripes = self.totals.get(file, {}).get("stripes")
        if stripes:
            return {
                "striping_factor": str(stripes["stripe_count"]),
                "striping_unit": str(stripes["stripe_bytes"]),
            }
        if self.run.log is not None:
            return {}  # a file of that name here is another one
        found: dict[str, str] = striping_of(file)
        return found

    @functools.cache  # noqa: B019
    def filesystem(self, file: str) -> str:
        """The file system of a file's folder as this host sees it; "unknown" if it is gone.

        Of a log the one that it names.
        """
        if self.run.log is not None:
            return str(self.totals.get(file, {}).get("file_system", "unknown"))
        return core.filesystem_of(os.path.dirname(file) or "/")

    @functools.cache  # noqa: B019
    def trainable(self, file: str) -> frozenset[str]:
        """The parameters that training would measure for the file; none where it has an answer."""
        known = self.files.get(file)
        if known is None or not self.run.has_calls or not needs_training(known):
            return frozenset()
        found = prospect_of_file(self._trace, known).candidates
        return frozenset(name for one in found for name in one.settings)

    def bytes_now(self, file: str) -> int:
        """The size of a file that is still there, as this host sees it; else 0."""
        with contextlib.suppress(OSError, ValueError):
            return os.stat(file).st_size
        return 0

    def is_local(self, file: str) -> bool:
        """Whether the file's storage is the node's own."""
        return self.filesystem(file) in _LOCAL

    def block_bytes(self, file: str) -> int:
        """What the file's storage moves at least: a stripe, else a page."""
        return int(self.striping(file).get("striping_unit", 4096))

    @functools.cached_property
    def largest_rates(self) -> dict[bool, float]:
        """Bytes a second of large requests, by direction, where the run has enough of them."""
        moved: dict[bool, int] = defaultdict(int)
        taken: dict[bool, float] = defaultdict(float)
        for one in self.streams:
            if one.meaning.below_mpi and one.meaning.transfer:
                size, seconds = one.from_on(thresholds.LARGE_BYTES)
                moved[one.meaning.writes] += size
                taken[one.meaning.writes] += seconds
        return {
            way: moved[way] / taken[way]
            for way in moved
            if moved[way] >= thresholds.ENOUGH_LARGE_BYTES and taken[way] > 0
        }


def _place_by_file(streams: Iterable[Stream]) -> None:
    """Of another tool's log: calls below a library that lost their place inside of its calls."""
    above = {one.file for one in streams if one.layer in ("hdf5", "mpiio") and one.bytes}
    for one in streams:
        if one.outer == NOBODY and one.meaning.below_mpi and one.file in above:
            one.outer = one.parent = BELOW


def is_data(file: str) -> bool:
    """Whether a path is one that a program keeps data in; "" is no path and is kept."""
    if file.startswith("/dev/shm/"):
        return True
    own = file.startswith(_NOT_DATA) or file.endswith(_NOT_DATA_ENDS) or _SHARED_POINTER in file
    return not own


def added_up(parts: Iterable[tuple[int, float]]) -> dict[int, float]:
    """The seconds of each process, of (process, seconds)."""
    sums: dict[int, float] = defaultdict(float)
    for process, seconds in parts:
        sums[process] += seconds
    return dict(sums)


def times_of(streams: Iterable[Stream]) -> dict[int, float]:
    """The seconds that each process spent in these calls."""
    return added_up((one.process, one.seconds) for one in streams)


def slowest(found: Iterable[Evidence]) -> float:
    """The seconds of the process that spent most in all of it.

    Ranks work at the same time: the slowest of one file and that of another may be two of them,
    and their sum longer than the run.
    """
    found = tuple(found)
    parts = (part for one in found for part in one.by_process.items())
    # Evidence that says nothing of its processes counts alone.
    alone = sum(one.seconds or 0.0 for one in found if not one.by_process)
    return max(added_up(parts).values(), default=0.0) + alone


def ranks_of(streams: Iterable[Stream]) -> tuple[int, ...]:
    """Their ranks, rising; none for processes that are no ranks."""
    return tuple(sorted({one.rank for one in streams if one.rank >= 0}))


def held_bytes(streams: Iterable[Stream]) -> int:
    """How large a file is, as far as these calls on it reach. Bytes moved twice count once."""
    reach, elsewhere = 0, 0
    for one in streams:
        reach = max(reach, one.end)
        elsewhere += 0 if one.placed else one.bytes
    return max(reach, elsewhere)


def evidence(streams: Sequence[Stream], text: str, file: str = "", dataset: str = "") -> Evidence:
    """All calls of these streams as evidence."""
    calls, size = sum(one.calls for one in streams), sum(one.bytes for one in streams)
    return counted(text, file, dataset, ranks_of(streams), calls, size, times_of(streams))


def counted(
    text: str,
    file: str,
    dataset: str,
    ranks: tuple[int, ...],
    calls: int,
    size: int,
    times: Mapping[int, float],
) -> Evidence:
    """Evidence of such calls and bytes; `times`: the seconds of each process."""
    seconds = max(times.values(), default=0.0)
    return Evidence(text, file, dataset, ranks, calls, size, seconds or None, times)


def at_most(seconds: float, facts: Facts, how: str) -> Estimate | None:
    """An upper bound; None without times. Threads that work at once take longer than the run."""
    if seconds <= 0:
        return None
    elapsed = facts.elapsed_seconds
    if elapsed <= 0:
        return Estimate(seconds, None, how)
    return Estimate(min(seconds, elapsed), min(1.0, seconds / elapsed), how)
