"""`iotune doctor -- PROGRAM`: programs that nobody here wrote, and small ones built for a fault."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS
from iotune.launch import start
from support import mpis, preloaded
from support.installed.doctors import Patient, says

pytestmark = pytest.mark.mpi

GCC = shutil.which("gcc")
NOTHING = "int main(void) { return 0; }"
MPI = "#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); return MPI_Finalize(); }"
HDF5 = "#include <hdf5.h>\nint main(void) { return H5open(); }"


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def built(folder: Path, source: str, *flags: str, compiler: str | None = GCC) -> Path:
    program = folder / "program"
    command = [str(compiler), "-o", str(program), "-x", "c", "-", "-x", "none", *flags]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"NOT VERIFIED: {done.stderr.strip().splitlines()[-1]}")
    return program


def need(*names: str) -> list[str]:
    """Paths of programs of the system, or a skip."""
    found = [shutil.which(name) for name in names]
    if None in found:
        pytest.skip(f"NOT VERIFIED: {', '.join(names)} are not all here")
    return [str(one) for one in found]


def flags_of(package: str) -> list[str]:
    done = subprocess.run(
        ["pkg-config", "--cflags", "--libs", package], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"NOT VERIFIED: no {package}")
    return done.stdout.split()


def mpi_named(name: str) -> mpis.Mpi:
    found = mpis.find_mpi(name)
    if found is None:
        pytest.skip(f"NOT VERIFIED: no {name}")
    return found


@pytest.mark.parametrize("name", ["cat", "dd", "tar", "gzip", "bash", "awk", "grep", "python3"])
def test_nothing_is_wrong_with_a_system_s_tools(patient: Patient, name: str) -> None:
    [program] = need(name)
    found = patient.about(program)
    assert {one["verdict"] for one in found} == {WORKS}
    says(found, "program", WORKS, subject=program)
    says(found, "linkage", WORKS, "dynamic")
    says(found, "setuid", WORKS)
    says(found, "sanitizer", WORKS)
    says(found, "libraries", WORKS, "libiotune.so")
    says(found, "hdf5", WORKS, "none")
    says(found, "loading", WORKS)
    says(found, "system-calls", WORKS)
    says(found, "giving-up-rights", WORKS)


def test_a_static_program_of_the_system(patient: Patient) -> None:
    [program] = need("/usr/sbin/ldconfig")
    found = patient.about("env", "A=1", program, "-p")
    says(found, "linkage", FAILS, "statically linked", "iotune fuse", subject=program)


def test_a_program_that_is_built_static(patient: Patient) -> None:
    found = patient.about(built(patient.work, NOTHING, "-static"))
    says(found, "linkage", FAILS, "statically linked", "without -static")


@pytest.mark.soak
def test_a_go_program(patient: Patient) -> None:
    [go] = need("go")
    (patient.work / "main.go").write_text("package main\n\nfunc main() {}\n")
    environment = {**os.environ, "GOCACHE": str(patient.root / "go"), "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "build", "-o", "program", "main.go"], cwd=patient.work, env=environment,
                   check=True)  # fmt: skip
    says(patient.about("./program"), "linkage", FAILS, "Go program")


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT VERIFIED: gives a file away, which wants root")
def test_a_setuid_copy_of_another_user(patient: Patient) -> None:
    [program] = need("true")
    copy = shutil.copy(program, patient.work / "copy")
    os.chown(copy, 65534, -1)
    os.chmod(copy, 0o4755)
    says(patient.about(copy), "setuid", FAILS, "ignores the preload", "copy")
    os.chmod(copy, 0o755)
    says(patient.about(copy), "setuid", WORKS)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT VERIFIED: gives capabilities, which wants root")
def test_capabilities_of_a_file(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    [program] = need("true")
    copy = shutil.copy(program, patient.work / "copy")
    # cap_net_raw, permitted and effective, of revision 2.
    os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    says(patient.about(copy), "setuid", WORKS)  # root keeps the preload
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    assert "capabilities" in start.why_secure(str(copy))
    assert start.why_secure(program) == ""


def test_sanitizers(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    program = built(patient.work, NOTHING, "-fsanitize=address")
    says(patient.about(program), "sanitizer", FAILS, "AddressSanitizer", "-fsanitize=address")
    assert "first preload" in start.why_refused(str(program))
    monkeypatch.setenv(preloaded.VARIABLE, "/usr/lib/libasan.so.8")
    assert start.why_refused(str(program)) == ""
    monkeypatch.delenv(preloaded.VARIABLE)
    program = built(patient.work, NOTHING, "-fsanitize=thread")
    says(patient.about(program), "sanitizer", PARTLY, "ThreadSanitizer")
    program = built(patient.work, "void __msan_init(void) {}\n" + NOTHING)
    says(patient.about(program), "sanitizer", UNKNOWN, "MemorySanitizer")


def test_what_is_no_program(patient: Patient) -> None:
    for content, verdict, text in (
        (b"\x00\x01\x02" * 100, FAILS, "neither ELF nor a script"),
        (b"", FAILS, "empty"),
        (b"echo a\n", PARTLY, "a shell reads it"),
    ):
        path = patient.work / "thing"
        path.write_bytes(content)
        path.chmod(0o755)
        says(patient.about("./thing"), "program", verdict, text, subject=str(path))
    path.chmod(0o644)
    says(patient.about("./thing"), "program", FAILS, "644", "chmod +x")
    says(patient.about("./nowhere"), "program", FAILS, "No such file")
    says(patient.about("/usr"), "program", FAILS, "a directory")
    # A cut program is none either.
    path.write_bytes(Path(sys.executable).read_bytes()[:2000])
    path.chmod(0o755)
    says(patient.about("./thing"), "program", FAILS, "neither ELF")


def test_a_program_of_another_machine(patient: Patient) -> None:
    program = built(patient.work, NOTHING)
    content = bytearray(program.read_bytes())
    content[18:20] = (183 if content[18] != 183 else 62).to_bytes(2, "little")
    program.write_bytes(content)
    says(patient.about(program), "program", FAILS, "built for")


def test_a_missing_library(patient: Patient) -> None:
    built(patient.work, "int there(void) { return 0; }", "-shared", "-fPIC")
    (patient.work / "program").rename(patient.work / "libthere.so")
    source = "int there(void); int main(void) { return there(); }"
    program = built(patient.work, source, f"-L{patient.work}", "-lthere")
    says(patient.about(program), "libraries", FAILS, "libthere.so", "LD_LIBRARY_PATH")
    says(patient.about(program, LD_LIBRARY_PATH=patient.work), "libraries", WORKS)


def test_scripts(patient: Patient) -> None:
    script = patient.work / "script"
    for first, verdict, text in (
        ("#!/bin/sh", WORKS, "inherits the preload"),
        ("#!/nowhere/python3", FAILS, "is not there"),
        ("#!/usr/bin/env python3", WORKS, "no module"),
        ("#!/bin/sh\n# program - temporary wrapper script for .libs/program of libtool", PARTLY,
         ".libs/script"),
    ):  # fmt: skip
        script.write_text(f"{first}\nexit\n")
        script.chmod(0o755)
        says(patient.about("./script"), "script", verdict, text, subject=str(script))


def test_tools_that_link_hdf5(patient: Patient) -> None:
    for name in need("h5dump", "ncdump"):
        found = patient.about(name)
        says(found, "hdf5", WORKS, "HDF5 1.", "not parallel, shared", subject="libhdf5")
        assert not [one for one in found if one["id"] in ("mpi-library", "mpi-io")]


@pytest.mark.parametrize(
    ("name", "verdict", "text"),
    [
        ("mpich-4", WORKS, "ROMIO"),
        ("openmpi-4", PARTLY, "OMPIO"),
        ("mpich-5", WORKS, "ROMIO"),
        ("standard-abi", WORKS, "ROMIO"),
        ("openmpi-5", PARTLY, "OMPIO"),
    ],
)
def test_each_mpi(patient: Patient, name: str, verdict: str, text: str) -> None:
    mpi = mpi_named(name)
    found = patient.about(mpi.launcher, "-n", 2, built(patient.work, MPI, compiler=mpi.compiler))
    abi = {"standard-abi": "MPI 5's standard"}.get(name, mpi.version.split(" v")[0].split(" 4")[0])
    says(found, "mpi-library", WORKS, mpi.version, abi.removesuffix(" 5"))
    says(found, "mpi-io", verdict, text)
    says(found, "launcher", WORKS, subject=mpi.launcher)


def test_an_open_mpi_5_hands_its_romio_nothing(patient: Patient) -> None:
    mpi = mpi_named("openmpi-5")
    program = built(patient.work, MPI, compiler=mpi.compiler)
    says(patient.about(program, OMPI_MCA_io="romio341"), "mpi-io", FAILS, "no hints", "ROMIO_HINTS")


def test_another_mpi_s_launcher(patient: Patient) -> None:
    mpich, open_mpi = mpi_named("mpich-4"), mpi_named("openmpi-4")
    program = built(patient.work, MPI, compiler=mpich.compiler)
    found = patient.about(open_mpi.launcher, "-n", 2, program)
    says(found, "launcher", FAILS, "a run of one rank", "mpirun.mpich")
    says(patient.about("mpirun-of-nowhere", "-n", 2, program), "program", FAILS)


def test_a_launcher_that_does_not_say_how_many_ranks_a_node_has(patient: Patient) -> None:
    program = built(patient.work, MPI, compiler=mpi_named("mpich-4").compiler)
    launcher = patient.work / "aprun"
    launcher.write_text("#!/bin/sh\n")
    launcher.chmod(0o755)
    found = patient.about(launcher, "-n", 2, program)
    says(found, "launcher", PARTLY, "each rank writes into the home", "XDG_STATE_HOME")


def test_an_mpi_that_nobody_knows(patient: Patient) -> None:
    source = (
        "#include <string.h>\nint MPI_Init(void) { return 0; }\n"
        "int MPI_Get_library_version(char* text, int* length)"
        ' { strcpy(text, "HPE MPT 2.25"); *length = 12; return 0; }'
    )
    built(patient.work, source, "-shared", "-fPIC", "-Wl,-soname,libmpi.so")
    (patient.work / "program").rename(patient.work / "libmpi.so")
    source = "int MPI_Init(void); int main(void) { return MPI_Init(); }"
    program = built(
        patient.work, source, f"-L{patient.work}", "-lmpi", f"-Wl,-rpath,{patient.work}"
    )
    found = patient.about(program)
    says(found, "mpi-library", FAILS, "HPE MPT 2.25")
    says(found, "mpi-io", FAILS, "left alone")


@pytest.mark.parametrize("name", ["mpich-4", "openmpi-4"])
def test_a_parallel_hdf5(patient: Patient, name: str) -> None:
    mpi = mpi_named(name)
    program = built(patient.work, HDF5, *flags_of(mpi.hdf5_package), compiler=mpi.compiler)
    says(patient.about(program), "hdf5", WORKS, "parallel, shared", mpi.hdf5_package[5:])


def test_an_hdf5_without_mpi_in_an_mpi_program(patient: Patient) -> None:
    mpi = mpi_named("mpich-4")
    library = next(Path("/usr/lib").glob("*/libhdf5_serial.so.*"), None)
    if library is None:
        pytest.skip("NOT VERIFIED: no serial libhdf5")
    source = f"int H5open(void);\n{MPI.replace('MPI_Init', 'H5open(); MPI_Init', 1)}"
    program = built(patient.work, source, str(library), compiler=mpi.compiler)
    says(patient.about(program), "hdf5", PARTLY, "not parallel, and the program loads MPI")


def test_an_hdf5_of_another_mpi(patient: Patient) -> None:
    mpich = mpi_named("mpich-4")
    library = next(Path("/usr/lib").glob("*/libhdf5_openmpi.so.1*"), None)
    if library is None:
        pytest.skip("NOT VERIFIED: no libhdf5 of Open MPI")
    source = f"int H5open(void);\n{MPI.replace('MPI_Init', 'H5open(); MPI_Init', 1)}"
    program = built(patient.work, source, str(library), compiler=mpich.compiler)
    says(patient.about(program), "hdf5", FAILS, "another MPI", "Open MPI v4", "MPICH 4")


def test_what_h5pcc_links(patient: Patient) -> None:
    [compiler] = need("h5pcc")
    source = patient.work / "source.c"
    source.write_text(HDF5)
    subprocess.run([compiler, "-o", "program", source], cwd=patient.work, check=True,
                   capture_output=True)  # fmt: skip
    found = patient.about("./program")
    if any("shared" in one["evidence"] for one in found if one["id"] == "hdf5"):
        pytest.skip("NOT VERIFIED: this h5pcc links the shared library")
    says(found, "hdf5", FAILS, "a static HDF5 1.", "parallel", "not h5pcc")


def test_a_python_script_with_h5py(patient: Patient) -> None:
    pytest.importorskip("h5py")
    script = patient.work / "read.py"
    script.write_text("import sys\nif sys.argv:\n    from h5py import File\n")
    found = patient.about("env", "A=1", sys.executable, "-W", "error", "read.py", "a.h5")
    says(found, "script", WORKS, "imports h5py", subject=str(script))
    says(found, "hdf5", WORKS, "HDF5", "not parallel, shared")
    script.write_text(f"#!{sys.executable}\nimport ctypes, os\nos.chroot('/')\n")
    script.chmod(0o755)
    found = patient.about("./read.py")
    says(found, "loading", PARTLY, "ctypes", "h5py")
    says(found, "giving-up-rights", PARTLY, "os.chroot")
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.setdlopenflags(os.RTLD_DEEPBIND)\n")
    says(patient.about("./read.py"), "loading", PARTLY, "RTLD_DEEPBIND")


def test_debian_s_h5py_has_both(patient: Patient) -> None:
    if not Path("/usr/lib/python3/dist-packages/h5py/_debian_h5py_mpi").is_dir():
        pytest.skip("NOT VERIFIED: no h5py of Debian with and without MPI")
    (patient.work / "read.py").write_text("import h5py\n")
    found = patient.about("/usr/bin/python3", "read.py")
    says(found, "hdf5", WORKS, ", parallel, shared")
    says(found, "hdf5", WORKS, "not parallel, beside a parallel one")
    says(found, "mpi-library", WORKS, "Open MPI v")


def test_plug_ins_and_other_name_spaces(patient: Patient) -> None:
    source = "void* {0}(); int main(void) {{ return {0}(0, 0, 0) != 0; }}"
    program = built(patient.work, source.format("dlopen"), "-fno-builtin")
    says(patient.about(program), "loading", WORKS, "imports dlopen")
    program = built(patient.work, source.format("dlmopen"), "-fno-builtin")
    says(patient.about(program), "loading", PARTLY, "dlmopen")
    text = 'const char* help = "--deep: load with RTLD_DEEPBIND";'
    program = built(patient.work, f"{text} int main(void) {{ return help[0] == 0; }}")
    says(patient.about(program), "loading", PARTLY, "RTLD_DEEPBIND")


def test_transfers_past_libc(patient: Patient) -> None:
    for name, kind in (("io_uring_queue_init", "io_uring"), ("io_submit", "libaio")):
        source = f"int {name}(void) {{ return 0; }} int main(void) {{ return {name}(); }}"
        says(patient.about(built(patient.work, source)), "system-calls", PARTLY, kind)


def test_programs_that_give_up_rights(patient: Patient) -> None:
    for program in need("chroot", "unshare"):
        says(patient.about(program), "giving-up-rights", PARTLY, "it imports chroot")


def test_libseccomp_is_seen(patient: Patient) -> None:
    built(patient.work, "int seccomp_load(void) { return 0; }", "-shared", "-fPIC",
          "-Wl,-soname,libseccomp.so.2")  # fmt: skip
    (patient.work / "program").rename(patient.work / "libseccomp.so.2")
    source = "int seccomp_load(void); int main(void) { return seccomp_load(); }"
    program = built(patient.work, source, f"{patient.work}/libseccomp.so.2")
    found = patient.about(program, LD_LIBRARY_PATH=patient.work)
    says(found, "giving-up-rights", PARTLY, "imports libseccomp")


def test_every_program_of_a_command_line_is_looked_at(patient: Patient) -> None:
    first, second = need("cat", "grep")
    found = patient.about("mpirun", "-n", "1", first, ":", "-n", "2", second, "x")
    says(found, "program", WORKS, subject=first)
    says(found, "program", WORKS, subject=second)
