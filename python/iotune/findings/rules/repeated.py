"""The same bytes more than once."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from iotune.findings import thresholds as limit
from iotune.findings.covered import Covered
from iotune.findings.facts import Facts, at_most, counted, slowest
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5, mpiio, posix
from iotune.findings.streams import (
    HDF5_MAKES,
    HDF5_WRITE,
    MPI_WRITE,
    MPI_WRITE_ALL,
    Stream,
)
from iotune.reports.tables import size_text


def _moved(facts: Facts, writes: bool) -> dict[str, dict[int, tuple[int, int, float]]]:
    """Calls, bytes and seconds of what `covered` counts, by file and process."""
    found: dict[str, dict[int, tuple[int, int, float]]] = defaultdict(dict)
    for one in facts.streams:
        if one.file and one.placed and _counts(one, writes):
            calls, size, seconds = found[one.file].get(one.process, (0, 0, 0.0))
            found[one.file][one.process] = (
                calls + one.calls,
                size + one.bytes,
                seconds + one.seconds,
            )
    return found


def _counts(one: Stream, writes: bool) -> bool:
    meaning = one.meaning
    if not meaning.below_mpi or not (meaning.writes if writes else meaning.reads):
        return False
    if one.outer == HDF5_MAKES:
        return False
    return writes or not (one.parent in (MPI_WRITE, MPI_WRITE_ALL) or one.outer == HDF5_WRITE)


def _different(facts: Facts, writes: bool) -> dict[str, dict[int, Covered]]:
    """File -> process -> its different bytes."""
    found: dict[str, dict[int, Covered]] = defaultdict(dict)
    for (file, way, process), one in facts.covered.items():
        if way == writes:
            found[file][process] = one
    return found


def _again(facts: Facts, writes: bool) -> Sighting | None:
    """What one process moved again that it had moved itself."""
    found = []
    different_of = _different(facts, writes)
    for file, processes in _moved(facts, writes).items():
        if writes and facts.is_sieved(file):
            continue
        unique = different_of[file]
        extra, once, calls, ranks = 0, 0, 0, []
        times: dict[int, float] = {}
        for process, (number, size, taken) in processes.items():
            different = unique[process].bytes if process in unique else None
            more = 0 if different is None else size - different
            if different is None or more < limit.REPEATED_SHARE * different:
                continue
            extra, once, calls = extra + more, once + different, calls + number
            times[process] = taken * more / size
            ranks.append(facts.ranks_of_processes[process])
        if extra < limit.REPEATED_BYTES:
            continue
        verb = "wrote" if writes else "read"
        who = "one process" if len(ranks) == 1 else f"{len(ranks)} processes, each for itself,"
        text = (
            f"{who} {verb} the same bytes {(once + extra) / once:.1f} times over: "
            f"{size_text(once + extra)} moved, {size_text(once)} different"
        )
        own = tuple(sorted(one for one in ranks if one >= 0))
        found.append(counted(text, file, "", own, calls, extra, times))
    if not found:
        return None
    size = sum(one.bytes for one in found)
    verb = "written over bytes of its own" if writes else "read again by a process that had them"
    how = "of these calls' time the share of the repeated bytes"
    return Sighting(found, f"{size_text(size)} are {verb}", at_most(slowest(found), facts, how))


def _read_by_all(facts: Facts) -> Sighting | None:
    """What several processes read of the same bytes, each once."""
    found = []
    different_of = _different(facts, False)
    for file, processes in _moved(facts, False).items():
        unique = different_of[file]
        if len(unique) < 2:
            continue
        each = [one.bytes for one in unique.values()]
        if any(size is None for size in each):
            continue
        total = sum(size or 0 for size in each)
        joined = _union(list(unique.values()))
        if joined is None:
            continue
        extra = total - joined
        if extra < limit.REPEATED_BYTES or extra < limit.REPEATED_SHARE * joined:
            continue
        calls = sum(number for number, _, _ in processes.values())
        times = {one: taken * extra / total for one, (_, _, taken) in processes.items()}
        known = facts.ranks_of_processes
        ranks = tuple(sorted(known[one] for one in unique if known.get(one, -1) >= 0))
        who = f"{len(unique)} {'ranks' if ranks else 'processes'}"
        text = f"{who} read {size_text(total)} of the same {size_text(joined)}"
        found.append(counted(text, file, "", ranks, calls, extra, times))
    if not found:
        return None
    size = sum(one.bytes for one in found)
    how = "of these calls' time the share of the bytes that another rank moved as well"
    summary = f"several processes each read the same bytes: {size_text(size)} too many"
    return Sighting(found, summary, at_most(slowest(found), facts, how))


def _union(parts: list[Covered]) -> int | None:
    joined = Covered()
    for one in parts:
        begins, ends = one.pieces()
        joined.add(np.asarray(begins), np.asarray(ends) - np.asarray(begins))
    return joined.bytes


RULES = (
    Rule(
        "repeated-reads",
        "the same bytes read again",
        "posix",
        "Keep in memory what is read again, or read it in an order in which it is still there. "
        "Of HDF5's chunks that is the chunk cache's work (chunk-cache).",
        lambda facts: _again(facts, False),
        posix.KEEP,
        ("chunk_cache",),
    ),
    Rule(
        "shared-reads",
        "all ranks read the same bytes",
        "mpiio",
        "Let one rank read and broadcast, or read collectively.",
        _read_by_all,
        (*mpiio.SPREAD, *hdf5.SPREAD),
    ),
    Rule(
        "repeated-writes",
        "the same bytes written again",
        "posix",
        "Write what is final; keep counters and headers in memory until the file is closed.",
        lambda facts: _again(facts, True),
    ),
)
