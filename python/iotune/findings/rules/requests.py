"""Requests by themselves: small, random, misaligned."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from iotune.findings import thresholds as limit
from iotune.findings.facts import (
    Facts,
    added_up,
    at_most,
    counted,
    evidence,
    ranks_of,
    slowest,
)
from iotune.findings.finding import LOW, Estimate, Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5, posix
from iotune.findings.streams import (
    HDF5_OTHER,
    HDF5_READ,
    MPI_READ_ALL,
    MPI_WRITE_ALL,
    NOBODY,
    Stream,
)
from iotune.reports.tables import ranks_text, size_text


def _of_program(one: Stream, writes: bool) -> bool:
    """Independent requests of the program itself, without a buffer of stdio's between."""
    meaning = one.meaning
    wanted = meaning.writes if writes else meaning.reads
    by_layer = one.layer == "posix" or (one.layer == "mpiio" and not meaning.collective)
    return wanted and one.by_program and by_layer


def _small(facts: Facts, writes: bool) -> Sighting | None:
    found = []
    moved: Counter[int] = Counter()
    for file, streams in facts.by_file(lambda one: _of_program(one, writes)).items():
        if facts.mode_is_unknown(file, writes):
            streams = [one for one in streams if one.layer != "mpiio"]
        calls = sum(one.calls for one in streams)
        parts = [(one, *one.below(limit.SMALL_BYTES)) for one in streams]
        small, size = sum(part[1] for part in parts), sum(part[2] for part in parts)
        if small < limit.FEW_SMALL_CALLS or small < limit.SMALL_SHARE * calls:
            continue
        times = added_up((one.process, taken_each) for one, _, _, taken_each in parts)
        who = [one for one, number, _, _ in parts if number]
        verb = "writes" if writes else "reads"
        text = (
            f"{small:,} of {calls:,} {verb} are below 64 KiB, {size_text(size / small)} on "
            f"average{_by(who)}"
        )
        found.append(counted(text, file, "", ranks_of(who), small, size, times))
        moved.update(added_up((one.process, size_each) for one, _, size_each, _ in parts))
    if not found:
        return None
    calls, size = sum(one.calls for one in found), sum(one.bytes for one in found)
    estimate: Estimate | None
    rate = facts.largest_rates.get(writes)
    if rate:
        taken = added_up(part for one in found for part in one.by_process.items())
        saved = max(seconds - moved[process] / rate for process, seconds in taken.items())
        how = (
            "the time of these calls less that of their bytes at the rate of this run's own "
            "requests of 1 MiB and more"
        )
        estimate = at_most(saved, facts, how)
    else:
        how = "all the time of these calls on the slowest rank"
        estimate = at_most(slowest(found), facts, how)
    verb = "writes" if writes else "reads"
    summary = f"{calls:,} small {verb} move {size_text(size)}, {size_text(size / calls)} each"
    return Sighting(found, summary, estimate, layer=_layer(facts, found[0].file, writes))


def _layer(facts: Facts, file: str, writes: bool) -> str:
    layers = {one.layer for one in facts.of_file[file] if _of_program(one, writes)}
    return "mpiio" if layers == {"mpiio"} else "posix"


def _by(streams: list[Stream]) -> str:
    text = ranks_text(ranks_of(streams))
    return f", by {text}" if text else ""


def _random(facts: Facts, writes: bool) -> Sighting | None:
    found = []
    verb = "writes" if writes else "reads"
    for file, streams in facts.by_file(lambda one: _may_jump(one, writes)).items():
        own = [one for one in streams if one.outer == NOBODY] or _one_a_transfer(facts, streams)
        placed, irregular = sum(one.placed for one in own), sum(one.irregular for one in own)
        if irregular < limit.FEW_RANDOM_CALLS or irregular < limit.RANDOM_SHARE * placed:
            continue
        if sum(one.bytes for one in own) > limit.RANDOM_BYTES * sum(one.calls for one in own):
            continue
        text = f"{irregular / placed:.0%} of {placed:,} {verb} jump with no step that repeats"
        found.append(evidence(own, text + _by(own), file))
    if not found:
        return None
    calls = sum(one.calls for one in found)
    mean = sum(one.bytes for one in found) / calls
    summary = f"{calls:,} {verb} of {size_text(mean)} go to places without an order"
    return Sighting(found, summary)


def _may_jump(one: Stream, writes: bool) -> bool:
    if _of_program(one, writes) and one.placed:
        return True
    return one.layer == "posix" and one.meaning.reads and not writes and one.outer == HDF5_READ


