"""Files that HDF5 keeps in pages: they are known by their bytes, replayed in pages, and read so."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from iotune.models.cases import _in_pages
from iotune.models.replays.paged_file import page_bytes_of
from iotune.models.settings.candidates import Shape, candidates
from iotune.models.settings.space import space

from iotune.replay.mpi import find_mpi, serial_hdf5
from iotune.replay.plan import Dataset, Plan, PlanFile, Selection, Transfer, plan_text
from iotune.replay.replayer import find_replayer, run_plan
from support.repository import COMPANIONS

pytestmark = pytest.mark.mpi

SERIAL = [
    *sorted(COMPANIONS.glob("hdf5-*/lib/libhdf5-*.so*")),
    *sorted(Path("/usr/lib").glob("*/libhdf5_serial.so.103")),
]
needs_mpi = pytest.mark.skipif(shutil.which("mpirun.mpich") is None, reason="no MPICH here")


def plan_of(page_bytes: int, create: bool = False) -> Plan:
    whole = Selection("all")
    transfer = Transfer(create, 0, False, {0: whole})
    return Plan(1, [PlanFile("a.h5", create, [Dataset("/d", 8, (1000,))], [transfer], page_bytes)])


def replay(library: Path, plan: Plan, folder: Path) -> Path:
    (folder / "plan").write_text(plan_text(plan))
    done = subprocess.run(
        [*serial_hdf5(str(library)).command(1), str(library), "--file-dir", str(folder),
         "--prepare", str(folder / "plan")],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "a.h5"


@pytest.mark.parametrize("library", SERIAL, ids=lambda path: path.name)
@pytest.mark.parametrize("create", [True, False])
def test_a_replay_makes_pages_that_are_recognised(
    library: Path, create: bool, tmp_path: Path
) -> None:
    for page_bytes in (0, 512, 8192, 1 << 20):
        file = replay(library, plan_of(page_bytes, create), tmp_path)
        assert page_bytes_of(file) == page_bytes
        file.unlink()


@needs_mpi
def test_so_does_the_replayer_over_mpi_io(tmp_path: Path) -> None:
    mpi = find_mpi()
    for page_bytes in (0, 8192):
        for create in (True, False):
            folder = tmp_path / f"{page_bytes}-{create}"
            folder.mkdir()
            (folder / "plan").write_text(plan_text(plan_of(page_bytes, create)))
            run_plan(mpi, find_replayer(mpi), folder / "plan", 1, folder,
                     [] if create else ["--prepare"], dict(os.environ), 60.0)  # fmt: skip
            assert page_bytes_of(folder / "a.h5") == page_bytes


@pytest.mark.skipif(not SERIAL, reason="no HDF5 without MPI here")
def test_damaged_files_have_pages_or_none(tmp_path: Path) -> None:
    whole = replay(SERIAL[0], plan_of(4096), tmp_path).read_bytes()
    draw = random.Random(5)
    odd = tmp_path / "odd"
    for _ in range(300):
        head = bytearray(whole[: draw.choice((10, 60, 100, 400, 4096))])
        for _ in range(draw.randrange(4)):
            head[draw.randrange(len(head))] = draw.randrange(256)
        odd.write_bytes(head)
        assert page_bytes_of(odd) >= 0
    for content in (b"", b"\x89HDF\r\n\x1a\n", b"text"):
        odd.write_bytes(content)
        assert page_bytes_of(odd) == 0
    assert page_bytes_of(tmp_path) == page_bytes_of(tmp_path / "nowhere") == 0


def shape(**more: object) -> Shape:
    fields = {"write": False, "collective": False, "distributions": ("BLOCK",), "ranks": 1,
              "file_bytes": 1 << 28, "page_bytes": 4096, **more}  # fmt: skip
    return Shape(**fields)  # type: ignore[arg-type]


def names(one: Shape) -> set[str]:
    return {name for each in candidates(one, 100) for name in each.settings}


def test_only_reads_of_paged_files_by_one_process_are_offered_a_page_buffer() -> None:
    assert "page_buffer" in names(shape())
    for other in ({"write": True}, {"ranks": 2}, {"page_bytes": 0}, {"layer": "mpiio"}):
        assert "page_buffer" not in names(shape(**other)), other
    # A buffer has room for some pages, however large they are.
    sizes = [int(one.settings["page_buffer"]) for one in candidates(shape(page_bytes=16 << 20), 100)
             if "page_buffer" in one.settings]  # fmt: skip
    assert sizes == [256 << 20]
    assert "evict_on_close" not in names(shape())


def test_many_datasets_are_offered_a_larger_metadata_cache() -> None:
    assert "mdc_size" in names(shape(datasets=5000)) and "mdc_size" not in names(shape())
    for one in (shape(datasets=5000), shape(write=True, datasets=5000, ranks=4)):
        points = {each.text for each in space(one)}
        assert {each.text for each in candidates(one, 100)} <= points


@pytest.mark.skipif(not SERIAL, reason="no HDF5 without MPI here")
def test_a_plan_of_a_recorded_file_has_its_pages(tmp_path: Path) -> None:
    from iotune.models.cases import Case

    file = replay(SERIAL[0], plan_of(8192), tmp_path)
    pattern = {"descriptor": "<1D,BLOCK,1000>", "op": "read"}
    case = Case(1, pattern, {"hdf5": "2.0.0", "mpi": "none"}, file=str(file))
    assert _in_pages(plan_of(0), case).files[0].page_bytes == 8192
    written = Case(1, {**pattern, "op": "write"}, case.platform, file=str(file))
    assert _in_pages(plan_of(0), written).files[0].page_bytes == 0
