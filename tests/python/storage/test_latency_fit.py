"""Response times of a known distribution are found again; what says nothing is refused."""

import json

import numpy as np
import pytest

from bench.latency.drawn_mixtures import EXPONENT, HEAD_MEAN, PIVOT, TAIL_SHARE, draw
from iotune import Error

scipy = pytest.importorskip("scipy")
from iotune.models.latency.families import (  # noqa: E402
    SINGLE,
    TAIL,
    UNIFORM,
    Fitted,
    Interval,
    fit,
)
from iotune.models.latency.fitting import (  # noqa: E402
    fit_latency,
    mixture_from_dict,
    mixture_to_dict,
)

PARAMETERS = {
    "uniform": (1.0, 3.0), "normal": (2.0, 0.3), "Cauchy": (2.0, 0.3), "gamma": (3.0, 0.5),
    "Weibull": (1.5, 2.0), "log-normal": (0.5, 0.6), "power law": (2.5, 1.0), "exponential": (2.0,),
}  # fmt: skip


@pytest.mark.parametrize("family", SINGLE, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "interval", [Interval(), Interval(high=2.2), Interval(low=1.4)], ids=["whole", "head", "tail"]
)
def test_density_and_quantiles_belong_to_the_distribution(family, interval):
    fitted = Fitted(family, PARAMETERS[family.name], interval)
    fractions = np.linspace(0.02, 0.98, 25)
    x = fitted.quantile(fractions)
    assert np.allclose(fitted.below(x), fractions, atol=1e-9)
    # The density is the slope of the distribution.
    step = 1e-6
    slope = (fitted.below(x[1:-1] + step) - fitted.below(x[1:-1] - step)) / (2 * step)
    assert np.allclose(np.exp(fitted.log_density(x[1:-1])), slope, rtol=1e-4)


@pytest.mark.parametrize("family", SINGLE, ids=lambda one: one.name)
def test_a_family_is_found_again_in_what_is_drawn_from_it(family):
    whole = Fitted(family, PARAMETERS[family.name], Interval())
    x = whole.quantile(np.random.default_rng(1).random(20_000))
    found = fit(family, x, np.ones(len(x)), Interval())
    assert np.allclose(found.parameters, PARAMETERS[family.name], rtol=0.03)


@pytest.mark.parametrize(
    "family", [one for one in TAIL if one.name != "gamma"], ids=lambda f: f.name
)
def test_a_tail_alone_gives_the_whole_distribution(family):
    interval = Interval(low=1.4)
    cut = Fitted(family, PARAMETERS[family.name], interval)
    x = cut.quantile(np.random.default_rng(2).random(40_000))
    found = fit(family, x, np.ones(len(x)), interval)
    fractions = np.array([0.1, 0.5, 0.9, 0.99])
    assert np.allclose(found.quantile(fractions), cut.quantile(fractions), rtol=0.02)


def test_weights_stand_for_repeated_samples():
    x = np.array([1.0, 2.0, 5.0])
    repeated = fit(SINGLE[1], np.repeat(x, [3, 1, 2]), np.ones(6), Interval())
    assert fit(SINGLE[1], x, np.array([3.0, 1.0, 2.0]), Interval()) == repeated
    assert fit(UNIFORM, x, np.ones(3), Interval()).parameters == (1.0, 5.0)


def test_a_known_mixture_is_found_again():
    """The issue's figures: pivot, tail share and exponent within 5 % of 15,000 samples."""
    sample = draw(np.random.default_rng(7), 15_000, "power law")
    found = fit_latency(sample)
    assert found.mixture is not None
    assert found.mixture.pivot_seconds == pytest.approx(PIVOT, rel=0.05)
    assert found.mixture.tail_share == pytest.approx(TAIL_SHARE, rel=0.05)
    assert found.tail[0].name == "power law"
    assert found.tail[0].fitted.parameters[0] == pytest.approx(EXPONENT, rel=0.05)
    assert found.head[0].name == "normal"
    assert found.head[0].fitted.parameters[0] == pytest.approx(HEAD_MEAN, rel=0.02)
    assert found.heavy_tail and found.verdict == "heavy tail"
    assert found.distance < 0.01


@pytest.mark.parametrize("tail", ["log-normal", "Weibull", "gamma", "exponential"])
def test_the_tails_family_is_among_those_that_fit(tail):
    found = fit_latency(draw(np.random.default_rng(11), 6_000, tail))
    assert tail in [one.name for one in found.tail if one.is_tied]


@pytest.mark.parametrize("family", ["normal", "uniform", "gamma", "exponential"])
def test_where_there_is_no_heavy_tail_none_is_found(family):
    random = np.random.default_rng(3)
    sample = {
        "normal": lambda: random.normal(1, 0.1, 4000),
        "uniform": lambda: random.uniform(1, 2, 4000),
        "gamma": lambda: random.gamma(3, 1, 4000),
        "exponential": lambda: random.exponential(1, 4000),
    }[family]()
    found = fit_latency(sample[sample > 0])
    assert found.verdict == "no heavy tail here"
    assert found.single[0].name == family


def test_skewness_and_kurtosis_are_those_of_the_paper():
    sample = np.random.default_rng(4).normal(1, 0.1, 50_000)
    found = fit_latency(sample)
    assert found.skewness == pytest.approx(0, abs=0.05)
    assert found.kurtosis == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ([1.0], "too few"),
        ([2.0] * 100, "all 100 response times are 2 s"),
        ([1.0] * 60 + [0.0], "positive"),
        ([1.0] * 60 + [float("nan")], "positive"),
        ([1.0, 2.0] * 10, "20 response times are too few to fit: 40 at least"),
    ],
)
def test_what_says_nothing_is_refused(sample, words):
    with pytest.raises(Error, match=words):
        fit_latency(np.array(sample))


def test_two_different_times_have_no_partition():
    found = fit_latency(np.array([1.0, 2.0] * 50))
    assert found.mixture is None and not found.heavy_tail


def test_a_mixture_survives_json():
    mixture = fit_latency(draw(np.random.default_rng(5), 3_000, "power law")).mixture
    assert mixture is not None
    back = mixture_from_dict(json.loads(json.dumps(mixture_to_dict(mixture))))
    x = np.linspace(0.5, 9, 50)
    assert np.allclose(back.below(x), mixture.below(x))
    assert np.allclose(back.below(back.quantile(np.linspace(0.01, 0.999, 40))),
                       np.linspace(0.01, 0.999, 40), atol=2e-3)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"tail_share": 2}, {"pivot_seconds": "x"}, {"head": {"family": "none", "parameters": []}},
        {"tail": {"family": "power law", "parameters": [2.5]}}, {"tail": None},
    ],
)  # fmt: skip
def test_a_damaged_mixture_is_refused(change):
    said = {
        "pivot_seconds": 1.3, "tail_share": 0.1,
        "head": {"family": "normal", "parameters": [1, 0.1]},
        "tail": {"family": "power law", "parameters": [2.5, 1.3]}, **change,
    }  # fmt: skip
    with pytest.raises(Error, match="no fitted distribution"):
        mixture_from_dict(said)
