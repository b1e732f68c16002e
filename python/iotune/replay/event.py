"""What a replay does, call by call, and the rows of a trace that tell it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from iotune.traces.call_meaning import Meaning, meaning_of


@dataclass(frozen=True)
class View:
    """iotune_view: where the data of a file view lie."""

    kind: int = 0
    displacement: int = 0
    element_bytes: int = 1
    data_bytes: int = 0  # of a tile
    tile_bytes: int = 0
    layout: tuple[int, ...] = ()

    def words(self) -> tuple[int, ...]:
        """As a plan has it."""
        head = (self.displacement, max(self.element_bytes, 1), self.tile_bytes, self.kind)
        return head + self.layout

    def end_of(self, data_end: int) -> int:
        """A place in the file behind the first `data_end` bytes of data."""
        if self.kind == 0 or self.data_bytes <= 0:
            return self.displacement + data_end
        return self.displacement + -(-data_end // self.data_bytes) * self.tile_bytes

    def place_of(self, data: int) -> int:
        """Where a byte of the data, counted from 0, lies in the file."""
        if self.kind == 0 or self.data_bytes <= 0:
            return self.displacement + data
        tile, rest = divmod(data, self.data_bytes)
        inside = self._in_subarray(rest) if self.kind == 1 else self._in_runs(rest)
        return self.displacement + tile * self.tile_bytes + inside

    def data_at(self, place: int) -> int | None:
        """Which byte of the data lies at a place of the file: a view's data go forwards only."""
        low, high = 0, max(place - self.displacement, 0) + 1
        if self.kind != 0 and self.data_bytes > 0:
            high = (high // max(self.tile_bytes, 1) + 1) * self.data_bytes
        while low < high:
            middle = (low + high) // 2
            if self.place_of(middle) < place:
                low = middle + 1
            else:
                high = middle
        return low if self.place_of(low) == place else None

    def _in_subarray(self, data: int) -> int:
        n = (len(self.layout) - 1) // 3
        element, sizes, parts, starts = (
            self.layout[0],
            *(self.layout[1 + i * n : 1 + (i + 1) * n] for i in range(3)),
        )
        at, rest = divmod(data, element)
        place, step = rest, element
        for size, part, start in zip(reversed(sizes), reversed(parts), reversed(starts)):
            at, coordinate = divmod(at, part)
            place += (start + coordinate) * step
            step *= size
        return place

    def _in_runs(self, data: int) -> int:
        for i in range(0, len(self.layout), 4):
            offset, size, stride, count = self.layout[i : i + 4]
            if data < size * count:
                return offset + data // size * stride + data % size
            data -= size * count
        return data


@dataclass(frozen=True)
class Kind:
    """What a statement of a plan of calls does (kernels/replay_calls/CALL_PLAN.md)."""

    does: str  # open, close, sync, view, read, write, wait
    mpi: bool = False
    begins: bool = False  # what a wait completes
    collective: bool = False  # called by all ranks that opened the file
    split: str = ""  # begin or end

    @property
    def moves(self) -> bool:
        """Whether it reads or writes."""
        return self.does in ("read", "write")

    @property
    def word(self) -> str:
        """As a plan has it."""
        if not self.mpi:
            return f"aio-{self.does}" if self.begins or self.does == "wait" else self.does
        parts = [
            "mpi",
            f"i{self.does}" if self.begins else self.does,
            "all" if self.collective and self.moves else "",
            self.split,
        ]
        return "-".join(part for part in parts if part)

    @property
    def independent(self) -> Kind:
        """The same call by one rank, not collective."""
        return replace(self, collective=False, split="")


@dataclass
class Event:
    """One call of a replay."""

    process: int
    thread: int
    rank: int
    kind: Kind
    path: str
    handle: int
    start_ns: int
    end_ns: int
    offset: int = 0  # of MPI-IO in elements of the view
    length: int | None = None  # bytes; None where nothing moves
    file_end: int = 0  # the file reaches as far at least, once this is done
    view: View | None = None
    on_comm_self: bool = False  # an open of MPI_COMM_SELF
    request: int | None = None  # of what is begun here and waited for elsewhere, and of waits

    @property
    def is_write(self) -> bool:
        return self.kind.does == "write"


@dataclass
class Row:
    process: int
    thread: int
    layer: str
    level: int
    call: str
    file: str | None
    offset: int | None
    length: int | None
    start_ns: int
    duration_ns: int
    result: int | None
    words: str

    @property
    def end_ns(self) -> int:
        return self.start_ns + self.duration_ns

    @property
    def means(self) -> Meaning:
        return meaning_of(self.call)

    @property
    def recorded(self) -> dict[str, Any]:
        return dict(json.loads(self.words))
