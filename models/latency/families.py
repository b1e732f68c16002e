"""Families of distributions on an interval, fitted to weighted samples by maximum likelihood.

Head and tail of a mixture each lie on one side of the pivot, so each family is cut to its interval:
its density is divided by the probability that the whole family gives to it (Clauset, Shalizi and
Newman, SIAM Review 2009, fit tails so). Samples are response times in seconds.

Formulas stand here and not scipy.stats: that checks its arguments at each of a fit's thousands of
calls, and a fit then takes 4.7 times as much processor time (5,000 samples, same outcome).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Array = NDArray[np.float64]
_TINY = 1e-300


@dataclass(frozen=True)
class Interval:
    """Where a family lives: low <= x < high, in seconds."""

    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class Family:
    """A family of distributions with up to two parameters."""

    name: str
    parameters: tuple[str, ...]
    # Heavier than every exponential, for the parameters given.
    is_heavy: Callable[[Sequence[float]], bool]
    # Of the whole family, before it is cut to an interval.
    log_density: Callable[[Array, Sequence[float]], Array]
    below: Callable[[Array, Sequence[float]], Array]  # the cumulative distribution function
    above: Callable[[Array, Sequence[float]], Array]  # 1 - below, without loss for large x
    # The value that a fraction of the samples lies below; of `above` for fractions near one.
    inverse_below: Callable[[Array, Sequence[float]], Array]
    inverse_above: Callable[[Array, Sequence[float]], Array]
    # Where the search for the likeliest parameters begins, in terms of `free`.
    start: Callable[[Array, Array, Interval], Sequence[float]]
    # Unbounded numbers to parameters, and back.
    bound: Callable[[Sequence[float]], tuple[float, ...]]
    free: Callable[[Sequence[float]], tuple[float, ...]]


@dataclass(frozen=True)
class Fitted:
    """A family with its parameters, cut to an interval."""

    family: Family
    parameters: tuple[float, ...]
    interval: Interval

    @property
    def name(self) -> str:
        return self.family.name

    @property
    def is_heavy(self) -> bool:
        return self.family.is_heavy(self.parameters)

    def log_density(self, x: Array) -> Array:
        """Natural logarithm of the density at each x, which must lie in the interval."""
        return self.family.log_density(x, self.parameters) - math.log(self._mass())

    def below(self, x: Array) -> Array:
        """The fraction of the family that lies below each x."""
        inside = np.clip(np.asarray(x, dtype=float), self.interval.low, self.interval.high)
        if self._is_tail():
            return 1.0 - self.family.above(inside, self.parameters) / self._mass()
        left = _at(self.family.below, self.interval.low, self.parameters)
        return np.clip((self.family.below(inside, self.parameters) - left) / self._mass(), 0, 1)

    def quantile(self, fraction: Array) -> Array:
        """The x that each fraction of the family lies below."""
        wanted = np.asarray(fraction, dtype=float)
        if self._is_tail():
            return self.family.inverse_above((1.0 - wanted) * self._mass(), self.parameters)
        left = _at(self.family.below, self.interval.low, self.parameters)
        return self.family.inverse_below(left + wanted * self._mass(), self.parameters)

    def _is_tail(self) -> bool:
        return math.isinf(self.interval.high) and not math.isinf(self.interval.low)

    def _mass(self) -> float:
        """What the whole family gives to the interval."""
        return _mass(self.family, self.parameters, self.interval)


def _at(
    function: Callable[[Array, Sequence[float]], Array], x: float, parameters: Sequence[float]
) -> float:
    if math.isinf(x):
        return 0.0 if x < 0 else 1.0
    return float(function(np.array([x]), parameters)[0])


def _mass(family: Family, parameters: Sequence[float], interval: Interval) -> float:
    if math.isinf(interval.high):
        mass = 1.0 if math.isinf(interval.low) else _at(family.above, interval.low, parameters)
    else:
        mass = _at(family.below, interval.high, parameters) - _at(
            family.below, interval.low, parameters
        )
    return max(mass, _TINY)


def fit(
    family: Family, x: Array, weights: Array, interval: Interval, quick: bool = False
) -> Fitted:
    """The likeliest member of a family on an interval.

    `x`: samples inside of the interval, in seconds; `weights`: how many samples each represents.
    `quick`: near enough to tell pivots apart.
    """
    if family is UNIFORM:
        return Fitted(family, (float(x.min()), float(x.max())), interval)
    if family is POWER_LAW:
        return _likeliest_power_law(x, weights, interval)
    if family is EXPONENTIAL and math.isinf(interval.high):
        low = 0.0 if math.isinf(interval.low) else interval.low
        mean = float(np.average(x, weights=weights))
        return Fitted(family, (max(mean - low, _TINY),), interval)
    if family is NORMAL:
        closed = _likeliest_normal(x, weights, interval)
        if closed is not None:
            return closed
    total = float(weights.sum())

    def loss(free: Array) -> float:
        parameters = family.bound(free.tolist())
        with np.errstate(all="ignore"):
            value = float(np.dot(weights, family.log_density(x, parameters))) / total - math.log(
                _mass(family, parameters, interval)
            )
        return -value if math.isfinite(value) else 1e30

    begin = np.asarray(family.free(family.start(x, weights, interval)), dtype=float)
    options = (
        {"maxiter": 50, "xatol": 1e-2, "fatol": 1e-4}
        if quick
        else {"maxiter": 400, "xatol": 1e-4, "fatol": 1e-7}
    )
    found = optimize.minimize(loss, begin, method="Nelder-Mead", options=options)
    return Fitted(family, family.bound(found.x.tolist()), interval)


def _likeliest_power_law(x: Array, weights: Array, interval: Interval) -> Fitted:
    """Clauset, Shalizi and Newman 2009, equation 3.1; the least x is the interval's, or x.min()."""
    least = interval.low if interval.low > 0 else float(x.min())
    logs = float(np.dot(weights, np.log(np.maximum(x / least, 1.0))))
    exponent = 1.0 + float(weights.sum()) / max(logs, _TINY)
    return Fitted(POWER_LAW, (exponent, least), interval)


