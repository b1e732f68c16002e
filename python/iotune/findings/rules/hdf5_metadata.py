"""What HDF5 keeps about its objects, and how ranks read it."""

from __future__ import annotations

from collections import defaultdict

from iotune.findings import thresholds as limit
from iotune.findings.facts import (
    Facts,
    at_most,
    counted,
    ranks_of,
    slowest,
    times_of,
)
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5
from iotune.findings.snippets.named import named
from iotune.findings.streams import HDF5_OTHER
from iotune.reports.tables import ranks_text, size_text


def _reads(facts: Facts) -> Sighting | None:
    found = []
    files = facts.by_file(
        lambda one: one.layer == "posix" and one.outer == HDF5_OTHER and one.meaning.reads
    )
    for file, streams in files.items():
        if facts.hdf5.properties.reads_metadata_together(file):
            continue
        calls: dict[int, int] = defaultdict(int)
        for one in streams:
            calls[one.process] += one.below(limit.METADATA_READ_BYTES)[0]
        many = [process for process, number in calls.items() if number >= limit.METADATA_READS]
        own = [one for one in streams if one.process in many and one.rank >= 0]
        ranks = ranks_of(own)
        if len(ranks) < 2:
            continue
        number, size = sum(calls[process] for process in many), sum(one.bytes for one in own)
        text = (
            f"{number:,} reads of metadata, {size_text(size / number)} on average, by "
            f"{ranks_text(ranks)}, each for itself"
        )
        found.append(counted(text, file, "", ranks, number, size, times_of(own)))
    if not found:
        return None
    calls_in_all = sum(one.calls for one in found)
    seconds = slowest(found)
    how = "the time of these reads on the slowest rank; a shared file system adds to it with ranks"
    return Sighting(
        found, f"{calls_in_all:,} reads of metadata that one rank could make for all",
        at_most(seconds, facts, how),
    )  # fmt: skip


def _reopened(facts: Facts) -> Sighting | None:
    found, about = [], {}
    for one in facts.hdf5.datasets.values():
        opens = max((len(objects) for objects in one.opened.values()), default=0)
        moved = sum(one.transfers.values())
        times = sum(len(objects) for objects in one.opened.values())
        if opens < limit.MANY_REOPENS or moved > limit.TRANSFERS_OF_AN_OPEN * times:
            continue
        streams = [
            each
            for each in facts.of_file[one.file]
            if each.layer == "hdf5"
            and each.meaning.verb == "opens"
            and each.meaning.thing in ("dataset", "object")
        ]
        ways = [facts.transfers[one.file, one.path, writes] for writes in (True, False)]
        ranks = ranks_of(each for way in ways for each in way)
        # Opens have no dataset in a trace: of all of the file this one's share.
        share = min(1.0, times / max(1, sum(each.calls for each in streams)))
        spent = {process: share * taken for process, taken in times_of(streams).items()}
        text = f"opened {opens:,} times by one process, for {moved:,} transfers in all"
        found.append(counted(text, one.file, one.path, ranks, times, 0, spent))
        about[one.file, one.path] = named(one, writes=False)
    if not found:
        return None
    summary = f"datasets are opened {sum(one.calls for one in found):,} times for their transfers"
    seconds = slowest(found)
    how = "the time of opening alone; chunks that are lost with the cache come on top"
    return Sighting(found, summary, at_most(seconds, facts, how), named=about)


RULES = (
    Rule(
        "metadata-reads",
        "all ranks read the same metadata",
        "hdf5",
        "Switch on collective metadata operations: then every rank must open the same objects "
        "in the same order. iotune does not, for it cannot know that they do.",
        _reads,
        hdf5.TOGETHER,
    ),
    Rule(
        "reopened-datasets",
        "a dataset opened anew for each transfer",
        "hdf5",
        "Open a dataset once and keep it open: its chunk cache is lost when it is closed.",
        _reopened,
        lines=hdf5.opened_once,
    ),
)
