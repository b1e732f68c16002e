"""Searches with real runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iotune.models.search.interface import Search

# Seconds of each candidate, relative to one level that is the same for all; None: it failed.
Measure = Callable[[Sequence[int]], Sequence["float | None"]]


def search_live(
    search: Search, measure: Measure, runs: int, batch: int, is_over: Callable[[], bool]
) -> int:
    """Let the search run until it is over, `runs` are made, or `is_over`; the runs made."""
    made = 0
    while made < runs and not is_over():
        asked = search.next_batch(min(batch, runs - made))
        if not asked:
            break
        for one, seconds in zip(asked, measure(asked), strict=True):
            search.tell(one, seconds)
        made += len(asked)
    return made
