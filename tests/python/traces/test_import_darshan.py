"""`iotune import` of Darshan's logs: those that PyDarshan's wheel carries, and damaged ones."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import iotune
from iotune.importing import import_log
from iotune.importing.darshan_worker import offset_word, true_extents
from support.installed.import_logs import imported, rows, typed


def darshan_log(name: str) -> Path:
    found = importlib.util.find_spec("darshan")
    if found is None or found.origin is None:
        pytest.skip("NOT VERIFIED: Darshan's logs: PyDarshan is not installed")
    [*logs] = Path(found.origin).parent.rglob(name)
    if not logs:
        pytest.skip(f"NOT VERIFIED: Darshan's logs: this PyDarshan carries no {name}")
    return logs[0]


def segments(log: Path) -> Counter[tuple]:
    """What PyDarshan says of DXT_POSIX."""
    import darshan

    report = darshan.DarshanReport(str(log), read_all=False)
    report.mod_read_all_dxt_records("DXT_POSIX", dtype="dict")
    found: Counter[tuple] = Counter()
    for record in report.records["DXT_POSIX"]:
        path = report.name_records[record["id"]]
        for key, name in (("write_segments", "pwrite"), ("read_segments", "pread")):
            for one in record[key]:
                found[(record["rank"], name, path, one["offset"], one["length"])] += 1
    return found


@pytest.mark.parametrize("name", ["ior_hdf5_example.darshan", "sample-dxt-simple.darshan"])
def test_darshan_logs_hold_what_pydarshan_says(tmp_path: Path, name: str) -> None:
    log = darshan_log(name)
    trace, done = imported(log, tmp_path)
    assert done.format == "darshan"
    assert Counter(row[:5] for row in rows(trace, "pread", "pwrite")) == segments(log)
    depths = {call.depth for call in trace.each_call(layer="posix", call=("pread", "pwrite"))}
    assert depths <= {0, 1}
    # DXT saw no views, but POSIX moved just the bytes that MPI-IO was asked for.
    for call in trace.each_call(layer="mpi", call="MPI_File_*_at"):
        assert "[at ?" not in call.text
    if name.startswith("ior"):
        found = typed(tmp_path, "show", str(done.trace)).stdout
        assert found.count("(bytes from 2048)  <1D,(BLOCK),(1048576)>") == 2


def dxt(module: str, rank: int, *segments: tuple[int, int, float, float], reads: bool = False):
    """A record of DXT of one file."""
    made = [dict(zip(("offset", "length", "start_time", "end_time"), one)) for one in segments]
    kinds = {"read_segments": made if reads else [], "write_segments": [] if reads else made}
    return f"DXT_{module}", {"id": 7, "rank": rank, **kinds}


def test_extents_of_mpi_io_are_places_where_posix_says_so() -> None:
    whole = dxt("MPIIO", 0, (100, 50, 1.0, 2.0), (0, 0, 2.0, 3.0))
    pieces = dxt("POSIX", 0, (120, 30, 1.5, 1.6), (100, 20, 1.7, 2.0), (900, 1, 2.5, 2.6))
    assert true_extents([pieces, whole]) == {7}
    # a request without its POSIX, other bytes, a gap, bytes outside of the request's time
    assert true_extents([whole]) == set()
    for other in ((100, 40, 1.5, 1.6), (0, 50, 1.5, 1.6), (100, 50, 0.5, 1.6), (100, 50, 1.5, 2.1)):
        assert true_extents([dxt("POSIX", 0, other), whole]) == set()
    # two-phase I/O under a view: rank 0 happens to move its extent, rank 1 does not
    views = [dxt("POSIX", 0, (0, 50, 1.5, 1.6)), dxt("MPIIO", 0, (0, 50, 1.0, 2.0))]
    assert true_extents(views) == {7}
    views += [dxt("POSIX", 1, (50, 50, 1.5, 1.6)), dxt("MPIIO", 1, (0, 50, 1.0, 2.0))]
    assert true_extents(views) == set()
    # a read that met the file's end, and a write that did not write all
    for reads in (True, False):
        short = [dxt("POSIX", 0, (100, 20, 1.5, 1.6), reads=reads)]
        short.append(dxt("MPIIO", 0, (100, 50, 1.0, 2.0), reads=reads))
        assert true_extents(short) == ({7} if reads else set())


def test_damaged_darshan_logs_are_an_error_or_a_trace(tmp_path: Path) -> None:
    whole = darshan_log("ior_hdf5_example.darshan").read_bytes()
    draw = random.Random(20121112)
    log, target = tmp_path / "cut.darshan", tmp_path / "made.iotrace"
    refused = 0
    for round_ in range(10):
        damaged = bytearray(whole)
        if round_ % 2:
            del damaged[draw.randrange(24, len(whole)) :]
        else:
            for _ in range(draw.randint(1, 20)):
                damaged[draw.randrange(24, len(damaged))] = draw.randrange(256)
        log.write_bytes(damaged)
        target.unlink(missing_ok=True)
        try:
            import_log(log, target)
        except iotune.Error as problem:
            refused += 1
            assert re.match(rf"{re.escape(str(log))}: (record \d+|its head): .", str(problem))
            assert "\n" not in str(problem)
            assert [path.name for path in tmp_path.iterdir()] == ["cut.darshan"]
        else:
            trace = iotune.open_trace(target)
            assert trace.metadata["calls"] > 0 or trace.summary.files
    assert refused > 0


def test_darshan_without_pydarshan_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "job.darshan"
    log.write_bytes(b"3.21\0\0\0\0" + (6567223).to_bytes(8, "little") + bytes(100))
    program = (
        "import sys; sys.modules['darshan'] = None\n"
        "from iotune.cli import main\n"
        f"sys.argv = ['iotune', 'import', {str(log)!r}]\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"iotune: {log}: reading Darshan's logs needs PyDarshan: pip install 'iotune[darshan]'\n"
    )


def of_version_1(log: Path, to: Path) -> Path:
    """The log as Darshan before 3.2.0 wrote it: DXT's module of MPI-IO has version 1."""
    content = bytearray(log.read_bytes())
    modules, of_mpi_io = 16, 10
    # Version, magic number, compression and flags, the map of names, those of the modules.
    versions = 8 + 8 + 8 + 16 + 16 * modules
    at = versions + 4 * of_mpi_io
    assert int.from_bytes(content[at : at + 4], "little") == 2, "the log's head has another form"
    content[at : at + 4] = (1).to_bytes(4, "little")
    to.write_bytes(content)
    return to


