"""Calls as CSV: a head line, then a line a call; missing values are empty."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import BinaryIO

from iotune.call_filter import CallFilter
from iotune.calls import COLUMNS, CallReader
from iotune.export import Exported

_BATCH_ROWS = 1 << 14


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Write them; names keep bytes that are not UTF-8 as they are."""
    reader = CallReader(path, wanted, COLUMNS, limit, _BATCH_ROWS)
    text = io.TextIOWrapper(to, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(COLUMNS)
        count = 0
        for batch in reader:
            count += batch.rows
            lines.writerows(zip(*(batch.values(column) for column in COLUMNS)))
        text.flush()
    finally:
        text.detach()
    return Exported(count, reader.losses)
