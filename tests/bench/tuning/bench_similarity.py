"""PDSW'15's evaluation: what programs that were never trained gain by another program's answer.

IOR's HDF5 pattern receives VPIC's by the match in bytes, Resemble-VORPAL (a C program made of a
trace by `iotune replay --emit-c`) VORPAL's and FLASH GCRM's by similarity. Each is run at its
default, with the answer that travelled, and with one that was trained for itself: the ratio to
the last is the regret. Whole runs, from the launcher's start to its end. CASE chooses by the
program that was trained (`make bench NAME=tuning`; trained here where it was not). Goes on from
similarity.state.json.
"""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.paired import Table, at_least
from bench.tuning.bench_tuning import trainer_options
from bench.tuning.tuning_arms import SECONDS, Arms
from bench.tuning.tuning_cases import Case
from bench.tuning.tuning_search import Rounds, half_width, ratio
from bench.tuning.tuning_session import Session, State, begin
from iotune.launch.limited_run import run_limited
from iotune.replay.mpi import find_mpi, hdf5_flags
from iotune.traces.trace import open_trace
from support.repository import IOTUNE

FEWEST = 5
WITHIN = 0.05
JUDGED_SECONDS = 2.0


def _value(words: tuple[str, ...], flag: str) -> str:
    return words[words.index(flag) + 1]


def receiver_of(source: Case) -> Case | None:
    """The program that PDSW'15 gives the answer of `source`, in sizes that fit; None: no such."""
    if source.kernel == "vpic-io":
        # The same bytes of a rank in a dataset: 4-byte elements there, 8-byte ones here.
        block = str(4 * int(_value(source.words, "--particles")))
        words: tuple[str, ...] = ("-a", "HDF5", "-s", "8", "-b", block, "-t", block, "-w")
        return replace(source, kernel="ior-io", words=words)
    if source.kernel == "vorpal-io" and not source.collective:
        # 64x128x256 beside VORPAL's 60x100x300, as far as the source was made smaller.
        small = "32x64x128" if source.storage.name == "cephfs" else "64x64x128"
        words = ("--size", small, *source.words[2:])
        return replace(source, kernel="resemble-vorpal-io", words=words)
    if source.kernel == "gcrm-io":
        # Blocks of 8x8x8 doubles, as many bytes of a rank in a dataset as GCRM has.
        blocks = int(_value(source.words, "--size").split("x")[-1]) // 1024
        return replace(
            source, kernel="flash-io", words=("--size", f"{blocks}x8x8x8", "--datasets", "4")
        )
    return None


