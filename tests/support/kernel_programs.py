"""What the tests of the kernels share: running a program on ranks and reading what it left."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support import place
from support.place import Place
from support.preloaded import SECONDS, Done


class Programs:
    """The build's programs, or those of another folder, run in a place without iotune."""

    def __init__(self, place: Place, folder: Path | None = None, shim: bool = True) -> None:
        """`shim`: else a test of four ranks on two cores measures patience."""
        self.place = place
        self.folder = folder or place.bin
        self.shim = shim
        self.scratch = place.scratch

    def run(self, ranks: int, name: str, *arguments: object) -> Done:
        """Run a program; the caller judges its exit status."""
        return self.place.mpi(ranks, self.folder / name, *arguments, preload=False, shim=self.shim)

    def right(self, ranks: int, name: str, *arguments: object) -> str:
        """Run a program that has to succeed; returns what it printed."""
        done = self.run(ranks, name, *arguments)
        call = f"{name} {' '.join(map(str, arguments))} on {ranks} ranks"
        return self.place.right(done, call).out.decode()

    def result(self, ranks: int, name: str, *arguments: object) -> dict[str, Any]:
        """Run a program and return its line of JSON."""
        lines = self.right(ranks, name, *arguments).splitlines()
        assert len(lines) == 1, lines
        parsed: dict[str, Any] = json.loads(lines[0])
        return parsed

    def wrong(self, status: int, *words: str, command: Sequence[object]) -> None:
        """Run a program that has to fail with a status and with words on stderr.

        The command is ranks, name, arguments.
        """
        done = self.run(int(str(command[0])), str(command[1]), *command[2:])
        call = " ".join(map(str, command))
        assert done.status == status, f"{call}: status {done.status}, not {status}"
        said = done.err.decode()
        for word in words:
            assert word in said, f"{call}: '{word}' is not in: {said}"


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


def main(cases: Mapping[str, Callable[..., None]]) -> None:
    """Run the case that the command line names."""

    def in_place(case: Callable[..., None]) -> Callable[[Place], None]:
        return lambda place: case(Programs(place))

    place.main({name: in_place(case) for name, case in cases.items()})
