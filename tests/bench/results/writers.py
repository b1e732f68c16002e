"""Which benchmarks have tables of a form of their own: by name, a function of the run's JSON.

All others have one table, `all`: what `make bench` prints.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bench.results import catalogue, logstore, verify
from bench.results.pivot import Pivot, chosen, pivots
from bench.results.tables import MarkdownTable

Writer = Callable[[dict[str, Any], str], dict[str, MarkdownTable]]

READS = {
    "none, ms in reads": "none, ms",
    "markov, time in reads against none": "Markov, second run",
    "he2013, time in reads against none": "he2013",
    "pattern, time in reads against none": "pattern",
    "perfect, time in reads against none": "perfect",
    "share of perfect's saving": "share of perfect's saving",
    "pattern, the whole run against none": "the whole run",
    "pattern, unused bytes against bytes read": "unused",
}
KINDS = ("strided|nested|Pagoda-like|MILC-like|two interleaved|1 % noise|random|"
         "loop of 40 steps|in bursts")  # fmt: skip
ARMS = {
    "optimum, speed-up (at most 2 where all can be hidden)": "optimum",
    "pp, speed-up": "PP", "ppis, speed-up": "PPIS", "ours, speed-up": "ours",
    "ours, time against pp": "ours, time against PP",
}  # fmt: skip
GAINS = {
    "iotune against default": "iotune against default",
    "ROMIO_HINTS against default": "ROMIO_HINTS against default",
    "iotune against the best": "iotune against the best of the search",
}
OWN = "by the rounds' own ratios"
WORST = {
    "iotune against default": "ratio of medians",
    f"iotune against default, {OWN}": "the rounds' own ratios",
    f"whole runs, {OWN}": "whole runs",
}
STORAGES = ("disk", "memory", "nodes-disk", "nodes-memory", "cephfs")
FOLLOWING = {f"best of {runs}": f"k = {runs}" for runs in (1, 3, 5, 10, 20)}
SLOWEST = {
    "p99 of the slowest, predicted, ms": "predicted, ms", "the same, measured, ms": "measured, ms",
    "too long by, %": "too long by, %", "too short by, %": "too short by, %",
}  # fmt: skip
ONE_PAGE = {
    "size of the trace, MiB": "trace, MiB", "report, s, median": "report, s",
    "s of computing, median": "computing, s", "size of the page, MiB": "page, MiB",
    "most memory, MiB": "most memory, MiB",
}  # fmt: skip

PIVOTS: dict[str, dict[str, Pivot]] = {
    "prefetch": {
        "kinds": Pivot("reads", f"(?P<case>{KINDS}): (?P<measure>.*)", READS),
        "others": Pivot("reads", f"(?P<case>(?!({KINDS}):).*): (?P<measure>.*)", {
            name: title for name, title in READS.items() if "markov" not in name
            and "he2013" not in name and "share" not in name
        }),
        "further": Pivot("further", "(?P<case>.*): (?P<measure>added by pattern, ns CPU)",
                         {"added by pattern, ns CPU": "added, ns CPU"}),
    },
    "prefetch_programs": {
        "programs": Pivot("program", "(?P<case>.*): (?P<measure>.*)", {
            "none, ms in reads": "none, ms in reads", "none, ms in all": "none, ms in all",
            "pattern, time in reads against none": "pattern: time in reads",
            "pattern, the whole run against none": "whole run",
            "perfect, time in reads against none": "perfect: time in reads",
            "perfect, the whole run against none": "its whole run",
        }),
    },
    "ppis": {
        "processes": Pivot("program, processes, other I/O",
                           "(?P<case>.*, (heavy|light)(, computes)?): (?P<measure>.*)", ARMS),
        "chunks": Pivot("program, processes, chunks", "(?P<case>.*chunks of.*): (?P<measure>.*)",
                        ARMS),
    },
    "tuning": {
        storage: Pivot("case", f"(?P<case>.*) {storage}: (?P<measure>iotune against "
                               "the best|.*?)( of [0-9]+)?", GAINS)
        for storage in STORAGES
    },
    "safety": {
        storage: Pivot("case, rounds, a run of the default's, answer",
                       f"(?P<case>.*) {storage}, (?P<rest>.*?): (?P<measure>.*)", WORST)
        for storage in STORAGES
    },
    "similarity": {
        "receivers": Pivot("trained for, received by, distance, settings",
                           "(?P<case>.*): (?P<measure>against .*)",
                           {"against default": "against default",
                            "against its own training": "against its own training"}),
    },
    "slowest": {
        "injected": Pivot("servers", "(?P<case>injected.* servers?): (?P<measure>.*)", SLOWEST),
        "cephfs": Pivot("servers", "(?P<case>real.* servers?): (?P<measure>.*)", SLOWEST),
    },
    "tails": {
        "errors": Pivot("samples, servers, fit",
                        "(?P<samples>.* samples), (?P<measure>exponent .*), (?P<servers>.*), "
                        "(?P<fit>.*): error of p99, %",
                        {f"exponent {one}": f"exponent {one}" for one in ("1.5", "2", "3", "4")}),
    },
    "dataloader": {
        "epochs": Pivot("loader", "(?P<case>.*): (?P<measure>none, s an epoch|.* against none)", {
            "none, s an epoch": "none, s an epoch",
            "record, an epoch against none": "record", "first, an epoch against none": "first",
            "later, an epoch against none": "later",
        }),
    },
    "report": {
        "ours": Pivot("accesses", "(?P<case>.*) accesses: (?P<measure>.*)", ONE_PAGE),
        "peers": Pivot("log", "(?P<case>PyDarshan.*\\)), (?P<measure>.*)", {
            "s, one run": "summary, s", "s of computing": "computing, s",
            "size of the page, MiB": "page, MiB",
        }),
    },
    "peers": {
        "calls": Pivot("calls, tracer", "(?P<case>.* pwrites .*): (?P<measure>.*)", {
            "ns CPU": "ns CPU", "added, ns CPU": "added, ns CPU",
            "over untraced": "over untraced", "bytes on disk": "bytes on disk",
        }),
        "kernels": Pivot("run, tracer", "(?P<case>.* run, .*): (?P<measure>.*)", {
            "s CPU": "s CPU", "added, s CPU": "added, s CPU",
            "over untraced": "over untraced", "bytes on disk": "bytes on disk",
        }),
        "deaths": Pivot("end", "(?P<case>.*, of [0-9]+ calls) kept: (?P<measure>.*)",
                        {"iotune": "kept by iotune", "dftracer": "kept by dftracer"}),
        "reports": Pivot("tool", "report of (?P<case>.*): (?P<measure>.*)", {
            "s": "s", "over iotune": "over iotune", "page, KiB": "page, KiB",
        }),
    },
    "analyze": {
        "traces": Pivot("trace", "(?P<case>.*), -j [0-9]+: (?P<measure>.*)", {
            "most memory of a process, MiB": "most memory, MiB",
            "pattern log, bytes": "pattern log, bytes", "seconds, one run": "s",
        }),
    },
}  # fmt: skip


def training(content: dict[str, Any], note: str) -> dict[str, MarkdownTable]:
    """Return the curves of the searches, and what else was judged."""
    rows = content["rows"]
    made = {"winners": chosen(rows, "false winners|a gain of 10", note)}
    made["as-users-do"] = chosen(rows, "^a (training|survey) of|left out", note)
    for storage in ("cephfs", "paced"):
        made[f"{storage}-further"] = chosen(rows, f"^{storage}: ", note)
    for storage in ("disk", "nodes"):
        curve = f"{storage}: (?P<case>.*), (?P<measure>best of [0-9]+)(?: over the best known)?"
        made[storage] = Pivot("search", curve, FOLLOWING).table(rows, note)
        made[f"{storage}-further"] = chosen(rows, f"^{storage}: (?!.*, best of)", note)
    return made


WRITERS: dict[str, Writer] = {
    **{name: functools.partial(pivots, made) for name, made in PIVOTS.items()},
    "logstore": logstore.written,
    "patterns": catalogue.patterns,
    "prediction": catalogue.prediction,
    "training": training,
    "verify": verify.written,
}
