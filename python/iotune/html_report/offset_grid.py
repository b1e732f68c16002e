"""Where in a file bytes were moved: counted in cells, so that a map is as large for any run."""

from __future__ import annotations

import numpy as np

OFFSETS = 256  # bins over the file; they double in width as the file is seen to be longer
TIMES = 128


class OffsetGrid:
    """Bytes of one file by direction in cells of offset and time, and of offset and row."""

    def __init__(self, rows: int, elapsed_seconds: float):
        self.elapsed_seconds = max(elapsed_seconds, 1e-9)
        self.bin_bytes = 1
        self.end = 0  # behind the last byte that was moved
        self.by_time = np.zeros((2, TIMES, OFFSETS))
        self.by_row = np.zeros((2, rows, OFFSETS))

    def add(
        self,
        direction: np.ndarray,
        row: np.ndarray,
        start_seconds: np.ndarray,
        offset: np.ndarray,
        length: np.ndarray,
    ) -> None:
        """Add accesses of at least one byte; an access counts at the time of its start."""
        self.end = max(self.end, int((offset + length).max()))
        while self.bin_bytes * OFFSETS < self.end:
            self.by_time, self.by_row = _doubled(self.by_time), _doubled(self.by_row)
            self.bin_bytes *= 2
        bins = (start_seconds / self.elapsed_seconds * TIMES).astype(np.int64)
        times = np.clip(bins, 0, TIMES - 1)
        for counted, group in ((self.by_time, times), (self.by_row, row)):
            lines = direction * counted.shape[1] + group
            counted += _spread(lines, offset, length, self.bin_bytes, counted.shape)

    @property
    def used(self) -> int:
        """How many of the offset bins the file reaches into."""
        return max(1, -(-self.end // self.bin_bytes))


def _doubled(counted: np.ndarray) -> np.ndarray:
    folded = counted.reshape(*counted.shape[:-1], OFFSETS // 2, 2).sum(axis=-1)
    return np.concatenate([folded, np.zeros_like(folded)], axis=-1)


def _spread(
    lines: np.ndarray, offset: np.ndarray, length: np.ndarray, width: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Bytes of accesses in their cells, in time that does not grow with the cells of an access."""
    end = offset + length
    first, last = offset // width, (end - 1) // width
    size = int(np.prod(shape))
    begin = lines * OFFSETS
    within = first == last
    head = np.where(within, length, (first + 1) * width - offset)
    cells = np.bincount(begin + first, weights=head, minlength=size).astype(np.float64)
    if not within.all():
        far = ~within
        tail = (end - last * width)[far]
        cells += np.bincount((begin + last)[far], weights=tail, minlength=size)
        # What lies between counts up where it begins and down where it ends. A line's last cell
        # never begins anything, so that no sum runs on into the next line.
        steps = np.bincount((begin + first)[far] + 1, minlength=size).astype(np.float64)
        steps -= np.bincount((begin + last)[far], minlength=size)
        cells += np.cumsum(steps.reshape(-1, OFFSETS), axis=1).reshape(-1) * width
    return cells.reshape(shape)
