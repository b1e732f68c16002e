"""Drawn programs: iotune finds by arithmetic what the brute force finds pair by pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.installed.brute_force import Judge, judge
from support.installed.drawn_order import draw_trace
from support.installed.order_runs import verdicts_of, with_conflicts
from support.installed.order_steps import read_history


def check(seeds: range, folder: Path) -> None:
    trace = folder / "drawn.iotrace"
    for seed in seeds:
        draw_trace(seed, trace)
        expected = with_conflicts(judge(trace))
        assert with_conflicts(verdicts_of(trace)) == expected, f"seed {seed}"


def test_drawn_programs_have_what_makes_them_hard(tmp_path: Path) -> None:
    # given some of them
    trace = tmp_path / "drawn.iotrace"
    pairs = dict.fromkeys(("pairs", "posix", "commit", "session", "mpiio"), 0)
    kept = dict.fromkeys(pairs, 0)
    names = set()
    for seed in range(60):
        draw_trace(seed, trace)
        history = read_history(trace)
        names |= {step.call for steps in history.steps for step in steps}
        for said in Judge(history).verdicts().values():
            for word, count in said.items():
                pairs[word] += count
                kept[word] += said["pairs"] - count
    # then every model keeps some pairs and not others, and the calls are of many kinds
    assert pairs["posix"] < pairs["commit"] < pairs["session"] < pairs["pairs"]
    assert pairs["posix"] < pairs["mpiio"] < pairs["pairs"]
    assert all(count > 100 for word, count in kept.items() if word != "pairs"), kept
    assert {"MPI_Recv", "MPI_Waitany", "MPI_Testsome", "MPI_Ibarrier", "MPI_Scan",
            "MPI_Comm_split", "MPI_File_sync", "fork"} <= names  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_drawn_programs(part: int, tmp_path: Path) -> None:
    check(range(25 * part, 25 * part + 25), tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(40))
def test_many_drawn_programs(part: int, tmp_path: Path) -> None:
    check(range(1000 + 250 * part, 1250 + 250 * part), tmp_path)
