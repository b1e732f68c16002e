"""Candidate settings for a pattern, chosen by the mechanism that could make it faster.

Only settings that leave the file readable as it was: nothing here changes its layout or
format. The order is that of hope, so that a small budget takes the best few.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from iotune.models.settings.chunk_caches import cache_bytes_for
from iotune.models.settings.own_hints import own_hints
from iotune.models.settings.storage_targets import Targets
from iotune.models.settings.stripes import Striping, stripings

from iotune import core

_MIB = 1024 * 1024
# Below this, alignment grows a file more than it can speed it up.
_LARGE_FILE_BYTES = 64 * _MIB
# Aggregators beyond a few contend for the same storage.
_MOST_AGGREGATORS = 8
# Threshold and boundary: the smallest threshold that the tuner does not raise.
ALIGNMENT = f"{4 * _MIB},{_MIB}"
STRIPED = ("lustre", "cephfs")
# Their headers take about a kilobyte each: the metadata cache has two megabytes to begin with.
_MANY_DATASETS = 2000
# Layers of parameters (patterndb/settings/parameters.h) beneath a program that calls no HDF5.
_BENEATH = {
    "mpiio": ("mpi-io hint", "file system", "posix"),
    "posix": ("file system", "posix"),
}
# Where nothing is reserved, or memory would be.
_NOT_RESERVED = (*STRIPED, "nfs", "tmpfs", "ramfs")


@dataclass(frozen=True)
class Shape:
    """What the choice depends on."""

    write: bool
    collective: bool
    distributions: tuple[str, ...]
    ranks: int
    file_bytes: int
    chunk: tuple[int, ...] = ()
    dimensions: tuple[int, ...] = ()  # of the dataset; empty: unknown
    element_bytes: int = 1
    filesystem: str = ""
    layer: str = "hdf5"  # "mpiio", "posix": what the program calls
    mpi: str = ""  # as traces name it
    page_bytes: int = 0  # of a file that HDF5 keeps in pages
    datasets: int = 1
    chunks_in_use: int = 0  # that reads come back to; 0: not known
    nodes: int = 1
    targets: Targets | None = None  # of the storage; None: nobody looked
    # Stripe counts that response times rule out.
    ruled_out_counts: frozenset[int] = frozenset()

    @property
    def interleaved(self) -> bool:
        """Whether the ranks' bytes alternate in the file, by any dimension but the first."""
        return is_interleaved(self.distributions)


def is_interleaved(distributions: Sequence[str]) -> bool:
    """As Shape.interleaved."""
    first, *others = distributions or ("*",)
    return first.startswith("CYCLIC") or any(one != "*" for one in others)


@dataclass(frozen=True)
class Candidate:
    """Settings worth a measurement, and why."""

    settings: dict[str, str] = field(default_factory=dict)
    why: str = ""

    @property
    def text(self) -> str:
        """Canonical: name=value;name=value, sorted."""
        return ";".join(f"{name}={self.settings[name]}" for name in sorted(self.settings))


def parse_candidate(text: str) -> Candidate:
    """A candidate as the command line has it. Raises ValueError for a part without '='."""
    settings = {}
    for part in text.split(";"):
        name, equals, value = part.strip().partition("=")
        if not equals or not name or not value:
            raise ValueError(f"'{part}' is not name=value")
        settings[name.strip()] = value.strip()
    return Candidate(settings, "asked for")


def candidates(shape: Shape, budget: int = 12) -> list[Candidate]:
    """At most `budget` different candidates, the most hopeful first."""
    found = _striping(shape)
    if shape.ranks > 1 and shape.collective:
        # Behind what gains most where ranks interleave, and not behind all that is of its kind.
        transfers = _collective(shape)
        own = [Candidate(*one) for one in own_hints(shape)]
        found += transfers[:3] + own + _reservation(shape) + transfers[3:]
    else:
        found += _reservation(shape)
        found += _independent(shape) if shape.ranks > 1 else []
    found += _buffers(shape)
    found += _memory(shape)
    found += _placement(shape)
    found += _read_ahead(shape)
    found = [one for one in found if reaches(one, shape.layer)]
    unique: dict[str, Candidate] = {}
    for one in found:
        unique.setdefault(one.text, one)
    return list(unique.values())[:budget]


