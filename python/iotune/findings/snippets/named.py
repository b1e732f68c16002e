"""What lines about a dataset name: that of a finding, or the example of docs/findings.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from iotune.findings.datasets import Dataset

# H5T_class_t -> numpy's letter; whether integers have a sign is not in a trace.
_KINDS = {0: "i", 1: "f"}
_SIZES = {"i": (1, 2, 4, 8), "f": (4, 8)}
_LEAST_CHUNK_BYTES, _MOST_CHUNK_BYTES = 64 << 10, 4 << 20
_MOST_SLOTS = 1 << 20


@dataclass(frozen=True)
class Named:
    """A dataset, and what would suit it."""

    file: str = "old.h5"
    path: str = "x"
    dims: tuple[int, ...] = (4096, 1024)
    kind: str = "f"  # numpy's letter of the type in the file; "": not known, or none of these
    file_bytes: int = 8  # of an element in the file
    memory_bytes: int = 8  # and in memory
    chunk: tuple[int, ...] = (16, 1024)  # that suits the access
    cache_bytes: int = 64 << 20
    slots: int = 12421  # of such a cache
    writes: bool = False
    packed: bool = False  # by a filter

    @property
    def quoted(self) -> str:
        """The path as C and Python write it."""
        return json.dumps(self.path, ensure_ascii=False)

    @property
    def quoted_file(self) -> str:
        return json.dumps(self.file, ensure_ascii=False)

    @property
    def in_fortran(self) -> str:
        return '"' + self.path.replace('"', '""') + '"'


EXAMPLE = Named()


def named(one: Dataset, writes: bool, cache_bytes: int = 0) -> Named:
    """A dataset of a run in one direction. `cache_bytes`: of the chunk cache that would suit."""
    kind = _KINDS.get(one.type_class, "")
    memory_bytes = one.memory_bytes[writes] or one.element_bytes
    if kind and not {one.element_bytes, memory_bytes} <= set(_SIZES[kind]):
        kind = ""
    return Named(
        one.file,
        one.path,
        one.dims,
        kind,
        one.element_bytes,
        memory_bytes,
        chunk_for(one.usual_shape(writes), one.dims, one.element_bytes),
        cache_bytes,
        slots_for(cache_bytes, one.chunk_bytes),
        writes,
        one.filters > 0,
    )


def chunk_for(asked: Sequence[int], dims: Sequence[int], element_bytes: int) -> tuple[int, ...]:
    """A chunk of the shape of what is read together, of 64 KiB to 4 MiB where the dataset has them.

    Smaller reads are joined along the fastest dimension first, as they lie in memory.
    """
    chunk = [max(1, min(size, most)) for size, most in zip(asked, dims)]

    def size_bytes() -> int:
        size = element_bytes
        for extent in chunk:
            size *= extent
        return size

    for at in range(len(chunk) - 1, -1, -1):
        while chunk[at] < dims[at] and size_bytes() < _LEAST_CHUNK_BYTES:
            chunk[at] = min(2 * chunk[at], dims[at])
    for at in range(len(chunk)):
        while chunk[at] > 1 and size_bytes() > _MOST_CHUNK_BYTES:
            chunk[at] = -(-chunk[at] // 2)
    return tuple(chunk)


def slots_for(cache_bytes: int, chunk_bytes: int) -> int:
    """Of a chunk cache's table: a prime, some 100 for each chunk that the cache holds."""
    least = min(_MOST_SLOTS, max(521, 100 * cache_bytes // max(1, chunk_bytes)))
    return next(n for n in range(least | 1, 2 * least, 2) if _is_prime(n))


def _is_prime(number: int) -> bool:
    return all(number % one for one in range(3, int(number**0.5) + 1, 2))
