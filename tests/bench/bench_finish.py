"""What the end of a run costs the ranks that do not learn, and short runs as wholes.

Two ranks make up to ten million calls in loops, by irregular steps or at drawn places. From the end
of a rank's work to the exit of the last rank but rank 0, less the same of a bare run, is the end;
beside it, in the same round, the trace's bytes are written to a file. Memory is the greatest of
rank 0 against a run that records and does not learn (IOTUNE_DB=none).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import native
import paired

RANKS = 2
SHAPES = ("regular", "irregular", "random")
CALLS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """What one run of finish_calls is: the whole for both ranks."""

    shape: str
    calls: int
    files: int = 1
    seconds: float = 0.0

    @property
    def name(self) -> str:
        files = "" if self.files == 1 else f" on {self.files} files"
        return f"{self.calls} calls, {self.shape}{files}"


class Measured:
    """Runs of one place, each with a state of its own kind."""

    def __init__(self, build: Path, out: Path, scratch: Path) -> None:
        self.scratch = scratch
        self.library = native.preload(build / "lib" / "libiotune.so")
        self.shim = native.preload(native.yield_shim(build))
        os.environ.setdefault("CC", "cc")
        self.timed = native.compiled("timed_exit.c", out / "native")
        compiler = os.environ["CC"]
        os.environ["CC"] = "mpicc"
        self.program = native.compiled("finish_calls.c", out / "native")
        os.environ["CC"] = compiler
        self.memory_kib: dict[str, list[float]] = {}

    def environment(self, learns: bool) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("IOTUNE_") and k != "LD_PRELOAD"}  # fmt: skip
        env.update(
            XDG_STATE_HOME=str(self.scratch / "state"), XDG_DATA_HOME=str(self.scratch / "data"),
            IOTUNE_BUFFER_DIR=str(self.scratch / "buffers"),
        )  # fmt: skip
        if not learns:
            env["IOTUNE_DB"] = "none"
        return env

    def run(self, what: Run, arm: str) -> tuple[float, float]:
        """The seconds from the end of the work to the last other rank's exit, and of the whole."""
        folder = self.scratch / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (self.scratch / "buffers").mkdir(mode=0o700, exist_ok=True)
        preload = self.shim if arm == "bare" else f"{self.library}:{self.shim}"
        words = [what.shape, str(what.calls // RANKS), str(what.files), str(what.seconds)]
        began = time.perf_counter()
        done = subprocess.run(
            ["mpirun", "-n", str(RANKS), str(self.timed), str(folder), preload,
             str(self.program), *words, str(folder)],
            env=self.environment(arm == "iotune"), capture_output=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        if done.returncode != 0:
            raise paired.ArmFailed(f"{what.name}, {arm}: {done.stderr.decode(errors='replace')}")
        ends = [
            int((folder / f"end.{rank}").read_text().split()[0])
            - int((folder / f"last.{rank}").read_text())
            for rank in range(1, RANKS)
        ]
        kib = int((folder / "end.0").read_text().split()[1])
        self.memory_kib.setdefault(arm, []).append(kib)
        return max(ends) / 1e9, seconds

    def plain_write(self) -> float:
        """The seconds in which the newest trace's bytes are written and given their name."""
        traces = sorted((self.scratch / "state" / "iotune" / "traces").glob("*.iotrace"),
                        key=lambda path: path.stat().st_mtime_ns)  # fmt: skip
        if not traces:
            return 0.0
        content = traces[-1].read_bytes()
        target = self.scratch / "plain"
        began = time.perf_counter()
        with open(f"{target}.part", "wb", buffering=0) as file:
            for at in range(0, len(content), MIB):
                file.write(content[at : at + MIB])
        os.rename(f"{target}.part", target)
        return time.perf_counter() - began


def ends(place: Measured, table: paired.Table, what: Run, rounds: int, seed: int | None) -> None:
    """Add the rows of one kind of run."""
    place.memory_kib.clear()
    comparison = paired.compare(
        what.name,
        {
            "bare": lambda: place.run(what, "bare")[0],
            "iotune": lambda: place.run(what, "iotune")[0],
            "without learning": lambda: place.run(what, "without learning")[0],
            "plain write": place.plain_write,
        },
        rounds, seed=seed,
    )  # fmt: skip
    table.keep(comparison)
    added = comparison.estimate(
        lambda rows: statistics.median(
            [
                mine - bare - plain
                for mine, bare, plain in zip(
                    rows["iotune"], rows["bare"], rows["plain write"], strict=True
                )
            ]
        )
    )
    table.judge(f"{what.name}: end beyond the trace's bytes, ms", added.scaled(1e3),
                paired.at_most(10, "ms"))  # fmt: skip
    table.add(f"{what.name}: the trace's bytes, ms", comparison.median("plain write").scaled(1e3))
    learns, records = (statistics.median(place.memory_kib[arm])
                       for arm in ("iotune", "without learning"))  # fmt: skip
    table.add(f"{what.name}: memory of the end, MiB", (learns - records) / 1024,
              paired.at_most(8, "MiB"))  # fmt: skip


def wholes(place: Measured, table: paired.Table, what: Run, rounds: int, seed: int | None) -> None:
    """Add the row of a run of a second."""
    comparison = paired.compare(
        f"whole run, {what.name}",
        {arm: (lambda arm=arm: place.run(what, arm)[1]) for arm in ("bare", "iotune")},
        rounds, seed=seed,
    )  # fmt: skip
    table.keep(comparison)
    table.judge(f"{what.name}, a second: speed of bare", comparison.ratio("bare", "iotune"),
                paired.at_least(0.97))  # fmt: skip


def copies(place: Measured, table: paired.Table, rounds: int, seed: int | None) -> None:
    """Add the rows of small serial programs."""
    source = place.scratch / "ten_mb"
    source.write_bytes(os.urandom(5_000_000) + bytes(5_000_000))
    env = place.environment(True)
    for words in (["cp", str(source), f"{source}.copy"], ["gzip", "-kf", str(source)]):
        arms = {
            "bare": paired.Command(words, {"LD_PRELOAD": None}),
            "iotune": paired.Command(words, {**env, "LD_PRELOAD": place.library}),
        }
        comparison = paired.compare(f"{words[0]} of 10 MB", arms, 10 * rounds, seed=seed)
        table.keep(comparison)
        table.judge(f"{words[0]} of 10 MB: speed of bare", comparison.ratio("bare", "iotune"),
                    paired.at_least(0.95))  # fmt: skip


def main() -> int:
    """Measure, print and write build/bench/finish.json."""
    options = paired.arguments(__doc__, rounds=15)
    if not (options.build / "lib" / "libiotune.so").is_file() or shutil.which("mpirun") is None:
        print("finish: build first (make release); needs mpirun and mpicc", file=sys.stderr)
        return 1
    table = paired.Table("finish")
    with tempfile.TemporaryDirectory(prefix="iotune-finish-") as scratch:
        place = Measured(options.build, options.out, Path(scratch))
        for shape in SHAPES:
            for calls in CALLS:
                fewer = max(3, options.rounds // 3) if calls > 1_000_000 else options.rounds
                ends(place, table, Run(shape, calls), fewer, options.seed)
        ends(place, table, Run("regular", 20_000, files=1_000), options.rounds, options.seed)
        # As Meep and a program of netCDF do it.
        for what in (Run("regular", 119_000, 39, 1.0), Run("regular", 20_000, 1, 1.0)):
            wholes(place, table, what, options.rounds, options.seed)
        copies(place, table, options.rounds, options.seed)
    return table.finish(options.out)


if __name__ == "__main__":
    sys.exit(main())
