"""Each line that a finding prints runs: compiled and run on a real file, in its own language."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy
import pytest

from iotune.findings.finding import Snippet
from iotune.findings.rules import RULES
from iotune.findings.snippets import hdf5, mpiio, posix
from iotune.findings.snippets.languages import fitting, language_of
from iotune.findings.snippets.named import EXAMPLE, Named, chunk_for, slots_for
from iotune.replay.mpi import find_mpi
from iotune.traces.summary import RunSummary
from support.repository import program_source

pytestmark = pytest.mark.mpi

AROUND = program_source("snippets")
# Names that only quoting gets through a compiler and a shell.
AWKWARD = Named(
    'it\'s "old".h5',
    'a "b" c\'d',
    (256, 128, 128),
    "i",
    4,
    4,
    (1, 64, 128),
    32 << 20,
    809,
    packed=True,
)
ALL = {
    f"{rule.id}-{number}-{one.language}{'-awkward' if about is AWKWARD else ''}": one
    for rule in RULES
    for about in ((EXAMPLE, AWKWARD) if rule.lines else (EXAMPLE,))
    for number, one in enumerate(rule.snippets_for(about))
}
_RECORDS, _RECORD_BYTES = 3001, 4000


def library_of(code: str) -> str:
    if re.search(r"\bH5|\bh5|hid_t|hsize_t", code):
        return "hdf5"
    return "mpiio" if "MPI_" in code else "posix"


def compiled(one: Snippet, work: Path) -> list[str]:
    """The command of a program with these lines in it."""
    library, ending = library_of(one.code), {"c": "c", "fortran": "f90"}[one.language]
    (work / "snippet.inc").write_text(one.code + "\n")
    compilers = {"c": ("cc", "mpicc", "h5pcc"), "fortran": ("gfortran", "mpif90", "h5pfc")}
    plain, parallel, with_hdf5 = compilers[one.language]
    compiler = {"posix": plain, "mpiio": parallel, "hdf5": with_hdf5}[library]
    flags = ["-cpp", "-ffree-line-length-none"] if ending == "f90" else ["-Wall", "-Werror"]
    if ending == "c":
        flags += ["-Wno-unused-variable", "-Wno-unused-result", "-Wno-shadow"]
        flags += ["-Wno-unused-but-set-variable"]
    opened = re.search(r'(?:H5Dopen2\(file, |h5dopen_f\(file, )("(?:\\.|""|[^"\\])*")', one.code)
    chunk = re.search(r"chunk\[\d+\] = {([\d, ]+)};|int\(\[([\d, ]+)\]", one.code)
    in_lower = one.code.lower()
    about = {
        "OPENS": opened[1] if opened else "",
        "CHUNKS_OF": (chunk[1] or chunk[2]) if chunk and "pset_chunk" in in_lower else "",
        "DIVIDES": "1" if "fapl_mpio" in in_lower else "",
        "IN_LINE": "1" if "&own" in in_lower else "",
        "REOPENS": "1" if "h5fopen" in in_lower else "",
    }
    lines = [f"#define {name} {value}\n" for name, value in about.items() if value]
    # Not by -D: h5pcc and h5pfc hand their words to a shell once more.
    (work / "about.inc").write_text("".join(lines))
    program = work / "program"
    done = subprocess.run(
        [compiler, *flags, f"-I{work}", str(AROUND / f"{library}.{ending}"), "-o", str(program)],
        capture_output=True, text=True, cwd=work, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    launcher = [] if library == "posix" else find_mpi().command(2)
    return [*launcher, str(program)]


def run(command: list[str], work: Path) -> str:
    done = subprocess.run(
        command, cwd=work, capture_output=True, text=True, timeout=100, check=False,
        env=os.environ | {"IOTUNE_MODE": "off"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("one", ALL.values(), ids=ALL)
def test_the_lines_run(one: Snippet, tmp_path: Path) -> None:
    if one.language == "shell":
        (tmp_path / "lfs").write_text("#!/bin/sh\ntest $# = 6\n")
        (tmp_path / "iotune").write_text("#!/bin/sh\ntest $# = 4\n")
        (tmp_path / "mpirun").write_text("#!/bin/sh\ntest $# = 4 && test $1 = --mca\n")
        for name in ("lfs", "iotune", "mpirun"):
            (tmp_path / name).chmod(0o755)
        run(["sh", "-euc", f'PATH="$PWD:$PATH"\n{one.code}'], tmp_path)
        return
    if one.language != "python":
        run([*compiled(one, tmp_path), "data"], tmp_path)
        return
    opens = AWKWARD.path if f"file[{AWKWARD.quoted}]" in one.code else ""
    opens = opens or ("x" if 'file["x"]' in one.code else "")
    if AWKWARD.quoted_file in one.code and "rdcc" in one.code:
        h5py.File(tmp_path / AWKWARD.file, "w").close()
    (tmp_path / "snippet.py").write_text(one.code)
    run([sys.executable, str(AROUND / "around.py"), "data", opens], tmp_path)


def written_by(one: Snippet, work: Path) -> bytes:
    """The file that lines leave which write 3,001 records of 4,000 bytes."""
    if one.language == "python":
        (work / "snippet.py").write_text(one.code)
        run([sys.executable, str(AROUND / "around.py"), "data", ""], work)
    else:
        run([*compiled(one, work), "data"], work)
    return (work / "data").read_bytes()


@pytest.mark.parametrize("one", posix.GATHER, ids=[one.language for one in posix.GATHER])
def test_records_that_are_gathered_are_all_written(one: Snippet, tmp_path: Path) -> None:
    """They are no multiple of the buffer: what is left is written as well."""
    written = written_by(one, tmp_path)
    assert len(written) == _RECORDS * _RECORD_BYTES
    if one.language == "c":
        assert written == b"".join(bytes([k % 256]) * _RECORD_BYTES for k in range(_RECORDS))


def test_h5repack_takes_its_line_for_the_file_that_is_there(tmp_path: Path) -> None:
    # given
    path = tmp_path / "a field.h5"
    values = numpy.arange(64 * 32 * 32, dtype="f4").reshape(64, 32, 32)
    with h5py.File(path, "w") as file:
        file.create_dataset("group/field", data=values, chunks=(64, 16, 16), compression=1)
    about = replace(EXAMPLE, file=str(path), path="/group/field", chunk=(1, 32, 32))
    for one in hdf5.chunk_shape(about):
        # when
        (line,) = re.findall(r"h5repack .*\.h5'?", one.code)
        run(["sh", "-c", line], tmp_path)
        # then
        with h5py.File(tmp_path / "a field.new.h5") as file:
            assert file["group/field"].chunks == (1, 32, 32)
            assert file["group/field"].compression == "gzip"
            assert (file["group/field"][:] == values).all()
        (tmp_path / "a field.new.h5").unlink()


def test_a_chunk_has_the_shape_of_the_reads_within_reason() -> None:
    assert chunk_for((1, 128, 128), (256, 128, 128), 4) == (1, 128, 128)
    # smaller reads are joined along what lies together in memory
    assert chunk_for((1, 10), (10_000, 1000), 8) == (16, 1000)
    # larger ones are divided, and a small dataset has one chunk
    assert chunk_for((1000, 1000), (1000, 1000), 8) == (500, 1000)
    assert chunk_for((1,), (10,), 8) == (10,)


def test_slots_are_a_prime_of_a_hundred_a_chunk() -> None:
    assert slots_for(32 << 20, 4 << 20) == 809
    assert slots_for(32 << 20, 1 << 30) == 521


def test_the_first_lines_are_in_the_language_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "a.f90").write_text("print *, sum([1, 2])\nend\n")
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    for compiler, source, language in (("gfortran", "a.f90", "fortran"), ("cc", "a.c", "c")):
        program = tmp_path / language
        run([compiler, source, "-o", str(program)], tmp_path)
        assert language_of(RunSummary(program=str(program), program_name=language)) == language
    assert language_of(RunSummary(program_name="python3.11", identity="read.py")) == "python"
    assert language_of(RunSummary(program="/gone", program_name="gone")) == "c"
    # of one language those for the library whose calls are to change
    every = (*mpiio.COLLECTIVE, *hdf5.COLLECTIVE)
    for layer, word in (("hdf5", "h5dwrite_f"), ("mpiio", "MPI_File_write_all")):
        first = fitting(every, "fortran", layer)[0]
        assert first.language == "fortran" and word in first.code
    # and where there are none in it, those in C
    assert fitting((hdf5.ORDER,), "python", "hdf5")[0].language == "c"
