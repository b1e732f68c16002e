"""`iotune diff`: what changed between runs, and what is noise."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from iotune.comparing.changes import Difference, difference
from iotune.comparing.earlier import Earlier
from iotune.comparing.patterns import distance
from iotune.comparing.show import show_difference
from iotune.comparing.times import FASTER, SAME, SLOWER, UNKNOWN, compared
from iotune.launch import preload
from iotune.replay.mpi import find_mpi
from iotune.reports import evidence
from iotune.schemas import schema
from iotune.traces.summary import DatasetPattern
from iotune.traces.trace import open_trace
from support.installed.import_logs import imported, typed
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = pytest.mark.mpi

SCHEMA = schema("diff")
HEAD = "layer,rank,call,file,offset,length,start,duration\n"
needs_programs = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None or not (KERNELS / "ask_datasets").exists(),
    reason="libiotune.so is not installed, or the test programs are not built",
)


def run(
    folder: Path, number: int, seconds: float, name: str = "a.bin", calls: int = 16,
    program: str = "log.csv",
) -> Path:  # fmt: skip
    """A trace of one rank that writes `calls` MiB in so many seconds."""
    each = seconds / calls
    text = HEAD + "".join(
        f"posix,0,pwrite,/data/{name},{k << 20},1048576,{k * each:.9f},{each:.9f}\n"
        for k in range(calls)
    )
    folder.mkdir(exist_ok=True)
    log = folder / program
    log.write_text(text)
    trace = imported(log, folder)[0].path
    log.unlink()
    final = folder / f"run{number}.iotrace"
    trace.rename(final)
    os.utime(final, (number, number))
    return final


def asked(work: Path, *words: str) -> dict:
    said = json.loads(typed(work, "diff", *words, "--json").stdout)
    jsonschema.validate(said, SCHEMA)
    return said


BEFORE = [1.00, 1.05, 0.98, 1.10, 1.02]
NOISE = [1.03, 0.97, 1.08, 1.00, 1.04]
BETTER = [0.50, 0.55, 0.49, 0.52, 0.51]


def test_several_runs_tell_a_change_from_noise() -> None:
    faster = compared("run", BEFORE, BETTER)
    assert faster is not None and faster.verdict == FASTER
    assert faster.low is not None and 1 < faster.low < 2 < faster.high  # type: ignore[operator]
    slower = compared("run", BETTER, BEFORE)
    assert slower is not None and slower.verdict == SLOWER
    same = compared("run", BEFORE, NOISE)
    assert same is not None and same.verdict == SAME


def test_few_runs_tell_nothing_for_sure() -> None:
    one = compared("run", [1.0], [0.5])
    assert one is not None and one.verdict == UNKNOWN and one.low is None and one.ratio == 2
    assert "nobody knows by how much such runs differ" in one.why
    within = compared("run", [1.0], [0.9], usual=1.3)
    assert within is not None and "differ by 1.30 times by themselves" in within.why
    beyond = compared("run", [1.0], [0.5], usual=1.3)
    assert beyond is not None and "more than the 1.30 times" in beyond.why
    assert beyond.verdict == UNKNOWN
    apart = compared("run", [1.0, 1.1], [0.5, 0.6])
    assert apart is not None and apart.verdict == UNKNOWN
    assert "all runs of B are faster than all of A" in apart.why
    overlap = compared("run", [1.0, 1.1], [1.05, 0.6])
    assert overlap is not None and "overlap; from 4 a side on" in overlap.why
    assert compared("run", [], [1.0]) is None and compared("run", [0.0], [1.0]) is None


def test_distances_are_those_of_similarity() -> None:
    flash = DatasetPattern(
        descriptor="<4D,(BLOCK,*,*,*),(80,8,8,8)>", element_bytes=8, ranks=8, mode="collective",
        process_grid=[8, 1, 1, 1], dataset_dims=[640, 8, 8, 8],
    )  # fmt: skip
    gcrm = DatasetPattern(
        descriptor="<3D,(*,*,BLOCK),(1,1,327680)>", element_bytes=4, ranks=8, mode="collective",
        process_grid=[1, 1, 8], dataset_dims=[1, 1, 2621440],
    )  # fmt: skip
    vorpal = DatasetPattern(
        descriptor="<3D,(BLOCK,BLOCK,BLOCK),(60,100,300)>", element_bytes=8, ranks=8,
        mode="collective", process_grid=[2, 2, 2], dataset_dims=[120, 200, 600],
    )  # fmt: skip
    like_vorpal = DatasetPattern(
        descriptor="<3D,(BLOCK,BLOCK,BLOCK),(64,128,256)>", element_bytes=8, ranks=8,
        mode="collective", process_grid=[2, 2, 2], dataset_dims=[128, 256, 512],
    )  # fmt: skip
    # docs/similarity.md has these two.
    assert distance(flash, gcrm)[0] == 1.0
    assert distance(vorpal, like_vorpal)[0] == pytest.approx(0.34, abs=0.005)
    assert distance(flash, flash)[0] == 0
    assert distance(flash, vorpal) == (None, "only one of them is interleaved")
    flash.mode = "independent"
    assert distance(flash, gcrm) == (None, "independent before, collective now")


def test_two_reasons_say_of_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    times = [compared("the run", [1.0], [0.5]), compared("/data/a.bin", [1.0], [0.5], usual=3.0)]
    show_difference(Difference(("a",), ("b",), times=tuple(one for one in times if one)))
    text = " ".join(capsys.readouterr().out.split())
    assert "not known of the run: 1 run and 1 run: nobody knows" in text
    assert "not known of a.bin: 1 run and 1 run: earlier runs of this workload differ" in text


class Runs:
    """A database of runs that took so many bytes a second."""

    def __init__(self, rates: dict[str, float]):
        self.rates = rates

    def observations(
        self, workload: object, file_bytes: int, left_out: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        kept = [rate for run, rate in self.rates.items() if run not in left_out]
        return [{"platform": {}, "rates": kept, "settings_text": ""}]


def test_the_compared_runs_are_no_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is made twelve times slower excuses nothing by its own time."""
    monkeypatch.setattr(evidence, "is_of_platform", lambda *said: True)
    sides = [open_trace(run(tmp_path / "a", 1, 1.0)), open_trace(run(tmp_path / "b", 2, 12.0))]
    for name, trace in zip("ab", sides):
        trace.summary.run_id = name
    earlier = {"a": 12e6, "b": 1e6, "one": 12e6, "two": 11e6}
    for more, why in (
        ({}, "nobody knows by how much"),  # of two runs
        ({"three": 11.5e6}, "more than the 1.09 times by which earlier runs"),
    ):
        runs = Runs({**earlier, **more})
        monkeypatch.setattr("iotune.cli.db.opened", lambda *said, it=runs, **how: it)
        found = difference(sides[:1], sides[1:], Earlier(None).usual_spread)
        assert [why in one.why for one in found.times] == [not more, not more, True], found.times