def refinements(shape: Shape) -> list[Candidate]:
    """What is seldom worth much alone, but may be beside the best of `candidates`."""
    found = [_larger_sieve(shape)] if shape.ranks > 1 else []
    found += _placement(shape) + _reservation(shape)
    return [one for one in found if reaches(one, shape.layer)]


def reaches(candidate: Candidate, layer: str) -> bool:
    """Whether all of it is set at the layer that the program calls, or beneath."""
    return layer == "hdf5" or all(_layers()[name] in _BENEATH[layer] for name in candidate.settings)


@functools.cache
def _layers() -> dict[str, str]:
    return {str(one["name"]): str(one["layer"]) for one in core.parameters()}


def _larger_sieve(shape: Shape) -> Candidate:
    buffer = "ind_wr_buffer_size" if shape.write else "ind_rd_buffer_size"
    return Candidate({buffer: str(16 * _MIB)}, "a larger sieve")


def _aggregators(count: int) -> dict[str, str]:
    # cb_nodes alone does nothing on one node: ROMIO's default list allows one a host.
    return {"cb_nodes": str(count), "cb_config_list": f"*:{count}"}


def _counts(ranks: int) -> Sequence[int]:
    return [count for count in (2, 4, _MOST_AGGREGATORS) if count <= ranks]


def _collective(shape: Shape) -> list[Candidate]:
    verb = "write" if shape.write else "read"
    two_phase, sieving = f"romio_cb_{verb}", f"romio_ds_{verb}"
    alone = Candidate({two_phase: "disable"}, "each rank for itself, through the sieve buffer")
    several = [
        Candidate(_aggregators(count), f"{count} aggregators share the exchange")
        for count in _counts(shape.ranks)
    ]
    forced = Candidate({two_phase: "enable"}, "two-phase although the ranks do not interleave")
    plain = Candidate(
        {two_phase: "disable", sieving: "disable"}, "each rank for itself, piece by piece"
    )
    large = Candidate({"cb_buffer_size": str(64 * _MIB)}, "fewer exchanges")
    small = Candidate({"cb_buffer_size": str(4 * _MIB)}, "exchanges that fit the cache")
    # Each aggregator's part of an exchange fits a cache, and none waits for a single one.
    shared = [
        Candidate({**one.settings, **small.settings}, f"{one.why}, in parts that fit the cache")
        for one in several[-1:]
    ]
    forced_shared = [
        Candidate({two_phase: "enable", **one.settings}, f"two-phase always, {one.why}")
        for one in shared
    ]
    individual = Candidate(
        {"dxpl_mpio_collective_opt": "individual"}, "collective for HDF5, independent below"
    )
    if shape.interleaved:
        # Different mechanisms first: a small budget is not to go to four kinds of one.
        two, more = several[:1], several[1:]
        return [alone, *two, individual, small, *shared, plain, large, *more, forced]
    return [plain, individual, alone, forced, *forced_shared, *several, large, small]


def unsieved(verb: str) -> dict[str, str]:
    """Pieces as they are. Some ROMIOs write them wrong without a hint whether to join others."""
    joining = {"romio_cb_write": "enable"} if verb == "write" else {}
    return {**joining, f"romio_ds_{verb}": "disable"}


def _independent(shape: Shape) -> list[Candidate]:
    verb = "write" if shape.write else "read"
    found = [
        Candidate(unsieved(verb), "piece by piece, without read-modify-write"),
        _larger_sieve(shape),
        Candidate({f"romio_ds_{verb}": "enable"}, "always through the sieve"),
    ]
    return found if shape.interleaved else found[::-1]


