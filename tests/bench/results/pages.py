"""Writes the tables of docs/results from the data of the last full runs.

  pages.py                 write the tables of all pages anew
  pages.py take NAME…      take build/bench/NAME.json in as the last full run, then write

A table stands between two comments in a page, `<!-- results: NAME TABLE -->` and
`<!-- end of results -->`. NAME is a file below docs/results/data, TABLE one of the tables that are
made of it: `all` where the benchmark has no writer of its own.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import time
from pathlib import Path

from bench.results import tables
from bench.results.front import front_table
from bench.results.tables import MarkdownTable
from bench.results.writers import WRITERS
from support.repository import ROOT

RESULTS = ROOT / "docs" / "results"
MARKED = re.compile(
    r"(<!-- results: (?P<name>[\w-]+) (?P<table>[\w-]+) -->\n).*?(<!-- end of results -->)",
    re.DOTALL,
)
PARTS = ("## What it asks", "## Results", "## Command", "## What this does not show")


def data_file(folder: Path, name: str) -> Path:
    """Return where the data of a benchmark lie: those of a run before what is transcribed."""
    for kind in ("runs", "transcribed"):
        path = folder / "data" / kind / f"{name}.json.gz"
        if path.is_file():
            return path
    raise tables.NoSuchTable(f"there is no {folder / 'data'}/*/{name}.json.gz")


class Results:
    """The data of all runs; each file is read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.of = functools.lru_cache(maxsize=None)(self._read)

    def _read(self, name: str) -> dict[str, MarkdownTable]:
        content = tables.load(data_file(self.folder, name))
        if "transcribed" in content:
            return tables.transcribed(content)
        note = tables.provenance(content)
        whole = {"all": tables.standard(content["rows"], note)}
        writer = WRITERS.get(name)
        return whole if writer is None else {**whole, **writer(content, note)}

    def table(self, name: str, table: str) -> MarkdownTable:
        """Return a table by the file's name and its own."""
        made = self.of(name)
        if table not in made:
            raise tables.NoSuchTable(f"{name} has no table {table!r}; it has {sorted(made)}")
        return made[table]


def written(text: str, results: Results) -> str:
    """Return a page with its tables as they are now."""

    def put(match: re.Match[str]) -> str:
        if match["name"] == "front":
            table = front_table(results)
        else:
            table = results.table(match["name"], match["table"])
        return f"{match[1]}\n{table.text()}\n\n{match[4]}"

    return MARKED.sub(put, text)


def stale(folder: Path) -> list[Path]:
    """Return the pages whose tables are not those of the data."""
    results = Results(folder)
    pages = sorted(folder.glob("*.md"))
    return [page for page in pages if page.read_text() != written(page.read_text(), results)]


def write(folder: Path) -> list[Path]:
    """Write the tables of all pages; return the pages that changed."""
    results = Results(folder)
    changed = stale(folder)
    for page in changed:
        page.write_text(written(page.read_text(), results))
    return changed


def take(folder: Path, path: Path, commit: str | None, note: str | None) -> None:
    """Take a benchmark's JSON in as its last full run."""
    content = json.loads(path.read_text())
    when = time.strftime("%Y-%m-%d", time.gmtime(path.stat().st_mtime))
    taken = {"date": when, **(content.get("taken") or {})}
    if commit:
        taken["commit"] = commit
    if note:
        taken["note"] = note
    content["taken"] = taken
    name = f"{content['name']}.json.gz"
    tables.store(folder / "data" / "runs" / name, content)
    (folder / "data" / "transcribed" / name).unlink(missing_ok=True)


def main() -> int:
    """Write the pages, after taking in what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("take", nargs="?", choices=["take"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--commit", help="the build, where the JSON does not say it")
    parser.add_argument("--note", help="what else is to be known: other work beside it")
    options = parser.parse_args()
    try:
        for name in options.names:
            take(RESULTS, options.out / f"{name}.json", options.commit, options.note)
        for page in write(RESULTS):
            print(f"results: {page.relative_to(ROOT)}")
    except (OSError, ValueError) as problem:
        print(f"results: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
