"""Fits of response times whose distribution is known, and the formula for the slowest of n.

Nothing is timed: the same seeds give the same table on every machine. --rounds is the number of
samples of 15,000 response times that are drawn, a fifth of them of each tail.
"""

from __future__ import annotations

import sys

import numpy as np
from iotune.models.latency.fitting import LatencyFit, fit_latency
from iotune.models.latency.order_statistics import simulate_slowest, slowest_of

from bench.latency.drawn_mixtures import EXPONENT, PIVOT, TAIL_SHARE, TAILS, draw
from bench.paired import Table, arguments, at_least, at_most

SAMPLES = 15_000
SIMULATED = 1_000_000
SERVERS = (1, 4, 16, 64, 156)
CORRELATIONS = (0.0, 0.4)


def _is_right(found: LatencyFit, tail: str) -> bool:
    """Whether head and tail are of the families that were drawn; those that are tied count."""
    heads = {one.name for one in found.head if one.is_tied}
    tails = {one.name for one in found.tail if one.is_tied}
    return "normal" in heads and tail in tails


def _off(found: float, true: float) -> float:
    return 100 * abs(found / true - 1)


def main() -> int:
    options = arguments(__doc__, rounds=200)
    table = Table("latency")
    right, verdicts = 0, 0
    pivots, shares, exponents = [], [], []
    last: LatencyFit | None = None
    for number in range(options.rounds):
        tail = TAILS[number % len(TAILS)]
        found = fit_latency(draw(np.random.default_rng(number), SAMPLES, tail))
        right += _is_right(found, tail)
        if tail != "power law" or found.mixture is None:
            continue
        last = found
        verdicts += found.heavy_tail
        pivots.append(_off(found.mixture.pivot_seconds, PIVOT))
        shares.append(_off(found.mixture.tail_share, TAIL_SHARE))
        power_law = next(one for one in found.tail if one.name == "power law")
        exponents.append(_off(power_law.fitted.parameters[0], EXPONENT))
    for what, values in (("pivot", pivots), ("tail share", shares), ("exponent", exponents)):
        table.add(f"{what} of {SAMPLES} samples, median error, %", float(np.median(values)))
        table.add(f"{what}, 95th percentile of its error, %", float(np.percentile(values, 95)),
                  at_most(5, "%"))  # fmt: skip
    table.add(f"right families (or tied with the best), % of {options.rounds} samples",
              100 * right / options.rounds, at_least(95, "%"))  # fmt: skip
    table.add("a power law's tail called heavy, %", 100 * verdicts / max(len(pivots), 1))
    assert last is not None
    for correlation in CORRELATIONS:
        errors = []
        for servers in SERVERS:
            formula = slowest_of(last.times, servers, correlation).p99_seconds
            drawn = simulate_slowest(
                last.times, servers, np.random.default_rng(servers), SIMULATED, correlation
            )
            errors.append(_off(formula, float(np.percentile(drawn, 99))))
        table.add(f"p99 of the slowest of up to {SERVERS[-1]}, correlation {correlation:g}: "
                  "largest error against simulation, %", max(errors), at_most(5, "%"))  # fmt: skip
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
