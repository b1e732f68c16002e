"""What a trace alone sees of HDF5: selections, chunks, caches, property lists.

The first transfers are looked at one by one, as many as MOST_TRANSFERS; `limits` says where that
was not all of them.
"""

from __future__ import annotations

import functools
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iotune.findings.properties import Properties, is_property_call
from iotune.traces.call_filter import CallFilter
from iotune.traces.call_meaning import Meaning, meaning_of, meanings
from iotune.traces.calls import CallReader
from iotune.traces.selections import chunks_of, extent_of, runs_of

MOST_TRANSFERS = 100_000
_MOST_CHUNKS = 4096  # of one transfer; beyond it chunks are counted by nobody
_MOST_TOUCHES = 1_000_000
_MOST_SHAPES = 64  # of one dataset and direction
_CHUNKED = 2


@dataclass
class Chunks:
    """How one process, or all, went through a dataset's chunks in one direction."""

    asked_bytes: int = 0
    touches: int = 0
    loads: int = 0  # of these that the cache did not hold
    most_at_once: int = 0  # of one transfer
    seen: set[tuple[int, ...]] = field(default_factory=set)


@dataclass
class Dataset:
    """One dataset of the run, and what of its transfers was looked at."""

    file: str
    path: str
    dims: tuple[int, ...] = ()
    chunk: tuple[int, ...] = ()  # empty: it has none
    element_bytes: int = 0
    type_class: int = -1  # H5T_class_t; -1: not known
    filters: int = 0
    cache_bytes: int = 0  # the least that some process had
    independent_reads: bool = False
    # By direction, True for writes:
    transfers: dict[bool, int] = field(default_factory=lambda: defaultdict(int))
    pieces: dict[bool, int] = field(default_factory=lambda: defaultdict(int))
    unions: dict[bool, int] = field(default_factory=lambda: defaultdict(int))  # of blocks, points
    bytes: dict[bool, int] = field(default_factory=lambda: defaultdict(int))
    converted: dict[bool, int] = field(default_factory=lambda: defaultdict(int))
    memory_bytes: dict[bool, int] = field(default_factory=lambda: defaultdict(int))
    # What one transfer selects at most of each dimension, and how many bytes of it were moved.
    shapes: dict[bool, Counter[tuple[int, ...]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    # Process -> iotune's numbers of its open handles: one for each time that it was opened
    opened: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    # (is write, process) -> chunks; (is write) -> chunk -> processes, up to two
    chunks: dict[tuple[bool, int], Chunks] = field(default_factory=lambda: defaultdict(Chunks))
    owners: dict[bool, dict[tuple[int, ...], set[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    touched_in_full: bool = True  # whether every transfer's chunks are known

    def usual_shape(self, writes: bool) -> tuple[int, ...]:
        """What most of the bytes were moved in; the whole dataset where nothing is known."""
        most = self.shapes[writes].most_common(1)
        return most[0][0] if most else self.dims

    @property
    def chunk_bytes(self) -> int:
        """As it lies in memory."""
        size = self.element_bytes
        for one in self.chunk:
            size *= one
        return size


@functools.cache
def _wanted(transfers: bool) -> CallFilter:
    def chosen(one: Meaning) -> bool:
        return is_property_call(one) or (transfers and one.transfer)

    return CallFilter(layers=("hdf5",), names=_prefixes(chosen))


def _prefixes(wanted: Callable[[Meaning], bool]) -> tuple[str, ...]:
    """Few patterns that name HDF5's calls that are wanted and no others.

    Each call of a trace is held against each pattern: a list of all names takes ten times as long.
    """
    of_hdf5 = [one for one in meanings().values() if one.of_hdf5]
    others = [one.name for one in of_hdf5 if not wanted(one)]
    found: set[str] = set()
    for name in (one.name for one in of_hdf5 if wanted(one)):
        ends = (
            end
            for end in range(1, len(name) + 1)
            if not any(other.startswith(name[:end]) for other in others)
        )
        end = next(ends, None)
        found.add(name if end is None else f"{name[:end]}*")
    return tuple(sorted(found))


class DatasetReader:
    """Reads the HDF5 calls of a trace; `datasets` and `properties` are the result."""

    def __init__(
        self,
        path: Path,
        version: str,
        set_cache_bytes: Mapping[tuple[str, str], int],
        used: bool = True,
    ):
        """`version`: of HDF5. `used`: whether the run called it; else the trace is not read.

        `set_cache_bytes`: the chunk caches that iotune gave to datasets, by file and path.
        """
        self._set_cache_bytes = set_cache_bytes
        self.datasets: dict[tuple[str, str], Dataset] = {}
        self.limits: list[str] = []
        # (process, file) -> dataset -> its chunks in memory, the longest unused first
        self._cached: dict[tuple[int, str], dict[str, OrderedDict[tuple[int, ...], None]]] = {}
        self._touches = 0
        self._version = version
        self.properties = Properties(version)
        if used:
            self._read_layouts(path)
            self._read_calls(path)

    def _read_layouts(self, path: Path) -> None:
        notes = tuple(one.name for one in meanings().values() if one.notes("dataset"))
        wanted = CallFilter(layers=("iotune",), names=notes)
        last = ""
        for batch in CallReader(path, wanted, ("arguments",)):
            for text in batch.values("arguments"):
                if not text or text == last:
                    continue
                last, said = text, json.loads(text)
                where = (said.get("file", ""), said.get("path", ""))
                one = self.datasets.setdefault(where, Dataset(*where))
                one.dims = tuple(said.get("dims", ()))
                one.chunk = tuple(said.get("chunk", ())) if said.get("layout") == _CHUNKED else ()
                one.element_bytes = int(said.get("element_bytes", 0))
                one.type_class = int(said.get("type_class", -1))
                one.filters = int(said.get("filters", 0))

    def _read_calls(self, path: Path) -> None:
        """Property lists and transfers in their order: a file may be opened with others again."""
        columns = ("process", "call", "file", "result", "arguments", "transfers")
        seen = 0
        for batch in CallReader(path, _wanted(transfers=bool(self.datasets)), columns):
            for process, call, file, result, text, moved in zip(*map(batch.values, columns)):
                meaning = meaning_of(call)
                if not meaning.transfer:
                    said = json.loads(text) if text else {}
                    self.properties.take(process, meaning, file or "", result or 0, said)
                    if meaning.opens_file:  # with all caches empty
                        self._cached.pop((process, file or ""), None)
                    continue
                seen += 1
                if seen > MOST_TRANSFERS:
                    self._leave_out_the_rest(path)
                    return
                for one in json.loads(moved) if moved else ():
                    dataset = self.datasets.get((file or "", one.get("dataset") or ""))
                    if dataset is not None:
                        self._add(process, dataset, meaning.writes, one)

    def _leave_out_the_rest(self, path: Path) -> None:
        self.limits.append(
            f"of HDF5's transfers the selections of the first {MOST_TRANSFERS:,} were looked at"
        )
        columns = ("process", "call", "file", "result", "arguments")
        self.properties = Properties(self._version)
        for batch in CallReader(path, _wanted(transfers=False), columns):
            for process, call, file, result, text in zip(*map(batch.values, columns)):
                said = json.loads(text) if text else {}
                self.properties.take(process, meaning_of(call), file or "", result or 0, said)

    def _add(self, process: int, dataset: Dataset, writes: bool, one: Mapping[str, Any]) -> None:
        points, selection = int(one.get("points") or 0), one.get("selection") or {}
        if points <= 0:
            return
        moved = points * dataset.element_bytes
        dataset.transfers[writes] += 1
        dataset.opened[process].add(int(one.get("object") or 0))
        dataset.bytes[writes] += moved
        type_bytes = int(one.get("type_bytes") or 0)
        if type_bytes and dataset.element_bytes and type_bytes != dataset.element_bytes:
            dataset.converted[writes] += 1
            dataset.memory_bytes[writes] = type_bytes
        dataset.unions[writes] += selection.get("kind") in ("blocks", "points", "bounds")
        dataset.pieces[writes] += runs_of(selection, dataset.dims)
        shape = extent_of(selection, dataset.dims)
        shapes = dataset.shapes[writes]
        if shape and (shape in shapes or len(shapes) < _MOST_SHAPES):
            shapes[shape] += moved
        if dataset.chunk and dataset.chunk_bytes:
            independent = one.get("mode") != 1
            dataset.independent_reads |= independent and not writes
            self._touch(process, dataset, writes, selection, moved)

    def _touch(
        self,
        process: int,
        dataset: Dataset,
        writes: bool,
        selection: Mapping[str, Any],
        moved: int,
    ) -> None:
        touched = chunks_of(selection, dataset.dims, dataset.chunk, _MOST_CHUNKS)
        if touched is None or self._touches > _MOST_TOUCHES:
            dataset.touched_in_full = False
            return
        self._touches += len(touched)
        own_bytes = self.properties.cache_bytes(process, dataset.file, dataset.path)
        where = (dataset.file, dataset.path)
        cache_bytes = max(own_bytes, self._set_cache_bytes.get(where, 0))
        dataset.cache_bytes = (
            min(dataset.cache_bytes, cache_bytes) if dataset.chunks else cache_bytes
        )
        found = dataset.chunks[writes, process]
        found.asked_bytes += moved
        found.touches += len(touched)
        found.most_at_once = max(found.most_at_once, len(touched))
        found.seen.update(touched)
        of_file = self._cached.setdefault((process, dataset.file), {})
        held = of_file.setdefault(dataset.path, OrderedDict())
        room = cache_bytes // dataset.chunk_bytes
        owners = dataset.owners[writes]
        for chunk in touched:
            if len(owners[chunk]) < 2:
                owners[chunk].add(process)
            if chunk in held:
                held.move_to_end(chunk)
                continue
            found.loads += 1
            if room > 0:
                held[chunk] = None
                while len(held) > room:
                    held.popitem(last=False)
