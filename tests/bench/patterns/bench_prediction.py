"""How many of the next accesses are predicted exactly, offset and length, before they come.

Rows: the generators of the papers' applications, nests drawn at run time, and logs of other
people's runs (`--logs FOLDER`, *.darshan with DXT, read by PyDarshan). What counts is every
access, the first ones and noise too, which nobody can know. Two predictors see the same accesses,
so that their difference has an interval of its own: the accesses on which only one was right
(McNemar). A tie is a difference whose interval holds zero.

Long loops, many sequences in turn and lists of places are drawn as well: of these `best` is judged,
by the share of what can be known, for a first round nobody knows.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import paired

OTHERS = ("stride", "unit", "markov")  # what ours may not be behind
FIRST_PASS = ("stride", "readahead", "unit", "tree", "markov")
SHOWN = ("nest", "best", "stride", "readahead", "unit", "tree", "markov", "markov again", "plan")
NESTS = 200
Row = dict[str, Any]


def run(build: Path, *arguments: str, data: bytes = b"") -> list[Row]:
    """Run predict_streams and return its rows."""
    program = build / "bin" / "predict_streams"
    done = subprocess.run(
        [str(program), *arguments], input=data, stdout=subprocess.PIPE, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def share(row: Row, name: str) -> float:
    """Return the share of accesses that a predictor said exactly."""
    return float(row["predictors"][name]["right"]) / float(row["accesses"])


def lead(row: Row, name: str) -> paired.Estimate:
    """Return by how many accesses ours is ahead of another, with its 95 % interval."""
    one = row["predictors"][name]
    ahead = one["ours_only"] - one["other_only"]
    spread = 1.96 * (one["ours_only"] + one["other_only"]) ** 0.5
    return paired.Estimate(ahead, ahead - spread, ahead + spread)


def behind(row: Row) -> list[str]:
    """Return those of OTHERS that ours is behind of, by more than a tie."""
    return [name for name in OTHERS if lead(row, name).high < 0]


def not_ahead(row: Row) -> list[str]:
    """Return those of OTHERS that ours is not ahead of though they leave something to gain.

    Nobody knows what a stream never did before. Who misses hardly more than that cannot be led by
    more than a tie: a lead of so many accesses has an interval of 1.96 times its root.
    """
    return [
        name
        for name in OTHERS
        if lead(row, name).low <= 0
        and row["accesses"] - row["predictors"][name]["right"] > row["unheard_of"] + 1.96**2
    ]


def add_many_steps(table: paired.Table, rows: list[Row]) -> None:
    """Add the share of what can be known that `best` says, and whether others say more."""
    for row in rows:
        known = row["accesses"] - row["fresh"]
        table.add(f"{row['row']}: said by best of what can be known",
                  row["predictors"]["best"]["right"] / known, paired.at_least(0.98))  # fmt: skip
    others = [max(share(row, name) for name in FIRST_PASS) for row in rows]
    behind_of = sum(share(row, "best") < other - 0.005 for row, other in zip(rows, others))
    table.add(f"rows of {len(rows)} with many steps: best is behind", behind_of, paired.at_most(0))


def add_drawn(table: paired.Table, drawn: list[Row]) -> None:
    """Add the median and the worst of drawn nests, and how far ours is ahead in both.

    A worst row is not behind where the lead's interval reaches zero. Noise may cost half as much
    again as there is of it: 0.985 at 1 %.
    """
    for kind in ["", *sorted({row["kind"] for row in drawn})]:
        rows = [row for row in drawn if kind in ("", row["kind"])]
        nests = f"{len(rows)} drawn nests{f' ({kind})' if kind else ''}"
        for name in ("nest", *OTHERS, "tree", "markov again"):
            shares = [share(row, name) for row in rows]
            table.add(f"{nests}, {name}: median", statistics.median(shares))
            table.add(f"{nests}, {name}: worst", min(shares))
        for name in OTHERS:
            leads = [lead(row, name) for row in rows]
            what = f"{nests}: accesses ahead of {name}"
            goal = paired.at_least(1 if kind.startswith("nested") else 0)
            table.add(f"{what}, median", statistics.median(one.value for one in leads), goal)
            table.add(f"{what}, worst", min(one.high for one in leads), paired.at_least(0))
        if "noisy" in kind:
            spare = [share(row, "nest") - 1 + 0.015 * row["noise_percent"] for row in rows]
            what = f"{nests}: share right over 0.985 at 1 % noise"
            table.add(f"{what}, median", statistics.median(spare), paired.at_least(0))
            table.add(f"{what}, worst", min(spare), paired.at_least(0))
            show_bounds(table, nests, rows)


def show_bounds(table: paired.Table, nests: str, rows: list[Row]) -> None:
    """Add what noise leaves: to who knows the nest by heart, and to who has to learn it."""
    for who, keys in (("the nest", ["noise"]), ("its steps once met", ["noise", "fresh"])):
        missed = [sum(row[key] for key in keys) / row["accesses"] for row in rows]
        goal = [0.015 * row["noise_percent"] for row in rows]
        beyond = sum(one > most for one, most in zip(missed, goal, strict=True))
        spare = [most - one for one, most in zip(missed, goal, strict=True)]
        table.add(f"{nests}: over the goal, who knows {who}, worst", min(spare))
        table.add(f"{nests}: rows where who knows {who} misses it", beyond)
    ours = [
        (row["accesses"] - row["predictors"]["nest"]["right"] - row["noise"] - row["fresh"])
        / row["accesses"]
        for row in rows
    ]
    table.add(f"{nests}: share ours misses beside these, median", statistics.median(ours))
    table.add(f"{nests}: share ours misses beside these, worst", max(ours))


def show(rows: Iterable[Row]) -> None:
    """Print a Markdown table."""
    print("| row | accesses | " + " | ".join(SHOWN) + " |")
    print("| --- |" + " --- |" * (len(SHOWN) + 1))
    for row in rows:
        cells = " | ".join(f"{share(row, name):.4f}" for name in SHOWN)
        print(f"| {row['row']} | {row['accesses']:,} | {cells} |")
    print()


def show_models(rows: Iterable[Row]) -> None:
    """Print what the block size does to Markov, and how large its models become."""
    print("| row | Markov's second pass by block size (model, KiB) | recorded plan, bytes |")
    print("| --- | --- | --- |")
    for row in rows:
        cells = []
        for name, one in row["predictors"].items():
            if name.startswith("markov again"):
                block = name.removeprefix("markov again").strip() or "8192"
                cells.append(
                    (int(block), f"{block}: {share(row, name):.3f} ({one['bytes'] / 1024:,.0f})")
                )
        text = ", ".join(text for _, text in sorted(cells))
        print(f"| {row['row']} | {text} | {row['predictors']['plan']['bytes']:,} |")
    print()


def streams_of(log: Path) -> bytes:
    """Return the accesses of each rank to each file, in their order of time."""
    import darshan

    report = darshan.DarshanReport(str(log), read_all=False)
    if "DXT_POSIX" not in report.modules:
        return b""
    report.mod_read_all_dxt_records("DXT_POSIX", dtype="dict")
    data = b""
    for record in report.records["DXT_POSIX"]:
        segments = [*record["read_segments"], *record["write_segments"]]
        segments.sort(key=lambda one: one["start_time"])
        data += struct.pack("=i", len(segments))
        for one in segments:
            data += struct.pack("=qq", int(one["offset"]), int(one["length"]))
    return data


def logs(folder: Path | None, build: Path) -> list[Row]:
    """Return a row for each log of the folder."""
    if folder is None:
        print("NOT VERIFIED prediction on other people's logs: no --logs FOLDER given")
        return []
    try:
        import darshan  # noqa: F401
    except ImportError:
        print("NOT VERIFIED prediction on other people's logs: PyDarshan is not installed")
        return []
    rows = []
    for log in sorted(folder.glob("*.darshan")):
        data = streams_of(log)
        if data:
            rows += run(build, "file", log.name, data=data)
        else:
            print(f"NOT VERIFIED prediction on {log.name}: no DXT records")
    return rows


def time_rows(build: Path, table: paired.Table, rounds: int, seed: int) -> None:
    """Add CPU time an access, the median of the rounds."""
    numbers: dict[str, list[float]] = {}
    for _ in range(rounds):
        for row in run(build, "times"):
            numbers.setdefault(row["row"], []).append(row["ns"])
    order = [list(numbers)] * rounds
    comparison = paired.Comparison("ns an access", numbers, order, seed)
    table.keep(comparison)
    for name in numbers:
        goal = None if name == "random" or "FLASH" in name else paired.at_most(40, "ns")
        table.add(f"{name}: observe and compare, ns CPU an access", comparison.median(name), goal)


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--logs", type=Path, default=None)
    own, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    options = paired.arguments(__doc__, rounds=9, nests=NESTS)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    print(f"drawn nests: seeds {seed} to {seed + options.nests - 1}")

    table = paired.Table("prediction")
    generated = run(options.build, "catalogue")
    drawn = run(options.build, "nests", str(seed), str(options.nests))
    imported = logs(own.logs, options.build)
    show(generated)
    show_models(generated)
    many_steps = run(options.build, "many-steps", str(seed))
    show(many_steps)
    add_many_steps(table, many_steps)
    if imported:
        show(imported)
        show_models(imported)

    for row in generated + imported:
        table.add(f"{row['row']}: right, ours", share(row, "nest"))
    for what, rows in (("generators", generated), ("drawn nests", drawn), ("logs", imported)):
        if rows:
            wrong = [row["row"] for row in rows if behind(row)]
            print(f"{what}: behind on {wrong or 'none'}")
            table.add(f"{what}, rows of {len(rows)}: behind", len(wrong), paired.at_most(0))
    nested = [row for row in generated + drawn if row["kind"].startswith("nested")]
    wrong = [row["row"] for row in nested if not_ahead(row)]
    print(f"nested rows: not ahead on {wrong or 'none'}")
    table.add(f"nested rows of {len(nested)}: not ahead", len(wrong), paired.at_most(0))
    add_drawn(table, drawn)
    for row in generated:
        if row["kind"] == "noisy":
            table.add(f"{row['row']}: of all accesses", share(row, "nest"), paired.at_least(0.985))
    table.add(
        "state of a stream, bytes", generated[0]["predictors"]["nest"]["bytes"],
        paired.at_most(1024, "bytes"),
    )  # fmt: skip
    time_rows(options.build, table, options.rounds, seed)
    table.rounds["rows"] = generated + drawn + imported
    table.rounds["many steps"] = many_steps
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
