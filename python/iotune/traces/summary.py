"""What a run did, in patterns: analyzer/summary/run_summary.h as Python values.

Fields that an older or newer native part does not give keep their defaults; unknown ones are
left out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class DatasetPattern:
    """All transfers of one direction on one dataset by all ranks."""

    dataset: str = ""
    write: bool = True
    descriptor: str = ""  # canonical: <3D,(BLOCK,*,CYCLIC(4)),(60,100,300)>
    element_bytes: int = 0
    dataset_dims: list[int] = field(default_factory=list)
    process_grid: list[int] = field(default_factory=list)  # empty when irregular
    halo: list[int] = field(default_factory=list)  # elements that neighbours share; empty: none
    chunk: list[int] = field(default_factory=list)  # empty: not chunked
    filters: int = 0
    ranks: int = 0  # that moved data
    mode: str = "unknown"
    calls: int = 0
    # Of its collective calls what HDF5 made, as far as it reported, and the causes against more.
    actual_io: dict[str, int] = field(default_factory=dict)
    not_collective: dict[str, int] = field(default_factory=dict)
    repeats: int = 1
    bytes: int = 0
    seconds: float = 0.0  # the slowest rank's sum
    inferred: bool = False  # from bytes alone: docs/descriptors.md, "Without HDF5"
    layer: str = "hdf5"  # "mpiio" or "posix" of what is inferred
    ambiguity: str = ""  # what else the same bytes may be
    filled_bytes: int = 0  # of `bytes`, those that one rank had moved as a whole before

    @property
    def bandwidth(self) -> float:
        """Bytes per second, 0 where the time is not known."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass
class SettingOutcome:
    """A setting as the tuner noted it down."""

    parameter: str = ""
    wanted: str = ""
    got: str = ""
    reason: str = ""
    verdict: str = ""  # core/words/decision_words.inc

    @property
    def has_effect(self) -> bool:
        """Whether it took effect, or may have: where nothing can be read back."""
        return self.verdict in ("applied", "unverifiable")


@dataclass
class PrefetchOutcome:
    """What prefetching did for a file: over all streams of all ranks."""

    predictor: str = ""
    streams: int = 0
    reads: int = 0
    hits: int = 0  # reads of what had been requested before
    late: int = 0  # hits that waited all the same
    served: int = 0  # reads that no call was made for: out of iotune's own memory
    requests: int = 0
    requested_bytes: int = 0
    unused_bytes: int = 0
    wait_seconds: float = 0.0  # inside of reads
    saved_seconds: float = 0.0  # an estimate
    depth: int = 0  # the greatest


@dataclass
class GatherOutcome:
    """What gathering did for a file: over all ranks."""

    ranks: int = 0  # that gathered it
    held_calls: int = 0
    held_bytes: int = 0
    reads_served: int = 0  # reads out of what is held
    flushes: int = 0  # collective calls that let something out
    exchange_calls: int = 0  # collective writes of these
    exchange_bytes: int = 0
    piece_writes: int = 0  # in a flush, by each rank piece by piece
    piece_bytes: int = 0
    alone_writes: int = 0  # outside of a flush
    alone_bytes: int = 0
    waiting_bytes: int = 0  # held still when the trace was written
    # Why something was not held, with the number of calls; 0: nothing of the file is.
    not_held: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class AlikeFiles:
    """What files that are one entry have together (analyzer/summary/alike_files.h)."""

    name: str = ""  # one path for all
    mixed: bool = False  # their patterns differ
    files: int = 1
    bytes_written: int = 0  # of all
    bytes_read: int = 0
    least_bytes: int = 0  # moved of one
    most_bytes: int = 0
    least_seconds: float = 0.0  # of I/O, of one
    most_seconds: float = 0.0


@dataclass(slots=True)
class FilePattern:
    """One file of the run."""

    path: str = ""
    masked_name: str = ""
    bytes_written: int = 0
    bytes_read: int = 0
    io_seconds: float = 0.0  # slowest rank, open and close included
    elapsed_seconds: float = 0.0
    opened_at_seconds: float = 0.0
    datasets: list[DatasetPattern] = field(default_factory=list)
    # The JSON keys are of earlier versions: index and number of dominant datasets.
    speaker: int | None = None
    speaker_count: int = 0
    sampled_out: bool = False  # of a long series: calls were not recorded (IOTUNE_RECORD)
    is_stdout: bool = False  # a process had it as its stdout when it began: no data file
    decision_source: str = ""
    decision_pattern: str = ""
    decision_message: str = ""
    decision_row: int = -1
    decision_distance: float = 0.0
    decision_state: str = ""
    settings: list[SettingOutcome] = field(default_factory=list)
    prefetch: PrefetchOutcome | None = None  # None: nothing was prefetched
    totals: dict[str, Any] | None = None  # of an imported log: docs/import.md, "Totals"
    gather: GatherOutcome | None = None  # None: gathering was not asked for
    alike: AlikeFiles | None = None  # of a folded summary: more files than this one

    @property
    def together(self) -> AlikeFiles:
        """What all files of this entry have, where it is several."""
        return self.alike or AlikeFiles(
            self.path, False, 1, self.bytes_written, self.bytes_read,
            *(self.bytes, self.bytes, self.io_seconds, self.io_seconds),
        )  # fmt: skip

    @property
    def dominant(self) -> DatasetPattern | None:
        """The file's dominant dataset, None without transfers."""
        if self.speaker is None or not 0 <= self.speaker < len(self.datasets):
            return None
        return self.datasets[self.speaker]

    @property
    def declared(self) -> bool:
        """Whether HDF5 moved data of it: whether any dataset is more than inferred."""
        return any(not one.inferred for one in self.datasets)

    def is_dominant(self, dataset: DatasetPattern) -> bool:
        """Whether `dataset` is one of the largest, of the dominant one's pattern."""
        dominant = self.dominant
        return dominant is not None and (
            (dataset.write, dataset.bytes, dataset.descriptor)
            == (dominant.write, dominant.bytes, dominant.descriptor)
        )

    @property
    def bytes(self) -> int:
        """Moved in both directions."""
        return self.bytes_written + self.bytes_read

    @property
    def stdio_beside(self) -> bool:
        """Whether a log counted bytes of stdio beside the file's."""
        return self.totals is not None and bool(self.totals.get("stdio_beside"))


