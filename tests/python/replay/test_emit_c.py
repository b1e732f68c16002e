"""`iotune replay --emit-c`: a kernel in C that does what the recorded run did, without iotune."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from iotune.launch import preload
from iotune.replay.emit_c import c_source
from iotune.replay.mpi import find_mpi, hdf5_flags
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer
from support.installed.user_home import Home
from support.repository import KERNELS

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        preload.find_library(preload.LIBRARY) is None or not (KERNELS / "vpic-io").exists(),
        reason="libiotune.so is not installed, or the kernels are not built",
    ),
]
# Of the program and of what HDF5 and MPI-IO make of it.
COUNTED = {
    *("H5Fcreate", "H5Fopen", "H5Dcreate2", "H5Dopen2", "H5Dwrite", "H5Dread", "H5Dclose"),
    *("H5Fclose", "H5Sselect_hyperslab", "MPI_File_write_at", "MPI_File_write_at_all"),
    *("MPI_File_read_at", "MPI_File_read_at_all", "MPI_File_set_view"),
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def built(home: Home, source: Path) -> Path:
    mpi = find_mpi()
    program = source.with_suffix("")
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", str(source), *hdf5_flags(mpi)]
    done = subprocess.run(
        [str(mpi.compiler), *flags, "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return program


def run_of(home: Home, trace: Path, program: Path, *options: str, ranks: int) -> None:
    home.type(
        *("run", "--mode", "record", "-o", str(trace), "--"),
        *find_mpi().command(ranks), str(program), *options,
    )  # fmt: skip


def patterns(home: Home, trace: Path) -> list[dict[str, Any]]:
    """What each dataset of the trace was accessed as."""
    kept = ("dataset", "write", "descriptor", "element_bytes", "dataset_dims", "process_grid",
            "chunk", "filters", "ranks", "mode", "calls", "repeats", "bytes")  # fmt: skip
    return sorted(
        (
            {"file": Path(file["path"]).name} | {name: one[name] for name in kept}
            for file in home.asked("show", str(trace))["files"]
            for one in file["datasets"]
        ),
        key=str,
    )


def calls(home: Home, trace: Path) -> Counter[str]:
    return Counter(
        call["name"] for call in home.calls(str(trace)) if call["name"] in COUNTED
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "options", "ranks"),
    [
        ("resemble-vorpal-io", ["--size", "4x8x16", "--datasets", "3"], 4),
        ("cyclic-io", ["--size", "300", "--uneven", "--collective"], 3),
        ("column-io", ["--size", "64x8", "--chunk", "16x4", "--deflate", "1", "--collective"], 2),
    ],
)
def test_a_kernel_does_what_the_run_did(
    home: Home, kernel: str, options: Sequence[str], ranks: int
) -> None:
    # given a recorded run
    recorded, again = home.root / "recorded.iotrace", home.root / "again.iotrace"
    run_of(home, recorded, KERNELS / kernel, *options, ranks=ranks)
    sizes = {path.name: path.stat().st_size for path in home.work.glob("*.h5")}
    # when it is made a program
    source = home.root / "kernel.c"
    home.type("replay", str(recorded), "--emit-c", str(source))
    program = built(home, source)
    into = home.root / "into"
    into.mkdir()
    run_of(home, again, program, str(into), ranks=ranks)
    # then it makes the same calls, of the same patterns and bytes
    assert patterns(home, again) == patterns(home, recorded)
    assert calls(home, again) == calls(home, recorded)
    if kernel == "resemble-vorpal-io":  # one kind of dataset: nothing can be laid out otherwise
        assert {path.name: path.stat().st_size for path in into.glob("*.h5")} == sizes
    assert (
        "iotune"
        not in subprocess.run(
            ["ldd", str(program)], capture_output=True, text=True, check=True
        ).stdout
    )
    # and replaces nothing unasked, on no other number of ranks
    command = [*find_mpi().command(ranks), str(program), str(into)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    assert subprocess.run([*command, "--overwrite"], capture_output=True).returncode == 0
    other = [*find_mpi().command(ranks + 1), str(program), str(into)]
    done = subprocess.run(other, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"the plan is for {ranks} ranks" in done.stderr


def test_a_kernel_that_reads_makes_its_file_first(home: Home) -> None:
    # given
    options = ["--size", "8x64", "--chunk", "4x16"]
    subprocess.run(home.mpi("column-io", *options), cwd=home.work, check=True)
    recorded, again = home.root / "recorded.iotrace", home.root / "again.iotrace"
    run_of(home, recorded, KERNELS / "column-io", *options, "--read", ranks=2)
    # when
    source = home.root / "kernel.c"
    source.write_text(home.type("replay", str(recorded), "--emit-c", "-").stdout)
    program = built(home, source)
    into = home.root / "into"
    into.mkdir()
    command = [*find_mpi().command(2), str(program), str(into)]
    subprocess.run(command, capture_output=True, check=True)
    run_of(home, again, program, str(into), ranks=2)
    # then
    assert patterns(home, again) == patterns(home, recorded)
    assert calls(home, again) == calls(home, recorded)


def test_what_a_plan_can_say_becomes_c(home: Home) -> None:
    """Points, unions, everything, nothing, repetitions, datasets in turns, names beyond ASCII."""
    shapes = [Dataset('/g "1"/\u00e4??/\\', 8, (6, 4)), Dataset("/s", 3, ()),
              Dataset("/t", 12, (9,), type_class=3)]  # fmt: skip
    slabs = Selection("slab", ((0, 0, 1, 1, 2, 4, 1, 1), (4, 1, 1, 1, 1, 2, 1, 1)))
    steps = {0: Selection("slab", ((0, 0, 1, 1, 1, 4, 1, 1),)), 1: Selection("none")}
    transfers = [
        Transfer(True, 0, True, {0: slabs, 1: Selection("none")}),
        Transfer(True, 1, False, {1: Selection("all")}),
        Transfer(True, 0, True, {1: Selection("points", ((5, 3), (2, 2)))}),
        Transfer(True, 0, False, steps, repeat=3, shift=(2, 0)),
        Transfer(True, 2, False, {0: Selection("all")}),
    ]
    plan = Plan(2, [PlanFile("/a/x.h5", True, shapes, transfers),
                    PlanFile("/b/x.h5", True, shapes[2:], [Transfer(True, 0, False, {
                        0: Selection("slab", ((1, 2, 3, 1),))})])])  # fmt: skip
    source = home.root / "kernel.c"
    source.write_text(c_source(plan, "a */ comment"))
    program = built(home, source)
    command = [*find_mpi().command(2), str(program), str(home.work)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"files": 2' in done.stdout
    elements = (8 + 2 + 2 + 12) * 8 + 3 + 9 * 12
    assert f'"bytes": {elements + 3 * 12},' in done.stdout
    assert (home.work / "x.h5").exists()
    dump = ["h5dump", "-H", "-d", "/t", str(home.work / "1-x.h5")]
    assert "H5T_STRING" in subprocess.run(dump, capture_output=True, text=True).stdout


def test_pauses_are_kept_scaled_or_fixed(home: Home) -> None:
    # given three steps, each of two datasets, 150 ms apart
    options = ["--particles", "64", "--datasets", "2", "--steps", "3", "--pause-ms", "150"]
    home.type("run", "--mode", "record", "--timing", "exact", "--", *home.mpi("vpic-io", *options))
    trace = home.traces()[0]

    def kernel(name: str, *words: str) -> set[str]:
        """The pauses that its plan says."""
        source = home.root / f"{name}.c"
        home.type("replay", str(trace), "--emit-c", str(source), *words)
        return set(re.findall(r'"pause \d+ (\d+)",', source.read_text()))

    # when
    plain, fixed = kernel("plain"), kernel("fixed", "--pause", "5ms")
    kernel("kept", "--pause", "keep")
    kernel("one", "--pause", "x2", "-n", "1")
    # then
    assert not plain and fixed == {"5000000"}
    # and they are made
    for name, ranks, least_ns in (("kept", 2, 0.3e9), ("one", 1, 0.6e9)):
        program, again = built(home, home.root / f"{name}.c"), home.root / f"{name}.iotrace"
        into = home.root / f"by {name}"
        into.mkdir()
        home.type(
            *("run", "--mode", "record", "--timing", "exact", "-o", str(again), "--"),
            *find_mpi().command(ranks), str(program), str(into),
        )  # fmt: skip
        for rank in range(ranks):
            writes = home.calls("--rank", str(rank), "--call", "H5Dwrite", str(again))
            starts = [one["start"] for one in writes]
            assert len(starts) == 6
            gaps = [b - a for a, b in zip(starts, starts[1:])]
            # Between two steps, none within a step.
            assert sum(gap * 1e9 >= least_ns / 2 for gap in gaps) == 2
    assert home.type("replay", str(trace), "--emit-c", "-", "--pause", "often", status=2)


def test_each_rank_waits_for_itself(home: Home) -> None:
    """Repetitions, datasets in turns and ranks without a call, each with a pause of its own."""
    shapes = [Dataset("/a", 8, (8,)), Dataset("/b", 8, (8,))]
    rows = {rank: Selection("slab", ((rank, 1, 1, 1),)) for rank in range(2)}
    step = {0: 40_000_000, 1: 3_000_000}
    transfers = [
        Transfer(True, 0, False, rows, repeat=4, shift=(2,), pauses_ns=step),
        Transfer(True, 1, True, rows, pauses_ns={0: 7}),
        Transfer(True, 0, False, {1: rows[1]}, pauses_ns={1: 9}),
        Transfer(True, 1, True, rows),
    ]
    source = home.root / "kernel.c"
    source.write_text(c_source(Plan(2, [PlanFile("/a.h5", True, shapes, transfers)]), "pauses"))
    command = [*find_mpi().command(2), str(built(home, source)), str(home.work)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["seconds"] >= 4 * 0.04


def test_other_layers_are_refused(home: Home) -> None:
    home.run("vpic-io", "--size", "10")
    said = home.type(
        "replay", str(home.traces()[0]), "--emit-c", "-", "--layer", "posix", status=1
    ).stderr
    assert "--emit-c is for HDF5's transfers" in said
