"""How arms of `make bench NAME=tuning` and `NAME=safety` are run: files, passes, pace."""

from __future__ import annotations

import mmap
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from iotune.models.replays import warm_pages

from bench.tuning import tuning_arms
from bench.tuning.tuning_arms import Arms
from bench.tuning.tuning_cases import Case, Storage


class Steps:
    """Arms whose files take `first` seconds, and `later` each where there are many."""

    def __init__(
        self,
        first: float,
        later: float,
        room: int,
        write: bool = False,
        rereads: bool = True,
        paced: bool = False,
    ) -> None:
        place = Storage("memory", Path("/nowhere"), "mpirun", 2, paced, rereads)
        self.case = Case("vpic-io", (), write, place)
        self.steps = self.passes = 1
        self.first, self.later, self.most = first, later, room
        self.asked: list[int] = []

    def default(self) -> float:
        return self.first if self.steps == 1 else self.later * self.steps

    def room(self, warm: bool = False) -> int:
        return self.most

    def lengthen(self, steps: int, settings: object) -> None:
        self.asked.append(steps)
        self.steps = steps


def test_a_run_of_safety_is_as_long_as_asked_or_as_there_is_room():
    faster = Steps(1.0, 0.25, 100)
    Arms.last(faster, 2.0, {})  # type: ignore[arg-type]
    assert faster.asked == [3, 9]
    assert (faster.steps, faster.passes) == (9, 1)
    long = Steps(3.0, 3.0, 100)
    Arms.last(long, 2.0, {})  # type: ignore[arg-type]
    assert (long.steps, long.passes) == (1, 1)


@pytest.mark.parametrize(
    ("write", "rereads", "paced", "passes"),
    [(0, 1, 0, 2), (1, 1, 0, 1), (0, 0, 0, 1), (1, 0, 1, 1), (0, 0, 1, 1)],
)
def test_where_room_ends_files_in_memory_are_read_again(write, rereads, paced, passes):
    full = Steps(1.0, 0.25, 5, bool(write), bool(rereads), bool(paced))
    Arms.last(full, 2.0, {})  # type: ignore[arg-type]
    assert (full.steps, full.passes) == (5, passes)  # 1.25 s a pass


def test_a_client_that_tells_no_room_is_not_full(tmp_path, monkeypatch):
    place = Storage("disk", tmp_path, "mpirun", 2)
    arms = Arms(Case("vpic-io", (), True, place), tmp_path, tmp_path)
    (arms.plain / "data.h5").write_bytes(bytes(1000))
    usage = {"total": 0, "used": 0, "free": 0}
    monkeypatch.setattr("shutil.disk_usage", lambda _: tuple(usage.values()))
    assert arms.room() > 10**6
    usage |= {"total": 100_000, "free": 7_000}
    assert arms.room() == 4  # half of what is free but for them
    # and where writes are paced it ends before the kernel writes them out
    monkeypatch.setattr(tuning_arms, "_left_unwritten_bytes", lambda: 6_000)
    assert arms.room() == 4
    paced = replace(place, paced=True)
    arms = Arms(Case("vpic-io", (), True, paced), tmp_path, tmp_path)
    (arms.plain / "data.h5").write_bytes(bytes(1000))
    assert arms.room() == 3
    arms = Arms(Case("vpic-io", (), False, paced), tmp_path, tmp_path)
    (arms.plain / "data.h5").write_bytes(bytes(1000))
    assert arms.room() == 4


def test_what_the_kernel_leaves_unwritten_is_known():
    assert tuning_arms._left_unwritten_bytes() > 1 << 20


def test_only_the_direction_that_is_measured_has_passes(tmp_path, monkeypatch):
    # given a read of files three times over
    place = Storage("memory", tmp_path, "mpirun", 2, rereads=True)
    arms = Arms(Case("vpic-io", (), False, place), tmp_path, tmp_path)
    arms.passes = 3
    seen: list[list[str]] = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 0, '{"seconds": 1}', "")

    monkeypatch.setattr(tuning_arms, "run_limited", run)
    # when they are made and read
    arms.prepare()
    arms.default()
    # then
    assert ["--passes" in command for command in seen] == [False, True]


@pytest.mark.parametrize(
    ("kernel", "flags"),
    [("vpic-io", ["--steps", "2", "--passes", "3"]), ("gcrm-io", ["--steps", "6"])],
)
def test_datasets_named_by_the_step_keep_their_file(tmp_path, monkeypatch, kernel, flags):
    place = Storage("memory", tmp_path, "mpirun", 2, rereads=True)
    arms = Arms(Case(kernel, (), False, place), tmp_path, tmp_path)
    arms.steps, arms.passes = 2, 3
    for step in range(2):
        (arms.plain / f"data{step:05}.h5").write_text("old")
    seen: list[list[str]] = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 0, '{"seconds": 1}', "")

    monkeypatch.setattr(tuning_arms, "run_limited", run)
    arms.default()
    assert seen[0][-len(flags) :] == flags


