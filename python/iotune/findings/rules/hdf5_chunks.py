"""Chunks: their shape across the access, their cache, and ranks that share them behind a filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from iotune.findings import thresholds as limit
from iotune.findings.datasets import Chunks, Dataset
from iotune.findings.facts import Facts, at_most, evidence, ranks_of, slowest
from iotune.findings.rule import Rule, Sighting
from iotune.findings.snippets import hdf5
from iotune.findings.snippets.named import Named, named
from iotune.models.settings.chunk_caches import cache_bytes_for, chunks_to_hold
from iotune.reports.tables import count_text, ranks_text, size_text


def _by_process(facts: Facts, writes: bool) -> Iterator[tuple[Dataset, list[Chunks]]]:
    """Datasets whose chunks were all followed, with what each process did."""
    for one in facts.hdf5.datasets.values():
        parts = [found for (way, _), found in one.chunks.items() if way == writes]
        if parts and one.touched_in_full:
            yield one, parts


def _shape(facts: Facts) -> Sighting | None:
    found = []
    about: dict[tuple[str, str], Named] = {}
    for one, parts in _by_process(facts, writes=False):
        seen: set[tuple[int, ...]] = set().union(*(part.seen for part in parts))
        asked = sum(part.asked_bytes for part in parts)
        # Of each process by itself: what it has to have of the dataset over what it wanted.
        loaded = sum(len(part.seen) for part in parts) * one.chunk_bytes
        if loaded < limit.CHUNK_AMPLIFICATION * asked or loaded - asked < limit.REPEATED_BYTES:
            continue
        streams = facts.transfers[one.file, one.path, False]
        text = (
            f"{size_text(asked)} asked for lie in {len(seen):,} chunks of "
            f"{_shape_text(one.chunk)} ({size_text(one.chunk_bytes)}): {loaded / asked:.1f} times "
            "as many bytes"
        )
        also_written = bool(facts.transfers.get((one.file, one.path, True)))
        if also_written:
            text += "; this run writes it too, and with chunks for these reads that may take longer"
        found.append(evidence(streams, text, one.file, one.path))
        about[one.file, one.path] = replace(named(one, writes=False), writes=also_written)
    if not found:
        return None
    summary = f"reads go across the chunks of {count_text(len(found), 'dataset')}"
    seconds = slowest(found)
    how = "all the time of these reads; what of it stays with better chunks is not known"
    return Sighting(found, summary, at_most(seconds, facts, how), named=about)


def _shape_text(sizes: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in sizes)


def _cache(facts: Facts) -> Sighting | None:
    found, needed = [], 0
    about: dict[tuple[str, str], Named] = {}
    for writes in (False, True):
        for one, parts in _by_process(facts, writes):
            if not one.filters and one.chunk_bytes > one.cache_bytes:
                continue  # HDF5 goes past the cache, to the very bytes
            if facts.run.ranks > 1 and (writes or not one.independent_reads):
                if _is_parallel(facts, one.file):
                    continue  # such chunks are not cached
            loads = sum(part.loads for part in parts)
            different = sum(len(part.seen) for part in parts)
            if loads < limit.CHUNK_LOADS * different or loads < limit.FEW_CHUNK_LOADS:
                continue
            chunks = chunks_to_hold(
                max(part.most_at_once for part in parts),
                max(len(part.seen) for part in parts),
                one.chunk_bytes,
                one.cache_bytes,
            )
            size = cache_bytes_for(chunks, one.chunk_bytes)
            about[one.file, one.path] = named(one, writes, size)
            needed = max(needed, size)
            verb = "written" if writes else "read"
            unpacked = " and unpacked" if one.filters and not writes else ""
            text = (
                f"{different:,} chunks of {size_text(one.chunk_bytes)} {verb}{unpacked} "
                f"{loads / different:.1f} times each; the cache has {size_text(one.cache_bytes)} "
                f"and {size_text(size)} would hold them{_opened_anew(one)}"
            )
            streams = facts.transfers[one.file, one.path, writes]
            found.append(evidence(streams, text, one.file, one.path))
    if not found:
        return None
    summary = (
        f"chunks of {count_text(len(found), 'dataset')} leave the cache before they are used "
        f"again; a cache of {size_text(needed)} would hold them"
    )
    seconds = slowest(found)
    how = "all the time of these transfers; with a cache that fits, most of it"
    return Sighting(found, summary, at_most(seconds, facts, how), named=about)


def _opened_anew(one: Dataset) -> str:
    """What empties the cache, whatever its size."""
    opens = max((len(objects) for objects in one.opened.values()), default=0)
    times = sum(len(objects) for objects in one.opened.values())
    if opens < 2 or sum(one.transfers.values()) > limit.TRANSFERS_OF_AN_OPEN * times:
        return ""
    return (
        f"; but a process opens the dataset anew {opens:,} times, which empties the cache: "
        "first keep it open"
    )


def _is_parallel(facts: Facts, file: str) -> bool:
    return facts.hdf5.properties.is_parallel(file)


def _shared(facts: Facts) -> Sighting | None:
    if facts.run.ranks < 2:
        return None
    found = []
    about: dict[tuple[str, str], Named] = {}
    for one in facts.hdf5.datasets.values():
        if not one.filters:
            continue
        owners = one.owners[True]
        shared = sum(len(processes) > 1 for processes in owners.values())
        if not shared or shared < limit.SHARED_CHUNKS * len(owners):
            continue
        streams = facts.transfers[one.file, one.path, True]
        if sum(stream.bytes for stream in streams) < limit.FILL_BYTES:
            continue
        text = (
            f"{shared:,} of {len(owners):,} compressed chunks of {_shape_text(one.chunk)} are "
            f"written by more than one of {ranks_text(ranks_of(streams))}"
        )
        found.append(evidence(streams, text, one.file, one.path))
        about[one.file, one.path] = named(one, writes=True)
    if not found:
        return None
    summary = "ranks write parts of the same compressed chunks"
    seconds = slowest(found)
    how = "all the time of these writes; packing the data takes some of it anyway"
    return Sighting(found, summary, at_most(seconds, facts, how), named=about)


RULES = (
    Rule(
        "chunk-shape",
        "chunks that lie across the reads",
        "hdf5",
        "Give chunks the shape of what is read together, of some MiB at most. Files that are "
        "there are written anew with h5repack.",
        _shape,
        lines=hdf5.chunk_shape,
    ),
    Rule(
        "chunk-cache",
        "a chunk cache that is too small",
        "hdf5",
        "Make the cache as large as the chunks that are in use at once, or read in an order that "
        "finishes a chunk before the next. Keep the dataset open meanwhile: its cache is lost when "
        "it is closed. A chunk larger than the cache is unpacked anew for "
        "every transfer.",
        _cache,
        lines=hdf5.chunk_cache,
        parameters=("chunk_cache",),
    ),
    Rule(
        "shared-chunks",
        "compressed chunks with several writers",
        "hdf5",
        "Choose chunks so that each belongs to one rank. A compressed chunk has one writer: "
        "HDF5 sends its parts to a rank that reads, unpacks, packs and writes it.",
        _shared,
        lines=hdf5.own_chunks,
    ),
)
