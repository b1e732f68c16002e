"""What the tests of the kernels share: running a program on ranks and reading what it left."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

SECONDS = 60  # for one run; the machine may be busy, and MPICH spins


class Programs:
    """The build's programs, run in a scratch directory."""

    def __init__(self, bin_dir: Path, mpirun: str, shim: Path, scratch: Path) -> None:
        self.bin_dir = bin_dir
        self.mpirun = mpirun
        self.shim = shim
        self.scratch = scratch

    def run(self, ranks: int, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a program; the caller judges its exit status."""
        command = [self.mpirun, "-n", str(ranks), str(self.bin_dir / name), *map(str, arguments)]
        # The shim: else a test of four ranks on two cores measures patience.
        environment = {**os.environ, "LD_PRELOAD": str(self.shim)}
        return subprocess.run(
            command, cwd=self.scratch, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def right(self, ranks: int, name: str, *arguments: object) -> str:
        """Run a program that has to succeed; returns what it printed."""
        done = self.run(ranks, name, *arguments)
        call = f"{name} {' '.join(map(str, arguments))} on {ranks} ranks"
        assert done.returncode == 0, f"{call}: status {done.returncode}\n{done.stderr}"
        return done.stdout

    def result(self, ranks: int, name: str, *arguments: object) -> dict[str, object]:
        """Run a program and return its line of JSON."""
        lines = self.right(ranks, name, *arguments).splitlines()
        assert len(lines) == 1, lines
        parsed: dict[str, object] = json.loads(lines[0])
        return parsed

    def wrong(self, status: int, *words: str, command: Sequence[object]) -> None:
        """Run a program that has to fail with a status and with words on stderr.

        The command is ranks, name, arguments.
        """
        done = self.run(int(str(command[0])), str(command[1]), *command[2:])
        call = " ".join(map(str, command))
        assert done.returncode == status, f"{call}: status {done.returncode}, not {status}"
        for word in words:
            assert word in done.stderr, f"{call}: '{word}' is not in: {done.stderr}"


def dumped_dims(path: Path) -> dict[str, tuple[int, ...]]:
    """Dataset path -> dimensions, by h5dump, which shares no code with the kernels."""
    dump = subprocess.run(
        ["h5dump", "-H", str(path)], capture_output=True, text=True, timeout=SECONDS, check=True
    ).stdout
    groups: list[str] = []
    dims: dict[str, tuple[int, ...]] = {}
    for line in dump.splitlines():
        depth = (len(line) - len(line.lstrip())) // 3
        if hit := re.match(r'\s*(GROUP|DATASET) "(.*)" \{', line):
            groups[depth:] = [hit[2].strip("/")]
        elif hit := re.match(r"\s*DATASPACE\s+SIMPLE \{ \( ([\d, ]+) \)", line):
            dims["/".join(groups)] = tuple(int(d) for d in hit[1].split(","))
        elif "DATASPACE  SCALAR" in line:
            dims["/".join(groups)] = ()
    return dims


def flip_bit(path: Path, dataset: str, byte: int) -> None:
    """Change one bit of a contiguous dataset, found in the file by h5dump's offset."""
    dump = subprocess.run(
        ["h5dump", "-H", "-p", "-d", dataset, str(path)],
        capture_output=True, text=True, timeout=SECONDS, check=True,
    ).stdout  # fmt: skip
    offset = re.search(r"OFFSET (\d+)", dump)
    assert offset is not None, dump
    with path.open("r+b") as file:
        file.seek(int(offset[1]) + byte)
        old = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([old[0] ^ 1]))


def main(cases: dict[str, Callable[[Programs], None]]) -> None:
    """Run the case that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin-dir", type=Path, required=True)
    parser.add_argument("--mpirun", required=True)
    parser.add_argument("--shim", type=Path, required=True)
    parser.add_argument("case", choices=cases)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kernels ") as scratch,
        tempfile.TemporaryDirectory(prefix="iotune-shim-") as links,
    ):
        # LD_PRELOAD splits at spaces and colons.
        shim = Path(links) / options.shim.name
        shim.symlink_to(options.shim.resolve())
        cases[options.case](Programs(options.bin_dir, options.mpirun, shim, Path(scratch)))
