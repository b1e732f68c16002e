"""What a replay does, call by call, and the rows of a trace that tell it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

_ALONE = ("mpi-read", "mpi-write", "mpi-iread", "mpi-iwrite", "mpi-wait")


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


@dataclass
class Event:
    """One call of a replay. `kind` is the plan's word."""

    process: int
    thread: int
    rank: int
    kind: str
    path: str
    handle: int
    start_ns: int
    end_ns: int
    offset: int = 0  # of MPI-IO in elements of the view
    length: int | None = None  # bytes; None where nothing moves
    file_end: int = 0  # the file reaches as far at least, once this is done
    view: View | None = None
    alone: bool = False  # opened by a rank for itself
    request: int | None = None  # of what is begun here and waited for elsewhere, and of waits

    @property
    def is_write(self) -> bool:
        return "write" in self.kind

    @property
    def collective(self) -> bool:
        """Whether all that opened the file call it together."""
        return self.kind.startswith("mpi") and self.kind not in _ALONE


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
    def recorded(self) -> dict[str, Any]:
        return dict(json.loads(self.words))
