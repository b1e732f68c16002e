"""What a log is, by its content."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from iotune.errors import Error
from iotune.importing import fuse_lines, recorder_text, table
from iotune.importing.lines import MOST_LINE_BYTES, Malformed, seconds_ns

# A version ("3.21"), NULs up to 8 bytes, then 6567223 as a 64-bit number of either byte order.
_DARSHAN = re.compile(rb"\d+\.\d+\0{2,6}(?:75d\0{5}|\0{5}d57)", re.DOTALL)


def format_of(log: Path) -> str:
    """darshan, fuse, recorder or csv. Raises Error where it is none of them."""
    try:
        if log.is_dir():
            return "recorder"
        with log.open("rb") as file:
            begin = file.read(MOST_LINE_BYTES)
    except OSError as problem:
        raise Error(f"{log}: {problem.strerror}") from None
    if _DARSHAN.match(begin):
        return "darshan"
    for line in begin.splitlines():
        if line.strip() and not line.startswith(b"#"):
            found = _format_of_line(line)
            if found:
                return found
            break
    raise Error(f"{log}: neither Darshan's, Recorder's, FUSE-Tracer's nor a CSV with a head line")


def _format_of_line(line: bytes) -> str | None:
    if recorder_text.is_call(line):
        return "recorder"
    try:
        words = fuse_lines.split(line)[2]
        seconds_ns(words[-1], "the end")
        return "fuse"
    except Malformed:
        pass
    try:
        table.columns_of(next(csv.reader([line.decode("utf-8", "surrogateescape")])))
    except (Malformed, csv.Error, StopIteration):
        # A CSV's own fault is told better by its reader.
        return "csv" if b"," in line and b"offset" in line.lower() else None
    return "csv"
