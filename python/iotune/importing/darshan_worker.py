"""Prints what PyDarshan finds in a log, a line a segment. Run by darshan_log, as a script."""

from __future__ import annotations

import bisect
import resource
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

_MOST_MEMORY_BYTES = 4 << 30


def _records(backend: Any, log: str, module: str) -> Iterator[dict[str, Any]]:
    handle = backend.log_open(log)  # of its own: a handle reads one module after the other
    while (record := backend.log_get_dxt_record(handle, module)) is not None:
        yield record
    backend.log_close(handle)


def _by_rank(
    left: Iterator[dict[str, Any]], right: Iterator[dict[str, Any]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Both modules' records, of a rank those of POSIX first."""
    posix, mpi = next(left, None), next(right, None)
    while posix is not None or mpi is not None:
        if mpi is None or (posix is not None and posix["rank"] <= mpi["rank"]):
            assert posix is not None
            yield "DXT_POSIX", posix
            posix = next(left, None)
        else:
            yield "DXT_MPIIO", mpi
            mpi = next(right, None)


def true_extents(records: Iterable[tuple[str, dict[str, Any]]]) -> set[int]:
    """Ids of files of which MPI-IO's extents are where the data lie, on all ranks.

    They are not under a view, and the log has no views. But where POSIX moved, within each of its
    calls, just these bytes, they are. `records` as of _by_rank.
    """
    true: set[int] = set()
    others: set[int] = set()
    rank = None
    below: dict[int, dict[str, Any]] = {}
    for module, record in records:
        if record["rank"] != rank:
            rank, below = record["rank"], {}
        if module == "DXT_POSIX":
            below[record["id"]] = record
            continue
        posix = below.get(record["id"], {"read_segments": (), "write_segments": ()})
        lies_there = all(
            _covered(record[kind], posix[kind], kind == "read_segments")
            for kind in ("read_segments", "write_segments")
        )
        (true if lies_there else others).add(record["id"])
    return true - others


def _covered(outer: Sequence[dict[str, Any]], inner: Sequence[dict[str, Any]], reads: bool) -> bool:
    """Whether the inner calls within each outer one moved its bytes, one behind the other."""
    inner = sorted(inner, key=lambda one: float(one["start_time"]))
    starts = [one["start_time"] for one in inner]
    for call in outer:
        if call["length"] <= 0:
            continue
        first = bisect.bisect_left(starts, call["start_time"])
        last = bisect.bisect_right(starts, call["end_time"])
        within = [one for one in inner[first:last] if one["end_time"] <= call["end_time"]]
        at = call["offset"]
        for one in sorted(within, key=lambda one: int(one["offset"])):
            if one["offset"] != at:
                return False
            at += one["length"]
        end = call["offset"] + call["length"]
        # A read may have met the file's end.
        if not within or (at > end if reads else at != end):
            return False
    return True


def _print_segments(module: str, record: dict[str, Any]) -> None:
    for letter, segments in (("r", record["read_segments"]), ("w", record["write_segments"])):
        sys.stdout.writelines(
            f"{letter} {offset_word(module, one['offset'])} {one['length']} "
            f"{one['start_time']!r} {one['end_time']!r}\n"
            for one in segments
        )


def offset_word(module: str, offset: int) -> str:
    """An offset, or ? where the log has none.

    Before DXT's version 2 (Darshan 3.2.0) MPI-IO's offsets were not recorded, and some builds of
    later versions leave them out too; libdarshan-util then gives -1.
    """
    not_recorded = module == "DXT_MPIIO" and offset == -1
    return "?" if not_recorded else str(offset)


def main(log: str) -> None:
    """Print the job, then each record with its segments, then `end`."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import darshan.backend.cffi_backend as backend

    handle = backend.log_open(log)
    if handle["handle"] == backend.ffi.NULL:
        print("fail not a log that PyDarshan can read")
        return
    job = backend.log_get_job(handle)
    command = backend.log_get_exe(handle)
    modules = backend.log_get_modules(handle)
    start = (job["start_time_sec"], job["start_time_nsec"])
    print("job", *start, job["nprocs"], quote(str(command)))
    traced = [name for name in ("DXT_POSIX", "DXT_MPIIO") if name in modules]
    if not traced:
        print("fail without extended tracing (DXT_ENABLE_IO_TRACE=1 while the program runs)")
        return
    for name in traced:
        if modules[name].get("partial_flag"):
            print(f"note {name} was cut by Darshan's memory limit while the program ran")

    def records() -> Iterator[tuple[str, dict[str, Any]]]:
        posix, mpi = (
            _records(backend, log, name) if name in modules else iter(())
            for name in ("DXT_POSIX", "DXT_MPIIO")
        )
        return _by_rank(posix, mpi)

    names = backend.log_get_name_records(handle)

    def path_of(record: int) -> str:
        return str(names.get(record) or f"unnamed-{record}")

    if len(traced) == 2:
        for one in sorted(true_extents(records())):
            print("true", quote(path_of(one)))
    for module, record in records():
        path = path_of(record["id"])
        print("record", module, record["rank"], quote(record["hostname"]) or "-", quote(path))
        _print_segments(module, record)
    print("end")


if __name__ == "__main__":
    main(sys.argv[1])
