"""What a log is, by its content."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from iotune.errors import Error
from iotune.importing import dftracer_lines, fuse_lines, recorder_text, strace_text
from iotune.importing.darshan_text import is_darshan_text
from iotune.importing.lines import MOST_LINE_BYTES, UTF8_MARK, Malformed, open_log, seconds_ns
from iotune.importing.table_head import is_head, is_meant_as_head

# A version ("3.21"), NULs up to 8 bytes, then 6567223 as a 64-bit number of either byte order.
_DARSHAN = re.compile(rb"\d+\.\d+\0{2,6}(?:75d\0{5}|\0{5}d57)", re.DOTALL)

# Of Darshan 2 the version alone tells.
_OLD_DARSHAN = re.compile(rb"[12]\.\d\d\0{2,}")
_BLKTRACE = (b"\x07tae", b"eat\x07")  # 0x65617407, of either byte order
_BLOCK_TRACES = {
    "as blkparse prints it": re.compile(
        rb"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]{1,2}\s+[A-Z]+\b"
    ),
    "as MSR's and SNIA's are": re.compile(
        rb"\d{15,18},[^,]*,\d+,(?:read|write),\d+,\d+(?:,\d+)?\s*$", re.IGNORECASE
    ),
}
_NO_FILES = ": it has places of devices and no files (a CSV's --columns may name the device file)"

_COMPRESSED = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
}

# What a log is taken for, in a message: of each form that there is.
NAMES = {
    "darshan": "a log of Darshan",
    "darshan-text": "the text of a log of Darshan",
    "fuse": "a log of FUSE-Tracer",
    "recorder": "the text of Recorder",
    "csv": "a table",
    "strace": "the output of strace",
    "dftracer": "events of dftracer",
}


def format_of(log: Path) -> str:
    """A name of NAMES. Raises Error where it is none of them."""
    try:
        if log.is_dir():
            return "recorder"
        with open_log(log) as file:
            begin = file.read(MOST_LINE_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise Error(f"{log}: packed by gzip, and damaged: {problem}") from None
    except OSError as problem:
        raise Error(f"{log}: {problem.strerror}") from None
    if _OLD_DARSHAN.match(begin):
        raise Error(f"{log}: a log of Darshan 2: logs of Darshan 3.0 and later can be read")
    if _DARSHAN.match(begin):
        return "darshan"
    for magic, tool in _COMPRESSED.items():
        if begin.startswith(magic):
            raise Error(f"{log}: compressed by {tool}: unpack it first")
    commented_head = False
    if re.match(rb"\s*#\s*darshan log version:", begin):
        return "darshan-text"
    if begin.startswith(_BLKTRACE):
        raise Error(f"{log}: a block trace of blktrace's{_NO_FILES}")
    for line in begin.removeprefix(UTF8_MARK).splitlines():
        if line.startswith(b"#"):
            commented_head |= is_head(line.lstrip(b"#"))
        elif line.strip() not in (b"", b"["):
            found = _format_of_line(line) or ("csv" if commented_head else None)
            if found:
                return found
            named = next((name for name, form in _BLOCK_TRACES.items() if form.match(line)), None)
            if named:
                raise Error(f"{log}: a block trace, {named}{_NO_FILES}")
            break
    raise Error(
        f"{log}: neither Darshan's, Recorder's, FUSE-Tracer's, dftracer's nor strace's log, nor a "
        "CSV with a head line (--columns says what the columns of one without are)"
    )


def _format_of_line(line: bytes) -> str | None:
    if recorder_text.is_call(line):
        return "recorder"
    for form, is_one in (
        ("strace", strace_text.is_call),
        ("dftracer", dftracer_lines.is_event),
        ("darshan-text", is_darshan_text),
    ):
        if is_one(line):
            return form
    try:
        words = fuse_lines.split(line)[2]
        seconds_ns(words[-1], "the end")
        return "fuse"
    except Malformed:
        pass
    # A table's own fault is reported better by its reader.
    return "csv" if is_head(line) or is_meant_as_head(line) else None
