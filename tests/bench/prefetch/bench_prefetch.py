"""What prefetching saves of the time that a program waits in its reads (HPDC'13, figure 21).

A file system with a latency of its own (`iotune fuse`), a program that reads as a list says and
pauses after each read. Arms of one round, in a drawn order: none (no preload at all: the kernel's
read-ahead), alone (without that, too), Markov with no model and with that of the run before, the
papers' unit (he2013), pattern, and perfect (the recorded plan of the run before). Cached pages of
the file are dropped before each run.

In pieces (pieces.py): a row at 2 ms, where the goals are; at 0.5 and 10 ms and on CephFS, where
tests/testbed/cephfs is up, with 2 ms added, with fewer arms; with pauses that compute; strided with
pauses of 0 to 4 times the latency; controls on a local disk and on a throttled loop device.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench import native, paired, pieces
from bench.prefetch.latency_mount import direct, drop_pages, is_possible, mounted
from bench.prefetch.throttled_loop import Impossible, throttled_loop
from support import preloaded

Accesses = list[tuple[int, int]]
FILE_BYTES = 256 << 20
ARMS = {"none": "", "alone": "", "markov first": "markov", "markov": "markov", "he2013": "he2013",
        "pattern": "pattern", "cache": "pattern", "perfect": "recorded"}  # fmt: skip
SOME = ("none", "he2013", "pattern", "cache", "perfect")
FEW = ("none", "pattern", "perfect")
LATENCIES_MS = (2.0, 0.5, 10.0)
PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)  # latencies
CONTROL_ROUNDS = 11  # of short runs, whose times have to agree within 2 %
LOOP_BYTES_A_SECOND = 60_000_000
TESTBED = Path(os.environ.get("IOTUNE_TESTBED", "/var/tmp/iotune-cephfs"))


def strided(count: int) -> Accesses:
    """64 KiB of each MiB."""
    return [(i << 20, 65536) for i in range(count)]


def nested(count: int) -> Accesses:
    """Rows of 6 in planes of 5: three loops."""
    return [(i // 30 * 24_000_000 + i // 6 % 5 * 3_200_000 + i % 6 * 200_000, 32768)
            for i in range(count)]  # fmt: skip


def pagoda(count: int) -> Accesses:
    """One rank of 16, nine variables a record, three of them with 25 layers (tests/generators).

    Until the first record is over nobody knows it: ten reads of 180 at least are unforeseen.
    """
    cells = 40_962 // 16 * 4
    slabs = [cells * layers for layers in (1, 25, 1, 1, 25, 1, 25, 1, 1)]
    made: Accesses = []
    at = 8192
    while len(made) < count:
        for slab in slabs:
            made.append((at + 3 * slab, slab))
            at += 16 * slab
        if at > FILE_BYTES - 32 * max(slabs):
            break
    return made[:count]


def milc(count: int) -> Accesses:
    """A rank's quarter of a lattice of 32^4 sites of 288 bytes, by rows."""
    site, extent, half = 288, 32, 16
    rows = [(y, z, t) for t in range(half) for z in range(half) for y in range(half)]
    return [(96 + site * extent * (y + extent * (z + extent * t)) % FILE_BYTES, site * half)
            for y, z, t in rows[:count]]  # fmt: skip


