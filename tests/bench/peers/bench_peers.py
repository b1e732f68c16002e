"""iotune beside the tracers and reports that can be installed from packages.

  calls     64-byte pwrites on a memory file system: CPU time in the loop, bytes on disk
  kernels   IOR- and FLASH-like runs on two ranks: CPU time of the whole run, bytes on disk
  deaths    what is kept of a process that ends by _exit, a signal, exec, or has forked
  reports   reports of one Darshan log: seconds, bytes of the page

The arms are interleaved: untraced, iotune (everything recorded), dftracer with offsets. Peers lie
in an environment of their own (tools/setup.sh peers). Darshan's run time and Recorder are in no
registry of packages: they are not measured here.
"""

from __future__ import annotations

import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import native, paired, pieces
from bench.peers.peer_reports import add_reports
from bench.peers.tracers import Tracer, tracers, version_of
from support import preloaded
from support.repository import ROOT

# Processes at once, calls of each, the order of offsets.
CALLS = ((1, 200_000, "strided"), (4, 50_000, "strided"), (4, 50_000, "random"))
KERNELS: dict[str, Sequence[str]] = {
    "IOR-like": ("ior-io", "-a", "HDF5", "-s", "8", "-b", "16m", "-t", "4k", "-w"),
    "FLASH-like": ("flash-io", "--size", "80x8x8x8", "--write", "--steps", "8"),
}
RANKS = 2
ENDS = {"return": 40, "_exit": 40, "term": 40, "kill": 40, "exec": 40, "fork": 60}


@dataclass
class Bench:
    """What all pieces share."""

    build: Path
    out: Path
    scratch: Path
    rounds: int
    seed: int | None

    def tracers(self) -> dict[str, Tracer]:
        """The arms, each with an empty folder."""
        found = tracers(self.build / "lib" / "libiotune.so", self.scratch / "traces")
        for one in found.values():
            one.clear()
        return found

    def loop(self, timer: Path, tracer: Tracer, processes: int, calls: int, shape: str) -> float:
        """CPU nanoseconds a call, of processes that run at once; what they leave is kept."""
        tracer.clear()
        env = tracer.environment()
        running = [
            subprocess.Popen(
                [str(timer), str(self.scratch / f"f{number}"), shape, "write", str(calls)],
                env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for number in range(processes)
        ]  # fmt: skip
        found = []
        for one in running:
            out, err = one.communicate()
            if one.returncode != 0:
                raise paired.ArmFailed(f"{tracer.name}: status {one.returncode}\n{err}")
            found.append(float(out.split()[1]))
        return statistics.fmean(found)

    def calls(self, table: paired.Table) -> None:
        """The cost of a call."""
        timer = native.compiled("transfer_timer.c", self.out / "native")
        for processes, calls, shape in CALLS:
            found = self.tracers()
            name = f"{processes} x {calls} pwrites of 64 bytes, {shape}"
            comparison = paired.compare(
                name,
                {arm: functools.partial(self.loop, timer, one, processes, calls, shape)
                 for arm, one in found.items()},
                self.rounds, seed=self.seed,
            )  # fmt: skip
            table.keep(comparison)
            table.add(f"{name}, none: ns CPU", comparison.median("none"))
            self.add_costs(table, name, comparison, found, "added, ns CPU")

    def add_costs(
        self, table: paired.Table, name: str, comparison: paired.Comparison,
        found: Mapping[str, Tracer], added: str,
    ) -> None:  # fmt: skip
        """What each tracer adds, by how many times, and what it left in the last round."""
        for arm, one in found.items():
            if arm == "none":
                continue
            table.add(f"{name}, {arm}: {added}", comparison.paired_difference(arm, "none"))
            table.add(f"{name}, {arm}: over untraced", comparison.ratio(arm, "none"))
            table.add(f"{name}, {arm}: bytes on disk", one.bytes_left())

    def kernel(self, words: Sequence[str], tracer: Tracer) -> float:
        """CPU seconds of a run of ranks, the launcher's included in every arm."""
        tracer.clear()
        env = tracer.environment(native.yield_shim(self.build))
        # The launcher is not traced: its ranks are.
        launched = {name: value for name, value in env.items() if name != preloaded.VARIABLE}
        ranks = ["env", f"{preloaded.VARIABLE}={env[preloaded.VARIABLE]}"]
        program = [str(self.build / "bin" / words[0]), *words[1:]]
        command = ["mpirun.mpich", "-n", str(RANKS), *ranks, *program]
        output = self.scratch / "kernel.h5"
        child = subprocess.Popen([*command, "--output", str(output)], env=launched,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
        if status != 0:
            raise paired.ArmFailed(f"{tracer.name}: {' '.join(command)} ended with {status}")
        for path in self.scratch.glob("kernel*.h5"):
            path.unlink()
        return used.ru_utime + used.ru_stime

    def kernels(self, table: paired.Table) -> None:
        """Runs as programs make them."""
        for name, words in KERNELS.items():
            found = self.tracers()
            comparison = paired.compare(
                name,
                {arm: functools.partial(self.kernel, words, one) for arm, one in found.items()},
                self.rounds, seed=self.seed,
            )  # fmt: skip
            table.keep(comparison)
            table.add(f"{name} run, none: s CPU", comparison.median("none"))
            self.add_costs(table, f"{name} run", comparison, found, "added, s CPU")

    def deaths(self, table: paired.Table) -> None:
        """Who keeps what."""
        program = native.compiled("ends_badly.c", self.out / "native")
        data = self.scratch / "ends"
        for how, expected in ENDS.items():
            for arm, one in self.tracers().items():
                if arm == "none":
                    continue
                subprocess.run([str(program), str(data), how], env=one.environment(), check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
                table.add(f"{how}, of {expected} calls kept: {arm}", one.kept(data))

    def reports(self, table: paired.Table) -> None:
        """Pages of one log."""
        for package in ("dftracer", "darshan", "drishti-io", "dxt-explorer"):
            print(f"peers: {package} {version_of(package) or 'is not installed'}", file=sys.stderr)
        add_reports(table, self.scratch, self.rounds, self.seed)


def main() -> int:
    """Measure what is wanting, print and write build/bench/peers.json."""
    options = pieces.arguments(__doc__, rounds=21)
    subprocess.run([str(ROOT / "tools" / "setup.sh"), "peers"], check=True)
    scratch = Path(tempfile.mkdtemp(prefix="peers-", dir="/dev/shm"))
    bench = Bench(options.build, options.out, scratch, options.rounds, options.seed)
    try:
        made = {"calls": bench.calls, "kernels": bench.kernels, "deaths": bench.deaths,
                "reports": bench.reports}  # fmt: skip
        return pieces.run("peers", options, made)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
