"""Calls that move nothing, small files, and stdio."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, at_most, evidence, held_bytes, slowest, times_of
from iotune.findings.finding import LOW, Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5, mpiio, posix
from iotune.findings.streams import Stream
from iotune.reports.tables import size_text

_SECONDS_OF = "all the time of these calls on the slowest rank"


def _often(facts: Facts, wanted: Callable[[Stream], bool], many: int, what: str) -> list[Evidence]:
    """Files on which some process makes so many calls of a kind."""
    found = []
    files: dict[str, list[Stream]] = defaultdict(list)
    for one in facts.streams:
        if one.by_program and wanted(one):
            files[one.file].append(one)
    for file, streams in files.items():
        of_process: dict[int, int] = defaultdict(int)
        for one in streams:
            of_process[one.process] += one.calls
        most = max(of_process.values())
        if most >= many:
            text = f"{what.format(most)} by one process"
            found.append(evidence(streams, text, file))
    return found


_OF_ZARR = (
    "Each chunk of a zarr array is a file, which is asked for before it is read or made. Give the "
    "array chunks of some MiB; where its readers need small ones, join many of them in a shard "
    "(zarr 3, shards=...) or the array in one file (ZipStore). Write whole chunks."
)


def _total(facts: Facts, found: list[Evidence], summary: str) -> Sighting | None:
    if not found:
        return None
    seconds = slowest(found)
    calls = sum(one.calls for one in found)
    return Sighting(found, summary.format(calls), at_most(seconds, facts, _SECONDS_OF))


def _opens(facts: Facts) -> Sighting | None:
    found = _often(facts, lambda one: one.meaning.opens_file, limit.MANY_OPENS, "opened {:,} times")
    return _total(facts, found, "the same files are opened {:,} times in all")


def _queries(facts: Facts) -> Sighting | None:
    found = _often(
        facts,
        lambda one: (
            one.layer == "posix"  # what stdio is asked it knows by itself
            and one.meaning.verb == "asks"
            and one.meaning.thing in ("path", "file")
        ),
        limit.MANY_QUERIES,
        "asked about {:,} times",
    )
    found = [one if one.file else _of_paths(one) for one in found]
    sighting = _total(facts, found, "{:,} calls only ask whether and how large files are")
    return sighting and replace(sighting, advice=_zarr_advice(facts))


def _zarr_advice(facts: Facts) -> str:
    """Of arrays of zarr, whose library asks for a chunk's file before it makes or reads it."""
    return _OF_ZARR if facts.uses_zarr else ""


def _of_paths(one: Evidence) -> Evidence:
    text = one.text.replace("asked about", "paths asked about")
    return replace(one, text=text)


def _syncs(facts: Facts) -> Sighting | None:
    found = []
    written: dict[tuple[int, str], int] = defaultdict(int)
    for one in facts.streams:
        if one.meaning.writes and one.layer in ("posix", "stdio"):
            written[one.process, one.file] += one.bytes
    # Where no write was seen they were made past libc: through a mapping, by io_uring or libaio.
    seen = {file for (_, file), size in written.items() if size}
    streams_of = facts.by_file(
        lambda one: (
            (one.meaning.verb == "syncs" and one.by_program)
            or (one.layer == "hdf5" and one.meaning.verb == "flushes")
        )
    )
    for file, streams in streams_of.items():
        if file not in seen:
            continue
        of_process: dict[int, list[Stream]] = defaultdict(list)
        for one in streams:
            of_process[one.process].append(one)
        for process, own in of_process.items():
            calls, size = sum(one.calls for one in own), written[process, file]
            if calls >= limit.MANY_SYNCS and size < limit.BYTES_BETWEEN_SYNCS * calls:
                text = f"a sync or flush after every {size_text(size / calls)} that were written"
                found.append(evidence(own, f"{calls:,} times, {text}", file))
    return _total(facts, found, "{:,} syncs wait for the storage")


def _seeks(facts: Facts) -> Sighting | None:
    transfers: dict[str, int] = defaultdict(int)
    for one in facts.streams:
        if one.by_program and one.meaning.transfer:
            transfers[one.file] += one.calls
    found = [
        one
        for one in _often(
            facts,
            lambda one: one.meaning.verb == "seeks" and one.meaning.thing == "file"
            and one.layer in ("posix", "stdio", "mpiio"),
            limit.MANY_SEEKS,
            "{:,} seeks",
        )
        if one.calls >= 0.5 * transfers[one.file]
    ]  # fmt: skip
    moved = sum(transfers[one.file] for one in found)
    often = sum(one.calls for one in found) > 2 * moved
    each = f"beside {moved:,} transfers" if often else "about one for each transfer"
    return _total(facts, found, "{:,} seeks, " + each)


