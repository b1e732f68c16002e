"""`iotune train --offer layout=log`: measured, stored, reported, and never applied."""

import json
import os

import jsonschema
import pytest
from iotune.models.measuring.paired import Gain
from iotune.models.replays.logged_replay import written_and_read_back

from iotune import core
from iotune.database.answers import Answers
from iotune.database.offers import GatherOffer, LogOffer, keep_offer, stored_offers
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer
from iotune.reports.offered import all_offered
from iotune.schemas import schema
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary
from support.installed.columns_program import Home, needs_mpi

pytestmark = pytest.mark.mpi

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


class Known(core.Database):
    """A database with one pattern of which offers were stored; counts how often it is read."""

    def __init__(self, path) -> None:
        super().__init__(path)
        self.reads = 0

    def patterns(self):
        self.reads += 1
        use = {"program": "columns", "file": "columns#.h5", "ranks": 2, "nodes": 1,
               "speaker": True}  # fmt: skip
        answer = {"id": 7, "platform": PLATFORM, "source": "train", "settings": {}}
        pattern = {"byte_key": "key", "descriptor": "<1D,(BLOCK),(8)>", "op": "write",
                   "workloads": [use], "answers": [answer]}  # fmt: skip
        return {"patterns": [pattern]}

    def export_json(self):
        self.reads += 1
        return super().export_json()


def run_of(folder, row: int = -1, ranks: int = 2, files: int = 1) -> RunSummary:
    written = DatasetPattern(dataset="/d", descriptor="<1D,(BLOCK),(8)>", bytes=64)
    some = [
        FilePattern(path=str(folder / f"columns{number}.h5"), masked_name="columns#.h5",
                    bytes_written=64, datasets=[written], speaker=0, decision_row=row)
        for number in range(files)
    ]  # fmt: skip
    return RunSummary(program="/bin/columns", mpi=PLATFORM["mpi"], hdf5=PLATFORM["hdf5"],
                      argv=["./columns", "4 rows"], ranks=ranks, files=some)  # fmt: skip


@pytest.fixture
def known(tmp_path) -> Known:
    PLATFORM["filesystem"] = core.filesystem_of(str(tmp_path))
    return Known(str(tmp_path / "a.db"))


def test_the_latest_offer_of_a_pattern_is_reported(known, tmp_path) -> None:
    keep_offer(known, "key", PLATFORM, offer(2.0))
    assert "another" not in stored_offers(known)
    keep_offer(known, "key", PLATFORM, offer(2.5))
    assert [one.offer for one in stored_offers(known)["key"]] == [offer(2.5), offer(2.0)]
    [found] = all_offered(Answers(known), run_of(tmp_path, row=7))
    assert found.offer == offer(2.5)
    assert found.offer.is_worth_it
    first, second, third = found.lines()
    assert third.startswith("never verified")
    assert "write 3.00x (2.50 to 4.00), write and read back 2.00x (1.50 to 2.50)" in first
    assert "never taken by itself" in second
    assert second.endswith(" -n 2 ./columns '4 rows'")
    assert f"iotune run --logstore {tmp_path} -- mpirun" in second
    (tmp_path / "columns0.h5").write_text("old")
    assert f"first move {tmp_path}/columns0.h5 away" in found.lines()[3]
    assert found.as_json()["in_the_way"] == [str(tmp_path / "columns0.h5")]


def test_an_offer_is_of_a_pattern_and_of_a_platform(known, tmp_path) -> None:
    keep_offer(known, "key", {**PLATFORM, "hdf5": "1.14.0"}, offer(2.0))
    assert all_offered(Answers(known), run_of(tmp_path, row=7)) == []
    keep_offer(known, "key", PLATFORM, offer(3.0))
    answers = Answers(known)
    # Without a row of the run's, as right after the training: by its program and file.
    assert [one.offer for one in all_offered(answers, run_of(tmp_path))] == [offer(3.0)]
    assert all_offered(answers, run_of(tmp_path, row=8)) != []
    assert all_offered(answers, run_of(tmp_path, ranks=3)) == []
    read = run_of(tmp_path, row=7)
    read.files[0].bytes_written = 0
    assert all_offered(answers, read) == []
    alone = run_of(tmp_path, row=7, ranks=1)
    assert all_offered(answers, alone)[0].command[-3:] == ("--", "./columns", "4 rows")


def test_a_run_of_many_files_reads_the_database_once(known, tmp_path) -> None:
    keep_offer(known, "key", PLATFORM, offer(2.0))
    [found] = all_offered(Answers(known), run_of(tmp_path, row=7, files=500))
    assert len(found.files) == 500
    reported = found.as_json()
    assert (len(reported["files"]), reported["more_files"]) == (8, 492)
    assert known.reads == 2


