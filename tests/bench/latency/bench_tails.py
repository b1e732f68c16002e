"""p99 of the slowest of several servers, predicted from drawn samples of one, against the truth.

Heads are normal, or as those of a mount with an injected tail; a share of 1, 3 or 10 % is longer by
a power law. Each sample is fitted both ways: as the paper does, with one pivot for head and tail,
and with a threshold of its own for the tail, on which predictions rest. A row is the median error
with what lies between its 5th and its 95th percentile, over both heads and all shares. Nothing is
timed: the same seeds give the same table on every machine. --rounds is the number of samples of
each mixture.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
from iotune.models.latency.fitting import fit_latency
from iotune.models.latency.order_statistics import quantile_of_slowest

from bench.latency.drawn_mixtures import JITTER, PIVOT, draw_normal_head, draw_request
from bench.paired import Estimate, Table, arguments

SAMPLES = (1_000, 5_000, 15_000)
EXPONENTS = (1.5, 2.0, 3.0, 4.0)
SHARES = (0.01, 0.03, 0.1)
SERVERS = (4, 16, 64)
BASE_SECONDS = 0.003


def true_p99(head: str, servers: int, share: float, exponent: float) -> float:
    """Of the slowest: so far out there is only the power law."""
    factor = float(((1 - 0.99 ** (1 / servers)) / share) ** (-1 / (exponent - 1)))
    return PIVOT * factor if head == "normal" else BASE_SECONDS * (factor + JITTER)


def errors_of(head: str, count: int, share: float, exponent: float, seed: int) -> dict[str, Any]:
    """In %, a number for each of SERVERS, by both fits."""
    random = np.random.default_rng(seed)
    if head == "normal":
        seconds = draw_normal_head(random, count, share, exponent)
    else:
        seconds = draw_request(random, count, share, exponent, BASE_SECONDS)
    fit = fit_latency(seconds)
    found = {"one pivot": fit.mixture, "own threshold": fit.times}
    true = [true_p99(head, servers, share, exponent) for servers in SERVERS]
    return {
        name: [
            100 * (float(quantile_of_slowest(one, servers, np.array([0.99]))[0]) / true[at] - 1)
            for at, servers in enumerate(SERVERS)
        ]
        for name, one in found.items()
        if one is not None
    }


def main() -> int:
    options = arguments(__doc__, rounds=6)
    table = Table("tails")
    for count, exponent in itertools.product(SAMPLES, EXPONENTS):
        errors: dict[str, list[list[float]]] = {"one pivot": [], "own threshold": []}
        for head, share, seed in itertools.product(
            ("normal", "mount"), SHARES, range(options.rounds)
        ):
            for name, of_servers in errors_of(head, count, share, exponent, seed).items():
                errors[name].append(of_servers)
        for at, servers in enumerate(SERVERS):
            for name, rows in errors.items():
                values = np.array(rows)[:, at]
                middle, low, high = (float(np.percentile(values, one)) for one in (50, 5, 95))
                table.add(f"{count} samples, exponent {exponent:g}, {servers} servers, {name}: "
                          "error of p99, %", Estimate(middle, low, high))  # fmt: skip
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
