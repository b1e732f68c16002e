"""Epochs: repeated passes over the same data, found by the reads alone.

A training program reads a data set once an epoch, in the same order or in another one, by one
process or by workers. Each extent (of HDF5 each selection) is then read equally often in every
epoch: its first m reads belong to the first one, its next m to the second. m is not known; it is
the value by which the reads so labelled lie apart in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from iotune.traces.call_meaning import meaning_of
from iotune.traces.calls import MISSING, CallReader

# More reads than these are not looked at: 40 bytes each are kept.
MOST_READS = 4_000_000
# Fewer different extents are a loop over a table or a header, and no data set.
_LEAST_EXTENTS = 8
# Of an epoch's bytes, so many may lie outside of its own time: metadata that each worker reads.
_STRAY = 0.02
# So many bytes of the extents have to come equally often in each epoch.
_ALIKE = 0.95
# So many of an epoch's successions (this extent, then that one, by one process) have to be those
# of the epoch before for the order to count as the same.
SAME_ORDER = 0.9
_MOST_EPOCHS = 10_000
_COLUMNS = (
    *("process", "level", "layer", "call", "file", "dataset", "offset_bytes", "length_bytes"),
    *("start_ns", "duration_ns", "selection"),
)


@dataclass(frozen=True)
class Epoch:
    """One pass over the data. Times are seconds after the run's first call."""

    number: int  # from 1
    start_seconds: float
    end_seconds: float
    reads: int
    bytes: int
    read_seconds: float  # inside of reads, of all processes together
    processes: int  # that read
    # Share of its successions that are those of the epoch before; None: the first one.
    same_order: float | None

    @property
    def seconds(self) -> float:
        """From its first read to the end of its last."""
        return self.end_seconds - self.start_seconds

    @property
    def repeats_order(self) -> bool | None:
        """Whether a plan of the epoch before predicts it; None: there is none before."""
        return None if self.same_order is None else self.same_order >= SAME_ORDER


@dataclass
class Reads:
    """The outermost reads of a run, in the order of their start."""

    extent: np.ndarray  # a number for each different extent or selection
    process: np.ndarray
    start_ns: np.ndarray
    duration_ns: np.ndarray
    bytes: np.ndarray

    def __len__(self) -> int:
        return len(self.extent)


def find_epochs(trace: Path) -> list[Epoch]:
    """The epochs of a run; none where the data is not read at least twice, or reads are too many.

    A pass that the run's end cut short is an epoch too where each extent is read once in one.
    Data that comes by mmap is not seen at all.
    """
    reads = outermost_reads(trace)
    return [] if reads is None else epochs_of(reads)


def outermost_reads(trace: Path) -> Reads | None:
    """What the program itself asked for; None where that is more than MOST_READS."""
    parts: list[tuple[np.ndarray, ...]] = []
    texts: dict[tuple[int, int, str], int] = {}
    count = 0
    for batch in CallReader(trace, columns=_COLUMNS):
        reading = np.array([_reads(name) for name in batch.names("call")] + [False])
        call, level = (np.asarray(batch.numbers(one)) for one in ("call", "level"))
        length, file = (np.asarray(batch.numbers(one)) for one in ("length_bytes", "file"))
        chosen = np.flatnonzero(reading[call] & (level == 0) & (length > 0) & (file >= 0))
        if not len(chosen):
            continue
        count += len(chosen)
        if count > MOST_READS:
            return None
        offset = np.asarray(batch.numbers("offset_bytes"))[chosen]
        file, length = file[chosen].astype(np.int64), length[chosen]
        extent = _mixed(file, offset, length)
        unplaced = np.flatnonzero(offset == MISSING)
        if len(unplaced):
            dataset = np.asarray(batch.numbers("dataset"))[chosen]
            selections = batch.text("selection").texts()
            for at in unplaced:
                key = (int(file[at]), int(dataset[at]), selections[int(chosen[at])])
                extent[at] = texts.setdefault(key, len(texts))
        parts.append(
            (
                extent,
                *(np.asarray(batch.numbers(one))[chosen] for one in ("process",)),
                *(np.asarray(batch.numbers(one))[chosen] for one in ("start_ns", "duration_ns")),
                length,
            )
        )
    if not parts:
        return None
    extent, process, start, duration, length = (np.concatenate(one) for one in zip(*parts))
    order = np.argsort(start, kind="stable")
    _, number = np.unique(extent, return_inverse=True)
    return Reads(number[order], process[order], start[order], duration[order], length[order])


def epochs_of(reads: Reads) -> list[Epoch]:
    """The epochs of reads that are in the order of their start."""
    label = _labels(reads)
    if label is None:
        return []
    found: list[Epoch] = []
    before: np.ndarray | None = None
    for number in range(int(label.max()) + 1):
        mine = np.flatnonzero(label == number)
        pairs = _successions(reads, mine)
        shared = (
            None if before is None else float(np.isin(pairs, before).mean()) if len(pairs) else 0.0
        )
        end = reads.start_ns[mine] + reads.duration_ns[mine]
        found.append(
            Epoch(
                number + 1,
                float(reads.start_ns[mine].min()) / 1e9,
                float(end.max()) / 1e9,
                len(mine),
                int(reads.bytes[mine].sum()),
                float(reads.duration_ns[mine].sum()) / 1e9,
                len(np.unique(reads.process[mine])),
                shared,
            )
        )
        before = pairs
    return found


