"""The one bootstrap: against SciPy's, against all samples there are, and as its callers use it."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest
from iotune.models.measuring.bootstrap import bootstrap, percentile
from iotune.models.measuring.paired import compare

from bench import paired


def rounds_of_two_arms(count: int, seed: int) -> tuple[list[float], list[float]]:
    """Seconds by default and of a candidate a fifth faster, on a machine that becomes slower."""
    draw = random.Random(seed)
    default, candidate = [], []
    for number in range(count):
        slow = 1 + number / count
        default.append(slow * draw.lognormvariate(0, 0.1))
        candidate.append(0.8 * slow * draw.lognormvariate(0, 0.1))
    return default, candidate


@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.5, 2.5), (1, 4), (0.25, 1.75)])
def test_percentile_interpolates(share, value):
    assert percentile([1, 2, 3, 4], share) == value


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_it_agrees_with_all_samples_there_are(confidence):
    numbers = [1.0, 2.0, 4.0, 8.0, 16.0]
    every = sorted(map(statistics.mean, itertools.product(numbers, repeat=len(numbers))))
    low, high = bootstrap(
        [numbers], lambda drawn: statistics.mean(drawn[0]), 3, confidence, resamples=20_000
    )
    assert low == pytest.approx(percentile(every, (1 - confidence) / 2), abs=0.21)
    assert high == pytest.approx(percentile(every, (1 + confidence) / 2), abs=0.21)


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_scipy_s(seed):
    stats = pytest.importorskip("scipy.stats")
    default, candidate = rounds_of_two_arms(31, seed)
    theirs = stats.bootstrap(
        (default, candidate), lambda a, b: statistics.median(a) / statistics.median(b),
        paired=True, vectorized=False, method="percentile", n_resamples=4000, random_state=seed,
    ).confidence_interval  # fmt: skip
    ours = compare(default, candidate, seed)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.01)


def test_training_and_benchmarks_say_the_same_of_the_same_rounds():
    default, candidate = rounds_of_two_arms(31, 7)
    trained = compare(default, candidate, 7)
    comparison = paired.Comparison("x", {"default": default, "arm": candidate}, [], 7)
    measured = comparison.estimate(
        lambda rows: statistics.median(rows["default"]) / statistics.median(rows["arm"]),
        resamples=4000,
    )
    assert (trained.ratio, trained.low, trained.high) == (
        measured.value,
        measured.low,
        measured.high,
    )


def test_each_sample_keeps_its_size_and_its_place():
    sizes = set()

    def seen(drawn):
        sizes.add(tuple(map(len, drawn)))
        assert set(drawn[0]) <= {1, 2} and set(drawn[1]) <= {3, 4, 5}
        return 0.0

    assert bootstrap([[1, 2], [3, 4, 5]], seen, 1, resamples=50) == (0.0, 0.0)
    assert sizes == {(2, 3)}


def test_more_comparisons_widen_the_interval():
    default, candidate = rounds_of_two_arms(15, 2)
    one, twelve = compare(default, candidate, 1), compare(default, candidate, 1, comparisons=12)
    assert twelve.low < one.low < one.ratio < one.high < twelve.high
