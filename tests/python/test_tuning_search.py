"""The search of `make bench NAME=tuning`, on times that are drawn and not measured."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import pytest
from iotune.models.candidates import Candidate
from iotune.models.race import most_runs

import bench_safety
import bench_tuning
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
    assert found[0] == "best1"
    assert found[1].value == pytest.approx(0.8, rel=0.01)


def test_rounds_are_added_while_the_intervals_are_wide():
    assert len(final(0.5, default=1.0, hints=1.0, iotune=0.5, **BESTS)) > Enough().fewest
    assert len(final(0.9, default=1.0, hints=1.0, iotune=0.5)) == Enough().most


def test_the_default_is_a_point_of_the_space():
    slower = {name: 2.0 for name in BESTS}
    found = tuning_search.against_best(final(0.001, default=1.0, iotune=1.1, **slower), "iotune")
    assert found is not None
    assert found[0] == "default"
    assert found[1].high < 0.95


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
