"""What runs of a whole site did: the traces of one folder, by workload."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from iotune.errors import Error
from iotune.locations import TRACE_SUFFIX
from iotune.reports.evidence import effective_settings
from iotune.traces.trace import open_trace


@dataclass(frozen=True)
class SiteRun:
    """One run, without anything that names who or where."""

    user: int  # a number in place of the trace's owner
    start_unix_seconds: float
    elapsed_seconds: float
    io_seconds: float  # of the slowest process
    bytes_written: int
    bytes_read: int
    tuned: bool  # some setting was in effect

    @property
    def bytes(self) -> int:
        """Moved in both directions."""
        return self.bytes_written + self.bytes_read


@dataclass
class SiteWorkload:
    """The runs of one program on one number of ranks and nodes, the oldest first."""

    program: str
    ranks: int
    nodes: int
    runs: list[SiteRun] = field(default_factory=list)

    @property
    def io_seconds(self) -> float:
        """Of all runs."""
        return sum(one.io_seconds for one in self.runs)

    @property
    def median_seconds(self) -> float:
        """In I/O, of a run."""
        return median(one.io_seconds for one in self.runs)


@dataclass
class Site:
    """Workloads by the time that they spent in I/O, and what could not be read."""

    workloads: list[SiteWorkload]
    users: int
    left_out: list[str]

    @property
    def runs(self) -> list[SiteRun]:
        """Of all workloads."""
        return [run for one in self.workloads for run in one.runs]


def site_of(folder: Path, tell: Callable[[int, int], None] | None = None) -> Site:
    """Read the traces in a folder and those below it. Raises Error where there is none.

    Users are numbered by the time that their runs spent in I/O: whose a number is, is not kept.
    `tell` is called with how many of how many traces were read.
    """
    if not folder.is_dir():
        raise Error(f"{folder}: no such directory")
    paths = sorted(
        Path(place) / name
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith(TRACE_SUFFIX)
    )
    if not paths:
        raise Error(f"{folder}: there is no trace in it (*{TRACE_SUFFIX})")
    found: dict[tuple[str, int, int], SiteWorkload] = {}
    owners: dict[int, list[tuple[SiteWorkload, SiteRun]]] = {}
    unread: Counter[str] = Counter()
    for done, path in enumerate(paths):
        if tell is not None:
            tell(done, len(paths))
        try:
            run = open_trace(path).summary
            owner = path.stat().st_uid
        except (Error, OSError) as problem:
            unread[_without(str(problem), path)] += 1
            continue
        program = run.identity or run.program_name or "unknown"
        key = (program, run.ranks, run.nodes)
        workload = found.setdefault(key, SiteWorkload(*key))
        one = SiteRun(
            owner,
            run.start_unix_seconds,
            run.elapsed_seconds,
            run.io_seconds,
            sum(file.bytes_written for file in run.data_files),
            sum(file.bytes_read for file in run.data_files),
            any(effective_settings(file) for file in run.data_files),
        )
        owners.setdefault(owner, []).append((workload, one))
    numbered = sorted(owners, key=lambda uid: -sum(run.io_seconds for _, run in owners[uid]))
    for number, uid in enumerate(numbered, 1):
        for workload, one in owners[uid]:
            workload.runs.append(SiteRun(**{**vars(one), "user": number}))
    for workload in found.values():
        workload.runs.sort(key=lambda one: one.start_unix_seconds)
    return Site(
        sorted(found.values(), key=lambda one: (-one.io_seconds, one.program, one.ranks)),
        len(owners),
        [f"{count} of {len(paths)} traces: {why}" for why, count in unread.most_common()],
    )


def _without(text: str, path: Path) -> str:
    """What was said of a trace, without its path, which may hold names."""
    return text.replace(str(path), "").strip(" :") or "cannot be read"
