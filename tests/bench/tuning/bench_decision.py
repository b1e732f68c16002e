"""What a decision costs the rank that asks: a new process, a database of 1 and of 100,000 patterns.

Of 100,000 also where the pattern has no answer: one that resembles none (*untrained*), one that
resembles thousands (*similar*), and one for which a model is asked (*predicted*, 256 candidates).
Then what presence and agreement cost two ranks.

Loading libiotune-db.so counts, because the first open of a run pays for it. The files lie in the
page cache, as after an earlier run; on a network file system the first read is slower.
"""

from __future__ import annotations

import base64
import functools
import math
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from iotune.models.gains.fit import fit
from iotune.models.gains.rows import rows_of
from iotune.models.gains.store import MOST_CANDIDATES, candidates_of

from bench import paired
from bench.training.made_surfaces import PLATFORM, made_surfaces
from bench.tuning import agreement
from iotune import core
from support import preloaded
from support.answers import APPLICATION_ID, SCHEMA
from support.repository import TESTS

WALL = "write independent contiguous plain parallel whole"


def pattern(count: int, kind: int) -> tuple[object, ...]:
    """Id, keys and extents of a contiguous pattern of so many elements; equal kinds are equal."""
    key = f"<1D,(BLOCK),({4 * count} B)> write independent ranks=4 grid=4 chunk=none filters=0"
    return (
        count, key if kind == 1 else f"{key} of another kind", f"<1D,(BLOCK),({4 * count} B)>",
        f"<1D,(BLOCK),({count})>", str(4 * count), str(4 * count),
    )  # fmt: skip


