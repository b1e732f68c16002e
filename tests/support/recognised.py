"""What a summary has to say of a file whose decomposition is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def demand(
    run: dict[str, Any], descriptor: str, count: int, element: int, ranks: int, grid: Sequence[int]
) -> None:
    """All `count` datasets of the only file were written so, completely and once."""
    (file,) = run["files"]
    assert len(file["datasets"]) == count, [d["dataset"] for d in file["datasets"]]
    for got in file["datasets"]:
        assert got["descriptor"]["text"] == descriptor, got
        assert got["write"] and got["ranks"] == ranks and got["repeats"] == 1, got
        assert got["element_bytes"] == element and got["process_grid"] == list(grid), got
        assert got["bytes"] == element * math.prod(got["dataset_dims"]), got
    assert file["speaker"] == 0 and file["speaker_count"] == count, file
    assert file["bytes_written"] == sum(d["bytes"] for d in file["datasets"]), file
    assert file["bytes_read"] == 0, file
