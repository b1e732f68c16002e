"""What the tests under the preload share: a place of their own, runs, and traces read.

Standard library only: ctest runs these with the system's python.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 60  # the watchdog of one run: reached only by a hang


@dataclass
class Done:
    """How a program ended. `status` is what a shell would say: 128 + n after signal n."""

    status: int
    out: bytes
    err: bytes

    def said(self) -> list[str]:
        """The lines that iotune wrote on stderr."""
        lines = self.err.decode(errors="replace").splitlines()
        return [line for line in lines if line.startswith("iotune:")]

    def same_as(self, other: Done) -> bool:
        return (self.status, self.out, self.err) == (other.status, other.out, other.err)


class Hang(AssertionError):
    """The watchdog had to end a run."""


class Place:
    """A scratch directory with the build's programs and an environment of its own."""

    def __init__(self, build: Path, mpirun: str, scratch: Path, buffers: Path) -> None:
        self.build = build
        self.mpirun = mpirun
        self.scratch = scratch
        self.buffers = buffers
        self.bin = build / "bin"
        self.library = build / "lib" / "libiotune.so"
        self.shim = build / "lib" / "libiotune-yield.so"
        self.state = scratch / "state"
        self.data = scratch / "data"
        self.trace = scratch / "run.iotrace"

    def environment(self, **more: object) -> dict[str, str]:
        """A user's environment without a user's iotune; None takes a name out."""
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("IOTUNE_")
               and k not in ("LD_PRELOAD", "ROMIO_HINTS")}  # fmt: skip
        env.update(
            HOME=str(self.scratch / "home"), XDG_STATE_HOME=str(self.state),
            XDG_DATA_HOME=str(self.data), XDG_CONFIG_HOME=str(self.scratch / "config"),
            IOTUNE_BUFFER_DIR=str(self.buffers), LC_ALL="C.UTF-8",
            # One run in eight would do without its settings else.
            IOTUNE_EXPLORE="off",
            # Runs of a test are short, and the next one is to know what they did.
            IOTUNE_LEARN_MS="20000",
        )  # fmt: skip
        for name, value in more.items():
            env.pop(name, None)
            if value is not None:
                env[name] = str(value)
        return env

    def on_fake_nodes(self, what: str) -> bool:
        """Let mpi() start its ranks on four; False, with `what` told, where there can be none."""
        if os.getuid() != 0:
            not_verified(f"{what}: fake nodes want root")
            return False
        if subprocess.run(["unshare", "-u", "-m", "true"], check=False).returncode != 0:
            not_verified(f"{what}: no right to have host names of their own")
            return False
        self.mpirun = str(Path(__file__).parents[1] / "testbed" / "local_nodes")
        return True

    def preload(self, shim: bool = False) -> str:
        return f"{self.library}:{self.shim}" if shim else str(self.library)

    def run(
        self,
        *command: object,
        preload: bool = True,
        shim: bool = False,
        cwd: Path | None = None,
        before: Callable[[], None] | None = None,
        seconds: float = SECONDS,
        **env: object,
    ) -> Done:
        """Run to the end; the caller judges how. IOTUNE_TRACE is self.trace if not said."""
        if preload:
            env.setdefault("LD_PRELOAD", self.preload(shim))
            env.setdefault("IOTUNE_TRACE", self.trace)
        elif shim:
            env.setdefault("LD_PRELOAD", str(self.shim))
        argv = [str(word) for word in command]
        with subprocess.Popen(
            argv, cwd=cwd or self.scratch, env=self.environment(**env),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, preexec_fn=before,
        ) as child:  # fmt: skip
            try:
                out, err = child.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                # The whole session: an MPI launcher's ranks hang with it.
                os.killpg(child.pid, signal.SIGKILL)
                out, err = child.communicate()
                raise Hang(f"{' '.join(argv)}: no end after {seconds} s\n{err.decode()}") from None
        status = child.returncode
        return Done(128 - status if status < 0 else status, out, err)

    def mpi(self, ranks: int, *command: object, **how: Any) -> Done:
        """Run a program on ranks, with the shim where ranks outnumber the cores."""
        how.setdefault("shim", ranks > len(os.sched_getaffinity(0)))
        return self.run(self.mpirun, "-n", ranks, *command, **how)

    def right(self, done: Done, what: str = "run") -> Done:
        assert done.status == 0, f"{what}: status {done.status}\n{done.err.decode()[-2000:]}"
        return done

    # --- traces
    def _json(self, *arguments: object) -> str:
        done = subprocess.run(
            [str(self.bin / "trace_json"), *map(str, arguments)],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def text_of(self, what: str) -> str:
        """The run's trace as trace_json prints it, unparsed."""
        return self._json(what, self.trace)

    def calls(self, file: Path | None = None) -> list[dict[str, Any]]:
        text = self._json("calls", file or self.trace)
        return [json.loads(line) for line in text.splitlines()]

    def heads(self, file: Path | None = None) -> list[dict[str, Any]]:
        text = self._json("heads", file or self.trace)
        return [json.loads(line) for line in text.splitlines()]

    def summary(self, file: Path | None = None) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self._json("summary", file or self.trace))
        return parsed

    def leftovers(self) -> list[Path]:
        """Buffers that no trace has taken in."""
        return sorted(self.buffers.rglob("*.iobuf")) if self.buffers.exists() else []

    def traces(self) -> list[Path]:
        return sorted(self.scratch.rglob("*.iotrace"))

    def ours(self) -> list[Path]:
        """Every file of iotune's own that lies anywhere in this place."""
        roots = (self.state, self.data, self.buffers, self.scratch / "home")
        found = [path for root in roots if root.exists() for path in root.rglob("*")]
        return [path for path in [*found, self.trace] if path.is_symlink() or path.is_file()]

    def clear(self) -> None:
        """Forget what earlier runs of this case left."""
        for path in (self.state, self.data, self.scratch / "home"):
            shutil.rmtree(path, ignore_errors=True)
        for path in self.buffers.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.trace.unlink(missing_ok=True)


