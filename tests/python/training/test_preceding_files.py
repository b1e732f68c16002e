"""Files that a run wrote just before a case's file: replayed before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from iotune.models.cases import Case
from iotune.models.replays import bench, preceding_files
from iotune.models.replays.preceding_files import (
    MOST_FILES,
    PrecededPlan,
    as_own_files,
    files_written_before,
    with_preceding_files,
)

from iotune import core
from iotune.cli.train import answer_of
from iotune.database.tunings import tuning_json
from iotune.errors import Error
from iotune.launch import preload
from iotune.replay.mpi import find_mpi
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer
from iotune.replay.replayer import Replayed
from iotune.traces.summary import DatasetPattern, FilePattern, RunSummary, SettingOutcome
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = pytest.mark.mpi


def a_file(name: str, opened: float, closed: float, **more: Any) -> FilePattern:
    """Of the run, with seconds."""
    fields: dict[str, Any] = {"bytes_written": 100, "datasets": [DatasetPattern()], **more}
    return FilePattern(
        path=f"/run/{name}", opened_at_seconds=opened, elapsed_seconds=closed - opened, **fields
    )


def a_part(name: str, elements: int = 100, create: bool = True, write: bool = True) -> PlanFile:
    """What the run's plan has of a file."""
    return PlanFile(
        f"/run/{name}", create, [Dataset("/d", 8, (elements,))],
        [Transfer(write, 0, True, {0: Selection("all")})],
    )  # fmt: skip


class OfRun:
    """A trace of which the plan is known."""

    def __init__(self, files: list[FilePattern]):
        self.summary = RunSummary(files=files)


def preceded(
    monkeypatch: pytest.MonkeyPatch, run: list[FilePattern], parts: list[PlanFile],
    own: PlanFile, answers: dict[str, dict[str, str]] | None = None, most_bytes: int = 1 << 20,
) -> PrecededPlan:  # fmt: skip
    """`own` of a run with `parts`."""

    def plan(trace: OfRun, paths: list[str]) -> tuple[Plan, list[str]]:
        return Plan(1, [one for one in parts if one.path in paths]), []

    monkeypatch.setattr(preceding_files, "plan_of_trace", plan)
    trace: Any = OfRun(run)
    known = answers or {}
    return with_preceding_files(
        trace, own.path, Plan(1, [own]), lambda _, file: known.get(file.path), most_bytes
    )


def test_files_before_are_a_chain_without_long_waits() -> None:
    # given one too long ago, two in a row, one that was read, one that came later
    run = [
        a_file("old.h5", 0, 1),
        a_file("a.h5", 5, 6),
        a_file("b.h5", 6.5, 8),
        a_file("read.h5", 7, 8, bytes_written=0, bytes_read=100),
        a_file("posix.dat", 7, 8, datasets=[DatasetPattern(inferred=True)]),
        a_file("own.h5", 8.5, 9),
        a_file("later.h5", 9, 10),
    ]
    # then
    assert [one.path for one in files_written_before(RunSummary(files=run), "/run/own.h5")] == [
        "/run/b.h5",
        "/run/a.h5",
    ]
    assert files_written_before(RunSummary(files=run), "/run/old.h5") == []
    assert files_written_before(RunSummary(files=run), "/run/none.h5") == []


def test_a_long_series_is_cut_to_its_last_files() -> None:
    run = [a_file(f"{at}.h5", at, at + 1) for at in range(20)]
    found = files_written_before(RunSummary(files=run), "/run/19.h5")
    assert [one.path for one in found] == [f"/run/{18 - at}.h5" for at in range(MOST_FILES)]


def test_preceding_files_come_first_and_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # given a file that the program writes, and reads again
    both = replace(
        a_part("a.h5"), transfers=a_part("a.h5").transfers + a_part("", 1, write=False).transfers
    )
    run = [a_file("a.h5", 0, 1), a_file("own.h5", 1, 2)]
    # when
    found = preceded(monkeypatch, run, [both], a_part("own.h5", 7))
    # then
    assert [one.path for one in found.plan.files] == ["/run/a.h5", "/run/own.h5"]
    assert all(one.write for one in found.plan.files[0].transfers)
    assert found.own == {1} and found.own_names == {"own.h5"} and found.preceding_names == ["a.h5"]


