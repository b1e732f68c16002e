"""A training that is stopped loses no measurement, and says what it took."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from iotune.models.replays.run_journal import Kept, RunJournal

from iotune import Error
from support.installed.columns_program import Home
from support.installed.json_schemas import conforming

pytestmark = pytest.mark.mpi


CANDIDATES = ["b=1", "a=1"]


def begun(path: Path) -> RunJournal:
    """A new training's."""
    found = RunJournal(path, "key", resume=False)
    found.begin(CANDIDATES)
    return found


def test_a_resumed_training_has_the_candidates_that_it_began_with(tmp_path: Path) -> None:
    begun(tmp_path / "j").add(Kept("default", "", 1.5, "applied"))
    assert not RunJournal(tmp_path / "j", "key", resume=False).candidates
    again = RunJournal(tmp_path / "j", "key", resume=True)
    assert again.candidates == CANDIDATES and again.resumed == 1
    # One of them may not be set any more: another course.
    again.begin(CANDIDATES[1:])
    assert again.resumed == 0 and again.next("default", "") is None


def test_the_same_course_is_given_what_was_measured(tmp_path):
    first = begun(tmp_path / "j")
    first.add(Kept("default", "", 1.5, "applied", (1.0, 0.5)))
    first.add(Kept("c0", "a=1", None, "failed: it hung"))
    again = RunJournal(tmp_path / "j", "key", resume=True)
    assert again.resumed == 2
    assert again.next("default", "") == Kept("default", "", 1.5, "applied", (1.0, 0.5))
    assert again.next("c0", "a=1") == Kept("c0", "a=1", None, "failed: it hung")
    assert again.next("c0", "a=1") is None


def test_another_course_measures_again(tmp_path):
    first = begun(tmp_path / "j")
    first.add(Kept("default", "", 1.5, "applied"))
    first.add(Kept("c0", "a=1", 1.0, "applied"))
    again = RunJournal(tmp_path / "j", "key", resume=True)
    assert again.next("c1", "b=1") is None
    assert again.next("c0", "a=1") is None, "what was measured for the old course is left"


@pytest.mark.parametrize("key", ["other", "key"])
def test_what_belongs_elsewhere_or_is_damaged_is_left(tmp_path, key):
    path = tmp_path / "j"
    first = begun(path)
    first.add(Kept("default", "", 1.5, "applied"))
    with path.open("a") as file:
        file.write('{"arm":"c0","sett')  # killed while it wrote
    again = RunJournal(path, key, resume=True)
    assert again.resumed == (1 if key == "key" else 0)
    again.begin(CANDIDATES)
    again.done()
    assert not path.exists()


def test_a_journal_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "j").mkdir()
    with pytest.raises(Error, match="j: "):
        begun(tmp_path / "j")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    found = Home(tmp_path_factory.mktemp("home"))
    found.record()
    return found


def test_a_dry_run_prints_the_plan_and_measures_nothing(home):
    done = home.iotune("train", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    [plan] = conforming("train-plan", done.stdout)
    assert plan["descriptor"] == "<2D,(*,BLOCK),(4096,32)>"
    assert plan["candidates"] and plan["replays"] > len(plan["candidates"])
    assert "nothing to train" not in home.iotune("train", "--dry-run").stderr
    # A file of 2 MiB, written several times in each replay.
    assert plan["bytes"] >= plan["replays"] << 21


def test_a_budget_in_bytes_holds(home):
    done = home.iotune("train", "--budget", "10MiB")
    assert done.returncode == 0, done.stderr
    assert "the budget has 10 MiB left" in done.stderr
    assert "1 untrained still" in done.stderr


WORDS = ("train", "--rounds", "3", "--candidates", "romio_cb_write=disable",
         "--candidates", "cb_buffer_size=4194304")  # fmt: skip


def stopped(home: Home, by: signal.Signals) -> None:
    """A training that gets the signal after its second measurement: it may end after the third."""
    process = subprocess.Popen(
        home.command(*WORDS), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=home.environment, cwd=home.folder,
    )  # fmt: skip
    journals = home.folder / "state" / "iotune" / "training"
    until = time.monotonic() + 120
    lines: list[str] = []
    while time.monotonic() < until and len(lines) < 2 and process.poll() is None:
        time.sleep(0.02)
        lines = [line for one in journals.glob("*.jsonl") for line in one.read_text().splitlines()]
    process.send_signal(by)
    _, said = process.communicate()
    assert len(lines) >= 2, f"it was over before it could be stopped: {process.returncode}\n{said}"


def test_an_interrupted_training_s_replay_is_no_last_run(home):
    before = home.iotune("show").stdout
    stopped(home, signal.SIGINT)
    assert home.iotune("show").stdout == before


def test_a_killed_training_goes_on(tmp_path):
    # A home of its own: the interrupted training may have ended before it heard of it.
    home = Home(tmp_path)
    home.record()
    stopped(home, signal.SIGKILL)
    done = home.iotune(*WORDS, "--resume")
    assert done.returncode == 0, done.stderr
    assert "went on behind" in done.stderr
    assert "spent " in done.stderr and " replays, " in done.stderr
    assert not list((home.folder / "state" / "iotune" / "training").glob("*.jsonl"))
    assert "nothing to train" in home.iotune("train").stderr
