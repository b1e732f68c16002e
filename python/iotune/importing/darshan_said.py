"""What a log of Darshan's says of its own gaps: sentences that the trace keeps."""

from __future__ import annotations

from iotune.importing.darshan_totals import DarshanTotals
from iotune.importing.sink import AccessSink
from iotune.reports.tables import size_text

_DXT = ("DXT_POSIX", "DXT_MPIIO")


def say_of_log(sink: AccessSink, totals: DarshanTotals, traced: set[str]) -> None:
    """Put into the sink what is missing of a log that was read; `traced`: paths with calls."""
    for name in totals.cut:
        what = "segments" if name in _DXT else "files"
        sink.losses.append(
            f"{name} was cut by Darshan's memory limit while the program ran: later {what} are "
            "missing"
        )
    if totals.is_empty and not sink.accesses:
        return
    if "POSIX" not in totals.modules:
        sink.losses.append("the log has no counters of POSIX: bytes that went by it are not known")
    files, size = totals.of_stdio()
    if files and "POSIX" in totals.modules:
        noun = "file" if files == 1 else "files"
        sink.losses.append(
            f"{size_text(size)} of {files} {noun} went by stdio: the log has them in counters "
            "alone, and they are not among the bytes of files"
        )
    if sink.accesses == 0:
        return
    files, size = totals.alone(traced)
    if files:
        noun = "file" if files == 1 else "files"
        sink.losses.append(
            f"of {files} {noun}, {size_text(size)}, the log has counters alone: totals and no calls"
        )
