"""Which settings keep every byte right here: a prover's files, compared under each of them.

A setting is proven for a file system, an exact MPI and an exact HDF5 by five seeds of files whose
bytes were all as they should be (kernels/prove/prove.h). The prover is a program of its own: it
sets only what its options ask for, and knows nothing of iotune.
"""

from __future__ import annotations

import json
import os
import platform as machine
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iotune import core
from iotune.errors import Error
from iotune.launch.limited_run import run_limited
from iotune.launch.preload import loadable, preload_path
from iotune.launch.start import preload_environment
from iotune.locations import new_run_id
from iotune.models.settings.unread import is_unread
from iotune.replay.mpi import Mpi, SerialHdf5, serial_command
from iotune.replay.replayer import find_prover, find_yield_shim
from iotune.traces.leftovers import collect_run, run_of_iotune
from iotune.traces.trace import open_trace

SEEDS = 5
FILES = 4  # of each seed, and series of small ones for some seconds
# OMPIO's fault with several aggregators never showed with two ranks, and with four under each seed.
LEAST_RANKS = 4
_SERIAL_FILES = 64
# A setting with which the files take longer than this much of the default's time hangs.
_SLOWER, _LEAST_SECONDS = 20.0, 120.0
_OMPIO, _OPEN_MPI_ROMIO = "OMPIO", "Open MPI ROMIO"
_FIRST_WITHOUT_ROMIO = 6
# What one MPI-IO reads alone: it would pass where nobody looks at it.
_READ_BY = {"collective_buffering": "OMPIO", "cray_": "Cray MPICH"}
_ON_LUSTRE = ("romio_lustre_", "cray_")


@dataclass(frozen=True)
class Setting:
    """One class of a parameter's values, and the settings that are tried for it."""

    parameter: str
    value_class: str
    tried: tuple[dict[str, str], ...]
    of_hdf5: bool  # else a hint of MPI-IO

    @property
    def value(self) -> str:
        """One of the class."""
        return self.tried[0][self.parameter]


@dataclass(frozen=True)
class Site:
    """Where the bytes are compared: names as traces and the database have them."""

    filesystem: str
    mpi: str
    mpi_io: str
    hdf5: str
    ranks: int
    nodes: int

    def question(self, directory: Path) -> dict[str, Any]:
        """For core.gate_answer(), of a file of this directory."""
        return {
            "layer": "hdf5", "program": "iotune prove", "file": str(directory / "file"),
            "mpi": self.mpi, "mpi_io": self.mpi_io, "hdf5": self.hdf5,
            "filesystem": self.filesystem, "ranks": self.ranks, "nodes": self.nodes,
        }  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """What a run of the prover found."""

    wrong_bytes: int
    compared_bytes: int
    fault: str  # the first wrong byte, or why the run failed; "" where all is right
    said: Mapping[str, Any]

    @property
    def right(self) -> bool:
        """Whether every byte was as it should be, and there were some."""
        return not self.fault and self.wrong_bytes == 0 and self.compared_bytes > 0


# Of HDF5's files of one process alone.
_OF_ONE_PROCESS = ("page_buffer", "evict_on_close")


def settings_to_try() -> list[Setting]:
    """Every class of values that can be tried, in the order of the table."""
    layers = {str(one["name"]): str(one["layer"]) for one in core.parameters()}
    found = []
    for row in core.known_settings()["classes"]:
        tried = tuple(
            dict(part.split("=", 1) for part in one.split(";")) for one in row["tried"].split()
        )
        if tried:
            of_hdf5 = layers[row["parameter"]].startswith("hdf5")
            found.append(Setting(row["parameter"], row["value_class"], tried, of_hdf5))
    return found


def mpi_io_of(mpi: str, named: str, filesystem: str) -> str:
    """Which of its two MPI-IOs an Open MPI takes; "" of others, which have one.

    `named`: its parameter io ("ompio", "^ompio", "romio321"), empty where nobody set it.
    """
    if not mpi.startswith("Open MPI"):
        return ""
    others = named.startswith("^")
    romio = ("romio" in named) != others if named else filesystem == "lustre"
    # "Open MPI v6.0.0": from 6 on there is no ROMIO in it.
    romio = romio and int(mpi.split(" v")[-1].split(".")[0]) < _FIRST_WITHOUT_ROMIO
    return _OPEN_MPI_ROMIO if romio else _OMPIO


def can_be_unknown(site: Site, setting: Setting) -> bool:
    """Whether a library of that site reads it, and `iotune prove` could compare bytes under it.

    What nobody reads would pass any comparison.
    """
    if not (site.hdf5 if setting.of_hdf5 else site.mpi_io):
        return False
    if setting.parameter in _OF_ONE_PROCESS and site.mpi_io:
        return False
    return _is_read_at(site, setting.parameter)


