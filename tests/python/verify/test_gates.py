"""What `iotune verify` found decides what may relax a program's order later on."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.installed.order_runs import compiled_programs, iotune, recorded
from support.mpis import Mpi, find_mpi

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def mpi() -> Mpi:
    found = find_mpi("mpich-4")
    if found is None:
        pytest.skip("NOT VERIFIED: mpich-4 is not here")
    return found


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    return compiled_programs(mpi, ["sync_barrier_sync"], folder)["sync_barrier_sync"]


@pytest.mark.parametrize("form", ["race", "ordered"])
def test_the_log_store_asks_what_was_verified(
    form: str, mpi: Mpi, program: Path, tmp_path: Path
) -> None:
    # given a verified run
    trace, shared = recorded(mpi, 2, program, form, tmp_path)
    answer = iotune(tmp_path, "verify", "--for", "logstore", trace, status=None)
    # then the exit status and the first word are the answer
    assert answer.returncode == (1 if form == "race" else 0), (answer.stdout, answer.stderr)
    assert answer.stdout.startswith("no: logstore keeps MPI-IO" if form == "race" else "yes: ")
    # and a run with the log store says so first, and is left alone where it needs more
    shared.unlink()
    again = iotune(tmp_path, "run", "--logstore", tmp_path, "--", mpi.launcher, "-n", 2, program,
                   form, shared)  # fmt: skip
    if form == "race":
        assert "log store refused: " in again.stderr and "shared.bin" in again.stderr
    else:
        assert "log store verified: " in again.stderr
    assert shared.is_file()


def test_without_order_nothing_is_known(mpi: Mpi, program: Path, tmp_path: Path) -> None:
    # given a run whose order was not recorded
    shared, trace = tmp_path / "shared.bin", tmp_path / "run.iotrace"
    run = [mpi.launcher, "-n", 2, program, "ordered", shared]
    iotune(tmp_path, "run", "--mode", "record", "-o", trace, "--", *run)
    # when it is verified
    answer = iotune(tmp_path, "verify", "--for", "cache", trace, status=None)
    # then the answer is that it is unknown, and nothing is remembered of the program
    assert answer.returncode == 3 and answer.stdout.startswith("unknown: "), answer
    shared.unlink()
    again = iotune(tmp_path, "run", "--logstore", tmp_path, "--", *run)
    assert "log store never verified" in again.stderr
