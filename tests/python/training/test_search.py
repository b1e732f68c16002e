"""Searches find the best candidate of a surface whose best is known."""

import random
from statistics import median

import pytest

pytest.importorskip("optuna")
import numpy as np  # noqa: E402
from iotune.models.search import METHODS, Problem, make_search  # noqa: E402
from iotune.models.search.genetic import GENERATIONS, POPULATION  # noqa: E402
from iotune.models.search.regression import (  # noqa: E402
    RegressionSearch,
    forward_selection,
    terms_of,
    variables_of,
)
from iotune.models.search.replay import Player, Surface, play, problem_of  # noqa: E402


def surface(seed: int = 1, noise: float = 0.02) -> Surface:
    """Two-phase with more aggregators is faster up to 8; small buffers cost; repeats differ."""
    draw = random.Random(seed)
    points: list[dict[str, str]] = [{}]
    seconds = [10.0]
    for nodes in (None, "2", "4", "8"):
        for buffer in (None, "4194304", "16777216", "67108864"):
            for write in (None, "enable", "disable"):
                point = {
                    name: value
                    for name, value in
                    (("cb_nodes", nodes), ("cb_buffer_size", buffer), ("romio_cb_write", write))
                    if value
                }  # fmt: skip
                if not point:
                    continue
                points.append(point)
                shared = 1 if write == "disable" else int(nodes or 1) ** 0.5
                size = int(buffer or 16777216) / 4194304
                seconds.append(10 / shared / size**0.25 * (1.3 if write == "enable" else 1.0))
    runs = [[one * (1 + noise * draw.random()) for _ in range(5)] for one in seconds]
    return Surface("two-phase", points, runs)


@pytest.mark.parametrize("method", METHODS)
def test_every_search_ends_at_a_good_candidate(method):
    known = surface()
    search = make_search(method, problem_of(known), seed=3)
    scores = play(search, known, seed=4, runs=len(known.points) * 2)
    assert scores[-1] > 0.95
    assert all(0 < one <= 1 for one in scores)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_is_the_same_for_the_same_seed(method):
    known = surface()
    first = play(make_search(method, problem_of(known), 5), known, 6, 30)
    assert first == play(make_search(method, problem_of(known), 5), known, 6, 30)


@pytest.mark.parametrize("method", METHODS)
def test_what_fails_is_not_the_best_and_not_asked_for_again(method):
    known = surface()
    search = make_search(method, problem_of(known), 7)
    asked = []
    for _ in range(30):
        one = search.next()
        if one is None:
            break
        asked.append(one)
        broken = known.points[one].get("cb_nodes") == "8"
        search.tell(one, None if broken else median(known.seconds[one]))
    failed = [one for one in asked if known.points[one].get("cb_nodes") == "8"]
    assert len(failed) == len(set(failed))
    assert search.best() not in failed


@pytest.mark.parametrize("method", METHODS)
def test_one_candidate_alone_is_the_best(method):
    search = make_search(method, Problem([{}]), 1)
    one = search.next()
    assert one in (0, None)
    if one is not None:
        search.tell(one, 1.0)
    assert search.best() == 0


def test_random_and_grid_run_each_candidate_once():
    known = surface()
    for method in ("random", "grid"):
        search = make_search(method, problem_of(known), 2)
        asked = []
        while (one := search.next()) is not None:
            asked.append(one)
            search.tell(one, 1.0)
        assert sorted(asked) == list(range(len(known.points)))


def test_the_genetic_search_keeps_the_papers_numbers():
    known = surface()
    search = make_search("genetic", problem_of(known), 2)
    asked = []
    while (one := search.next()) is not None:
        asked.append(one)
        search.tell(one, median(known.seconds[one]))
    assert len(asked) == len(set(asked)) <= POPULATION * GENERATIONS
    assert len(set(asked[:POPULATION])) == POPULATION


def test_the_regression_finds_the_terms_that_made_the_times():
    known = surface()
    variables = variables_of(known.points, Problem(known.points).values())
    assert (variables > 0).all()
    import numpy as np

    columns = np.exp(np.log(variables) @ np.array(terms_of(3), dtype=float).T)
    true = 3 + 5 * columns[:, 4]
    chosen, coefficients = forward_selection(columns, true, 6)
    assert chosen[:2] == [0, 4]
    assert coefficients[:2] == pytest.approx([3, 5], rel=1e-6)


def test_the_regression_runs_its_best_twenty_after_the_training():
    known = surface()
    search = RegressionSearch(problem_of(known), 1, training=16)
    asked = []
    while (one := search.next()) is not None:
        asked.append(one)
        search.tell(one, median(known.seconds[one]))
    assert len(asked) == 16 + 20


def test_noise_is_drawn_from_the_repeats():
    known = Surface("one", [{}, {"a": "1"}], [[1.0, 2.0, 3.0], [4.0]])
    player = Player(known, 1)
    assert {player.run(0) for _ in range(50)} == {1.0, 2.0, 3.0}
    assert {player.run(1) for _ in range(50)} == {2.0, 4.0, 6.0}
    assert known.headroom == 1.0 and known.score(1) == 0.5


def test_a_surface_without_a_run_is_refused():
    with pytest.raises(ValueError, match="at least one run"):
        Surface("none", [{}, {"a": "1"}], [[1.0], []])
    with pytest.raises(ValueError, match="default"):
        Problem([{"a": "1"}])


def surface_of_two_ways(noise, seed=5):
    """Forty candidates of two ways; the last twenty are twice as fast, and a run of each is noisy.

    Returns the surface and a prior that is sure of the opposite.
    """
    from iotune.models.gains.prior import Prior

    draw = np.random.default_rng(seed)
    points = [{}, *({"cb_nodes": str(one)} for one in range(1, 40))]
    true = np.array([1.0] + [1.0] * 19 + [0.5] * 20)
    seconds = [list(one * np.exp(draw.normal(0, noise, 9))) for one in true]
    mean = np.array([0.0] + [0.1] * 19 + [-1.5] * 20)
    way = np.array([0] * 20 + [1] * 20)
    covariance = 0.3**2 * (0.8 * (way[:, None] == way[None, :]) + 0.2 * np.eye(40))
    covariance[0, :] = covariance[:, 0] = 0.0
    prior = Prior(mean, covariance, 0.03, True, tuple(int(one) for one in way))
    return Surface("two ways", points, seconds, tuple(true)), prior


def test_ours_chooses_a_batch_without_telling_itself_anything():
    surface, prior = surface_of_two_ways(0.02)
    search = make_search("ours", problem_of(surface, prior), 1)
    first = search.next_batch(8)
    assert len(first) == 8 == len(set(first)), "each of a batch looks elsewhere"
    assert not search.seconds and search.next_batch(8) == first
    assert any(one >= 20 for one in first), "one of a batch goes where the model hopes for nothing"


@pytest.mark.parametrize("seed", range(5))
def test_ours_tries_what_the_model_is_wrong_of(seed):
    surface, prior = surface_of_two_ways(0.02)
    scores = play(make_search("ours", problem_of(surface, prior), seed), surface, seed, 12)
    assert scores[-1] > 0.99


def test_ours_sees_that_a_pattern_is_noisier_than_its_platform():
    from iotune.models.search.ours import OurSearch

    surface, prior = surface_of_two_ways(0.3)
    search = OurSearch(problem_of(surface, prior), 1)
    for candidate in (3, 30):
        for seconds in surface.seconds[candidate]:
            search.tell(candidate, seconds)
    search.expected()
    assert search._scales[0] > 2 * prior.noise
