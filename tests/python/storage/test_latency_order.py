"""The slowest of n response times: the formula against drawn ones."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from iotune import Error

pytest.importorskip("scipy")
pd = pytest.importorskip("pandas")
from iotune.models.latency import order_statistics, report  # noqa: E402
from iotune.models.latency.families import BY_NAME, Fitted, Interval  # noqa: E402
from iotune.models.latency.fitting import Mixture  # noqa: E402
from iotune.models.latency.order_statistics import (  # noqa: E402
    measured_correlation,
    simulate_slowest,
    slowest_of,
    stripe_table,
)
from iotune.models.latency.samples import Kind  # noqa: E402


def mixture(exponent: float = 3.5, scale: float = 1.0) -> Mixture:
    pivot = 1.3 * scale
    return Mixture(
        pivot, 0.15,
        Fitted(BY_NAME["normal"], (scale, 0.1 * scale), Interval(high=pivot)),
        Fitted(BY_NAME["power law"], (exponent, pivot), Interval(low=pivot)),
    )  # fmt: skip


@pytest.mark.parametrize("servers", [1, 4, 64])
@pytest.mark.parametrize("correlation", [0.0, 0.4])
def test_the_formula_is_what_simulation_gives(servers, correlation):
    formula = slowest_of(mixture(), servers, correlation, merge_seconds=0.25)
    drawn = simulate_slowest(
        mixture(), servers, np.random.default_rng(1), 200_000, correlation, merge_seconds=0.25
    )
    assert formula.mean_seconds == pytest.approx(drawn.mean(), rel=0.03)
    assert formula.p95_seconds == pytest.approx(np.percentile(drawn, 95), rel=0.03)
    assert formula.p99_seconds == pytest.approx(np.percentile(drawn, 99), rel=0.05)


def test_servers_that_are_slow_together_cost_less():
    apart, together = slowest_of(mixture(), 16), slowest_of(mixture(), 16, 0.8)
    assert together.p99_seconds < apart.p99_seconds
    assert together.mean_seconds < apart.mean_seconds


def test_a_tail_without_a_mean_has_none():
    assert math.isinf(slowest_of(mixture(exponent=1.9), 4).mean_seconds)


def test_the_correlation_is_found_again():
    random = np.random.default_rng(2)
    common = random.standard_normal((5000, 1)) * math.sqrt(0.4)
    rounds = np.exp(common + random.standard_normal((5000, 6)) * math.sqrt(0.6))
    assert measured_correlation(rounds) == pytest.approx(0.4, abs=0.03)
    assert measured_correlation(random.random((5000, 4))) == pytest.approx(0, abs=0.03)
    assert measured_correlation(random.random((50, 1))) == 0


def test_more_stripes_are_smaller_parts_and_more_of_them():
    mib = 1 << 20
    of_size = {64 * mib: mixture(scale=1.0), 16 * mib: mixture(scale=0.25)}
    one, four = stripe_table(of_size, 64 * mib, [1, 4])
    assert one.servers == 1 and four.servers == 4
    assert four.mean_seconds == pytest.approx(slowest_of(mixture(scale=0.25), 4).mean_seconds)
    with pytest.raises(Error, match="larger than every sampled request"):
        stripe_table(of_size, 256 * mib, [1])


@pytest.mark.parametrize("servers, correlation", [(0, 0.0), (4, 1.0), (4, -0.1)])
def test_what_cannot_be_is_refused(servers, correlation):
    with pytest.raises(Error):
        slowest_of(mixture(), servers, correlation)


def test_the_report_shares_the_largest_request_in_sampled_parts():
    # given three sizes of reads, and a single one of writes
    of_size = {1 << 20: mixture(scale=0.1), 4 << 20: mixture(scale=0.3), 16 << 20: mixture()}
    fits: dict[Kind, Any] = {
        Kind("read", "cold", "posix", size): SimpleNamespace(times=one)
        for size, one in of_size.items()
    }
    fits[Kind("write", "cold", "posix", 1 << 20)] = SimpleNamespace(times=mixture())
    groups = {
        kind: pd.DataFrame({"run": ["a"], "round": [0], "rank": [0], "seconds": [1.0]})
        for kind in fits
    }
    # when
    rows: list[Any] = report._shared_rows(groups, fits)
    (row,) = rows
    # then parts of four servers are as the sample of a quarter, those of 16 and more as the least
    assert row["kind"] == "read, cold, posix, 16 MiB"
    for at, size in ((0, 16 << 20), (2, 4 << 20), (4, 1 << 20), (7, 1 << 20)):
        expected = slowest_of(of_size[size], report.STRIPE_COUNTS[at]).p99_seconds
        assert row["p99"][at] == f"{expected:.3g}"


@pytest.mark.parametrize("correlation", [1e-9, 1e-4, 0.1, 0.6, 0.95, 0.99, 0.999])
def test_fractions_of_one_server_are_found_for_every_dependence(correlation: float) -> None:
    for servers in (1, 2, 16, 156, 1000):
        found = order_statistics._single_fraction(
            servers, np.array([0.5, 0.95, 0.99, 0.999]), correlation
        )
        assert (np.diff(found) > 0).all() and 0 < found[0] and found[-1] < 1