@dataclass
class RegionPattern:
    """A region of the program in its place among the others: all entries of all threads.

    Times are of entries that were ended, and sums over all threads of all processes unless their
    name says `slowest`: then they are of the process in which they are largest.
    """

    path: list[str] = field(default_factory=list)  # names, the outermost first; the last is its own
    entered: int = 0
    open: int = 0  # entries that were not ended
    processes: int = 0  # that entered it
    seconds: float = 0.0
    slowest_seconds: float = 0.0
    io_seconds: float = 0.0  # of these in calls on files
    slowest_io_seconds: float = 0.0
    least_seconds: float = 0.0  # of one entry
    largest_seconds: float = 0.0
    calls: int = 0  # outermost ones
    bytes_written: int = 0
    bytes_read: int = 0
    first_begin_seconds: float = 0.0  # after the run's first call
    last_end_seconds: float = 0.0

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path[-1] if self.path else ""


@dataclass
class RunSummary:
    """A whole run."""

    run_id: str = ""
    program: str = ""
    program_name: str = ""
    identity: str = ""  # the program as workloads have it: a script of an interpreter by its name
    mpi: str = ""
    hdf5: str = ""
    argv: list[str] = field(default_factory=list)
    ranks: int = 1
    processes: int = 0
    nodes: int = 1
    start_unix_seconds: float = 0.0
    elapsed_seconds: float = 0.0
    io_seconds: float = 0.0  # in outermost calls on files, of the slowest process
    calls: int = 0
    dropped: int = 0
    files: list[FilePattern] = field(default_factory=list)
    # Each before those inside it.
    regions: list[RegionPattern] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # of how it ended, where nothing is missing
    log: dict[str, Any] | None = None  # what it was imported from; None: a run of iotune's own

    @property
    def data_files(self) -> list[FilePattern]:
        """Its files but those that stdout went to."""
        return [one for one in self.files if not one.is_stdout]

    @property
    def has_calls(self) -> bool:
        """False for a log of totals alone: patterns and places are not known."""
        return self.log is None or bool(self.log["has_calls"])

    @property
    def log_name(self) -> str:
        """The format of the log that it was imported from, with its version."""
        log = self.log or {}
        return " ".join(str(log[key]) for key in ("format", "format_version") if log.get(key))

    @property
    def members(self) -> tuple[int, str]:
        """What shared the work: ranks and "rank", or without MPI processes and "process"."""
        if not self.mpi and self.ranks < 2 and self.processes > 1:
            return self.processes, "process"
        return self.ranks, "rank"


_NAMES: dict[type[Any], frozenset[str]] = {
    kind: frozenset(one.name for one in fields(kind))
    for kind in (
        *(DatasetPattern, SettingOutcome, PrefetchOutcome, GatherOutcome, AlikeFiles),
        *(FilePattern, RegionPattern, RunSummary),
    )
}


def _build(kind: type[T], source: Mapping[str, Any]) -> T:
    known = _NAMES[kind]
    return kind(**{name: value for name, value in source.items() if name in known})


def _dataset(source: Mapping[str, Any]) -> DatasetPattern:
    result = _build(DatasetPattern, source)
    descriptor: Any = result.descriptor
    if isinstance(descriptor, Mapping):
        descriptor = str(descriptor.get("text", ""))
    # Of thousands of files that are alike each text is there once.
    result.descriptor, result.ambiguity = sys.intern(descriptor), sys.intern(result.ambiguity)
    return result


def file_pattern(source: Mapping[str, Any]) -> FilePattern:
    """The values of a FilePattern in JSON."""
    file = _build(FilePattern, source)
    file.datasets = [_dataset(one) for one in source.get("datasets", [])]
    file.settings = [_build(SettingOutcome, one) for one in source.get("settings", [])]
    prefetch = source.get("prefetch")
    file.prefetch = _build(PrefetchOutcome, prefetch) if prefetch else None
    gather = source.get("gather")
    file.gather = _build(GatherOutcome, gather) if gather else None
    alike = source.get("alike")
    file.alike = _build(AlikeFiles, alike) if alike else None
    return file


def run_summary(source: Mapping[str, Any]) -> RunSummary:
    """The values of a RunSummary in JSON."""
    result = _build(RunSummary, source)
    result.regions = [_build(RegionPattern, one) for one in source.get("regions", [])]
    result.files = [file_pattern(one) for one in source.get("files", [])]
    return result
