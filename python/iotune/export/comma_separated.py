"""Calls as CSV: a head line, then a line a call; missing values are empty."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import BinaryIO

from iotune.export import Exported
from iotune.traces.call_filter import CallFilter
from iotune.traces.calls import COLUMNS, CallReader

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
    text = io.TextIOWrapper(to, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        # What the ends of lines have is quoted within names, and some readers end lines at \r.
        lines = csv.writer(_Lines(text), lineterminator="\r\n")
        lines.writerow(COLUMNS)
        count = 0
        for batch in reader:
            count += batch.rows
            lines.writerows(zip(*(batch.values(column) for column in COLUMNS)))
        text.flush()
    finally:
        text.detach()
    return Exported(count, reader.losses)
