"""How ranks share the work, of a log's totals: stragglers by time and by bytes."""

from __future__ import annotations

import statistics
from collections import Counter

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, at_most, counted
from iotune.findings.finding import LOW, MEDIUM, Evidence
from iotune.findings.rule import Sighting
from iotune.findings.totals.use import Use, mpi_io_of, uses
from iotune.reports.tables import seconds_text, size_text


def _imbalance(facts: Facts) -> Sighting | None:
    if facts.run.ranks < 2:
        return None
    found = _of_files(facts)
    if not facts.run.has_calls:
        found += _of_own_files(facts)
    if not found:
        return None
    texts = [one.text for one in found if not one.file] or [found[0].text]
    return Sighting(found, "; ".join(texts))


def _of_files(facts: Facts) -> list[Evidence]:
    """Files of which one rank took much longer than the mean of all that shared it."""
    found: list[Evidence] = []
    for one in uses(facts, "mpiio", "posix", "stdio"):
        if one.said["layer"] == "posix" and mpi_io_of(one) is not None:
            continue  # of aggregators, which work for all
        if one.ranks < 2 or not one.slowest:
            continue
        mean = one.sum_seconds / one.ranks
        if not _is_long(facts, one.seconds, mean):
            continue
        rank, own = int(one.slowest["rank"]), int(one.slowest["bytes"])
        text = (
            f"rank {rank} spends {seconds_text(one.seconds)} in calls on it, the mean of "
            f"{one.ranks:,} ranks {seconds_text(mean)}{_bytes_beside(one, own)}"
        )
        found.append(counted(text, one.file, "", (rank,), 0, own, {rank: one.seconds}))
    return found


def _bytes_beside(one: Use, own: int) -> str:
    each = (one.bytes(True) + one.bytes(False)) / one.ranks
    if each <= 0:
        return ""
    if 0.8 * each <= own <= 1.25 * each:
        return f"; it moves as many bytes as others ({size_text(own)})"
    return f"; it moves {size_text(own)}, the mean {size_text(each)}"


def _is_long(facts: Facts, seconds: float, usual: float) -> bool:
    least = max(limit.TIME_IMBALANCE_SECONDS, limit.TIME_IMBALANCE_OF_RUN * facts.elapsed_seconds)
    return seconds - usual >= least and seconds >= limit.TIME_IMBALANCE * usual and usual > 0


def _of_own_files(facts: Facts) -> list[Evidence]:
    """Ranks by what each did for itself, in files that not all of them share."""
    found: list[Evidence] = []
    sums = facts.totals_by_rank
    if len(sums) < 2:
        return found
    seconds = {rank: one[2] for rank, one in sums.items()}
    rank = max(seconds, key=lambda one: seconds[one])
    usual = statistics.median(seconds.values())
    if len(sums) > facts.run.ranks // 2 and _is_long(facts, seconds[rank], usual):
        text = (
            f"rank {rank} spends {seconds_text(seconds[rank])} in transfers, the median of "
            f"{len(sums):,} ranks {seconds_text(usual)}"
        )
        size = int(sums[rank][0] + sums[rank][1])
        found.append(counted(text, "", "", (rank,), 0, size, {rank: seconds[rank]}))
    for place, verb in ((1, "writes"), (0, "reads")):
        sizes = {rank: int(one[place]) for rank, one in sums.items()}
        total, rank = sum(sizes.values()), max(sizes, key=lambda one: sizes[one])
        mean = total / facts.run.ranks
        if total < limit.FEWEST_SHARED_BYTES or sizes[rank] < limit.IMBALANCE * mean:
            continue
        if sizes[rank] >= limit.ONE_RANK_SHARE * total:
            continue  # one-rank says so
        text = (
            f"rank {rank} {verb} {size_text(sizes[rank])}, {sizes[rank] / mean:.1f} times the "
            f"mean of all ranks ({size_text(mean)}), in files that not all ranks share"
        )
        found.append(counted(text, "", "", (rank,), 0, sizes[rank], {rank: sums[rank][2]}))
    return found


def _one_rank(facts: Facts) -> Sighting | None:
    """One rank moves nearly all: of files that each belong to some ranks, and of shared ones."""
    ranks = facts.run.ranks
    if ranks < 2:
        return None
    shared = [one for one in uses(facts, "posix", "stdio") if one.ranks > 1]
    found: list[Evidence] = []
    for place, writes, verb in ((1, True, "writes"), (0, False, "reads")):
        sizes = {rank: int(one[place]) for rank, one in facts.totals_by_rank.items()}
        of_all = sum(one.bytes(writes) for one in shared if one.ranks >= ranks)
        total = sum(sizes.values()) + of_all
        rank = max(sizes, key=lambda one: sizes[one], default=-1)
        if total < limit.FEWEST_SHARED_BYTES or rank < 0:
            continue
        if sizes[rank] < limit.ONE_RANK_SHARE * total:
            continue
        seconds = facts.totals_by_rank[rank][2]
        text = f"rank {rank} alone {verb} {size_text(sizes[rank])} of {size_text(total)}"
        found.append(counted(text, "", "", (rank,), 0, sizes[rank], {rank: seconds}))
    if not found:
        return None
    size = sum(one.bytes for one in found)
    seconds = max(one.seconds or 0.0 for one in found) * (1 - 1 / ranks)
    how = "the rank's time in these calls, were they divided evenly among all ranks"
    summary = f"rank {found[0].ranks[0]} moves {size_text(size)} for {ranks} ranks"
    return Sighting(found, summary, at_most(seconds, facts, how))


def _file_per_rank(facts: Facts) -> Sighting | None:
    if facts.run.ranks < 2:
        return None
    own = [
        one
        for one in uses(facts, "posix", "mpiio", "stdio")
        if one.ranks == 1 and one.bytes(True) + one.bytes(False)
    ]
    ranks = Counter(int(one.slowest["rank"]) for one in own if one.slowest)
    files = list(dict.fromkeys(one.file for one in own))
    if len(files) < limit.MANY_OWN_FILES or len(ranks) < 0.5 * facts.run.ranks:
        return None
    size = sum(one.bytes(True) + one.bytes(False) for one in own)
    text = (
        f"{len(files)} files belong to one rank each, {size_text(size / len(files))} on average; "
        f"for one: {files[0].rpartition('/')[2]}"
    )
    summary = f"{len(files)} files are written or read by one rank each"
    severity = MEDIUM if len(files) >= 4096 else LOW
    return Sighting([counted(text, "", "", (), 0, size, {})], summary, severity=severity)


LOOKS = {"imbalance": _imbalance, "one-rank": _one_rank, "file-per-rank": _file_per_rank}
