"""The distribution of a sample of response times: single families first, then head and tail.

Follows section 4 of PDSW'15. Families are compared by Vuong's test on their likelihoods, as in
Clauset, Shalizi and Newman (2009, section 5); a family that another one contains, by the ratio of
their likelihoods. Families that the sample cannot tell apart are all named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from iotune.models.latency.families import (
    BY_NAME,
    CONTAINS,
    HEAD,
    SINGLE,
    TAIL,
    Array,
    Family,
    Fitted,
    Interval,
    fit,
)
from iotune.models.latency.partition import FEWEST_IN_A_GROUP, split
from iotune.models.latency.response_times import ResponseTimes, response_times_of
from scipy import optimize, special, stats

from iotune.errors import Error

# Two families are a tie where chance alone makes them differ as much with this probability.
TIE = 0.1
# How sure a heavy tail must be before it is called one.
_HEAVY = 0.01
# Of these times the verdict is made: a fraction lies below.
_FAR_OUT = 0.9
FEWEST_SAMPLES = 2 * FEWEST_IN_A_GROUP


@dataclass(frozen=True)
class Ranked:
    """A family fitted to a group of samples, and how it compares with the best one."""

    fitted: Fitted
    log_likelihood: float
    distance: float  # Kolmogorov-Smirnov, within the group
    against_best: float  # probability of as much difference by chance; 1 of the best itself
    is_tied: bool  # with the best

    @property
    def name(self) -> str:
        return self.fitted.name


@dataclass(frozen=True)
class Mixture:
    """Response times below the pivot follow `head`, the others `tail`."""

    pivot_seconds: float
    tail_share: float
    head: Fitted
    tail: Fitted

    def below(self, x: Array) -> Array:
        """The fraction of response times below each x, in seconds."""
        x = np.asarray(x, dtype=float)
        head = (1 - self.tail_share) * self.head.below(x)
        return np.where(
            x < self.pivot_seconds, head, 1 - self.tail_share * (1 - self.tail.below(x))
        )

    def quantile(self, fraction: Array) -> Array:
        """The response time that each fraction lies below; never less than zero."""
        wanted = np.asarray(fraction, dtype=float)
        in_head = wanted < 1 - self.tail_share
        low = np.clip(wanted / (1 - self.tail_share), 0, 1)
        high = np.clip((wanted - (1 - self.tail_share)) / self.tail_share, 0, 1)
        with np.errstate(all="ignore"):
            result = np.where(in_head, self.head.quantile(low), self.tail.quantile(high))
        return np.maximum(result, 0.0)

    @property
    def tail_index(self) -> float:
        """P(T > t) falls as t^-index far out; infinite where it falls faster."""
        return self.tail.parameters[0] - 1 if self.tail.name == "power law" else math.inf

    @property
    def sampled_fraction(self) -> float:
        """A mixture is known as a whole."""
        return 1.0

    def draw(self, random: np.random.Generator, count: int) -> Array:
        """So many independent response times, in seconds."""
        return self.quantile(random.random(count))


@dataclass(frozen=True)
class LatencyFit:
    """What a sample of response times says of their distribution."""

    samples: int
    mean_seconds: float
    deviation_seconds: float
    skewness: float
    kurtosis: float  # 3 for a normal distribution
    single: list[Ranked]  # over the whole sample, the best first
    head: list[Ranked]  # the best first; empty where there is no partition
    tail: list[Ranked]
    mixture: Mixture | None
    distance: float  # Kolmogorov-Smirnov, of the mixture and the whole sample
    heavy_tail: bool
    reason: str  # of the verdict on the tail, one sentence
    times: ResponseTimes  # what predictions are made from

    @property
    def verdict(self) -> str:
        return "heavy tail" if self.heavy_tail else "no heavy tail here"


def fit_latency(seconds: Array) -> LatencyFit:
    """Fit single families to a sample of response times, then head and tail at the best pivot.

    Besides: the sample's body and its longest times, for predictions (response_times.py).
    `seconds`: positive and finite, at least 40 of them. Raises Error for what is none of these.
    """
    x = np.sort(_checked(seconds))
    single = _ranked(SINGLE, x, Interval())
    partition = split(x)
    moments = (
        len(x),
        float(x.mean()),
        float(x.std()),
        float(stats.skew(x)),
        float(stats.kurtosis(x, fisher=False)),
    )
    if partition is None:
        verdict = _judge_tail(x, 0.0)
        times = response_times_of(x, verdict.may_be_heavy)
        return LatencyFit(
            *moments, single, [], [], None, math.nan, verdict.is_heavy, verdict.reason, times
        )  # fmt: skip
    pivot, share = partition.pivot_seconds, partition.tail_share
    head = _ranked(HEAD, x[x < pivot], Interval(high=pivot))
    tail = _ranked(TAIL, x[x >= pivot], Interval(low=pivot))
    mixture = Mixture(pivot, share, head[0].fitted, tail[0].fitted)
    verdict = _judge_tail(x, pivot)
    times = response_times_of(x, verdict.may_be_heavy)
    return LatencyFit(
        *moments, single, head, tail, mixture, _distance(mixture.below(x)),
        verdict.is_heavy, verdict.reason, times,
    )  # fmt: skip


def _checked(seconds: Array) -> Array:
    x = np.asarray(seconds, dtype=float).ravel()
    if len(x) < FEWEST_SAMPLES:
        raise Error(
            f"{len(x)} response times are too few to fit: {FEWEST_SAMPLES} at least; sample more"
        )
    wrong = x[~np.isfinite(x) | (x <= 0)]
    if len(wrong):
        raise Error(f"a response time of {wrong[0]:g} s cannot be: times are positive numbers")
    if x.min() == x.max():
        raise Error(
            f"all {len(x)} response times are {x[0]:g} s: a clock this coarse says nothing of "
            "their distribution; sample larger requests"
        )
    return x


def _distance(below: Array) -> float:
    """Kolmogorov-Smirnov: of fitted fractions at the sorted samples from the samples' own."""
    n = len(below)
    steps = np.arange(n)
    return float(np.max(np.maximum(np.abs(below - steps / n), np.abs((steps + 1) / n - below))))


