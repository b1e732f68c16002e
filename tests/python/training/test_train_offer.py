"""`iotune train --offer layout=log`: measured, stored, told, and never applied."""

import json

import pytest
from iotune.models.measuring.paired import Gain
from iotune.models.replays.logged_replay import written_and_read_back

from iotune import core
from iotune.database.offers import LogOffer, keep_offer, offer_of
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer
from support.installed.columns_program import Home, needs_mpi

PLATFORM = {"filesystem": "ext4", "mpi": "ROMIO 4.0.2", "hdf5": "1.10.8", "host_class": "h"}


def offer(low: float, both_low: float = 1.5) -> LogOffer:
    return LogOffer(Gain(3.0, low, 4.0, 5), Gain(2.0, both_low, 2.5, 5), 0.25)


def test_what_is_written_is_read_back_as_it_was_written() -> None:
    some = {0: Selection("slab", ((0, 1, 1, 8),)), 1: Selection("slab", ((8, 1, 1, 8),))}
    file = PlanFile("/d/a.h5", True, [Dataset("/x", 4, (16,))],
                    [Transfer(True, 0, True, some), Transfer(False, 0, False, some)])  # fmt: skip
    plan = written_and_read_back(Plan(2, [file, PlanFile("/d/read.h5", False, [], [])]))
    assert [(one.path, one.create) for one in plan.files] == [("/d/a.h5", True), ("/d/a.h5", False)]
    assert [one.write for one in plan.files[0].transfers] == [True]
    assert [one.write for one in plan.files[1].transfers] == [False]
    assert plan.files[1].transfers[0].selections == some
    assert not plan.prepares


def test_the_latest_offer_of_a_pattern_is_told(tmp_path) -> None:
    database = core.Database(str(tmp_path / "a.db"))
    keep_offer(database, "key", PLATFORM, offer(2.0))
    assert offer_of(database, "another") is None
    keep_offer(database, "key", PLATFORM, offer(2.5))
    found = offer_of(database, "key")
    assert found == offer(2.5)
    assert found.is_worth_it
    first, second = found.lines("/scratch/run")
    assert "write 3.00x (2.50 to 4.00), write and read back 2.00x (1.50 to 2.50)" in first
    assert "never taken by itself" in second
    assert "iotune run --logstore /scratch/run --" in second


@pytest.mark.parametrize("low, both_low", [(0.9, 1.5), (2.0, 0.9)])
def test_what_does_not_pay_is_said_so(low: float, both_low: float) -> None:
    [line] = offer(low, both_low).lines("/scratch/run")
    assert line.endswith("not worth it")


@needs_mpi
def test_it_is_measured_with_the_training_and_explained_afterwards(tmp_path) -> None:
    home = Home(tmp_path)
    home.record()
    done = home.iotune("train", "--offer", "layout=chunk")
    assert done.returncode == 2
    assert "only layout=log is offered" in done.stderr
    words = ["--offer", "layout=log", "--rounds", "3", "--candidates", "sieve_buf_size=131072"]
    done = home.iotune("train", *words, "--json")
    assert done.returncode == 0, done.stderr
    [outcome] = json.loads(done.stdout)
    [told] = [one for one in outcome["notes"] if one.startswith("layout=log: write ")]
    assert "write and read back" in told
    assert "layout" not in json.dumps(outcome["settings"]), "never an answer"
    home.run()
    done = home.iotune("explain")
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert told.split(":")[1].split(",")[0].strip() in flat
    assert "offered layout=log" in flat
    left = [one.name for one in tmp_path.iterdir() if one.is_dir() and (one / "container").exists()]
    assert left == [], "the program's own file stays an ordinary one"
