"""Prints what PyDarshan finds in a log, a line a segment. Run by darshan_log, as a script."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
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


def _print_segments(record: dict[str, Any]) -> None:
    for letter, segments in (("r", record["read_segments"]), ("w", record["write_segments"])):
        sys.stdout.writelines(
            f"{letter} {one['offset']} {one['length']} {one['start_time']!r} {one['end_time']!r}\n"
            for one in segments
        )


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
    streams = [
        _records(backend, log, name) if name in modules else iter(())
        for name in ("DXT_POSIX", "DXT_MPIIO")
    ]
    names = backend.log_get_name_records(handle)
    for module, record in _by_rank(streams[0], streams[1]):
        path = names.get(record["id"]) or f"unnamed-{record['id']}"
        print("record", module, record["rank"], quote(record["hostname"]) or "-", quote(path))
        _print_segments(record)
    print("end")


if __name__ == "__main__":
    main(sys.argv[1])
