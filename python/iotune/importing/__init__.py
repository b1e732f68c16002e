"""Other tools' logs as traces of our own (docs/import.md)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from iotune.core import native_part
from iotune.errors import Error
from iotune.importing import (
    darshan_log,
    dftracer_lines,
    fuse_lines,
    guess,
    recorder_text,
    strace_text,
    table,
)
from iotune.importing.sink import AccessSink
from iotune.output_file import demand_replaceable

_READERS: dict[str, Callable[[Path, AccessSink], None]] = {
    "darshan": darshan_log.read,
    "fuse": fuse_lines.read,
    "recorder": recorder_text.read,
    "csv": table.read,
    "strace": strace_text.read,
    "dftracer": dftracer_lines.read,
    "darshan-text": darshan_log.read_text,
}
FORMATS = tuple(_READERS)


@dataclass(frozen=True)
class Imported:
    """What an import made."""

    trace: Path
    format: str
    processes: int
    calls: int  # the opens and closes that logs leave out included; 0: it has totals alone
    notes: list[str] = field(default_factory=list)
    ranks: int = 0  # as the log says it; 0: it does not


def import_log(
    log: str | os.PathLike[str],
    output: str | os.PathLike[str],
    format: str | None = None,
    times: str = "exact",
    force: bool = False,
    columns: str | None = None,
) -> Imported:
    """Write a trace of what `log` holds to `output`.

    `format` is one of FORMATS, else it is guessed from the content. `times`: exact; call, a
    little rounded and smaller; or pattern, of patterns only. `columns`: of a table without a head
    line, with commas between them; other names than docs/import.md has are passed over. Raises
    Error, with file and line or
    record, for a log that is damaged or contradicts itself, and leaves no file then.
    """
    source, target = Path(log), Path(output)
    if source.exists() and not source.is_file() and not source.is_dir():
        # A pipe would be waited for, or read from its middle on.
        raise Error(f"{source}: no regular file: a log is read twice, so write it into one first")
    if columns is not None and format not in (None, "csv"):
        raise Error(f"columns are a table's: the format is {format}")
    chosen = format or ("csv" if columns is not None else guess.format_of(source))
    if chosen not in _READERS:
        raise Error(f"{chosen!r} is no format of logs: {', '.join(FORMATS)}")
    demand_replaceable(target, force)
    writer = native_part().ImportWriter(os.fsencode(target), times, force)
    sink = AccessSink(writer, source, secrets.token_hex(8))
    sink.columns = columns
    try:
        _READERS[chosen](source, sink)
    except OSError as problem:
        raise Error(f"{problem.filename or source}: {problem.strerror or problem}") from None
    except Error as problem:
        if format is not None or columns is not None or chosen == "darshan":
            raise  # Darshan's magic number is no guess
        taken_for = guess.NAMES[chosen]
        raise Error(f"{problem} ({taken_for} by its content: --format says other)") from None
    if sink.accesses == 0 and sink.totals is None:
        raise Error("; ".join([f"{source}: no reads and no writes in it", *sink.said_left_out()]))
    sink.end(chosen)
    done = writer.finish()
    return Imported(
        target, chosen, done["processes"], done["calls"], [*sink.losses, *sink.notes], sink.ranks
    )
