"""What the index of a log store takes, beside the index that PLFS keeps.

Simulated ranks: FS-TEST's 512 ranks with 16K, 64K and 256K strided writes of 4 KiB each, with drawn
names and times; no data is written. Counts are exact; times are ratios with intervals. The plain
index is PLFS's: 48 bytes a write, a buffer of 102,400 entries; in memory a sorted array, which is
smaller and faster than PLFS's tree. Beside it are the alternatives that the papers dismiss: that
index compressed by zlib, and looked up on the disk.

Real ranks: logstore_runs.py.
"""

from __future__ import annotations

import functools
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import paired, pieces
from bench.logstore import logstore_runs
from bench.paired import Table, at_least, at_most

ENTRY = 48  # bytes of a plain entry
RECORD = 4096  # bytes of a simulated write
K = 1024
# Of a whole parallel file system, in which the 512 ranks' reads would end.
STORAGE_RATES = (10.0, 100.0)


@dataclass(frozen=True)
class Sizes:
    """How much is simulated and written."""

    ranks: int
    writes: dict[str, int]  # of a rank
    looked_up: str  # the run in which all four look up
    opened: str
    compressed: tuple[str, ...]
    calls: int  # timed writes


FULL = Sizes(512, {"16K": 16 * K, "64K": 64 * K, "256K": 256 * K}, "16K", "64K", ("16K", "64K"),
             1_000_000)  # fmt: skip
QUICK = Sizes(8, {"64": 64, "128": 128, "256": 256}, "64", "128", ("64",), 2000)


