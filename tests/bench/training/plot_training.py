"""Draw how soon each search finds a pattern's best settings.

  python tests/run.py tests/bench/training/plot_training.py [build/bench [docs/figures]]

Reads training.json as `make bench NAME=training` leaves it, and writes one SVG a storage. What was
not measured is not drawn. Needs matplotlib.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

_ROW = re.compile(r"(\w+): (\w+), best of (\d+) over the best known")
_DEFAULT = re.compile(r"(\w+): the default over the best known")
_MARKERS = {"random": ".", "grid": "x", "genetic": "s", "regression": "^", "tpe": "v",
            "halving": "o", "ours": "D"}  # fmt: skip


def draw(storage: str, curves: dict[str, dict[int, float]], default: float, folder: Path) -> None:
    """One figure: a curve a search, and the default as a line."""
    figure, axes = plt.subplots(figsize=(6, 3.5))
    for method, marker in _MARKERS.items():
        points = sorted(curves.get(method, {}).items())
        if points:
            axes.plot(*zip(*points, strict=True), marker=marker, label=method,
                      linewidth=2.5 if method == "ours" else 1)  # fmt: skip
    axes.axhline(default, linestyle="--", color="grey", label="default")
    axes.set_xlabel("runs")
    axes.set_ylabel("share of the best known")
    axes.set_ylim(0, 1.02)
    axes.set_title(f"{storage}: held-out patterns, median")
    axes.legend(fontsize=8, ncols=2)
    figure.tight_layout()
    path = folder / f"training-{storage}.svg"
    # No date: a figure that did not change is the same file.
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def main() -> int:
    """Draw every storage that there are rows of."""
    words = [*sys.argv[1:], *("build/bench", "docs/figures")[len(sys.argv) - 1 :]]
    results, folder = map(Path, words)
    folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams |= {"svg.hashsalt": "iotune", "svg.fonttype": "none"}
    curves: dict[str, dict[str, dict[int, float]]] = {}
    defaults: dict[str, float] = {}
    for row in json.loads((results / "training.json").read_text())["rows"]:
        found = _ROW.fullmatch(row["what"])
        if found:
            of_storage = curves.setdefault(found[1], {})
            of_storage.setdefault(found[2], {})[int(found[3])] = row["value"]
        elif found := _DEFAULT.fullmatch(row["what"]):
            defaults[found[1]] = row["value"]
    for storage, of_storage in curves.items():
        draw(storage, of_storage, defaults[storage], folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
