"""How far one pattern lies from another, as the database measures it (docs/similarity.md)."""

from __future__ import annotations

from typing import Any

from iotune import core
from iotune.errors import Error
from iotune.traces.summary import DatasetPattern

# Below it an answer of one pattern is tried on another.
SIMILAR = 1.25
_WALLS = (
    ("is_chunked", "only one of them is chunked"),
    ("is_compressed", "only one of them is compressed"),
    ("is_interleaved", "only one of them is interleaved"),
)


def distance(a: DatasetPattern, b: DatasetPattern) -> tuple[float | None, str]:
    """0 for the same pattern; None where there is none, and why."""
    if a.mode != b.mode:
        return None, f"{a.mode} before, {b.mode} now"
    first, second = _features(a), _features(b)
    if first is None or second is None:
        return None, "one of them is irregular"
    if (first["log2_ranks"] > 0) != (second["log2_ranks"] > 0):
        return None, "only one of them is parallel"
    for name, why in _WALLS:
        if first[name] != second[name]:
            return None, why
    steps = {
        name: abs(first[name] - second[name])
        for name in ("log2_ranks", "log2_piece_bytes", "log2_pieces")
    }
    half = steps["log2_piece_bytes"] + steps["log2_pieces"]
    return round(steps["log2_ranks"] + half / 2, 3), ""


def _features(one: DatasetPattern) -> dict[str, float] | None:
    pattern: dict[str, Any] = {
        "descriptor": one.descriptor,
        "op": "write" if one.write else "read",
        "element_bytes": one.element_bytes,
        "ranks": max(1, one.ranks),
        "grid": one.process_grid,
        "mode": one.mode if one.mode in ("collective", "independent") else "independent",
        "chunk": one.chunk,
        "filters": one.filters,
        "dataset_dims": one.dataset_dims,
    }
    try:
        rows = core.features(pattern, [{}])
    except Error:
        return None
    return None if rows is None else dict(zip(core.feature_names(), rows[0]))
