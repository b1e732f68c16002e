"""A case's replay, ready to be run under any settings.

Every arm runs under the same preload, tracing and configuration path. Where ranks outnumber the
cores, all arms carry the yield shim too: MPICH spins, and a gain would else measure the scheduler.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from iotune.models.cases import Case
from iotune.models.measuring.race import DEFAULT
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS, ArmBench, Reported
from iotune.models.replays.page_cache_timing import (
    FIRST_RUN_REPEATS,
    Pause,
    is_page_cached,
    repeats_for,
)
from iotune.models.replays.preceding_files import PrecededPlan
from iotune.models.replays.run_journal import Kept, RunJournal
from iotune.models.replays.stack import demand_same_stack
from iotune.models.replays.warm_pages import Pace, pace_of
from iotune.models.settings.candidates import Candidate
from iotune.models.settings.file_layout import striping_of

from iotune import core
from iotune.errors import Error
from iotune.launch.preload import loadable, preload_path
from iotune.launch.start import preload_environment
from iotune.locations import new_run_id
from iotune.output_file import write_text
from iotune.replay.mpi import Mpi
from iotune.replay.plan import plan_text
from iotune.replay.plan_build import plan_bytes
from iotune.replay.replayer import Replayed, find_yield_shim, forget_files, run_plan
from iotune.traces.leftovers import collect_run, run_of_iotune
from iotune.traces.summary import RunSummary
from iotune.traces.trace import open_trace

_IN_EFFECT = ("applied", "unverifiable")
# Of iotune's own variables those that a replay keeps: where traces grow, and how the shim waits.
_OF_REPLAYS = ("IOTUNE_BUFFER_DIR", "IOTUNE_YIELD_SLEEP_NS")


def effect_of(run: RunSummary, names: Collection[str], settings: Mapping[str, str]) -> str:
    """'applied' (also where that cannot be verified), or what became of the settings.

    A combination is applied where all of it is: with a part of it another one was measured, and a
    gain of that would be reported of settings that do nothing. `names`: base names of the files
    that were to get them; a setting in effect on one of these is.
    """
    verdicts: dict[str, str] = {}
    for file in run.files:
        if Path(file.path).name not in names:
            continue
        for one in file.settings:
            if one.parameter not in settings or one.verdict == "not listed":
                continue
            # Of a file of POSIX each rank tells: one in effect is enough.
            if not verdicts.get(one.parameter, "").startswith(_IN_EFFECT):
                verdicts[one.parameter] = one.verdict + (f" ({one.reason})" if one.reason else "")
    if not verdicts:
        return "never reached a file"
    lost = {
        name: verdicts.get(name, "never reached a file") for name in settings
        if not verdicts.get(name, "").startswith(_IN_EFFECT)
    }  # fmt: skip
    if not lost:
        return "applied"
    said = "; ".join(f"{name} {verdict}" for name, verdict in sorted(lost.items()))
    return said if len(lost) == len(settings) else f"only a part is in effect: {said}"


def replay_preload(ranks: int) -> tuple[str, str]:
    """What all arms of so many ranks preload, and what is to be said of it."""
    if ranks <= (os.cpu_count() or 1):
        return preload_path(), ""
    shim = find_yield_shim()
    if shim is None:
        note = "more ranks than cores and no yield shim: MPICH's spinning is in the figures"
        return preload_path(), note
    both = preload_path() + ":" + loadable(shim)
    return both, "more ranks than cores: all arms carry the yield shim"


class ReplayBench(ArmBench):
    """A case's replay in a scratch directory on the storage that is measured."""

    journal: RunJournal | None = None  # where measurements are kept
    runs = moved_bytes = 0  # of all replays

    def __init__(self, case: Case, ranks: int, mpi: Mpi, replayer: Path, scratch: Path):
        super().__init__(case)
        self.ranks = ranks  # a pattern may be that of fewer
        self.mpi = mpi
        self.replayer = replayer
        self.scratch = scratch
        self.plan = scratch / "plan"
        self.options: list[str] = []
        self.files = scratch / "files"
        self.files.mkdir()
        # Of an arm: what its runs have in the environment beside what all have.
        self.services: dict[str, dict[str, str]] = {}
        # Of each run of an arm, what each of the plan's files took.
        self.file_seconds: dict[str, list[list[float]]] = {}
        self.pace: Pace = Pause(0.0)
        self.preload, note = replay_preload(ranks)
        if note:
            self.notes.append(note)

    @property
    @abstractmethod
    def own_names(self) -> frozenset[str]:
        """Base names of the case's own files in the replay."""

    @abstractmethod
    def settle(self) -> None:
        """The first replay, which counts for nothing. Raises Error as run() does.

        Also where that went through other libraries than the run.
        """

    def demand_same_stack(self) -> None:
        """Raise Error where the last replay of the default went through other libraries."""
        demand_same_stack(self.case, open_trace(self.trace_of(DEFAULT)).summary)

    @abstractmethod
    def config(self, settings: Mapping[str, str]) -> str:
        """XML that gives the case's own files these settings; empty for none at all."""

    @abstractmethod
    def seconds_of(self, name: str, result: Replayed) -> float:
        """What the case's own files took in a replay of the arm."""

    @abstractmethod
    def before_run(self) -> None:
        """Called before each replay."""

    def trace_of(self, name: str) -> Path:
        """Of the arm's last run."""
        return self.scratch / f"{name}.iotrace"

    def run(
        self, name: str, settings: Mapping[str, str], limit_seconds: float = TIMEOUT_SECONDS
    ) -> float:
        """Seconds that the case's own files took in one replay; its trace replaces the last one.

        `settings` are theirs alone. Raises Error where the replay fails or takes longer than
        `limit_seconds`, its start included.
        """
        return self.replayed(name, self.config(settings), limit_seconds)

    def measured(
        self, name: str, candidate: Candidate, limit_seconds: float = TIMEOUT_SECONDS
    ) -> Reported:
        """Seconds of one replay, and as effect() says; None where it failed, with the reason.

        Where a journal has it from a training that was killed, nothing runs.
        """
        kept = self.journal.next(name, candidate.text) if self.journal is not None else None
        if kept is None:
            kept = self._measured(name, candidate, limit_seconds)
            if self.journal is not None:
                self.journal.add(kept)
        elif kept.file_seconds:
            self.file_seconds.setdefault(name, []).append(list(kept.file_seconds))
        return kept.seconds, kept.effect

    def _measured(self, name: str, candidate: Candidate, limit_seconds: float) -> Kept:
        try:
            seconds = self.run(name, candidate.settings, limit_seconds)
            effect = self.effect(name, candidate) if candidate.settings else "applied"
        except Error as problem:
            if not candidate.settings:
                raise  # the default's failure ends the training
            return Kept(name, candidate.text, None, f"failed: {problem}")
        of_files = self.file_seconds.get(name, [[]])[-1]
        return Kept(name, candidate.text, seconds, effect, tuple(of_files))

    def replayed(self, name: str, config: str, limit_seconds: float) -> float:
        """One replay under the settings of `config`; as run()."""
        run_id = new_run_id()
        trace = self.trace_of(name)
        trace.unlink(missing_ok=True)
        variables = {
            "IOTUNE_MODE": "tune",
            "IOTUNE_TIMING": "pattern",
            "IOTUNE_DB": "none",
            "IOTUNE_RUN_ID": run_id,
            "IOTUNE_RUN_OWNER": str(os.getpid()),
            "IOTUNE_TRACE": str(trace),
            # What a replay takes is no observation of the user's program.
            "XDG_DATA_HOME": str(self.scratch / "data"),
            **self.services.get(name, {}),
        }
        if config:
            file = self.scratch / f"{name}.xml"
            write_text(file, config)
            variables["IOTUNE_CONFIG"] = str(file)
        # The user's own filters would hide the replay, and hints win over every candidate.
        base = {
            key: value
            for key, value in os.environ.items()
            if key not in ("ROMIO_HINTS", "MPICH_MPIIO_HINTS")
            and (key in _OF_REPLAYS or not key.startswith("IOTUNE_"))
        }
        with run_of_iotune(run_id) as buffers:
            with self.pace.before_run():
                self.before_run()
                result = run_plan(
                    self.mpi,
                    self.replayer,
                    self.plan,
                    self.ranks,
                    self.files,
                    self.options,
                    preload_environment(base, self.preload, variables),
                    limit_seconds,
                )
            self.runs += 1
            self.moved_bytes += result.bytes
            with suppress(Error, OSError):
                collect_run(buffers, trace, patience_seconds=1.0, observe=False)
        return self.seconds_of(name, result)

    def effect(self, name: str, candidate: Candidate) -> str:
        """As effect_of(), of the arm's last run."""
        run = open_trace(self.trace_of(name)).summary
        return effect_of(run, self.own_names, candidate.settings)


