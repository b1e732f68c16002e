"""What recognised patterns cost in bytes and time, beside the papers' algorithms and compressors.

Every row of tests/generators/catalogue.cpp, verified lossless by pattern_rates itself, and nests
drawn from seeds that nobody has seen. Rates are 56 bytes an access (an index entry of the papers in
memory) over bytes. Bytes are counted; times are CPU time, both arms in every round.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import paired

# Rates that a prototype of nested loop recognition reached, from the table.
PROTOTYPE = {
    "FS-TEST": 2.3e6,
    "LANL App3, tiles 8x8": 1.3e6,
    "LANL App2, library": 6127,
    "BT-IO A": 65419,
    "BT-IO B, uneven": 28377,
    "MILC A": 6746,
    "12 record variables": 15448,
    "FLASH, split": 204,
    "FS-TEST, 1 % noise": 316,
    "random": 6.0,
}
# What has to be reached over he2013's global entries and over zstd.
TIMES_BETTER = {"plain": 1.0, "nested": 10.0, "noisy": 1.0}
# Rows too small to time: a few dozen accesses in all.
TIMED_FROM = 1000

Row = dict[str, Any]


def pattern_rates(build: Path, *arguments: str) -> list[Row]:
    """Run the program and return its lines; it fails where a method is not lossless."""
    done = subprocess.run(
        [str(build / "bin" / "pattern_rates"), *arguments],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    if arguments[0] == "list":
        return [{"name": line} for line in done.stdout.splitlines()]
    return [json.loads(line) for line in done.stdout.splitlines()]


def rate(row: Row, method: str) -> float:
    """Return how many times smaller than the plain index it is."""
    return float(row["plain"] / row[method])


def short(number: float) -> str:
    """Return three digits that count."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def print_rates(rows: list[Row]) -> None:
    """Print one line a row with every method's rate, bytes of ours, and ns an access."""
    titles = (
        "", "accesses", "paper", "he2013 local", "global", "ids too", "zlib -9", "zstd -19", "ours",
        "ours, bytes", "he2013 ns", "ours ns",
    )  # fmt: skip
    lines = [titles]
    for row in rows:
        times = [
            short(statistics.median(row[key])) if row["accesses"] >= TIMED_FROM else ""
            for key in ("he2013_ns", "ours_ns")
        ]
        methods = ("he2013_local", "he2013_global", "he2013_ids", "zlib_9", "zstd_19", "ours")
        rates = [short(rate(row, method)) for method in methods]
        paper = f"{row['paper']:g}" if row["paper"] else ""
        lines.append(
            (row["name"], f"{row['accesses']:,}", paper, *rates, f"{row['ours']:,}", *times)
        )
    widths = [max(len(line[k]) for line in lines) for k in range(len(titles))]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())


def add_goals(table: paired.Table, row: Row) -> None:
    """Add what a row has to reach."""
    name, kind = row["name"], row["kind"]
    if kind == "unstructured":
        table.add(
            f"{name}: ours over zstd -19",
            row["zstd_19"] / row["ours"], paired.at_least(0.98, "x"),
        )  # fmt: skip
    else:
        goal = paired.at_least(TIMES_BETTER[kind], "x")
        table.add(f"{name}: ours over he2013 global", row["he2013_global"] / row["ours"], goal)
        table.add(f"{name}: ours over zstd -19", row["zstd_19"] / row["ours"], goal)
    if name in PROTOTYPE:
        table.add(f"{name}: ours, rate", rate(row, "ours"), paired.at_least(PROTOTYPE[name]))
    if name == "MILC A":
        milc = rate(row, "he2013_global")
        table.add("MILC A: he2013 global, off the paper's 37.0", abs(milc - 37), paired.at_most(1))
    if row["accesses"] >= TIMED_FROM:
        numbers = {"he2013": row["he2013_ns"], "ours": row["ours_ns"]}
        comparison = paired.Comparison(f"{name}, ns an access", numbers, [], row["seed"])
        table.keep(comparison)
        limit = {"plain": 8.0, "nested": 8.0, "noisy": None, "unstructured": 60.0}[kind]
        table.add(
            f"{name}: ours, ns CPU an access", comparison.median("ours"),
            None if limit is None else paired.at_most(limit, "ns"),
        )  # fmt: skip


def add_drawn(table: paired.Table, rows: list[Row]) -> None:
    """Add the median and the worst of the drawn nests."""
    for group, goal in (("depth 1", "plain"), ("nested", "nested"), ("noisy", "noisy")):
        chosen = [
            row for row in rows
            if group == ("noisy" if row["noise"] else "depth 1" if row["depth"] == 1 else "nested")
        ]  # fmt: skip
        if not chosen:
            continue
        for method, title in (("he2013_global", "he2013 global"), ("zstd_19", "zstd -19")):
            ratios = sorted(row[method] / row["ours"] for row in chosen)
            what = f"{len(chosen)} drawn nests, {group}: ours over {title}"
            limit = paired.at_least(TIMES_BETTER[goal], "x")
            table.add(f"{what}, median", statistics.median(ratios), limit)
            table.add(f"{what}, worst", ratios[0], limit)


def add_long(table: paired.Table, build: Path, rounds: int, seed: int) -> None:
    """Add streams of a hundred million accesses, and the logs of the papers' largest run."""
    for shape in ("strided", "nested"):
        made = [pattern_rates(build, "long", shape, str(10**8))[0] for _ in range(rounds)]
        seconds = {"ours": [row["cpu_seconds"] for row in made]}
        comparison = paired.Comparison(f"10^8 {shape} accesses, s", seconds, [], seed)
        table.keep(comparison)
        table.add(
            f"10^8 {shape} accesses, s CPU", comparison.median("ours"), paired.at_most(1.5, "s")
        )
        table.add(f"10^8 {shape} accesses, bytes", made[0]["bytes"])
    (logs,) = pattern_rates(build, "logs", "512", str(256 * 1024), str(seed))
    table.add(
        "FS-TEST, 512 ranks x 256K writes: all that opens the logs, bytes",
        logs["bytes"], paired.at_most(8192, "bytes"),
    )  # fmt: skip


def main() -> int:
    """Measure, print and write build/bench/patterns.json."""
    options = paired.arguments(__doc__, rounds=7, drawn=200)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(
        f"patterns: {options.rounds} rounds, {options.drawn} drawn nests (seed {seed})",
        file=sys.stderr,
    )
    build: Path = options.build
    table = paired.Table("patterns")
    rows = []
    for entry in pattern_rates(build, "list"):
        (row,) = pattern_rates(build, "row", entry["name"], str(options.rounds), str(seed))
        rows.append({**row, "seed": seed})
    print_rates(rows)
    for row in rows:
        add_goals(table, row)
    drawn = pattern_rates(build, "drawn", str(seed), str(options.drawn)) if options.drawn else []
    add_drawn(table, drawn)
    add_long(table, build, options.rounds, seed)
    table.rounds["sizes"] = [*rows, *drawn]
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
