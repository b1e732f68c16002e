"""Prints what PyDarshan finds in a log, a line a record or segment. Run by darshan_log.

First the job and what the log holds, then the counters of all records, then DXT's segments.
"""

from __future__ import annotations

import bisect
import json
import resource
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

_MOST_MEMORY_BYTES = 4 << 30
_TRACED = ("DXT_POSIX", "DXT_MPIIO")
_COUNTED = ("POSIX", "MPI-IO", "STDIO", "H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR", "LUSTRE")
_OF_A_FILE = ("H5D", "PNETCDF_VAR")  # records of a part of it


def _records(backend: Any, log: str, module: str) -> Iterator[dict[str, Any]]:
    handle = backend.log_open(log)  # of its own: a handle reads one module after the other
    while (record := backend.log_get_record(handle, module, "dict")) is not None:
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


def _print_counters(backend: Any, log: str, module: str, names: Any) -> None:
    """A line a record: the counters that are not zero; Darshan has -1 where it did not count."""
    for record in _records(backend, log, module):
        said = _counters_of(module, record)
        if module in _OF_A_FILE:  # 0 in logs of HDF5's first such module
            said["file"] = names(record["file_rec_id"]) if record["file_rec_id"] else ""
        print("counted", module, record["rank"], quote(names(record["id"])), json.dumps(said))


def _counters_of(module: str, record: dict[str, Any]) -> dict[str, Any]:
    if module == "LUSTRE":
        # A composite layout has several; before, the record was the one.
        parts = record.get("components", [record])
        counters = {key: int(value) for key, value in parts[0]["counters"].items()}
        targets = parts[0].get("ost_ids", record.get("ost_ids", ()))
        return {**counters, "osts": [int(one) for one in targets]}
    counted = {key: int(value) for key, value in record["counters"].items() if value not in (0, -1)}
    timed = {key: float(value) for key, value in record["fcounters"].items() if value > 0}
    return counted | timed


def _print_heatmap(backend: Any, log: str, names: Any) -> None:
    for record in _records(backend, log, "HEATMAP"):
        said = {
            "width": float(record["bin_width_seconds"]),
            "read": [int(one) for one in record["read_bins"]],
            "write": [int(one) for one in record["write_bins"]],
        }
        print("heat", record["rank"], quote(names(record["id"])), json.dumps(said))


def _limit_memory() -> None:
    """What a damaged log makes PyDarshan ask for is refused, and no core is left.

    Counted from here on: threads of numpy's libraries have as much stack each as `ulimit -s` says.
    """
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    most = used + _MOST_MEMORY_BYTES
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(log: str) -> None:
    """Print the job, then all counters, then each traced record with its segments, then `end`."""
    import darshan.backend.cffi_backend as backend

    _limit_memory()
    handle = backend.log_open(log)
    if handle["handle"] == backend.ffi.NULL:
        print("fail not a log that PyDarshan can read")
        return
    job = backend.log_get_job(handle)
    command = backend.log_get_exe(handle)
    modules = backend.log_get_modules(handle)
    start = (job["start_time_sec"], job["start_time_nsec"])
    print("job", *start, job["nprocs"], quote(str(command)))
    library = str(job.get("metadata", {}).get("lib_ver", ""))
    print("run", float(job["run_time"]), quote(str(job["log_ver"])), quote(library) or "-")
    for path, kind in backend.log_get_mounts(handle):
        print("mount", quote(path) or "-", quote(kind) or "-")
    for name, module in modules.items():
        print("module", quote(name), int(bool(module.get("partial_flag"))))

    names = backend.log_get_name_records(handle)

    def path_of(record: int) -> str:
        return str(names.get(record) or f"unnamed-{record}")

    for name in _COUNTED:
        if name in modules:
            _print_counters(backend, log, name, path_of)
    if "HEATMAP" in modules:
        _print_heatmap(backend, log, path_of)

    def records() -> Iterator[tuple[str, dict[str, Any]]]:
        posix, mpi = (
            _records(backend, log, name) if name in modules else iter(()) for name in _TRACED
        )
        return _by_rank(posix, mpi)

    if all(name in modules for name in _TRACED):
        below: set[int] = set()

        def noted() -> Iterator[tuple[str, dict[str, Any]]]:
            for module, record in records():
                if module == "DXT_POSIX":
                    below.add(record["id"])
                yield module, record

        for one in sorted(true_extents(noted())):
            print("true", quote(path_of(one)))
        for one in sorted(below):
            print("below", quote(path_of(one)))
    for module, record in records():
        path = path_of(record["id"])
        print("record", module, record["rank"], quote(record["hostname"]) or "-", quote(path))
        _print_segments(module, record)
    print("end")


if __name__ == "__main__":
    main(sys.argv[1])