def chunk_caches(shape: Shape) -> list[int]:
    """Bytes that are worth a try for reads of a chunked dataset, the likeliest first."""
    chunk_bytes = shape.element_bytes
    for extent in shape.chunk:
        chunk_bytes *= extent
    if shape.chunks_in_use:
        return [cache_bytes_for(shape.chunks_in_use, chunk_bytes)]
    # Row by row every chunk beside the row's first comes up again with the next row.
    beside = 1
    for extent, size in zip(shape.chunk[1:], shape.dimensions[1:]):
        beside *= -(-size // extent)
    sizes = [cache_bytes_for(chunks, chunk_bytes) for chunks in (max(8, beside + 1), 8)]
    return list(dict.fromkeys(sizes))


def _memory(shape: Shape) -> list[Candidate]:
    found = []
    if shape.chunk:
        if not shape.write:
            found += [
                Candidate({"chunk_cache": str(cache)}, "each chunk is read and unpacked once")
                for cache in chunk_caches(shape)
            ]
    elif shape.ranks == 1:
        found.append(
            Candidate({"sieve_buf_size": str(4 * _MIB)}, "small rows are joined in memory")
        )
    return found


def page_buffers(shape: Shape) -> list[int]:
    """Bytes of a page buffer that are worth a try: of one process that reads a paged file."""
    if shape.write or shape.ranks > 1 or not shape.page_bytes:
        return []
    least = 16 * shape.page_bytes
    return sorted({max(least, size) for size in (16 * _MIB, 64 * _MIB)}, reverse=True)


def metadata_caches(shape: Shape) -> list[int]:
    """Bytes that HDF5's metadata cache may begin with, where it has many objects to hold."""
    return [32 * _MIB] if shape.datasets >= _MANY_DATASETS else []


def _buffers(shape: Shape) -> list[Candidate]:
    return [
        *(
            Candidate({"page_buffer": str(size)}, "small pieces are read by whole pages")
            for size in page_buffers(shape)
        ),
        *(
            Candidate({"mdc_size": str(size)}, "the metadata of all datasets stay in memory")
            for size in metadata_caches(shape)
        ),
    ]


def _placement(shape: Shape) -> list[Candidate]:
    found = []
    if shape.write and shape.file_bytes >= _LARGE_FILE_BYTES:
        # The threshold keeps metadata and small datasets where they were.
        found.append(Candidate({"alignment": ALIGNMENT}, "ranks begin at block boundaries"))
        found.append(Candidate({"meta_block_size": str(_MIB)}, "metadata in one place"))
    return found


def _reservation(shape: Shape) -> list[Candidate]:
    reservation = reserved(shape)
    return (
        [Candidate(reservation, "blocks are found once, not call by call")] if reservation else []
    )


def _read_ahead(shape: Shape) -> list[Candidate]:
    """Of reads by POSIX alone: above it, libraries read in pieces of their own."""
    if shape.write or shape.layer != "posix":
        return []
    return [
        Candidate({"fadvise": "sequential"}, "the kernel reads further ahead"),
        Candidate({"fadvise": "random"}, "the kernel reads nothing that was not asked for"),
    ]


def stripings_of(shape: Shape) -> list[Striping]:
    """What new files of this shape may be spread by, the most hopeful first."""
    return [
        one
        for one in stripings(shape.nodes, shape.ranks, shape.file_bytes, shape.targets)
        if one.count not in shape.ruled_out_counts
    ]


def reserved(shape: Shape) -> dict[str, str]:
    """Room on the disk for the whole of a large new file; empty where that is not to be had."""
    # Of POSIX, each rank may have a file of the name: no answer reserves there.
    if not shape.write or shape.filesystem in _NOT_RESERVED or shape.layer == "posix":
        return {}
    if shape.file_bytes < _LARGE_FILE_BYTES:
        return {}
    return {"fallocate": str(shape.file_bytes)}


def _striping(shape: Shape) -> list[Candidate]:
    """Of new files, and of nothing else: the layout of a file that is read is fixed."""
    if not shape.write or shape.filesystem not in STRIPED:
        return []
    return [Candidate(one.settings, one.why) for one in stripings_of(shape)]
