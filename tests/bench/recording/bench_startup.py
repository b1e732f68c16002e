"""What libiotune.so adds to the start of a program that does no I/O, /bin/true.

A site that loads it for everyone pays this for every process of every job. The floor is
measured in the same rounds: a preload that holds one empty function.
"""

from __future__ import annotations

import csv
import random
import shutil
import subprocess
import sys
from pathlib import Path

from bench import native, paired
from support import preloaded

PROGRAM = "/bin/true"
MICROSECONDS = 1e-3


def spawned(rounds: int, seed: int, arms: dict[str, str], folder: Path) -> paired.Comparison:
    """Run the timing driver and return its nanoseconds as a comparison."""
    driver = native.compiled("spawn_timer.c", folder)
    warmup = max(10, rounds // 20)
    print(f"startup: {rounds} rounds of {', '.join(arms)} (seed {seed})", file=sys.stderr)
    command = [str(driver), str(rounds), str(warmup), str(seed), PROGRAM]
    command += [f"{name}={library}" for name, library in arms.items()]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise paired.ArmFailed(f"spawn_timer: exit status {done.returncode}")
    numbers: dict[str, list[float]] = {name: [] for name in arms}
    order: list[list[str]] = [[] for _ in range(rounds)]
    for index, _place, name, nanoseconds in csv.reader(done.stdout.splitlines()):
        numbers[name].append(float(nanoseconds))
        order[int(index)].append(name)
    return paired.Comparison("startup", numbers, order, seed)


def main() -> int:
    """Measure, print and write build/bench/startup.json."""
    options = paired.arguments(__doc__, rounds=1000)
    library: Path = options.build / "lib" / "libiotune.so"
    if not library.is_file():
        print(f"startup: there is no {library}: build it first (make build)", file=sys.stderr)
        return 1
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    scratch = options.out / "native"
    empty = native.shared("empty_preload.c", scratch)
    # A copy, as an installed library is one: what the linker wrote lies in smaller pieces of the
    # page cache, and a start takes some 35 µs more.
    installed = Path(shutil.copy(library, scratch))
    arms = {
        "bare": "",
        "empty preload": preloaded.joined(empty),
        "iotune": preloaded.joined(installed),
    }
    comparison = spawned(options.rounds, seed, arms, scratch)

    table = paired.Table("startup")
    table.keep(comparison)
    for arm in arms:
        table.add(f"{PROGRAM}, {arm}, µs", comparison.median(arm).scaled(MICROSECONDS))
    floor = comparison.paired_difference("empty preload", "bare").scaled(MICROSECONDS)
    added = comparison.paired_difference("iotune", "bare").scaled(MICROSECONDS)
    table.add("floor: added by an empty preload, µs", floor)
    table.add("added by libiotune.so, µs", added)
    times = comparison.ratio_of_paired_differences("iotune", "empty preload", "bare")
    table.add("libiotune.so against an empty preload, both less bare", times, paired.at_most(3))
    size = library.stat().st_size / 1000
    table.add("size of libiotune.so, KB", size, paired.at_most(1000, "KB"))
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
