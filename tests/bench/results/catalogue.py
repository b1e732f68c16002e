"""The tables of the pages on patterns and prediction: a line a row of the catalogue."""

from __future__ import annotations

import statistics
from typing import Any

from bench.results.pivot import Pivot, chosen
from bench.results.tables import MarkdownTable, short

TIMED_FROM = 1000  # accesses; bench_patterns.py has no times of less
METHODS = {
    "he2013_local": "he2013 local", "he2013_global": "global", "he2013_ids": "with ids as units",
    "zlib_9": "`zlib -9`", "zstd_19": "`zstd -19`", "ours": "ours",
}  # fmt: skip
PREDICTORS = {
    "nest": "ours", "best": "best", "stride": "stride", "readahead": "readahead", "unit": "unit",
    "tree": "tree", "markov": "markov", "markov again": "again", "plan": "plan",
}  # fmt: skip
DRAWN = Pivot(
    "nests", r"(?P<case>\d+ drawn nests(?: \(.*\))?), (?P<measure>[a-z ]+): (?P<of>median|worst)",
    {
        name: title
        for name, title in PREDICTORS.items()
        if name not in ("best", "readahead", "plan")
    },
)  # fmt: skip


def _nanoseconds(row: dict[str, Any], arm: str) -> str:
    """Return the median of the rounds; rows of a few dozen accesses are not timed."""
    return short(statistics.median(row[arm])) if row["accesses"] >= TIMED_FROM else ""


def patterns(content: dict[str, Any], note: str) -> dict[str, MarkdownTable]:
    """Return the rates of the catalogue, and the rows that have a goal."""
    columns = ["", "accesses", "paper", *METHODS.values(), "ours, bytes", "he2013, ns", "ours, ns"]
    rates = MarkdownTable(columns, note=note)
    for row in content["rounds"]["sizes"]:
        if "noise" in row or not row.get("name"):
            continue  # drawn
        paper = row.get("paper")
        cells = [short(row["plain"] / row[method]) for method in METHODS]
        rates.rows.append([
            row["name"], short(row["accesses"]), short(paper) if paper else "", *cells,
            short(row["ours"]), *(_nanoseconds(row, arm) for arm in ("he2013_ns", "ours_ns")),
        ])  # fmt: skip
    rows = content["rows"]
    return {
        "rates": rates,
        "goals": chosen(rows, "ours over|ours, rate|ns CPU", note),
        "further": chosen(rows, r"drawn nests|10\^8|512 ranks", note),
    }


def prediction(content: dict[str, Any], note: str) -> dict[str, MarkdownTable]:
    """Return the shares of the catalogue, of drawn nests, and the times."""
    shares = MarkdownTable(["row", "accesses", *PREDICTORS.values()], note=note)
    for row in content["rounds"]["rows"]:
        found = row["predictors"]
        cells = [
            f"{found[name]['right'] / row['accesses']:.4f}" if name in found else ""
            for name in PREDICTORS
        ]
        if not row["row"].isdigit():  # those are seeds of drawn nests
            shares.rows.append([row["row"], short(row["accesses"]), *cells])
    rows = content["rows"]
    return {
        "shares": shares,
        "drawn": DRAWN.table(rows, note),
        "lead": chosen(rows, "accesses ahead", note),
        "noise": chosen(rows, "drawn nests.*(0.985|over the goal|misses)", note),
        "times": chosen(rows, "ns CPU an access", note),
        "state": chosen(rows, "state of a stream", note),
        "many-steps": chosen(rows, "said by best|with many steps", note),
    }
