"""What recording adds to a 64-byte pread or pwrite, and what the calls take in the trace.

On a memory file system, so that the call itself is short. The floor, a preload that only finds
the real function and calls it, runs in the same rounds. Added time is CPU time a call, which a
neighbour disturbs less; wall time stands beside it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import native
import paired

SHAPES = ("strided", "random")
DIRECTIONS = ("read", "write")
PROCESSES = 4
CALLS_EACH = 50_000


def environment(scratch: Path, preload: str) -> dict[str, str]:
    """No settings of a user's; buffers and traces in a place of our own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("IOTUNE_")}
    env.update(
        LD_PRELOAD=preload, IOTUNE_BUFFER_DIR=str(scratch / "buffers"), IOTUNE_MODE="record",
        IOTUNE_TRACE=str(scratch / "run.iotrace"), IOTUNE_DB="none",
        XDG_STATE_HOME=str(scratch / "state"), XDG_DATA_HOME=str(scratch / "data"),
    )  # fmt: skip
    return env


def timed(command: list[str], scratch: Path, preload: str) -> tuple[float, float]:
    """One run: wall and CPU nanoseconds a call."""
    done = subprocess.run(
        command, env=environment(scratch, preload), capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or done.stderr:
        raise paired.ArmFailed(f"{command}: status {done.returncode}\n{done.stderr}")
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def trace_bytes(timer: Path, scratch: Path, library: str, shape: str) -> int:
    """Bytes of the traces of PROCESSES processes."""
    total = 0
    for number in range(PROCESSES):
        trace = scratch / "run.iotrace"
        trace.unlink(missing_ok=True)
        timed([str(timer), str(scratch / f"f{number}"), shape, "write", str(CALLS_EACH)], scratch,
              library)  # fmt: skip
        total += trace.stat().st_size
    return total


def main() -> int:
    """Measure, print and write build/bench/tracer.json."""
    options = paired.arguments(__doc__, rounds=101, calls=50_000)
    library: Path = options.build / "lib" / "libiotune.so"
    if not library.is_file():
        print(f"tracer: there is no {library}: build it first (make release)", file=sys.stderr)
        return 1
    folder = options.out / "native"
    timer = native.compiled("transfer_timer.c", folder)
    preloads = {
        "bare": "",
        "stub": native.preload(native.shared("stub_preload.c", folder, ["-ldl"])),
        "iotune": native.preload(library),
    }
    table = paired.Table("tracer")
    scratch = Path(tempfile.mkdtemp(prefix="tracer-", dir="/dev/shm"))
    try:
        for shape in SHAPES:
            over_bare, over_stub = (40, 30) if shape == "strided" else (70, 50)
            for direction in DIRECTIONS:
                name = f"64-byte p{direction}, {shape}"
                command = [str(timer), str(scratch / "file"), shape, direction, str(options.calls)]
                walls: dict[str, list[float]] = {arm: [] for arm in preloads}

                def arm(which: str, command=command, walls=walls) -> float:  # noqa: ANN001
                    wall, cpu = timed(command, scratch, preloads[which])
                    walls[which].append(wall)
                    return cpu

                comparison = paired.compare(
                    name,
                    {which: functools.partial(arm, which) for which in preloads},
                    options.rounds,
                    seed=options.seed,
                )
                table.keep(comparison)
                table.add(f"{name}, bare, ns CPU", comparison.median("bare"))
                table.add(f"{name}, added by a stub, ns CPU", comparison.paired_difference("stub", "bare"))
                table.add(f"{name}, added by libiotune.so, ns CPU",
                          comparison.paired_difference("iotune", "bare"),
                          paired.at_most(over_bare, "ns"))  # fmt: skip
                table.add(f"{name}, over the stub, ns CPU", comparison.paired_difference("iotune", "stub"),
                          paired.at_most(over_stub, "ns"))  # fmt: skip
                # Without the warm-up round.
                rows = {which: values[-options.rounds :] for which, values in walls.items()}
                wall = paired.Comparison(f"{name}, wall", rows, comparison.order, comparison.seed)
                table.keep(wall)
                table.add(f"{name}, added, ns wall", wall.paired_difference("iotune", "bare"))
        for shape in SHAPES:
            size = trace_bytes(timer, scratch, preloads["iotune"], shape)
            what = f"traces of {PROCESSES} processes × {CALLS_EACH} {shape} calls, bytes"
            table.add(what, size, paired.at_most(4096, "bytes") if shape == "strided" else None)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