def test_folders_are_sides_and_the_newest_run_speaks(tmp_path: Path) -> None:
    for number, seconds in enumerate(BEFORE):
        run(tmp_path / "old", number, seconds)
    for number, seconds in enumerate(BETTER):
        run(tmp_path / "new", number, seconds, calls=32 if number == 4 else 16)
    said = asked(tmp_path, "old", "new")
    assert [Path(one).name for one in said["after"]][-1] == "run4.iotrace"
    times = {one["what"]: one for one in said["times"]}
    assert times["/data/a.bin"]["verdict"] == FASTER and times["its I/O"]["verdict"] == FASTER
    assert times["the run"]["before_runs"] == 5
    (file,) = said["files"]
    moved = {one["what"]: (one["before"], one["after"]) for one in file["changes"]}
    assert moved == {"bytes written": (str(16 << 20), str(32 << 20))}
    text = typed(tmp_path, "diff", "old", "new").stdout
    assert "A  old/run4.iotrace and 4 further runs\n" in text
    assert "moved   bytes written 16.0 MiB -> 32.0 MiB" in text
    names = [line.split("  ")[0] for line in text.splitlines()]
    assert ["time of", "the run", "its I/O", "a.bin"] == names[-6:-2], text
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_one_run_a_side_is_not_judged(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", 1, 1.0), run(tmp_path / "b", 1, 0.2)
    text = typed(tmp_path, "diff", str(a), str(b)).stdout
    assert "run       the same program, ranks, MPI and HDF5" in text
    assert "as before: 1 file (--all shows them)" in text
    assert "not known: 1 run and 1 run: nobody knows" in text and "faster" not in text
    assert "findings  none on either side" in text
    more = [
        "--before",
        str(run(tmp_path / "a", 2, 1.1)),
        "--after",
        str(run(tmp_path / "b", 2, 0.3)),
    ]
    assert asked(tmp_path, str(a), str(b), *more)["times"][0]["before_runs"] == 2


def test_without_traces_the_last_two_runs_of_a_program_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given: of another program one in between, and a damaged trace
    monkeypatch.setenv("IOTUNE_BUFFER_DIR", str(tmp_path / "buffers"))  # no leftovers of others
    kept = tmp_path / "state" / "iotune" / "traces"
    kept.parent.mkdir(parents=True)
    first, last = run(kept, 1, 1.0, program="model.csv"), run(kept, 4, 0.5, program="model.csv")
    run(kept, 2, 1.0, program="other.csv")
    (kept / "run3.iotrace").write_bytes(b"IOTUNE-TRACE" + b"\0" * 7)
    os.utime(kept / "run3.iotrace", (3, 3))
    # then
    said = asked(tmp_path)
    assert (said["before"], said["after"]) == ([str(first)], [str(last)])
    assert typed(tmp_path, "diff").stderr.endswith("next: iotune explain\n")
    assert "name two runs" in typed(tmp_path, "diff", str(first), status=2).stderr
    first.unlink()
    alone = typed(tmp_path, "diff", status=1).stderr
    assert "there is no earlier run of model.csv" in alone and "run it once more" in alone


def test_files_are_paired_by_their_names(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", 1, 1.0, "out.001"), run(tmp_path / "b", 1, 1.0, "out.002")
    (file,) = asked(tmp_path, str(a), str(b))["files"]
    assert (file["before"], file["after"]) == ("/data/out.001", "/data/out.002")
    other = run(tmp_path / "c", 1, 1.0, "else")
    states = [(one["before"], one["after"]) for one in asked(tmp_path, str(a), str(other))["files"]]
    assert states == [("/data/out.001", None), (None, "/data/else")]


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    a = run(tmp_path / "a", 1, 1.0)
    assert "no trace (*.iotrace)" in typed(tmp_path, "diff", str(a), "empty", status=1).stderr
    assert "gone.iotrace" in typed(tmp_path, "diff", str(a), "gone.iotrace", status=1).stderr


@needs_programs
def test_patterns_settings_and_findings_that_changed_are_reported(tmp_path: Path) -> None:
    # given
    home = Home(tmp_path)
    config = tmp_path / "config.xml"
    config.write_text(
        "<Parameters><Middleware_Layer><cb_nodes>2</cb_nodes></Middleware_Layer></Parameters>"
    )
    program = [*find_mpi().command(2), str(KERNELS / "column-io"), "--rows", "512"]
    home.type("run", "-o", str(tmp_path / "a.iotrace"), "--", *program)
    home.type(
        *("run", "-o", str(tmp_path / "b.iotrace"), "--config", str(config), "--"),
        *(*program, "--collective"),
    )
    # when
    said = json.loads(
        home.type("diff", str(tmp_path / "a.iotrace"), str(tmp_path / "b.iotrace"), "--json").stdout
    )
    # then
    jsonschema.validate(said, SCHEMA)
    (file,) = said["files"]
    (dataset,) = file["datasets"]
    changes = {one["what"]: (one["before"], one["after"]) for one in dataset["changes"]}
    assert changes["mode"] == ("independent", "collective")
    assert dataset["why"] == "independent before, collective now"
    settings = {one["what"]: (one["before"], one["after"]) for one in file["settings"]}
    assert settings["cb_nodes"] == (None, "2 (applied)")
    assert said["findings_gone"] == ["independent-transfers"]
    assert said["findings_new"] == []
