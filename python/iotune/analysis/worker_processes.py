"""Workers: processes without a rank of their own that another process of the run has started.

They run the program of their parent, as those of PyTorch's DataLoader and of Python's
multiprocessing do, forked or spawned: what a shell starts are programs of their own. Hundreds
of them may be the same few, started anew for each epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iotune.analysis.epochs import Reads


@dataclass(frozen=True)
class WorkerGroup:
    """The workers of one process that read."""

    parent: int  # its process id
    host: str
    processes: tuple[int, ...]  # as `process` of a call means them
    at_once: int  # the most that were reading in the same stretch of time
    bytes: int  # that they read

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.processes)


def worker_groups(processes: Sequence[Mapping[str, Any]], reads: Reads) -> list[WorkerGroup]:
    """The groups, the largest first; `processes` as core.processes tells them."""
    by_pid = {_place(one, "pid"): at for at, one in enumerate(processes)}
    children: dict[int, list[int]] = {}
    for at, one in enumerate(processes):
        parent = by_pid.get(_place(one, "parent"))
        if parent is None or parent == at or int(one.get("rank", -1)) >= 0:
            continue
        # What a shell starts is another program, and no worker of it.
        if one.get("program") == processes[parent].get("program"):
            children.setdefault(parent, []).append(at)
    moved = np.bincount(reads.process, weights=reads.bytes, minlength=len(processes))
    spans = _spans(reads)
    groups = []
    for parent, own in children.items():
        reading = tuple(at for at in own if moved[at] > 0)
        if not reading:
            continue
        groups.append(
            WorkerGroup(
                int(processes[parent].get("pid", 0)),
                str(processes[parent].get("host", "")),
                reading,
                _most_at_once([spans[at] for at in reading]),
                int(moved[list(reading)].sum()),
            )
        )
    return sorted(groups, key=lambda one: (-one.count, one.parent))


def _place(process: Mapping[str, Any], key: str) -> tuple[str, int]:
    return str(process.get("host", "")), int(process.get(key, -1) or -1)


def _spans(reads: Reads) -> dict[int, tuple[int, int]]:
    """From when to when each process read."""
    spans: dict[int, tuple[int, int]] = {}
    for process in np.unique(reads.process):
        mine = np.flatnonzero(reads.process == process)
        end = reads.start_ns[mine] + reads.duration_ns[mine]
        spans[int(process)] = int(reads.start_ns[mine[0]]), int(end.max())
    return spans


def _most_at_once(spans: Sequence[tuple[int, int]]) -> int:
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
