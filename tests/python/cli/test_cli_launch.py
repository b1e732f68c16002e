"""Programs behind launchers, what a preload cannot see of them, and how they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iotune.launch import start

pytestmark = pytest.mark.mpi

GCC = shutil.which("gcc")


def program(directory: Path, name: str) -> str:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def compiled(directory: Path, source: str, *flags: str) -> str:
    path = directory / "program"
    subprocess.run(
        [str(GCC), "-x", "c", "-", "-o", str(path), *flags], input=source, text=True, check=True
    )
    return str(path)


@pytest.mark.parametrize(
    "launcher",
    [
        "mpirun -n 4",
        "mpirun.mpich -np 4 -genv LD_DEBUG help -bind-to core",
        "mpiexec --map-by core --mca btl self,vader -x PATH -n 2",
        "srun -n 4 --mpi=pmi2",
        "env OMP_NUM_THREADS=1",
        "timeout 10",
        "mpirun -n 2 env A=1 taskset 0x3",
    ],
)
def test_the_program_is_found_behind_a_launcher(tmp_path: Path, launcher: str) -> None:
    # given
    code = program(tmp_path, "vpic-io")
    # then
    assert start.programs([*launcher.split(), code, "-n", "8"]) == [code]


def test_every_part_of_a_colon_list_is_found(tmp_path: Path) -> None:
    a, b = program(tmp_path, "a"), program(tmp_path, "b")
    assert start.programs(f"mpirun -n 1 {a} : -n 2 {b} x".split()) == [a, b]


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ("mpirun -n 4 {} -n 8", 4),
        ("nice -n 5 mpirun --np=16 {}", 16),
        ("mpiexec -np 2 -genv A b {} : -n 3 {}", 5),
        ("srun -n2 {}", 2),
        ("mpirun {} -n 8", None),
        ("mpirun -n 2 {} : {}", None),
        ("{} -n 8", None),
        ("", None),
    ],
)
def test_how_many_ranks_a_command_starts(tmp_path: Path, words: str, ranks: int | None) -> None:
    code = program(tmp_path, "code")
    assert start.ranks_of(words.replace("{}", code).split()) == ranks


def test_a_program_that_does_not_exist_is_left_out() -> None:
    assert start.programs(["mpirun", "-n", "4", "./no-such-program"]) == []
    assert start.programs([]) == []


@pytest.mark.parametrize(
    ("source", "flags", "says"),
    [
        ("int main(void) { return 0; }", ["-static"], "statically linked"),
        ("int H5Fcreate(void) { return 0; } int main(void) { return 0; }", [], "static libhdf5"),
        (
            'const char *settings = "SUMMARY OF THE HDF5 CONFIGURATION";'
            "int main(void) { return settings[0] == 0; }",
            ["-s"],
            "static libhdf5",
        ),
    ],
)
def test_what_cannot_be_seen_is_said(
    tmp_path: Path, source: str, flags: list[str], says: str
) -> None:
    assert says in start.why_blind(compiled(tmp_path, source, *flags))


GO_NOTE = """
.section .note.go.buildid,"a",@note
.long 4, 4, 4
.ascii "Go\\0\\0"
.long 0
.section .note.GNU-stack,"",@progbits
"""


@pytest.mark.parametrize("stripped", [[], ["-s"]])
def test_go_with_c_in_it_is_no_plain_program(tmp_path: Path, stripped: list[str]) -> None:
    # given a dynamic program with the note that Go's linker writes (cgo)
    note = tmp_path / "note.s"
    note.write_text(GO_NOTE)
    flags = ["-x", "assembler", str(note), *stripped]
    path = compiled(tmp_path, "int main(void) { return 0; }", *flags)
    # then
    assert "Go program" in start.why_blind(path)


def test_nothing_is_said_of_a_plain_program(tmp_path: Path) -> None:
    path = compiled(tmp_path, "int main(void) { return 0; }")
    assert start.why_blind(path) == ""
    assert start.why_refused(path) == ""
    assert start.why_blind(program(tmp_path, "script")) == ""


def test_an_unresolved_h5fcreate_is_no_static_hdf5(tmp_path: Path) -> None:
    source = "int H5Fcreate(void); int main(void) { return H5Fcreate(); }"
    path = compiled(tmp_path, source, "-Wl,--unresolved-symbols=ignore-all")
    assert start.why_blind(path) == ""


def test_a_setuid_program_of_another_user_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    path = compiled(tmp_path, "int main(void) { return 0; }")
    os.chmod(path, 0o4755)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)
    # then
    assert "setuid" in start.why_blind(path)


def test_a_truncated_elf_file_is_passed_over(tmp_path: Path) -> None:
    whole = Path(sys.executable).resolve().read_bytes()
    for size in (3, 16, 64, 200, 5000):
        cut = tmp_path / f"cut{size}"
        cut.write_bytes(whole[:size])
        assert start.why_refused(str(cut)) == ""


def test_the_preload_comes_before_what_is_there() -> None:
    base = {"LD_PRELOAD": "/a.so /b.so:/lib/libiotune.so", "HOME": "/root"}
    environment = start.preload_environment(base, "/lib/libiotune.so", {"IOTUNE_MODE": "tune"})
    assert environment["LD_PRELOAD"] == "/lib/libiotune.so:/a.so:/b.so"
    assert environment["IOTUNE_MODE"] == "tune"
    assert environment["HOME"] == "/root"


def test_address_sanitizer_stays_the_first_preload() -> None:
    base = {"LD_PRELOAD": "/a.so:/usr/lib/libasan.so.8"}
    environment = start.preload_environment(base, "/lib/libiotune.so", {})
    assert environment["LD_PRELOAD"] == "/usr/lib/libasan.so.8:/lib/libiotune.so:/a.so"


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)],
)
def test_the_exit_status_is_a_shell_s(script: str, status: int) -> None:
    assert start.run_forwarding_signals(["sh", "-c", script], os.environ) == status


def test_the_program_sees_default_signals() -> None:
    # given a pipe whose reader has gone: with SIGPIPE ignored, as Python has it, `yes` fails
    script = "yes | head -n 1 >/dev/null; exit ${PIPESTATUS[0]}"
    # then
    assert start.run_forwarding_signals(["bash", "-c", script], os.environ) == 141


def test_a_script_without_an_interpreter_line_runs(tmp_path: Path) -> None:
    script = tmp_path / "job"
    script.write_text("exit 7\n")
    script.chmod(0o755)
    assert start.run_forwarding_signals([str(script)], os.environ) == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_is_passed_on(number: signal.Signals) -> None:
    # given a runner whose program would sleep
    runner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys; from iotune.launch import start; "
            "sys.exit(start.run_forwarding_signals(['sh', '-c', 'echo up; exec sleep 30'], "
            "os.environ))",
        ],
        stdout=subprocess.PIPE,
        start_new_session=True,
        # A shell starts what it puts in the background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert runner.stdout is not None
    assert runner.stdout.readline() == b"up\n"
    time.sleep(0.1)
    # when
    runner.send_signal(number)
    # then
    assert runner.wait(timeout=10) == 128 + number
    runner.stdout.close()