def program_calls(calls: Sequence[Mapping[str, Any]], path: str) -> list[Mapping[str, Any]]:
    """The calls of one process on files below `path`, by the texts and file numbers."""
    return [call for call in calls if any(path in text for text in call["texts"])]


def collect(place: Place, *trace: Path) -> bool:
    """`iotune show` joins what dead processes left; False where it is not installed here."""
    iotune = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "iotune"
    if not iotune.exists():
        not_verified("what iotune show joins: iotune is not in .venv")
        return False
    place.right(place.run(iotune, "show", *trace, preload=False, IOTUNE_DB="none"), "iotune show")
    return True


def not_verified(why: str) -> None:
    print(f"NOT VERIFIED: {why}")


def preloadable(folder: Path, links: Path) -> Path:
    """The folder by a name that LD_PRELOAD can carry: it splits at spaces and colons."""
    folder = folder.resolve()
    if not set(" :") & set(str(folder)):
        return folder
    link = links / "build"
    link.symlink_to(folder)
    return link


def main(cases: Mapping[str, Callable[[Place], None]]) -> None:
    """Run the case that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("case", choices=[*cases, "all"])
    options = parser.parse_args()
    for name in cases if options.case == "all" else [options.case]:
        # Buffers in memory; the space in the other name is meant.
        with (
            tempfile.TemporaryDirectory(prefix="iotune test ") as scratch,
            tempfile.TemporaryDirectory(prefix="iotune-test-", dir="/dev/shm") as buffers,
            tempfile.TemporaryDirectory(prefix="iotune-build-") as links,
        ):
            build = preloadable(options.build, Path(links))
            place = Place(build, options.mpirun, Path(scratch), Path(buffers))
            (place.scratch / "home").mkdir()
            cases[name](place)
            print(f"{name}: ok", file=sys.stderr)