class Bench:
    """The programs of a build, and a folder for what they make."""

    def __init__(self, build: Path, scratch: Path, rounds: int, seed: int | None, quick: bool):
        self.build, self.scratch, self.rounds, self.seed = build, scratch, rounds, seed
        self.sizes = QUICK if quick else FULL
        self._made: dict[tuple[str, str], dict[str, float]] = {}

    def arm(self, program: str, *words: object) -> dict[str, float]:
        """Run one arm of a program and return what it prints."""
        done = subprocess.run(
            [str(self.build / "bin" / program), *map(str, words)],
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        rows = (line.split() for line in done.stdout.splitlines())
        return {key: float(value) for key, value in rows}

    def run_words(self, name: str, pace: str = "even") -> tuple[object, ...]:
        """RUN of logstore_index."""
        return self.sizes.ranks, self.sizes.writes[name], pace, 2013

    def entries(self, name: str) -> int:
        """Writes of all ranks."""
        return self.sizes.ranks * self.sizes.writes[name]

    def made(self, arm: str, name: str) -> tuple[Path, dict[str, float]]:
        """What make, make_plain or make_sorted leaves, made once."""
        path = self.scratch / f"{arm}-{name}"
        if (arm, name) not in self._made:
            self._made[arm, name] = self.arm("logstore_index", arm, path, *self.run_words(name))
        return path, self._made[arm, name]

    def compacted(self, name: str) -> tuple[Path, dict[str, float]] | None:
        """A container of its own that was compacted; None where this build cannot."""
        if not (self.build / "bin" / "logstore_compact").exists():
            return None
        path = self.scratch / f"compacted-{name}"
        if ("compacted", name) not in self._made:
            self.arm("logstore_index", "make", path, *self.run_words(name))
            self._made["compacted", name] = self.arm("logstore_compact", path)
        return path, self._made["compacted", name]

    def compare(
        self, name: str, arms: Mapping[str, Callable[[], float]], times: int = 1
    ) -> paired.Comparison:
        """The rounds of some arms, `times` as many as asked for: short arms have more."""
        return paired.compare(name, arms, times * self.rounds, warmup=0, seed=self.seed)


def sizes(bench: Bench, table: Table) -> None:
    """Bytes in memory and on the disk; figure 15 of HPDC 2013 stands on these."""
    ranks = bench.sizes.ranks
    kept: dict[str, dict[str, float]] = {}
    for name in bench.sizes.writes:
        folder, made = bench.made("make", name)
        opened = bench.arm("logstore_index", "open", folder, *bench.run_words(name))
        uneven = bench.arm("logstore_index", "make", bench.scratch / "uneven",
                           *bench.run_words(name, "uneven"))  # fmt: skip
        plain = ENTRY * bench.entries(name)
        what = f"{ranks} ranks x {name} writes (simulated)"
        table.add(f"{what}: in memory, names included, bytes", opened["memory_bytes"],
                  at_most(8192, "bytes"))  # fmt: skip
        table.add(f"{what}: in memory while it is read, most, bytes", opened["peak_bytes"])
        table.add(f"{what}: on disk just before the close, bytes", made["running_bytes"])
        table.add(f"{what}: on disk after the close, bytes", made["closed_bytes"])
        table.add(f"{what}: the same, one write in 256 taking 1 to 10 ms, bytes",
                  uneven["closed_bytes"])  # fmt: skip
        table.add(f"{what}: the plain index, on disk and in memory, bytes", plain)
        if (compact := bench.compacted(name)) is not None:
            folder, done = compact
            table.add(f"{what}: on disk after compaction, bytes", done["index_bytes"],
                      at_most(65536, "bytes"))  # fmt: skip
            table.add(f"{what}: compaction takes, s", done["ns"] * 1e-9)
            opened = bench.arm("logstore_index", "open", folder, *bench.run_words(name))
            table.add(f"{what}: in memory after compaction, bytes", opened["memory_bytes"],
                      at_most(8192, "bytes"))  # fmt: skip
            table.add(f"{what}: in memory while that is read, most, bytes", opened["peak_bytes"])
        kept[name] = {
            "writes": bench.sizes.writes[name], "ours": opened["memory_bytes"], "plain": plain,
            "ours_disk": compact[1]["index_bytes"] if compact else made["closed_bytes"],
        }  # fmt: skip
        for readers in (8, 128):
            table.add(f"{what}: {readers} readers on a node, ours, bytes",
                      readers * opened["memory_bytes"])  # fmt: skip
            table.add(f"{what}: {readers} readers on a node, plain, bytes", readers * plain)
    table.add("a writer's memory, bytes", made["writer_bytes"])
    table.add("a writer's memory, plain (its buffer), bytes", ENTRY * 102_400)
    table.rounds["sizes"] = {"ranks": ranks, "runs": kept}


def compressed(bench: Bench, table: Table) -> None:
    """The plain index by zlib: bytes."""
    for name in bench.sizes.compressed:
        found = bench.arm("logstore_index", "compressed", *bench.run_words(name))
        what = f"{bench.sizes.ranks} ranks x {name} writes (simulated): plain, zlib, in memory"
        table.add(f"{what}, bytes", found["memory_bytes"])
        table.rounds[f"compressed {name}"] = found


def read_open(bench: Bench, table: Table) -> None:
    """Reading all indexes and merging them, from the page cache."""
    name = bench.sizes.opened
    ours, _ = bench.made("make", name)
    plain, made = bench.made("make_plain", name)
    if made["closed_bytes"] != ENTRY * bench.entries(name):
        raise RuntimeError("the plain index has another size than was counted")

    def opened(arm: str, folder: Path) -> float:
        return bench.arm("logstore_index", arm, folder, *bench.run_words(name))["open_ns"] * 1e-9

    arms = {
        "ours": functools.partial(opened, "open", ours),
        "plain": functools.partial(opened, "open_plain", plain),
    }
    if (compact := bench.compacted(name)) is not None:
        arms["compacted"] = functools.partial(opened, "open", compact[0])
    rounds = bench.compare("read open", arms)
    table.keep(rounds)
    what = f"{bench.sizes.ranks} ranks x {name} writes (simulated): read open"
    table.add(f"{what}, plain, s", rounds.median("plain"))
    for arm in ("ours", "compacted"):
        if arm in arms:
            text = "ours" if arm == "ours" else "ours after compaction"
            table.add(f"{what}, {text}, s", rounds.median(arm))
            table.judge(f"{what}, plain over {text}", rounds.ratio("plain", arm), at_least(100))
            for rate in STORAGE_RATES:
                transfer_s = bench.entries(name) * RECORD / (rate * 1e9)
                table.add(f"{what} and read at {rate:g} GB/s (a model), plain over {text}",
                          _modelled(rounds, arm, transfer_s))  # fmt: skip


def _modelled(rounds: paired.Comparison, arm: str, transfer_s: float) -> paired.Estimate:
    """What a read of the whole file gains: the opens as measured, the same transfer for both."""
    return rounds.estimate(
        lambda rows: (
            (statistics.median(rows["plain"]) + transfer_s)
            / (statistics.median(rows[arm]) + transfer_s)
        )
    )


def lookups(bench: Bench, table: Table) -> None:
    """Which log has a byte, at random places."""
    name = bench.sizes.looked_up
    run = bench.run_words(name)
    reads: list[float] = []

    def looked_up(*words: object) -> float:
        found = bench.arm("logstore_index", *words, *run)
        if "reads" in found:
            reads.append(found["reads"])
        return found["lookup_ns"]

    rounds = bench.compare(
        "look-ups",
        {
            "ours": lambda: looked_up("open", bench.made("make", name)[0]),
            "plain": lambda: looked_up("open_plain", bench.made("make_plain", name)[0]),
            "zlib": lambda: looked_up("compressed"),
            "disk": lambda: looked_up("on_disk", bench.made("make_sorted", name)[0]),
        },
    )
    table.keep(rounds)
    what = f"{bench.sizes.ranks} ranks x {name} writes (simulated): a look-up"
    table.add(f"{what}, ours, ns", rounds.median("ours"))
    per_second = rounds.estimate(lambda rows: 1e9 / statistics.median(rows["ours"]))
    table.add(f"{what}, ours, a second", per_second)
    for arm, text in (("plain", "plain"), ("zlib", "plain by zlib"), ("disk", "plain on disk")):
        table.add(f"{what}, {text}, ns", rounds.median(arm))
        table.add(f"{what}, {text} over ours", rounds.ratio(arm, "ours"))
    table.add("reads of a look-up on disk (from the page cache)", reads[0])


def write_cost(bench: Bench, table: Table) -> None:
    """What the writer adds to an append, CPU time, the kernel's included."""
    for file, length, share in (("stub", 64, 1.0), ("real", 64, 0.2), ("real", 4096, 0.05)):
        count = max(1, int(bench.sizes.calls * share))
        for order in ("strided", "random"):

            def timed(arm: str, words: tuple[object, ...]) -> float:
                return bench.arm("logstore_writes", arm, *words)["ns"]

            words = (file, bench.scratch, length, count, order)
            name = f"a write of {length} bytes, {order}, " + (
                "no file" if file == "stub" else "to a file"
            )
            arms = {
                arm: functools.partial(timed, arm, words)
                for arm in ("none", "plain", "ours", "counter")
            }
            rounds = bench.compare(name, arms, times=5)
            table.keep(rounds)
            table.add(f"{name}: the append alone, ns", rounds.median("none"))
            table.add(f"{name}: plain adds, ns", rounds.paired_difference("plain", "none"))
            goal = at_most(60, "ns") if order == "strided" else None
            for arm, text in (("ours", "ours"), ("counter", "ours, timed by the counter,")):
                added = rounds.paired_difference(arm, "none")
                if goal is None:
                    table.add(f"{name}: {text} adds, ns", added)
                else:
                    table.judge(f"{name}: {text} adds, ns", added, goal)


def rates(bench: Bench, table: Table) -> None:
    """The papers' rates: 56 bytes an access over the bytes of the index in memory."""
    listed = subprocess.run(
        [str(bench.build / "bin" / "logstore_rates"), "list"],
        stdout=subprocess.PIPE, text=True, check=True,
    ).stdout  # fmt: skip
    for line in listed.splitlines():
        name, paper = line.split("\t")
        found = bench.arm("logstore_rates", "rates", name, 2013)
        plain = 56 * found["accesses"]
        he2013 = plain / found["he2013_bytes"]
        what = f"{name} (simulated), {found['accesses']:.0f} writes: rate"
        table.add(f"{what}, he2013's, no names, no times", he2013)
        if float(paper):
            table.add(f"{what}, the papers'", float(paper))
        table.add(f"{what}, merged as bytes, names", plain / found["file_bytes"],
                  at_least(max(he2013, float(paper))))  # fmt: skip
        table.add(f"{what}, merged in memory, all of the object", plain / found["memory_bytes"])
        table.add(f"{what}, on disk after the close, names and times", plain / found["disk_bytes"])
        table.rounds[f"rates {name}"] = found | {"paper": float(paper)}


def main() -> int:
    """Measure, print and write build/bench/logstore.json."""
    options = pieces.arguments(__doc__, rounds=5, quick=0)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out, prefix="logstore-") as scratch:
        bench = Bench(options.build.resolve(), Path(scratch).resolve(), options.rounds,
                      options.seed, bool(options.quick))  # fmt: skip
        parts = {
            "sizes": sizes, "compressed": compressed, "read open": read_open, "look-ups": lookups,
            "write cost": write_cost, "rates": rates,
        }  # fmt: skip
        named: dict[str, pieces.Piece] = {
            name: functools.partial(part, bench) for name, part in parts.items()
        }
        named |= logstore_runs.pieces_of(bench.build, bench.scratch, options)
        return pieces.run("logstore", options, named)


if __name__ == "__main__":
    sys.exit(main())
