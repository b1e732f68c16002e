"""Chunks: their shape across the access, their cache, and ranks that share them behind a filter."""

from __future__ import annotations

from collections.abc import Iterator

from iotune.findings import thresholds as limit
from iotune.findings.datasets import Chunks, Dataset
from iotune.findings.facts import Facts, at_most, evidence, ranks_of, ranks_text, slowest
from iotune.findings.rule import Rule, Sighting, c, python
from iotune.reports.tables import count_text, size_text


def _by_process(facts: Facts, writes: bool) -> Iterator[tuple[Dataset, list[Chunks]]]:
    """Datasets whose chunks were all followed, with what each process did."""
    for one in facts.hdf5.datasets.values():
        parts = [found for (way, _), found in one.chunks.items() if way == writes]
        if parts and one.touched_in_full:
            yield one, parts


def _shape(facts: Facts) -> Sighting | None:
    found = []
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
        found.append(evidence(streams, text, one.file, one.path))
    if not found:
        return None
    summary = f"reads go across the chunks of {count_text(len(found), 'dataset')}"
    seconds = slowest(found)
    how = "all the time of these reads; what of it stays with better chunks is not known"
    return Sighting(found, summary, at_most(seconds, facts, how))


def _shape_text(sizes: tuple[int, ...]) -> str:
    return "x".join(str(size) for size in sizes)


def _cache(facts: Facts) -> Sighting | None:
    found, needed = [], 0
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
            size = max(part.most_at_once for part in parts) * one.chunk_bytes
            if size <= one.cache_bytes:  # one transfer finds room: it is those in between
                size = max(len(part.seen) for part in parts) * one.chunk_bytes
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
    return Sighting(found, summary, at_most(seconds, facts, how))


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
    if not found:
        return None
    summary = "ranks write parts of the same compressed chunks"
    seconds = slowest(found)
    how = "all the time of these writes; packing the data takes some of it anyway"
    return Sighting(found, summary, at_most(seconds, facts, how))


_CHUNK = c("""
hsize_t chunk[2] = {rows_of_a_read, columns_of_a_read};   /* some 1 MiB */
H5Pset_chunk(dcpl, 2, chunk);
""")
_REPACK = python("""
# of a file that is there:  h5repack -l x:CHUNK=16x1024 old.h5 new.h5
file.create_dataset("x", shape, "f8", chunks=(16, 1024))
""")
_CACHE = c("""
hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
/* slots: a prime, some 100 for each chunk that fits */
H5Pset_chunk_cache(dapl, 12421, 64 << 20, 1.0);
hid_t set = H5Dopen2(file, "x", dapl);
""")
_CACHE_PY = python("""
file = h5py.File(name, "r", rdcc_nbytes=64 << 20, rdcc_nslots=12421)
# netCDF4:  variable.set_var_chunk_cache(64 << 20, 12421, 0.75)
""")
_BLOCK = c("""
hsize_t chunk[2] = {rows_of_a_rank, columns};   /* one owner each */
H5Pset_chunk(dcpl, 2, chunk);
""")

RULES = (
    Rule(
        "chunk-shape",
        "chunks that lie across the reads",
        "hdf5",
        "Give chunks the shape of what is read together, of some MiB at most. Files that are "
        "there are written anew with h5repack.",
        _shape,
        (_CHUNK, _REPACK),
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
        (_CACHE, _CACHE_PY),
        (("chunk_cache", "67108864"),),
    ),
    Rule(
        "shared-chunks",
        "compressed chunks with several writers",
        "hdf5",
        "Choose chunks so that each belongs to one rank. A compressed chunk has one writer: "
        "HDF5 sends its parts to a rank that reads, unpacks, packs and writes it.",
        _shared,
        (_BLOCK,),
    ),
)
