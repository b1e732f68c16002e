"""Calls counted as Darshan counts them: a record for each rank and file, or dataset.

importing/darshan_format.py names the source of what each counter means. Counters that a trace does
not have are -1, which is Darshan's own word for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from iotune.importing.darshan_format import (
    DIMENSIONS,
    H5D,
    H5F,
    MOST_COMMON,
    MPI_IO,
    POSIX,
    SIZE_CLASSES,
    SIZE_ENDS,
    Module,
)

ALL_RANKS = -1
_NOT_COUNTED = -1
# Different lengths, strides and selections that a record keeps apart.
_MOST_KINDS = 1024
_PAGE_BYTES = 4096  # to which places are aligned, where no stripe is known
_INFIX = {POSIX: "", MPI_IO: "AGG_", H5D: "AGG_"}
# Not sums: of several ranks the greatest counts, or they are alike.
_GREATEST = {
    *("MODE", "MAX_BYTE_READ", "MAX_BYTE_WRITTEN", "MEM_ALIGNMENT", "FILE_ALIGNMENT"),
    *("USE_MPIIO", "USE_MPIIO_COLLECTIVE", "USE_DEPRECATED", "MEM_NOT_ALIGNED"),
    *("DATASPACE_NDIMS", "DATASPACE_NPOINTS", "DATATYPE_SIZE"),
    *(f"CHUNK_SIZE_D{d}" for d in range(1, DIMENSIONS + 1)),
}


@dataclass
class Record:
    """Counters of one rank, or of all, on one file or dataset."""

    module: Module
    counters: Counter[str] = field(default_factory=Counter)
    times: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lengths: Counter[tuple[int, ...]] = field(default_factory=Counter)
    strides: Counter[tuple[int, ...]] = field(default_factory=Counter)
    file: str = ""  # of a dataset
    # While calls are counted: where the last transfer of each direction ended, which came last,
    # until when each kind of time was counted.
    _last_byte: dict[str, int] = field(default_factory=lambda: {"READ": 0, "WRITE": 0})
    _last: str = ""
    _counted_until: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def spend(self, kind: str, start: float, end: float) -> None:
        """Count time, READ, WRITE or META; calls that overlap count once."""
        begin = max(start, self._counted_until[kind])
        if end > begin:
            self.times[f"F_{kind}_TIME"] += end - begin
            self._counted_until[kind] = end

    def stamp(self, kind: str, start: float, end: float) -> None:
        """Note when calls of a kind first began and last ended."""
        key = f"F_{kind}_START_TIMESTAMP"
        if key not in self.times or start < self.times[key]:
            self.times[key] = start
        key = f"F_{kind}_END_TIMESTAMP"
        self.times[key] = max(self.times[key], end)

    def meta(self, counter: str | None, start: float, end: float, stamp: str = "") -> None:
        """A call that moves nothing."""
        if counter:
            self.counters[counter] += 1
        if stamp:
            self.stamp(stamp, start, end)
        self.spend("META", start, end)

    def move(self, write: bool, counter: str, length: int, start: float, end: float) -> None:
        """A transfer; that of a place is place()."""
        verb = "WRITE" if write else "READ"
        count = self.counters
        count[counter] += 1
        count["BYTES_WRITTEN" if write else "BYTES_READ"] += length
        if self.module in _INFIX:
            count[f"SIZE_{verb}_{_INFIX[self.module]}{size_class(length)}"] += 1
            count["RW_SWITCHES"] += self._last not in ("", verb)
            seconds = end - start
            if seconds > self.times[f"F_MAX_{verb}_TIME"]:
                self.times[f"F_MAX_{verb}_TIME"] = seconds
                count[f"MAX_{verb}_TIME_SIZE"] = length
        self._last = verb
        self.stamp(verb, start, end)
        self.spend(verb, start, end)

    def place(self, write: bool, offset: int, length: int) -> None:
        """Where a transfer of POSIX or stdio lay. The first one is compared with byte 0."""
        verb, past = ("WRITE", "WRITTEN") if write else ("READ", "READ")
        count = self.counters
        last = self._last_byte[verb]
        self._last_byte[verb] = offset + length - 1
        key = f"MAX_BYTE_{past}"
        count[key] = max(count[key], offset + length - 1)
        if self.module is not POSIX:
            return
        count[f"SEQ_{verb}S"] += offset > last
        count[f"CONSEC_{verb}S"] += offset == last + 1
        if 0 < last < offset - 1:
            add_kind(self.strides, (offset - last - 1,))
        alignment = count["FILE_ALIGNMENT"] or _PAGE_BYTES
        count["FILE_ALIGNMENT"] = alignment
        count["FILE_NOT_ALIGNED"] += offset % alignment != 0

    def seconds(self) -> float:
        """In all calls."""
        return sum(self.times.get(f"F_{kind}_TIME", 0.0) for kind in ("READ", "WRITE", "META"))

    def bytes(self) -> int:
        """Both directions."""
        return self.counters["BYTES_READ"] + self.counters["BYTES_WRITTEN"]

    def numbers(self) -> tuple[list[int], list[float]]:
        """Counters and times in the order of a log's record."""
        said = self.counters.copy()
        if self.module is POSIX:
            # Where the program's memory was is not in a trace, nor whose new name a file got.
            for key in ("MEM_NOT_ALIGNED", "MEM_ALIGNMENT", "MODE"):
                said[key] = _NOT_COUNTED
            said.update(_common(self.strides, "STRIDE"))
        if self.module is H5D:
            said.update(_common_selections(self.lengths))
        elif self.module in _INFIX:
            said.update(_common(self.lengths, "ACCESS"))
        if self.module in (MPI_IO, H5D):
            for key in ("MODE", "HINTS", "USE_DEPRECATED"):
                said[key] = _NOT_COUNTED
        return (
            [said[name] for name in self.module.counters],
            [self.times.get(name, 0.0) for name in self.module.times],
        )