def make_database(path: Path, patterns: int) -> None:
    """As many programs, each with a pattern and an answer of its own, three runs each."""
    db = sqlite3.connect(path)
    for step in ("schema.sql", "schema_v2.sql", "schema_v3.sql"):
        db.executescript(SCHEMA.with_name(step).read_text())
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 3")
    db.execute(
        "INSERT INTO platforms VALUES (1, 'ext4', 'MPICH 4.0.2', '1.10.8', ?)",
        (platform.machine(),),
    )
    db.execute("INSERT INTO settings VALUES (1, ''), (2, 'cb_nodes=2;romio_cb_write=disable')")
    numbers = range(1, patterns + 1)

    def rows(make: object) -> Iterator[tuple[object, ...]]:
        return (make(n) for n in numbers)  # type: ignore[operator]

    db.executemany(
        "INSERT INTO workloads VALUES (?, ?, 'out#.h5', 4, 1)",
        rows(lambda n: (n, f"program-{n - 1}")),
    )
    db.executemany(
        "INSERT INTO patterns VALUES (?,?,?,?,'write',1,'BLOCK',?,4,4,'4','independent','',0,?,?,"
        "?,0)",
        rows(lambda n: (*pattern(n, 1), WALL, math.log2(4 * n))),
    )
    # Programs without an answer: one among all the others, one far from them.
    without = (
        ("similar", patterns // 2 + 1), ("untrained", patterns << 20), ("predicted", 20 * patterns)
    )  # fmt: skip
    for number, (program, count) in enumerate(without, 1):
        own = patterns + number
        db.execute("INSERT INTO workloads VALUES (?, ?, 'out#.h5', 4, 1)", (own, program))
        row = (own, *pattern(count, 2)[1:], WALL, math.log2(4 * count))
        db.execute(
            "INSERT INTO patterns VALUES (?,?,?,?,'write',1,'BLOCK',?,4,4,'4','independent','',"
            "0,?,?,?,0)", row,
        )  # fmt: skip
        db.execute("INSERT INTO workload_patterns VALUES (?, ?, '/a', 1, 1, 1, 50, 1)", (own, own))
    db.executemany(
        "INSERT INTO workload_patterns VALUES (?, ?, '/a', 1, 1, 1, 50, 1)",
        rows(lambda n: (n, n)),
    )
    db.executemany(
        "INSERT INTO tunings (id, pattern, platform, settings, state, gain, low, high, rounds,"
        " made_at, source, default_share) VALUES (?, ?, 1, 2, 'tuned', 2, 1.5, 2.5, 5, 60,"
        " 'train', 0)",
        rows(lambda n: (n, n)),
    )
    for run in range(3):
        db.executemany(
            "INSERT INTO observations VALUES (NULL,?,0,'run','/t','/p','/f',?,1,?,2,'exact',?,"
            "1000000,0,1,1,50)",
            rows(lambda n, run=run: (f"{run}-{n}.observation.json", n, n, n)),
        )
    db.commit()
    db.close()
    path.chmod(0o600)


def add_model(path: Path) -> None:
    """A model of this platform, fitted to made surfaces, with as many candidates as one may have.

    Kept in a copy beside the database: one without a model is asked as well.
    """
    surfaces = made_surfaces(40, 1, ranks=(2, 4))
    candidates = candidates_of(surfaces)
    assert len(candidates) == MOST_CANDIDATES, len(candidates)
    payload = fit(rows_of(surfaces)).payload
    core.Database(path).add_gain_model(
        {
            "platform": PLATFORM, "payload": base64.b64encode(payload).decode(),
            "candidates": "\n".join(candidates), "archive": "", "score": {},
            "patterns": 40, "rows": 1600, "made_at": 1.0e9,
        }
    )  # fmt: skip


def ask(
    library: Path, database: Path | str, program: str, count: int, expected: str = "exact"
) -> tuple[float, ...]:
    """(load, first, CPU of both, of the same series, of others) in ms."""
    done = subprocess.run(
        [sys.executable, str(TESTS / "run.py"), str(TESTS / "bench" / "tuning" / "decide_once.py"),
         str(library), program, "/data/out%d.h5", str(count)],
        env={**os.environ, "IOTUNE_DB": str(database)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *numbers, source = done.stdout.split()
    assert source == expected, (source, expected)
    return tuple(float(number) for number in numbers)


def run_end(build: Path, database: Path, folder: Path) -> tuple[float, float]:
    """(ms, KiB written) of learning from a small parallel run's trace into the database."""
    trace = folder / "run.iotrace"
    trace.unlink(missing_ok=True)
    subprocess.run(
        ["mpirun.mpich", "-n", "2", str(build / "bin" / "ask_settings"), str(folder / "a.h5")],
        check=True, stdout=subprocess.DEVNULL,
        env={**os.environ, **preloaded.variables(build / "lib" / "libiotune.so"),
             "IOTUNE_TRACE": str(trace), "IOTUNE_DB": "none"},
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(TESTS / "run.py"), str(TESTS / "bench" / "tuning" / "learn_once.py"),
         str(build / "lib" / "libiotune-db.so"), str(trace)],
        env={**os.environ, "IOTUNE_DB": str(database)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    milliseconds, kibibytes = map(float, done.stdout.split())
    assert kibibytes > 0, "nothing was learnt"
    return milliseconds, kibibytes


def main() -> int:
    """Measure, print and write build/bench/decision.json."""
    options = paired.arguments(__doc__, rounds=21)
    table = paired.Table("decision")
    library = options.build / "lib" / "libiotune-db.so"
    with tempfile.TemporaryDirectory(prefix="iotune-decision-") as folder:
        databases = {1: Path(folder) / "small.db", 100000: Path(folder) / "large.db"}
        for patterns, path in databases.items():
            make_database(path, patterns)
        modelled = Path(folder) / "modelled.db"
        shutil.copy(databases[100000], modelled)
        add_model(modelled)
        later: dict[tuple[int, str], list[float]] = {}

        def unanswered(source: str) -> float:
            load, first, *_ = ask(library, databases[100000], f"/opt/{source}", 1, source)
            return load + first

        def timed(patterns: int) -> float:
            program = "/opt/program-%d" if patterns > 1 else "/opt/program-0"
            load, first, cpu, series, others = ask(library, databases[patterns], program, 50)
            later.setdefault((patterns, "CPU time"), []).append(cpu)
            later.setdefault((patterns, "file of the series"), []).append(series)
            later.setdefault((patterns, "file of another name"), []).append(others)
            return load + first

        names: dict[str, Callable[[], float]] = {
            f"{patterns} patterns": functools.partial(timed, patterns) for patterns in databases
        }
        for source in ("similar", "untrained"):
            names[source] = functools.partial(unanswered, source)

        asked = {
            "program": "/opt/predicted", "file": "/data/out1.h5", "mpi": "MPICH 4.0.2",
            "hdf5": "1.10.8", "filesystem": "ext4", "ranks": 4, "nodes": 1,
        }  # fmt: skip
        reported = core.Database(modelled).decide(asked)
        # Sure of a gain or not, it has looked at every candidate.
        assert "the model expects" in reported["message"] or reported["source"] == "predicted", (
            reported
        )

        def predicted() -> float:
            load, first, *_ = ask(library, modelled, "/opt/predicted", 1, reported["source"])
            return load + first

        names["predicted"] = predicted
        written: list[float] = []

        def learns() -> float:
            took, kibibytes = run_end(options.build, databases[100000], Path(folder))
            written.append(kibibytes)
            return took

        names["run's end"] = learns
        rounds = paired.compare("decisions", names, options.rounds, seed=options.seed)
        table.keep(rounds)
        table.add("library loaded and first decision, 1 pattern, ms", rounds.median("1 patterns"))
        table.add(
            "library loaded and first decision, 100,000 patterns, ms",
            rounds.median("100000 patterns"), paired.at_most(5, "ms"),
        )  # fmt: skip
        for source in ("similar", "untrained", "predicted"):
            table.add(
                f"library loaded and first decision, 100,000 patterns, {source}, ms",
                rounds.median(source), paired.at_most(5, "ms"),
            )  # fmt: skip
        table.add(
            "a run's end, 300,000 observations, ms", rounds.median("run's end"),
            paired.at_most(10, "ms"),
        )  # fmt: skip
        table.add(
            "a run's end, 300,000 observations, KiB written", sorted(written)[len(written) // 2],
            paired.at_most(64, "KiB"),
        )  # fmt: skip
        for (patterns, what), values in sorted(later.items()):
            values.sort()
            name = what if what == "CPU time" else f"each further {what}"
            table.add(f"{name}, {patterns:,} patterns, ms", values[len(values) // 2])
        table.add("the database, MiB", databases[100000].stat().st_size / 2**20)
    agreement.add_rows(table, options.build, options.rounds, options.seed)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
