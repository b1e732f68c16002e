"""Files that several ranks share: independent access, data sieving, stripes, locks."""

from __future__ import annotations

from collections import defaultdict

from iotune.findings import thresholds as limit
from iotune.findings.facts import Facts, at_most, evidence, ranks_of, slowest
from iotune.findings.finding import LOW, MEDIUM, Evidence
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5, mpiio, posix
from iotune.findings.streams import (
    HDF5_OTHER,
    MPI_READ,
    MPI_READ_ALL,
    MPI_WRITE,
    MPI_WRITE_ALL,
    Stream,
)
from iotune.reports.tables import ranks_text, size_text

_LOCKED_BY_MPI_IO = ("nfs", "nfs4", "vast")


def _independent(facts: Facts) -> Sighting | None:
    found = []
    for file, streams in facts.by_file(_is_independent).items():
        for writes in (True, False):
            if facts.mode_is_unknown(file, writes):
                continue
            own = [one for one in streams if one.meaning.writes == writes and one.bytes]
            calls, size = sum(one.calls for one in own), sum(one.bytes for one in own)
            if calls < limit.FEW_INDEPENDENT_CALLS or size > limit.INDEPENDENT_BYTES * calls:
                continue
            if len(ranks_of(own)) < 2 or not _interleaved(own):
                continue
            text = (
                f"{calls:,} independent requests of {size_text(size / calls)} on average, whose "
                f"places lie between each other's, by {ranks_text(ranks_of(own))}"
            )
            found.append(evidence(own, text, file))
    if not found:
        return None
    calls = sum(one.calls for one in found)
    summary = f"{calls:,} independent requests that MPI-IO could gather into a few"
    seconds = slowest(found)
    how = "all the time of these requests; exchanging the data first costs some of it again"
    asked_by_hdf5 = any(one.layer == "hdf5" for each in found for one in facts.of_file[each.file])
    return Sighting(
        found,
        summary,
        at_most(seconds, facts, how),
        severity=_where_gathering_pays(facts, found),
        layer="hdf5" if asked_by_hdf5 else "mpiio",
    )


def _where_gathering_pays(facts: Facts, found: list[Evidence]) -> str:
    """Low on disks of the node, where the exchange of data often takes longer than it saves."""
    return LOW if all(facts.is_local(one.file) for one in found) else ""


def _ungathered(facts: Facts) -> Sighting | None:
    found = []
    for file, streams in facts.by_file(_is_made_of_collective).items():
        for writes in (True, False):
            own = [one for one in streams if one.meaning.writes == writes and one.placed]
            asked = [one for one in facts.of_file[file] if _asks_together(one, writes)]
            calls, size = sum(one.calls for one in own), sum(one.bytes for one in own)
            collective = sum(one.calls for one in asked)
            few = max(limit.FEW_INDEPENDENT_CALLS, limit.UNGATHERED_REQUESTS * collective)
            if not collective or calls < few or size > limit.SMALL_BYTES * calls:
                continue
            # With holes between them they could not be joined.
            span = max(one.end for one in own) - min(one.begin for one in own)
            if size < 0.5 * span:
                continue
            text = (
                f"{calls:,} {'writes' if writes else 'reads'} of {size_text(size / calls)} on "
                f"average for {collective:,} collective calls{_by(own)}"
            )
            found.append(evidence(own, text, file))
    if not found:
        return None
    calls = sum(one.calls for one in found)
    summary = f"MPI-IO made {calls:,} small requests of collective calls, and gathered nothing"
    how = "all the time of these requests; exchanging the data first costs some of it again"
    return Sighting(
        found,
        summary,
        at_most(slowest(found), facts, how),
        severity=_where_gathering_pays(facts, found),
    )


def _is_made_of_collective(one: Stream) -> bool:
    """What MPI-IO made of collective transfers of data."""
    made = one.parent in (MPI_READ_ALL, MPI_WRITE_ALL) and one.layer == "posix"
    same_way = (one.parent == MPI_WRITE_ALL) == one.meaning.writes
    return made and same_way and one.meaning.transfer and one.outer != HDF5_OTHER


def _asks_together(one: Stream, writes: bool) -> bool:
    means = one.meaning
    return one.layer == "mpiio" and means.collective and means.transfer and means.writes == writes


def _by(streams: list[Stream]) -> str:
    text = ranks_text(ranks_of(streams))
    return f", by {text}" if text else ""


def _is_independent(one: Stream) -> bool:
    """What MPI-IO made of independent transfers of data."""
    made = one.parent in (MPI_READ, MPI_WRITE) and one.layer == "posix" and one.meaning.transfer
    same_way = (one.parent == MPI_WRITE) == one.meaning.writes
    return made and same_way and one.outer != HDF5_OTHER


