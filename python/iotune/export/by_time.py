"""Bytes by process, file, direction and bin of the run's time, as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import BinaryIO

from iotune import core
from iotune.export import Exported
from iotune.traces.bytes_by_time import bytes_by_time
from iotune.traces.call_filter import CallFilter

COLUMNS = ("rank", "process", "file", "operation", "from_ns", "to_ns", "bytes")


def write(path: Path, wanted: CallFilter, limit: int | None, to: BinaryIO) -> Exported:
    """Write the bins that are not empty; times count from the run's first call."""
    elapsed_seconds = float(core.summarize(path)["elapsed_seconds"])
    found = bytes_by_time(path, elapsed_seconds, wanted, limit=limit)
    ranks = [int(one.get("rank", -1)) for one in core.processes(path)]
    text = io.TextIOWrapper(to, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(COLUMNS)
        for process, file, operation, at, moved in found.rows():
            begin = at * found.bin_ns
            lines.writerow(
                (ranks[process], process, file, operation, begin, begin + found.bin_ns, moved)
            )
        text.flush()
    finally:
        text.detach()
    return Exported(found.calls, found.losses)
