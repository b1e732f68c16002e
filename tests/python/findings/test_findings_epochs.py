"""Epochs that wait for their data: found where storage is slow, and where nothing is read ahead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iotune.findings import findings_of
from iotune.findings.rules import epochs as rule
from iotune.traces.summary import PrefetchOutcome
from support.installed.habits import ids
from support.installed.import_logs import imported

RECORDS, RECORD = 64, 1 << 16
HEAD = "layer,rank,call,file,offset,length,start,duration\n"


def log_of(epochs: int, read_seconds: float, step_seconds: float, same_order: bool = True) -> str:
    """A program that reads a record for each of its steps, all of them in each epoch."""
    lines, at = [HEAD], 0.0
    for epoch in range(epochs):
        factor = 1 if same_order else 2 * epoch + 1  # odd: a permutation
        for n in range(RECORDS):
            offset = n * factor * 5 % RECORDS * RECORD
            lines.append(f"posix,0,pread,/data/train.bin,{offset},{RECORD},{at:.6f},"
                         f"{read_seconds:.6f}\n")  # fmt: skip
            at += read_seconds + step_seconds
    return "".join(lines)


def found(work: Path, text: str) -> list[str]:
    log = work / "log.csv"
    log.write_text(text)
    return ids(findings_of(imported(log, work)[0]))


def test_epochs_that_wait_are_found_with_their_order(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(log_of(3, 0.002, 0.001))
    trace = imported(log, tmp_path)[0]
    one = {each.id: each for each in findings_of(trace).findings}["repeated-epochs"]
    (shown,) = one.evidence
    assert one.severity == "high" and "in the same order" in one.summary
    assert (shown.calls, shown.bytes) == (2 * RECORDS, 2 * RECORDS * RECORD)
    assert shown.seconds == pytest.approx(2 * RECORDS * 0.002, rel=0.01)
    assert shown.file == "/data/train.bin"
    assert any("IOTUNE_PREFETCH=recorded" in each.code for each in one.snippets)


def test_another_order_is_said(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(log_of(3, 0.002, 0.001, same_order=False))
    (summary,) = [
        one.summary
        for one in findings_of(imported(log, tmp_path)[0]).findings
        if one.id == "repeated-epochs"
    ]
    assert "another order each time" in summary


@pytest.mark.parametrize(
    ("epochs", "read_seconds", "step_seconds"),
    [
        pytest.param(1, 0.002, 0.001, id="read once"),
        pytest.param(3, 0.002, 0.02, id="hidden by the steps"),
        pytest.param(3, 0.00002, 0.00001, id="out of memory"),
    ],
)
def test_epochs_that_do_not_wait_are_none(
    tmp_path: Path, epochs: int, read_seconds: float, step_seconds: float
) -> None:
    assert "repeated-epochs" not in found(tmp_path, log_of(epochs, read_seconds, step_seconds))


def test_what_is_read_ahead_already_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = PrefetchOutcome(predictor="recorded", reads=3 * RECORDS, hits=2 * RECORDS)
    monkeypatch.setattr(rule, "prefetched_in_all", lambda run: done)
    assert "repeated-epochs" not in found(tmp_path, log_of(3, 0.002, 0.001))
    monkeypatch.setattr(rule, "prefetched_in_all", lambda run: replace(done, hits=3))
    again = tmp_path / "again"
    again.mkdir()
    assert "repeated-epochs" in found(again, log_of(3, 0.002, 0.001))
