"""A case's writes below a logged prefix, beside the same without: what `layout=log` would bring.

The log store changes what lies on the storage, so this is measured where it is asked for, and never
applied. Both arms run the same plan: the file is written, and read back by the same ranks.
"""

from __future__ import annotations

import functools
import os
import shutil
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from iotune.models.cases import Case, plan_of_case
from iotune.models.measuring.paired import compare_ranks, measure_rounds
from iotune.models.measuring.race import FEWEST_ROUNDS
from iotune.models.options import Options
from iotune.models.replays.arm_bench import TIMEOUT_SECONDS
from iotune.models.replays.bench import replay_preload
from iotune.models.replays.plan_cuts import only_direction
from iotune.models.train_plan import directory_of

from iotune.database.offers import LogOffer
from iotune.errors import Error
from iotune.launch.start import preload_environment
from iotune.locations import new_run_id
from iotune.output_file import write_text
from iotune.replay.mpi import Mpi
from iotune.replay.plan import PLAIN, Plan, plan_text
from iotune.replay.plan_build import plan_bytes
from iotune.replay.replayer import run_plan, scratch_directory
from iotune.traces.leftovers import run_of_iotune

_ORDINARY, _LOGGED = "ordinary", "logged"
# Beside the files: each arm's last one stays while the other writes, and a log has an index.
_BESIDE_BYTES = 64 << 20


def written_and_read_back(plan: Plan) -> Plan:
    """The plan's writes, and each file opened again and read as it was written."""
    written = only_direction(plan, True)
    files = [
        replace(
            file,
            create=False,
            transfers=[replace(one, write=False, form=PLAIN) for one in file.transfers],
        )
        for file in written.files
    ]
    return replace(written, files=[*written.files, *files])


def measure_log_layout(
    case: Case, mpi: Mpi, replayer: Path, options: Options, done: Callable[[], None] = lambda: None
) -> LogOffer:
    """What `layout=log` would bring to the case.

    Raises Error where it writes nothing by HDF5, or where it cannot be replayed here.
    """
    if case.layer != "hdf5" or not case.write:
        raise Error("layout=log is measured of files that are written by HDF5")
    plan = written_and_read_back(plan_of_case(case))
    if not plan.files:
        raise Error("nothing of it is written")
    directory = directory_of(case, options)
    with scratch_directory(directory, 2 * plan_bytes(plan) + _BESIDE_BYTES) as scratch:
        arms = _Arms(plan, mpi, replayer, scratch)
        # The first ones count for nothing. The logged one stays a directory, so that it is seen.
        arms.run(_ORDINARY)
        arms.run(_LOGGED, at_close="keep")
        if not any((scratch / _LOGGED).glob("*/container")):
            raise Error("the log store did not keep the replay's file: see iotune doctor")
        wholes = measure_rounds(
            {name: functools.partial(arms.run, name) for name in (_ORDINARY, _LOGGED)},
            max(options.rounds, FEWEST_ROUNDS),
            options.seed,
            done,
        )
    writes = {name: arms.writes[name][1:] for name in wholes}
    return LogOffer(
        compare_ranks(writes[_ORDINARY], writes[_LOGGED]),
        compare_ranks(wholes[_ORDINARY], wholes[_LOGGED]),
        statistics.median(writes[_ORDINARY]),
    )


class _Arms:
    """Replays of a plan, in a folder each."""

    def __init__(self, plan: Plan, mpi: Mpi, replayer: Path, scratch: Path) -> None:
        self.plan, self.mpi, self.replayer, self.scratch = plan, mpi, replayer, scratch
        self.preload, _ = replay_preload(plan.ranks)
        self.writes: dict[str, list[float]] = {_ORDINARY: [], _LOGGED: []}
        write_text(scratch / "plan", plan_text(plan))

    def run(self, name: str, at_close: str = "flatten") -> float:
        """Seconds of the writes and the reads; those of the writes are kept.

        `at_close`: IOTUNE_LOGSTORE_CLOSE.
        """
        files = (self.scratch / name).resolve()
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        run_id = new_run_id()
        variables = {
            "IOTUNE_MODE": "record",
            "IOTUNE_RUN_ID": run_id,
            "IOTUNE_RUN_OWNER": str(os.getpid()),
            "IOTUNE_DB": "none",
            "IOTUNE_TRACE": str(self.scratch / f"{name}.iotrace"),
            "XDG_DATA_HOME": str(self.scratch / "data"),
        }
        if name == _LOGGED:
            variables |= {"IOTUNE_LOGSTORE": str(files), "IOTUNE_LOGSTORE_CLOSE": at_close}
        base = {
            key: one
            for key, one in os.environ.items()
            if key == "IOTUNE_BUFFER_DIR" or not key.startswith("IOTUNE_")
        }
        environment = preload_environment(base, self.preload, variables)
        with run_of_iotune(run_id):
            result = run_plan(
                self.mpi, self.replayer, self.scratch / "plan", self.plan.ranks, files, [],
                environment, TIMEOUT_SECONDS,
            )  # fmt: skip
        if len(result.file_seconds) != len(self.plan.files):
            raise Error(f"{self.replayer} is of another iotune: it does not tell each file's time")
        self.writes[name].append(sum(result.file_seconds[: len(self.plan.files) // 2]))
        return sum(result.file_seconds)
