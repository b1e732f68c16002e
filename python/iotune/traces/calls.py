"""The calls of a trace: in batches of columns as the native part decodes them, or one by one.

Memory is bounded in both: nothing here keeps calls that were handed out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune.core import native_part
from iotune.traces.call_filter import CallFilter
from iotune.traces.log_totals import losses_of_log

# Columns, as docs/reading.md explains them.
SMALL_NUMBERS = ("rank", "process", "thread", "level")
NAMES = ("layer", "call", "file", "dataset", "time_kind")
LARGE_NUMBERS = ("start_ns", "duration_ns")
OPTIONAL_NUMBERS = ("offset_bytes", "length_bytes", "result")
JSON_TEXTS = ("selection", "arguments")
COLUMNS = (
    *("rank", "process", "thread", "layer", "level", "call", "file", "dataset"),
    *("offset_bytes", "length_bytes", "start_ns", "duration_ns", "time_kind", "result"),
    *JSON_TEXTS,
)
# For iotune itself: a call as it is printed, as it was recorded, and what it moved of each dataset.
_TEXTS = (*JSON_TEXTS, "text", "words", "transfers")

MISSING = -(2**63)  # in OPTIONAL_NUMBERS

BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class TextColumn:
    """Texts one behind the other, and where each begins."""

    data: memoryview
    offsets: memoryview  # one more than texts

    def texts(self) -> list[str]:
        """The texts; bytes that are not UTF-8 are surrogates, as in paths."""
        if self.data.nbytes == 0:
            return [""] * (len(self.offsets) - 1)
        data, offsets = bytes(self.data), self.offsets.tolist()
        return [
            data[begin:end].decode("utf-8", "surrogateescape")
            for begin, end in zip(offsets, offsets[1:])
        ]


class CallBatch:
    """Some rows of the columns that were asked for."""

    def __init__(self, reader: CallReader, rows: int, columns: Sequence[Any]):
        self._reader = reader
        self.rows = rows
        self._columns = dict(zip(reader.columns, columns))

    def numbers(self, column: str) -> memoryview:
        """A column of numbers, or of a name's numbers in `names`; -1 is no name."""
        return memoryview(self._columns[column])

    def text(self, column: str) -> TextColumn:
        """A column of texts."""
        data, offsets = self._columns[column]
        return TextColumn(memoryview(data), memoryview(offsets))

    def names(self, column: str) -> list[str]:
        """What the numbers of a column of NAMES mean, so far; later batches may have more."""
        return self._reader.names(column)

    def values(self, column: str) -> list[Any]:
        """A column as Python's own values, None where there is none."""
        if column in _TEXTS:
            return [text or None for text in self.text(column).texts()]
        numbers = self.numbers(column).tolist()
        if column in NAMES:
            names: list[str | None] = [*self.names(column), None]
            return [names[number] for number in numbers]
        if column in OPTIONAL_NUMBERS:
            return [None if number == MISSING else number for number in numbers]
        return numbers


class CallReader:
    """Iterates over batches; afterwards `losses` is complete."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        wanted: CallFilter | None = None,
        columns: Sequence[str] = COLUMNS,
        limit: int | None = None,
        batch_rows: int = BATCH_ROWS,
    ):
        wanted = wanted or CallFilter()
        self._path = Path(path)
        self.columns = tuple(columns)
        self._left = limit
        self._batch_rows = batch_rows
        self._names: dict[str, list[str]] = {}
        native = native_part()
        self._native = native.CallReader(
            os.fspath(path),
            ranks=list(wanted.ranks),
            layers=wanted.layer_mask,
            names=list(wanted.names),
            files=list(wanted.files),
            from_ns=wanted.from_ns,
            until_ns=wanted.until_ns,
            columns=list(self.columns),
        )

    def __iter__(self) -> Iterator[CallBatch]:
        # So that `--limit 5` and `| head` need not wait for a whole batch.
        rows = min(256, self._batch_rows)
        while self._left is None or self._left > 0:
            found = self._native.next(rows if self._left is None else min(rows, self._left))
            if found is None:
                return
            count, columns = found
            if self._left is not None:
                self._left -= count
            self._names = {}
            yield CallBatch(self, count, columns)
            rows = min(rows * 4, self._batch_rows)

    def names(self, column: str) -> list[str]:
        """The names of a column so far."""
        if column not in self._names:
            self._names[column] = self._native.names(column)
        return self._names[column]

    @property
    def run_start_unix_ns(self) -> int:
        """Unix time of the run's first call: start_ns counts from it."""
        return int(self._native.run_start_unix_ns())

    @property
    def losses(self) -> list[str]:
        """What of the run is missing or damaged, in words."""
        return [*losses_of_log(self._path), *self._native.losses()]


@dataclass(frozen=True)
class Call:
    """One intercepted call of one thread."""

    rank: int  # -1: not a rank of MPI_COMM_WORLD
    process: int  # index into the trace's processes
    thread: int  # 0 recorded first
    start: float  # seconds since the epoch
    seconds: float
    # exact; coded: rounded a little; bin: true to a bin of the process's time; pattern:
    # interpolated from the pattern's sums
    time_kind: str
    layer: str
    depth: int  # layers around it
    name: str
    text: str  # name, arguments and result, as in the paper's figure 2
    file: str | None = None
    dataset: str | None = None
    # As recorded (recorder/FORMAT.md, "Numbers of a call"):
    keys: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    result: int | None = None  # iotune's own notes have none
    # Of transfers of HDF5, one for each dataset (docs/reading.md): object, dataset, mode,
    # type_bytes, points, selection, memory.
    transfers: tuple[dict[str, Any], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether start and seconds were measured for just this call."""
        return self.time_kind not in ("pattern", "bin")


_CALL_COLUMNS = (
    *("rank", "process", "thread", "start_ns", "duration_ns", "time_kind", "layer", "level"),
    *("call", "text", "file", "dataset", "result", "words", "transfers"),
)


def calls(
    path: str | os.PathLike[str], wanted: CallFilter | None = None, limit: int | None = None
) -> Iterator[Call]:
    """The calls in time order, each before those that were made inside it."""
    reader = CallReader(path, wanted, _CALL_COLUMNS, limit, batch_rows=4096)
    zero_ns = reader.run_start_unix_ns
    for batch in reader:
        for row in zip(*(batch.values(column) for column in _CALL_COLUMNS)):
            rank, process, thread, start_ns, duration_ns, *named, words, transfers = row
            kind, layer, level, name, text, file, dataset, result = named
            recorded = json.loads(words)
            yield Call(
                rank,
                process,
                thread,
                (zero_ns + start_ns) / 1e9,
                duration_ns / 1e9,
                kind,
                layer,
                level,
                name,
                text,
                file,
                dataset,
                tuple(recorded["keys"]),
                tuple(recorded["numbers"]),
                tuple(recorded["texts"]),
                result,
                tuple(json.loads(transfers)) if transfers else (),
            )