def test_gathering_is_offered_by_its_own_command(known, tmp_path) -> None:
    gather = GatherOffer(Gain(5.0, 4.0, 6.0, 5), 0.5)
    keep_offer(known, "key", PLATFORM, gather)
    [found] = all_offered(Answers(known), run_of(tmp_path, row=7))
    assert found.offer == gather
    (tmp_path / "columns0.h5").write_text("old")
    first, second, third = found.lines()
    assert first.startswith("gather: write 5.00x (4.00 to 6.00); other ranks then see")
    assert "iotune run --gather -- mpirun" in second
    assert third.startswith("never verified")
    reported = found.as_json()
    assert (reported["setting"], reported["write_then_read"]) == ("gather", None)
    assert reported["in_the_way"] == []
    keep_offer(known, "key", PLATFORM, GatherOffer(Gain(1.1, 0.9, 1.3, 5), 0.5))
    [found] = all_offered(Answers(known), run_of(tmp_path, row=7))
    assert found.lines()[0].endswith("not worth it")


@pytest.mark.parametrize("low, both_low", [(0.9, 1.5), (2.0, 0.9)])
def test_what_does_not_pay_is_said_so(known, tmp_path, low: float, both_low: float) -> None:
    keep_offer(known, "key", PLATFORM, offer(low, both_low))
    (tmp_path / "columns0.h5").write_text("old")
    [found] = all_offered(Answers(known), run_of(tmp_path, row=7))
    [line] = found.lines()
    assert line.endswith("not worth it")
    assert found.as_json()["command"] is None


@needs_mpi
def test_it_is_measured_with_the_training_and_explained_afterwards(tmp_path) -> None:
    home = Home(tmp_path)
    home.record()
    done = home.iotune("train", "--offer", "layout=chunk")
    assert done.returncode == 2
    assert "only layout=log and gather are offered" in " ".join(done.stderr.split())
    words = ["--offer", "layout=log", "--rounds", "3", "--candidates", "sieve_buf_size=131072"]
    done = home.iotune("train", *words, "--json")
    assert done.returncode == 0, done.stderr
    [outcome] = json.loads(done.stdout)
    [reported] = [one for one in outcome["notes"] if one.startswith("layout=log: write ")]
    assert "write and read back" in reported
    assert "layout" not in json.dumps(outcome["settings"]), "never an answer"
    gains = reported.split(":")[1].split(",")[0].strip()  # write 1.23x (1.01 to 1.40)
    # Of the run that was trained from, which had no answer, and of the one that has.
    assert_reported(home, gains)
    home.run()
    assert_reported(home, gains)
    done = home.iotune("explain")
    assert done.returncode == 0, done.stderr
    flat = " ".join(done.stdout.split())
    assert gains in flat
    assert "offered layout=log" in flat
    left = [one.name for one in tmp_path.iterdir() if one.is_dir() and (one / "container").exists()]
    assert left == [], "the program's own file stays an ordinary one"
    done = home.iotune("report", "-o", "report.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "offered" in page and gains in " ".join(page.split())
    take_it(home)


def assert_reported(home: Home, gains: str) -> None:
    """`advise` and `explain` say what it would bring, as text and as JSON."""
    text = home.iotune("advise").stdout
    assert "OFFERED  by training" in text
    assert gains in " ".join(text.split())
    for name in ("advise", "explain"):
        said = json.loads(home.iotune(name, "--json").stdout)
        jsonschema.validate(said, schema(name))
        [offered] = (
            said["offers"] if name == "advise" else [one["offered"] for one in said["files"]]
        )
        assert offered["files"] == [str(home.folder / "columns.h5")]
        assert gains == "write {ratio:.2f}x ({low:.2f} to {high:.2f})".format(**offered["write"])
        wanted = offered["write"]["low"] > 1 and offered["write_then_read"]["low"] > 1
        assert offered["worth_it"] == wanted == (offered["command"] is not None)


def take_it(home: Home) -> None:
    """The command that is named keeps the file as a log, which is seen where it stays one; it is
    made here where it is not worth it.

    What this machine measures is its own: both ends are right.
    """
    from iotune.reports.offered import command_of
    from iotune.traces.trace import open_trace

    os.remove(home.folder / "columns.h5")
    trace = json.loads(home.iotune("advise", "--json").stdout)["trace"]
    words = command_of(open_trace(trace).summary, str(home.folder))
    home.environment["IOTUNE_LOGSTORE_CLOSE"] = "keep"
    done = home.iotune(*words[1:])
    assert done.returncode == 0, done.stderr
    assert (home.folder / "columns.h5" / "container").exists()
