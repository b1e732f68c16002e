"""A file names its own linker: one that is not root's is not started."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from iotune.doctor.libraries import loaded_by


def test_a_linker_that_is_not_root_s_is_not_started(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT VERIFIED: a program's own linker: there is no cc")
    linker, started = tmp_path / "linker", tmp_path / "started"
    linker.write_text(f"#!/bin/sh\ntouch {started}\n")
    linker.chmod(0o757)
    if os.geteuid() == 0:
        os.chown(linker, 12345, 12345)
    source, program = tmp_path / "a.c", tmp_path / "a"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(
        [compiler, source, "-o", program, f"-Wl,--dynamic-linker={linker}"], check=True
    )  # fmt: skip
    loaded = loaded_by(str(program))
    assert not started.exists()
    assert any("libc.so" in path for path in loaded.paths), loaded