def test_offsets_that_were_not_recorded_are_unknown(tmp_path: Path) -> None:
    # given
    whole = darshan_log("ior_hdf5_example.darshan")
    old = of_version_1(whole, tmp_path / "old.darshan")
    # when
    trace, done = imported(old, tmp_path)
    # then
    assert done.notes == ["the offsets of MPI-IO were not recorded: their places are ?"]
    transfers = list(trace.each_call(layer="mpi", call="MPI_File_*_at"))
    assert transfers and all("[at ?" in call.text for call in transfers)
    (tmp_path / "new").mkdir()
    known, _ = imported(whole, tmp_path / "new")
    assert rows(trace, "pread", "pwrite") == rows(known, "pread", "pwrite")
    lengths = [str(row[4]) for row in rows(known, layer="mpi")]
    assert [str(row[4]) for row in rows(trace, layer="mpi")] == lengths
    files = {one.path: one.bytes for one in known.summary.files}
    assert {one.path: one.bytes for one in trace.summary.files} == files


def test_only_mpi_io_may_have_no_offset() -> None:
    assert offset_word("DXT_MPIIO", -1) == "?"
    assert offset_word("DXT_MPIIO", -2) == "-2" and offset_word("DXT_POSIX", -1) == "-1"


def test_one_bad_log_of_a_folder_is_one_line(tmp_path: Path) -> None:
    # given
    folder = tmp_path / "logs"
    folder.mkdir()
    whole = darshan_log("ior_hdf5_example.darshan").read_bytes()
    (folder / "a.darshan").write_bytes(whole[:400])
    (folder / "b.darshan").write_bytes(whole)
    (folder / "c.darshan").write_bytes(whole[:500])
    # when
    done = typed(tmp_path, "analyze", "logs")
    # then
    assert done.returncode == 0 and "logs/b.darshan, 4 ranks" in done.stdout
    said = [line for line in done.stderr.splitlines() if "next:" not in line]
    assert len(said) == 2 and all(line.startswith("iotune: logs/") for line in said), said
    asked = json.loads(typed(tmp_path, "analyze", "logs", "--json").stdout)
    assert [one["name"] for one in asked["traces"]] == ["logs/b.darshan"]
    assert [text.split(":")[0] for text in asked["left_out"]] == [
        "logs/a.darshan", "logs/c.darshan",
    ]  # fmt: skip
    # what is named by its user himself fails, and so does a folder without one that is good
    named = typed(tmp_path, "analyze", "logs/a.darshan", "logs/b.darshan", status=1)
    assert "logs/b.darshan, 4 ranks" in named.stdout
    (folder / "b.darshan").unlink()
    none = typed(tmp_path, "analyze", "logs", status=1)
    assert none.stdout == "" and none.stderr.count("\n") == 1