def interleaved(count: int) -> Accesses:
    """Two sequences in turn on one descriptor."""
    return [(i // 2 * 400_000, 32768) if i % 2 == 0 else (128_000_000 + i // 2 * 700_000, 16384)
            for i in range(count)]  # fmt: skip


def noisy(count: int) -> Accesses:
    """Strided with one access in a hundred anywhere."""
    draw = random.Random(11)
    made = strided(count)
    for at in range(37, len(made), 100):
        made[at] = (draw.randrange(FILE_BYTES // 65536) * 65536 // 4096 * 4096, 65536)
    return made


def long_loop(count: int) -> Accesses:
    """A loop of 40 scattered steps, each 4 MiB further on than the time before."""
    draw = random.Random(13)
    steps = [(draw.randrange(48) * 65536, 4096 * draw.randint(1, 16)) for _ in range(40)]
    return [((i // 40 << 22) + steps[i % 40][0], steps[i % 40][1]) for i in range(count)]


def bursts(count: int) -> Accesses:
    """Two sequences that take turns by 5 reads each."""
    return [((i // 5 % 2 << 27) + (i // 10 * 5 + i % 5) * 300_000, 32768) for i in range(count)]


def scattered(count: int) -> Accesses:
    """Random blocks."""
    draw = random.Random(12)
    return [(draw.randrange(FILE_BYTES // 65536) * 65536, 65536) for _ in range(count)]


ROWS: dict[str, tuple[Callable[[int], Accesses], float]] = {
    "strided": (strided, 0.95),
    "nested": (nested, 0.95),
    "Pagoda-like": (pagoda, 0.95),
    "MILC-like": (milc, 0.95),
    "two interleaved": (interleaved, 0.90),
    "1 % noise": (noisy, 0.90),
}
# What loops of few steps are not: of 500 reads so much can be known, the first time of each aside.
LONG_ROWS: dict[str, tuple[Callable[[int], Accesses], float]] = {
    "loop of 40 steps": (long_loop, 0.84),
    "in bursts": (bursts, 0.96),
}
LONG_READS = 500


class Bench:
    """A mounted file system with latency, and runs of the reading program on it."""

    def __init__(
        self, options: argparse.Namespace, scratch: Path, enter: Callable[[], None] | None = None
    ) -> None:
        self.options = options
        self.enter = enter
        self.scratch = scratch
        self.library = options.build / "lib" / "libiotune.so"
        self.program = native.compiled("planned_reads.c",
                                       options.out / "native", ["-D_FORTIFY_SOURCE=0"])  # fmt: skip
        subprocess.run([str(self.program), str(scratch / "root" / "data"), "make",
                        str(FILE_BYTES)], check=True)  # fmt: skip
        # Ours lie on no storage that is measured.
        self.own = tempfile.TemporaryDirectory(prefix="prefetch-", dir="/dev/shm")
        self.local = Path(self.own.name)
        self.read_bytes = 1
        self.totals: dict[str, list[float]] = {}
        self.unused_bytes: list[int] = []  # of pattern

    def run(self, arm: str, listed: Path, pause: str) -> float:
        """Milliseconds in reads; the whole run's and the unused bytes are kept aside."""
        env = preloaded.plain_environment()
        trace = self.local / "run.iotrace"
        trace.unlink(missing_ok=True)
        if arm == "markov first":
            shutil.rmtree(self.local / "state" / arm, ignore_errors=True)
        method = "pread-alone" if arm == "alone" else "pread"
        if ARMS[arm]:
            env.update(
                **preloaded.variables(self.library), IOTUNE_PREFETCH=ARMS[arm],
                IOTUNE_TRACE=str(trace), IOTUNE_DB="none",
                XDG_STATE_HOME=str(self.local / "state" / arm),
                IOTUNE_BUFFER_DIR=str(self.local / "buffers"),
                IOTUNE_PREFETCH_DELIVERY="cache" if arm == "cache" else "hint",
            )  # fmt: skip
        done = subprocess.run(
            [str(self.program), str(self.scratch / "m" / "data"), str(listed), method,
             pause], env=env, capture_output=True, text=True, check=False,
            preexec_fn=self.enter,
        )  # fmt: skip
        if done.returncode != 0 or done.stderr:
            raise paired.ArmFailed(f"{arm}: status {done.returncode}\n{done.stderr}")
        _, _, wait, total = map(int, done.stdout.split())
        self.totals.setdefault(arm, []).append(total / 1e6)
        if arm == "pattern":
            self.unused_bytes.append(unused_bytes_of(trace))
        return wait / 1e6

    def compare(
        self, name: str, accesses: Accesses, pause: str, arms: Sequence[str] = tuple(ARMS),
        least_rounds: int = 1,
    ) -> paired.Comparison:  # fmt: skip
        """The arms. What is learned over runs is learned in the rounds that do not count."""
        listed = self.scratch / "accesses"
        self.read_bytes = sum(length for _, length in accesses)
        listed.write_text("".join(f"{offset} {length}\n" for offset, length in accesses))
        shutil.rmtree(self.local / "state", ignore_errors=True)
        self.totals, self.unused_bytes = {}, []
        rounds = max(self.options.rounds, least_rounds)
        comparison = paired.compare(
            name, {arm: functools.partial(self.run, arm, listed, pause) for arm in arms},
            rounds, seed=self.options.seed,
            before_each=functools.partial(drop_pages, self.scratch / "m" / "data"),
        )  # fmt: skip
        self.totals = {arm: row[-rounds:] for arm, row in self.totals.items()}
        return comparison

    def unused_share(self) -> float:
        """The worst round of pattern."""
        return max(self.unused_bytes) / self.read_bytes


def unused_bytes_of(trace: Path) -> int:
    """Bytes that were requested and never read, as the trace says."""
    done = subprocess.run([sys.executable, "-m", "iotune", "explain", "--json", str(trace)],
                          capture_output=True, text=True, check=True)  # fmt: skip
    found = [file["prefetch"] for file in json.loads(done.stdout)["files"] if file["prefetch"]]
    return sum(one["unused_bytes"] for one in found)


def share_of_perfect(rows: Mapping[str, Sequence[float]]) -> float:
    """The saving of pattern against that of perfect."""
    none, ours, best = (statistics.median(rows[arm]) for arm in ("none", "pattern", "perfect"))
    return (none - ours) / (none - best)


def add_cost(table: paired.Table, options: argparse.Namespace) -> None:
    """What prefetching adds to recorded 64-byte reads out of memory, and keeps of a stream."""
    timer = native.compiled("transfer_timer.c", options.out / "native")
    library = options.build / "lib" / "libiotune.so"
    scratch = Path(tempfile.mkdtemp(prefix="prefetch-", dir="/dev/shm"))

    def arm(shape: str, prefetch: str) -> float:
        env = preloaded.plain_environment()
        env.update(
            **preloaded.variables(library), IOTUNE_PREFETCH=prefetch, IOTUNE_DB="none",
            IOTUNE_TRACE=str(scratch / "run.iotrace"), IOTUNE_BUFFER_DIR=str(scratch / "buffers"),
            XDG_STATE_HOME=str(scratch / "state"),
        )  # fmt: skip
        done = subprocess.run([str(timer), str(scratch / "file"), shape, "read", "50000"], env=env,
                              capture_output=True, text=True, check=True)  # fmt: skip
        return float(done.stdout.split()[1])

    try:
        for shape in ("strided", "random"):
            comparison = paired.compare(
                f"64-byte pread, {shape}",
                {how: functools.partial(arm, shape, how) for how in ("none", "pattern")},
                max(options.rounds, 61), seed=options.seed,
            )  # fmt: skip
            table.keep(comparison)
            table.add(f"64-byte pread out of memory, {shape}: added by pattern, ns CPU",
                      comparison.paired_difference("pattern", "none"),
                      paired.at_most(40, "ns"))  # fmt: skip
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    done = subprocess.run([str(options.build / "bin" / "stream_state")], capture_output=True,
                          text=True, check=True)  # fmt: skip
    predictor, rest = map(int, done.stdout.split())
    table.add("state of a stream: predictor, bytes", predictor)
    table.add("state of a stream, all, bytes", predictor + rest, paired.at_most(1024, "bytes"))


def add_row(
    table: paired.Table, bench: Bench, name: str, row: str, pause: str, reads: int,
    arms: Sequence[str] = tuple(ARMS), goals: bool = True,
) -> None:  # fmt: skip
    """One kind of reads."""
    make, share = (ROWS | LONG_ROWS)[row]
    comparison = bench.compare(name, make(reads), pause, arms)
    table.keep(comparison)
    table.add(f"{name}: none, ms in reads", comparison.median("none"))
    for arm in arms[1:]:
        goal = paired.at_most(0.10) if goals and arm == "pattern" and share == 0.95 else None
        table.add(f"{name}: {arm}, time in reads against none", comparison.ratio(arm, "none"), goal)
    table.add(f"{name}: share of perfect's saving", comparison.estimate(share_of_perfect),
              paired.at_least(share) if goals else None)  # fmt: skip
    whole = paired.at_most(0.60) if goals and row in ROWS else None
    add_totals(table, bench, name, comparison, whole)


def add_totals(
    table: paired.Table, bench: Bench, name: str, reads: paired.Comparison,
    goal: paired.Goal | None,
) -> None:  # fmt: skip
    """The whole run's time, its bandwidth, and the unused bytes."""
    totals = paired.Comparison(f"{name}, in all", bench.totals, reads.order, reads.seed)
    table.keep(totals)
    for arm in ("pattern", "perfect"):
        table.add(f"{name}: {arm}, the whole run against none", totals.ratio(arm, "none"),
                  goal if arm == "pattern" else None)  # fmt: skip
    for arm in FEW:
        table.add(f"{name}: {arm}, MB/s read",
                  bench.read_bytes / 1e3 / totals.median(arm).value)  # fmt: skip
    table.add(f"{name}: pattern, unused bytes against bytes read", bench.unused_share(),
              paired.at_most(0.05))  # fmt: skip


def add_control(
    table: paired.Table, bench: Bench, name: str, accesses: Accesses, pause: str
) -> None:
    """Where there is little or nothing to be had: it may not cost."""
    comparison = bench.compare(name, accesses, pause, FEW, CONTROL_ROUNDS)
    table.keep(comparison)
    table.add(f"{name}: none, ms in reads", comparison.median("none"))
    table.add(f"{name}: pattern, time in reads against none", comparison.ratio("pattern", "none"))
    add_totals(table, bench, name, comparison, paired.at_most(1.02))


def all_pieces(options: argparse.Namespace) -> dict[str, pieces.Piece]:
    def mount(ms: float, below: Path | None = None) -> AbstractContextManager[Path]:
        latency = f"--latency-ns={int(ms * 1e6)}"
        return mounted(options.build, "prefetch", [latency], below)

    def row(
        name: str, kind: str, ms: float, table: paired.Table, reads: int = options.reads
    ) -> None:
        main = ms == LATENCIES_MS[0]
        # As many reads everywhere: what is lost at a list's begin and unused at its end counts by
        # them.
        with mount(ms) as scratch:
            add_row(table, Bench(options, scratch), name, kind, f"{ms * 1000:.0f}", reads,
                    tuple(ARMS) if main and kind in ROWS else SOME, goals=main)  # fmt: skip

    def scattered_row(name: str, ms: float, table: paired.Table) -> None:
        reads = options.reads if ms < 10 else options.reads // 3
        with mount(ms) as scratch:
            add_control(table, Bench(options, scratch), name, scattered(reads),
                        f"{ms * 1000:.0f}")  # fmt: skip

    def computing(table: paired.Table) -> None:
        with mount(2) as scratch:
            bench = Bench(options, scratch)
            for kind in ("strided", "nested"):
                add_row(table, bench, f"{kind}, computes", kind, "c2000", options.reads, FEW)

    def pauses(table: paired.Table) -> None:
        with mount(2) as scratch:
            bench = Bench(options, scratch)
            for pause in PAUSES:
                name = f"strided, a pause of {pause:g} latencies"
                comparison = bench.compare(name, strided(options.reads),
                                           f"{pause * 2000:.0f}", FEW)  # fmt: skip
                table.keep(comparison)
                for arm in FEW[1:]:
                    table.add(f"{name}: {arm}, time in reads against none",
                              comparison.ratio(arm, "none"))  # fmt: skip
                add_totals(table, bench, name, comparison, None)

    def disk(table: paired.Table) -> None:
        with direct("prefetch", Path("/var/tmp")) as scratch:
            bench = Bench(options, scratch)
            add_control(table, bench, "local disk, strided", strided(options.reads), "2000")
            add_control(table, bench, "local disk, random", scattered(options.reads), "2000")

    def loop(table: paired.Table) -> None:
        try:
            with throttled_loop(LOOP_BYTES_A_SECOND) as (folder, enter):
                with direct("prefetch", folder) as scratch:
                    bench = Bench(options, scratch, enter)
                    for kind, make in (("strided", strided), ("random", scattered)):
                        add_control(table, bench, f"throttled loop, {kind}", make(options.reads),
                                    "2000")  # fmt: skip
        except Impossible as why:
            print(f"NOT VERIFIED prefetching: throttled loop: {why}")

    def cephfs(table: paired.Table) -> None:
        if not os.path.ismount(TESTBED / "mnt"):
            print("NOT VERIFIED prefetching: CephFS: it is not up (tests/testbed/cephfs up)")
            return
        with mount(2, TESTBED / "mnt") as scratch:
            bench = Bench(options, scratch)
            for kind in ROWS:
                add_row(table, bench, f"CephFS and 2 ms, {kind}", kind, "2000", options.reads, SOME)
            add_control(table, bench, "CephFS and 2 ms, random", scattered(options.reads), "2000")

    made: dict[str, pieces.Piece] = {"cost": functools.partial(add_cost, options=options)}
    for ms in LATENCIES_MS:
        suffix = "" if ms == 2 else f", {ms:g} ms"
        for kind in ROWS:
            made[kind + suffix] = functools.partial(row, kind + suffix, kind, ms)
        made["random" + suffix] = functools.partial(scattered_row, "random" + suffix, ms)
    for kind in LONG_ROWS:
        made[kind] = functools.partial(row, kind, kind, LATENCIES_MS[0], reads=LONG_READS)
    made |= {"computes": computing, "pauses": pauses}
    return made | {"local disk": disk, "throttled loop": loop, "CephFS": cephfs}


def main() -> int:
    """Measure, print and write build/bench/prefetch.json."""
    options = pieces.arguments(__doc__, rounds=7, reads=200)
    if not is_possible(options.build):
        print("NOT VERIFIED prefetching: no iotune-fuse, or /dev/fuse cannot be had here")
        return 0
    return pieces.run("prefetch", options, all_pieces(options))


if __name__ == "__main__":
    sys.exit(main())
