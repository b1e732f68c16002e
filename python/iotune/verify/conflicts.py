"""Conflicts: accesses of two processes to the same bytes of a file, of which one writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iotune import core

WRITE_WRITE, WRITE_READ, TRUNCATION = KINDS = ("write-write", "write-read", "truncation")


@dataclass(frozen=True)
class Place:
    """One access of an example."""

    trace: int  # index into the traces that were asked for
    process: int  # index into the processes of all traces
    rank: int  # -1: no rank of MPI_COMM_WORLD
    calls: str  # H5Dwrite of /a → MPI_File_write_at → pwrite
    write: bool
    offset: int
    length: int  # bytes; of a truncation beyond any file's end
    truncates: bool  # it ends the file at `offset`, and is no transfer
    metadata: bool  # HDF5's own: within a call of HDF5 that moves no dataset
    collective: bool  # within a transfer of MPI-IO that all ranks make together
    segment: int  # ordering events of the process that ended before it
    elements: str = ""  # of a dataset, which the transfer of HDF5 around it selected

    @property
    def who(self) -> str:
        """The process as people name it."""
        return f"rank {self.rank}" if self.rank >= 0 else f"process {self.process}"

    @property
    def deed(self) -> str:
        """What it does, in words."""
        if self.truncates:
            return f"truncates it to {self.offset:,} bytes"
        verb = "writes" if self.write else "reads"
        selected = f" ({self.elements})" if self.elements else ""
        return f"{verb} {self.length:,} bytes at {self.offset:,}{selected}"


def who_both(example: tuple[Place, Place]) -> tuple[str, str]:
    """Both processes as people name them; a rank and its child have one rank."""
    one, other = example
    if one.who != other.who:
        return one.who, other.who
    return f"{one.who} (process {one.process})", f"{other.who} (process {other.process})"


@dataclass(frozen=True)
class SiteConflicts:
    """The conflicts of two kinds of calls, of all processes."""

    kind: str  # of KINDS
    pairs: int
    process_pairs: int  # pairs of processes that have some
    first: str  # the calls, from the outermost to the one that moved the bytes
    second: str
    example: tuple[Place, Place]

    @property
    def is_metadata(self) -> bool:
        """Whether both are HDF5's own: within calls of HDF5 that move no dataset."""
        return all(one.metadata for one in self.example)

    @property
    def bytes_of_example(self) -> tuple[int, int]:
        """Where the bytes that both touch begin, and where they end."""
        one, other = self.example
        end = min(one.offset + one.length, other.offset + other.length)
        return max(one.offset, other.offset), end


@dataclass(frozen=True)
class FileConflicts:
    """A file that two processes at least touched."""

    path: str
    names: tuple[str, ...]  # under which it was opened too
    processes: int
    ranks: tuple[int, ...]  # that are in a conflict, rising; -1: a process that is no rank
    pairs: int  # two calls that conflict count once
    sites: tuple[SiteConflicts, ...]  # the most pairs first
    without_place: int  # accesses of which it is not known where

    def pairs_of(self, kind: str) -> int:
        """The pairs of that kind."""
        return sum(one.pairs for one in self.sites if one.kind == kind)

    @property
    def metadata_pairs(self) -> int:
        """The pairs that HDF5 makes for itself alone."""
        return sum(one.pairs for one in self.sites if one.is_metadata)


@dataclass(frozen=True)
class Conflicts:
    """Of one trace, or of several jobs on the same files."""

    processes: int
    files: tuple[FileConflicts, ...]
    unreadable_batches: int

    @property
    def has_pairs(self) -> bool:
        """Whether any two accesses conflict."""
        return any(one.pairs for one in self.files)

    def as_json(self) -> dict[str, Any]:
        """Plain values for `--json`."""
        return asdict(self)


def conflicts_of(traces: Sequence[Path]) -> Conflicts:
    """Reads each process of the traces once; nothing is said of any order. Raises Error."""
    return conflicts_from(core.conflicts([Path(one) for one in traces]), outputs_of(traces))


def conflicts_from(found: dict[str, Any], left_out: frozenset[str]) -> Conflicts:
    """The rows of iotune._core with types, without these files."""
    files = tuple(_file(one) for one in found["files"] if one["path"] not in left_out)
    return Conflicts(found["processes"], files, found["unreadable_batches"])


def outputs_of(traces: Sequence[Path]) -> frozenset[str]:
    """Files that were stdout when a process began: no data, though all processes write them."""
    processes = [one for path in traces for one in core.processes(Path(path))]
    return frozenset(one["stdout"] for one in processes if one.get("stdout"))


def _file(row: dict[str, Any]) -> FileConflicts:
    sites = tuple(_site(one) for one in row["sites"])
    known = {**row, "names": tuple(row["names"]), "ranks": tuple(row["ranks"]), "sites": sites}
    return FileConflicts(**known)


def _site(row: dict[str, Any]) -> SiteConflicts:
    first, second = (Place(**one) for one in row["example"])
    return SiteConflicts(**{**row, "example": (first, second)})
