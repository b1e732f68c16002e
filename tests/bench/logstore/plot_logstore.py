"""Redraw the figures of Pattern PLFS (HPDC'13, figures 13 to 16) from our runs.

  python tests/run.py tests/bench/logstore/plot_logstore.py [build/bench [docs/figures]]

Reads logstore.json and logstore-maps/ as `make bench NAME=logstore` leaves them, and writes SVG.
What was not measured is not drawn. Needs matplotlib.
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection

Rounds = dict[str, Any]
ARMS = {"ordinary": ("o", "ordinary file"), "logged": ("D", "log store"),
        "plain": ("s", "plain index")}  # fmt: skip
RECORD = 64  # bytes, of the runs that figures 13 and 14 show


def save(figure: Any, folder: Path, name: str) -> None:
    figure.tight_layout()
    path = folder / f"{name}.svg"
    # No date: a figure that did not change is the same file.
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def curves(rounds: Rounds, part: str, rate: bool) -> dict[str, dict[int, float]]:
    """By arm: writes of a rank -> median seconds, or MiB a second of the whole."""
    found: dict[str, dict[int, float]] = {}
    for name, load in rounds.items():
        if not name.startswith("load: ") or load["record"] != RECORD:
            continue
        kept = rounds[f"runs: {name.removeprefix('load: ')}: {part}"]
        mib = load["ranks"] * load["record"] * load["records"] / 2**20
        for arm, numbers in kept["numbers"].items():
            seconds = statistics.median(numbers)
            found.setdefault(arm, {})[load["records"]] = mib / seconds if rate else seconds
    return found


def panels(
    rounds: Rounds, folder: Path, name: str, shown: list[tuple[str, bool, str]], title: str
) -> None:
    figure, row = plt.subplots(1, len(shown), figsize=(3.2 * len(shown), 3.2))
    for axes, (part, rate, label) in zip(row, shown, strict=True):
        by_arm = curves(rounds, part, rate)
        if not by_arm:
            plt.close(figure)
            return
        for arm, (marker, text) in ARMS.items():
            points = sorted(by_arm.get(arm, {}).items())
            if points:
                axes.plot(*zip(*points, strict=True), marker=marker, label=text)
        counts = sorted({count for points in by_arm.values() for count in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, labels=[f"{count // 1024}K" for count in counts])
        axes.set_xlabel("writes a rank")
        axes.set_ylabel("MiB/s" if rate else "s")
        axes.set_ylim(bottom=0)
        axes.set_title(label, fontsize=9)
    row[0].legend(fontsize=7)
    figure.suptitle(title, fontsize=10)
    save(figure, folder, name)


def footprint(rounds: Rounds, folder: Path) -> None:
    """Memory of the index, a process."""
    if "sizes" not in rounds:
        return
    runs = rounds["sizes"]["runs"]
    figure, axes = plt.subplots(figsize=(5, 3.5))
    writes = [run["writes"] for run in runs.values()]
    for key, marker, text in (("plain", "s", "plain index, 48 bytes a write"),
                              ("ours", "D", "log store, names included")):  # fmt: skip
        axes.plot(writes, [run[key] for run in runs.values()], marker=marker, label=text)
    for readers in (8, 128):
        axes.plot(writes, [readers * run["plain"] for run in runs.values()], linestyle=":",
                  color="grey", label=f"plain, {readers} readers on a node")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(writes, labels=list(runs))
    axes.set_xlabel("writes a rank")
    axes.set_ylabel("bytes a process")
    axes.legend(fontsize=7)
    ranks = rounds["sizes"]["ranks"]
    axes.set_title(f"Index in memory, {ranks} ranks, simulated (HPDC'13, figure 15)", fontsize=9)
    save(figure, folder, "hpdc13-15")


def milc(maps: Path, rounds: Rounds, folder: Path) -> None:
    """Maps of containers that ranks really wrote: offsets by time, and by rank."""
    names = ("MILC-A", "MILC-B", "MILC-C")
    if not all((maps / f"{name}.written.csv").exists() for name in names):
        return
    figure, rows = plt.subplots(2, 3, figsize=(9.6, 6), sharey="col")
    for column, name in enumerate(names):
        with (maps / f"{name}.written.csv").open() as text:
            writes = list(csv.DictReader(text))
        writers = _in_order(writes)
        first = min(int(row["time_ns"]) for row in writes)
        size = max(int(row["offset"]) + int(row["length"]) for row in writes)
        for axes, of_time in zip(rows[:, column], (True, False), strict=True):
            lines, colours = [], []
            for row in writes:
                rank = writers[row["writer"]]
                x = (int(row["time_ns"]) - first) / 1e6 if of_time else rank
                begin = int(row["offset"])
                # What is lower than a dot would not be seen.
                end = begin + max(int(row["length"]), size // 200)
                lines.append([(x, begin / 2**20), (x, end / 2**20)])
                colours.append(f"C{rank % 10}")
            # As an image: thousands of lines would make the file large.
            axes.add_collection(
                LineCollection(lines, colors=colours, linewidths=2, rasterized=True)
            )
            axes.autoscale()
            axes.set_xlabel("ms since the first write" if of_time else "rank")
        found = rounds.get(f"map {name}", {})
        rate = 56 * found["accesses"] / found["file_bytes"] if found else 0
        rows[0, column].set_title(
            f"({name[-1]}) {len(writes):,} writes, rate {rate:,.{0 if rate > 100 else 1}f}, "
            f"papers {found.get('paper', 0):g}",
            fontsize=9,
        )
    for axes in rows[:, 0]:
        axes.set_ylabel("MiB in the file")
    figure.suptitle(
        "MILC's writes as a container has them, a colour a rank (HPDC'13, figure 16)", fontsize=10
    )
    save(figure, folder, "hpdc13-16")


def _in_order(writes: list[dict[str, str]]) -> dict[str, int]:
    """Each writer's place: names say nothing of ranks, but MILC's portions lie in their order."""
    last: dict[str, int] = {}
    for row in writes:
        last[row["writer"]] = max(last.get(row["writer"], 0), int(row["offset"]))
    return {writer: place for place, writer in enumerate(sorted(last, key=last.__getitem__))}


def main() -> int:
    """Draw all that there are rounds of."""
    words = [*sys.argv[1:], *("build/bench", "docs/figures")[len(sys.argv) - 1 :]]
    results, folder = map(Path, words)
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams |= {"svg.hashsalt": "iotune", "svg.fonttype": "none"}
    path = results / "logstore.json"
    rounds: Rounds = dict(json.loads(path.read_text())["rounds"])
    panels(rounds, folder, "hpdc13-13",
           [("write open_s", False, "write open"), ("write seconds", True, "write"),
            ("write close_s", False, "write close")],
           f"Writes of {RECORD} bytes, N-1 strided, 8 ranks (HPDC'13, figure 13)")  # fmt: skip
    panels(rounds, folder, "hpdc13-14",
           [("read open_s", False, "read open, uniform"), ("read seconds", True, "uniform read"),
            ("non-uniform read open_s", False, "read open, non-uniform"),
            ("non-uniform read seconds", True, "non-uniform read")],
           f"Reads of {RECORD} bytes by 8 and by 4 ranks (HPDC'13, figure 14)")  # fmt: skip
    footprint(rounds, folder)
    milc(results / "logstore-maps", rounds, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