def _one_a_transfer(facts: Facts, streams: list[Stream]) -> list[Stream]:
    """Reads inside of H5Dread, where each of these makes a few: else its selection is scattered."""
    transfers: dict[int, int] = defaultdict(int)
    for one in facts.of_file[streams[0].file]:
        if one.layer == "hdf5" and one.meaning.reads:
            transfers[one.process] += one.calls
    return [one for one in streams if one.calls <= 4 * transfers[one.process]]


def _misaligned(facts: Facts) -> Sighting | None:
    found, striped = [], False
    for file, streams in facts.by_file(_reaches_storage).items():
        block = facts.block_bytes(file)
        is_striped = bool(facts.striping(file))
        for writes in (True, False):
            own = [
                one
                for one in streams
                if one.meaning.writes == writes
                and one.placed
                # Where aggregators divide a file is MPI-IO's affair, but for stripes.
                and (is_striped or one.parent not in (MPI_READ_ALL, MPI_WRITE_ALL))
            ]
            if not own or not (writes or is_striped):
                continue
            placed, follows = sum(one.placed for one in own), sum(one.consecutive for one in own)
            shared = len({one.process for one in own}) > 1 and not facts.is_local(file)
            if not shared and follows >= 0.5 * placed:
                continue  # one request behind the other: a cache joins their ends
            calls, size = sum(one.calls for one in own), sum(one.bytes for one in own)
            if facts.is_local(file) and size > limit.LARGE_LOCAL_BYTES * calls:
                continue
            uneven, long = sum(one.misaligned for one in own), sum(one.blocks for one in own)
            if is_striped:
                uneven, long = _uneven(facts, file, writes, block)
            if uneven < limit.FEW_MISALIGNED_CALLS or uneven < limit.MISALIGNED_SHARE * placed:
                continue
            striped |= is_striped
            what = f"stripe of {size_text(block)}" if is_striped else f"block of {block} bytes"
            text = (
                f"{uneven:,} of {long:,} {'writes' if writes else 'reads'} of at least a {what} "
                "begin or end inside one"
            )
            found.append(evidence(own, text + _by(own), file))
    if not found:
        return None
    summary = f"requests in {_files(found)} do not keep to the borders of blocks"
    return Sighting(found, summary, severity="" if striped else LOW)


def _reaches_storage(one: Stream) -> bool:
    return one.layer == "posix" and one.meaning.transfer and one.outer != HDF5_OTHER


def _uneven(facts: Facts, file: str, writes: bool, block: int) -> tuple[int, int]:
    """Requests of at least a stripe that do not begin or end at one's border; all of that size."""
    count = large = 0
    for offsets, lengths in facts.placed_requests(file, writes):
        long = lengths >= block
        uneven = (offsets % block != 0) | ((offsets + lengths) % block != 0)
        count += int(np.count_nonzero(long & uneven))
        large += int(np.count_nonzero(long))
    return count, large


def _files(found: list[Evidence]) -> str:
    number = len({one.file for one in found})
    return f"{number} file{'s' if number > 1 else ''}"


RULES = (
    Rule(
        "small-writes",
        "many small writes",
        "posix",
        "Gather records in memory and write some MiB at once. In a file that ranks share, let "
        "MPI-IO gather: a file view and one MPI_File_write_all. Without a change to the program: "
        "iotune run --gather, where its writes are MPI-IO's own and independent.",
        lambda facts: _small(facts, True),
        posix.GATHER,
    ),
    Rule(
        "small-reads",
        "many small reads",
        "posix",
        "Read some MiB at once and take records from memory; for a file that fits, read it whole "
        "or map it. In a file that ranks share use MPI_File_read_all with a view.",
        lambda facts: _small(facts, False),
        posix.READ_AHEAD,
    ),
    Rule(
        "random-reads",
        "reads without an order",
        "posix",
        "Sort requests by their place in the file before making them, or store what is read "
        "together side by side. Where the order must be random, read larger pieces into memory "
        "and draw from these, or prefetch the next ones (posix_fadvise, iotune.h).",
        lambda facts: _random(facts, False),
        posix.SORTED,
        ("fadvise",),
    ),
    Rule(
        "random-writes",
        "writes without an order",
        "posix",
        "Sort writes by their place, or append to a log and order it when it is read.",
        lambda facts: _random(facts, True),
        posix.SORTED_WRITES,
    ),
    Rule(
        "misaligned",
        "requests that do not keep to blocks",
        "posix",
        "Begin each rank's part at a multiple of the stripe, or of 1 MiB where that is unknown. "
        "Blocks that two ranks write into are locked back and forth between their nodes.",
        _misaligned,
        hdf5.ALIGNED,
        ("alignment",),
    ),
)