def test_a_part_that_opens_a_file_again_makes_what_it_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given a file that is opened again for another dataset, and read at last
    again = a_part("a.h5", 50, create=False)
    again.datasets[0] = Dataset("/later", 8, (50,))
    run = [a_file("a.h5", 0, 1), a_file("own.h5", 1, 2)]
    parts = [a_part("a.h5"), again, a_part("a.h5", create=False, write=False)]
    # when
    found = preceded(monkeypatch, run, parts, a_part("own.h5", 7))
    # then each part makes what it writes, as in the file's own case
    assert [(one.create, one.datasets[0].path) for one in found.plan.files] == [
        (True, "/d"),
        (True, "/later"),
        (True, "/d"),
    ]
    assert found.own == {2} and found.preceding_names == ["a.h5"]


def test_of_one_base_name_the_latest_is_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    # given files of the own name and of one that another folder has too, beside one that fits
    names = ["x/a.h5", "fits.h5", "y/a.h5", "x/own.h5"]
    run = [a_file(name, at, at + 1) for at, name in enumerate([*names, "own.h5"])]
    parts = [a_part(name, 10 * at) for at, name in enumerate(names, start=2)]
    # when
    found = preceded(monkeypatch, run, parts, a_part("own.h5", 7))
    # then
    assert [one.path for one in found.plan.files] == ["/run/fits.h5", "/run/y/a.h5", "/run/own.h5"]


