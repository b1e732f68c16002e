"""Bytes of each process, file and direction in equal bins of the run's time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from iotune.errors import Error
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import CallBatch, CallReader

BINS = 64
MOST_BINS = 4096
READ, WRITE = "read", "write"
_COLUMNS = (
    *("process", "level", "layer", "call", "file"),
    *("start_ns", "duration_ns", "length_bytes", "time_kind"),
)


@dataclass
class ByTime:
    """Where a run's bytes lie in time.

    Bin b holds what moved from b to b + 1 times `bin_ns` after the run's first call. `bytes` has
    the bins of each process, file ("" where it is not known) and direction that moved any.
    """

    bin_ns: int
    bytes: dict[tuple[int, str, str], np.ndarray]
    calls: int = 0  # that moved them
    # Of all bytes, by how far their times are known (docs/reading.md, `time_kind`).
    by_time_kind: dict[str, int] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)

    def rows(self) -> Iterator[tuple[int, str, str, int, int]]:
        """Process, file, direction, bin and bytes of each bin that is not empty, in that order."""
        for process, file, operation in sorted(self.bytes):
            bins = self.bytes[process, file, operation]
            for at in np.flatnonzero(bins):
                yield process, file, operation, int(at), int(bins[at])


def bytes_by_time(
    path: Path,
    elapsed_seconds: float,
    wanted: CallFilter | None = None,
    bins: int = BINS,
    limit: int | None = None,
) -> ByTime:
    """Sort a trace's bytes into `bins` bins of its time, as the program asked for them.

    Only the calls that are wanted count; where these name no layer, only outermost calls, so that
    no byte counts twice. A call that lasts over several bins is spread over them evenly. The sum of
    all bins is the sum of the calls' lengths, to the byte.
    """
    if not 1 <= bins <= MOST_BINS:
        raise Error(f"{bins}: of bins there are 1 to {MOST_BINS}")
    chosen = wanted or CallFilter()
    # The last call ends with the run, and belongs to its last bin.
    bin_ns = max(1, -(-round(elapsed_seconds * 1e9) // bins))
    found = ByTime(bin_ns, {})
    reader = CallReader(path, chosen, _COLUMNS, limit)
    for batch in reader:
        _add(batch, not chosen.layers, bins, found)
    found.losses.extend(reader.losses)
    return found


def _add(batch: CallBatch, outermost: bool, bins: int, found: ByTime) -> None:
    column = {
        name: np.frombuffer(batch.numbers(name), np.int32).astype(np.int64)
        for name in ("process", "level", "layer", "call", "file", "time_kind")
    }
    time = {
        name: np.frombuffer(batch.numbers(name), np.int64)
        for name in ("start_ns", "duration_ns", "length_bytes")
    }
    writes = np.array([_direction(name) for name in batch.names("call")] + [-1])[column["call"]]
    chosen = (writes >= 0) & (time["length_bytes"] > 0)
    if outermost:
        chosen &= column["level"] == 0
    if not chosen.any():
        return
    found.calls += int(chosen.sum())
    column = {name: values[chosen] for name, values in column.items()}
    time = {name: values[chosen] for name, values in time.items()}
    for kind, name in enumerate(batch.names("time_kind")):
        moved = int(time["length_bytes"][column["time_kind"] == kind].sum())
        if moved:
            found.by_time_kind[name] = found.by_time_kind.get(name, 0) + moved
    files = batch.names("file")
    keys = np.stack([column["process"], column["file"], writes[chosen]], axis=1)
    groups, of_group = np.unique(keys, axis=0, return_inverse=True)
    cells = np.zeros((len(groups), bins), np.int64)
    spread(cells, of_group.reshape(-1), found.bin_ns, **time)
    for (process, file, write), row in zip(groups.tolist(), cells):
        key = (process, files[file] if file >= 0 else "", WRITE if write else READ)
        found.bytes[key] = found.bytes.get(key, 0) + row


def _direction(call: str) -> int:
    meaning = meaning_of(call)
    return -1 if not meaning.transfer else int(meaning.writes)


def spread(
    cells: np.ndarray,
    row: np.ndarray,
    bin_ns: int,
    start_ns: np.ndarray,
    duration_ns: np.ndarray,
    length_bytes: np.ndarray,
) -> None:
    """Add transfers to `cells` [row, bin] in whole bytes; those behind the last bin count there."""
    last_bin = cells.shape[1] - 1
    first = np.clip(start_ns // bin_ns, 0, last_bin)
    last = np.clip((start_ns + duration_ns) // bin_ns, first, last_bin)
    within = first == last
    np.add.at(cells, (row[within], first[within]), length_bytes[within])
    # Calls of one thread come one after the other: few of them can cross a bin's end.
    for at in np.flatnonzero(~within):
        begin, end = int(start_ns[at]), int(start_ns[at] + duration_ns[at])
        edges = np.arange(first[at], last[at] + 2) * bin_ns
        edges[0], edges[-1] = begin, end
        until = (edges - begin) / (end - begin) * float(length_bytes[at])
        moved = np.diff(np.round(until).astype(np.int64))
        moved[-1] += length_bytes[at] - moved.sum()
        cells[row[at], first[at] : last[at] + 1] += moved
