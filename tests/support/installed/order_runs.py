"""Runs of the programs in tests/mpi/programs/order, recorded with what orders their ranks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from typer.testing import CliRunner

from iotune import verify
from iotune.cli import app
from support.mpis import OPEN_MPI, Mpi
from support.preloaded import plain_environment
from support.repository import program_source

SECONDS = 120
BYTES = 256  # more than any of the programs touches


def compiled_programs(mpi: Mpi, names: list[str], folder: Path) -> dict[str, Path]:
    """Each program by its name, built by the MPI's compiler."""
    found = {}
    for name in names:
        found[name] = folder / f"{name}-{mpi.name}"
        subprocess.run(
            [mpi.compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", found[name],
             program_source(f"{name}.c")],
            check=True, capture_output=True, timeout=SECONDS,
        )  # fmt: skip
    return found


def environment(folder: Path) -> dict[str, str]:
    """A user's without anything of iotune's, at home in the folder."""
    homes = {name: str(folder / name.lower()) for name in ("HOME", "XDG_STATE_HOME",
             "XDG_DATA_HOME", "XDG_CONFIG_HOME")}  # fmt: skip
    return plain_environment() | homes | OPEN_MPI | {"IOTUNE_DB": "none"}


def iotune(
    folder: Path, *words: object, status: int | None = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A command; with None any exit status is right."""
    done = subprocess.run(
        [sys.executable, "-m", "iotune", *map(str, words)], cwd=folder, text=True,
        env=environment(folder) | variables, capture_output=True, timeout=SECONDS, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert status is None or done.returncode == status, (words, done.stdout, done.stderr)
    return done


def recorded(mpi: Mpi, ranks: int, program: Path, form: str, folder: Path) -> tuple[Path, Path]:
    """The trace of one run in order, and the file that its ranks shared."""
    shared, trace = folder / "shared.bin", folder / f"{program.name}-{form}.iotrace"
    shared.write_bytes(bytes(BYTES))  # a read that comes first gets bytes too, and so conflicts
    iotune(folder, "run", "--mode", "record", "-o", trace, "--", mpi.launcher, "-n", ranks,
           program, form, shared, IOTUNE_ORDER="1")  # fmt: skip
    return trace, shared


def verdicts_of(trace: Path) -> dict[str, dict[str, int]]:
    """What iotune finds, in the words of the brute force: by file the pairs, and by model those
    that are not properly synchronised.
    """
    files = verify.verdicts_of([trace]).files
    return _by_path((file.path, {"pairs": file.pairs, **file.violations}) for file in files)


def _by_path(files: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """One name may have been several files, one after the other."""
    found: dict[str, dict[str, int]] = {}
    for path, counts in files:
        known = found.get(path, {})
        found[path] = {word: known.get(word, 0) + count for word, count in counts.items()}
    return found


def verified(trace: Path) -> dict[str, dict[str, int]]:
    """The same as `iotune verify --json` prints it; the command's exit status is another matter."""
    done = CliRunner().invoke(app, ["verify", "--json", str(trace)])
    assert done.stdout.startswith("{"), (done.output, done.exception)
    return _by_path(
        (file["path"], {"pairs": file["pairs"],
                        **{model: said["violations"] for model, said in file["models"].items()}})
        for file in json.loads(done.stdout)["files"]
    )  # fmt: skip


def with_conflicts(verdicts: Mapping[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Without the files that have none: these need not be listed."""
    return {file: said for file, said in verdicts.items() if said["pairs"]}
