"""Under a real Slurm of one node: srun starts the ranks, a job is cancelled, a batch job ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import preloaded
from support.learning_runs import nobody_waits
from support.mpi_runs import check_merged, joined_later, recorded, tuned
from support.mpis import compiled, find_mpi
from support.place import Place, main, not_verified
from support.repository import TESTBEDS

SLURM = TESTBEDS / "slurm"
MISSING = 77


def with_slurm(case: Callable[[Place], None]) -> Callable[[Place], None]:
    def run(place: Place) -> None:
        # Slurm's own settings cannot have a space in a path.
        folder = Path(tempfile.mkdtemp(prefix="iotune-slurm-"))
        up = subprocess.run([SLURM, "up", folder], capture_output=True, text=True, check=False)
        if up.returncode == MISSING:
            not_verified(up.stderr.strip())
            return
        assert up.returncode == 0, up.stderr
        os.environ["SLURM_CONF"] = up.stdout.strip()
        launcher = place.scratch / "srun"
        launcher.write_text('#!/bin/sh\nexec srun --mpi=pmi2 "$@"\n')
        launcher.chmod(0o755)
        place.mpirun = str(launcher)
        try:
            case(place)
        finally:
            subprocess.run([SLURM, "down", folder], check=True)
            shutil.rmtree(folder, ignore_errors=True)

    return run


def spine(place: Place) -> None:
    """Recorded whole, merged at the end, tuned."""
    mpi = find_mpi("mpich-4")
    assert mpi is not None
    program = compiled(place, mpi, "mpi_file.c")
    bare = place.right(place.mpi(2, program, "a.bin", preload=False))
    expected = (place.scratch / "a.bin").read_bytes()
    recorded(place, mpi, program, bare)
    tuned(place, mpi, program, bare)
    assert (place.scratch / "a.bin").read_bytes() == expected


def cancelled(place: Place) -> None:
    """What scancel leaves behind is joined by the next command."""
    program = place.bin / "vpic-io"
    arguments = ["-n", "2", str(program), "--steps", "9999", "--size", "4096", "--output", "a.h5"]
    env = place.environment(preload=True, IOTUNE_DB="none")
    first = place.scratch / "a00000.h5"
    with subprocess.Popen(
        [place.mpirun, *arguments], env=env, cwd=place.scratch,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as child:  # fmt: skip
        until = time.monotonic() + 30
        while not first.exists():
            assert child.poll() is None and time.monotonic() < until, list(place.scratch.iterdir())
            time.sleep(0.05)
        subprocess.run(["scancel", "--signal=KILL", "--user=root"], check=True)
        assert child.wait(timeout=60) not in (0, -signal.SIGSEGV)
    heads = [head["attributes"] for path in place.leftovers() for head in place.heads(path)]
    assert sorted(head["rank"] for head in heads) == ["0", "1"], heads
    calls = [call for path in place.leftovers() for call in place.calls(path)]
    assert any(call["name"] == "H5Dwrite" for call in calls)
    joined_later(place)


def batch(place: Place) -> None:
    """The preload set in a job's script, which runs other programs too."""
    mpi = find_mpi("mpich-4")
    assert mpi is not None
    program = compiled(place, mpi, "mpi_file.c")
    script = place.scratch / "job.sh"
    script.write_text(
        f"#!/bin/sh\nexport {preloaded.setting(place.library)}\nhostname > /dev/null\n"
        f"srun --mpi=pmi2 -n 2 '{program}' a.bin && echo it is done\n"
    )
    env: dict[str, Any] = {"IOTUNE_TRACE": place.trace, "IOTUNE_DB": "none"}
    place.right(place.run("sbatch", "--wait", "-n", "2", "-o", place.scratch / "said", script,
                          preload=False, **env))  # fmt: skip
    said = (place.scratch / "said").read_text()
    assert said.rstrip().endswith("it is done") and "iotune" not in said, said
    check_merged(place, mpi, 2)


def end(place: Place) -> None:
    """Ranks hand over and go; who learns may be killed."""
    mpi = find_mpi("mpich-4")
    assert mpi is not None
    nobody_waits(place, compiled(place, mpi, "irregular_writes.c"))


if __name__ == "__main__":
    main({"spine": with_slurm(spine), "cancelled": with_slurm(cancelled),
          "batch": with_slurm(batch), "end": with_slurm(end)})  # fmt: skip
