"""What is missing or damaged in a trace, for people."""

from __future__ import annotations

from collections.abc import Iterable

from iotune.reports.alike import masked
from iotune.talk import say

# How the loss ends that is none: files of a series that were left out on purpose.
SAMPLE = "(IOTUNE_RECORD=all records all)"


def say_losses(losses: Iterable[str]) -> None:
    """Each once; those that differ by their numbers alone as the first, and how many more."""
    alike: dict[str, list[str]] = {}
    for loss in losses:
        alike.setdefault(masked(loss), []).append(loss)
    for first, *more in alike.values():
        say(first + (f" (and {len(more)} more like it)" if more else ""))
