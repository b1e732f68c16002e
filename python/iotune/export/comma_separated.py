"""Calls as CSV: a head line, then a line a call; missing values are empty."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from iotune.export import Exported
from iotune.traces.call_filter import CallFilter
from iotune.traces.calls import COLUMNS, CallReader
from iotune.traces.log_totals import losses_of
from iotune.traces.regions import REGION_COLUMNS, each_region, row_of

_BATCH_ROWS = 1 << 14


class _Lines:
    """Rows as csv writes them, each in one piece, with the ends of lines that we have."""

    def __init__(self, to: io.TextIOWrapper):
        self._to = to

    def write(self, row: str) -> int:
        return self._to.write(row[:-2] + "\n")


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Write them; names keep bytes that are not UTF-8 as they are."""
    reader = CallReader(path, wanted, COLUMNS, limit, _BATCH_ROWS)
    rows = (row for batch in reader for row in zip(*(batch.values(column) for column in COLUMNS)))
    return Exported(_write_rows(COLUMNS, rows, to), reader.losses)


class Regions:
    """The entries of the program's regions instead of calls."""

    def write(self, path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
        """Write them."""
        entries = islice(each_region(path, wanted.ranks), limit)
        rows = (tuple(row_of(one).values()) for one in entries)
        return Exported(_write_rows(REGION_COLUMNS, rows, to), losses_of(path))


def _write_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], to: BinaryIO) -> int:
    """Returns how many there were."""
    text = io.TextIOWrapper(to, encoding="utf-8", errors="surrogateescape", newline="")
    count = 0
    try:
        # What the ends of lines have is quoted within names, and some readers end lines at \r.
        lines = csv.writer(_Lines(text), lineterminator="\r\n")
        lines.writerow(columns)
        for row in rows:
            count += 1
            lines.writerow(row)
        text.flush()
    finally:
        text.detach()
    return count