def _ranked(families: Sequence[Family], x: Array, interval: Interval) -> list[Ranked]:
    """All families on a sorted group. The best: the simplest of those tied with the likeliest."""
    weights = np.ones(len(x))
    fitted = [fit(one, x, weights, interval) for one in families]
    densities = [one.log_density(x) for one in fitted]
    sums = [float(one.sum()) if np.isfinite(one).all() else -math.inf for one in densities]
    likeliest = int(np.argmax(sums))
    tied_with_likeliest = [
        at for at in range(len(fitted))
        if chance(fitted[likeliest], fitted[at], densities[likeliest], densities[at]) > TIE
    ]  # fmt: skip
    best = min(
        tied_with_likeliest or [likeliest],
        key=lambda at: (_free_parameters(fitted[at]), -sums[at]),
    )
    result = []
    for at, one in enumerate(fitted):
        against = 1.0 if at == best else chance(fitted[best], one, densities[best], densities[at])
        result.append(
            Ranked(one, sums[at], _distance(one.below(x)), against, at in tied_with_likeliest)
        )
    first = result.pop(best)
    return [first, *sorted(result, key=lambda one: (not one.is_tied, -one.log_likelihood))]


def _free_parameters(fitted: Fitted) -> int:
    """The power law's least value is the pivot or the sample's least, and not fitted."""
    return 1 if fitted.name in ("power law", "exponential") else 2


def chance(one: Fitted, other: Fitted, one_log: Array, other_log: Array) -> float:
    """The probability that two families equally near to the truth differ as much (Vuong 1989).

    The arguments: two fitted families and the logarithms of their densities at every sample. Where
    one contains the other: that the larger one gains as much by its additional parameter alone.
    """
    difference = one_log - other_log
    if not np.isfinite(difference).all():
        return 0.0
    total = float(difference.sum())
    if other.name in CONTAINS.get(one.name, ()):
        return float(special.erfc(math.sqrt(max(total, 0.0))))
    if one.name in CONTAINS.get(other.name, ()):
        return float(special.erfc(math.sqrt(max(-total, 0.0))))
    deviation = float(difference.std()) * math.sqrt(len(difference))
    if deviation == 0:
        return 1.0
    return float(special.erfc(abs(total) / (deviation * math.sqrt(2))))


