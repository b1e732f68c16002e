"""The longest response times: a known tail is found beyond a threshold of its own."""

import json
import math

import numpy as np
import pytest

from bench.latency.drawn_mixtures import JITTER, draw_request
from iotune import Error

pytest.importorskip("scipy")
from iotune.models.latency.fitting import fit_latency  # noqa: E402
from iotune.models.latency.order_statistics import slowest_of  # noqa: E402
from iotune.models.latency.response_times import (  # noqa: E402
    response_times_from_dict,
    response_times_of,
    response_times_to_dict,
)
from iotune.models.latency.tail import Tail, fit_tail  # noqa: E402

BASE_SECONDS = 0.003


def drawn(seed, count, share=0.1, exponent=3.0):
    """As of a mount with --latency-tail: each request takes 3 ms, some longer, with jitter."""
    random = np.random.default_rng(seed)
    return np.sort(draw_request(random, count, share, exponent, BASE_SECONDS))


def tail_of(seconds, resamples=0) -> Tail:
    found = fit_tail(seconds, True, resamples)
    assert found is not None
    return found


def true_p99(servers, share=0.1, exponent=3.0):
    """Of the slowest; the mean jitter of drawn() is added."""
    beyond = (1 - 0.99 ** (1 / servers)) / share
    return BASE_SECONDS * (beyond ** (-1 / (exponent - 1)) + JITTER)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 4.0])
def test_the_exponent_is_that_of_the_longest_times(exponent):
    found = [tail_of(drawn(seed, 15_000, exponent=exponent)) for seed in range(5)]
    assert {one.family for one in found} == {"power law"}
    assert np.median([one.exponent for one in found]) == pytest.approx(exponent, rel=0.08)


@pytest.mark.parametrize("servers", [4, 16, 64])
def test_the_slowest_of_many_is_predicted(servers):
    """The paper's one pivot predicts 40 % too little here."""
    fits = [fit_latency(drawn(seed, 15_000)) for seed in range(5)]
    own = [slowest_of(one.times, servers).p99_seconds for one in fits]
    assert np.median(own) == pytest.approx(true_p99(servers), rel=0.1)
    from_pivot = [slowest_of(one.mixture, servers).p99_seconds for one in fits if one.mixture]
    assert np.median(from_pivot) < 0.8 * true_p99(servers)


def test_the_interval_is_wider_with_fewer_samples_and_holds_the_exponent():
    random = np.random.default_rng(1)
    widths = []
    for count in (1_000, 20_000):
        x = np.sort(0.001 * (1 - random.random(count)) ** -0.5)
        found = tail_of(x, 100)
        low, high = found.exponent_interval
        assert low < 3.0 < high and low < found.exponent < high
        widths.append(high - low)
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("family", ["normal", "uniform", "gamma", "exponential"])
def test_light_tails_are_no_power_laws(family):
    random = np.random.default_rng(3)
    draws = {
        "normal": lambda count: random.normal(1, 0.1, count),
        "uniform": lambda count: random.uniform(1, 2, count),
        "gamma": lambda count: random.gamma(3, 1, count),
        "exponential": lambda count: random.exponential(1, count),
    }[family]
    found = fit_latency(np.asarray(draws(4_000)))
    assert found.times.tail is not None and found.times.tail.family != "power law"
    assert math.isinf(found.times.tail_index)
    predicted = slowest_of(found.times, 16).p99_seconds
    assert predicted == pytest.approx(np.quantile(draws(2_000_000), 0.99 ** (1 / 16)), rel=0.1)


def test_body_and_tail_are_one_distribution():
    x = drawn(4, 15_000)
    times = response_times_of(x)
    assert times.tail is not None
    fractions = np.concatenate([np.linspace(0.001, 0.999, 300), 1 - np.geomspace(1e-3, 1e-9, 20)])
    assert np.allclose(times.below(times.quantile(fractions)), fractions, atol=1e-9)
    assert (np.diff(times.quantile(fractions)) >= 0).all()
    # The body is the sample itself, and no more than a few points of it are kept.
    middle = np.linspace(0.02, 1 - times.tail.share, 40)
    assert np.allclose(times.quantile(middle), np.quantile(x, middle), rtol=0.005)
    assert len(times.fractions) <= 130


