"""What a log is, by its content."""

from __future__ import annotations

import re
from pathlib import Path

from iotune.errors import Error
from iotune.importing import fuse_lines, recorder_text
from iotune.importing.lines import MOST_LINE_BYTES, UTF8_MARK, Malformed, seconds_ns
from iotune.importing.table_head import is_head, is_meant_as_head

# A version ("3.21"), NULs up to 8 bytes, then 6567223 as a 64-bit number of either byte order.
_DARSHAN = re.compile(rb"\d+\.\d+\0{2,6}(?:75d\0{5}|\0{5}d57)", re.DOTALL)

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
}


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
    for magic, tool in _COMPRESSED.items():
        if begin.startswith(magic):
            raise Error(f"{log}: compressed by {tool}: unpack it first")
    commented_head = False
    for line in begin.removeprefix(UTF8_MARK).splitlines():
        if line.startswith(b"#"):
            commented_head |= is_head(line.lstrip(b"#"))
        elif line.strip():
            found = _format_of_line(line) or ("csv" if commented_head else None)
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
    # A table's own fault is reported better by its reader.
    return "csv" if is_head(line) or is_meant_as_head(line) else None
