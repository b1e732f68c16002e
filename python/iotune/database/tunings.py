"""Patterns and answers in the database's own JSON (docs/database.md)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

# Of a row of the database what makes a pattern.
PATTERN_FIELDS = (
    "descriptor", "op", "element_bytes", "ranks", "grid", "mode", "chunk", "filters",
    "dataset_dims",
)  # fmt: skip


def pattern_json(
    descriptor: str,
    write: bool,
    element_bytes: int,
    dataset_dims: Sequence[int],
    process_grid: Sequence[int],
    mode: str,
    chunk: Sequence[int] = (),
    filters: int = 0,
    ranks: int | None = None,
) -> dict[str, Any]:
    """A pattern. Raises ValueError where the mode is none or lists disagree in length."""
    if mode not in ("independent", "collective", "mixed", "unknown"):
        raise ValueError(f"'{mode}' is neither collective nor independent")
    for name, given in (("grid", process_grid), ("chunk", chunk)):
        if given and len(given) != len(dataset_dims):
            raise ValueError(f"{name} and dimensions differ in number")
    if ranks is None:
        ranks = 1
        for parts in process_grid:
            ranks *= parts
    return {
        "descriptor": descriptor,
        "op": "write" if write else "read",
        "element_bytes": element_bytes,
        "ranks": ranks,
        "grid": list(process_grid),
        "mode": mode,
        "chunk": list(chunk),
        "filters": filters,
        "dataset_dims": list(dataset_dims),
    }


def tuning_json(
    pattern: Mapping[str, Any],
    platform: Mapping[str, str],
    settings: Mapping[str, str],
    source: str,
    gain: tuple[float, float, float] | None = None,
    rounds: int = 0,
    evidence: str = "",
) -> dict[str, Any]:
    """An answer: `settings`, or default-is-best where there are none.

    `gain` is the default's median seconds over the settings', with the interval's bounds.
    `evidence` says in words what was measured.
    """
    result: dict[str, Any] = {
        "pattern": dict(pattern),
        "platform": {name: value for name, value in platform.items() if name != "id"},
        "settings": dict(settings),
        "state": "tuned" if settings else "default-is-best",
        "rounds": rounds,
        "made_at": time.time(),
        "source": source,
    }
    if evidence:
        result["evidence"] = evidence
    if gain is not None:
        result["gain"], result["low"], result["high"] = gain
    return result
