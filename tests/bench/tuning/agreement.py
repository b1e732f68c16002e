"""What presence and agreement cost a parallel program: rows of `make bench NAME=decision`.

All arms run the same program (agreement_timer.c) on two ranks, one a core. *record* has all of
iotune but the tuner; *nothing to set* agrees by one message that there is no decision; *a setting*
agrees on a hint that is MPI-IO's default, so that nothing but the agreement differs (rank 0 reads
IOTUNE_CONFIG at each open, which counts too). Of MPI_Init and of the first open the time inside
MPI, as the trace has it, is taken off: it varies by more than is measured here.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench import paired
from support import preloaded

RANKS = 2
FILES = 101
PARTS = ("MPI_Init", "first MPI_File_open", "MPI_File_open", "H5Fcreate")
SETTING = """<Parameters><Middleware_Layer>
  <cb_buffer_size>16777216</cb_buffer_size>
</Middleware_Layer></Parameters>
"""


def run(program: Path, folder: Path, env: Mapping[str, str]) -> tuple[float, ...]:
    """Microseconds of each of PARTS."""
    done = subprocess.run(
        ["mpirun.mpich", "-n", str(RANKS), str(program), str(folder / "file"), str(FILES)],
        env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    if done.returncode != 0:
        raise paired.ArmFailed(f"agreement_timer: {done.stderr[-500:]}")
    numbers = [float(number) for number in done.stdout.split()]
    for part, call in enumerate(("MPI_Init", "MPI_File_open")):
        numbers[part] -= inside(Path(env["IOTUNE_TRACE"]), call)
    return tuple(numbers)


def inside(trace: Path, call: str) -> float:
    """Microseconds of rank 0's first call in MPI itself."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "iotune", "show", "--calls", str(trace)),
            *("--call", call, "--limit", str(2 * RANKS), "--json"),
        ],
        env={**os.environ, "IOTUNE_DB": "none"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    calls = [json.loads(line) for line in done.stdout.splitlines()]
    return float(next(one["duration_ns"] for one in calls if one["rank"] == 0)) * 1e-3


def add_rows(table: paired.Table, build: Path, rounds: int, seed: int | None) -> None:
    """Measure, and add the differences to `table`."""
    program = build / "bin" / "agreement_timer"
    if not program.is_file():
        print("NOT VERIFIED presence and agreement: no parallel HDF5 here", file=sys.stderr)
        return
    if (os.cpu_count() or 1) < RANKS:
        print("NOT VERIFIED presence and agreement: fewer cores than ranks", file=sys.stderr)
        return
    parts: dict[str, dict[str, list[float]]] = {part: {} for part in PARTS}
    with tempfile.TemporaryDirectory(prefix="agreement-", dir="/dev/shm") as name:
        folder = Path(name)
        config = folder / "config.xml"
        config.write_text(SETTING)
        common = {
            **preloaded.variables(build / "lib" / "libiotune.so"),
            "IOTUNE_TRACE": str(folder / "run.iotrace"), "IOTUNE_DB": "none",
            "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder / "state"),
        }  # fmt: skip
        arms = {
            "record": common | {"IOTUNE_MODE": "record"},
            "nothing to set": common,
            "a setting": common | {"IOTUNE_CONFIG": str(config)},
        }

        def one(arm: str) -> float:
            numbers = run(program, folder, arms[arm])
            for part, number in zip(PARTS, numbers):
                parts[part].setdefault(arm, []).append(number)
            return numbers[-1]

        drawn = paired.compare(
            "agreement", {arm: functools.partial(one, arm) for arm in arms}, rounds, seed=seed
        )
        table.keep(drawn)
    whole: dict[str, list[float]] = {}
    for arm in arms:
        # The first open also loads libiotune-db.so and makes the agreement's communicator.
        by_part = [parts[part][arm] for part in ("MPI_Init", "H5Fcreate")]
        whole[arm] = [sum(numbers) for numbers in zip(*by_part)]
    for part in PARTS:
        one_part = paired.Comparison(part, parts[part], [], drawn.seed)
        for arm in ("nothing to set", "a setting"):
            added = one_part.paired_difference(arm, "record")
            table.add(f"{part}, {RANKS} ranks, added by the agreement on {arm}, µs", added)
    both = paired.Comparison("presence and agreement", whole, [], drawn.seed)
    table.add(
        f"presence (MPI_Init) and agreement on nothing (H5Fcreate), {RANKS} ranks, µs",
        both.paired_difference("nothing to set", "record"), paired.at_most(200, "µs"),
    )  # fmt: skip
    table.add(
        f"presence and agreement on a setting, IOTUNE_CONFIG read, {RANKS} ranks, µs",
        both.paired_difference("a setting", "record"), paired.at_most(200, "µs"),
    )  # fmt: skip
