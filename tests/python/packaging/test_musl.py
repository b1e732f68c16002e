"""A program of an image with musl runs, without iotune, and one line says so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import preloaded
from support.installed.package_files import PACKAGE


def test_a_program_for_musl_is_left_alone_in_plain_words(tmp_path: Path) -> None:
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("NOT VERIFIED musl: there is no musl-gcc (tools/setup.sh packaging)")
    source = tmp_path / "program.c"
    source.write_text('#include <stdio.h>\nint main(void) { return puts("ran") < 0; }\n')
    program = tmp_path / "program"
    subprocess.run([compiler, source, "-o", program], check=True)
    run = subprocess.run(
        [sys.executable, "-m", "iotune", "run", "--", program], capture_output=True, text=True
    )
    assert run.returncode == 0 and run.stdout == "ran\n", run
    assert "was built for musl and not for glibc: it runs without iotune" in run.stderr
    # Without the command musl's own loader refuses, before anything has run.
    bare = preloaded.run(program, libraries=(PACKAGE / "lib" / "libiotune.so",))
    assert bare.status == 127 and bare.out == b"" and b"symbol not found" in bare.err, bare
