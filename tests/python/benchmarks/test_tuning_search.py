"""The search of `make bench NAME=tuning`, on times that are drawn and not measured."""

from __future__ import annotations

import json
import random
import statistics
import sys

import pytest
from iotune.models.measuring.race import most_runs
from iotune.models.settings.candidates import Candidate

from bench import paired
from bench.tuning import (
    bench_safety,
    bench_tuning,
    kept_rounds,
    tuning_cases,
    tuning_search,
    tuning_session,
)
from bench.tuning.tuning_search import AGAIN, BEST, CHOOSING, Clock, Enough

POINTS = [Candidate({"cb_buffer_size": str(1 << number)}) for number in range(AGAIN + 30)]
CLOCK = Clock("drawn", 0.1)


class Storage:
    """Where a run takes its point's seconds, give or take a share."""

    def __init__(self, noise: float) -> None:
        self.noise = noise
        self.runs: list[str] = []

    def measure(self, one: Candidate, limit_seconds: float) -> float:
        self.runs.append(one.text)
        return min(self.arm(1 + POINTS.index(one) / 10), limit_seconds)

    def arm(self, seconds: float) -> float:
        return seconds * random.Random().uniform(1 - self.noise, 1 + self.noise)


class Stopped(Exception):
    """The benchmark was ended."""


def test_every_point_is_measured_and_the_fastest_twice():
    storage = Storage(0.02)
    known: dict[str, list[float]] = {}
    found = tuning_search.search(POINTS, known, storage.measure, lambda: None, CLOCK, 2.0)
    assert set(storage.runs) == {one.text for one in POINTS}
    assert len(storage.runs) == tuning_search.search_runs(len(POINTS)) == len(POINTS) + AGAIN
    assert sorted(map(len, known.values())) == [1] * 30 + [2] * AGAIN
    assert {one.text for one in found[:3]} <= {one.text for one in POINTS[:6]}
    assert all(len(known[one.text]) == 2 for one in found[:BEST])


def test_a_point_far_behind_is_stopped_as_soon_as_that_is_known():
    limits: list[float] = []

    def measure(one: Candidate, limit_seconds: float) -> float:
        limits.append(limit_seconds)
        return min(0.5 if one is POINTS[0] else 100.0, limit_seconds)

    known: dict[str, list[float]] = {}
    found = tuning_search.search(POINTS, known, measure, lambda: None, CLOCK, 2.0)
    hopeless, launch = tuning_search.HOPELESS, tuning_search.LAUNCH_SECONDS
    assert set(limits) <= {launch + hopeless * 2.0, launch + hopeless * 0.5}
    assert limits[-1] == launch + hopeless * 0.5
    assert found[0] is POINTS[0] and known[POINTS[1].text][0] in limits


def test_a_stopped_search_goes_on_where_it_was():
    storage = Storage(0.02)
    known: dict[str, list[float]] = {}
    saved = 0

    def save() -> None:
        nonlocal saved
        saved += 1
        if saved == len(POINTS) + 10:
            raise Stopped

    with pytest.raises(Stopped):
        tuning_search.search(POINTS, known, storage.measure, save, CLOCK, 2.0)
    tuning_search.search(POINTS, known, storage.measure, lambda: None, CLOCK, 2.0)
    assert len(storage.runs) == tuning_search.search_runs(len(POINTS))


def final(noise: float, **seconds: float) -> list[dict[str, float]]:
    storage = Storage(noise)
    rounds: list[dict[str, float]] = []
    arms = {name: (lambda value=value: storage.arm(value)) for name, value in seconds.items()}
    tuning_search.final_rounds(arms, rounds, Enough(), lambda: None, CLOCK)
    return rounds


BESTS = {"best0": 0.6, "best1": 0.4, "best2": 0.5, "best3": 0.9, "best4": 0.9}


def test_rounds_beyond_the_first_are_of_those_that_may_be_best():
    rounds = final(0.001, default=1.0, hints=1.0, iotune=0.5, **BESTS)
    assert len(rounds) == Enough().fewest
    assert all(len(one) == 8 for one in rounds[:CHOOSING])
    assert all(
        set(one) == {"default", "hints", "iotune", "best1", "best2"} for one in rounds[CHOOSING:]
    )
    found = tuning_search.against_best(rounds, "iotune")
    assert found is not None
    assert found[0] == ("best1", "best1")
    assert found[1].value == pytest.approx(0.8, rel=0.01)


