"""What recording order takes, and what verifying large traces takes: pieces of bench_verify.py."""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import native, paired
from support import preloaded

MIB = 1 << 20
RANKS = 16
MESSAGES = 30_000


def record_messages(options: argparse.Namespace, table: paired.Table) -> None:
    """A message to oneself: bare, by an empty wrapper, under iotune without and with order."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "mpich"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    if flags.returncode != 0:
        print("NOT VERIFIED: what recording messages takes: there is no MPICH")
        return
    folder = options.out / "native"
    timer = native.compiled("order_timer.c", folder, flags.stdout.split())
    floor = native.shared("empty_messages.c", folder, [*flags.stdout.split(), "-ldl"])
    ours = options.build / "lib" / "libiotune.so"
    with tempfile.TemporaryDirectory(prefix="verify-", dir="/dev/shm") as scratch:

        def arm(preload: tuple[Path, ...], order: str) -> float:
            env = preloaded.plain_environment()
            env.update(
                **preloaded.variables(*preload), IOTUNE_BUFFER_DIR=f"{scratch}/buffers",
                IOTUNE_MODE="record", IOTUNE_TRACE=f"{scratch}/run.iotrace", IOTUNE_DB="none",
                XDG_STATE_HOME=f"{scratch}/state", XDG_DATA_HOME=f"{scratch}/data",
                IOTUNE_ORDER=order,
            )  # fmt: skip
            done = subprocess.run([str(timer), str(MESSAGES)], env=env, check=True,
                                  stdout=subprocess.PIPE)  # fmt: skip
            return float(done.stdout)

        arms = {"bare": ((), "0"), "empty": ((floor,), "0"), "not asked": ((ours,), "0"),
                "order": ((ours,), "1")}  # fmt: skip
        what = "MPI_Irecv, MPI_Send, MPI_Wait of 8 bytes to oneself"
        comparison = paired.compare(
            what, {name: functools.partial(arm, *how) for name, how in arms.items()}, 21,
            seed=options.seed,
        )  # fmt: skip
    table.keep(comparison)
    table.add(f"{what}, bare, ns CPU", comparison.median("bare"))
    table.add(f"{what}, by an empty wrapper, over bare", comparison.ratio("empty", "bare"))
    table.add(f"{what}, under iotune without --order, over bare",
              comparison.ratio("not asked", "bare"), paired.at_most(1.02))  # fmt: skip
    table.add(f"{what}, with --order, over bare", comparison.ratio("order", "bare"),
              paired.at_most(1.4))  # fmt: skip


def verified(trace: Path, out: Path) -> tuple[dict[str, Any], float, float]:
    """What `iotune verify` says, its seconds, and the MiB that it needed at most."""
    result = out / "verify.json"
    began = time.monotonic()
    with result.open("wb") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "iotune", "verify", str(trace), "--json"], stdout=file
        )
        _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - began
    said: dict[str, Any] = json.loads(result.read_text() or "{}")
    if not said:
        raise paired.ArmFailed(f"iotune verify {trace} ended with {status}")
    return said, seconds, used.ru_maxrss * 1024 / MIB


def large_trace(options: argparse.Namespace, shape: str, ranks: int, count: int, what: str,
                add: Callable[[float, float, int], None]) -> None:  # fmt: skip
    """Make it, verify it, hand over seconds, MiB and the trace's bytes."""
    with tempfile.TemporaryDirectory(dir=options.out) as scratch:
        trace = Path(scratch) / "made.iotrace"
        subprocess.run([str(options.build / "bin" / "make_order_trace"), shape, str(ranks),
                        str(count), str(trace)], check=True)  # fmt: skip
        said, seconds, mib = verified(trace, Path(scratch))
        pairs = sum(file["pairs"] for file in said["files"])
        print(f"{what}: {seconds:.2f} s, {mib:.0f} MiB, {pairs} pairs", flush=True)
        add(seconds, mib, trace.stat().st_size)


def many_pairs(options: argparse.Namespace, table: paired.Table) -> None:
    """As many conflicting pairs as HDF5's test of many datasets has."""
    what = "7.8e8 conflicting pairs of 4 ranks"

    def add(seconds: float, mib: float, size: int) -> None:
        table.add(f"{what}: seconds", seconds, paired.at_most(10, "s"))
        table.add(f"{what}: MiB", mib, paired.at_most(500, "MiB"))

    large_trace(options, "pairs", 4, 13_750, what, add)


def many_barriers(options: argparse.Namespace, table: paired.Table) -> None:
    """Regular writes with a barrier after each thousand."""
    what = f"1e6 regular writes a rank, {RANKS} ranks, 1,000 barriers"

    def add(seconds: float, mib: float, size: int) -> None:
        table.add(f"{what}: seconds", seconds, paired.at_most(2, "s"))

    large_trace(options, "barriers", RANKS, 10**6, what, add)


def many_messages(options: argparse.Namespace, table: paired.Table) -> None:
    """Exchanges with two neighbours."""
    what = f"1e6 halo exchanges of {RANKS} ranks"

    def add(seconds: float, mib: float, size: int) -> None:
        table.add(f"{what}: trace, KiB a rank", size / RANKS / 1024, paired.at_most(64, "KiB"))
        table.add(f"{what}: MiB to verify it", mib, paired.at_most(300, "MiB"))
        table.add(f"{what}: seconds to verify it", seconds)

    large_trace(options, "halo", RANKS, 10**6, what, add)
