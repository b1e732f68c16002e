"""Bytes of each rank in equal bins of the run's time: what the heat map is drawn from.

They come from the calls' times. Of the calls of a pattern the recorder keeps in which bin of their
process's time they ended, a 64th to a 32nd of it; traces of large runs and of earlier builds have
none of that, and times are interpolated between the pattern's first start and last end. Where every
call was timed (IOTUNE_TIMING) they are the calls' own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

BINS = 64
VIEWS = ("asked", "reached")  # by outermost calls; by POSIX and stdio
READ, WRITE = 0, 1


@dataclass
class TimeBins:
    """Bytes by view, direction, row and bin; bin b lasts from b to b + 1 times `bin_seconds`."""

    rows: int
    elapsed_seconds: float
    bytes: np.ndarray = field(init=False)  # float64 [view, direction, row, bin]
    interpolated_bytes: float = 0.0  # of all, those whose times are the pattern's
    binned_bytes: float = 0.0  # of all, those of which the recorder's bin is known
    all_bytes: float = 0.0

    def __post_init__(self) -> None:
        self.bytes = np.zeros((len(VIEWS), 2, self.rows, BINS))

    @property
    def bin_seconds(self) -> float:
        """How long a bin lasts."""
        return max(self.elapsed_seconds, 1e-9) / BINS

    @property
    def approximate_share(self) -> float:
        """The share of the bytes whose place in time is interpolated."""
        return self.interpolated_bytes / self.all_bytes if self.all_bytes else 0.0

    @property
    def binned_share(self) -> float:
        """The share of the bytes whose place in time is known to a bin of the recorder."""
        return self.binned_bytes / self.all_bytes if self.all_bytes else 0.0

    def add(
        self,
        view: int,
        direction: np.ndarray,
        row: np.ndarray,
        start_seconds: np.ndarray,
        seconds: np.ndarray,
        moved_bytes: np.ndarray,
    ) -> None:
        """Add transfers. One that lasts over several bins is spread over them evenly."""
        width = self.bin_seconds
        first = np.clip((start_seconds / width).astype(np.int64), 0, BINS - 1)
        last = np.clip(((start_seconds + seconds) / width).astype(np.int64), first, BINS - 1)
        cells = (direction * self.rows + row) * BINS
        flat = self.bytes[view].reshape(-1)
        within = first == last
        flat += np.bincount(
            (cells + first)[within], weights=moved_bytes[within], minlength=flat.size
        )
        # Calls of one thread come one after the other: few of them can cross a bin's end.
        for at in np.flatnonzero(~within):
            edges = np.arange(first[at], last[at] + 2) * width
            edges[0], edges[-1] = start_seconds[at], start_seconds[at] + seconds[at]
            parts = np.maximum(np.diff(edges), 0)
            span = slice(cells[at] + first[at], cells[at] + last[at] + 1)
            flat[span] += moved_bytes[at] * parts / max(float(parts.sum()), 1e-12)
