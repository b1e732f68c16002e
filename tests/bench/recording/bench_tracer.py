"""What recording adds to a 64-byte pread or pwrite, and what the calls take in the trace.

On a memory file system, so that the call itself is short; and over a stub, transfers that move
nothing, where nothing but the wrapper is left. The floor, a preload that only finds the real
function and calls it, runs in the same rounds. Added time is CPU time a call, which a neighbour
disturbs less; wall time stands beside it.
"""

from __future__ import annotations

import argparse
import functools
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import native, paired
from support import preloaded

SHAPES = ("strided", "random")
DIRECTIONS = ("read", "write")
PROCESSES = 4
CALLS_EACH = 50_000
# Places that transfer_timer.c draws from.
RANDOM_UNITS = 100_000
Libraries = Sequence[Path]  # what a run preloads, in this order


def environment(scratch: Path, preload: Libraries, **more: str) -> dict[str, str]:
    """No settings of a user's; buffers and traces in a place of our own."""
    env = preloaded.plain_environment()
    env.update(
        **preloaded.variables(*preload), IOTUNE_BUFFER_DIR=str(scratch / "buffers"),
        IOTUNE_MODE="record", IOTUNE_TRACE=str(scratch / "run.iotrace"), IOTUNE_DB="none",
        XDG_STATE_HOME=str(scratch / "state"), XDG_DATA_HOME=str(scratch / "data"), **more,
    )  # fmt: skip
    return env


def timed(
    command: list[str], scratch: Path, preload: Libraries, **more: str
) -> tuple[float, float]:
    """One run: wall and CPU nanoseconds a call."""
    done = subprocess.run(
        command, env=environment(scratch, preload, **more), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0 or done.stderr:
        raise paired.ArmFailed(f"{command}: status {done.returncode}\n{done.stderr}")
    wall, cpu = done.stdout.split()
    return float(wall), float(cpu)


def trace_bytes(timer: Path, scratch: Path, library: Libraries, shape: str, timing: str) -> int:
    """Bytes of the traces of PROCESSES processes."""
    total = 0
    for number in range(PROCESSES):
        trace = scratch / "run.iotrace"
        trace.unlink(missing_ok=True)
        timed([str(timer), str(scratch / f"f{number}"), shape, "write", str(CALLS_EACH)], scratch,
              library, IOTUNE_TIMING=timing)  # fmt: skip
        total += trace.stat().st_size
    return total


def add_untraced(
    table: paired.Table,
    timer: Path,
    scratch: Path,
    preloads: dict[str, Libraries],
    options: argparse.Namespace,
) -> None:
    """A descriptor of a file that is excluded."""
    name = "64-byte pread, descriptor not traced"
    command = [str(timer), str(scratch / "file"), "strided", "read", str(options.calls)]

    def arm(which: str) -> float:
        return timed(command, scratch, preloads[which], IOTUNE_EXCLUDE=f"{scratch}/*")[1]

    comparison = paired.compare(
        name, {which: functools.partial(arm, which) for which in ("stub", "iotune over stub")},
        options.rounds, seed=options.seed,
    )  # fmt: skip
    table.keep(comparison)
    table.add(f"{name}, over a stub, ns CPU",
              comparison.paired_difference("iotune over stub", "stub"),
              paired.at_most(5, "ns"))  # fmt: skip


def add_sizes(table: paired.Table, timer: Path, scratch: Path, library: Libraries) -> None:
    """What the traces of PROCESSES processes take."""
    entropy = PROCESSES * CALLS_EACH * math.log2(RANDOM_UNITS) / 8
    goals = {
        ("strided", "pattern"): paired.at_most(4096, "bytes"),
        ("strided", "call"): paired.at_most(250_000, "bytes"),
        ("random", "pattern"): paired.at_most(1.1 * entropy, "bytes"),
    }
    for (shape, timing), goal in goals.items():
        size = trace_bytes(timer, scratch, library, shape, timing)
        what = f"{PROCESSES} traces × {CALLS_EACH} {shape} calls, times by {timing}, bytes"
        table.add(what, size, goal)


def hdf5_flags() -> list[str] | None:
    """How to compile with parallel HDF5, where there is one."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5-mpich", "mpich"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    if flags.returncode == 0:
        return flags.stdout.split()
    print("tracer: no parallel HDF5: NOT VERIFIED: HDF5 calls", file=sys.stderr)
    return None


def add_hdf5_dispatch(
    table: paired.Table,
    folder: Path,
    scratch: Path,
    library: Libraries,
    options: argparse.Namespace,
) -> None:
    """What it takes to find the caller's own HDF5, and what recording adds to it."""
    flags = hdf5_flags()
    if flags is None:
        return
    program = native.compiled("hdf5_calls.c", folder, flags)

    def arm(preload: Libraries, mode: str) -> float:
        env = {**environment(scratch, preload), "IOTUNE_MODE": mode}
        command = [str(program), str(scratch / "y.h5"), str(options.calls)]
        done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
        return float(done.stdout)

    name = "H5Sselect_all"
    arms = {"bare": ((), "off"), "dispatch": (library, "off"), "recorded": (library, "record")}
    comparison = paired.compare(
        name, {arm_name: functools.partial(arm, *how) for arm_name, how in arms.items()},
        options.rounds, seed=options.seed,
    )  # fmt: skip
    table.keep(comparison)
    table.add(f"{name}, bare, ns CPU", comparison.median("bare"))
    dispatch = comparison.paired_difference("dispatch", "bare")
    table.add(f"{name}, dispatch alone (IOTUNE_MODE=off), ns CPU", dispatch,
              paired.at_most(20, "ns"))  # fmt: skip
    table.add(f"{name}, recorded too, ns CPU", comparison.paired_difference("recorded", "bare"))


def add_layers(
    table: paired.Table,
    folder: Path,
    scratch: Path,
    library: Libraries,
    options: argparse.Namespace,
) -> None:
    """What is added to a small write by MPI-IO, HDF5 and stdio, the calls inside of it included."""
    flags = hdf5_flags()
    if flags is None:
        return
    program = native.compiled("layer_timer.c", folder, flags)
    rows = {
        "mpi": ("MPI_File_write_at with its pwrite", 1.2),
        "hdf5": ("H5Dwrite of a row with its hyperslab", 1.5),
        "stdio": ("fwrite of 64 bytes", 2.5),
    }
    for layer, (what, most) in rows.items():

        def arm(preload: Libraries, mode: str, layer: str = layer) -> float:
            env = {**environment(scratch, preload), "IOTUNE_MODE": mode}
            if mode == "tune":  # a path for the trace asks for all calls
                del env["IOTUNE_TRACE"]
            command = [str(program), layer, str(scratch / "layer"), str(options.calls)]
            done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE)
            return float(done.stdout)

        arms = {"bare": ((), "off"), "recorded": (library, "record"), "learnt": (library, "tune")}
        comparison = paired.compare(
            what, {name: functools.partial(arm, *how) for name, how in arms.items()},
            options.rounds, seed=options.seed,
        )  # fmt: skip
        table.keep(comparison)
        table.add(f"{what}, bare, ns CPU", comparison.median("bare"))
        table.add(f"{what}, added where all is recorded, ns CPU",
                  comparison.paired_difference("recorded", "bare"))  # fmt: skip
        # Nanoseconds differ more than twice between machines of one name.
        table.add(f"{what}, all recorded over bare", comparison.ratio("recorded", "bare"),
                  paired.at_most(most))  # fmt: skip
        table.add(f"{what}, added by default, ns CPU",
                  comparison.paired_difference("learnt", "bare"))  # fmt: skip


