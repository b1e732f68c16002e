"""How long a request takes that waits for several servers: predicted from one server's times, and
measured.

Servers are files of a mounted file system (`iotune fuse`) whose reads take 3 ms, a tenth of them
longer by a power law, each by a draw of its own. A round reads from all of them at once. What one
server takes is fitted on the even rounds; the 99th percentile of the slowest is compared with the
odd ones. With --on DIR the same of real servers: files there, written by `iotune latency sample`
with so many ranks as there are servers, with the dependence that was measured. --rounds is the
number of rounds with each count of servers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from iotune.models.latency.fitting import fit_latency
from iotune.models.latency.order_statistics import measured_correlation, slowest_of
from iotune.models.latency.samples import read_samples

from bench.paired import ArmFailed, Estimate, Table, at_most, parser
from bench.prefetch import latency_mount

IOTUNE = Path(sys.executable).parent / "iotune"
SERVERS = (1, 4, 8, 16)
TAIL = "0.1:3.0"
LATENCY_NS = 3_000_000
BYTES = 4096
RESAMPLES = 400
Array = npt.NDArray[np.float64]


def rounds_of_reads(folder: Path, servers: int, rounds: int) -> Array:
    """Seconds, one row a round, one column a server; the servers of a round are asked at once."""
    seconds = np.empty((rounds, servers))
    gate = threading.Barrier(servers)

    def serve(server: int) -> None:
        fd = os.open(folder / f"server-{server}", os.O_RDONLY)
        for number in range(rounds):
            gate.wait()
            began = time.perf_counter()
            os.pread(fd, BYTES, 0)
            seconds[number, server] = time.perf_counter() - began
        os.close(fd)

    threads = [threading.Thread(target=serve, args=(server,)) for server in range(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds


def sampled_rounds(folder: Path, ranks: int, rounds: int) -> Array:
    """The same of a storage's own servers, by `iotune latency sample`: cold writes of 512 KiB."""
    with tempfile.TemporaryDirectory() as scratch:
        kept = Path(scratch) / "samples.parquet"
        subprocess.run(
            [IOTUNE, "latency", "sample", folder, "-o", kept, "--ranks", str(ranks),
             "--rounds", str(rounds), "--share", "100", "--size", "512KiB", "--cache", "cold",
             "--interface", "posix"],
            check=True,
        )  # fmt: skip
        samples = read_samples(kept)
    writes = samples[samples.operation == "write"]
    rounds_of_ranks = writes.pivot_table(
        index=["run", "round"], columns="rank", values="seconds", aggfunc="first"
    )
    return np.asarray(rounds_of_ranks.dropna(), dtype=np.float64)


def compare(seconds: Array, correlation: float) -> tuple[float, Estimate, Estimate]:
    """The predicted p99 in ms, the measured one with its interval, and how far they are apart."""
    fit = fit_latency(seconds[::2].ravel())
    if fit.times.tail is None:
        raise ArmFailed(f"these response times have no tail: {fit.times.text()}")
    predicted = float(1e3 * slowest_of(fit.times, seconds.shape[1], correlation).p99_seconds)
    slowest = 1e3 * seconds[1::2].max(axis=1)
    random = np.random.default_rng(1)
    drawn = [
        float(np.percentile(random.choice(slowest, len(slowest)), 99)) for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(drawn, (2.5, 97.5))
    measured = float(np.percentile(slowest, 99))
    off = [100 * (predicted / float(one) - 1) for one in (high, measured, low)]
    return (
        predicted,
        Estimate(measured, float(low), float(high)),
        Estimate(off[1], off[0], off[2]),
    )


def add_rows(table: Table, name: str, seconds: Array, correlation: float, judged: bool) -> None:
    predicted, measured, off = compare(seconds, correlation)
    servers = seconds.shape[1]
    said = f"{name}, {servers} server{'s' if servers > 1 else ''}"
    table.add(f"{said}: p99 of the slowest, predicted, ms", predicted)
    table.add(f"{said}: the same, measured, ms", measured)
    if judged:
        table.add(f"{said}: too long by, %", off, at_most(10, "%"))
        table.add(f"{said}: too short by, %", off.scaled(-1), at_most(10, "%"))
    else:
        table.add(f"{said}: too long by, %", off)


def main() -> int:
    said = parser(__doc__, rounds=4000)
    said.add_argument("--on", type=Path, metavar="DIR", help="a folder of real servers")
    options = said.parse_args()
    table = Table("slowest")
    if options.on is None:
        with latency_mount.mounted(
            options.build, "slowest",
            ["--direct", f"--latency-ns={LATENCY_NS}", f"--latency-tail={TAIL}"],
        ) as scratch:  # fmt: skip
            for server in range(max(SERVERS)):
                (scratch / "root" / f"server-{server}").write_bytes(bytes(BYTES))
            for servers in SERVERS:
                seconds = rounds_of_reads(scratch / "m", servers, options.rounds)
                table.add(f"injected, {servers} servers: measured dependence",
                          measured_correlation(seconds))  # fmt: skip
                add_rows(table, "injected", seconds, 0.0, judged=True)
    else:
        for ranks in (2, 4):
            seconds = sampled_rounds(options.on, ranks, options.rounds)
            dependence = measured_correlation(seconds)
            table.add(f"real, {ranks} servers: measured dependence", dependence)
            add_rows(table, "real", seconds, dependence, judged=False)
            add_rows(table, "real, as if independent", seconds, 0.0, judged=False)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
