"""What the times of two groups of runs say, and what they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from iotune.models.measuring.paired import FEWEST_UNPAIRED, compare_unpaired
from iotune.reports.tables import count_text

FASTER, SLOWER, SAME, UNKNOWN = "faster", "slower", "no difference", "not known"


@dataclass(frozen=True)
class TimeChange:
    """Of one thing that takes time. Seconds are medians over the runs of a side."""

    what: str  # the run, its I/O, or a file's path
    before_seconds: float
    after_seconds: float
    before_runs: int
    after_runs: int
    verdict: str  # of FASTER, SLOWER, SAME, UNKNOWN: B against A
    why: str
    ratio: float | None = None  # A's seconds over B's: above 1 B is faster
    low: float | None = None
    high: float | None = None


def compared(
    what: str, before: Sequence[float], after: Sequence[float], usual: float | None = None
) -> TimeChange | None:
    """Judge B's times against A's; None where one side has none.

    With FEWEST_UNPAIRED runs a side the ratio has an interval that holds at 90 %. Below, only what
    is plain can be said: `usual` is by how much the slowest of earlier runs of this workload was
    slower than the fastest, where that is known.
    """
    before, after = [one for one in before if one > 0], [one for one in after if one > 0]
    if not before or not after:
        return None
    ends = (median(before), median(after), len(before), len(after))
    ratio = ends[0] / ends[1]
    gain = compare_unpaired(before, after)
    if gain is not None:
        verdict = FASTER if gain.low > 1 else SLOWER if gain.high < 1 else SAME
        why = "the interval of the ratio leaves out 1" if verdict != SAME else (
            "the interval of the ratio holds 1"
        )  # fmt: skip
        return TimeChange(what, *ends, verdict, why, gain.ratio, gain.low, gain.high)
    runs = f"{count_text(len(before), 'run')} and {count_text(len(after), 'run')}"
    if min(len(before), len(after)) == 1:
        return _of_single_runs(what, ends, ratio, runs, usual)
    apart = FASTER if max(after) < min(before) else SLOWER if min(after) > max(before) else UNKNOWN
    why = (
        f"{runs} overlap; from {FEWEST_UNPAIRED} a side on there is an interval"
        if apart == UNKNOWN
        else f"all runs of B are {apart} than all of A, but {runs} are too few for an interval"
    )
    return TimeChange(what, *ends, UNKNOWN, why, ratio)


def _of_single_runs(
    what: str, ends: tuple[float, float, int, int], ratio: float, runs: str, usual: float | None
) -> TimeChange:
    if usual is None:
        why = f"{runs}: nobody knows by how much such runs differ without a cause"
    elif max(ratio, 1 / ratio) > usual:
        why = (
            f"{runs}: more than the {usual:.2f} times by which earlier runs of this workload "
            "differ, but chance cannot be left out"
        )
    else:
        why = f"{runs}: earlier runs of this workload differ by {usual:.2f} times by themselves"
    return TimeChange(what, *ends, UNKNOWN, why, ratio)