def _labels(reads: Reads) -> np.ndarray | None:
    """The epoch of each read, from 0; None where there is but one."""
    times = np.bincount(reads.extent)
    weight = np.bincount(reads.extent, weights=reads.bytes)
    again = times[reads.extent] > 1
    # Extents that are read once alone (an index, a file of settings) belong to no epoch by
    # themselves, and may not be most of what is read.
    if np.count_nonzero(times > 1) < _LEAST_EXTENTS or weight[times > 1].sum() < 0.5 * weight.sum():
        return None
    nth = _nth_read(reads.extent)
    for epochs in _candidates(times, weight):
        if epochs == 0:  # each extent once an epoch, the last of which may be cut short
            label = nth
        else:
            label = nth * epochs // np.maximum(times[reads.extent], 1)
            odd = times % epochs != 0
            if weight[odd & (times > 1)].sum() > (1 - _ALIKE) * weight[times > 1].sum():
                continue
        if label.max() >= _MOST_EPOCHS:
            continue
        count = _epochs_apart(label[again], reads.start_ns[again], reads.bytes[again])
        if count > 0:
            return _by_time(np.minimum(label, count - 1), reads, again, count)
    return None


def _candidates(times: np.ndarray, weight: np.ndarray) -> Sequence[int]:
    """Numbers of epochs that are possible, the largest first; 0: once an epoch, however many."""
    order = np.argsort(times)
    middle = int(times[order[np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)]])
    divisors = [one for one in range(middle, 1, -1) if middle % one == 0]
    return [0, *divisors[:64]]


def _nth_read(extent: np.ndarray) -> np.ndarray:
    """Of each read, how many of the same extent came before it."""
    order = np.argsort(extent, kind="stable")
    ordered = extent[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    nth = np.empty(len(extent), np.int64)
    nth[order] = np.arange(len(extent)) - np.repeat(first, np.diff(np.r_[first, len(extent)]))
    return nth


def _epochs_apart(label: np.ndarray, start: np.ndarray, weight: np.ndarray) -> int:
    """How many labels there are whose reads come behind those of the one before, but for strays.

    0: they do not. Labels of hardly any bytes are strays themselves (metadata that every worker
    reads); the last one of the others may be an epoch that was cut short.
    """
    order = np.lexsort((start, label))
    label, start, weight = label[order], start[order], weight[order].astype(np.float64)
    first = np.flatnonzero(np.r_[True, label[1:] != label[:-1]])
    ends = np.r_[first[1:], len(label)]
    totals = np.add.reduceat(weight, first)
    count = int(np.count_nonzero(totals >= _STRAY * totals[0]))
    if count < 2 or totals[count:].sum() > _STRAY * totals.sum():
        return 0
    if totals[: count - 1].min() < (1 - 5 * _STRAY) * totals[: count - 1].max():
        return 0
    previous = None
    for at in range(count):
        piece = slice(int(first[at]), int(ends[at]))
        gone = np.cumsum(weight[piece]) / totals[at]
        early = start[piece][int(np.searchsorted(gone, _STRAY))]
        if previous is not None and early < previous:
            return 0
        previous = start[piece][min(int(np.searchsorted(gone, 1 - _STRAY)), len(gone) - 1)]
    return count


def _by_time(label: np.ndarray, reads: Reads, again: np.ndarray, count: int) -> np.ndarray:
    """Labels by where an epoch begins, so that strays and what is read but once have one, too."""
    begins = [0]
    for number in range(1, count):
        mine = np.flatnonzero(again & (label == number))
        gone = np.cumsum(reads.bytes[mine]) / reads.bytes[mine].sum()
        # Under way for certain; it began behind the last read of those before.
        first = int(mine[int(np.searchsorted(gone, _STRAY))])
        before = np.flatnonzero(again[:first] & (label[:first] < number))
        begins.append(int(before[-1]) + 1 if len(before) else first)
    bounds = np.searchsorted(np.array(begins), np.arange(len(label)), side="right") - 1
    return np.asarray(bounds)


def _successions(reads: Reads, mine: np.ndarray) -> np.ndarray:
    """Numbers of the pairs of extents that one process read one behind the other."""
    order = mine[np.argsort(reads.process[mine], kind="stable")]
    extent, process = reads.extent[order], reads.process[order]
    together = process[1:] == process[:-1]
    pairs = extent[:-1] * (int(reads.extent.max()) + 1) + extent[1:]
    return np.unique(pairs[together])


def _reads(call: str) -> bool:
    meaning = meaning_of(call)
    return meaning.transfer and not meaning.writes


def _mixed(*columns: np.ndarray) -> np.ndarray:
    """One number of several: those of two extents are equal by chance once in 2^62 pairs or so.

    Above 2^62, where no number of a selection is.
    """
    mixed = np.full(len(columns[0]), 0x9E3779B97F4A7C15, np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(31)
    kept: np.ndarray = (mixed >> np.uint64(2)).astype(np.int64) | np.int64(1 << 62)
    return kept