def test_rounds_are_added_while_the_intervals_are_wide():
    assert len(final(0.5, default=1.0, hints=1.0, iotune=0.5, **BESTS)) > Enough().fewest
    assert len(final(0.9, default=1.0, hints=1.0, iotune=0.5)) == Enough().most


def test_the_default_is_a_point_of_the_space():
    slower = {name: 2.0 for name in BESTS}
    found = tuning_search.against_best(final(0.001, default=1.0, iotune=1.1, **slower), "iotune")
    assert found is not None
    assert found[0] == ("default", "default")
    assert found[1].high < 0.95


def drawn_rounds(draw: random.Random, iotune: float) -> list[dict[str, float]]:
    arms = ["default", "hints", "iotune", *BESTS]
    rounds = [
        {name: draw.lognormvariate(0, 0.05) * (iotune if name == "iotune" else 1) for name in arms}
        for _ in range(Enough().fewest)
    ]
    kept = tuning_search.contenders(rounds)
    for one in rounds[CHOOSING:]:
        for name in set(BESTS) - set(kept):
            del one[name]
    return rounds


@pytest.mark.parametrize("iotune", [1.0, 1.25])
def test_the_luck_of_the_chosen_best_is_not_held_against_iotune(iotune, monkeypatch):
    monkeypatch.setattr(tuning_search, "RESAMPLES", 1)  # of the value alone
    draw = random.Random(20151115)
    found = [tuning_search.against_best(drawn_rounds(draw, iotune), "iotune") for _ in range(500)]
    values = [one[1].value for one in found if one is not None]
    assert len(values) == 500
    # The mean of 500 has a standard error of 0.001; the best by the rounds that it is compared in
    # would be ahead by 0.015.
    assert statistics.mean(values) * iotune == pytest.approx(1, abs=0.005)


def test_halves_may_differ_in_what_is_best():
    bests = {"best0": 1.0, "best1": 1.0, "best2": 2.0}
    rounds = [{"default": 3.0, "iotune": 1.0, **bests} for _ in range(13)]
    for number, one in enumerate(rounds[CHOOSING:]):
        one["best0" if number % 2 == 0 else "best1"] = 0.5
    found = tuning_search.against_best(rounds, "iotune")
    assert found is not None
    assert found[0] == ("best0", "best1")
    assert found[1].value == found[1].low == 1.0  # not 0.5, which neither is in the other half
    own = {"best": ["a=1", "b=2", "c=3"]}
    assert bench_tuning.best_text(own, found[0]) == "a=1, or b=2"
    assert bench_tuning.best_text(own, ("default", "default")) == "default"


@pytest.mark.parametrize("storage", ["disk", "memory", "cephfs"])
@pytest.mark.parametrize("write", [True, False])
def test_spaces_are_large_enough_and_the_trainer_makes_at_most_a_quarter_of_the_runs(
    storage, write, tmp_path
):
    place = tuning_cases.Storage(storage, tmp_path, "mpirun", 4 if storage == "cephfs" else 2)
    for kernel, words in tuning_cases.KERNELS:
        case = tuning_cases.Case(kernel, words, write, place)
        points = len(bench_tuning.points(case))
        assert points + 1 >= 48, case.name
        rounds, budget = bench_tuning.trainer_options(case)
        assert budget > 0
        assert 4 * (most_runs(budget, rounds) + 2) <= tuning_search.search_runs(points), case.name


def test_what_had_other_flags_is_measured_anew(tmp_path):
    place = tuning_cases.Storage("disk", tmp_path, "mpirun", 2)
    state = tuning_session.State(tmp_path / "state.json")
    small = tuning_cases.Case("vpic-io", ("--particles", "10"), True, place)
    large = tuning_cases.Case("vpic-io", ("--particles", "20"), True, place)
    state.of(small)["final"] = [{"default": 1.0}]
    state.save()
    again = tuning_session.State(tmp_path / "state.json")
    assert again.of(small)["final"] == [{"default": 1.0}]
    assert "final" not in again.of(large)