@pytest.mark.parametrize("why", ["existed", "too large", "same name", "no text"])
def test_what_cannot_be_replayed_before_it_is_left_out(
    monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    name = {"same name": "deep/own.h5", "no text": "a\n.h5"}.get(why, "a.h5")
    part = a_part(name, create=why != "existed")
    run = [a_file(name, 0, 1), a_file("own.h5", 1, 2)]
    found = preceded(
        monkeypatch,
        run,
        [part],
        a_part("own.h5", 7),
        {},
        8 * 106 if why == "too large" else 8 * 107,
    )
    assert found.preceding_names == [] and len(found.plan.files) == 1


def test_the_first_that_does_not_fit_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    # given a large file of two datasets, and one before it
    large = a_part("a.h5", 200_000)
    large.datasets.append(Dataset("/e", 8, (200_000,)))
    large.transfers.append(replace(large.transfers[0], dataset=1))
    run = [a_file("first.h5", 0, 1), a_file("a.h5", 1, 2), a_file("own.h5", 2, 3)]
    # when
    found = preceded(
        monkeypatch, run, [a_part("first.h5", 1), large], a_part("own.h5", 7), {}, 8 * 300_000
    )
    # then
    assert found.preceding_names == ["a.h5"]
    assert [one.path for one in found.plan.files[0].datasets] == ["/d"]
    assert found.notes == ("a.h5: only 1 of 3 MiB are replayed",)


def test_files_of_other_storage_are_not_before() -> None:
    run = [a_file("a.h5", 0, 1), a_file("own.h5", 1, 2)]
    run[0].path = "/proc/a.h5"
    assert files_written_before(RunSummary(files=run), "/run/own.h5") == []


def test_of_a_series_all_files_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    run = [a_file("plt0.h5", 0, 1), a_file("chk.h5", 1, 2), a_file("plt1.h5", 2, 3)]
    found = preceded(
        monkeypatch, run, [a_part("plt0.h5"), a_part("chk.h5", 500)], a_part("plt1.h5")
    )
    assert found.own == {0, 2}
    assert found.own_names == {"plt0.h5", "plt1.h5"} and found.preceding_names == ["chk.h5"]


def test_a_series_is_one_in_whichever_order_its_datasets_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given files of two datasets that two ranks wrote one each, now the one first, now the other
    def part(name: str, *paths: str) -> PlanFile:
        ranks = {"/d": 0, "/e": 1}
        return PlanFile(
            f"/run/{name}", True, [Dataset(path, 8, (100,)) for path in paths],
            [
                Transfer(True, at, False, {ranks[path]: Selection("all")})
                for at, path in enumerate(paths)
            ],
        )  # fmt: skip

    run = [a_file(name, at, at + 1) for at, name in enumerate(["plt0.h5", "plt1.h5", "plt2.h5"])]
    parts = [part("plt0.h5", "/d", "/e"), part("plt1.h5", "/e", "/d")]
    other = replace(parts[1], transfers=[replace(parts[1].transfers[0], dataset=1)])
    # then
    own = part("plt2.h5", "/d", "/e")
    assert preceded(monkeypatch, run, parts, own).own == {0, 1, 2}
    assert preceded(monkeypatch, run, [parts[0], other], own).own == {0, 2}


def test_preceding_files_have_their_answers_or_what_the_run_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given two trained files of which one's default is best, one with settings, one refused them
    was = [
        SettingOutcome("cb_nodes", "2", "2", "", "applied"),
        SettingOutcome("chunk", "10", "10", "/d", "applied"),
        SettingOutcome("alignment", "0,4096", "", "", "refused"),
    ]
    names = ["chk0.h5", "chk1.h5", "map.h5", "bare.h5"]
    run = [
        a_file("chk0.h5", 0, 1, settings=was),
        a_file("chk1.h5", 1, 2, settings=was),
        a_file("map.h5", 2, 3, settings=was),
        a_file("bare.h5", 3, 4, settings=was[1:]),
        a_file("own.h5", 4, 5),
    ]
    parts = [a_part(name, max(2, at) * 10) for at, name in enumerate(names)]
    # when
    answers: dict[str, dict[str, str]] = {"/run/chk0.h5": {}, "/run/chk1.h5": {"cb_nodes": "4"}}
    found = preceded(monkeypatch, run, parts, a_part("own.h5", 7), answers)
    # then
    assert found.preceding_settings == {"chk1.h5": {"cb_nodes": "4"}, "map.h5": {"cb_nodes": "2"}}


def test_a_pattern_of_few_ranks_is_replayed_on_all_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # given a file that two of a run's four ranks wrote
    asked: list[int] = []

    def run_plan(mpi: object, replayer: object, plan: object, ranks: int, *_: object) -> Replayed:
        asked.append(ranks)
        return Replayed(1, 1.0, 1, [1.0], [1.0])

    monkeypatch.setattr(bench, "run_plan", run_plan)
    case = Case(1, {"op": "write", "ranks": 2}, {})
    preceded_plan = as_own_files(replace(Plan(4), files=[a_part("own.h5")]))
    # when
    bench.Bench(case, preceded_plan, find_mpi(), Path("replay"), tmp_path).run("c0", {})
    # then
    assert asked == [4]


def test_a_replayer_of_another_version_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench, "run_plan", lambda *_: Replayed(1, 1.0, 1, [1.0], []))
    preceded_plan = as_own_files(Plan(1, [a_part("own.h5")]))
    one = bench.Bench(
        Case(1, {"op": "write"}, {}), preceded_plan, find_mpi(), Path("old"), tmp_path
    )
    with pytest.raises(Error, match="old is of another iotune"):
        one.run("c0", {})


@pytest.mark.parametrize(
    ("source", "state", "reported"),
    [
        ("exact", "tuned", {"cb_nodes": "1"}),
        ("exact", "reverted", {}),
        ("similar", "tuned", None),
        ("untrained", "untrained", None),
    ],
)
def test_an_answer_that_was_taken_back_is_the_default(
    source: str, state: str, reported: dict[str, str] | None
) -> None:
    class Telling:
        def decide(self, question: dict[str, Any]) -> dict[str, Any]:
            assert (question["program"], question["file"]) == ("/bin/flash", "/run/a.h5")
            settings = {"cb_nodes": "1"} if state == "tuned" else {}
            return {"source": source, "state": state, "settings": settings}

    database: Any = Telling()
    run = RunSummary(program="/bin/flash")
    assert answer_of(database, "ext4", run, a_file("a.h5", 0, 1)) == reported