def add_hdf5_size(table: paired.Table, folder: Path, scratch: Path, library: Libraries) -> None:
    """2,000 H5Dwrites, each with its selection."""
    flags = hdf5_flags()
    if flags is None:
        return
    program = native.compiled("hdf5_writes.c", folder, flags)
    trace = scratch / "run.iotrace"
    trace.unlink(missing_ok=True)
    subprocess.run([str(program), str(scratch / "x.h5"), "2000"], check=True,
                   env=environment(scratch, library))  # fmt: skip
    table.add("2,000 H5Dwrites by rows, POSIX below, bytes of the trace", trace.stat().st_size,
              paired.at_most(6000, "bytes"))  # fmt: skip


def main() -> int:
    """Measure, print and write build/bench/tracer.json."""
    options = paired.arguments(__doc__, rounds=101, calls=50_000)
    library: Path = options.build / "lib" / "libiotune.so"
    if not library.is_file():
        print(f"tracer: there is no {library}: build it first (make build)", file=sys.stderr)
        return 1
    folder = options.out / "native"
    timer = native.compiled("transfer_timer.c", folder)
    stub = native.shared("stub_transfers.c", folder)
    preloads: dict[str, Libraries] = {
        "bare": (),
        "floor": (native.shared("floor_preload.c", folder, ["-ldl"]),),
        "iotune": (library,),
        "stub": (stub,),
        "iotune over stub": (library, stub),
    }
    table = paired.Table("tracer")
    scratch = Path(tempfile.mkdtemp(prefix="tracer-", dir="/dev/shm"))
    try:
        for shape in SHAPES:
            most = 1.08 if shape == "strided" else 1.12
            for direction in DIRECTIONS:
                name = f"64-byte p{direction}, {shape}"
                command = [str(timer), str(scratch / "file"), shape, direction, str(options.calls)]
                walls: dict[str, list[float]] = {arm: [] for arm in preloads}

                def arm(
                    which: str,
                    command: list[str] = command,
                    walls: dict[str, list[float]] = walls,
                ) -> float:
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
                added = comparison.paired_difference
                table.add(f"{name}, bare, ns CPU", comparison.median("bare"))
                table.add(f"{name}, added by a preload that only calls it, ns CPU",
                          added("floor", "bare"))  # fmt: skip
                table.add(f"{name}, added by libiotune.so, ns CPU",
                          added("iotune", "bare"))  # fmt: skip
                table.add(f"{name}, recorded over bare", comparison.ratio("iotune", "bare"),
                          paired.at_most(most))  # fmt: skip
                table.add(f"{name}, over a stub, ns CPU",
                          added("iotune over stub", "stub"))  # fmt: skip
                # Without the warm-up round.
                rows = {which: values[-options.rounds :] for which, values in walls.items()}
                wall = paired.Comparison(f"{name}, wall", rows, comparison.order, comparison.seed)
                table.keep(wall)
                table.add(f"{name}, added, ns wall", wall.paired_difference("iotune", "bare"))
        add_untraced(table, timer, scratch, preloads, options)
        add_sizes(table, timer, scratch, preloads["iotune"])
        add_layers(table, folder, scratch, preloads["iotune"], options)
        add_hdf5_dispatch(table, folder, scratch, preloads["iotune"], options)
        add_hdf5_size(table, folder, scratch, preloads["iotune"])
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
