"""Replays of writes through the page cache: long enough, and not slowed by page reporting."""

from __future__ import annotations

import mmap
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from iotune.models.replays import bench as bench_module
from iotune.models.replays import page_cache_timing, warm_pages
from iotune.models.replays.bench import Bench, ReplayBench

from iotune import core
from iotune.replay.replayer import Replayed


def test_short_files_are_written_several_times_over() -> None:
    repeats = map(page_cache_timing.repeats_for, (5.0, 0.3, 0.2, 0.07, 0.001, 0.0))
    assert list(repeats) == [1, 1, 3, 5, 9, 9]


@pytest.mark.parametrize(
    ("filesystem", "moved_bytes", "virtual", "warm"),
    [
        ("ext4", 1 << 30, True, True),
        ("ext4", 1 << 20, True, False),
        ("ext4", 1 << 30, False, False),
        ("tmpfs", 1 << 30, True, False),
        ("cephfs", 1 << 30, True, False),
    ],
)
def test_pages_for_a_disk_are_warmed_where_they_are_reported_to_a_host(
    monkeypatch, filesystem, moved_bytes, virtual, warm
) -> None:
    monkeypatch.setattr(core, "filesystem_of", lambda _: filesystem)
    monkeypatch.setattr(page_cache_timing, "_reports_free_pages", lambda: virtual)
    pace = warm_pages.pace_of(Path("/nowhere"), moved_bytes)
    assert isinstance(pace, warm_pages.WarmPages) == warm


@pytest.mark.parametrize("limit", [None, 1 << 62, 8 << 20])
def test_a_job_of_limited_memory_touches_none(monkeypatch, limit) -> None:
    touched: list[int] = []

    def touch(size_bytes: int) -> mmap.mmap:
        touched.append(size_bytes)
        return mmap.mmap(-1, 4096)

    monkeypatch.setattr(core, "job_limit_bytes", lambda: limit)
    monkeypatch.setattr(warm_pages, "_touched", touch)
    with warm_pages.WarmPages().before_run():
        pass
    (size_bytes,) = touched
    assert (size_bytes == 0) == (limit == 8 << 20) and size_bytes <= 4 << 30


def test_where_no_memory_may_be_had_the_run_does_without() -> None:
    code = (
        "import resource\n"
        "from iotune.models.replays.warm_pages import WarmPages\n"
        "resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))\n"
        "with WarmPages().before_run(): print('ran')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "ran\n", done


class Drawn(Bench):
    """A bench whose replays take the times that are drawn for them."""

    def __init__(self, files: Path, rounds: list[float], prepares: bool = False) -> None:
        plan = SimpleNamespace(prepares=prepares, files=["a", "b"])
        self.replay: Any = SimpleNamespace(plan=plan, own=[1], own_names=frozenset(["b"]))
        self.case: Any = SimpleNamespace(file="")
        self.files, self.options, self.drawn = files, [], rounds
        self.file_seconds = {}
        self.asked: list[list[str]] = []

    def demand_same_stack(self) -> None:
        """Nothing is run: there is no trace."""

    def replayed(self, name: str, config: str, limit_seconds: float) -> float:
        self.asked.append(list(self.options))
        one = statistics.median(self.drawn)
        result = Replayed(1, sum(self.drawn), 2, self.drawn, [one / 4, one * 3 / 4])
        return self.seconds_of(name, result)


def test_a_run_repeats_its_files_by_the_shortest_of_the_first_rounds(monkeypatch, tmp_path) -> None:
    # given a first round that finds everything cold
    monkeypatch.setattr(core, "filesystem_of", lambda _: "ext4")
    bench = Drawn(tmp_path, [0.6, 0.05, 0.06])
    # when
    bench.settle()
    # then
    assert bench.asked == [["--repeat", "3"]]
    assert bench.options == ["--repeat", "7"]
    # and what is reported is one round's part of the case's own files
    bench.drawn = [0.04, 0.08]
    assert bench.replayed("c0", "", 1.0) == pytest.approx(0.06 * 3 / 4)
    assert bench.file_seconds["c0"] == [pytest.approx([0.015, 0.045])]


@pytest.mark.parametrize("rounds", [[0.3, 0.35, 0.4]])
def test_a_run_that_is_long_enough_is_not_repeated(monkeypatch, tmp_path, rounds) -> None:
    monkeypatch.setattr(core, "filesystem_of", lambda _: "ext4")
    bench = Drawn(tmp_path, rounds)
    bench.settle()
    assert bench.options == []


def test_files_on_striped_storage_are_written_once(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(core, "filesystem_of", lambda _: "cephfs")
    bench = Drawn(tmp_path, [0.01])
    bench.settle()
    assert (bench.asked, bench.options) == ([[]], [])


def test_files_that_are_read_are_not_repeated_for_they_would_be_in_memory(tmp_path) -> None:
    bench = Drawn(tmp_path, [0.01], prepares=True)
    bench.options = ["--prepare"]
    bench.settle()
    assert bench.options == ["--prepare"]


def test_replays_keep_the_pause(monkeypatch, tmp_path) -> None:
    # given replays of half a second
    now, begun = [100.0], []

    def run_plan(*_: object) -> Replayed:
        begun.append(now[0])
        now[0] += 0.5
        return Replayed(1, 0.5, 1, [0.5], [0.5])

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(bench_module, "run_plan", run_plan)
    monkeypatch.setattr(bench_module, "preload_environment", lambda *_: {})
    monkeypatch.setattr(bench_module, "collect_run", lambda *_, **__: None)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    bench = Drawn(tmp_path, [])
    bench.replay.plan.files = ["a"]
    bench.replay.own = [0]
    bench.scratch = tmp_path
    bench.preload, bench.ranks, bench.services = "", 1, {}
    bench.pace = page_cache_timing.Pause(2.3)
    bench.mpi = bench.replayer = bench.plan = None  # type: ignore[assignment]
    for _ in range(3):
        ReplayBench.replayed(bench, "default", "", 10.0)
    assert begun == pytest.approx([100, 102.8, 105.6])
