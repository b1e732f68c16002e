"""What it costs to find who wrote an offset of a file, and how large the index is.

Look-ups at random offsets, each waiting for the one before, in ns of CPU time. The papers'
own look-up is measured beside ours on the same accesses.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

from bench import paired

ENTRIES = {
    "segments": "100,000 accesses of random lengths",
    "loops": "100,000 different loops one behind the other",
    "interleaved": "100,000 loops between each other",
}


def arm(build: Path, name: str, seed: int) -> dict[str, float]:
    """Run one arm of index_lookups and return what it prints."""
    done = subprocess.run(
        [str(build / "bin" / "index_lookups"), name, str(seed)],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    rows = (line.split() for line in done.stdout.splitlines())
    return {key: float(value) for key, value in rows}


def main() -> int:
    """Measure, print and write build/bench/index.json."""
    options = paired.arguments(__doc__, rounds=7)
    table = paired.Table("index")
    printed: dict[str, dict[str, float]] = {}

    def timed(name: str) -> float:
        # The seed is fixed: every round looks up the same offsets in the same index.
        printed[name] = arm(options.build, name, 1)
        return printed[name]["ns"]

    names = ["floor", "nest", "holes", *ENTRIES, "overwritten", "ours", "he2013"]
    rounds = paired.compare(
        "look-ups", {name: functools.partial(timed, name) for name in names},
        options.rounds, warmup=0, seed=options.seed,
    )  # fmt: skip
    table.keep(rounds)
    table.add("the loop around a look-up, ns", rounds.median("floor"))
    table.add(
        "nest of 100,000,000 accesses, 512 streams, ns", rounds.median("nest"),
        paired.at_most(100, "ns"),
    )  # fmt: skip
    table.add("a nest with holes, two of three hit one, ns", rounds.median("holes"))
    for name, what in ENTRIES.items():
        entries = printed[name]["nests"] + printed[name]["segments"]
        table.add(f"{what}, entries", entries)
        table.add(f"{what}, ns", rounds.median(name), paired.at_most(1000, "ns"))
    table.add("a nest and 1,000 later writes anywhere, ns", rounds.median("overwritten"))
    table.add("FS-TEST, 64 ranks, ours, ns", rounds.median("ours"))
    table.add("FS-TEST, 64 ranks, he2013, ns", rounds.median("he2013"))
    table.add("FS-TEST, 64 ranks, ours, bytes", printed["ours"]["bytes"])
    table.add("FS-TEST, 64 ranks, he2013 as the paper counts, bytes", printed["he2013"]["bytes"])
    logs = arm(options.build, "open_logs", 1)
    table.add(
        "FS-TEST, 512 ranks, 262,144 writes each: names, ids, times; bytes in memory",
        logs["bytes"], paired.at_most(8192, "bytes"),
    )  # fmt: skip
    table.add("the same, sealed (no times), bytes in memory", logs["sealed_bytes"])
    table.add("the same with times, bytes of the file", logs["file_bytes"])
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
