"""How large a chunk cache should be: one answer for findings, their lines and training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iotune.replay.plan import PlanFile, Selection
from iotune.traces.selections import chunks_of

_MIB = 1 << 20
_LEAST_BYTES = 32 * _MIB
# Of a dataset and rank; the tuner cuts it to what the node has.
_MOST_BYTES = 1024 * _MIB
# Of a dataset's chunks, where the program sets nothing: before HDF5 2.0, and from there on.
_DEFAULT_BYTES = (1 * _MIB, 8 * _MIB)
# Of a plan; what reads beyond them come back to is not known.
_MOST_REPETITIONS = 4096
_MOST_TOUCHED = 1 << 16


def default_cache_bytes(hdf5: str) -> int:
    """What a dataset has without any setting, by HDF5's version."""
    major = hdf5.partition(".")[0]
    return _DEFAULT_BYTES[major.isdigit() and int(major) >= 2]


def cache_bytes_for(chunks: int, chunk_bytes: int) -> int:
    """The cache to set where so many chunks are to stay in it."""
    return min(max(_LEAST_BYTES, chunks * chunk_bytes), _MOST_BYTES)


def chunks_to_hold(at_once: int, in_all: int, chunk_bytes: int, cache_bytes: int) -> int:
    """Chunks that a larger cache would save.

    Those of one transfer where the present cache is too small for them, which the next transfer
    may want again; else all, between whose uses other chunks come.
    """
    return at_once if at_once * chunk_bytes > cache_bytes else in_all


def chunks_in_use(file: PlanFile, present_bytes: int) -> int:
    """Chunks that the reads of a plan's largest dataset come back to; 0: not known.

    `present_bytes`: of the cache that the dataset has.
    """
    reads = [one for one in file.transfers if not one.write]
    at = max({one.dataset for one in reads}, default=-1, key=lambda one: _bytes(file, one))
    if at < 0 or not file.datasets[at].chunk:
        return 0
    dataset = file.datasets[at]
    at_once, seen = 0, dict[int, set[tuple[int, ...]]]()
    repetitions = touched = 0
    for one in reads:
        if one.dataset != at:
            continue
        selections = one.selections
        for _ in range(one.repeat):
            for rank, selection in selections.items():
                chunks: set[tuple[int, ...]] = set()
                for each in _as_in_traces(selection, len(dataset.dims)):
                    found = chunks_of(each, dataset.dims, dataset.chunk, _MOST_TOUCHED)
                    if found is None:
                        return 0
                    chunks.update(found)
                at_once = max(at_once, len(chunks))
                seen.setdefault(rank, set()).update(chunks)
                touched += len(chunks)
            repetitions += 1
            if repetitions > _MOST_REPETITIONS or touched > 16 * _MOST_TOUCHED:
                return 0
            if one.shift:
                selections = {rank: each.moved(one.shift) for rank, each in selections.items()}
    chunk_bytes = dataset.element_bytes
    for extent in dataset.chunk:
        chunk_bytes *= extent
    in_all = max(map(len, seen.values()), default=0)
    return chunks_to_hold(at_once, in_all, chunk_bytes, present_bytes)


def _bytes(file: PlanFile, at: int) -> int:
    size = file.datasets[at].element_bytes
    for extent in file.datasets[at].dims:
        size *= extent
    return size


def _as_in_traces(selection: Selection, n: int) -> list[Mapping[str, Any]]:
    """A plan's selection as traces have them: one for each of its slabs."""
    if selection.kind == "slab":
        names = ("start", "stride", "count", "block")
        return [
            {"kind": "regular"} | {name: item[k * n : k * n + n] for k, name in enumerate(names)}
            for item in selection.items
        ]
    if selection.kind == "points":
        return [{"kind": "points", "points": selection.items}]
    return [{"kind": "all"}] if selection.kind == "all" else []
