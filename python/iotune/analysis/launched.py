"""Several ranks of an MPI launcher that do one analysis, or another common work.

No MPI is needed for that: the launcher says in the environment who is which rank, and results are
files in a directory that all ranks see. Its name is one that the launcher gives the job, so that
two analyses in one place never meet.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from iotune.errors import Error

_BEAT_SECONDS = 2.0
# A rank that was not heard of for so long is dead, or sees another directory.
_SILENT_SECONDS = 60.0

# Rank and size, as launchers name them.
_LAUNCHERS = (
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


@dataclass(frozen=True)
class Ranks:
    """Which of how many this process is, and what their job is called."""

    rank: int = 0
    size: int = 1
    job: str = ""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Ranks:
        """What a launcher has left there; one rank of one without any. Raises Error."""
        for rank_name, size_name in _LAUNCHERS:
            try:
                rank, size = int(environment[rank_name]), int(environment[size_name])
            except (KeyError, ValueError):
                continue
            # srun's variables are there in the batch script itself, too.
            if size <= 1 or (rank_name == "SLURM_PROCID" and "SLURM_STEP_ID" not in environment):
                return cls()
            return cls(rank, size, _job_name(environment))
        return cls()


def _job_name(environment: Mapping[str, str]) -> str:
    if "PMI_FD" in environment:
        name = _name_by_pmi(int(environment["PMI_FD"]))
    elif "SLURM_STEP_ID" in environment:
        name = f"{environment.get('SLURM_JOB_ID', '')}.{environment['SLURM_STEP_ID']}"
    else:
        name = environment.get("PMIX_NAMESPACE") or environment.get("OMPI_MCA_ess_base_jobid", "")
    if not name:
        raise Error(
            "the launcher does not say what its job is called: mpirun of MPICH, of Open MPI and "
            "srun do"
        )
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def _name_by_pmi(descriptor: int) -> str:
    """Ask MPICH's launcher over its socket (the wire protocol of PMI 1)."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as wire, wire.makefile("rb") as answers:
            found = b""
            for question in (
                b"cmd=init pmi_version=1 pmi_subversion=1\n",
                b"cmd=get_my_kvsname\n",
                b"cmd=finalize\n",
            ):
                wire.sendall(question)
                answer = answers.readline(4096)
                match = re.search(rb"kvsname=(\S+)", answer)
                found = match[1] if match else found
            return found.decode("ascii", "replace")
    except OSError as problem:
        raise Error(f"the MPI launcher does not answer ({problem})") from None


class Abandoned(Error):
    """Of ranks other than 0: the analysis has failed, and rank 0 says why."""


class Exchange:
    """The directory in which the ranks of one job meet. Rank 0 makes and removes it.

    `work`: what they do, a word. `remedy`: how the user names a directory that all ranks see.
    """

    def __init__(
        self, place: Path, ranks: Ranks, work: str = "analyze", remedy: str = "by --exchange"
    ):
        self._ranks = ranks
        self._remedy = remedy
        self.folder = (place / f".iotune-{work}-{ranks.job}").absolute()
        self._over = threading.Event()

    def __enter__(self) -> Exchange:
        try:
            if self._ranks.rank == 0:
                self.folder.mkdir(mode=0o700)
            else:
                self._wait(lambda: self.folder.is_dir(), lambda: None)
            self._beat()
        except OSError as problem:
            raise Error(
                f"{self.folder}: {problem.strerror}; name a directory that all ranks see and "
                f"may write to {self._remedy}"
            ) from None
        self._thread = threading.Thread(target=self._keep_beating, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        said = isinstance(problem, Abandoned)
        with contextlib.suppress(OSError):
            if problem is not None and not said:
                text = str(problem) if isinstance(problem, Error) else repr(problem)
                self._write("failed", {"rank": self._ranks.rank, "problem": text})
        self._over.set()
        self._thread.join()
        if self._ranks.rank == 0:
            self._wait_for_all()
            shutil.rmtree(self.folder, ignore_errors=True)
        elif isinstance(problem, Error) and not said:
            raise Abandoned(str(problem)) from None

    def _wait_for_all(self) -> None:
        """Until no other rank looks for the directory any more; one may have begun only now."""
        until = time.monotonic() + _SILENT_SECONDS
        for rank in range(1, self._ranks.size):
            over = self.folder / f"rank-{rank}.over"
            while not over.exists() and time.monotonic() < until and self.folder.is_dir():
                time.sleep(0.01)

    def publish(self, plan: dict[str, Any]) -> None:
        """Rank 0: tell all others what there is to do."""
        self._write("plan", plan)

    def plan(self) -> dict[str, Any]:
        """What rank 0 has published. Raises Error where it never does."""
        path = self.folder / "plan.json"
        self._wait(path.exists, self._check_others)
        return dict(json.loads(path.read_text("ascii")))

    def wait_for(self, files: Iterable[Path]) -> None:
        """Rank 0: until all are there. Raises Error where a rank fails or is not heard of."""
        for path in files:
            self._wait(path.exists, self._check_others)

    def _wait(self, there: Any, check: Any) -> None:
        begun = looked = time.monotonic()
        pause = 0.005
        while not there():
            time.sleep(pause)
            pause = min(pause * 1.5, 0.2)
            now = time.monotonic()
            if not self.folder.is_dir() and now - begun > _SILENT_SECONDS:
                raise Error(
                    f"rank {self._ranks.rank} sees no {self.folder} of rank 0: name a directory "
                    f"that all ranks see {self._remedy}"
                )
            if now - looked > 1:
                check()
                looked = now

    def _check_others(self) -> None:
        if not self.folder.is_dir():
            raise Abandoned("rank 0 has ended")
        failed = self.folder / "failed.json"
        if failed.exists():
            said = json.loads(failed.read_text("ascii"))
            text = f"rank {said['rank']}: {said['problem']}"
            raise Error(text) if self._ranks.rank == 0 else Abandoned(text)
        others = range(1, self._ranks.size) if self._ranks.rank == 0 else (0,)
        for rank in others:
            try:
                silent = time.time() - (self.folder / f"rank-{rank}").stat().st_mtime
            except FileNotFoundError:
                silent = (
                    time.time() - (self.folder / f"rank-{self._ranks.rank}.begun").stat().st_mtime
                )
            # A rank whose work is done beats no more.
            if silent > _SILENT_SECONDS and not (self.folder / f"rank-{rank}.over").exists():
                raise Error(
                    f"rank {rank} was not heard of for {silent:.0f} s: it was killed, or sees "
                    f"another directory ({self._remedy})"
                )

    def _beat(self) -> None:
        (self.folder / f"rank-{self._ranks.rank}.begun").touch()
        (self.folder / f"rank-{self._ranks.rank}").touch()

    def _keep_beating(self) -> None:
        own = self.folder / f"rank-{self._ranks.rank}"
        while not self._over.wait(_BEAT_SECONDS):
            with contextlib.suppress(OSError):
                own.touch()
        with contextlib.suppress(OSError):
            (self.folder / f"rank-{self._ranks.rank}.over").touch()

    def _write(self, name: str, value: dict[str, Any]) -> None:
        path = self.folder / f"{name}.json"
        whole = path.with_suffix(f".{self._ranks.rank}.tmp")
        whole.write_text(json.dumps(value), encoding="ascii")
        os.replace(whole, path)
