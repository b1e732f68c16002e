"""The forms of tables find the rows of their benchmarks, as these name them."""

from __future__ import annotations

from typing import Any

import pytest

from bench.results import catalogue
from bench.results.writers import WRITERS


def run_of(*names: str, goal: str | None = None) -> dict[str, Any]:
    """A run whose rows all have one value."""
    row = {"value": 1.5, "low": 1.2, "high": 1.8, "goal": goal, "holds": goal and True}
    return {"rows": [{"what": name, **row} for name in names], "rounds": {}}


@pytest.mark.parametrize(
    ("name", "table", "row", "line", "column"),
    [
        ("prefetch", "kinds", "1 % noise: pattern, time in reads against none",
         "1 % noise", "pattern"),
        ("prefetch", "others", "strided, 10 ms: pattern, the whole run against none",
         "strided, 10 ms", "the whole run"),
        ("prefetch_programs", "programs", "h5py by planes: none, ms in reads",
         "h5py by planes", "none, ms in reads"),
        ("ppis", "processes", "hill-encrypt, 1 processes, light, computes: ours, speed-up",
         "hill-encrypt, 1 processes, light, computes", "ours"),
        ("ppis", "chunks", "hill-encrypt, 8 processes, light, chunks of 102 KB: pp, speed-up",
         "hill-encrypt, 8 processes, light, chunks of 102 KB", "PP"),
        ("tuning", "disk", "vpic-io write disk: iotune against the best of 101",
         "vpic-io write", "iotune against the best of the search"),
        ("safety", "nodes-disk",
         "vpic-io write nodes-disk, 12 rounds of 0.25 s, cb_config_list=*:2: whole runs, "
         "by the rounds' own ratios",
         "vpic-io write, 12 rounds of 0.25 s, cb_config_list=*:2", "whole runs"),
        ("similarity", "receivers", "vpic-io to ior-io write cephfs, exact at 0, a=1: "
         "against default", "vpic-io to ior-io write cephfs, exact at 0, a=1", "against default"),
        ("training", "disk", "disk: ours, best of 3 over the best known", "ours", "k = 3"),
        ("training", "nodes", "nodes: ours, leave one out, best of 20",
         "ours, leave one out", "k = 20"),
        ("slowest", "injected", "injected, 4 servers: the same, measured, ms",
         "injected, 4 servers", "measured, ms"),
        ("tails", "errors", "1000 samples, exponent 1.5, 4 servers, one pivot: error of p99, %",
         "1000 samples, 4 servers, one pivot", "exponent 1.5"),
        ("report", "ours", "1e+07 accesses: report, s, median", "1e+07", "report, s"),
        ("analyze", "traces", "1e+08 nested accesses, -j 2: pattern log, bytes",
         "1e+08 nested accesses", "pattern log, bytes"),
        ("peers", "calls", "4 x 50000 pwrites of 64 bytes, random, iotune: added, ns CPU",
         "4 x 50000 pwrites of 64 bytes, random, iotune", "added, ns CPU"),
        ("peers", "deaths", "term, of 40 calls kept: dftracer",
         "term, of 40 calls", "kept by dftracer"),
        ("logstore", "gains", "8 ranks, 16384 records of 64 bytes each: write and read back, "
         "ordinary over logged", "16384 records of 64 bytes, write and read back",
         "ordinary over logged"),
        ("logstore", "bytes", "512 ranks x 64K writes (simulated): on disk after the close, bytes",
         "on disk after the close, bytes", "64K"),
    ],
)  # fmt: skip
def test_a_row_has_its_place(name, table, row, line, column):
    made = WRITERS[name](run_of(row), "a note")[table]
    assert made.cell(line, column) == "1.5 (1.2 to 1.8)"
    assert made.text().endswith("\n\n*a note*")


def test_a_storage_is_not_the_end_of_another():
    made = WRITERS["tuning"](run_of("vpic-io write nodes-disk: iotune against default"), "")
    assert [name for name, table in made.items() if table.rows] == ["nodes-disk"]


def test_what_was_not_measured_is_said():
    made = WRITERS["slowest"](run_of("injected, 4 servers: the same, measured, ms"), "")
    assert made["cephfs"].text() == "Not measured in the last run."


def test_rates_are_of_the_bytes_of_a_plain_index():
    methods = dict.fromkeys(catalogue.METHODS, 10)
    row = {"name": "FS-TEST", "accesses": 2000, "plain": 112_000, "paper": 0.0, **methods,
           "he2013_ns": [3.0, 1.0, 2.0], "ours_ns": [1.0, 1.0, 4.0]}  # fmt: skip
    drawn = {**row, "name": "drawn nest 1", "noise": 0.0}
    content = {"rows": [], "rounds": {"sizes": [row, drawn]}}
    (line,) = catalogue.patterns(content, "")["rates"].rows
    assert line == ["FS-TEST", "2,000", "", *["11,200"] * 6, "10", "2", "1"]
