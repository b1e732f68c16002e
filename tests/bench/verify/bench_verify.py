"""What `iotune verify` says against what others say.

  published LIBRARY   the tests of PnetCDF, netCDF and HDF5 that have published figures: the same
                      verdict in each model; programs.toml has the program behind each row
  drawn               programs on paper, decided pair by pair by the brute force

Sources are Debian's; they and the programs lie in build/verify, and are made once.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from bench import paired, pieces
from bench.verify import verify_speed
from bench.verify.published_tests import MODELS, PublishedTests, Unbuilt, compared, outcome, table
from bench.verify.published_tests import wanting as wanting_programs
from support import preloaded
from support.installed.brute_force import judge
from support.installed.drawn_order import draw_trace
from support.installed.order_runs import verdicts_of, with_conflicts
from support.repository import ROOT

LIBRARIES = ("pnetcdf", "netcdf", "hdf5")
DRAWN = 10_000
LEAST_TESTS = 60


def published(tests: PublishedTests, library: str, rows: paired.Table) -> None:
    """All tests of one library."""
    kept: list[dict[str, Any]] = []
    for row in table():
        if row.library != library:
            continue
        if row.missing or row.pairs is None:
            kept.append({"test": row.name, "left out": row.missing or "no published figures"})
            continue
        with tempfile.TemporaryDirectory(prefix="iotune-verify-") as folder:
            try:
                found = compared(row, verdicts_of(tests.recorded(row, Path(folder))))
            except (Unbuilt, preloaded.Hang) as problem:
                print(f"NOT VERIFIED: {row.name}: {problem}")
                kept.append({"test": row.name, "left out": str(problem)})
                continue
        kept.append(found)
        print(f"{row.name}: " + "; ".join(f"{m} {found[m]}" for m in MODELS), flush=True)
    counts = Counter(outcome(one) for one in kept if "ours" in one)
    rows.add(f"{library}: tests with the same verdicts in all models", counts["same"])
    rows.add(f"{library}: tests with others, explained", counts["explained"])
    rows.add(f"{library}: tests with others", counts["different"], paired.at_most(0))
    rows.add(f"{library}: tests not in Debian's version, without figures, or not run",
             len(kept) - sum(counts.values()))  # fmt: skip
    rows.rounds[f"published {library}"] = kept


def drawn(count: int, rows: paired.Table) -> None:
    """Programs on paper: how many have other verdicts than the brute force's."""
    different = 0
    with tempfile.TemporaryDirectory(prefix="iotune-verify-") as folder:
        trace = Path(folder) / "drawn.iotrace"
        for seed in range(count):
            draw_trace(seed, trace)
            expected, found = with_conflicts(judge(trace)), with_conflicts(verdicts_of(trace))
            if found != expected:
                different += 1
                print(f"drawn program {seed}: {found}, by the brute force {expected}", flush=True)
    rows.add(f"drawn programs, of {count}: others than the brute force", different,
             paired.at_most(0))  # fmt: skip


def main() -> int:
    """Measure and write build/bench/verify.json."""
    options = pieces.arguments(__doc__, rounds=DRAWN)
    tests = PublishedTests(options.build, ROOT / "build" / "verify")
    if missing := wanting_programs():
        print(f"NOT VERIFIED: the published tests cannot be built without {', '.join(missing)}")
    measured = {} if missing else {
        f"published {library}": partial(published, tests, library) for library in LIBRARIES
    }  # fmt: skip
    speed = {
        "record": verify_speed.record_messages, "pairs": verify_speed.many_pairs,
        "barriers": verify_speed.many_barriers, "halo": verify_speed.many_messages,
    }  # fmt: skip
    measured |= {name: partial(piece, options) for name, piece in speed.items()}
    return pieces.run("verify", options, {**measured, "drawn": partial(drawn, options.rounds)})


if __name__ == "__main__":
    sys.exit(main())
