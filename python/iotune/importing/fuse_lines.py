"""FUSE-Tracer's lines (He et al., HPDC'13, section 5): `pid path op offset length start end`.

A host name may stand before the pid. Times are seconds. Paths may hold blanks: five words follow.
"""

from __future__ import annotations

from pathlib import Path

from iotune.errors import Error
from iotune.importing.lines import Malformed, lines_of, seconds_ns, whole
from iotune.importing.sink import READ, WRITE, AccessSink, kind_of

_MOST_PID = (1 << 31) - 1


def read(log: Path, sink: AccessSink) -> None:
    """Put all lines of `log` into the sink. Each process becomes a rank, in their order."""
    for number, line in lines_of(log):
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            _add(line, sink)
        except Malformed as problem:
            raise Error(f"{log}:{number}: {problem}") from None


def split(line: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """Host (or nothing), pid, and the rest: path, op, offset, length, start, end."""
    first, *tail = line.split(None, 1)
    host = b""
    if not first.isdigit():
        host, (first, *tail) = first, (tail[0].split(None, 1) if tail else [b""])
    words = tail[0].rsplit(None, 5) if tail else []
    if len(words) != 6 or not first.isdigit():
        raise Malformed("not 'pid path op offset length start end'")
    return host, first, words


def _add(line: bytes, sink: AccessSink) -> None:
    host, pid_word, (path, op, offset, length, start, end) = split(line)
    kind = kind_of(op.decode("ascii", "replace"))
    if kind is None:
        sink.left_out[op.decode("utf-8", "backslashreplace")[:30]] += 1
        return
    pid = whole(pid_word, "the pid", most=_MOST_PID)
    process = sink.process((host, pid), None, pid, host)
    moves = kind in (READ, WRITE)
    sink.add(
        process,
        kind,
        path,
        whole(offset, "the offset") if moves else 0,
        whole(length, "the length") if moves else 0,
        seconds_ns(start, "the start"),
        seconds_ns(end, "the end"),
    )
