"""Redraw the prefetching papers' figures from our runs.

  python tests/bench/prefetch/plot_prefetch.py [build/bench [docs/figures]]

Reads prefetch.json and ppis.json as `make bench NAME=…` leaves them, and writes SVG: HPDC'13's
figure 21, PPIS's figures 6 to 12. What was not measured is not drawn. Needs matplotlib.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

Rounds = dict[str, Any]
HPDC = {"alone": "no read-\nahead", "none": "none", "markov first": "Markov,\nfirst run",
        "markov": "Markov,\nsecond run", "he2013": "he2013", "pattern": "pattern",
        "cache": "pattern,\ncache", "perfect": "perfect"}  # fmt: skip
ARMS = {"normal": "o", "pp": "s", "ppis": "^", "ours": "D", "optimum": "x"}


def rounds_of(path: Path) -> Rounds:
    if not path.exists():
        print(f"{path}: not there, so not drawn")
        return {}
    return dict(json.loads(path.read_text())["rounds"])


def save(figure: Any, folder: Path, name: str, title: str) -> None:
    figure.axes[0].set_title(title)
    figure.tight_layout()
    path = folder / f"{name}.svg"
    # No date: a figure that did not change is the same file.
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def hpdc_21(rounds: Rounds, folder: Path) -> None:
    """Time in reads by system, a box over the rounds."""
    found = rounds.get("Pagoda-like")
    if found is None:
        return
    numbers = {arm: found["numbers"][arm] for arm in HPDC if arm in found["numbers"]}
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.boxplot(list(numbers.values()))
    axes.set_xticklabels([HPDC[arm] for arm in numbers])
    axes.set_ylabel("ms in reads")
    axes.set_ylim(bottom=0)
    save(figure, folder, "hpdc13-21", "Pagoda-like reads, 2 ms a request (HPDC'13, figure 21)")


def by_processes(rounds: Rounds, program: str, load: str, what: str) -> dict[str, dict[int, float]]:
    """Medians: arm -> processes -> ms."""
    pattern = re.compile(rf"{program}, (\d+) processes, {load}{what}")
    found: dict[str, dict[int, float]] = {}
    for name, row in rounds.items():
        match = pattern.fullmatch(name)
        if match is None:
            continue
        for arm, numbers in row["numbers"].items():
            found.setdefault(arm, {})[int(match[1])] = statistics.median(numbers)
    return found


def lines(
    rounds: Rounds, folder: Path, number: int, program: str, load: str, reads: bool, title: str
) -> None:
    found = by_processes(rounds, program, load, ": reads" if reads else "")
    if not found:
        return
    figure, axes = plt.subplots(figsize=(6, 3.5))
    for arm, marker in ARMS.items():
        points = sorted(found.get(arm, {}).items())
        if points:
            axes.plot(*zip(*points, strict=True), marker=marker, label=arm,
                      linestyle="--" if arm == "optimum" else "-")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts := sorted(next(iter(found.values()))), labels=map(str, counts))
    axes.set_xlabel("processes")
    axes.set_ylabel("ms in reads, a process" if reads else "ms")
    axes.set_ylim(bottom=0)
    axes.legend()
    save(figure, folder, f"ppis-{number:02}", f"{title} (PPIS, figure {number})")


def ppis_12(rounds: Rounds, folder: Path) -> None:
    """Time in reads that PPIS and ours save, by the size of a chunk."""
    pattern = re.compile(r"hill-encrypt, (\d+) processes, light, chunks of (\d+) KB: reads")
    saved: dict[tuple[str, int], dict[int, float]] = {}
    for name, row in rounds.items():
        match = pattern.fullmatch(name)
        if match is None:
            continue
        numbers = {arm: statistics.median(row["numbers"][arm]) for arm in row["numbers"]}
        for arm in ("ppis", "ours"):
            curve = saved.setdefault((arm, int(match[1])), {})
            curve[int(match[2])] = 100 * (1 - numbers[arm] / numbers["normal"])
    if not saved:
        return
    figure, axes = plt.subplots(figsize=(6, 3.5))
    for (arm, processes), curve in sorted(saved.items()):
        axes.plot(*zip(*sorted(curve.items()), strict=True), marker=ARMS[arm],
                  label=f"{arm}, {processes} processes")  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("KB a chunk")
    axes.set_ylabel("% less in reads than normal")
    axes.legend()
    save(figure, folder, "ppis-12", "Hill's cipher by size of a chunk (PPIS, figure 12)")


def main() -> int:
    """Draw all that there are rounds of."""
    words = [*sys.argv[1:], *("build/bench", "docs/figures")[len(sys.argv) - 1 :]]
    results, folder = map(Path, words)
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams |= {"svg.hashsalt": "iotune", "svg.fonttype": "none"}
    hpdc_21(rounds_of(results / "prefetch.json"), folder)
    ppis = rounds_of(results / "ppis.json")
    lines(ppis, folder, 6, "matrix-search", "light", False, "Matrix search, run time")
    lines(ppis, folder, 7, "matrix-search", "light", True, "Matrix search, time in reads")
    for number, load, reads in ((8, "light", False), (9, "heavy", False), (10, "light", True),
                                (11, "heavy", True)):  # fmt: skip
        title = f"Hill's cipher, {'time in reads' if reads else 'run time'}, {load} I/O beside it"
        lines(ppis, folder, number, "hill-encrypt", load, reads, title)
    ppis_12(ppis, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
