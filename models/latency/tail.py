"""The longest response times: a threshold of their own, and how times fall off beyond it.

Peaks over a threshold (Pickands 1975; Coles, An Introduction to Statistical Modeling of Extreme
Values, chapter 4): times far enough out follow a generalised Pareto distribution, of which a power
law and an exponential are cases with one parameter less. How far is enough, the sample says: the
threshold is the lowest from which on the family passes Anderson and Darling's test. A threshold of
least Kolmogorov-Smirnov distance (Clauset, Shalizi and Newman 2009, section 3.3) was tried: that
distance is decided near the threshold, so it often ends in the head of the sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from iotune.models.latency.families import Array
from scipy import optimize

# Fewer times say nothing of how they fall off.
FEWEST_BEYOND = 10
# A tail of fewer times is reported as one that is hardly known.
_FEW = 30
_THRESHOLDS = 40
# At most so much of the sample is its tail.
_LARGEST_SHARE = 0.5
# Of Anderson and Darling's statistic: a third of samples of the family itself exceed it, where one
# parameter was fitted and where two were (simulated; shapes of 0 to 1). Stricter than a test is
# otherwise: a family that is hardly rejected bends what is predicted by as much as chance does.
_CRITICAL_ONE, _CRITICAL_TWO = 0.62, 0.45
# Two parameters must explain so many times more of the sample than one does, and an exponential
# so many times more than a power law: its error costs more.
_TWO_EXPLAIN_MORE, _EXPONENTIAL_EXPLAINS_MORE = 10.0, 1.5
_RESAMPLES = 100
POWER_LAW, EXPONENTIAL, GENERALISED = "power law", "exponential", "generalised Pareto"
FAMILIES = (POWER_LAW, EXPONENTIAL, GENERALISED)


@dataclass(frozen=True)
class Tail:
    """Beyond the threshold u: P(T > t) = share (1 + shape (t - u) / scale)^(-1 / shape).

    A power law of exponent 1 + 1 / shape has scale = shape u; an exponential is the limit of
    shape 0. Intervals hold 90 % of samples drawn from the fit, for each of which the threshold was
    chosen again.
    """

    threshold_seconds: float
    share: float  # of all samples
    family: str
    shape: float
    scale_seconds: float
    samples: int  # beyond the threshold
    shape_interval: tuple[float, float]
    threshold_interval: tuple[float, float]

    @property
    def exponent(self) -> float:
        """Of the density, which falls as t^-exponent far out; infinite where it falls faster."""
        return 1 + 1 / self.shape if self.shape > 0 else math.inf

    @property
    def exponent_interval(self) -> tuple[float, float]:
        low, high = (1 + 1 / one if one > 0 else math.inf for one in self.shape_interval[::-1])
        return low, high

    def above(self, x: Array) -> Array:
        """Of the times beyond the threshold: the fraction above each x."""
        excess = np.maximum(np.asarray(x, dtype=float) - self.threshold_seconds, 0)
        if self.shape == 0:
            return np.asarray(np.exp(-excess / self.scale_seconds))
        inner = np.maximum(1 + self.shape * excess / self.scale_seconds, 0)
        with np.errstate(divide="ignore"):
            return np.asarray(inner ** (-1 / self.shape))

    def exceeded_by(self, fraction: Array) -> Array:
        """The time that each fraction (above 0) of the times beyond the threshold exceeds."""
        left = np.asarray(fraction, dtype=float)
        if self.shape == 0:
            return np.asarray(self.threshold_seconds - self.scale_seconds * np.log(left))
        grown = np.expm1(-self.shape * np.log(left)) / self.shape
        return np.asarray(self.threshold_seconds + self.scale_seconds * grown)

    def text(self) -> str:
        """One sentence: family, threshold, exponent, and how sure they are."""
        beyond = f"{100 * self.share:.2g} % beyond {self.threshold_seconds:.3g} s"
        if self.family == EXPONENTIAL:
            said = f"{beyond} fall off as an exponential of {self.scale_seconds:.3g} s"
        elif self.family == POWER_LAW:
            low, high = self.exponent_interval
            said = (
                f"{beyond} fall off as a power law of exponent {self.exponent:.3g} "
                f"({low:.3g} to {high:.3g})"
            )
        else:
            low, high = self.shape_interval
            said = (
                f"{beyond} fall off as a generalised Pareto of shape {self.shape:.2f} "
                f"({low:.2f} to {high:.2f})"
            )
        if self.samples < _FEW:
            said += f"; hardly known: only {self.samples} samples lie there"
        return said


def fit_tail(seconds: Array, may_be_heavy: bool, resamples: int = _RESAMPLES) -> Tail | None:
    """The tail of a sorted sample of response times, which are positive.

    `may_be_heavy`: whether a power law may be it; where that is not so, a power law predicts far
    too long times beyond what was sampled. None where nothing lies beyond any threshold but times
    that are all the same.
    """
    chosen = _chosen(seconds, may_be_heavy)
    if chosen is None:
        return None
    tail = Tail(
        chosen.threshold, chosen.count / len(seconds), chosen.family, chosen.shape, chosen.scale,
        chosen.count, (chosen.shape, chosen.shape), (chosen.threshold, chosen.threshold),
    )  # fmt: skip
    random = np.random.default_rng(len(seconds))  # the same sample has the same intervals
    again = [
        one for _ in range(resamples)
        if (one := _lowest(_FITS[tail.family], _drawn_again(seconds, tail, random))) is not None
    ]  # fmt: skip
    if not again:
        return tail
    return replace(
        tail,
        shape_interval=_middle([one.shape for one in again]),
        threshold_interval=_middle([one.threshold for one in again]),
    )


def _drawn_again(x: Array, tail: Tail, random: np.random.Generator) -> Array:
    """A sorted sample of the same size: of x up to the threshold, of the tail beyond.

    Between the values of x too: repeated ones would fail the test that chooses the threshold.
    """
    fractions = np.sort(random.random(len(x)))
    drawn = np.interp(fractions, np.arange(1, len(x) + 1) / len(x), x)
    first = int(np.searchsorted(fractions, 1 - tail.share))
    drawn[first:] = tail.exceeded_by((1 - fractions[first:]) / tail.share)
    return drawn


@dataclass(frozen=True)
class _Beyond:
    """A family fitted to the times beyond one threshold."""

    family: str
    threshold: float
    count: int
    shape: float
    scale: float
    misfit: float  # Anderson and Darling's statistic over what it may be


def _chosen(x: Array, may_be_heavy: bool) -> _Beyond | None:
    """The family that explains most of the sample; the simpler one where it is nearly as much."""
    found = {family: _lowest(fitted, x) for family, fitted in _FITS.items()}
    power_law, exponential = found[POWER_LAW], found[EXPONENTIAL]
    generalised = found[GENERALISED]
    if power_law is None or exponential is None:
        return None
    best = exponential
    if may_be_heavy and exponential.count <= _EXPONENTIAL_EXPLAINS_MORE * power_law.count:
        best = power_law
    if (
        generalised is not None
        and generalised.misfit <= 1
        and generalised.count > _TWO_EXPLAIN_MORE * best.count
    ):
        best = generalised
    return best


def _lowest(fitted: Callable[[float, Array], _Beyond], x: Array) -> _Beyond | None:
    """Of a sorted sample: fitted beyond the lowest threshold that passes, or the best misfit."""
    best: _Beyond | None = None
    for threshold, beyond in _thresholds(x):
        one = fitted(threshold, beyond)
        if one.misfit <= 1:
            return one
        if best is None or one.misfit < best.misfit:
            best = one
    return best


def _thresholds(x: Array) -> list[tuple[float, Array]]:
    """Thresholds from low to high, each with the times beyond it."""
    most = int(_LARGEST_SHARE * len(x))
    counts = np.geomspace(max(most, FEWEST_BEYOND), FEWEST_BEYOND, _THRESHOLDS).astype(int)
    found: dict[float, Array] = {}
    for count in counts:
        if count >= len(x):
            continue
        threshold = float(x[-count - 1])
        beyond = x[np.searchsorted(x, threshold, side="right") :]
        if len(beyond) >= FEWEST_BEYOND // 2 and beyond[0] < beyond[-1]:
            found.setdefault(threshold, beyond)
    return list(found.items())


def _power_law(threshold: float, beyond: Array) -> _Beyond:
    """By Hill's estimator (1975)."""
    logs = np.log(beyond / threshold)
    shape = float(logs.mean())
    misfit = _anderson_darling(np.exp(-logs / shape)) / _CRITICAL_ONE
    return _Beyond(POWER_LAW, threshold, len(beyond), shape, shape * threshold, misfit)


