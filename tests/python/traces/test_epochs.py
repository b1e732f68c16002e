"""Workers and epochs: what `iotune show` tells of programs that read their data again and again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from iotune import core
from iotune.analysis.epochs import Reads, epochs_of, find_epochs, outermost_reads
from iotune.analysis.worker_processes import worker_groups
from support.installed.habits import needs_the_library
from support.installed.json_schemas import conforming
from support.preloaded import plain_environment
from support.repository import COMPANIONS, program_source

SAMPLES = 64
TORCH = COMPANIONS / "torch" / "bin" / "python"


def reads_of(extents: Sequence[int], processes: Sequence[int] | None = None) -> Reads:
    """One read of 100 bytes a microsecond."""
    count = len(extents)
    return Reads(
        np.array(extents, np.int64),
        np.array(processes if processes is not None else [0] * count, np.int32),
        np.arange(count, dtype=np.int64) * 1000,
        np.full(count, 500, np.int64),
        np.full(count, 100, np.int64),
    )


def shuffled(seed: int, count: int = SAMPLES) -> list[int]:
    return [int(one) for one in np.random.default_rng(seed).permutation(count)]


def test_each_pass_is_an_epoch_and_says_whether_its_order_is_known() -> None:
    # given: three orders, the last of which is repeated
    extents = [*shuffled(1), *shuffled(2), *shuffled(2)]
    # when
    epochs = epochs_of(reads_of(extents))
    # then
    assert [one.number for one in epochs] == [1, 2, 3]
    assert [one.reads for one in epochs] == [SAMPLES] * 3
    assert [one.bytes for one in epochs] == [100 * SAMPLES] * 3
    assert [one.repeats_order for one in epochs] == [None, False, True]
    assert epochs[1].start_seconds == pytest.approx(SAMPLES * 1e-6)
    assert epochs[2].read_seconds == pytest.approx(SAMPLES * 0.5e-6)


def test_an_epoch_that_reads_each_extent_several_times_is_one() -> None:
    # Samples that share a chunk: each chunk is read three times an epoch, in any order.
    one = [chunk for chunk in range(SAMPLES) for _ in range(3)]
    other = [int(at) for at in np.random.default_rng(3).permutation(np.array(one))]
    epochs = epochs_of(reads_of([*one, *other]))
    assert [epoch.reads for epoch in epochs] == [3 * SAMPLES] * 2


def test_a_last_epoch_that_was_cut_short_counts() -> None:
    epochs = epochs_of(reads_of([*shuffled(1), *shuffled(2), *shuffled(3)[:20]]))
    assert [one.reads for one in epochs] == [SAMPLES, SAMPLES, 20]


def test_what_each_worker_reads_of_the_metadata_disturbs_nothing() -> None:
    header = [SAMPLES, SAMPLES, SAMPLES]
    extents = [*header, *shuffled(1), *header, *shuffled(2)]
    assert [one.reads for one in epochs_of(reads_of(extents))] == [SAMPLES + 3] * 2


@pytest.mark.parametrize(
    "extents",
    [
        pytest.param(list(range(SAMPLES)), id="once"),
        pytest.param([0, 1, 2, 3] * 20, id="a small table"),
        pytest.param([at for at in range(SAMPLES) for _ in range(2)], id="each twice in a row"),
        pytest.param([*range(SAMPLES), *range(8)], id="a look back"),
        pytest.param([*range(1000), *shuffled(1), *shuffled(2)], id="mostly read once"),
    ],
)
def test_other_reads_are_no_epochs(extents: list[int]) -> None:
    assert epochs_of(reads_of(extents)) == []


def test_two_processes_have_an_order_each() -> None:
    # given: how the two take turns differs, each one's order does not
    first = [(at, at % 2) for at in range(SAMPLES)]
    second = [*first[::2], *first[1::2]]
    extents, processes = zip(*first, *second)
    # then
    epochs = epochs_of(reads_of(extents, processes))
    assert [one.repeats_order for one in epochs] == [None, True]
    assert [one.processes for one in epochs] == [2, 2]


def run_recorded(work: Path, command: Sequence[object], **environment: str) -> Path:
    trace = work / "run.iotrace"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "iotune", "run", "--mode", "record", "-o", str(trace), "--"),
            *map(str, command),
        ],
        cwd=work,
        env=plain_environment() | {"XDG_STATE_HOME": str(work), "IOTUNE_DB": "none"} | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return trace


def show(trace: Path, *words: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "iotune", "show", str(trace), *words],
        env=plain_environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout, done.stderr


@needs_the_library
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("end", ["return", "exit", "kill", "term"])
def test_workers_are_recorded_however_they_end(tmp_path: Path, method: str, end: str) -> None:
    # given
    program = program_source("epoch_workers.py")
    trace = run_recorded(tmp_path, [sys.executable, program, method, end, 4, tmp_path / "data.bin"])
    # when
    reads = outermost_reads(trace)
    epochs = find_epochs(trace)
    # then: nothing of what they read is lost
    assert reads is not None
    assert [one.reads for one in epochs] == [SAMPLES] * 4
    assert [one.processes for one in epochs] == [2] * 4
    assert [one.repeats_order for one in epochs] == [None, False, False, True]
    (group,) = worker_groups(core.processes(trace), reads)
    assert (group.count, group.bytes) == (8, 4 * SAMPLES * 4096)
    assert group.at_once <= 2
    # and they count as dead only where a signal took them that no process of the run sent as usual
    shown, warned = show(trace)
    assert f"8 workers of process {group.parent}" in shown
    assert "4 epochs" in shown
    # and programs read the same
    said = conforming("show", show(trace, "--json")[0])
    (workers,) = said["workers"]
    assert (workers["parent"], workers["count"]) == (group.parent, 8)
    assert workers["processes"] == list(group.processes)
    assert [one["reads"] for one in said["epochs"]] == [SAMPLES] * 4
    assert [one["repeats_order"] for one in said["epochs"]] == [None, False, False, True]
    assert [one["seconds"] for one in said["epochs"]] == [one.seconds for one in epochs]
    assert ("ended early" in warned) == (end == "kill")
    assert ("ended by SIGTERM, as pools end theirs" in shown) == (end == "term")


def test_what_a_shell_starts_are_no_workers() -> None:
    # given: a shell that starts sed twice, which starts itself once
    def process(pid: int, parent: int, program: str) -> dict[str, object]:
        return {"pid": pid, "parent": parent, "program": program, "rank": -1, "host": "here"}

    sed = "/usr/bin/sed"
    processes = [process(10, 1, "/usr/bin/dash"), process(11, 10, sed), process(12, 10, sed),
                 process(13, 12, sed)]  # fmt: skip
    each = np.arange(4)
    reads = Reads(each, each, each * 100, each + 10, each * 1000)
    # when
    (group,) = worker_groups(processes, reads)
    # then
    assert (group.parent, group.processes, group.bytes) == (12, (3,), 3000)


@needs_the_library
@pytest.mark.skipif(
    not TORCH.exists(), reason="NOT VERIFIED: DataLoader: no PyTorch here (tools/setup.sh torch)"
)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("h5py", ["--workers", "0"]),
        ("h5py", ["--workers", "2", "--context", "spawn"]),
        ("zarr", ["--workers", "2", "--context", "fork"]),
        ("npy", ["--workers", "2", "--persistent"]),
        ("tar", ["--workers", "2"]),
    ],
)
def test_a_data_loader(tmp_path: Path, kind: str, words: list[str]) -> None:
    # given
    program = program_source("dataloader_reader.py")
    folder = tmp_path / "data"
    subprocess.run([TORCH, program, kind, folder, "make"], check=True, env=plain_environment())
    # when
    trace = run_recorded(
        tmp_path, [TORCH, program, kind, folder, "--epochs", 3, *words], PYTHONWARNINGS="ignore"
    )
    # then
    epochs = find_epochs(trace)
    assert len(epochs) == 3
    assert min(one.bytes for one in epochs) >= 0.95 * max(one.bytes for one in epochs)
    workers = 0 if words[1] == "0" else 2
    assert {one.processes for one in epochs} == {max(workers, 1)}
    shown, warned = show(trace)
    count = workers if "--persistent" in words else 3 * workers
    assert (f"{count} workers of process" in shown) == (workers > 0)
    assert "ended early" not in warned
