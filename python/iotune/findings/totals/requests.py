"""Requests of a log's totals: small, random, misaligned, read again."""

from __future__ import annotations

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, added_up, at_most, counted, slowest
from iotune.findings.finding import LOW, Evidence
from iotune.findings.rule import Sighting
from iotune.findings.totals.use import VERBS, Use, mpi_io_of, uses
from iotune.reports.tables import size_text

_SECONDS_OF = "all the time of that direction on the slowest rank"
_SMALL_CLASSES = 4  # lengths below 100 KB: the class that SMALL_BYTES lies in is the last
_LARGEST_OF_CLASS = (100, 1_000, 10_000, 100_000)


def _small(facts: Facts, writes: bool) -> Sighting | None:
    found: list[Evidence] = []
    shared = 0
    for one in uses(facts, "posix"):
        sizes = one.sizes(writes)
        calls, small = sum(sizes), sum(sizes[:_SMALL_CLASSES])
        if small < limit.FEW_SMALL_CALLS or small < limit.SMALL_SHARE * calls:
            continue
        above = mpi_io_of(one)
        if above and above.together(writes) and above.alone(writes) < limit.FEW_SMALL_CALLS:
            continue  # of aggregators: ungathered-collectives
        if small == calls and one.bytes(writes) > limit.SMALL_BYTES * calls:
            continue  # between 64 KiB and 100 KB
        # Of the small ones there is a bound of the bytes, and no sum.
        size = min(one.bytes(writes), sum(n * most for n, most in zip(sizes, _LARGEST_OF_CLASS)))
        who = f", in a file that {one.ranks:,} ranks share" if one.ranks > 1 else ""
        shared += one.ranks > 1
        text = f"{small:,} of {calls:,} {VERBS[writes]}s are below 100 KB{_common(one)}{who}"
        times = one.part_of_slowest(f"{VERBS[writes]}_seconds")
        found.append(counted(text, one.file, "", (), small, size, times))
    if not found:
        return None
    calls = sum(one.calls for one in found)
    where = f", {_files(shared)} of these shared by ranks" if shared else ""
    summary = f"{calls:,} small {VERBS[writes]}s in {_files(len(found))}{where}"
    return Sighting(found, summary, at_most(slowest(found), facts, _SECONDS_OF))


def _common(one: Use) -> str:
    common = one.said.get("common_sizes", [])
    return f", most of them of {common[0][0]:,} bytes" if common else ""


def _random(facts: Facts, writes: bool) -> Sighting | None:
    found: list[Evidence] = []
    verb = VERBS[writes]
    for one in uses(facts, "posix"):
        calls = one.calls(verb)
        forward = one.number(f"sequential_{verb}s")
        # The first of each rank follows nothing; steps back that come again are strides.
        repeating = sum(count for step, count in one.said.get("common_strides", []) if step < 0)
        jumps = calls - forward - one.ranks - repeating
        if jumps < limit.FEW_RANDOM_CALLS or jumps < limit.RANDOM_SHARE * calls:
            continue
        if one.bytes(writes) > limit.RANDOM_BYTES * calls:
            continue
        text = f"{jumps / calls:.0%} of {calls:,} {verb}s go back to before the one before"
        times = one.part_of_slowest(f"{verb}_seconds")
        found.append(counted(text, one.file, "", (), calls, one.bytes(writes), times))
    if not found:
        return None
    calls = sum(one.calls for one in found)
    return Sighting(found, f"{calls:,} {verb}s, of which many go to places without an order")


def _misaligned(facts: Facts) -> Sighting | None:
    found: list[Evidence] = []
    striped = False
    for one in uses(facts, "posix"):
        layout = facts.striping(one.file)
        block = int(layout.get("striping_unit", one.number("alignment_bytes") or 4096))
        calls = one.transfers(True) + one.transfers(False)
        size = one.bytes(True) + one.bytes(False)
        uneven = one.number("misaligned")
        # Darshan counts by the block that the file system named: another says nothing of stripes.
        if one.number("alignment_bytes") != block or one.ranks < 2 or size < block * calls:
            continue
        if uneven < limit.FEW_MISALIGNED_CALLS or uneven < limit.MISALIGNED_SHARE * calls:
            continue
        striped |= bool(layout)
        what = "stripe" if layout else "block"
        text = (
            f"{uneven:,} of {calls:,} requests begin within a {what} of {size_text(block)}, by "
            f"{one.ranks:,} ranks"
        )
        times = {int(one.slowest["rank"]): one.seconds} if one.slowest else {}
        found.append(counted(text, one.file, "", (), calls, size, times))
    if not found:
        return None
    summary = f"requests in {_files(len(found))} do not keep to the borders of blocks"
    return Sighting(found, summary, severity="" if striped else LOW)


def _read_again(facts: Facts, by_several: bool) -> Sighting | None:
    """More bytes read than the file has up to the last one that was read."""
    found: list[Evidence] = []
    for one in uses(facts, "posix"):
        if (one.ranks > 1) != by_several or not one.bytes(False):
            continue
        reach = one.number("last_byte_read") + 1
        extra = one.bytes(False) - reach
        if reach <= 1 or extra < limit.REPEATED_BYTES or extra < limit.REPEATED_SHARE * reach:
            continue
        who = f"{one.ranks:,} ranks" if by_several else "one rank"
        text = (
            f"{who} read {size_text(one.bytes(False))} of a file of which no byte beyond "
            f"{size_text(reach)} was read"
        )
        share = extra / one.bytes(False)
        times = added_up(
            (rank, seconds * share) for rank, seconds in one.part_of_slowest("read_seconds").items()
        )
        found.append(counted(text, one.file, "", (), one.calls("read"), extra, times))
    if not found:
        return None
    size = sum(one.bytes for one in found)
    how = "of the time of reading the share of the bytes that were read more than once"
    summary = f"{size_text(size)} at least are read more than once"
    return Sighting(found, summary, at_most(slowest(found), facts, how))


def _files(number: int) -> str:
    return f"{number} file{'s' if number > 1 else ''}"


LOOKS = {
    "small-writes": lambda facts: _small(facts, True),
    "small-reads": lambda facts: _small(facts, False),
    "random-reads": lambda facts: _random(facts, False),
    "random-writes": lambda facts: _random(facts, True),
    "misaligned": _misaligned,
    "repeated-reads": lambda facts: _read_again(facts, False),
    "shared-reads": lambda facts: _read_again(facts, True),
}
