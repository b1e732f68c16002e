"""The noise of a platform sets how often candidates run."""

import math
import random

from iotune.models.measuring.noise import FEWEST_ROUNDS, MOST_ROUNDS, Noise, noise_of
from iotune.models.survey.trials import Subject, Surface, Trial


def noise(spread, heavy=False, seed=1):
    draw = random.Random(seed)
    times = [draw.gauss(0, spread) for _ in range(2000)]
    if heavy:
        times = [one + (draw.paretovariate(1.5) if draw.random() < 0.05 else 0) for one in times]
    return Noise(tuple(sorted(times)))


def test_more_noise_needs_more_rounds():
    rounds = [noise(spread).rounds() for spread in (0.005, 0.03, 0.08, 0.3)]
    assert rounds == sorted(rounds)
    assert rounds[0] == FEWEST_ROUNDS and rounds[-1] == MOST_ROUNDS


def test_the_rounds_find_the_gain_that_was_asked_for():
    one = noise(0.04)
    rounds, draw = one.rounds(), random.Random(7)
    found = sum(one._is_found(draw, rounds, 1.10) for _ in range(500)) / 500
    less = sum(one._is_found(draw, rounds - 1, 1.10) for _ in range(500)) / 500
    assert found > 0.85 and (rounds == FEWEST_ROUNDS or less < found)


def test_a_heavy_tail_is_reported():
    assert not noise(0.05).is_heavy_tailed
    assert noise(0.05, heavy=True).is_heavy_tailed
    assert "heavy tail" in noise(0.05, heavy=True).text()
    # It moves the spread of the middle little.
    assert noise(0.05, heavy=True).spread < 0.06


def test_it_is_read_from_the_defaults_of_replays():
    draw = random.Random(3)
    surface = Surface(Subject("one", {}, {}, {}))
    for batch in range(200):
        level = draw.uniform(1, 2)
        times = tuple(level * math.exp(draw.gauss(0, 0.05)) for _ in range(3))
        surface.trials += [Trial("a=1", 1.0, times, batch), Trial("b=1", 1.0, times, batch)]
    found = noise_of([surface])
    assert found is not None
    assert len(found.residuals) == 400
    assert 0.035 < found.spread < 0.065
    assert noise_of([Surface(surface.subject, surface.trials[:20])]) is None
