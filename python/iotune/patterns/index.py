"""From an offset in a file to who wrote it last: analyzer/index, docs/offset-index.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune.core import native_part
from iotune.errors import Error
from iotune.patterns.arrays import (
    Integers,
    int64_buffer,
    name_bytes,
    numpy_array,
    whole_number,
)


@dataclass(frozen=True)
class Pieces:
    """Bytes of a file that one access wrote last, or none did; arrays of int64, equally long."""

    offset: Any
    """Bytes, of the first byte in the file."""
    length: Any
    """Bytes; of a hole up to the next data, or to 2^63 - 1."""
    stream: Any
    """Who wrote them; -1 of a hole."""
    position: Any
    """Which access of its stream it was, from 0; 0 of a hole."""
    physical: Any
    """Bytes, where in the stream's log the piece begins; 0 of a hole."""

    def __len__(self) -> int:
        return len(self.offset)

    def __iter__(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Rows of (offset, length, stream, position, physical)."""
        columns = (self.offset, self.length, self.stream, self.position, self.physical)
        return iter(zip(*(column.tolist() for column in columns)))

    @property
    def hole(self) -> Any:
        """An array of bool: nobody wrote them."""
        return self.stream < 0


class OffsetIndex:
    """Who wrote which bytes of a file: constant, and safe to ask from several threads.

    A look-up takes O(log entries + depth of loops), and a step for each access to the same bytes
    that is not later. Made by IndexBuilder.build and read_index.
    """

    def __init__(self, native: Any):
        self._native = native

    def at(self, offsets: Integers) -> Pieces:
        """For each offset (bytes) the piece from there on, as far as it is of one access."""
        return _pieces(self._native.at(int64_buffer(offsets, "offsets")))

    def pieces(self, offset: int, length: int) -> Pieces:
        """What [offset, offset + length) is made of, in order and without gaps. Bytes."""
        return _pieces(self._native.pieces(whole_number(offset), whole_number(length)))

    @property
    def end(self) -> int:
        """One past the last byte that was written; 0 if none was."""
        return int(self._native.end())

    @property
    def streams(self) -> int:
        """One more than the largest stream's number."""
        return int(self._native.streams())

    def stream_name(self, stream: int) -> str:
        """As it was given, else empty."""
        return str(self._native.stream_name(_stream(stream)))

    def stream_end(self, stream: int) -> tuple[int, int]:
        """Accesses of the stream so far, bytes of its log so far: where it would go on."""
        position, physical = self._native.stream_end(_stream(stream))
        return int(position), int(physical)

    def time_of(self, stream: int, position: int) -> int:
        """When an access was made, in the unit of the times given."""
        made, _ = self.stream_end(stream)
        if not 0 <= whole_number(position) < made:
            raise Error(f"stream {stream} made {made} accesses: there is none of number {position}")
        return int(self._native.time_of(_stream(stream), whole_number(position)))

    @property
    def nests(self) -> int:
        """Entries that are loops."""
        return int(self._native.nests())

    @property
    def segments(self) -> int:
        """Entries that are pieces of one access."""
        return int(self._native.segments())

    @property
    def contested(self) -> bool:
        """Whether accesses may overlap, so that times decide."""
        return bool(self._native.contested())

    @property
    def memory_bytes(self) -> int:
        """All memory that it holds."""
        return int(self._native.memory_bytes())

    def to_bytes(self) -> bytes:
        """As a file: analyzer/index/FORMAT.md."""
        return bytes(self._native.to_bytes())


class IndexBuilder:
    """Makes an OffsetIndex of what streams did, batch by batch.

    Streams have numbers from 0, densely (below 2^22). Of two accesses to one byte that with the
    larger (time, stream, position) is the later one and is found. After an Error the builder is as
    before the call.
    """

    def __init__(self, entries: int = 1 << 26):
        """Hold at most so many loops and single accesses, some 150 bytes each."""
        native = native_part()
        self._native = native.IndexBuilder(max(0, whole_number(entries)))

    def add(
        self,
        stream: int,
        offsets: Integers,
        lengths: Integers,
        physical: Integers | None = None,
        times: tuple[int, int] | Integers | None = None,
    ) -> None:
        """The next accesses of a stream.

        physical: where in the stream's log the bytes of each went, bytes; without it the log only
        grows, by each length. times: of each access; or a tuple of those of the first and the last
        one, with the others evenly between; or none, and the batch is later than all before it.
        Times of a stream never go back.
        """
        places = None if physical is None else int64_buffer(physical, "physical")
        columns = (int64_buffer(offsets, "offsets"), int64_buffer(lengths, "lengths"))
        when: Any = times
        if isinstance(times, tuple):
            if len(times) != 2:
                raise Error("times are those of all accesses, or of the first and the last")
            when = (whole_number(times[0]), whole_number(times[1]))
        elif times is not None:
            when = int64_buffer(times, "times")
        self._native.add(_stream(stream), *columns, places, when)

    def add_index(self, index: OffsetIndex, first_stream: int = 0) -> None:
        """All of another index, its streams renumbered from `first_stream` on."""
        self._native.add_index(index._native, _stream(first_stream))

    def set_name(self, stream: int, name: str) -> None:
        """What a stream is called, such as its log's file."""
        self._native.set_name(_stream(stream), name_bytes(name))

    def begin_at(self, stream: int, position: int, physical: int) -> None:
        """Where the next accesses of a stream lie: after so many, at this byte of its log."""
        self._native.begin_at(_stream(stream), whole_number(position), whole_number(physical))

    def build(self) -> OffsetIndex:
        """The index of all that was added; O(n log n). The builder may go on."""
        return OffsetIndex(self._native.build())


def read_index(source: bytes | str | os.PathLike[str], allow_damage: bool = False) -> OffsetIndex:
    """An index from its bytes, or from a file. Raises Error, which names the file.

    With allow_damage damaged blocks are passed over; what a file says at all stays checked.
    """
    name = "" if isinstance(source, bytes) else f"{os.fspath(source)}: "
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
    except OSError as problem:
        raise Error(f"{name}{problem.strerror}") from None
    native = native_part()
    try:
        return OffsetIndex(native.read_index(content, allow_damage))
    except Error as problem:
        raise Error(f"{name}{problem}") from None


def _pieces(columns: tuple[Any, ...]) -> Pieces:
    return Pieces(*(numpy_array(column) for column in columns))


def _stream(value: int) -> int:
    """A stream's number. Raises Error."""
    number = whole_number(value)
    if not 0 <= number < 1 << 22:
        raise Error(f"there is no stream {number}: they have numbers from 0 to {(1 << 22) - 1}")
    return number