def _interleaved(streams: list[Stream]) -> bool:
    """Whether ranks' parts of the file reach into each other."""
    reach: dict[int, tuple[int, int]] = {}
    for one in streams:
        if one.placed:
            begin, end = reach.get(one.process, (one.begin, one.end))
            reach[one.process] = (min(begin, one.begin), max(end, one.end))
    parts = sorted(reach.values())
    return any(later[0] < earlier[1] for earlier, later in zip(parts, parts[1:]))


def _sieving(facts: Facts) -> Sighting | None:
    found = []
    reads = facts.by_file(
        lambda one: (
            one.layer == "posix" and one.meaning.reads and one.parent in (MPI_WRITE, MPI_WRITE_ALL)
        )
    )
    written: dict[str, int] = defaultdict(int)
    for one in facts.streams:
        if one.layer == "posix" and one.meaning.writes:
            written[one.file] += one.bytes
    for file, streams in reads.items():
        calls, size = sum(one.calls for one in streams), sum(one.bytes for one in streams)
        least = max(limit.FEW_SIEVED_BYTES, limit.SIEVED_SHARE * written[file])
        if calls < limit.FEW_SIEVED_CALLS or size < least:
            continue
        text = (
            f"MPI-IO read {size_text(size)} in {calls:,} requests only to write them back, and "
            f"wrote {size_text(written[file])} in all"
        )
        found.append(evidence(streams, text, file))
    if not found:
        return None
    size = sum(one.bytes for one in found)
    summary = f"data sieving reads {size_text(size)} for writes with holes"
    seconds = slowest(found)
    return Sighting(found, summary, at_most(seconds, facts, "the time of these reads alone"))


def _narrow(facts: Facts) -> Sighting | None:
    found = []
    streams_of = facts.by_file(lambda one: one.layer == "posix" and one.meaning.transfer)
    for file, streams in streams_of.items():
        size = sum(one.bytes for one in streams)
        if size < limit.NARROW_BYTES or facts.run.ranks < 2:
            continue
        layout = facts.striping(file)
        if layout.get("striping_factor") != "1":
            continue
        text = f"{size_text(size)} through one storage target, for {facts.run.ranks} ranks"
        found.append(evidence(streams, text, file))
    if not found:
        return None
    summary = f"{size_text(sum(one.bytes for one in found))} go to files of one stripe"
    return Sighting(found, summary)


def _locks(facts: Facts) -> Sighting | None:
    found = []
    streams_of = facts.by_file(
        lambda one: one.layer == "mpiio" and one.meaning.transfer and one.bytes > 0
    )
    for file, streams in streams_of.items():
        filesystem = facts.filesystem(file)
        writers = {one.process for one in streams if one.meaning.writes}
        if filesystem not in _LOCKED_BY_MPI_IO or len(writers) < 2:
            continue
        text = f"{ranks_text(ranks_of(streams))} write it through MPI-IO on {filesystem}"
        found.append(evidence(streams, text, file))
    if not found:
        return None
    summary = f"MPI-IO locks each transfer of {_many(found)}"
    return Sighting(found, summary, severity=MEDIUM)


def _many(found: list[Evidence]) -> str:
    return found[0].file.rpartition("/")[2] if len(found) == 1 else f"{len(found)} files"


RULES = (
    Rule(
        "independent-transfers",
        "independent transfers that could be one collective",
        "mpiio",
        "Make the transfer collective, and pass all that a rank has in one call, by a view or a "
        "selection. Measure it: on a local disk, or where pieces are large, independent "
        "transfers may be faster.",
        _independent,
        (*mpiio.COLLECTIVE, *hdf5.COLLECTIVE),
    ),
    Rule(
        "ungathered-collectives",
        "collective transfers that MPI-IO did not gather",
        "mpiio",
        "Have MPI-IO exchange the data first: a hint of ROMIO's, or another component of Open MPI. "
        "Measure it: on a local disk single requests may be faster.",
        _ungathered,
        mpiio.GATHERING,
        ("romio_cb_write", "romio_cb_read"),
    ),
    Rule(
        "data-sieving",
        "reads that are made only to write",
        "mpiio",
        "Write without holes, or collectively so that ranks fill each other's. Where pieces have "
        "some KiB and more, data sieving of writes may be switched off.",
        _sieving,
        (*mpiio.COLLECTIVE, *mpiio.NO_SIEVING),
        ("romio_ds_write", "romio_cb_write"),
    ),
    Rule(
        "narrow-striping",
        "a large file on one storage target",
        "posix",
        "Stripe files that ranks share over several targets, before they are made. Files of one "
        "rank each, and small ones, stay on one.",
        _narrow,
        (posix.STRIPES, *mpiio.STRIPES),
        ("striping_factor", "striping_unit"),
    ),
    Rule(
        "file-locks",
        "a shared file on a file system where MPI-IO locks",
        "mpiio",
        "Write collectively with few aggregators, use a parallel file system, or write one file "
        "a node. Locks can be switched off where no two ranks ever write the same bytes; iotune "
        "does not do so, for it cannot know that.",
        _locks,
        (posix.NO_LOCKS,),
        ("cb_nodes",),
    ),
)