def _likeliest_normal(x: Array, weights: Array, interval: Interval) -> Fitted | None:
    """Mean and variance say all of a normal distribution that is cut on its right.

    None where it is cut elsewhere, or where the samples do not fall off towards the cut.
    """
    if not math.isinf(interval.low):
        return None
    mean = float(np.average(x, weights=weights))
    variance = float(np.average((x - mean) ** 2, weights=weights))
    if variance <= 0:
        return None
    if math.isinf(interval.high):
        return Fitted(NORMAL, (mean, math.sqrt(variance)), interval)
    ratio = variance / (interval.high - mean) ** 2
    if ratio >= _RATIOS[0] or ratio <= _RATIOS[-1]:
        return Fitted(NORMAL, (mean, math.sqrt(variance)), interval)
    cut = float(np.interp(-ratio, -_RATIOS, _CUTS))
    slope = math.exp(-cut * cut / 2) / math.sqrt(2 * math.pi) / float(special.ndtr(cut))
    deviation = math.sqrt(variance / (1.0 - cut * slope - slope * slope))
    return Fitted(NORMAL, (mean + deviation * slope, deviation), interval)


# Of a normal distribution cut at b standard deviations: its variance over the squared distance of
# its mean from the cut. Falls with b.
_CUTS = np.linspace(-1.5, 12.0, 2701)
_SLOPES = np.exp(-(_CUTS**2) / 2) / math.sqrt(2 * math.pi) / special.ndtr(_CUTS)
_RATIOS = (1.0 - _CUTS * _SLOPES - _SLOPES**2) / (_CUTS + _SLOPES) ** 2


