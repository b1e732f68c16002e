"""Replays of POSIX and MPI-IO calls: recorded, replayed, recorded again, and compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import iotune
from iotune.launch import preload
from iotune.replay.mpi import Mpi, find_mpi
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer
from iotune.replay.plan_calls import pause_rule
from support.installed.replays import base_name, compiled, record, replayed, typed
from support.repository import program_source

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        preload.find_library(preload.LIBRARY) is None, reason="libiotune.so is not installed"
    ),
]


@pytest.fixture(scope="module")
def mpi() -> Mpi:
    found = find_mpi()
    if found.compiler is None:
        pytest.skip("NOT VERIFIED: replays of calls: there is no mpicc")
    return found


@pytest.fixture(scope="module")
def posix_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, iotune.Trace]:
    work = tmp_path_factory.mktemp("posix")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT VERIFIED: replays of POSIX calls: there is no compiler")
    (work / "data").mkdir()
    program = compiled(work, compiler, "posix_io_forms")
    return work, record(work, "program.iotrace", [program, str(work / "data")])


@pytest.fixture(scope="module")
def mpi_run(tmp_path_factory: pytest.TempPathFactory, mpi: Mpi) -> tuple[Path, iotune.Trace]:
    work = tmp_path_factory.mktemp("mpi")
    (work / "data").mkdir()
    assert mpi.compiler is not None
    program = compiled(work, mpi.compiler, "mpi_io_forms")
    command = [*mpi.command(2), program, str(work / "data")]
    return work, record(work, "program.iotrace", command)


def transfers(trace: iotune.Trace, rank: int, folder: str) -> list[tuple]:
    """Direction, file, offset and length of each outermost POSIX or stdio transfer."""
    frame = trace.calls(layer=("posix", "stdio"), rank=rank, file=f"*/{folder}/*")
    frame = frame[(frame["level"] == 0) & frame["length_bytes"].notna()]
    return [
        ("write" if "write" in row.call else "read", base_name(row.file), *row[-2:])
        for row in frame[["call", "file", "offset_bytes", "length_bytes"]].itertuples(index=False)
    ]


def test_posix_and_stdio_transfers_are_the_same(
    posix_run: tuple[Path, iotune.Trace], mpi: Mpi
) -> None:
    work, trace = posix_run
    again, _ = replayed(work, mpi, "again", 1)
    # What the program reads without having written it is there first; here it wrote all.
    assert transfers(again, 0, "again") == transfers(trace, -1, "data")
    assert len(transfers(trace, -1, "data")) > 600


def places(trace: iotune.Trace, rank: int, folder: str) -> list[tuple]:
    """Each MPI-IO transfer: its direction, whether all make it, its file and its extents."""
    found = []
    for call in trace.each_call(layer="mpi", rank=rank, file=f"*/{folder}/*"):
        where = re.search(r"\[at ([^\]]*)\]", call.text)
        if where is not None:
            name = "write" if "write" in call.name else "read"
            collective = "_all" in call.name
            found.append((name, collective, base_name(call.file or ""), where[1]))
    return found


def test_mpi_io_lands_at_the_same_places_under_views(
    mpi_run: tuple[Path, iotune.Trace], mpi: Mpi
) -> None:
    work, trace = mpi_run
    again, plan = replayed(work, mpi, "again", 2)
    for rank in (0, 1):
        expected = places(trace, rank, "data")
        assert any("+" in place[3] for place in expected) and len(expected) >= 13
        assert not any("?" in place[3] for place in expected)
        assert places(again, rank, "again") == expected
    assert "view 1" in plan and "mpi-write-all" in plan


def test_what_reached_the_file_system_can_be_replayed_alone(
    mpi_run: tuple[Path, iotune.Trace], mpi: Mpi
) -> None:
    work, trace = mpi_run
    again, plan = replayed(work, mpi, "below", 2, "--layer", "posix")
    assert "mpi" not in plan
    for rank in (0, 1):
        frames = [
            one.calls(layer="posix", rank=rank, file=f"*/{folder}/*")
            for one, folder in ((trace, "data"), (again, "below"))
        ]
        moved = [frame[frame["length_bytes"].notna()] for frame in frames]
        below, there = (list(zip(one["offset_bytes"], one["length_bytes"])) for one in moved)
        # Before its calls rank 0 makes what is read.
        assert len(below) > 13 and there[-len(below) :] == below


@pytest.mark.parametrize("ranks", [1, 3])
def test_another_number_of_ranks_moves_the_same_bytes(
    mpi_run: tuple[Path, iotune.Trace], mpi: Mpi, ranks: int
) -> None:
    work, trace = mpi_run
    again, plan = replayed(work, mpi, f"on{ranks}", ranks, "-n", str(ranks))
    assert "group" not in plan
    whole = [place for rank in (0, 1) for place in places(trace, rank, "data")]
    there = [place for rank in range(ranks) for place in places(again, rank, f"on{ranks}")]
    assert sorted((p[0], p[2], p[3]) for p in there) == sorted((p[0], p[2], p[3]) for p in whole)


@pytest.fixture(scope="module")
def async_run(tmp_path_factory: pytest.TempPathFactory, mpi: Mpi) -> tuple[Path, iotune.Trace]:
    work = tmp_path_factory.mktemp("async")
    (work / "data").mkdir()
    assert mpi.compiler is not None
    program = work / "async_io_forms"
    source = str(program_source("async_io_forms.c"))
    subprocess.run([mpi.compiler, "-O1", source, "-lrt", "-o", str(program)], check=True)
    command = [*mpi.command(2), str(program), str(work / "data")]
    return work, record(work, "program.iotrace", command)


def begun_and_done(trace: iotune.Trace, rank: int, folder: str, layer: str) -> list[tuple]:
    """The calls of a layer that begin transfers and complete them, with their places."""
    found: list[tuple] = []
    for call in trace.each_call(layer=layer, rank=rank, file=f"*/{folder}/*"):
        if not call.name.startswith(("aio_", "MPI_File_i", "MPI_File_read", "MPI_File_write")):
            continue
        where = re.search(r"\[at ([^\]]*)\]", call.text)
        name = re.sub(r"(read|write)_all", r"\1_at_all", call.name)  # by explicit offsets
        place = (where[1] if where else None) if layer == "mpi" else call.numbers[:2]
        found.append((name, base_name(call.file or ""), place))
    return found


def test_what_is_begun_and_waited_for_is_the_same(
    async_run: tuple[Path, iotune.Trace], mpi: Mpi
) -> None:
    work, trace = async_run
    again, plan = replayed(work, mpi, "again", 2)
    for rank in (0, 1):
        for layer in ("mpi", "posix"):  # of MPI's waits aio_return tells
            expected = begun_and_done(trace, rank, "data", layer)
            assert begun_and_done(again, rank, "again", layer) == expected
            assert len(expected) > 28
    assert plan.count(" mpi-iwrite-all ") == plan.count("write-all-begin") == 2


@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_begun_on_another_number_of_ranks_is_completed(
    async_run: tuple[Path, iotune.Trace], mpi: Mpi, ranks: int
) -> None:
    work, trace = async_run
    again, plan = replayed(work, mpi, f"on{ranks}", ranks, "-n", str(ranks))
    assert "-all" not in plan and plan.count("wait") == plan.count("-i") + plan.count("aio-r") + (
        plan.count("aio-write")
    )
    kinds: tuple[Counter[tuple], Counter[tuple]] = (Counter(), Counter())
    for counted, run, folder, all_ranks in (
        (kinds[0], trace, "data", 2),
        (kinds[1], again, f"on{ranks}", ranks),
    ):
        for rank in range(all_ranks):
            for name, file, place in begun_and_done(run, rank, folder, "mpi"):
                if place is not None:  # the ends of split ones have none
                    counted[("write" in name, "_i" in name, file, place)] += 1
    assert kinds[0] == kinds[1]


def gaps_of(plan: str) -> list[int]:
    return [int(line.split()[-1]) for line in plan.splitlines() if re.match(r"\d+ [a-z]", line)]


def test_pauses_are_kept_scaled_fixed_or_left_out(
    posix_run: tuple[Path, iotune.Trace],
) -> None:
    work, _ = posix_run

    def gaps(pause: str) -> list[int]:
        return gaps_of(typed(work, "replay", "program.iotrace", "--plan-only", "--pause", pause))

    kept = gaps("keep")
    assert sum(gap > 25_000_000 for gap in kept) == 2  # the program naps twice
    assert gaps("x2") == [2 * gap for gap in kept]
    assert gaps("1ms") == [0] + (len(kept) - 1) * [1_000_000]
    assert set(gaps("none")) == {0}


def test_pauses_are_really_made(posix_run: tuple[Path, iotune.Trace], mpi: Mpi) -> None:
    work, _ = posix_run
    text = typed(work, "replay", "program.iotrace", "--pause", "keep", "--json")
    assert json.loads(text)["seconds"] >= 0.06


def test_files_that_are_only_read_are_made_first(tmp_path: Path, mpi: Mpi) -> None:
    log = tmp_path / "reads.csv"
    log.write_text("rank,file,op,offset,length,start,end\n0,/gone/x.dat,read,5000,700,1,2\n")
    typed(tmp_path, "import", "reads.csv", "-o", "program.iotrace")
    again, plan = replayed(tmp_path, mpi, "again", 1)
    assert "file 0 f0-x_dat 5700" in plan
    assert (tmp_path / "again" / "f0-x_dat").stat().st_size == 5700
    assert transfers(again, 0, "again")[-1] == ("read", "x_dat", 5000, 700)


def plan_and_words(work: Path, trace: str) -> tuple[str, str]:
    """The plan of a trace, and what is said of it."""
    environment = os.environ | {f"XDG_{kind}_HOME": str(work) for kind in ("STATE", "DATA")}
    command = [sys.executable, "-m", "iotune", "replay", trace, "--plan-only"]
    done = subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout, done.stderr


def test_what_was_written_at_an_unknown_place_is_left_out_and_reported(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT VERIFIED: replays of POSIX calls: there is no compiler")
    # given three requests and two writes of a stream that append, and a write of a known place
    (tmp_path / "data").mkdir()
    program = compiled(tmp_path, compiler, "appended_requests")
    record(tmp_path, "program.iotrace", [program, str(tmp_path / "data")])
    # when
    plan, said = plan_and_words(tmp_path, "program.iotrace")
    # then none of them is put at a place of somebody's choice
    assert re.findall(r"write \d+ (\d+) (\d+)", plan) == [("500", "1000")], plan
    assert "5 call(s) left out: of POSIX at a place that is not in the trace" in said, said


def test_a_plan_that_would_not_fit_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "huge.csv"
    log.write_text(f"rank,file,op,offset,length,start,end\n0,/x,write,0,{1 << 60},1,2\n")
    typed(tmp_path, "import", "huge.csv", "-o", "huge.iotrace")
    assert "free" in typed(tmp_path, "replay", "huge.iotrace", status=1)
    assert not list(tmp_path.glob(".iotune-replay*"))


def test_wrong_pauses_are_named() -> None:
    for wrong in ("x", "x-1", "soon", "-1s", "xnan", ""):
        with pytest.raises(ValueError):
            pause_rule(wrong)
    assert pause_rule("x0.5")(10) == 5


def test_selections_on_fewer_ranks_are_united() -> None:
    slab = Selection("slab", ((0, 1, 4, 1),))
    points = Selection("points", ((7,), (9,)))
    transfer = Transfer(True, 0, True, {0: slab, 1: Selection("none"), 2: points, 3: points})
    plan = Plan(4, [PlanFile("f.h5", True, [Dataset("/d", 8, (16,))], [transfer])])
    [united] = plan.on_ranks(2).files[0].transfers
    assert united.selections == {
        0: Selection("slab", ((0, 1, 4, 1), (7, 1, 1, 1), (9, 1, 1, 1))),
        1: points,
    }
    assert plan.on_ranks(4) is plan
    halos = {rank: Selection("points", ((2 - rank,), (3 - rank,))) for rank in range(2)}
    shared = Plan(2, [replace(plan.files[0], transfers=[Transfer(True, 0, True, halos)])])
    [united] = shared.on_ranks(1).files[0].transfers
    assert united.selections == {0: Selection("points", ((1,), (2,), (3,)))}
    # A slab that a later rank has before those of earlier ones comes first.
    columns = {
        rank: Selection("slab", ((0, 42 - 18 * rank, 1, 1, 1, 1, 5, 2 - rank // 2),))
        for rank in range(3)
    }
    dataset = Dataset("/d", 8, (5, 54), (3, 7))
    turned = Plan(3, [PlanFile("f.h5", True, [dataset], [Transfer(True, 0, False, columns)])])
    [united] = turned.on_ranks(1).files[0].transfers
    assert [slab[1] for slab in united.selections[0].items] == [6, 24, 42]
    assert plan.on_ranks(8).files[0].transfers[0].selections == transfer.selections


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("0 open 0 0 0", "bad.plan:3: a file's number: nothing of this kind"),
        ("file 0 ../up 0", "bad.plan:3: a file's name"),
        ("file 0 f 0\n0 open 0 0 0\n0 read 0 0 -1 0", "bad.plan:5: LENGTH cannot be '-1'"),
        ("file 0 f 0\n0 leap 0 0", "bad.plan:4: there is no such call"),
        (
            "file 0 f 0\n0 open 0 0 0\n0 mpi-view 0 0 0",
            "bad.plan:5: a view's number: nothing of this kind",
        ),
        ("file 0 f 0\n0 write 0 0 5 0", "used before it is opened"),
        ("0 mpi-wait 3 0", "a request is waited for that was not begun"),
        ("file 0 f 0\n0 open 0 0 0\n0 aio-write 0 0 5 0 0\n0 close 0 0", "never waited for"),
    ],
)
def test_faults_of_a_plan_are_named_by_line(
    tmp_path: Path, mpi: Mpi, lines: str, complaint: str
) -> None:
    (tmp_path / "bad.plan").write_text(f"iotune-calls 1\nranks 1\n{lines}\n")
    said = typed(tmp_path, "replay", "bad.plan", status=1)
    assert said.startswith("iotune: the replay failed (1)") and complaint in said
    assert [path.name for path in tmp_path.iterdir()] == ["bad.plan"]