def test_who_lays_out_longer_runs_files_has_seen_some_before(tmp_path, monkeypatch):
    # given a read of files that iotune's answer for the write lays out
    place = Storage("cephfs", tmp_path, "mpirun", 4)
    case = Case("vpic-io", (), False, place)
    answers = tmp_path / "answers"
    answers.mkdir()
    arms = Arms(case, tmp_path, tmp_path / "home", answers)
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
    place = Storage(storage, tmp_path, "mpirun", 2)
    arms = Arms(Case("vpic-io", (), True, place), tmp_path, tmp_path)
    old = arms.plain / "data.h5"
    old.write_bytes(b"old")
    seen: list[tuple[bool, bool]] = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        seen.append((old.exists(), "--fresh" in command))
        return subprocess.CompletedProcess(command, 0, '{"seconds": 1}', "")

    monkeypatch.setattr(tuning_arms, "run_limited", run)
    assert arms.default() == 1
    assert seen == [(True, True) if storage == "disk" else (False, False)]


@pytest.mark.parametrize("paced", [True, False])
def test_runs_keep_their_pace_where_the_storage_asks_for_it(tmp_path, monkeypatch, paced):
    place = Storage("disk", tmp_path, "mpirun", 2, paced)
    arms = Arms(Case("vpic-io", (), True, place), tmp_path, tmp_path)
    now = [100.0]
    begun: list[float] = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        begun.append(now[0])
        now[0] += 0.5 if len(begun) < 3 else 5.0
        return subprocess.CompletedProcess(command, 0, '{"seconds": 1}', "")

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(tuning_arms, "run_limited", run)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(warm_pages, "_MOST_BYTES", 1 << 20)
    for _ in range(4):
        arms.default()
    # then each waits for what the one before has freed
    assert begun == pytest.approx([100, 102.8, 105.6, 112.9] if paced else [100, 100.5, 101, 106])
    # and so do those that read
    reading = Case("vpic-io", (), False, place)
    arms = Arms(reading, tmp_path, tmp_path / "reads")
    arms.default()
    arms.default()
    assert begun[-1] - begun[-2] == pytest.approx(7.3 if paced else 5)


def test_warm_pages_are_free_when_the_run_begins(monkeypatch):
    monkeypatch.setattr(warm_pages, "_MOST_BYTES", 64 << 20)
    touched: list[tuple[int, mmap.mmap]] = []

    def touch(size_bytes: int) -> mmap.mmap:
        held = _touched(size_bytes)
        touched.append((_resident_bytes() - before, held))
        return held

    _touched = warm_pages._touched
    monkeypatch.setattr(warm_pages, "_touched", touch)
    before = _resident_bytes()
    with warm_pages.WarmPages().before_run():
        ((resident_bytes, held),) = touched
        assert resident_bytes >= 60 << 20
        assert held.closed


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("paced", [True, False])
def test_reads_of_a_disk_are_no_longer_than_its_pages_are_warm(tmp_path, paced):
    place = Storage("disk", tmp_path, "mpirun", 2, paced)
    arms = Arms(Case("vpic-io", (), False, place), tmp_path, tmp_path)
    with (arms.plain / "data.h5").open("wb") as file:
        file.truncate(tuning_arms.WARM_BYTES // 3)
    assert (arms.room(warm=True) == 3) == paced
    assert arms.room() > 3


def test_longer_runs_leave_no_files_of_other_names(tmp_path, monkeypatch):
    place = Storage("disk", tmp_path, "mpirun", 2)
    arms = Arms(Case("vpic-io", (), True, place), tmp_path, tmp_path)
    monkeypatch.setattr(Arms, "iotune", lambda _: 1.0)
    monkeypatch.setattr(Arms, "wanted", lambda _: {})
    alone = [folder / "data.h5" for folder in (arms.plain, arms.own)]
    beside = arms.plain / "notes.txt"
    for path in (*alone, beside):
        path.write_text("old")
    arms.lengthen(1, {})
    assert all(path.exists() for path in alone)
    arms.lengthen(3, {})
    assert not any(path.exists() for path in alone)
    assert beside.exists()


def test_each_pass_reads_the_files_under_names_of_its_own(tmp_path):
    for name in ("data_chk00000.h5", "data_chk00001.h5", "data_plt00000.h5", "data_plt00001.h5"):
        (tmp_path / name).write_text(name)
    tuning_arms.name_for_each_pass(tmp_path, 2, 3)
    tuning_arms.name_for_each_pass(tmp_path, 2, 3)  # each run does
    names = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert names == {
        f"data_{kind}{number:05}.h5": f"data_{kind}{number % 2:05}.h5"
        for kind in ("chk", "plt")
        for number in range(6)
    }
    assert (tmp_path / "data_chk00004.h5").samefile(tmp_path / "data_chk00000.h5")