def _small_files(facts: Facts) -> Sighting | None:
    own = facts.by_file(lambda one: one.by_program)
    size = {file: held_bytes(streams) for file, streams in own.items()}
    small = [file for file in size if 0 < size[file] < limit.SMALL_FILE_BYTES]
    if len(small) >= limit.MANY_FILES:
        # A run that takes a little of each of many large files is none of this.
        small = [file for file in small if facts.bytes_now(file) < limit.SMALL_FILE_BYTES]
    if len(small) < limit.MANY_FILES:
        return None
    streams = [one for file in small for one in own[file]]
    folders: dict[str, int] = defaultdict(int)
    for file in small:
        folders[file.rpartition("/")[0]] += 1
    folder = max(folders, key=lambda one: folders[one])
    total = sum(size[file] for file in small)
    text = (
        f"{len(small)} files of {size_text(total / len(small))} on average, most of them below "
        f"{folder}/"
    )
    times = times_of(one for one in streams if not one.meaning.transfer)
    how = "the time of opening and closing them on the slowest rank"
    return Sighting(
        [evidence(streams, text)],
        f"{len(small)} files hold {size_text(total)}",
        at_most(max(times.values(), default=0.0), facts, how),
        advice=_zarr_advice(facts),
    )


def _stdio(facts: Facts) -> Sighting | None:
    found = []
    files = facts.by_file(
        lambda one: one.layer == "stdio" and one.by_program and one.meaning.transfer
    )
    for file, streams in files.items():
        size = sum(one.bytes for one in streams)
        if size >= limit.BULK_BYTES:
            text = f"{size_text(size)} through stdio's buffer"
            found.append(evidence(streams, text, file))
    if not found:
        return None
    size = sum(one.bytes for one in found)
    shared = any(len(one.ranks) > 1 for one in found)
    return Sighting(
        found,
        f"{size_text(size)} pass through stdio",
        severity="" if shared else LOW,
    )


RULES = (
    Rule(
        "metadata-time",
        "more time in metadata than in moving data",
        "posix",
        "Open fewer files and each once; ask once and broadcast the answer; sync when a "
        "checkpoint is whole. Where many ranks open many small files, let them share one.",
        lambda facts: None,  # of logs' totals alone
        posix.OPEN_ONCE,
    ),
    Rule(
        "many-opens",
        "the same file opened over and over",
        "posix",
        "Open files once and keep them open. Each open asks the metadata server, which all "
        "jobs share.",
        _opens,
        posix.OPEN_ONCE,
    ),
    Rule(
        "many-queries",
        "many questions about files",
        "posix",
        "Ask once and remember. Where all ranks ask, let one do so and broadcast the answer.",
        _queries,
        mpiio.KNOW,
    ),
    Rule(
        "many-syncs",
        "a sync after little data",
        "posix",
        "Sync once, when a checkpoint is whole. What must survive each step needs it; logs and "
        "results that can be computed again do not. In HDF5 leave out H5Fflush between steps.",
        _syncs,
        posix.SYNC,
    ),
    Rule(
        "many-seeks",
        "a seek before each transfer",
        "posix",
        "Use pread and pwrite, MPI_File_read_at and MPI_File_write_at: they name the place "
        "themselves.",
        _seeks,
        posix.AT,
    ),
    Rule(
        "small-files",
        "many small files",
        "posix",
        "Join them: one HDF5 file with a dataset that grows, or an archive that is read whole. "
        "Each file costs the metadata server several requests.",
        _small_files,
        hdf5.ONE_FILE,
    ),
    Rule(
        "stdio-bulk",
        "bulk data through stdio",
        "stdio",
        "Use write or MPI-IO for bulk data: stdio copies them through a buffer of 4 KiB or one "
        "stripe, and cannot share a file among ranks. Where it must be stdio, setvbuf gives it "
        "a buffer of some MiB.",
        _stdio,
        posix.BULK,
    ),
)