def _exponential(threshold: float, beyond: Array) -> _Beyond:
    excess = beyond - threshold
    scale = float(excess.mean())
    misfit = _anderson_darling(np.exp(-excess / scale)) / _CRITICAL_ONE
    return _Beyond(EXPONENTIAL, threshold, len(beyond), 0.0, scale, misfit)


def _generalised(threshold: float, beyond: Array) -> _Beyond:
    """By maximum likelihood, a search over shape / scale alone (Grimshaw 1993)."""
    excess = beyond - threshold
    mean, largest = float(excess.mean()), float(excess[-1])

    def loss(ratio: float) -> float:
        shape = float(np.log1p(ratio * excess).mean())
        # Below -0.5 the likelihood says nothing (Smith 1985).
        return math.log(shape / ratio) + shape if shape > -0.5 and shape / ratio > 0 else 1e30

    ratios = np.concatenate(
        [np.geomspace(-0.999 / largest, -1e-3 / largest, 16), np.geomspace(1e-3, 1e4, 48) / mean]
    )
    losses = [loss(float(one)) for one in ratios]
    at = int(np.argmin(losses))
    bounds = (float(ratios[max(at - 1, 0)]), float(ratios[min(at + 1, len(ratios) - 1)]))
    found = optimize.minimize_scalar(
        lambda one: loss(one) if one else math.log(mean) + 1.0, bounds=bounds, method="bounded"
    )
    ratio = float(found.x) if found.fun <= losses[at] else float(ratios[at])
    shape = float(np.log1p(ratio * excess).mean())
    scale = shape / ratio
    above = np.maximum(1 + ratio * excess, 1e-12) ** (-1 / shape)
    misfit = _anderson_darling(above) / _CRITICAL_TWO
    return _Beyond(GENERALISED, threshold, len(beyond), shape, scale, misfit)


_FITS: Mapping[str, Callable[[float, Array], _Beyond]] = {
    POWER_LAW: _power_law,
    EXPONENTIAL: _exponential,
    GENERALISED: _generalised,
}


def _anderson_darling(above: Array) -> float:
    """Of fitted fractions above each sample, falling; the square of the weighted distance."""
    n = len(above)
    rising = np.clip(above[::-1], 1e-12, 1 - 1e-12)
    odd = 2 * np.arange(1, n + 1) - 1
    square = -n - float(np.dot(odd, np.log(rising) + np.log1p(-rising[::-1]))) / n
    return square * (1 + 0.6 / n)


def _middle(values: list[float]) -> tuple[float, float]:
    low, high = np.percentile(values, (5, 95))
    return float(low), float(high)
