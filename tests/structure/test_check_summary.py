"""NOT VERIFIED: counted by `make check`, an error of `make soak`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.repository import ROOT, TESTS

PASSED = "<testcase name='a'><system-out>all well</system-out></testcase>"
PRINTED = "<testcase name='b'><system-out>x\nNOT VERIFIED: no Slurm\n</system-out></testcase>"
SKIPPED = "<testcase name='c'><skipped message='Skipped: NOT VERIFIED: no root'/></testcase>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ctest.xml").write_text(f"<testsuite>{PASSED}</testsuite>")
    return tmp_path


def summary(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    script = ROOT / "tools" / "check_summary.py"
    return subprocess.run(
        [sys.executable, str(script), str(folder), *map(str, words)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def add_unverified(folder: Path) -> None:
    (folder / "more.xml").write_text(f"<testsuite>{PRINTED}{SKIPPED}</testsuite>")
    (folder / "fuzz.log").write_text("fuzzing\nNOT VERIFIED: no clang++\n")


def test_check_counts_what_is_not_verified_and_passes(folder: Path) -> None:
    add_unverified(folder)
    done = summary(folder)
    assert done.returncode == 0, done.stdout
    assert "  3 NOT VERIFIED\n" in done.stdout and "ERROR" not in done.stdout
    assert "    more: b: NOT VERIFIED: no Slurm\n" in done.stdout
    assert "    fuzz: NOT VERIFIED: no clang++\n" in done.stdout


def test_soak_fails_with_what_is_not_verified(folder: Path) -> None:
    accepted = TESTS / "not_verifiable.txt"
    assert summary(folder, "--all-but", accepted).returncode == 0
    add_unverified(folder)
    done = summary(folder, "--all-but", accepted)
    assert done.returncode == 1, done.stdout
    for line in ("more: b: NOT VERIFIED: no Slurm", "more: c: NOT VERIFIED: no root"):
        assert f"    ERROR {line}\n" in done.stdout
    assert "  3 of them had to be verified here" in done.stdout


def test_soak_accepts_what_is_listed_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    add_unverified(folder)
    accepted = tmp_path / "accepted.txt"
    accepted.write_text("# no such machine\nmore: ?: NOT VERIFIED: no *\n")
    done = summary(folder, "--all-but", accepted)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if "ERROR" in line] == [
        "    ERROR fuzz: NOT VERIFIED: no clang++"
    ]
    accepted.write_text("*\n")
    assert summary(folder, "--all-but", accepted).returncode == 0


def test_nothing_is_accepted_without_a_reason() -> None:
    lines = (TESTS / "not_verifiable.txt").read_text().splitlines()
    for before, line in zip(["", *lines], lines):
        assert line.startswith("#") or before.startswith("#"), line


def test_what_failed_is_named_with_a_line_of_why(folder: Path) -> None:
    failures = (
        "<testcase classname='tests.x' name='d'>"
        "<failure message='AssertionError: assert 1 == 2&#10;more'>text</failure></testcase>"
        "<testcase classname='e' name='e'><failure message=''/>"
        "<system-out>began\nexpected 3 calls, saw 4\n</system-out></testcase>"
    )
    (folder / "python.xml").write_text(f"<testsuite>{failures}</testsuite>")
    (folder / "cut.xml").write_text("<testsuite>")
    done = summary(folder)
    assert done.returncode == 1
    assert "  3 FAILED\n" in done.stdout and "3 failed" in done.stdout
    assert "    python: tests.x: d: AssertionError: assert 1 == 2\n" in done.stdout
    assert "    python: e: e: expected 3 calls, saw 4\n" in done.stdout
    assert "cut.xml: cannot be read: " in done.stdout
