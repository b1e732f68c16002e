"""What `iotune verify` found decides what may relax a program's order later on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from iotune.verify.remembered import line_of, remembered
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


def known(folder: Path, *verdicts: tuple[int, dict[str, str]]) -> None:
    """Verdicts of the program `sh` at so many ranks; of each service that is refused why."""
    rows = [
        {"program": "sh", "ranks": ranks, "trace": f"/t/of-{ranks}.iotrace",
         "when_unix_seconds": 1.0, "refused": refused}
        for ranks, refused in verdicts
    ]  # fmt: skip
    place = folder / "xdg_state_home" / "iotune" / "verified.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"version": 2, "verified": rows}))


@pytest.mark.parametrize("verdict", ["kept", "refused", "never"])
def test_the_prefetch_cache_asks_what_was_verified(verdict: str, tmp_path: Path) -> None:
    # given what is known of a program
    if verdict != "never":
        refused = {"cache": "1 of 1 pairs of /f need more"} if verdict == "refused" else {}
        known(tmp_path, (4, {"logstore": "so", **refused}))
    # when it is to read out of the cache
    done = iotune(
        *(tmp_path, "run", "--", "sh", "-c", "echo $IOTUNE_PREFETCH_DELIVERY"),
        IOTUNE_PREFETCH="pattern", IOTUNE_PREFETCH_DELIVERY="cache",
    )  # fmt: skip
    # then that is said first, and where it needs more its reads get hints
    said = {
        "kept": "prefetch cache verified: of-4.iotrace, at 4 ranks, keeps to session consistency",
        "refused": "prefetch cache refused: 1 of 1 pairs of /f need more (verified: of-4.iotrace",
        "never": "prefetch cache never verified: iotune run --order",
    }[verdict]
    assert said in done.stderr
    assert done.stdout == ("hint\n" if verdict == "refused" else "cache\n")
    # and who does not ask for the cache hears nothing
    quiet = iotune(tmp_path, "run", "--", "true", IOTUNE_PREFETCH="pattern")
    assert "prefetch cache" not in quiet.stderr


@pytest.mark.parametrize("refused", [False, True])
def test_gathering_asks_what_was_verified(refused: bool, tmp_path: Path) -> None:
    known(tmp_path, (4, {"gather": "1 of 1 pairs of /f need more"} if refused else {}))
    done = iotune(tmp_path, "run", "--gather", "--", "sh", "-c", "echo $IOTUNE_GATHER")
    assert ("gathering refused: 1 of 1 pairs" if refused else "gathering verified: ") in done.stderr
    assert done.stdout == ("\n" if refused else "memory\n")


def test_the_verdict_of_these_ranks_counts_else_the_strictest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given a program that needs more at 2 ranks alone, which was verified there first
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg_state_home"))
    known(tmp_path, (2, {"logstore": "why"}), (4, {}), (8, {}))

    def line(ranks: int | None) -> str:
        return line_of(remembered(["/bin/sh"], "logstore", ranks), "logstore", ranks)

    # then each number of ranks has its own verdict
    assert line(2) == "refused: why (verified: of-2.iotrace, at 2 ranks)"
    assert line(8).startswith("verified: of-8.iotrace, at 8 ranks, keeps to MPI-IO")
    # and where nothing is known of them the strictest, which says of how many it is
    assert line(16) == "refused: why (verified: of-2.iotrace, at 2 ranks, and never at 16)"
    assert line(None) == line(2)
    assert remembered(["other"], "logstore", 2) is None


def test_the_log_store_is_asked_of_files_of_mpi_io_alone(tmp_path: Path) -> None:
    # given a process that reads what its parent wrote before it began
    lines = (
        "import os; file = open('text', 'w'); file.write('12345678'); file.close()\n"
        "if os.fork() == 0: print(open('text').read()); os._exit(0)\n"
        "os.wait()"
    )
    trace = tmp_path / "run.iotrace"
    iotune(tmp_path, "run", "--order", "-o", trace, "--", sys.executable, "-c", lines)
    # then no call of MPI-IO makes it right under that model, and it is no matter of the log store
    assert "2 not" in iotune(tmp_path, "verify", trace).stdout
    answer = iotune(tmp_path, "verify", "--for", "logstore", trace)
    assert answer.stdout.startswith("yes: logstore keeps MPI-IO consistency, and all conflicts of ")


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
