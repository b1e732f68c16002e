"""`iotune explain`, `advise` and `train` say the same of a run, and name a next step that helps."""

from __future__ import annotations

from pathlib import Path

import pytest
from iotune.models.settings.candidates import Candidate, Shape
from iotune.models.settings.prospects import prospect_of, refusal_of
from iotune.models.train_plan import Estimate

from iotune.cli.train_cost import PROOF_SECONDS, ahead_text
from support.installed.habits import Habits, needs_the_library
from support.installed.import_logs import typed
from support.installed.user_home import Home

pytestmark = [pytest.mark.mpi, needs_the_library]

SMALL_WRITES = """\
with open("records", "wb", buffering=0) as file:
    for _ in range(3000):
        file.write(b"x" * 100)
"""
OMPIO = {"mpi": "Open MPI v4.1.4", "hdf5": "none", "filesystem": "ext4"}
QUESTION = {
    "layer": "mpiio", "program": "p", "file": "/d/f", "filesystem": "ext4", "ranks": 4,
    "mpi": OMPIO["mpi"], "hdf5": "",
}  # fmt: skip


def next_of(said: str) -> str:
    (line,) = [line for line in said.splitlines() if line.startswith("iotune: next: ")]
    return line.removeprefix("iotune: next: ")


def test_a_program_of_posix_alone_is_not_sent_to_train(tmp_path: Path) -> None:
    # given
    home = Home(tmp_path)
    (home.work / "small.py").write_text(SMALL_WRITES)
    home.type("run", "--", "python3", "small.py")
    # when
    explained, advised, trained = (home.type(word) for word in ("explain", "advise", "train"))
    # then
    assert "no settings were looked for: this run moved no file through HDF5" in explained.stdout
    assert next_of(explained.stderr).startswith("iotune advise ")
    assert "small-writes" in advised.stdout and "may be set" not in advised.stdout
    assert next_of(advised.stderr) == "iotune advise --explain small-writes"
    assert "nothing to train: " in trained.stderr and "POSIX alone" in trained.stderr
    assert next_of(trained.stderr).startswith("iotune advise ")


def test_a_run_that_was_only_recorded_says_so(tmp_path: Path) -> None:
    # given
    trace = Habits(tmp_path, "parallel_habits").trace("independent", good=False, ranks=4)
    # when
    explained = typed(tmp_path, "explain", str(trace.path))
    # then
    assert "no settings were looked for: the run was only recorded" in explained.stdout
    assert "no answer yet: iotune train" in explained.stdout
    assert next_of(explained.stderr).startswith("iotune train ")


def test_what_ompio_does_not_read_is_neither_proven_nor_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMPI_MCA_io", raising=False)
    # given independent writes, for which ROMIO has hints and OMPIO none
    shape = Shape(True, False, ("*", "BLOCK"), 4, 1 << 20, filesystem="ext4", layer="mpiio",
                  mpi=OMPIO["mpi"])  # fmt: skip
    # then
    found = prospect_of(shape, OMPIO, QUESTION, {})
    assert found.candidates == () and "OMPIO reads none" in found.why_not
    reason, unproven = refusal_of(QUESTION, OMPIO, Candidate({"romio_ds_write": "enable"}))
    assert (reason, unproven) == ("OMPIO does not read romio_ds_write", [])
    # and its own known fault is refused before anything is proven
    reason, unproven = refusal_of(QUESTION, OMPIO, Candidate({"cb_nodes": "2"}))
    assert "several aggregators" in reason and unproven == []


def test_what_the_program_sets_is_the_reason_where_nothing_else_is_left() -> None:
    shape = Shape(False, False, ("*", "*"), 1, 1 << 30, (8, 8), (64, 64), 4, filesystem="ext4")
    platform = {"mpi": "", "hdf5": "1.10.8", "filesystem": "ext4"}
    question = {**QUESTION, "layer": "hdf5", "mpi": "", "hdf5": "1.10.8", "ranks": 1}
    free = prospect_of(shape, platform, question, {})
    assert [set(one.settings) for one in free.candidates] == [{"chunk_cache"}]
    taken = prospect_of(shape, platform, question, {"chunk_cache": "the program sets it itself"})
    assert taken.candidates == ()
    assert taken.why_not == "chunk_cache: the program sets it itself"


def test_the_estimate_has_the_proofs_that_come_first() -> None:
    asked = Estimate(58, 110, 1 << 20)
    assert ahead_text(asked, 0) == "up to 58 replays in 2 min"
    minutes = round(2 * PROOF_SECONDS / 60)
    said = ahead_text(asked, 2)
    assert said.startswith("first the proof that 2 settings keep every byte, in up to ")
    assert f" {minutes} min; then up to 58 replays in 2 min" in said
