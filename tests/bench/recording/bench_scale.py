"""What the end of a large run costs rank 0, and what a process of many calls needs.

Ranks are simulated: their blocks and all merges of the tree are real, messages are handed over
in memory. Bytes are counted, not timed. The memory of a process is that of a real one.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench import native, paired
from support import preloaded

RANKS = 100_000
CALLS = 10_000_000
MIB = 1 << 20


@dataclass(frozen=True)
class Merged:
    """What merge_ranks prints."""

    root_seconds: float
    root_bytes: int
    trace_bytes: int
    all_seconds: float
    blocks_bytes: int


def merge(build: Path, ranks: int, *how: str) -> Merged:
    """Simulate a run of so many ranks."""
    program = build / "bin" / "merge_ranks"
    done = subprocess.run(
        [str(program), str(ranks), *how], stdout=subprocess.PIPE, text=True, check=True
    )
    root_seconds, root, trace, all_seconds, blocks = done.stdout.split()
    return Merged(float(root_seconds), int(root), int(trace), float(all_seconds), int(blocks))


def memory_kib(build: Path, pattern: str, traced: bool, folder: Path, out: Path) -> float:
    """Run CALLS calls and return the most memory of the process; none of them may be lost."""
    program = native.compiled("many_calls.c", out / "native")
    data = folder / "data"
    if not data.exists():
        data.write_bytes(bytes(6_400_000))
    env = preloaded.plain_environment()
    trace = folder / "run.iotrace"
    if traced:
        env.update(
            **preloaded.variables(build / "lib" / "libiotune.so"), IOTUNE_MODE="record",
            IOTUNE_TRACE=str(trace), IOTUNE_INCLUDE=f"{folder}/*",
        )  # fmt: skip
    done = subprocess.run(
        [str(program), str(data), str(CALLS), pattern], env=env, stdout=subprocess.PIPE, check=True
    )
    if traced:
        # The END block's text.
        ended = re.findall(rb"calls=(\d+)\ndropped=(\d+)\n", trace.read_bytes())
        if len(ended) != 1 or int(ended[0][0]) < CALLS or int(ended[0][1]) != 0:
            raise paired.ArmFailed(f"of {CALLS} calls there are {ended}")
        trace.unlink()
    return float(done.stdout)


def main() -> int:
    """Measure, print and write build/bench/scale.json."""
    options = paired.arguments(__doc__, rounds=3)
    table = paired.Table("scale")
    build: Path = options.build
    for pattern in ("slab", "grid"):
        counted: dict[int, Merged] = {}

        def timed(ranks: int, pattern: str = pattern, to: dict[int, Merged] = counted) -> float:
            to[ranks] = merge(build, ranks, pattern)
            return to[ranks].root_seconds

        rounds = paired.compare(
            f"{pattern} of many ranks",
            {str(n): functools.partial(timed, n) for n in (RANKS // 100, RANKS)},
            options.rounds, warmup=0, seed=options.seed,
        )  # fmt: skip
        table.keep(rounds)
        most = counted[RANKS]
        table.add(
            f"{pattern}, {RANKS} ranks: rank 0 merges, s",
            rounds.median(str(RANKS)), paired.at_most(5, "s"),
        )  # fmt: skip
        table.add(
            f"{pattern}, {RANKS} ranks: rank 0 holds, MiB",
            most.root_bytes / MIB, paired.at_most(256, "MiB"),
        )  # fmt: skip
        table.add(f"{pattern}, {RANKS} ranks: trace, KiB", most.trace_bytes / 1024)
        table.add(f"{pattern}, {RANKS} ranks: their blocks unmerged, KiB", most.blocks_bytes / 1024)
        few, many = (merge(build, n, pattern, "calls") for n in (RANKS // 100, RANKS))
        table.add(f"{pattern}, calls alone: trace of {RANKS // 100} ranks, bytes", few.trace_bytes)
        table.add(f"{pattern}, calls alone: trace of {RANKS} ranks, bytes", many.trace_bytes)
    # On a disk: files in memory would be memory that nobody counts.
    with tempfile.TemporaryDirectory(dir=options.out.resolve()) as scratch:
        folder = Path(scratch)
        for pattern in ("regular", "random"):
            arm = functools.partial(memory_kib, build, pattern)
            comparison = paired.compare(
                f"memory, {pattern}",
                {
                    "bare": functools.partial(arm, False, folder, options.out),
                    "iotune": functools.partial(arm, True, folder, options.out),
                },
                3, warmup=0, seed=options.seed,
            )  # fmt: skip
            table.keep(comparison)
            table.add(
                f"memory added to a process of {CALLS} {pattern} calls, MiB",
                comparison.difference("iotune", "bare").scaled(1 / 1024),
                paired.at_most(16, "MiB"),
            )  # fmt: skip
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
