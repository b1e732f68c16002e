"""Small writes that wait: by a stored answer, and in a log that outlives the run."""

from __future__ import annotations

import fcntl
import platform as machine
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from iotune.models.measuring.paired import Gain

from iotune import core
from iotune.database.offers import GatherOffer, keep_offer
from support.installed.columns_program import needs_mpi
from support.installed.user_home import Home
from support.repository import ROOT

pytestmark = [pytest.mark.mpi, needs_mpi]

PIECES = 2000
PIECE_BY_PIECE = (("romio_cb_write", "disable"), ("romio_ds_write", "disable"))


class Writer:
    """A user with a program of two ranks that write every second piece of 8 bytes."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.program = root / "writes"
        source = ROOT / "tests/mpi/programs/gathered/gathered_ways.c"
        subprocess.run(["mpicc.mpich", "-o", self.program, source], check=True)

    def run(self, **environment: str) -> dict[str, Any]:
        """Run it; what `explain` has of the file."""
        before = dict(self.home.environment)
        self.home.environment.update(environment)
        words = ["mpirun.mpich", "-n", "2", str(self.program), "plain", "a.bin", str(PIECES)]
        self.home.type("run", "--", *words)
        self.home.environment = before
        assert (self.home.work / "a.bin").stat().st_size == 2 * PIECES * 8
        [file] = [one for one in self.home.asked("explain")["files"] if one["path"][-5:] == "a.bin"]
        return dict(file)

    def kill(self) -> Path:
        """Kill a run that keeps logs, when both ranks have written all but one piece; its file."""
        words = ["mpirun.mpich", "-n", "2", str(self.program), "killed", "a.bin", str(PIECES)]
        command = [sys.executable, "-m", "iotune", "run", "--", *words]
        environment = {**self.home.environment, "IOTUNE_GATHER": "log"}
        done = subprocess.run(command, cwd=self.home.work, env=environment, check=False)
        assert done.returncode != 0
        return self.home.work / "a.bin"

    def offer(self, low: float, host_class: str | None = None) -> None:
        """Store what a training would of the pattern that the runs had."""
        self.home.type("db", "list")  # which learns from the runs
        database = core.Database(str(next(self.home.root.rglob("patterns.db"))))
        [pattern] = database.patterns()["patterns"]
        platform = {
            "filesystem": core.filesystem_of(str(self.home.work)),
            "mpi": self.home.asked("show")["mpi"], "hdf5": "none",
            "host_class": host_class or machine.machine(),
        }  # fmt: skip
        gain = Gain(4.0, low, 5.0, 5)
        keep_offer(database, pattern["byte_key"], platform, GatherOffer(gain, 1, PIECE_BY_PIECE))


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(tmp_path)


def held_calls(file: dict[str, Any]) -> int:
    return int(file["gather"]["held_calls"]) if file.get("gather") else 0


def test_it_waits_where_that_is_allowed(writer: Writer) -> None:
    writer.run()
    writer.offer(low=3.0)
    # Nobody has allowed it.
    assert held_calls(writer.run()) == 0
    allowed = writer.run(IOTUNE_GATHER="stored")
    assert held_calls(allowed) == 2 * PIECES
    said = allowed["message"]
    assert "small writes wait, which is allowed here: gain 4 [3, 5] in 5 rounds" in said
    verdicts = {one["parameter"]: one["verdict"] for one in allowed["settings"]}
    assert verdicts == {"iotune_gather_writes": "unverifiable", "romio_cb_write": "applied",
                        "romio_ds_write": "applied"}  # fmt: skip


def test_the_site_may_allow_it_and_its_users_may_not_want_it(writer: Writer) -> None:
    writer.run()
    writer.offer(low=3.0)
    site = writer.home.root / "site.conf"
    site.write_text("gather = stored\nfreeze = yes\n")
    assert held_calls(writer.run(IOTUNE_SITE_CONFIG=str(site))) == 2 * PIECES
    assert held_calls(writer.run(IOTUNE_SITE_CONFIG=str(site), IOTUNE_GATHER="no")) == 0


def test_without_an_answer_nothing_waits(writer: Writer) -> None:
    writer.run()
    file = writer.run(IOTUNE_GATHER="stored")
    assert held_calls(file) == 0
    writer.offer(low=3.0, host_class="another")
    assert held_calls(writer.run(IOTUNE_GATHER="stored")) == 0
    writer.offer(low=0.9)
    file = writer.run(IOTUNE_GATHER="stored")
    assert held_calls(file) == 0
    assert "gathering was measured: 4 [0.9, 5] in 5 rounds, not worth it" in file["message"]


def test_a_configuration_needs_the_permission_as_well(writer: Writer) -> None:
    config = writer.home.root / "config.xml"
    config.write_text(core.config_xml({"iotune_gather_writes": "memory"}))
    file = writer.run(IOTUNE_CONFIG=str(config))
    assert held_calls(file) == 0
    [setting] = file["settings"]
    assert "neither IOTUNE_GATHER nor the site's gather allows it" in setting["reason"]
    assert held_calls(writer.run(IOTUNE_CONFIG=str(config), IOTUNE_GATHER="stored")) == 2 * PIECES


def test_what_a_killed_run_held_is_written_afterwards(writer: Writer) -> None:
    file = writer.kill()
    assert file.stat().st_size == 0
    # What is in the file already stays, but where the log has something newer.
    behind = b"behind all that the log has"
    with file.open("r+b") as opened:
        opened.write(b"old bytes")
        opened.seek(2 * PIECES * 8 + 100)
        opened.write(behind)
    writer.home.type("log", "flatten", "a.bin", "copy.bin")
    writer.home.type("log", "flatten", "a.bin")
    written = file.read_bytes()
    pieces = b"".join(bytes([i & 255 | 1]) * 8 for i in range(2 * PIECES))
    assert written[: len(pieces)] == pieces
    assert written.endswith(b"\0" * 20 + behind)
    assert (writer.home.work / "copy.bin").read_bytes() == written
    assert [one.name for one in writer.home.work.glob(".*.iotune")] == []
    # There is nothing to write any more.
    assert "is no container" in writer.home.type("log", "flatten", "a.bin", status=1).stderr


def test_a_log_that_is_in_use_is_left_alone(writer: Writer) -> None:
    file = writer.kill()
    log = file.with_name(".a.bin.iotune")
    with (log / "container").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        said = writer.home.type("log", "flatten", "a.bin", status=1).stderr
    assert "is in use: somebody has it open for writing" in " ".join(said.split())
    assert file.stat().st_size == 0 and log.exists()