def size_class(length: int) -> str:
    """The class of a length."""
    for end, name in zip(SIZE_ENDS, SIZE_CLASSES):
        if length <= end:
            return name
    return SIZE_CLASSES[-1]


def add_kind(to: Counter[tuple[int, ...]], kind: tuple[int, ...]) -> None:
    """One more of a kind; of very many kinds only the first are kept."""
    if kind in to or len(to) < _MOST_KINDS:
        to[kind] += 1


def _ordered(kinds: Counter[tuple[int, ...]]) -> list[tuple[tuple[int, ...], int]]:
    return sorted(kinds.items(), key=lambda one: (-one[1], one[0]))[:MOST_COMMON]


def _common(kinds: Counter[tuple[int, ...]], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for i, ((value, *_), times) in enumerate(_ordered(kinds), 1):
        found |= {f"{name}{i}_{name}": value, f"{name}{i}_COUNT": times}
    return found


def _common_selections(kinds: Counter[tuple[int, ...]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for i, ((size, *sides), times) in enumerate(_ordered(kinds), 1):
        found |= {f"ACCESS{i}_ACCESS": size, f"ACCESS{i}_COUNT": times}
        for d in range(DIMENSIONS):
            found[f"ACCESS{i}_LENGTH_D{d + 1}"] = sides[d]
            found[f"ACCESS{i}_STRIDE_D{d + 1}"] = sides[DIMENSIONS + d]
    return found


def selection_kind(size: int, selection: dict[str, Any]) -> tuple[int, ...]:
    """A transfer's bytes, then lengths and strides of the last dimensions, the last one first."""
    lengths: Sequence[int] = selection.get("dims", ()) if selection.get("kind") == "all" else ()
    strides: Sequence[int] = [1] * len(lengths)
    if selection.get("kind") == "regular":
        lengths = [n * block for n, block in zip(selection["count"], selection["block"])]
        strides = selection["stride"]
    sides = []
    for values in (lengths, strides):
        last = list(values)[::-1][:DIMENSIONS]
        sides += last + [0] * (DIMENSIONS - len(last))
    return (size, *sides)


def of_all_ranks(records: Iterable[tuple[int, Record]]) -> Record:
    """The record of a file that all ranks used, as Darshan reduces theirs to one."""
    own = list(records)
    whole = Record(own[0][1].module, file=own[0][1].file)
    for _, one in own:
        for key, value in one.counters.items():
            if key in _GREATEST:
                whole.counters[key] = max(whole.counters[key], value)
            elif not key.endswith("_TIME_SIZE"):
                whole.counters[key] += value
        for key, seconds in one.times.items():
            if key.endswith("_START_TIMESTAMP"):
                whole.times[key] = min(whole.times.get(key, seconds), seconds)
            elif key.startswith("F_MAX_") or key.endswith("_END_TIMESTAMP"):
                if seconds > whole.times[key] and key.startswith("F_MAX_"):
                    size = key.removeprefix("F_") + "_SIZE"
                    whole.counters[size] = one.counters[size]
                whole.times[key] = max(whole.times[key], seconds)
            else:
                whole.times[key] += seconds
        for to, kinds in ((whole.lengths, one.lengths), (whole.strides, one.strides)):
            to.update(kinds)
    if whole.module is H5F:
        return whole
    for which, (rank, one) in (
        ("FASTEST", min(own, key=lambda pair: pair[1].seconds())),
        ("SLOWEST", max(own, key=lambda pair: pair[1].seconds())),
    ):
        whole.counters[f"{which}_RANK"] = rank
        whole.counters[f"{which}_RANK_BYTES"] = one.bytes()
        whole.times[f"F_{which}_RANK_TIME"] = one.seconds()
    whole.times["F_VARIANCE_RANK_TIME"] = _variance([one.seconds() for _, one in own])
    whole.times["F_VARIANCE_RANK_BYTES"] = _variance([float(one.bytes()) for _, one in own])
    return whole


def _variance(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)