def behind(outcome: dict[str, Any]) -> str:
    """What a training's outcome says of the files before its own."""
    return next((note for note in outcome["notes"] if "behind" in note), "")


def train_one_by_one(root: Path) -> tuple[Home, list[dict[str, Any]], list[str]]:
    """A run of a checkpoint and two plot files: its home, the outcomes, the files' names.

    The three are tried together first, and their luck may settle others than the checkpoint there.
    """
    for attempt in range(5):
        folder = root / str(attempt)
        folder.mkdir()
        home = Home(folder)
        home.run("flash-io", "--size", "4x4x4x4")
        names = [Path(file["path"]).name for file in home.asked("explain")["files"]]
        launcher, kept = home.root / "mpirun", home.root / "kept"
        kept.mkdir()
        launcher.write_text(
            "#!/bin/sh\n"
            f"""[ -z "$IOTUNE_CONFIG" ] || cp "$IOTUNE_CONFIG" '{kept}'/"$IOTUNE_RUN_ID"\n"""
            f'exec {find_mpi().command(1)[0]} "$@"\n'
        )
        launcher.chmod(0o755)
        home.environment["IOTUNE_MPIRUN"] = str(launcher)
        outcomes = home.asked("train", "--rounds", "3", "--candidates", "cb_buffer_size=65536")
        if [bool(behind(one)) for one in outcomes] == [False, True, True]:
            return home, outcomes, names
    raise AssertionError("the files were never trained one by one")


NEEDS_RUNS = pytest.mark.skipif(
    preload.find_library(preload.LIBRARY) is None or not (KERNELS / "flash-io").exists(),
    reason="libiotune.so is not installed, or the kernels are not built",
)


@NEEDS_RUNS
def test_an_answer_of_an_earlier_training_is_carried(tmp_path: Path) -> None:
    # given a run of which the checkpoint was trained before, for writing, by somebody
    home = Home(tmp_path)
    home.run("flash-io", "--size", "4x4x4x4")
    home.type("db", "list")
    data = str(home.root / "data" / "iotune" / "patterns.db")
    database = core.Database(data)
    rows = sorted(database.untrained(), key=lambda row: float(row["observed_at"]))
    pattern, platform = rows[0]["pattern"], rows[0]["platform"]
    database.add_tuning(
        tuning_json(pattern, platform, {"cb_nodes": "1"}, "train", (2.0, 1.5, 2.5), 5)
    )
    # when the plot files are trained
    outcomes = home.asked("train", "--rounds", "3", "--candidates", "cb_buffer_size=65536")
    # then each says once what was before it, and with what settings
    assert len(outcomes) == 2
    for one in outcomes:
        [reported] = [note for note in one["notes"] if "behind" in note]
        assert f"{Path(rows[0]['file']).name} cb_nodes=1" in reported


@NEEDS_RUNS
@pytest.mark.soak
def test_candidates_reach_the_case_s_own_file_alone(tmp_path: Path) -> None:
    # when
    home, outcomes, names = train_one_by_one(tmp_path)
    first, second, third = names
    # then each was replayed behind those before it
    assert behind(outcomes[1]).split(": ")[1].startswith(first)
    assert second not in behind(outcomes[1])
    assert first in behind(outcomes[2]) and f", {second}" in behind(outcomes[2])
    # and the candidate reached the files that it was for
    assert [one["candidates"][0]["effect"] for one in outcomes] == ["applied"] * 3
    reported = [
        {
            name: core.read_config_xml(str(config), f"/any/{name}")["settings"]
            for name in (first, second, third, "another.h5")
        }
        for config in (home.root / "kept").iterdir()
    ]
    candidate = {"cb_buffer_size": "65536"}
    # alone (all three together have nobody beside them: what they get is for every file)
    of_third = [one for one in reported if one[third] == candidate and not one["another.h5"]]
    assert len(of_third) >= 3
    # while the others had their own answers
    for one in of_third:
        assert (one[first], one[second]) == (outcomes[0]["settings"], outcomes[1]["settings"])