def _mean_and_deviation(x: Array, weights: Array) -> tuple[float, float]:
    mean = float(np.average(x, weights=weights))
    deviation = math.sqrt(float(np.average((x - mean) ** 2, weights=weights)))
    return mean, max(deviation, abs(mean) * 1e-9, _TINY)


def _shape_and_scale(mean: float, deviation: float) -> tuple[float, float]:
    """Of the gamma distribution with these moments."""
    return mean * mean / (deviation * deviation), deviation * deviation / mean


def _positive(free: Sequence[float]) -> tuple[float, ...]:
    return tuple(math.exp(min(max(value, -200.0), 200.0)) for value in free)


def _logs(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(math.log(max(value, _TINY)) for value in values)


def _place_and_scale(free: Sequence[float]) -> tuple[float, ...]:
    return (float(free[0]), *_positive(free[1:]))


def _place_and_log(values: Sequence[float]) -> tuple[float, ...]:
    return (float(values[0]), *_logs(values[1:]))


def _never(_: Sequence[float]) -> bool:
    return False


def _always(_: Sequence[float]) -> bool:
    return True


def _log(x: Array) -> Array:
    return np.log(np.maximum(x, _TINY))


UNIFORM = Family(
    "uniform",
    ("low_seconds", "high_seconds"),
    _never,
    lambda x, p: np.full_like(x, -math.log(max(p[1] - p[0], _TINY))),
    lambda x, p: np.clip((x - p[0]) / max(p[1] - p[0], _TINY), 0, 1),
    lambda x, p: np.clip((p[1] - x) / max(p[1] - p[0], _TINY), 0, 1),
    lambda q, p: p[0] + q * (p[1] - p[0]),
    lambda q, p: p[1] - q * (p[1] - p[0]),
    lambda x, w, i: (float(x.min()), float(x.max())),
    lambda free: (float(free[0]), float(free[1])),
    lambda values: (float(values[0]), float(values[1])),
)
NORMAL = Family(
    "normal",
    ("mean_seconds", "deviation_seconds"),
    _never,
    lambda x, p: -(((x - p[0]) / p[1]) ** 2) / 2 - math.log(p[1] * math.sqrt(2 * math.pi)),
    lambda x, p: special.ndtr((x - p[0]) / p[1]),
    lambda x, p: special.ndtr((p[0] - x) / p[1]),
    lambda q, p: p[0] + p[1] * special.ndtri(q),
    lambda q, p: p[0] - p[1] * special.ndtri(q),
    lambda x, w, i: _mean_and_deviation(x, w),
    _place_and_scale,
    _place_and_log,
)
CAUCHY = Family(
    "Cauchy",
    ("median_seconds", "scale_seconds"),
    _always,
    lambda x, p: -np.log(math.pi * p[1] * (1 + ((x - p[0]) / p[1]) ** 2)),
    lambda x, p: 0.5 + np.arctan((x - p[0]) / p[1]) / math.pi,
    lambda x, p: 0.5 - np.arctan((x - p[0]) / p[1]) / math.pi,
    lambda q, p: p[0] + p[1] * np.tan(math.pi * (q - 0.5)),
    lambda q, p: p[0] - p[1] * np.tan(math.pi * (q - 0.5)),
    lambda x, w, i: (
        _mean_and_deviation(x, w)[0],
        _mean_and_deviation(x, w)[1] / 2,
    ),
    _place_and_scale,
    _place_and_log,
)
GAMMA = Family(
    "gamma",
    ("shape", "scale_seconds"),
    _never,
    lambda x, p: (p[0] - 1) * _log(x) - x / p[1] - special.gammaln(p[0]) - p[0] * math.log(p[1]),
    lambda x, p: special.gammainc(p[0], np.maximum(x, 0) / p[1]),
    lambda x, p: special.gammaincc(p[0], np.maximum(x, 0) / p[1]),
    lambda q, p: p[1] * special.gammaincinv(p[0], q),
    lambda q, p: p[1] * special.gammainccinv(p[0], q),
    lambda x, w, i: _shape_and_scale(*_mean_and_deviation(x, w)),
    _positive,
    _logs,
)
WEIBULL = Family(
    "Weibull",
    ("shape", "scale_seconds"),
    lambda p: p[0] < 1.0,
    lambda x, p: (
        math.log(p[0] / p[1])
        + (p[0] - 1) * (_log(x) - math.log(p[1]))
        - (np.maximum(x, 0) / p[1]) ** p[0]
    ),
    lambda x, p: -np.expm1(-((np.maximum(x, 0) / p[1]) ** p[0])),
    lambda x, p: np.exp(-((np.maximum(x, 0) / p[1]) ** p[0])),
    lambda q, p: p[1] * (-np.log1p(-q)) ** (1 / p[0]),
    lambda q, p: p[1] * (-np.log(np.maximum(q, _TINY))) ** (1 / p[0]),
    lambda x, w, i: (1.0, _mean_and_deviation(x, w)[0]),
    _positive,
    _logs,
)
LOG_NORMAL = Family(
    "log-normal",
    ("log_mean", "log_deviation"),
    _always,
    lambda x, p: (
        -(((_log(x) - p[0]) / p[1]) ** 2) / 2 - _log(x) - math.log(p[1] * math.sqrt(2 * math.pi))
    ),
    lambda x, p: special.ndtr((_log(x) - p[0]) / p[1]),
    lambda x, p: special.ndtr((p[0] - _log(x)) / p[1]),
    lambda q, p: np.exp(p[0] + p[1] * special.ndtri(q)),
    lambda q, p: np.exp(p[0] - p[1] * special.ndtri(q)),
    lambda x, w, i: _mean_and_deviation(_log(x), w),
    _place_and_scale,
    _place_and_log,
)
POWER_LAW = Family(
    "power law",
    ("exponent", "least_seconds"),
    _always,
    lambda x, p: math.log((p[0] - 1) / p[1]) - p[0] * (_log(x) - math.log(p[1])),
    lambda x, p: 1.0 - (np.maximum(x, p[1]) / p[1]) ** (1 - p[0]),
    lambda x, p: (np.maximum(x, p[1]) / p[1]) ** (1 - p[0]),
    lambda q, p: p[1] * (1.0 - q) ** (-1 / (p[0] - 1)),
    lambda q, p: p[1] * np.maximum(q, _TINY) ** (-1 / (p[0] - 1)),
    lambda x, w, i: (2.5, float(x.min())),
    lambda free: (1.0 + math.exp(min(free[0], 50.0)), math.exp(free[1])),
    lambda values: (math.log(max(values[0] - 1, _TINY)), math.log(values[1])),
)
EXPONENTIAL = Family(
    "exponential",
    ("mean_seconds",),
    _never,
    lambda x, p: -x / p[0] - math.log(p[0]),
    lambda x, p: -np.expm1(-np.maximum(x, 0) / p[0]),
    lambda x, p: np.exp(-np.maximum(x, 0) / p[0]),
    lambda q, p: -p[0] * np.log1p(-q),
    lambda q, p: -p[0] * np.log(np.maximum(q, _TINY)),
    lambda x, w, i: (_mean_and_deviation(x, w)[0],),
    _positive,
    _logs,
)

SINGLE = (UNIFORM, NORMAL, CAUCHY, GAMMA, WEIBULL, LOG_NORMAL, POWER_LAW, EXPONENTIAL)
HEAD = (NORMAL, CAUCHY)
TAIL = (POWER_LAW, LOG_NORMAL, WEIBULL, GAMMA, EXPONENTIAL)
BY_NAME = {family.name: family for family in SINGLE}
# What each one becomes for some value of its parameters, or in the limit: such pairs are compared
# as nested ones. Far out in its tail a log-normal of large deviation is a power law, and so is a
# Weibull of small shape.
CONTAINS = {
    "Weibull": ("exponential", "power law"),
    "gamma": ("exponential",),
    "log-normal": ("power law",),
}