@dataclass(frozen=True)
class _Verdict:
    """On the longest times."""

    is_heavy: bool  # surely
    may_be_heavy: bool  # chance alone would hardly make them so
    reason: str


def _judge_tail(x: Array, pivot: float) -> _Verdict:
    """Whether the longest times fall off more slowly than exponentially.

    Times far out over a threshold follow a generalised Pareto distribution (Pickands 1975), whose
    shape is above zero for heavy tails, zero for exponential ones and below for shorter ones. `x`:
    the whole sample, sorted; the pivot is the lowest threshold.
    """
    threshold = max(pivot, float(np.quantile(x, _FAR_OUT)))
    excess = x[x > threshold] - threshold
    if len(excess) < FEWEST_IN_A_GROUP:
        threshold = float(x[-FEWEST_IN_A_GROUP - 1])
        excess = x[x > threshold] - threshold
    if len(excess) < FEWEST_IN_A_GROUP // 2:
        return _Verdict(False, False, "the longest times are all the same")
    mean = float(excess.mean())

    def loss(free: Array) -> float:
        shape, scale = float(free[0]), math.exp(min(float(free[1]), 50.0))
        inner = 1 + shape * excess / (scale * mean)
        if (inner <= 0).any():
            return 1e30
        if abs(shape) < 1e-9:
            return float(excess.sum()) / (scale * mean) + len(excess) * math.log(scale)
        return float((1 / shape + 1) * np.log(inner).sum()) + len(excess) * math.log(scale)

    found = optimize.minimize(loss, [0.1, 0.0], method="Nelder-Mead")
    shape = float(found.x[0])
    gained = max(0.0, len(excess) - float(found.fun))
    p = float(special.erfc(math.sqrt(gained))) / 2
    heavy = shape > 0 and p < _HEAVY
    fall = "fall off more slowly" if heavy else "do not surely fall off more slowly"
    return _Verdict(
        heavy, shape > 0 and p < TIE,
        f"beyond {threshold:.3g} s times {fall} than an exponential "
        f"(shape {shape:.2f}, p = {p if shape > 0 else 1 - p:.2g})",
    )  # fmt: skip


def mixture_to_dict(mixture: Mixture) -> dict[str, Any]:
    """For JSON; mixture_from_dict() reads it."""
    return {
        "pivot_seconds": mixture.pivot_seconds,
        "tail_share": mixture.tail_share,
        "head": {"family": mixture.head.name, "parameters": list(mixture.head.parameters)},
        "tail": {"family": mixture.tail.name, "parameters": list(mixture.tail.parameters)},
    }


def mixture_from_dict(said: Mapping[str, Any]) -> Mixture:
    """Raises Error where a value is missing, no number, or out of range."""
    try:
        pivot, share = float(said["pivot_seconds"]), float(said["tail_share"])
        if not (0 < share < 1 and pivot > 0 and math.isfinite(pivot)):
            raise ValueError("pivot_seconds or tail_share is out of range")
        parts = []
        for part, interval in (("head", Interval(high=pivot)), ("tail", Interval(low=pivot))):
            family = BY_NAME[said[part]["family"]]
            parameters = tuple(float(one) for one in said[part]["parameters"])
            if len(parameters) != len(family.parameters) or not all(map(math.isfinite, parameters)):
                raise ValueError(f"{part} has other parameters than {family.name}")
            parts.append(Fitted(family, parameters, interval))
    except (KeyError, TypeError, ValueError) as problem:
        raise Error(f"this is no fitted distribution: {problem}") from None
    return Mixture(pivot, share, parts[0], parts[1])
