"""Calls that move nothing, small files, and stdio, of a log's totals."""

from __future__ import annotations

from collections import Counter, defaultdict

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, at_most, counted, slowest
from iotune.findings.finding import LOW, Evidence
from iotune.findings.rule import Sighting
from iotune.findings.totals.use import Use, uses
from iotune.reports.tables import size_text

_META = "all the time of metadata on the slowest rank"


def _often(facts: Facts, kinds: tuple[str, ...], many: int, what: str) -> list[Evidence]:
    found = []
    for one in uses(facts, "posix", "stdio"):
        calls = sum(one.calls(kind) for kind in kinds)
        if calls >= many * one.ranks:
            text = f"{what.format(calls)} by {one.ranks:,} rank{'s' if one.ranks > 1 else ''}"
            times = one.part_of_slowest("meta_seconds")
            found.append(counted(text, one.file, "", (), calls, 0, times))
    return found


def _total(facts: Facts, found: list[Evidence], summary: str) -> Sighting | None:
    if not found:
        return None
    calls = sum(one.calls for one in found)
    return Sighting(found, summary.format(calls), at_most(slowest(found), facts, _META))


def _opens(facts: Facts) -> Sighting | None:
    found = _often(facts, ("open", "stream open"), limit.MANY_OPENS, "opened {:,} times")
    return _total(facts, found, "the same files are opened {:,} times in all")


def _queries(facts: Facts) -> Sighting | None:
    found = _often(facts, ("query",), limit.MANY_QUERIES, "asked about {:,} times")
    return _total(facts, found, "{:,} calls only ask whether and how large files are")


def _syncs(facts: Facts) -> Sighting | None:
    found = []
    for one in uses(facts, "posix"):
        calls = one.calls("sync") + one.calls("data sync")
        size = one.bytes(True)
        if not size:
            continue  # written through a mapping, or past libc
        if calls < limit.MANY_SYNCS * one.ranks or size >= limit.BYTES_BETWEEN_SYNCS * calls:
            continue
        text = f"{calls:,} times, a sync after every {size_text(size / calls)} that were written"
        found.append(counted(text, one.file, "", (), calls, 0, one.part_of_slowest("meta_seconds")))
    return _total(facts, found, "{:,} syncs wait for the storage")


def _seeks(facts: Facts) -> Sighting | None:
    found = [
        one
        for one in _often(facts, ("seek",), limit.MANY_SEEKS, "{:,} seeks")
        if one.calls >= 0.5 * _transfers_of(facts, one.file)
    ]
    return _total(facts, found, "{:,} seeks, about one for each transfer or more")


def _transfers_of(facts: Facts, file: str) -> int:
    own = (one for one in uses(facts, "posix", "stdio") if one.file == file)
    return sum(one.transfers(True) + one.transfers(False) for one in own)


def _small_files(facts: Facts) -> Sighting | None:
    sizes: Counter[str] = Counter()
    times: dict[int, float] = {}
    for one in uses(facts, "posix", "stdio"):
        reach = max(one.number("last_byte_read"), one.number("last_byte_written")) + 1
        if one.bytes(True) + one.bytes(False):
            sizes[one.file] = max(sizes[one.file], reach)
    small = [file for file, size in sizes.items() if size < limit.SMALL_FILE_BYTES]
    if len(small) < limit.MANY_FILES:
        return None
    chosen = set(small)
    for one in uses(facts, "posix", "stdio"):
        if one.file in chosen:
            for rank, seconds in one.part_of_slowest("meta_seconds").items():
                times[rank] = times.get(rank, 0.0) + seconds
    total = sum(sizes[file] for file in small)
    folders = Counter(file.rpartition("/")[0] for file in small)
    text = (
        f"{len(small)} files of {size_text(total / len(small))} on average, most of them below "
        f"{folders.most_common(1)[0][0]}/"
    )
    found = counted(text, "", "", (), 0, total, times)
    how = "the time of opening and closing them on the slowest rank"
    summary = f"{len(small)} files hold {size_text(total)}"
    return Sighting([found], summary, at_most(max(times.values(), default=0.0), facts, how))


def _stdio(facts: Facts) -> Sighting | None:
    found = []
    for one in uses(facts, "stdio"):
        size = one.bytes(True) + one.bytes(False)
        if size >= limit.BULK_BYTES:
            text = f"{size_text(size)} through stdio's buffer"
            times = {int(one.slowest["rank"]): one.seconds} if one.slowest else {}
            calls = one.transfers(True) + one.transfers(False)
            found.append(counted(text, one.file, "", (), calls, size, times))
    if not found:
        return None
    shared = any(one.ranks > 1 for one in uses(facts, "stdio") if one.file in _paths(found))
    size = sum(one.bytes for one in found)
    return Sighting(found, f"{size_text(size)} pass through stdio", severity="" if shared else LOW)


def _paths(found: list[Evidence]) -> set[str]:
    return {one.file for one in found}


def _metadata_time(facts: Facts) -> Sighting | None:
    """Ranks that spend more of the run in metadata than in moving bytes."""
    own: dict[int, float] = defaultdict(float)
    moving: dict[int, float] = defaultdict(float)
    files: dict[str, float] = defaultdict(float)
    common = common_moving = 0.0
    for one in uses(facts, "posix", "stdio"):
        meta = float(one.said.get("meta_seconds", 0.0))
        calls = sum(number for name, number in one.said.get("calls", {}).items()
                    if name not in ("read", "write"))  # fmt: skip
        if meta > limit.LONGEST_METADATA_SECONDS * calls:
            continue  # an open that waits for who opens a pipe's other end
        files[one.file] += meta
        if _is_of_all(one, facts):
            common += meta / one.ranks
            common_moving += (one.sum_seconds - meta) / one.ranks
            continue
        for key, sums in (("meta", own), ("read", moving), ("write", moving)):
            for rank, seconds in one.part_of_slowest(f"{key}_seconds").items():
                sums[rank] += seconds
    rank = max(own, key=lambda one: own[one], default=0)
    seconds = own[rank] + common
    least = max(limit.METADATA_SECONDS, limit.METADATA_OF_RUN * facts.elapsed_seconds)
    if seconds < least or seconds < moving[rank] + common_moving:
        return None
    worst = max(files, key=lambda one: files[one])
    number = sum(1 for one in files.values() if one > 0)
    text = (
        f"rank {rank} spends more time in opening, asking, syncing and closing than in moving "
        f"bytes, in {number:,} file{'s' if number > 1 else ''}; most of it in {worst}"
    )
    found = counted(text, "", "", (rank,), 0, 0, {rank: seconds})
    summary = "metadata takes longer than moving the data"
    return Sighting([found], summary, at_most(seconds, facts, _META))


def _is_of_all(one: Use, facts: Facts) -> bool:
    return one.ranks >= facts.run.ranks > 1


LOOKS = {
    "many-opens": _opens,
    "many-queries": _queries,
    "many-syncs": _syncs,
    "many-seeks": _seeks,
    "small-files": _small_files,
    "stdio-bulk": _stdio,
    "metadata-time": _metadata_time,
}
