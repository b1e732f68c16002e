"""Makes the kept traces of the present format anew.

    .venv/bin/python tests/run.py tests/data/regenerate.py

Needs the installed package, the kernels of build/dev, cc and MPICH; see README.md.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from iotune.launch import preload
from support import preloaded
from support.installed import kept_traces
from support.repository import KERNELS, ROOT

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Record, then write down what is read."""
    version = re.search(r"kFormatVersion = (\d+)", _source("recorder/format.h"))
    assert version is not None
    folder = HERE / f"v{version[1]}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # A path that is the same everywhere, because it stands in the traces.
    work = Path(tempfile.gettempdir()) / "iotune-kept"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(mode=0o700)
    try:
        _record(work, folder)
    finally:
        shutil.rmtree(work)
    for trace in kept_traces.kept(folder):
        with tempfile.TemporaryDirectory() as place:
            kept_traces.write_expected(trace, kept_traces.unpacked(trace, Path(place)))
        print(trace.relative_to(HERE), trace.stat().st_size, "bytes")


def _record(work: Path, folder: Path) -> None:
    for program in ("serial", "killed", "pause"):
        source = HERE / "programs" / f"{program}.c"
        subprocess.run(["cc", "-O1", "-o", work / program, source], check=True)
    shutil.copy(KERNELS / "ph5example", work)
    subprocess.run(["mpicc.mpich", "-o", work / "order", HERE / "programs" / "order.c"], check=True)
    environment = {name: value for name, value in os.environ.items() if "IOTUNE" not in name}
    for kind in ("STATE", "DATA", "CONFIG"):
        environment[f"XDG_{kind}_HOME"] = str(work)
    environment["IOTUNE_BUFFER_DIR"] = str(work / "buffers")
    run = [sys.executable, "-m", "iotune", "run", "--mode", "record"]
    four_ranks = ["mpirun.mpich", "-n", "4", "./ph5example"]
    for name, more, command in (
        ("serial-posix", [], ["./serial"]),
        ("pause", [], ["./pause"]),
        ("four-ranks-hdf5", ["--timing", "call"], four_ranks),
        ("three-ranks-order", ["--order"], ["mpirun.mpich", "-n", "3", "./order"]),
        ("merged-ranks", [], ["env", "IOTUNE_MERGE_ABOVE_MIB=0", *four_ranks]),
    ):
        trace = work / f"{name}.iotrace"
        words = [*run, *more, "-o", str(trace), "--", *command]
        subprocess.run(words, cwd=work, env=environment, check=True)
        shutil.copyfile(trace, folder / trace.name)
    preloaded.run(
        "./killed", libraries=(preload.preload_path(),), environment=environment, cwd=work
    )
    (buffer,) = (work / "buffers").rglob("*.iobuf")
    # Without a time in it: the same bytes give the same file.
    (folder / "killed.iobuf.gz").write_bytes(gzip.compress(buffer.read_bytes(), mtime=0))


def _source(path: str) -> str:
    return (ROOT / path).read_text()


if __name__ == "__main__":
    main()
