"""How the work is divided among ranks."""

from __future__ import annotations

import statistics
from collections import defaultdict

from iotune.findings import thresholds as limit
from iotune.findings.facts import (
    Facts,
    at_most,
    evidence,
    held_bytes,
    ranks_of,
    slowest,
)
from iotune.findings.finding import LOW, MEDIUM, Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5, mpiio
from iotune.findings.streams import BELOW, MPI_READ_ALL, MPI_WRITE_ALL, Stream
from iotune.reports.tables import ranks_text, seconds_text, size_text


def _by_program(one: Stream) -> bool:
    return one.by_program and one.meaning.transfer and one.rank >= 0


def _bytes_of_ranks(facts: Facts, writes: bool) -> dict[int, int]:
    """What each rank of the run asked to move, none left out."""
    found = dict.fromkeys(range(facts.run.ranks), 0)
    for one in facts.streams:
        if _by_program(one) and one.meaning.writes == writes:
            found[one.rank] = found.get(one.rank, 0) + one.bytes
    return found


def _largest_files(facts: Facts, writes: bool, rank: int) -> dict[str, list[Stream]]:
    files = facts.by_file(
        lambda one: _by_program(one) and one.meaning.writes == writes and one.rank == rank
    )
    return dict(sorted(files.items(), key=lambda item: -sum(one.bytes for one in item[1])))


def _one_rank(facts: Facts) -> Sighting | None:
    if facts.run.ranks < 2:
        return None
    found: list[Evidence] = []
    for writes in (True, False):
        sizes = _bytes_of_ranks(facts, writes)
        total, rank = sum(sizes.values()), max(sizes, key=lambda one: sizes[one])
        if total < limit.FEWEST_SHARED_BYTES or sizes[rank] < limit.ONE_RANK_SHARE * total:
            continue
        verb = "writes" if writes else "reads"
        for file, streams in _largest_files(facts, writes, rank).items():
            size = sum(one.bytes for one in streams)
            text = f"rank {rank} alone {verb} {size_text(size)}"
            found.append(evidence(streams, text, file))
    if not found:
        return None
    seconds = slowest(found) * (1 - 1 / facts.run.ranks)
    how = "the rank's time in these calls, were they divided evenly among all ranks"
    number = len({one.ranks for one in found})
    who = ranks_text(found[0].ranks) if number == 1 else "one rank a direction"
    summary = (
        f"{who} moves {size_text(sum(one.bytes for one in found))} for {facts.run.ranks} ranks"
    )
    return Sighting(found, summary, at_most(seconds, facts, how))


def _imbalance(facts: Facts) -> Sighting | None:
    if facts.run.ranks < 2:
        return None
    found = [*_of_bytes(facts), *_of_time(facts)]
    if not found:
        return None
    return Sighting(found, "; ".join(dict.fromkeys(one.text for one in found if not one.file)))


def _of_bytes(facts: Facts) -> list[Evidence]:
    found: list[Evidence] = []
    for writes in (True, False):
        sizes = _bytes_of_ranks(facts, writes)
        total, rank = sum(sizes.values()), max(sizes, key=lambda one: sizes[one])
        mean = total / len(sizes)
        if total < limit.FEWEST_SHARED_BYTES or sizes[rank] < limit.IMBALANCE * mean:
            continue
        if sizes[rank] >= limit.ONE_RANK_SHARE * total:
            continue  # one-rank says so
        verb = "writes" if writes else "reads"
        text = (
            f"rank {rank} {verb} {size_text(sizes[rank])}, {sizes[rank] / mean:.1f} times the "
            f"mean of all ranks ({size_text(mean)})"
        )
        files = _largest_files(facts, writes, rank)
        every = [one for streams in files.values() for one in streams]
        found.append(evidence(every, text))
        for file, streams in list(files.items())[:2]:
            size = sum(one.bytes for one in streams)
            found.append(evidence(streams, f"rank {rank} {verb} {size_text(size)} of it", file))
    return found


