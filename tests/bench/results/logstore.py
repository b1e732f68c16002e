"""The tables of the log store's page."""

from __future__ import annotations

from typing import Any

from bench.results.pivot import Pivot, chosen, pivots
from bench.results.tables import MarkdownTable

SIZE = r"512 ranks x (?P<measure>\d+K) writes \(simulated\): "
SIZES = {"16K": "16K", "64K": "64K", "256K": "256K"}
RUN = r"8 ranks, (?P<records>\d+ records of \d+ bytes) each: "
STORAGE = r"CephFS.*, 4 ranks, (?P<records>\d+ records of \d+ bytes) each: "
ARMS = {"ordinary": "ordinary", "plain": "plain", "logged": "logged"}
SECONDS = {name: f"{title}, s" for name, title in ARMS.items()}
RATES = {
    "the papers'": "papers", "he2013's, no names, no times": "he2013",
    "merged as bytes, names": "merged as bytes",
    "merged in memory, all of the object": "in memory",
    "on disk after the close, names and times": "on disk",
}  # fmt: skip

FORMS = {
    "bytes": Pivot("512 ranks, writes of each", f"{SIZE}(?P<case>.*bytes)", SIZES),
    "cost": Pivot("a write of", "a write of (?P<case>.*): (?P<measure>.*)", {
        "the append alone, ns": "the append alone, ns", "plain adds, ns": "plain adds",
        "ours adds, ns": "log store adds", "ours, timed by the counter, adds, ns": "by the counter",
    }),
    "rates": Pivot("simulated", r"(?P<case>[\w-]+) \(sim.*: rate, (?P<measure>.*)", RATES),
    "maps": Pivot("really written", r"(?P<case>[\w-]+) \(really .*: rate, (?P<measure>.*)", {
        **RATES, "on disk after compaction, names and the times that matter": "after compaction",
    }),
    "runs": Pivot("8 ranks, records of each", RUN + "(?P<what>.*) seconds, (?P<measure>.*), s",
                  SECONDS),
    "gains": Pivot("8 ranks, records of each", RUN + "(?P<what>write and read back|write|read|"
                   "non-uniform read), (?P<measure>.* over logged)",
                   {"ordinary over logged": "ordinary over logged",
                    "plain over logged": "plain over logged"}),
    "opens": Pivot("8 ranks, records of each", RUN + "(?P<what>.* open|.* close), (?P<measure>.*),"
                   " s", SECONDS),
    "storage": Pivot("4 ranks on 2 clients, records of each", STORAGE + "(?P<what>write|read|"
                     "non-uniform read) seconds, (?P<measure>.*), s", SECONDS),
    "storage-gains": Pivot("4 ranks on 2 clients, records of each", STORAGE + "(?P<what>write and "
                           "read back|write|read|non-uniform read), (?P<measure>.* over logged)",
                           {"ordinary over logged": "ordinary over logged",
                            "plain over logged": "plain over logged"}),
    "metadata": Pivot("metadata calls of one rank, by strace", "metadata calls of a rank, "
                      "(?P<what>write|read), (?P<measure>.*)", ARMS),
}  # fmt: skip


def written(content: dict[str, Any], note: str) -> dict[str, MarkdownTable]:
    """Return the tables by their names."""
    made = pivots(FORMS, content, note)
    made["writer"] = chosen(content["rows"], "^a writer's memory", note)
    made["reads"] = chosen(content["rows"], "read open|look-up", note)
    made["reads"].rows = [row for row in made["reads"].rows if not row[0].startswith("8 ranks")]
    return made
