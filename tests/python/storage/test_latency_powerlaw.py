"""Tails of ours against those of the package powerlaw, in what both of them fit.

powerlaw knows no samples with weights, no intervals that are cut on both sides, no gamma and no
mixtures. Of a tail that begins at a least value it fits four of the families.
"""

import warnings

import numpy as np
import pytest

powerlaw = pytest.importorskip("powerlaw")
from iotune.models.latency.families import (  # noqa: E402
    EXPONENTIAL,
    LOG_NORMAL,
    POWER_LAW,
    WEIBULL,
    Fitted,
    Interval,
    fit,
)
from iotune.models.latency.fitting import chance  # noqa: E402

LEAST = 1.4
TAIL = Interval(low=LEAST)
PARAMETERS = {
    "power law": (2.7, LEAST), "exponential": (0.8,), "log-normal": (0.3, 0.9),
    "Weibull": (0.7, 0.6),
}  # fmt: skip
FAMILIES = (POWER_LAW, EXPONENTIAL, LOG_NORMAL, WEIBULL)


def drawn(family, seed, count=4000):
    whole = Fitted(family, PARAMETERS[family.name], TAIL)
    return whole.quantile(np.random.default_rng(seed).random(count))


def theirs(x):
    return powerlaw.Fit(x, xmin=LEAST, verbose=False)


def ours(family, x):
    return fit(family, x, np.ones(len(x)), TAIL)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("seed", range(3))
def test_one_parameter_is_the_same(seed):
    x = drawn(POWER_LAW, seed)
    assert ours(POWER_LAW, x).parameters[0] == pytest.approx(theirs(x).power_law.alpha, rel=1e-9)
    x = drawn(EXPONENTIAL, seed)
    searched = 1 / theirs(x).exponential.Lambda  # powerlaw searches what has a formula
    assert ours(EXPONENTIAL, x).parameters[0] == pytest.approx(searched, rel=1e-4)


def test_equal_parameters_have_equal_densities():
    # given theirs, with what our parameters are called there
    x = drawn(LOG_NORMAL, 7, 500)
    mean, deviation = PARAMETERS["log-normal"]
    shape, scale = PARAMETERS["Weibull"]
    same = {
        POWER_LAW: powerlaw.Power_Law(xmin=LEAST, parameters=[PARAMETERS["power law"][0]]),
        EXPONENTIAL: powerlaw.Exponential(
            xmin=LEAST, parameters=[1 / PARAMETERS["exponential"][0]]
        ),
        LOG_NORMAL: powerlaw.Lognormal(xmin=LEAST, parameters=[mean, deviation]),
        WEIBULL: powerlaw.Stretched_Exponential(xmin=LEAST, parameters=[1 / scale, shape]),
    }
    for family, distribution in same.items():
        fitted = Fitted(family, PARAMETERS[family.name], TAIL)
        assert np.allclose(
            fitted.log_density(x), np.log(distribution.pdf(x)), rtol=1e-6, atol=1e-6
        ), family.name
        assert np.allclose(fitted.below(x), distribution.cdf(x), atol=1e-8), family.name


@pytest.mark.parametrize("family", [LOG_NORMAL, WEIBULL], ids=lambda one: one.name)
@pytest.mark.parametrize("seed", range(3))
def test_ours_is_no_less_likely_where_both_search(family, seed):
    x = drawn(family, seed)
    mine = float(ours(family, x).log_density(x).sum())
    name = {"log-normal": "lognormal", "Weibull": "stretched_exponential"}[family.name]
    other = float(np.log(getattr(theirs(x), name).pdf(x)).sum())
    assert mine >= other - 0.05


@pytest.mark.parametrize("seed", range(3))
def test_two_families_are_distinguished_alike(seed):
    # Vuong's test of families of which none contains the other.
    x = drawn(POWER_LAW, seed, 150)
    one, other = ours(POWER_LAW, x), ours(EXPONENTIAL, x)
    _, theirs_p = theirs(x).distribution_compare("power_law", "exponential", normalized_ratio=True)
    ours_p = chance(one, other, one.log_density(x), other.log_density(x))
    assert ours_p == pytest.approx(theirs_p, rel=1e-3, abs=1e-9)
