"""How long a request takes that waits for the slowest of n smaller ones: T_R = max(t) + psi.

PDSW'15, equation 1. A normal copula describes servers that are slow together: one normal variable
is common to all, and `correlation` is the correlation of two servers' normal scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from iotune.models.latency.families import Array
from scipy import optimize, special, stats

from iotune.errors import Error

# Nodes of the integral over what servers have in common, and of that over all fractions.
_COMMON_NODES = 64
_FRACTION_NODES = 4000


class Distribution(Protocol):
    """Of the response times of one server."""

    def quantile(self, fraction: Array) -> Array:
        """The response time that each fraction lies below, in seconds."""

    @property
    def tail_index(self) -> float:
        """P(T > t) falls as t^-index far out; infinite where it falls faster."""

    @property
    def sampled_fraction(self) -> float:
        """Of all response times; the others would be longer than every sampled one."""


@dataclass(frozen=True)
class SlowestOf:
    """T_R of a request that is served in n parts."""

    servers: int
    mean_seconds: float  # infinite where the tail has no mean
    p95_seconds: float
    p99_seconds: float
    # Whether one server alone never was sampled as slow: then p99 rests on the fitted tail alone.
    p99_is_beyond_samples: bool = False


def slowest_of(
    times: Distribution, servers: int, correlation: float = 0.0, merge_seconds: float = 0.0
) -> SlowestOf:
    """Mean, 95th and 99th percentile of the slowest of `servers` response times, plus the merging.

    `correlation`: of the servers' normal scores, 0 for independent ones, below 1. `merge_seconds`:
    psi of the paper. Raises Error for servers < 1 or a correlation outside of [0, 1).
    """
    _check(servers, correlation)
    single = _single_fraction(servers, np.array([0.95, 0.99]), correlation)
    p95, p99 = (float(one) + merge_seconds for one in times.quantile(single))
    mean = _mean(times, servers, correlation) + merge_seconds
    return SlowestOf(servers, mean, p95, p99, float(single[1]) > times.sampled_fraction)


def quantile_of_slowest(
    times: Distribution, servers: int, fractions: Array, correlation: float = 0.0
) -> Array:
    """The time that each fraction of the requests takes at most, without merging."""
    return times.quantile(_single_fraction(servers, np.asarray(fractions), correlation))


def below_of_slowest(single_below: Array, servers: int, correlation: float) -> Array:
    """The fraction of the maximum below t, from the fraction of one response time below t."""
    if correlation == 0:
        return np.asarray(single_below**servers)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_COMMON_NODES)
    weights = weights / weights.sum()
    score = special.ndtri(np.clip(single_below, 0, 1))
    with np.errstate(invalid="ignore"):
        inner = (score[..., None] - math.sqrt(correlation) * nodes) / math.sqrt(1 - correlation)
    return np.asarray((special.ndtr(inner) ** servers) @ weights)


def _single_fraction(servers: int, fractions: Array, correlation: float) -> Array:
    """Of one server: the fraction at which the slowest of them all has reached `fractions`."""
    if correlation == 0:
        return np.asarray(fractions ** (1.0 / servers))
    result = np.empty_like(fractions, dtype=float)
    for at, fraction in np.ndenumerate(fractions):

        def excess(score: float, wanted: float = float(fraction)) -> float:
            single = special.ndtr(np.array([score]))
            return float(below_of_slowest(single, servers, correlation)[0]) - wanted

        # Between one server alone and independent ones, as far as the integral is exact.
        low, high = special.ndtri(fraction), special.ndtri(fraction ** (1.0 / servers))
        step = 1e-9
        while excess(low) > 0 or excess(high) < 0:
            low, high, step = low - step, high + step, 4 * step
        result[at] = special.ndtr(optimize.brentq(excess, low, high, xtol=1e-10))
    return result


def _mean(times: Distribution, servers: int, correlation: float) -> float:
    if times.tail_index <= 1:
        return math.inf
    # The integral of the quantiles over all fractions, finer and finer towards one.
    rest = np.geomspace(1.0, 1e-12, _FRACTION_NODES)
    fractions = 1.0 - (rest[:-1] + rest[1:]) / 2
    width = rest[:-1] - rest[1:]
    single = _FractionOfOne(servers, correlation).at(fractions)
    mean = float(np.dot(times.quantile(single), width))
    if math.isinf(times.tail_index):
        return mean
    # Beyond the last node only one server matters: the power law's own integral.
    last = float(times.quantile(np.array([1 - 1e-12 / servers]))[0])
    return mean + 1e-12 * last * times.tail_index / (times.tail_index - 1)


class _FractionOfOne:
    """As _single_fraction(), for many fractions: by a table where servers depend on each other."""

    def __init__(self, servers: int, correlation: float):
        self.servers, self.correlation = servers, correlation
        if correlation:
            self.scores = np.linspace(-8, 8, 4001)
            below = below_of_slowest(special.ndtr(self.scores), servers, correlation)
            self.below = np.maximum.accumulate(below)

    def at(self, fractions: Array) -> Array:
        if not self.correlation:
            return np.asarray(fractions ** (1.0 / self.servers))
        return np.asarray(special.ndtr(np.interp(fractions, self.below, self.scores)))


def simulate_slowest(
    times: Distribution,
    servers: int,
    random: np.random.Generator,
    draws: int = 100_000,
    correlation: float = 0.0,
    merge_seconds: float = 0.0,
) -> Array:
    """T_R of so many requests, drawn; seconds. For a comparison with slowest_of()."""
    _check(servers, correlation)
    common = random.standard_normal(draws) * math.sqrt(correlation)
    slowest = np.full(draws, -np.inf)
    for _ in range(servers):
        own = random.standard_normal(draws) * math.sqrt(1 - correlation)
        slowest = np.maximum(slowest, own + common)
    return times.quantile(special.ndtr(slowest)) + merge_seconds


def measured_correlation(rounds: Array) -> float:
    """How much servers are slow together: of response times sampled at once on each of them.

    `rounds`: one row a moment, one column a server; seconds. The mean over all pairs of servers of
    the correlation of their normal scores, and 0 where it is negative. Raises Error below 3 rounds.
    """
    times = np.asarray(rounds, dtype=float)
    if times.ndim != 2 or times.shape[0] < 3:
        raise Error("the dependence of servers needs at least three rounds of all of them")
    if times.shape[1] < 2:
        return 0.0
    ranks = stats.rankdata(times, axis=0)
    scores = special.ndtri((ranks - 0.5) / times.shape[0])
    table = np.corrcoef(scores, rowvar=False)
    pairs = table[np.triu_indices_from(table, 1)]
    pairs = pairs[np.isfinite(pairs)]
    return float(np.clip(pairs.mean(), 0.0, 0.999)) if len(pairs) else 0.0


def stripe_table(
    times_of: Mapping[int, Distribution],
    request_bytes: int,
    stripe_counts: Sequence[int],
    correlation: float = 0.0,
) -> list[SlowestOf]:
    """T_R of one request against the number of stripes that share it.

    `times_of`: the distribution for each sampled size in bytes. A part of the request takes the
    one of the least sampled size that holds it. Raises Error where a part is larger than all.
    """
    sizes = sorted(times_of)
    result = []
    for count in stripe_counts:
        part = -(-request_bytes // count)
        fitting = [size for size in sizes if size >= part]
        if not fitting:
            raise Error(
                f"a part of {part} bytes is larger than every sampled request "
                f"({sizes[-1] if sizes else 0} bytes): sample larger ones"
            )
        result.append(slowest_of(times_of[fitting[0]], count, correlation))
    return result


def _check(servers: int, correlation: float) -> None:
    if servers < 1:
        raise Error(f"{servers} servers cannot serve a request: 1 at least")
    if not 0 <= correlation < 1:
        raise Error(f"a correlation of {correlation:g} is outside of 0 to 1")
