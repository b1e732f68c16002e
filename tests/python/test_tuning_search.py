"""The search of `make bench NAME=tuning`, on times that are drawn and not measured."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import time
from pathlib import Path

import pytest
from iotune.models.candidates import Candidate
from iotune.models.race import most_runs

import bench_safety
import bench_tuning
import kept_rounds
import paired
import tuning_cases
import tuning_search
from tuning_search import AGAIN, BEST, CHOOSING, Clock, Enough

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
    state = tuning_cases.State(tmp_path / "state.json")
    small = tuning_cases.Case("vpic-io", ("--particles", "10"), True, place)
    large = tuning_cases.Case("vpic-io", ("--particles", "20"), True, place)
    state.of(small)["final"] = [{"default": 1.0}]
    state.save()
    again = tuning_cases.State(tmp_path / "state.json")
    assert again.of(small)["final"] == [{"default": 1.0}]
    assert "final" not in again.of(large)


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
    # Too few to have an interval are told and not judged.
    few = paired.Table("few")
    bench_safety.add_rows(few, "case", trained, rounds[:7])
    assert [row["holds"] for row in few.rows] == [None, None]


class Steps:
    """Arms whose files take `first` seconds, and `later` each where there are many."""

    def __init__(
        self, first: float, later: float, room: int, write: bool = False, rereads: bool = True
    ) -> None:
        place = tuning_cases.Storage("memory", Path("/nowhere"), "mpirun", 2, rereads=rereads)
        self.case = tuning_cases.Case("vpic-io", (), write, place)
        self.steps = self.passes = 1
        self.first, self.later, self.most = first, later, room
        self.asked: list[int] = []

    def default(self) -> float:
        return self.first if self.steps == 1 else self.later * self.steps

    def room(self) -> int:
        return self.most

    def lengthen(self, steps: int, settings: object) -> None:
        self.asked.append(steps)
        self.steps = steps


def test_a_run_of_safety_is_as_long_as_asked_or_as_there_is_room():
    faster = Steps(1.0, 0.25, 100)
    assert bench_safety.lengthen(faster, 2.0, {}) == faster.steps == 9  # type: ignore[arg-type]
    assert faster.asked == [3, 9]
    assert faster.passes == 1
    long = Steps(3.0, 3.0, 100)
    assert bench_safety.lengthen(long, 2.0, {}) == long.passes == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(("write", "rereads", "passes"), [(0, 1, 2), (1, 1, 1), (0, 0, 1)])
def test_where_room_ends_files_in_memory_are_read_again(write, rereads, passes):
    full = Steps(1.0, 0.25, 5, bool(write), bool(rereads))
    assert bench_safety.lengthen(full, 2.0, {}) == 5  # type: ignore[arg-type]
    assert full.passes == passes  # 1.25 s a pass


def test_a_client_that_tells_no_room_is_not_full(tmp_path, monkeypatch):
    place = tuning_cases.Storage("disk", tmp_path, "mpirun", 2)
    arms = tuning_cases.Arms(tuning_cases.Case("vpic-io", (), True, place), tmp_path, tmp_path)
    (arms.plain / "data.h5").write_bytes(bytes(1000))
    usage = {"total": 0, "used": 0, "free": 0}
    monkeypatch.setattr("shutil.disk_usage", lambda _: tuple(usage.values()))
    assert arms.room() > 10**6
    usage |= {"total": 100_000, "free": 7_000}
    assert arms.room() == 4  # half of what is free but for them


def test_who_lays_out_longer_runs_files_has_seen_some_before(tmp_path, monkeypatch):
    # given a read of files that iotune's answer for the write lays out
    place = tuning_cases.Storage("cephfs", tmp_path, "mpirun", 4)
    case = tuning_cases.Case("vpic-io", (), False, place)
    answers = tmp_path / "answers"
    answers.mkdir()
    arms = tuning_cases.Arms(case, tmp_path, tmp_path / "home", answers)
    written: list[tuple[str, int]] = []

    def kernel(env: object, write: bool, folder: Path | None = None) -> float:
        written.append(((folder or arms.plain).name, arms.steps))
        assert write
        return 1.0

    monkeypatch.setattr(arms, "kernel", kernel)
    monkeypatch.setattr(arms, "iotune", lambda: 1.0)
    monkeypatch.setattr(arms, "wanted", lambda: {})
    # when runs get other names, and when they do not
    arms.lengthen(2, {})
    longer, written[:] = list(written), []
    arms.lengthen(1, {})
    # then
    assert longer == [("placed", 2), ("plain", 2), ("placed", 2)]
    assert written == []


@pytest.mark.parametrize("storage", ["disk", "cephfs"])
def test_a_local_file_is_replaced_by_the_run_itself(tmp_path, monkeypatch, storage):
    place = tuning_cases.Storage(storage, tmp_path, "mpirun", 2)
    arms = tuning_cases.Arms(tuning_cases.Case("vpic-io", (), True, place), tmp_path, tmp_path)
    old = arms.plain / "data.h5"
    old.write_bytes(b"old")
    seen: list[tuple[bool, bool]] = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        seen.append((old.exists(), "--fresh" in command))
        return subprocess.CompletedProcess(command, 0, '{"seconds": 1}', "")

    monkeypatch.setattr(tuning_cases, "run_limited", run)
    assert arms.default() == 1
    assert seen == [(True, True) if storage == "disk" else (False, False)]


@pytest.mark.parametrize("paced", [True, False])
def test_writes_keep_their_pace_where_the_storage_asks_for_it(tmp_path, monkeypatch, paced):
    place = tuning_cases.Storage("disk", tmp_path, "mpirun", 2, paced)
    arms = tuning_cases.Arms(tuning_cases.Case("vpic-io", (), True, place), tmp_path, tmp_path)
    now = [100.0]
    begun: list[float] = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        begun.append(now[0])
        now[0] += 0.5 if len(begun) < 3 else 5.0
        return subprocess.CompletedProcess(command, 0, '{"seconds": 1}', "")

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(tuning_cases, "run_limited", run)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    for _ in range(4):
        arms.default()
    # then a long run is followed at once
    assert begun == pytest.approx([100, 102.3, 104.6, 109.6] if paced else [100, 100.5, 101, 106])
    # and who reads waits for nobody
    reading = tuning_cases.Case("vpic-io", (), False, place)
    arms = tuning_cases.Arms(reading, tmp_path, tmp_path / "reads")
    arms.default()
    arms.default()
    assert begun[-1] - begun[-2] == pytest.approx(5)


def test_longer_runs_leave_no_files_of_other_names(tmp_path, monkeypatch):
    place = tuning_cases.Storage("disk", tmp_path, "mpirun", 2)
    arms = tuning_cases.Arms(tuning_cases.Case("vpic-io", (), True, place), tmp_path, tmp_path)
    monkeypatch.setattr(tuning_cases.Arms, "iotune", lambda _: 1.0)
    monkeypatch.setattr(tuning_cases.Arms, "wanted", lambda _: {})
    alone = [folder / "data.h5" for folder in (arms.plain, arms.own)]
    beside = arms.plain / "notes.txt"
    for path in (*alone, beside):
        path.write_text("old")
    arms.lengthen(1, {})
    assert all(path.exists() for path in alone)
    arms.lengthen(3, {})
    assert not any(path.exists() for path in alone)
    assert beside.exists()