def _of_time(facts: Facts) -> list[Evidence]:
    """Ranks that take long where others do not."""
    seconds: dict[int, float] = dict.fromkeys(range(facts.run.ranks), 0.0)
    for one in facts.streams:
        if _is_own_time(one):
            seconds[one.rank] += one.seconds
    rank = max(seconds, key=lambda one: seconds[one])
    middle = statistics.median(seconds.values())
    more = seconds[rank] - middle
    least = max(limit.TIME_IMBALANCE_SECONDS, limit.TIME_IMBALANCE_OF_RUN * facts.elapsed_seconds)
    if more < least or seconds[rank] < limit.TIME_IMBALANCE * middle:
        return []
    if middle <= 0:  # most ranks leave it to others: aggregators, or one-rank
        return []
    own = [one for one in facts.streams if one.rank == rank and _is_own_time(one)]
    text = (
        f"rank {rank} spends {seconds_text(seconds[rank])} in transfers, the median of all "
        f"ranks {seconds_text(middle)}"
    )
    return [evidence(own, text)]


def _is_own_time(one: Stream) -> bool:
    """Transfers of a rank for itself: aggregators of a collective one work for all."""
    for_all = one.parent in (MPI_READ_ALL, MPI_WRITE_ALL, BELOW)
    return one.layer in ("posix", "stdio") and one.meaning.transfer and one.rank >= 0 \
        and not for_all  # fmt: skip


def _file_per_rank(facts: Facts) -> Sighting | None:
    if facts.run.ranks < 2:
        return None
    owners: dict[str, set[int]] = defaultdict(set)
    own: dict[str, list[Stream]] = defaultdict(list)
    for one in facts.streams:
        if _by_program(one) and one.file and one.bytes:
            owners[one.file].add(one.rank)
            own[one.file].append(one)
    files = [file for file, ranks in owners.items() if len(ranks) == 1]
    ranks = {next(iter(owners[file])) for file in files}
    if len(files) < limit.MANY_OWN_FILES or len(ranks) < 0.5 * facts.run.ranks:
        return None
    streams = [one for file in files for one in own[file]]
    size = sum(held_bytes(own[file]) for file in files)
    text = (
        f"{len(files)} files belong to one rank each, {size_text(size / len(files))} on average; "
        f"for one: {files[0].rpartition('/')[2]}"
    )
    found = evidence(streams, text)
    summary = f"{len(files)} files are written or read by one rank each"
    severity = MEDIUM if len(files) >= 4096 else LOW
    return Sighting([found], summary, severity=severity)


def _shared_pointer(facts: Facts) -> Sighting | None:
    found = []
    streams_of = facts.by_file(
        lambda one: one.layer == "mpiio" and one.meaning.transfer and one.meaning.shared
    )
    for file, streams in streams_of.items():
        calls = sum(one.calls for one in streams)
        if calls >= limit.SHARED_POINTER_CALLS:
            text = f"{calls:,} transfers at the shared file pointer, by "
            found.append(evidence(streams, text + ranks_text(ranks_of(streams)), file))
    if not found:
        return None
    summary = "ranks take turns at a file pointer that all share"
    seconds = slowest(found)
    return Sighting(found, summary, at_most(seconds, facts, "all the time of these calls"))


RULES = (
    Rule(
        "one-rank",
        "one rank does it all",
        "mpiio",
        "Let each rank write or read its own part of the file, collectively. What is small, or "
        "is read by all, may well stay with one rank.",
        _one_rank,
        (*mpiio.DIVIDE, *hdf5.DIVIDE),
    ),
    Rule(
        "imbalance",
        "some ranks move much more than others",
        "mpiio",
        "Divide data evenly, or write collectively, so that aggregators share the work. Where one "
        "rank is slow with as many bytes, its node or its storage target is: compare runs "
        "(iotune diff).",
        _imbalance,
        mpiio.DIVIDE,
    ),
    Rule(
        "file-per-rank",
        "many files of one rank each",
        "mpiio",
        "Let ranks share files: one for all, or one for each node, written collectively. Many "
        "files cost metadata, and who reads them needs as many ranks again.",
        _file_per_rank,
        mpiio.DIVIDE,
    ),
    Rule(
        "shared-pointer",
        "a file pointer that all ranks share",
        "mpiio",
        "Reckon each rank's place (MPI_Exscan) and use MPI_File_write_at_all. The shared pointer "
        "is a small file of its own, locked for every transfer.",
        _shared_pointer,
        mpiio.DIVIDE,
    ),
)
