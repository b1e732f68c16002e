"""Which candidates training may try: what nothing is known of is proven first.

Proofs are made in a scratch directory of their own on the storage that is measured, with the ranks
of the pattern, and stored: later runs may apply what passed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from iotune.models.cases import NO_LIBRARY, Case
from iotune.models.settings.candidates import Candidate
from iotune.models.settings.prospects import refusal_of

from iotune import core
from iotune.errors import Error
from iotune.proving.prover import Prover, Setting, settings_to_try
from iotune.replay.mpi import Mpi, SerialHdf5
from iotune.replay.replayer import scratch_directory

_SCRATCH_BYTES = 64 << 20


class Allowed:
    """Asks the gate, and proves what is unknown. Directories live as long as `stack`."""

    def __init__(
        self, mpi: Mpi, database: core.Database, path: Path, stack: ExitStack,
        tell: Callable[[str], None],
    ):  # fmt: skip
        self._mpi = mpi
        self._database = database
        self._path = path
        self._stack = stack
        self._tell = tell
        self._provers: dict[tuple[str, int], Prover | str] = {}

    def refusal(self, case: Case, directory: Path, candidate: Candidate) -> str:
        """Why a candidate may not be tried there; "" where it may."""
        for name in candidate.settings:
            if name in case.unmeasurable:
                return case.unmeasurable[name]
        question = question_of(case, directory, self._path)
        reason, unproven = refusal_of(question, case.platform, candidate)
        if reason or not unproven:
            return reason
        prover = self._prover(case, directory)
        if isinstance(prover, str):
            refused = core.gate_refusals(question, candidate.settings)
            return f"{refused[0]['reason']} ({prover})"
        assert prover.site is not None
        question.update(prover.site.question(directory))
        for one in core.gate_refusals(question, candidate.settings):
            if not one["unproven_name"]:
                return one["reason"]
            setting = _setting(one["unproven_name"], one["unproven_value"])
            if setting is None or not prover.can_try(setting):
                return one["reason"]
            self._tell(f"proving {setting.parameter} ({setting.value_class}) first")
            proof = prover.prove(setting)
            self._database.add_proof(proof)
            if not proof["passed"]:
                return f"wrong bytes: {proof['evidence']}"
        still = core.gate_refusals(question, candidate.settings)
        return still[0]["reason"] if still else ""

    def _prover(self, case: Case, directory: Path) -> Prover | str:
        """One for each file system and number of ranks, or why there is none."""
        key = (str(directory), case.ranks)
        if not self._mpi.launcher and not isinstance(self._mpi, SerialHdf5):
            return "there is no MPI to prove it with"
        if key not in self._provers:
            try:
                scratch = self._stack.enter_context(scratch_directory(directory, _SCRATCH_BYTES))
                prover = Prover(self._mpi, case.ranks, scratch)
                prover.settle()
                self._provers[key] = prover
            except Error as problem:
                self._provers[key] = str(problem)
        return self._provers[key]


def question_of(case: Case, directory: Path, database: Path) -> dict[str, Any]:
    """As the gate is asked about a case's files there."""
    libraries = {
        name: "" if case.platform.get(name) == NO_LIBRARY else case.platform.get(name, "")
        for name in ("mpi", "hdf5")
    }
    return {
        "layer": case.layer, "program": "iotune train", "file": str(directory / "file"),
        "filesystem": core.filesystem_of(directory), "ranks": case.ranks,
        "database": str(database), "config": "", **libraries,
    }  # fmt: skip


def _setting(name: str, value: str) -> Setting | None:
    """What is tried for the class of that value."""
    of = core.gate_answer({"program": "", "file": "/file"}, name, value)["value_class"]
    return next(
        (one for one in settings_to_try() if (one.parameter, one.value_class) == (name, of)),
        None,
    )