def test_a_report_beside_a_measurement_leaves_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_rounds, "build_key", lambda build: None)
    monkeypatch.setattr(paired, "clean_up_when_stopped", lambda: None)
    monkeypatch.setattr(tuning_session, "ABSENT", {})
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(tmp_path)])
    measuring = tuning_session.begin(__doc__, report=(0, ""))
    with pytest.raises(SystemExit, match="another benchmark is measuring"):
        tuning_session.begin(__doc__, report=(0, ""))
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(tmp_path), "--report", "1"])
    report = tuning_session.begin(__doc__, report=(0, ""))
    file = tmp_path / "files" / "data.h5"
    file.touch()
    report.close()
    assert file.exists()
    measuring.close()
    assert not file.exists()


def test_rounds_of_another_build_or_answer_are_put_aside(tmp_path):
    # given rounds of a build and an answer
    (tmp_path / "lib").mkdir()
    for name in kept_rounds.LIBRARIES:
        (tmp_path / "lib" / name).write_text(name)
    own: dict = {"trained": {"state": "tuned", "settings": {"cb_nodes": "2"}, "rounds": 7}}

    def key() -> kept_rounds.Key:
        # As JSON gives it back.
        return json.loads(json.dumps(kept_rounds.key_of(kept_rounds.build_key(tmp_path), own)))

    first = key()
    kept_rounds.go_on(own, "safety", first).append({"default": 1.0})
    assert kept_rounds.go_on(own, "safety", key()) == [{"default": 1.0}]
    assert "earlier" not in own
    # when either changes, then nothing of before is gone on with, and nothing is lost
    own["trained"]["settings"] = {"cb_nodes": "1"}
    second = key()
    assert kept_rounds.fitting(own, "safety", second) == []
    kept_rounds.go_on(own, "safety", second).append({"default": 2.0})
    (tmp_path / "lib" / "libiotune-db.so").write_text("another")
    assert kept_rounds.go_on(own, "safety", key()) == []
    assert [one["rounds"] for one in own["earlier"]] == [[{"default": 1.0}], [{"default": 2.0}]]
    assert [one["measured with"] for one in own["earlier"]] == [first, second]
    # and rounds of before there were keys are nobody's
    own["final"] = [{"default": 3.0}]
    assert kept_rounds.go_on(own, "final", key()) == []
    assert own["earlier"][-1]["measured with"] is None
    assert json.loads(json.dumps(own)) == own


def safety_rounds(count: int, spread: float, ratio: float = 1.0) -> list[dict[str, float]]:
    draw = random.Random(7)
    return [
        {
            "default": draw.lognormvariate(0, spread),
            "iotune": ratio * draw.lognormvariate(0, spread),
        }
        for _ in range(count)
    ]


def test_rounds_of_safety_end_at_a_look_alone():
    quiet = safety_rounds(60, 0.005)
    assert [count for count in range(61) if bench_safety.enough(quiet[:count], 60)][0] == 12
    # A wide round after a look changes nothing of what that saw.
    assert bench_safety.enough([*quiet[:12], {"default": 9.0, "iotune": 1.0}], 60)
    wild = safety_rounds(60, 0.3)
    assert [count for count in range(61) if bench_safety.enough(wild[:count], 60)] == [60]
    assert bench_safety.enough(wild[:5], 5)


@pytest.mark.parametrize(
    ("spread", "ratio", "verdict"),
    [(0.01, 1.0, "holds"), (0.01, 1.1, "fails"), (0.3, 1.0, "undecided")],
)
def test_safety_is_judged_by_the_rounds_own_ratios(spread, ratio, verdict):
    table = paired.Table("safety")
    rounds = safety_rounds(28, spread, ratio)
    for one in rounds:
        one |= {arm + bench_safety.WHOLE: one[arm] + 1 for arm in bench_safety.ARMS}
    trained = {"state": "default-is-best", "settings": {}}
    bench_safety.add_rows(table, "case", trained, rounds)
    assert [row.get("verdict") for row in table.rows[:2]] == [None, verdict]
    assert [row["goal"] for row in table.rows] == [None, ">= 0.97"] * 2
    # Too few to have an interval are reported and not judged.
    few = paired.Table("few")
    bench_safety.add_rows(few, "case", trained, rounds[:7])
    assert [row["holds"] for row in few.rows] == [None, None]
