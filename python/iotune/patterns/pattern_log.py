"""The accesses of many streams without loss, in little room: analyzer/pattern_log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune.core import native_part
from iotune.errors import Error
from iotune.patterns.arrays import Integers, int64_buffer, name_bytes, numpy_array, whole_number

_BATCH = 1 << 16


class PatternLogWriter:
    """Finds the loops of streams as their accesses come, in bounded memory.

    >>> log = PatternLogWriter()
    >>> for rank in range(4):
    ...     stream = log.add_stream(rank, "/data/nest")
    ...     offsets = [1000 * i + 100 * k + 8 * rank for i in range(5) for k in range(4)]
    ...     log.add(stream, offsets, [8] * 20)
    >>> len(log.finish()) < 40
    True
    """

    def __init__(self, leaves_held: int = 1 << 18):
        """Hold so many accesses that are in no loop, 2^18 or fewer, before they are coded."""
        if not 1 <= leaves_held <= 1 << 18:
            raise Error("1 to 262144 accesses are held")
        self._native = native_part().PatternLogWriter(leaves_held)

    def add_stream(self, rank: int, name: str) -> int:
        """A stream's number, from 0. rank: any integer; ranks in their order cost least."""
        return int(self._native.add_stream(whole_number(rank), name_bytes(name)))

    def add(
        self, stream: int, offsets: Integers, lengths: Integers, physical: Integers | None = None
    ) -> None:
        """The next accesses of a stream, in bytes.

        physical: where each lies in the stream's own data, bytes; in all calls for a stream or in
        none.
        """
        places = None if physical is None else int64_buffer(physical, "physical")
        columns = (int64_buffer(offsets, "offsets"), int64_buffer(lengths, "lengths"))
        self._native.add(_stream(stream), *columns, places)

    def end_stream(self, stream: int) -> None:
        """Nothing more is added to it; frees its memory."""
        self._native.end_stream(_stream(stream))

    def finish(self) -> bytes:
        """The log: analyzer/pattern_log/FORMAT.md. Nothing can be added afterwards."""
        return bytes(self._native.finish())


@dataclass(frozen=True)
class PatternLogStream:
    """Who accesses what."""

    rank: int
    name: str


class PatternLog:
    """Reads a log from its bytes or from a file. Raises Error, also on damage that shows later."""

    def __init__(self, source: bytes | str | os.PathLike[str]):
        self._name = "the log" if isinstance(source, bytes) else os.fspath(source)
        try:
            content = source if isinstance(source, bytes) else Path(source).read_bytes()
        except OSError as problem:
            raise Error(f"{self._name}: {problem.strerror}") from None
        native = native_part()
        try:
            self._native = native.PatternLogReader(content)
        except Error as problem:
            raise Error(f"{self._name} {problem}") from None
        self.streams = tuple(PatternLogStream(*stream) for stream in self._native.streams())

    def accesses(self, stream: int) -> tuple[Any, Any]:
        """All accesses of a stream in their order: arrays of offsets and of lengths, bytes."""
        columns: list[list[Any]] = [[], []]
        for offsets, lengths, _ in self.batches(stream):
            columns[0].append(offsets)
            columns[1].append(lengths)
        return _joined(columns[0]), _joined(columns[1])

    def batches(self, stream: int, accesses: int = _BATCH) -> Iterator[tuple[Any, Any, Any]]:
        """The same in batches, of which none is kept: offsets, lengths, physical offsets.

        Physical offsets of a stream that has none are where its bytes would lie in a log that only
        grows.
        """
        if accesses < 1:
            raise Error("a batch has an access at least")
        reader = self._native.accesses(_stream(stream))
        while True:
            try:
                columns = reader.read(accesses)
            except Error:
                raise Error(f"{self._name}: stream {stream} is damaged") from None
            arrays = tuple(numpy_array(column) for column in columns)
            if len(arrays[0]) == 0:
                return
            yield arrays[0], arrays[1], arrays[2]


def _stream(value: int) -> int:
    number = whole_number(value)
    if not 0 <= number < 1 << 32:
        raise Error(f"no stream {number}")
    return number


def _joined(parts: list[Any]) -> Any:
    import numpy

    return numpy.concatenate(parts) if parts else numpy.empty(0, dtype=numpy.int64)
