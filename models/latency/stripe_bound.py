"""Which stripe counts are worth a try, by order statistics of a storage's response times.

With more stripes each server moves less, and the file waits for the slowest of more servers
(PDSW'15, equation 1). A count that would take longer than a smaller one does is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from iotune.models.latency.kept import KeptKind, KeptLatency
from iotune.models.latency.order_statistics import SlowestOf, slowest_of
from iotune.models.settings.stripes import Bound

# Fits are not exact: what differs by less is not distinguished.
_WORSE = 1.05


def bound_of(kept: KeptLatency, write: bool, file_bytes: int, counts: Iterable[int]) -> Bound:
    """Of the stripe counts that may be tried, for a file of so many bytes.

    Counts whose parts are smaller or larger than every sampled request stay: of them nothing is
    known.
    """
    kinds = kept.of("write" if write else "read")
    expected: dict[int, SlowestOf] = {}
    for count in sorted({1, *counts}):
        one = slowest_part(kinds, file_bytes, count)
        if one is not None:
            expected[count] = one
    # A tail without a mean is compared by what 95 of a hundred requests take at most.
    has_means = all(math.isfinite(one.mean_seconds) for one in expected.values())
    seconds = {
        count: one.mean_seconds if has_means else one.p95_seconds for count, one in expected.items()
    }
    ruled_out = frozenset(
        count for count in counts
        if count in seconds
        and any(
            less < count and seconds[count] > _WORSE * time for less, time in seconds.items()
        )
    )  # fmt: skip
    if not ruled_out:
        return Bound()
    least = min(seconds, key=lambda count: (seconds[count], count))
    listed = ", ".join(map(str, sorted(ruled_out)))
    return Bound(
        ruled_out,
        f"not tried: {listed} stripes; the slowest of so many servers would take "
        f"{_text(min(seconds[one] for one in ruled_out))} or more for this file, of {least} "
        f"{_text(seconds[least])}, by the response times of {kept.directory or kept.filesystem}",
    )


def slowest_part(kinds: Sequence[KeptKind], file_bytes: int, count: int) -> SlowestOf | None:
    """Of a file that so many servers share: how long the slowest takes with its part.

    Between two sampled sizes as the powers between them; None beyond the sampled ones.
    """
    part = file_bytes / count
    below = [one for one in kinds if one.bytes <= part]
    above = [one for one in kinds if one.bytes >= part]
    if not below or not above:
        return None
    low, high = below[-1], above[0]
    less = slowest_of(low.times, count, low.correlation)
    if low is high:
        return less
    more = slowest_of(high.times, count, high.correlation)
    weight = math.log(part / low.bytes) / math.log(high.bytes / low.bytes)

    def between(one: float, other: float) -> float:
        if not (math.isfinite(one) and math.isfinite(other)) or min(one, other) <= 0:
            return max(one, other)
        return float(one ** (1 - weight) * other**weight)

    return SlowestOf(
        count,
        between(less.mean_seconds, more.mean_seconds),
        between(less.p95_seconds, more.p95_seconds),
        between(less.p99_seconds, more.p99_seconds),
        less.p99_is_beyond_samples or more.p99_is_beyond_samples,
    )


def _text(seconds: float) -> str:
    return f"{seconds:.3g} s"
