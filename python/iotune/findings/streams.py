"""What the calls of a run were, added up in one pass: the facts that most findings rest on.

A *stream* is what one thread did by one function to one file or dataset, from one origin: the
program itself, or HDF5 or MPI-IO on its behalf. Memory grows with the streams, not with the calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iotune.findings.covered import Covered
from iotune.traces.call_meaning import Meaning, meaning_of
from iotune.traces.calls import MISSING, CallBatch, CallReader

# What a call is to those made inside it.
NOBODY, HDF5_READ, HDF5_WRITE, HDF5_OTHER = range(4)
MPI_READ, MPI_WRITE, MPI_READ_ALL, MPI_WRITE_ALL, MPI_OTHER, BELOW = range(4, 10)
HDF5_MAKES = 10  # makes a dataset, or changes its extent: writes fill values
_KINDS = 16
# Upper ends of the classes of lengths, in bytes; the last class has no end.
SIZE_ENDS = (512, 4096, 65536, 1 << 20, 1 << 24)
BLOCK_BYTES = 4096  # a page: what storage moves at least

_COLUMNS = (
    *("process", "thread", "layer", "level", "call", "file", "dataset"),
    *("offset_bytes", "length_bytes", "duration_ns"),
)
_TOTALS = ("calls", "bytes", "ns", "placed", "consecutive", "irregular", "misaligned", "blocks")


@dataclass(slots=True)
class Stream:
    """Sums over the calls of one thread, function, place and origin."""

    process: int
    rank: int  # -1: no rank of MPI_COMM_WORLD
    call: str
    meaning: Meaning
    layer: str
    file: str  # "": belongs to none
    dataset: str
    outer: int  # the outermost call around it: of the kinds above
    parent: int  # the nearest call around it
    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0
    placed: int = 0  # calls whose place in the file is known
    consecutive: int = 0  # of these that begin where the one before ended
    irregular: int = 0  # of these that neither do so nor keep the step of the one before
    misaligned: int = 0  # of at least a block, and begins or ends within one
    blocks: int = 0  # of those whose place is known: of at least a block
    begin: int = -1  # least offset
    end: int = -1  # greatest end
    # Row `row` of all streams' array: calls, bytes and ns below each end of the classes of lengths.
    sized: Any = None
    row: int = 0

    @property
    def by_program(self) -> bool:
        """Whether the program made these calls itself."""
        return self.outer == NOBODY

    def below(self, end_bytes: int) -> tuple[int, int, float]:
        """Calls, bytes and seconds of calls shorter than one of SIZE_ENDS."""
        calls, size, ns = self.sized[self.row, :, SIZE_ENDS.index(end_bytes)].tolist()
        return calls, size, ns / 1e9

    def from_on(self, begin_bytes: int) -> tuple[int, float]:
        """Bytes and seconds of calls as long as one of SIZE_ENDS, and of longer ones."""
        row = self.sized[self.row]
        _, size, ns = (row[:, -1] - row[:, SIZE_ENDS.index(begin_bytes)]).tolist()
        return size, ns / 1e9


class _Sums:
    """Growing arrays, a row for each stream."""

    def __init__(self) -> None:
        self.slots: dict[tuple[int, ...], int] = {}
        self._size = 0
        self.total = np.zeros((0, len(_TOTALS)), dtype=np.int64)
        self.sized = np.zeros((0, 3, len(SIZE_ENDS) + 1), dtype=np.int64)
        # begin, end; and of the last call its offset, end and step.
        self.reach = np.zeros((0, 2), dtype=np.int64)
        self.last = np.zeros((0, 3), dtype=np.int64)

    def rows(self, keys: Sequence[tuple[int, ...]]) -> Any:
        slots = self.slots
        found = np.fromiter((slots.setdefault(key, len(slots)) for key in keys), dtype=np.int64)
        if len(slots) > self._size:
            more = max(len(slots) * 2, 256) - self._size
            self._size += more
            self.total = _grown(self.total, more, 0)
            self.sized = _grown(self.sized, more, 0)
            self.reach = _grown(self.reach, more, -1)
            self.last = _grown(self.last, more, MISSING)
        return found


def _grown(array: Any, more: int, value: int) -> Any:
    return np.concatenate([array, np.full((more, *array.shape[1:]), value, dtype=np.int64)])


class StreamReader:
    """Reads a trace once; `streams` and `covered` are the result."""

    def __init__(self, path: Any, rank_of_process: Sequence[int]):
        self._ranks = rank_of_process
        self._sums = _Sums()
        self._meanings: list[Meaning] = []
        self._kinds = np.zeros(0, dtype=np.int64)
        self._is_transfer = np.zeros(0, dtype=bool)
        self._is_note = np.zeros(0, dtype=bool)
        self._writes = np.zeros(0, dtype=bool)
        self._reaches_files = np.zeros(0, dtype=bool)
        self._around: dict[int, tuple[int, int]] = {}  # thread -> kinds of its last levels 0, 0-1
        # (file, is write, process) -> what reached the file system for the program's sake.
        self.covered: dict[tuple[str, bool, int], Covered] = {}
        self._reader = CallReader(path, columns=_COLUMNS)
        for batch in self._reader:
            self._take(batch)
        self.losses = self._reader.losses
        self.streams = list(self._streams())
        del self._sums  # which is as large

    def _learn(self, names: Sequence[str]) -> None:
        for name in names[len(self._meanings) :]:
            self._meanings.append(meaning_of(name))
        self._kinds = np.array([kind_of(one) for one in self._meanings], dtype=np.int64)
        self._is_transfer = np.array([one.transfer for one in self._meanings], dtype=bool)
        self._is_note = np.array([one.layer == "iotune" for one in self._meanings], dtype=bool)
        self._writes = np.array([one.writes for one in self._meanings], dtype=bool)
        self._reaches_files = np.array([one.below_mpi for one in self._meanings], dtype=bool)

    def _take(self, batch: CallBatch) -> None:
        if len(batch.names("call")) > len(self._meanings):
            self._learn(batch.names("call"))
        column = {name: np.asarray(batch.numbers(name), dtype=np.int64) for name in _COLUMNS}
        own = ~self._is_note[column["call"]]
        if not own.all():
            column = {name: values[own] for name, values in column.items()}
        if not len(column["call"]):
            return
        threads, thread = np.unique(column["process"] << 20 | column["thread"], return_inverse=True)
        outer, parent = self._origins(column, threads, thread)
        _, place = np.unique(column["file"] << 32 | (column["dataset"] + 1), return_inverse=True)
        doing = (column["call"] * _KINDS + outer) * _KINDS + parent
        groups, first, group = np.unique(
            (place << 36) | (thread << 20) | doing, return_index=True, return_inverse=True
        )
        names = ("process", "thread", "file", "dataset", "call")
        parts = [column[name][first].tolist() for name in names]
        rows = self._sums.rows(list(zip(*parts, outer[first].tolist(), parent[first].tolist())))
        self._add(column, group, rows, len(groups), outer, parent)

    def _origins(self, column: dict[str, Any], threads: Any, thread: Any) -> tuple[Any, Any]:
        """Of each call what the outermost call around it is, and the nearest one."""
        level = column["level"]
        if not level.any():
            kinds = self._kinds[column["call"]]
            order = np.argsort(thread, kind="stable")
            ends = np.flatnonzero(np.r_[np.diff(thread[order]) != 0, True])
            for at in order[ends]:
                kind = int(kinds[at])
                self._around[int(threads[thread[at]])] = (kind, kind)
            nothing = np.zeros(len(level), dtype=np.int64)
            return nothing, nothing
        order = np.argsort(thread, kind="stable")
        kinds, level = self._kinds[column["call"]][order], level[order]
        starts = np.flatnonzero(np.r_[True, np.diff(thread[order]) != 0])
        of_thread = np.repeat(starts, np.diff(np.r_[starts, len(order)]))
        carried = [self._around.get(int(one), (NOBODY, NOBODY)) for one in threads]
        index = np.arange(len(order))
        found = []
        for depth in (0, 1):
            last = np.maximum.accumulate(np.where(level <= depth, index, -1))
            known = last >= of_thread
            before = np.array([one[depth] for one in carried], dtype=np.int64)[thread[order]]
            found.append(np.where(known, kinds[last], before))
        ends = np.r_[starts[1:] - 1, len(order) - 1]
        for at in ends:
            key = int(threads[thread[order[at]]])
            self._around[key] = (int(found[0][at]), int(found[1][at]))
        outer, parent = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
        outer[order] = np.where(level > 0, found[0], NOBODY)
        parent[order] = np.where(level > 1, found[1], np.where(level > 0, found[0], NOBODY))
        return outer, parent

    def _add(
        self,
        column: dict[str, Any],
        group: Any,
        rows: Any,
        groups: int,
        outer: Any,
        parent: Any,
    ) -> None:
        sums, moves = self._sums, self._is_transfer[column["call"]]
        length = np.where(column["length_bytes"] == MISSING, 0, column["length_bytes"])
        length = np.where(moves, np.maximum(length, 0), 0)
        ns = column["duration_ns"]
        total = sums.total
        total[rows, 0] += np.bincount(group, minlength=groups)
        total[rows, 1] += _summed(group, length, groups)
        total[rows, 2] += _summed(group, ns, groups)
        size = np.searchsorted(SIZE_ENDS, length, side="right")
        spread, classes = group * (len(SIZE_ENDS) + 1) + size, groups * (len(SIZE_ENDS) + 1)
        shape = (groups, len(SIZE_ENDS) + 1)
        # An empty part of a transfer is no request of any size.
        sized = np.where(moves & (length == 0), 0, 1)
        sums.sized[rows, 0] += _summed(spread, sized, classes).reshape(shape)
        sums.sized[rows, 1] += _summed(spread, length, classes).reshape(shape)
        sums.sized[rows, 2] += _summed(spread, ns * sized, classes).reshape(shape)
        placed = np.flatnonzero(moves & (column["offset_bytes"] != MISSING) & (length > 0)
                                & (column["offset_bytes"] >= 0))  # fmt: skip
        if len(placed):
            order = placed[np.argsort(group[placed], kind="stable")]
            self._add_placed(column, group[order], rows, order, length[order])
            self._cover(column, order, length[order], outer, parent)

    def _add_placed(
        self, column: dict[str, Any], group: Any, rows: Any, order: Any, length: Any
    ) -> None:
        sums, offset = self._sums, column["offset_bytes"][order]
        end = offset + length
        starts = np.flatnonzero(np.r_[True, np.diff(group) != 0])
        row = rows[group]
        last_offset, last_end = np.r_[0, offset[:-1]], np.r_[0, end[:-1]]
        last_offset[starts], last_end[starts] = sums.last[row[starts], 0], sums.last[row[starts], 1]
        known = last_offset != MISSING
        step = np.where(known, offset - last_offset, MISSING)
        last_step = np.r_[0, step[:-1]]
        last_step[starts] = sums.last[row[starts], 2]
        follows = known & (offset == last_end)
        irregular = known & ~follows & (last_step != MISSING) & (step != last_step)
        long = length >= BLOCK_BYTES
        uneven = long & ((offset % BLOCK_BYTES != 0) | (end % BLOCK_BYTES != 0))
        own = rows[group[starts]]
        for at, flags in ((4, follows), (5, irregular), (6, uneven), (7, long)):
            sums.total[own, at] += np.add.reduceat(flags.astype(np.int64), starts)
        ends = np.r_[starts[1:] - 1, len(group) - 1]
        sums.total[own, 3] += ends - starts + 1
        least, most = np.minimum.reduceat(offset, starts), np.maximum.reduceat(end, starts)
        before = sums.reach[own]
        sums.reach[own, 0] = np.where(before[:, 0] < 0, least, np.minimum(before[:, 0], least))
        sums.reach[own, 1] = np.maximum(before[:, 1], most)
        sums.last[own] = np.stack([offset[ends], end[ends], step[ends]], axis=1)

    def _cover(
        self, column: dict[str, Any], order: Any, length: Any, outer: Any, parent: Any
    ) -> None:
        """Add what reached the file system for the program's sake.

        Left out are fill values, and what HDF5 and MPI-IO read only to write around it.
        """
        call, file = column["call"][order], column["file"][order]
        writes = self._writes[call]
        outer, parent = outer[order], parent[order]
        for_writing = np.isin(parent, (MPI_WRITE, MPI_WRITE_ALL)) | (outer == HDF5_WRITE)
        taken = self._reaches_files[call] & (file >= 0) & (outer != HDF5_MAKES)
        chosen = np.flatnonzero(taken & (writes | ~for_writing))
        if not len(chosen):
            return
        offset = column["offset_bytes"][order]
        key = (column["process"][order] << 33 | file << 1 | writes)[chosen]
        ordered = chosen[np.argsort(key, kind="stable")]
        key = np.sort(key, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(key) != 0])
        names = self._reader.names("file")
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(key)]):
            number = int(key[start])
            place = (names[(number >> 1) & 0xFFFFFFFF], bool(number & 1), number >> 33)
            one = self.covered.get(place)
            if one is None:
                one = self.covered[place] = Covered()
            part = ordered[start:stop]
            one.add(offset[part], length[part])

    def _streams(self) -> Iterator[Stream]:
        sums = self._sums
        files, datasets = self._reader.names("file"), self._reader.names("dataset")
        names = self._reader.names("call")
        sized = np.cumsum(sums.sized[: len(sums.slots)], axis=2)
        for key, row in sums.slots.items():
            process, _, file, dataset, call, outer, parent = key
            total = dict(zip(_TOTALS, sums.total[row].tolist()))
            begin, end = sums.reach[row].tolist()
            meaning = self._meanings[call]
            if meaning.order:
                continue
            yield Stream(
                process,
                self._ranks[process] if process < len(self._ranks) else -1,
                names[call],
                meaning,
                meaning.layer,
                files[file] if file >= 0 else "",
                datasets[dataset] if dataset >= 0 else "",
                outer,
                parent,
                seconds=total.pop("ns") / 1e9,
                begin=begin,
                end=end,
                sized=sized,
                row=row,
                **total,
            )


def _summed(group: Any, values: Any, groups: int) -> Any:
    """Exact up to 2^53 in a batch."""
    return np.bincount(group, weights=values, minlength=groups).astype(np.int64)


def kind_of(meaning: Meaning) -> int:
    """What a call is to those made inside it."""
    if meaning.layer == "hdf5":
        if meaning.thing == "dataset" and meaning.verb in ("creates", "changes"):
            return HDF5_MAKES
        return HDF5_READ if meaning.reads else HDF5_WRITE if meaning.writes else HDF5_OTHER
    if meaning.layer == "mpiio":
        if meaning.reads:
            return MPI_READ_ALL if meaning.collective else MPI_READ
        if meaning.writes:
            return MPI_WRITE_ALL if meaning.collective else MPI_WRITE
        return MPI_OTHER
    return BELOW if meaning.layer in ("posix", "stdio") else NOBODY