@pytest.mark.parametrize(
    "tail",
    [
        Tail(2.0, 0.1, "power law", 0.5, 1.0, 100, (0.4, 0.6), (1.0, 3.0)),
        Tail(2.0, 0.1, "exponential", 0.0, 0.3, 100, (0.0, 0.0), (1.0, 3.0)),
        Tail(2.0, 0.1, "generalised Pareto", -0.2, 0.3, 100, (-0.3, 0.1), (1.0, 3.0)),
    ],
    ids=lambda one: one.family,
)
def test_a_tails_quantiles_belong_to_its_distribution(tail):
    left = np.geomspace(1, 1e-6, 30)
    assert np.allclose(tail.above(tail.exceeded_by(left)), left)
    assert tail.exceeded_by(np.array(1.0)) == pytest.approx(2.0)
    assert tail.text().startswith("10 % beyond 2 s fall off as a")


@pytest.mark.parametrize("family", ["generalised Pareto"])
def test_a_tail_that_no_single_parameter_describes_has_two(family):
    # A power law that begins at zero: far from its threshold's multiple for long.
    x = np.sort(np.random.default_rng(6).pareto(4.0, 20_000) + 1e-6)
    found = tail_of(x)
    assert found.family == family
    assert found.shape == pytest.approx(0.25, abs=0.05)


def test_few_samples_are_said_to_be_few():
    found = response_times_of(np.sort(drawn(7, 40)))
    assert "only" in found.text() and "samples" in found.text()
    assert slowest_of(found, 64).p99_is_beyond_samples
    assert not slowest_of(response_times_of(drawn(7, 15_000)), 16).p99_is_beyond_samples


@pytest.mark.parametrize("sample", [[1.0, 2.0] * 50, [1.0] * 60 + [2.0], [1.0] * 500 + [1.1] * 9])
def test_where_the_longest_times_are_the_same_there_is_no_tail(sample):
    found = fit_latency(np.array(sample)).times
    assert found.tail is None and "nothing is predicted" in found.text()
    assert slowest_of(found, 64).p99_seconds == pytest.approx(max(sample), rel=0.01)
    assert response_times_from_dict(json.loads(json.dumps(response_times_to_dict(found)))) == found


def test_a_coarse_clock_still_has_a_tail():
    found = response_times_of(np.ceil(drawn(8, 15_000) * 1e4) / 1e4)
    assert slowest_of(found, 16).p99_seconds == pytest.approx(true_p99(16), rel=0.35)


def test_response_times_survive_json():
    times = response_times_of(drawn(5, 3_000))
    assert response_times_from_dict(json.loads(json.dumps(response_times_to_dict(times)))) == times


DAMAGES = [
    {"samples": 1}, {"samples": "many"}, {"fractions": [0.0, 0.5]}, {"seconds": None},
    {"seconds": [2.0, 1.0, 3.0]}, {"seconds": [-1.0, 1.0, 2.0]}, {"fractions": [0.0, 0.5, 1.0]},
    {"tail": {}}, {"tail": {"share": 2}}, {"tail": {"family": "odd"}}, {"tail": {"shape": "x"}},
    {"tail": {"scale_seconds": float("nan")}}, {"tail": {"shape_interval": [1.0]}},
    {"tail": {"threshold_seconds": 5.0}},
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_damaged_response_times_are_refused(damage):
    tail = {
        "threshold_seconds": 2.0, "share": 0.1, "family": "power law", "shape": 0.5,
        "scale_seconds": 1.0, "samples": 100, "shape_interval": [0.4, 0.6],
        "threshold_interval": [1.0, 3.0],
    }  # fmt: skip
    good = {
        "samples": 1000, "fractions": [0.0, 0.5, 0.9], "seconds": [1.0, 1.5, 2.0], "tail": tail,
    }  # fmt: skip
    assert response_times_from_dict(good).tail_index == 2.0
    bad = {**good, **damage}
    if damage.get("tail"):
        bad["tail"] = {**tail, **damage["tail"]}
    with pytest.raises(Error, match="no fitted response times"):
        response_times_from_dict(bad)
