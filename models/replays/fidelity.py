"""A smaller file of the same pattern, on which a search looks at many settings for little.

What wins there is only a candidate: the race that proves a winner has the whole file. The ranks
are the same, for with fewer of them the ranks' bytes would lie apart in another way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iotune.models.cases import distributions

# Of a file. Some thirty of them make a replay, and of each rank's share enough is left that a
# transfer is one of several MiB where it was.
SEARCH_BYTES = 24 << 20
# A smaller file must save as much, or the search looks at the whole one.
_WORTHWHILE = 2.0
# What a rank keeps of the slowest dimension, so that loops stay loops.
_FEWEST_ROWS = 8
_LEAST_SHARE_BYTES = 4 << 20
_KEPT = ("op", "element_bytes", "ranks", "grid", "mode", "filters")


@dataclass(frozen=True)
class Smaller:
    """A pattern as the database has it, on so many datasets."""

    pattern: dict[str, Any]
    datasets: int
    share: float  # of the whole file's bytes


def smaller_file(
    pattern: Mapping[str, Any], datasets: int, most_bytes: int = SEARCH_BYTES
) -> Smaller | None:
    """The first datasets, and of these the first rows that every rank has; None where that is no
    pattern, or saves little.

    Only the slowest dimension is cut: pieces keep their bytes and their distances, but for a
    pattern of one dimension, whose pieces keep 4 MiB.
    """
    names, counts = distributions(str(pattern["descriptor"]))
    dims = [int(one) for one in pattern.get("dataset_dims", ())]
    grid = [int(one) for one in pattern.get("grid", ())]
    if "IRREGULAR" in names or len(dims) != len(names) or len(grid) != len(names):
        return None
    of_element = int(pattern["element_bytes"])
    of_dataset = math.prod(dims) * of_element
    whole = of_dataset * datasets
    kept = max(1, min(datasets, most_bytes // max(1, of_dataset)))
    left = of_dataset * kept
    if left > most_bytes:
        least = _least_count(names[0], counts, of_element)
        fits = counts[0] * most_bytes // left
        unit = _unit(names[0])
        count = max(least, fits // unit * unit)
        if count < counts[0]:
            dims[0] = dims[0] - (counts[0] - count) * grid[0]
            counts = (count, *counts[1:])
            left = math.prod(dims) * of_element * kept
    if dims[0] < counts[0] * grid[0] or left * _WORTHWHILE > whole:
        return None
    text = f"<{len(names)}D,({','.join(names)}),({','.join(map(str, counts))})>"
    chunk = [min(one, size) for one, size in zip(pattern.get("chunk", ()), dims)]
    # Not its keys in the database: those are the whole file's.
    found = {one: pattern[one] for one in _KEPT if one in pattern}
    found |= {"descriptor": text, "dataset_dims": dims, "chunk": chunk}
    return Smaller(found, kept, left / whole)


def _unit(name: str) -> int:
    return int(name[7:-1]) if name.startswith("CYCLIC(") else 1


def _least_count(name: str, counts: tuple[int, ...], of_element: int) -> int:
    if len(counts) == 1:
        return max(_unit(name), _LEAST_SHARE_BYTES // of_element)
    return min(counts[0], max(_FEWEST_ROWS, _unit(name)))
