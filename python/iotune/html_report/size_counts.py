"""Histograms of what transfers were: sizes, alignment of offsets, stripes touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LAYERS = ("hdf5", "mpiio", "stdio", "posix")
POWERS = 64  # sizes by their power of two
ALIGNED = 31  # offsets by the largest power of two, up to 2^30, that divides them
STRIPES = 9  # 1 to 8 stripes, and more


class SizeCounts:
    """Transfers counted by layer, direction and size; those of POSIX and stdio by alignment."""

    def __init__(self) -> None:
        self.sizes = np.zeros((len(LAYERS), 2, POWERS), np.int64)
        self.bytes = np.zeros((len(LAYERS), 2))
        self.aligned = np.zeros((2, ALIGNED), np.int64)

    def add(self, layer: np.ndarray, direction: np.ndarray, length: np.ndarray) -> None:
        """Count transfers of at least one byte; `layer` is an index into LAYERS."""
        power = powers_of(length)
        cells = (layer * 2 + direction) * POWERS + power
        self.sizes += np.bincount(cells, minlength=self.sizes.size).reshape(self.sizes.shape)
        lines = layer * 2 + direction
        moved = np.bincount(lines, weights=length, minlength=self.bytes.size)
        self.bytes += moved.reshape(self.bytes.shape)

    def add_offsets(self, direction: np.ndarray, offset: np.ndarray) -> None:
        """Count places in files."""
        lowest = np.where(offset == 0, 1 << (ALIGNED - 1), offset & -offset)
        power = np.minimum(powers_of(lowest), ALIGNED - 1)
        counted = np.bincount(direction * ALIGNED + power, minlength=self.aligned.size)
        self.aligned += counted.reshape(self.aligned.shape)

    def multiples_of(self, power: int) -> tuple[int, int]:
        """How many of the reads, and of the writes, began at a multiple of 2^power bytes."""
        read, write = self.aligned[:, power:].sum(axis=1)
        return int(read), int(write)


class StripeCounts:
    """How many stripes each access of a file touched, and the bytes of each storage target."""

    def __init__(self, stripe_bytes: int, targets: int):
        self.stripe_bytes = stripe_bytes
        self.touched = np.zeros(STRIPES, np.int64)
        self.target_bytes = np.zeros(max(targets, 0))

    def add(self, offset: np.ndarray, length: np.ndarray) -> None:
        """Count accesses of at least one byte."""
        first, last = offset // self.stripe_bytes, (offset + length - 1) // self.stripe_bytes
        touched = np.minimum(last - first, STRIPES - 1)
        self.touched += np.bincount(touched, minlength=STRIPES)
        targets = self.target_bytes.size
        if targets == 0:
            return
        # Whole rounds fall evenly on all targets; the rest is counted stripe by stripe.
        rounds = (last - first) // targets
        self.target_bytes += float(rounds.sum()) * self.stripe_bytes
        begin = first + rounds * targets
        for ahead in range(int((last - begin).max()) + 1 if begin.size else 0):
            stripe = begin + ahead
            low = np.where(stripe == first, offset, stripe * self.stripe_bytes)
            high = np.minimum(offset + length, (stripe + 1) * self.stripe_bytes)
            inside = (stripe <= last) & (high > low)
            counted = np.bincount(
                (stripe % targets)[inside], weights=(high - low)[inside], minlength=targets
            )
            self.target_bytes += counted


def powers_of(values: np.ndarray) -> np.ndarray:
    """The largest power of two that is no more than each value, which is 1 or more."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    # Beyond 2^53 a value may be rounded up to the next power: a class too high at most.
    return np.clip(exponent.astype(np.int64) - 1, 0, POWERS - 1)


def grouped_sizes(counts: Sequence[int], most: int = 12) -> list[tuple[int, int, int]]:
    """A line of SizeCounts.sizes as (from, below, transfers), empty ends left out.

    Powers of two, or of four or more where there would be more than `most` groups.
    """
    used = [power for power, count in enumerate(counts) if count]
    if not used:
        return []
    step = 1
    while (used[-1] // step) - (used[0] // step) + 1 > most:
        step += 1
    groups = []
    for group in range(used[0] // step, used[-1] // step + 1):
        low, high = group * step, (group + 1) * step
        groups.append((1 << low, 1 << high, int(sum(counts[low:high]))))
    return groups