class Receiver(Arms):
    """A program with a database of its own; its time is the whole run's."""

    program: Path | None = None  # made of a trace: takes a folder, tells no time

    def learn_from(self, data: Path) -> None:
        """What is known is what another program's training found."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        shutil.copytree(data, self.home / "data")

    def emit(self) -> None:
        """From now on run the C program that a trace of the kernel gives."""
        trace = self.home / "recorded.iotrace"
        trace.unlink(missing_ok=True)
        env = self.environment(
            True, IOTUNE_MODE="record", IOTUNE_RECORD="all", IOTUNE_TRACE=str(trace)
        )
        super().kernel(env, True)
        source, program = self.home / "emitted.c", self.home / "emitted"
        source.unlink(missing_ok=True)
        subprocess.run([IOTUNE, "replay", trace, "--emit-c", source], check=True)
        mpi = find_mpi()
        command = [str(mpi.compiler), "-O1", str(source), *hdf5_flags(mpi), "-o", str(program)]
        subprocess.run(command, check=True)
        self.program = program

    def kernel(
        self,
        env: Mapping[str, str],
        write: bool,
        folder: Path | None = None,
        limit_seconds: float = SECONDS,
    ) -> float:
        """Seconds of the whole run."""
        if self.program is None:
            super().kernel(env, write, folder, limit_seconds)
            return self.whole_seconds
        folder = folder or self.plain
        for path in folder.glob("*.h5"):
            path.unlink()  # a file that is there keeps its layout
        storage = self.case.storage
        command = [storage.launcher, "-n", str(storage.ranks), str(self.program), str(folder)]
        began = time.monotonic()
        done = run_limited(command, env, limit_seconds)
        self.whole_seconds = time.monotonic() - began
        if done.returncode != 0:
            raise RuntimeError(f"{self.case.name}: {done.stderr[-1000:]}")
        return self.whole_seconds

    def reported(self) -> dict[str, Any]:
        """Of the last run: where its answer came from, and what was set with effect."""
        files = open_trace(self.home / "last.iotrace").summary.files
        one = max(files, key=lambda file: file.bytes_written)
        verdicts = {each.parameter: each.verdict for each in one.settings}
        return {
            "source": one.decision_source,
            "distance": one.decision_distance,
            "state": one.decision_state,
            "settings": {each.parameter: each.wanted for each in one.settings},
            "verdicts": verdicts,
        }


def source_data(session: Session, source: Case) -> Path:
    """The database of the program that was trained; it is trained where it was not."""
    own = session.state.of(source)
    data = session.home(source) / "data"
    if "trained" not in own or not data.is_dir():
        with session.arms(source) as arms:
            rounds, budget = trainer_options(source)
            own["trained"] = arms.train(rounds, budget) | {"budget": budget, "rounds": rounds}
            session.state.save()
    return data


def enough(rounds: Rounds, most: int) -> bool:
    """By width alone, for to stop at a value chooses it."""
    if len(rounds) < FEWEST or len(rounds) >= most:
        return len(rounds) >= most
    return all(half_width(ratio(rounds, "iotune", arm)) <= WITHIN for arm in ("default", "own"))


def measure(session: Session, source: Case, case: Case, state: State) -> None:
    """All that is wanting of one pair."""
    own = state.of(case)
    data = source_data(session, source)
    home = session.options.out / "similarity" / session.home(case).name
    with ExitStack() as stack:
        received = Receiver(case, session.options.build, home / "received")
        stack.callback(received.close)
        trained = Receiver(case, session.options.build, home / "own")
        if case.kernel == "resemble-vorpal-io":
            received.emit()
            trained.program = received.program
        received.learn_from(data)
        for _ in range(2):  # a workload's first run is always at its default
            received.iotune()
        own["answer"] = received.reported()
        if "trained" not in own or not trained.database.exists():
            rounds_each, budget = trainer_options(case)
            own["trained"] = trained.train(rounds_each, budget)
            state.save()
        trained.iotune()
        arms: dict[str, Callable[[], float]] = {
            "default": received.default, "iotune": received.iotune, "own": trained.iotune,
        }  # fmt: skip
        rounds: Rounds = own.setdefault("rounds", [])
        while not enough(rounds, session.options.most):
            order = list(arms)
            random.SystemRandom().shuffle(order)
            now = {name: arms[name]() for name in order}
            rounds.append({name: now[name] for name in arms})
            state.save()


def report(table: Table, source: Case, case: Case, own: dict[str, Any]) -> None:
    """The pair's numbers."""
    rounds: Rounds = own["rounds"]
    reported = own["answer"]
    applied = ";".join(
        f"{name}={value}"
        for name, value in reported["settings"].items()
        if reported["verdicts"][name] == "applied"
    )
    table.rounds[case.name] = own
    name = (
        f"{source.kernel} to {case.name}, {reported['source']} at {reported['distance']:.3g}, "
        f"{applied or reported['state']}"
    )
    # As `make bench NAME=safety` judges: what a launch costs is much of a shorter run.
    long = statistics.median(one["default"] for one in rounds) >= JUDGED_SECONDS
    table.add(
        f"{name}: against default",
        ratio(rounds, "iotune", "default"),
        at_least(0.97) if long else None,
    )
    table.add(f"{name}: against its own training", ratio(rounds, "iotune", "own"))


def main() -> int:
    session = begin(__doc__, most=(15, "rounds"), report=(0, "1: what was measured so far"))
    state = State(session.options.out / "similarity.state.json")
    table = Table("similarity")
    for source in session.cases:
        case = receiver_of(source) if source.write else None
        if case is None:
            continue
        if not session.options.report and not enough(
            state.of(case).get("rounds", []), session.options.most
        ):
            print(f"{source.name} to {case.name}", file=sys.stderr, flush=True)
            measure(session, source, case, state)
        if state.of(case).get("rounds"):
            report(table, source, case, state.of(case))
    session.close()
    return table.finish(session.options.out)


if __name__ == "__main__":
    sys.exit(main())