def _is_read_at(site: Site, parameter: str) -> bool:
    reader = next((by for name, by in _READ_BY.items() if parameter.startswith(name)), "")
    if not site.mpi_io.startswith(reader) or is_unread(site.mpi_io, parameter):
        return False
    return site.filesystem == "lustre" or not parameter.startswith(_ON_LUSTRE)


class Prover:
    """The prover of one MPI in a scratch directory on the storage that is asked about.

    Or of one HDF5 without MPI: its files are of one process (kernels/serial).
    """

    def __init__(self, mpi: Mpi, ranks: int, scratch: Path, seeds: int = SEEDS, files: int = FILES):
        self.mpi = mpi
        serial = isinstance(mpi, SerialHdf5)
        self.ranks = 1 if serial else max(LEAST_RANKS, ranks)
        self.scratch = scratch
        self.seeds = seeds
        self.files = _SERIAL_FILES if serial else files
        self.site: Site | None = None
        self.no_hdf5 = ""  # why settings of HDF5 cannot be compared
        self.version = 0  # of what the prover writes (kernels/prove/prove.h), once it ran
        self._limit_seconds = 600.0
        self._mpiio: Path | None = None if serial else find_prover(mpi, with_hdf5=False)
        self._hdf5: Path | None = Path(mpi.hdf5_library) if serial else None
        if serial:
            return
        try:
            self._hdf5 = find_prover(mpi, with_hdf5=True)
        except Error as problem:
            self.no_hdf5 = str(problem)

    def settle(self) -> Site:
        """Run without settings, and learn which libraries these are.

        Raises Error where that fails: then nothing can be said of any setting.
        """
        trace = self.scratch / "default.iotrace"
        hdf5, began = "", time.monotonic()
        first = self._mpiio or self._hdf5
        assert first is not None
        compared = self._right(first, self._recording(trace))
        said, run = compared.said, open_trace(trace).summary
        self.version = int(said["prover"])
        if self._mpiio is None:
            hdf5 = run.hdf5
        elif self._hdf5 is not None:
            with_hdf5 = self.scratch / "hdf5.iotrace"
            try:
                self._right(self._hdf5, self._recording(with_hdf5))
                hdf5 = open_trace(with_hdf5).summary.hdf5
            except Error as problem:  # of another MPI, perhaps
                self._hdf5, self.no_hdf5 = None, str(problem)
        self._limit_seconds = max(_LEAST_SECONDS, _SLOWER * (time.monotonic() - began))
        filesystem = core.filesystem_of(self.scratch)
        mpi_io = mpi_io_of(run.mpi, str(said.get("io", "")), filesystem)
        self.site = Site(
            filesystem, run.mpi, core.mpiio_name(run.mpi, mpi_io), hdf5, int(said["ranks"]),
            int(said["nodes"]),
        )  # fmt: skip
        return self.site

    def can_try(self, setting: Setting) -> bool:
        """Whether there is a prover for it, and somebody here reads it."""
        if setting.parameter in _OF_ONE_PROCESS and self._mpiio is not None:
            return False
        program = self._hdf5 if setting.of_hdf5 else self._mpiio
        return program is not None and (
            self.site is None or _is_read_at(self.site, setting.parameter)
        )

    def prove(self, setting: Setting) -> dict[str, Any]:
        """A proof as the database takes it, passed or not. settle() comes first."""
        assert self.site is not None
        program = self._hdf5 if setting.of_hdf5 else self._mpiio
        assert program is not None
        total, fault = 0, "every setting that it goes with is known bad here"
        for one in setting.tried:
            if self._goes_with_bad(setting, one):
                continue
            fault = ""
            compared = self.run(program, one)
            total += compared.compared_bytes
            if not compared.right:
                text = ";".join(f"{name}={value}" for name, value in one.items())
                fault = f"{text}: {compared.fault or 'nothing was compared'}"
                break
        site = self.site
        return {
            "filesystem": site.filesystem,
            "mpi": site.mpi,
            "mpi_io": "" if setting.of_hdf5 else site.mpi_io,
            "hdf5": site.hdf5 if setting.of_hdf5 else "",
            "host_class": machine.machine(),
            "parameter": setting.parameter,
            "value_class": setting.value_class,
            "passed": not fault,
            "seeds": self.seeds,
            "ranks": site.ranks,
            "nodes": site.nodes,
            "evidence": fault or f"{total} bytes compared",
            "made_at": time.time(),
        }

    def _goes_with_bad(self, setting: Setting, tried: Mapping[str, str]) -> bool:
        """Whether another setting that is tried with it is known to be wrong here."""
        assert self.site is not None
        question = {**self.site.question(self.scratch), "database": "none", "config": ""}
        return any(
            core.gate_answer(question, name, value)["known"] == "known bad"
            for name, value in tried.items()
            if name != setting.parameter
        )

    def run(
        self,
        program: Path,
        settings: Mapping[str, str],
        environment: Mapping[str, str] | None = None,
        more: Sequence[str] = (),
    ) -> Compared:
        """Write, read and compare the files of all seeds under `settings`.

        Each seed is a run of its own: what a library remembers from file to file, and how its
        ranks fell in step, is another one then. The first fault ends it.
        """
        total = Compared(0, 0, "", {})
        for seed in range(1, self.seeds + 1):
            one = self._run_seed(program, settings, seed, environment, more)
            total = Compared(
                one.wrong_bytes, total.compared_bytes + one.compared_bytes, one.fault, one.said
            )
            if not one.right:
                break
        return total

    def _run_seed(
        self,
        program: Path,
        settings: Mapping[str, str],
        seed: int,
        environment: Mapping[str, str] | None,
        more: Sequence[str],
    ) -> Compared:
        files = self.scratch / "files"
        files.mkdir(exist_ok=True)
        options = ["--dir", str(files), "--seed", str(seed), "--files", str(self.files)]
        for name, value in settings.items():
            options += ["--set", f"{name}={value}"]
        if isinstance(self.mpi, SerialHdf5):
            words = serial_command("libiotune-serial-prove.so")
        else:
            words = self.mpi.command(self.ranks)
        command = [*words, str(program), *options, *more]
        try:
            done = run_limited(command, environment or self._bare(), self._limit_seconds)
        except subprocess.TimeoutExpired:
            return Compared(0, 0, f"did not end within {self._limit_seconds:.0f} s", {})
        except OSError as problem:
            raise Error(f"{command[0]}: {problem.strerror}") from None
        for line in done.stdout.splitlines():
            if line.startswith("{") and done.returncode == 0:
                said = json.loads(line)
                return Compared(
                    int(said["wrong_bytes"]), int(said["compared_bytes"]),
                    str(said["first_fault"]), said,
                )  # fmt: skip
        words = [line for line in done.stderr.splitlines() if "iotune-prove" in line]
        words = words or [line for line in done.stderr.splitlines() if line.strip()]
        return Compared(0, 0, f"failed ({done.returncode}): {' '.join(words[:1])}"[:300], {})

    def _right(self, program: Path, environment: Mapping[str, str]) -> Compared:
        with run_of_iotune(environment["IOTUNE_RUN_ID"]) as buffers:
            compared = self._run_seed(program, {}, 1, environment, ())
            with suppress(Error, OSError):
                trace = Path(environment["IOTUNE_TRACE"])
                collect_run(buffers, trace, patience_seconds=1.0, observe=False)
        if not compared.right:
            raise Error(
                f"already without any setting the bytes are wrong: {compared.fault}; "
                "no setting can be proven here"
                if compared.wrong_bytes
                else f"the prover does not run here: {compared.fault}"
            )
        return compared

    def _bare(self) -> dict[str, str]:
        # The user's own hints would be in every run.
        kept = {
            key: value
            for key, value in os.environ.items()
            if key not in ("ROMIO_HINTS", "MPICH_MPIIO_HINTS") and not key.startswith("IOTUNE_")
        }
        shim = find_yield_shim() if self.ranks > (os.cpu_count() or 1) else None
        return preload_environment(kept, loadable(shim), {}) if shim is not None else kept

    def _recording(self, trace: Path) -> dict[str, str]:
        trace.unlink(missing_ok=True)
        variables = {
            "IOTUNE_MODE": "record",
            "IOTUNE_RUN_ID": new_run_id(),
            "IOTUNE_RUN_OWNER": str(os.getpid()),
            "IOTUNE_TRACE": str(trace),
            "IOTUNE_DB": "none",
        }
        if "IOTUNE_BUFFER_DIR" in os.environ:
            variables["IOTUNE_BUFFER_DIR"] = os.environ["IOTUNE_BUFFER_DIR"]
        bare = self._bare()
        before = bare.pop("LD_PRELOAD", "")
        preload = ":".join(filter(None, (preload_path(), before)))
        return preload_environment(bare, preload, variables)


def unproven(prover: Prover, settings: Sequence[Setting], database: Path) -> Iterator[Setting]:
    """Those of which nothing is known at the prover's site, and that it can try."""
    assert prover.site is not None
    question = {**prover.site.question(prover.scratch), "database": str(database), "config": ""}
    for one in settings:
        known = core.gate_answer(question, one.parameter, one.value)
        if known["known"] == "unknown" and prover.can_try(one):
            yield one
