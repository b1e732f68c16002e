"""Rows of a large table by its columns: by itself each costs many times as much.

Rows are plain where each has a rank, a name, a read or a write of POSIX, and times. From the first
piece of the table on that is not plain, all is left to the reader of rows (table.py), which says
what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from iotune.importing.lines import LARGEST_OFFSET, LARGEST_TIME_NS, Malformed, open_log
from iotune.importing.sink import (
    MOST_PATH_BYTES,
    MOST_RANK,
    READ,
    WRITE,
    AccessSink,
    kind_of,
    mpi_kind_of,
)
from iotune.importing.table_head import Head

_PIECE_BYTES = 4 << 20
_LEAST_BYTES = 256 << 10  # of a table: to load Arrow costs as much as some thousand rows
_DIGITS_BEFORE_POINT = 10
_MOST_EXACT_SECONDS = 250_000.0  # a double of so many is right to 0.06 ns
_NUMBERS = ("rank", "offset", "length", "start_ns", "end_ns", "duration_ns")
_SECONDS = ("start", "end", "duration")
_TEXTS = ("file", "op")


def take_plain_rows(log: Path, head: Head, sink: AccessSink, start: int) -> tuple[int, int]:
    """Put rows from byte `start` of the unpacked log on into the sink, as long as they are plain.

    Returns where the first one that was not taken begins, and the lines before it from `start` on.
    """
    lines = 0
    if not _may_be_plain(head):
        return start, lines
    with open_log(log) as file:
        file.seek(start)
        piece = file.read(_PIECE_BYTES)
        if len(piece) < _LEAST_BYTES:
            return start, lines
        try:
            from pyarrow import csv
        except ImportError:
            return start, lines
        while piece:
            piece += file.readline(_PIECE_BYTES)
            columns = _columns(piece, head, csv)
            taken = 0 if columns is None else _put(columns, sink)
            whole = columns is not None and taken == len(columns["rank"])
            done = piece if whole else b"".join(_first_rows(piece, taken))
            start += len(done)
            lines += done.count(b"\n")
            if not whole:
                break
            piece = file.read(_PIECE_BYTES)
    return start, lines


def _may_be_plain(head: Head) -> bool:
    """Whether all columns that are known are numbers, names and seconds of one process each."""
    known = head.places.keys()
    return (
        not head.any_call
        and known <= {*_NUMBERS, *_SECONDS, *_TEXTS}
        and "rank" in known
        and len(known & {"start", "start_ns"}) == 1
        and len(known & {"end", "end_ns", "duration", "duration_ns"}) == 1
        # Who has commas elsewhere may have them within seconds.
        and (head.separator == "," or not known & {*_SECONDS})
    )


def _columns(piece: bytes, head: Head, csv: Any) -> dict[str, Any] | None:
    """The columns of some lines as Arrow reads them; None where a row may mean something else."""
    import pyarrow

    if _is_odd(piece, head.separator.encode()):
        return None
    # Seconds are read many times as fast where doubles hold their nanoseconds.
    columns = _read(piece, head, csv, pyarrow.float64())
    if columns is not None and not all(
        _are_exact(column.to_numpy()) for name, column in columns.items() if name in _SECONDS
    ):
        columns = _read(piece, head, csv, pyarrow.decimal128(9 + _DIGITS_BEFORE_POINT, 9))
    return columns


def _are_exact(seconds: Any) -> bool:
    """Whether these doubles are seconds with nine places at most, as they were written."""
    if len(seconds) == 0 or not 0 <= seconds.min() <= seconds.max() < _MOST_EXACT_SECONDS:
        return False
    scaled = seconds * 1e9
    return bool((np.abs(scaled - np.rint(scaled)) < 0.1).all())


def _read(piece: bytes, head: Head, csv: Any, seconds: Any) -> dict[str, Any] | None:
    import pyarrow

    types: dict[str, Any] = {name: pyarrow.int64() for name in _NUMBERS}
    types |= dict.fromkeys(_SECONDS, seconds)
    types |= {name: pyarrow.dictionary(pyarrow.int32(), pyarrow.binary()) for name in _TEXTS}
    by_place = {place: name for name, place in head.places.items()}
    names = [by_place.get(place, f"-{place}") for place in range(head.width)]
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(piece),
            read_options=csv.ReadOptions(
                column_names=names, block_size=len(piece) + 1, use_threads=False
            ),
            parse_options=csv.ParseOptions(delimiter=head.separator, quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=list(head.places), null_values=[""],
                strings_can_be_null=True,
            ),
        )  # fmt: skip
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError):
        return None
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    if any(column.null_count for column in columns.values()):
        return None
    return columns


def _is_odd(piece: bytes, mark: bytes) -> bool:
    """Whether it has quotes, blanks around words, or numbers as only Arrow reads them."""
    if piece[:1] in (b" ", b"#") or any(byte in piece for byte in (b'"', b"\0", b"\r")):
        return True
    if b" " in piece and any(word in piece for word in (b" " + mark, mark + b" ", b" \n", b"\n ")):
        return True
    return any(
        number in piece and (piece.startswith(number) or mark + number in piece
                             or b"\n" + number in piece)
        for number in (b"0x", b"0X", b".", b"+")
    )  # fmt: skip


def _first_rows(piece: bytes, count: int) -> Iterator[bytes]:
    """The lines of so many rows, and blank ones between them."""
    for line in piece.splitlines(keepends=True):
        if count == 0:
            return
        count -= 1 if line.strip() else 0
        yield line


def _put(columns: dict[str, Any], sink: AccessSink) -> int:
    """Add rows, and return how many: none where one is not plain, less than all at a fault."""
    numbers = {
        name: _nanoseconds(column) if name in _SECONDS else column.to_numpy()
        for name, column in columns.items()
        if name not in _TEXTS
    }
    start = numbers["start" if "start" in numbers else "start_ns"]
    end = numbers.get("end", numbers.get("end_ns"))
    lasts = numbers.get("duration", numbers.get("duration_ns"))
    offset, length, rank = (numbers[name] for name in ("offset", "length", "rank"))
    if len(rank) == 0:
        return 0
    if any(column.min() < 0 for column in numbers.values()) or rank.max() > MOST_RANK:
        return 0
    if max(column.max() for column in (start, end, lasts) if column is not None) > LARGEST_TIME_NS:
        return 0
    if end is None:
        end = start + lasts
    if (end < start).any() or end.max() > LARGEST_TIME_NS:
        return 0
    if (length > LARGEST_OFFSET - offset).any():
        return 0
    names, operations = columns["file"], columns["op"]
    paths = names.dictionary.to_pylist()
    kinds = [_kind_of(one) for one in operations.dictionary.to_pylist()]
    if None in kinds or not all(_is_plain(one) for one in paths):
        return 0
    ranks, firsts, places = np.unique(rank, return_index=True, return_inverse=True)
    processes = np.zeros(len(ranks), dtype=np.int64)
    try:
        for at in np.argsort(firsts):  # who comes first is the first one
            number = int(ranks[at])
            processes[at] = sink.process((b"", number, b""), number)
    except Malformed:
        return 0
    return sink.add_all(
        processes[places],
        np.array(kinds, dtype=np.int64)[operations.indices.to_numpy()],
        paths,
        names.indices.to_numpy().astype(np.int64),
        (offset, length, start, end),
    )


def _nanoseconds(seconds: Any) -> Any:
    """Of exact doubles; or of decimals with nine places, -1 where 64 bits do not hold them."""
    if str(seconds.type) == "double":
        return np.rint(seconds.to_numpy() * 1e9).astype(np.int64)
    words = np.frombuffer(seconds.buffers()[1], dtype=np.int64)
    words = words[2 * seconds.offset : 2 * (seconds.offset + len(seconds))]
    return np.where(words[1::2] == 0, words[0::2], -1)


def _kind_of(operation: bytes) -> int | None:
    word = operation.decode("utf-8", "backslashreplace")
    kind = kind_of(word) if mpi_kind_of(word)[0] is None else None
    return kind if kind in (READ, WRITE) else None


def _is_plain(path: bytes) -> bool:
    """Whether the reader of rows would take it as it is."""
    text = path.decode("utf-8", "surrogateescape")
    return 0 < len(path) <= MOST_PATH_BYTES and text == text.strip()