class Bench(ReplayBench):
    """Of a case of HDF5: its file and those before it, transfer by transfer."""

    def __init__(self, case: Case, replay: PrecededPlan, mpi: Mpi, replayer: Path, scratch: Path):
        super().__init__(case, replay.plan.ranks, mpi, replayer, scratch)
        self.replay = replay
        write_text(self.plan, plan_text(replay.plan))
        self.options = ["--prepare"] if replay.plan.prepares else []
        self.notes[:0] = replay.notes
        self._rounds: list[float] = []  # of the last run
        self.pace = pace_of(self.files, plan_bytes(replay.plan))

    @property
    def own_names(self) -> frozenset[str]:
        """Base names of the case's own files."""
        return self.replay.own_names

    def settle(self) -> None:
        """The first replay, which also writes what the others read.

        That gets the layout of the file that the program read, where there is one. Raises Error
        as run() does.
        """
        if not self.replay.plan.prepares:
            self._settle_writes()
            self.demand_same_stack()
            return
        wanted = striping_of(self.case.file) if self.case.file else {}
        # The replayer writes it under another name first, so this holds for every file.
        self.replayed(DEFAULT, core.config_xml(wanted) if wanted else "", TIMEOUT_SECONDS)
        self.demand_same_stack()
        own = [self.files / name for name in self.replay.own_names]
        if wanted and any(striping_of(file) != wanted for file in own):
            self.notes.append(
                f"{self.case.file} has {wanted['striping_factor']} stripes of"
                f" {wanted['striping_unit']} bytes, which the replay's file could not get"
            )

    def _settle_writes(self) -> None:
        """Files that take little time are written several times over in each run from now on."""
        repeated = is_page_cached(self.files)
        self.options = ["--repeat", str(FIRST_RUN_REPEATS)] if repeated else []
        self.replayed(DEFAULT, "", TIMEOUT_SECONDS)
        count = repeats_for(min(self._rounds)) if repeated else 1
        self.options = ["--repeat", str(count)] if count > 1 else []

    def config(self, settings: Mapping[str, str]) -> str:
        """Of the case's files and, where others lie before them, of those."""
        if not self.replay.preceding_names:
            return core.config_xml(settings, forced=True) if settings else ""
        of_files = {
            **self.replay.preceding_settings,
            **dict.fromkeys(self.replay.own_names, settings),
        }
        return core.config_xml({}, of_files, forced=True) if any(of_files.values()) else ""

    def before_run(self) -> None:
        """What is read comes from the storage."""
        if self.replay.plan.prepares:
            forget_files(self.files)

    def seconds_of(self, name: str, result: Replayed) -> float:
        """The sum over the case's own files; each file's is kept in `file_seconds`."""
        if len(result.file_seconds) != len(self.replay.plan.files):
            raise Error(f"{self.replayer} is of another iotune: it does not tell each file's time")
        self._rounds = result.rounds
        self.file_seconds.setdefault(name, []).append(result.file_seconds)
        return sum(result.file_seconds[at] for at in self.replay.own)
