"""Ranks of a launcher: the number of each, and what happens where one is never heard of."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from iotune import Error
from iotune.analysis import launched
from iotune.analysis.launched import Abandoned, Exchange, Ranks


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Ranks()),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, Ranks()),
        (
            {
                "OMPI_COMM_WORLD_RANK": "2",
                "OMPI_COMM_WORLD_SIZE": "4",
                "PMIX_NAMESPACE": "prterun-node-1@1",
            },
            Ranks(2, 4, "prterun-node-1-1"),
        ),
        (
            {
                "SLURM_PROCID": "1",
                "SLURM_NTASKS": "8",
                "SLURM_STEP_ID": "3",
                "SLURM_JOB_ID": "77",
            },
            Ranks(1, 8, "77.3"),
        ),
        # The batch script itself is no rank.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_ID": "77"}, Ranks()),
    ],
)
def test_what_launchers_say(environment: dict[str, str], expected: Ranks) -> None:
    assert Ranks.of_environment(environment) == expected


def test_a_launcher_that_names_no_job_is_an_error() -> None:
    with pytest.raises(Error, match="what its job is called"):
        Ranks.of_environment({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launched, "_SILENT_SECONDS", 0.5)
    monkeypatch.setattr(launched, "_BEAT_SECONDS", 0.05)


def test_a_rank_that_never_comes_is_named(tmp_path: Path, impatient: None) -> None:
    with pytest.raises(Error, match="rank 1 was not heard of"):
        with Exchange(tmp_path, Ranks(0, 2, "job")) as exchange:
            exchange.publish({})
            exchange.wait_for([exchange.folder / "never.json"])
    assert not list(tmp_path.iterdir())


def test_a_directory_that_others_do_not_see_is_reported(tmp_path: Path, impatient: None) -> None:
    with pytest.raises(Error, match="--exchange"):
        with Exchange(tmp_path, Ranks(1, 2, "job")):
            pass
    with pytest.raises(Error, match="--exchange"):
        with Exchange(tmp_path / "none", Ranks(0, 2, "job")):
            pass


def test_what_fails_in_another_rank_is_rank_0s_error(tmp_path: Path) -> None:
    seen: list[BaseException] = []

    def other() -> None:
        try:
            with Exchange(tmp_path, Ranks(1, 2, "job")) as exchange:
                assert exchange.plan() == {"work": [1, 2]}
                raise Error("run.iotrace: damaged")
        except Abandoned as problem:
            seen.append(problem)

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(Error, match="rank 1: run.iotrace: damaged"):
        with Exchange(tmp_path, Ranks(0, 2, "job")) as exchange:
            exchange.publish({"work": [1, 2]})
            exchange.wait_for([exchange.folder / "never.json"])
    thread.join()
    assert len(seen) == 1 and not list(tmp_path.iterdir())


def test_rank_0_waits_for_all_parts(tmp_path: Path) -> None:
    def other() -> None:
        with Exchange(tmp_path, Ranks(1, 2, "job")) as exchange:
            # Whole at once, as parts are: rank 0 reads it as soon as it is there.
            (exchange.folder / "writing").write_text(json.dumps(exchange.plan()["work"]))
            (exchange.folder / "writing").rename(exchange.folder / "part.json")

    thread = threading.Thread(target=other)
    thread.start()
    with Exchange(tmp_path, Ranks(0, 2, "job")) as exchange:
        exchange.publish({"work": 7})
        exchange.wait_for([exchange.folder / "part.json"])
        assert json.loads((exchange.folder / "part.json").read_text()) == 7
    thread.join()
