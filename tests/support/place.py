"""A scratch place in which a test runs programs under the preload, and reads their traces."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support import preloaded
from support.preloaded import SECONDS, Done
from support.repository import IOTUNE, TESTBEDS


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

    def environment(
        self, preload: bool | Sequence[object] = False, **more: object
    ) -> dict[str, str]:
        """A user's environment without a user's iotune, with libraries as run() has them; None
        takes a name out.
        """
        env = preloaded.plain_environment()
        env.update(
            HOME=str(self.scratch / "home"), XDG_STATE_HOME=str(self.state),
            XDG_DATA_HOME=str(self.data), XDG_CONFIG_HOME=str(self.scratch / "config"),
            IOTUNE_BUFFER_DIR=str(self.buffers), LC_ALL="C.UTF-8",
            # One run in eight would do without its settings else.
            IOTUNE_EXPLORE="off",
            # Runs of a test are short, and the next one is to know what they did.
            IOTUNE_LEARN_MS="20000",
            # And they move little.
            IOTUNE_KEEP_ABOVE_MIB="0", IOTUNE_EXCLUDE_PROGRAMS="none",
        )  # fmt: skip
        for name, value in more.items():
            env.pop(name, None)
            if value is not None:
                env[name] = str(value)
        return env | preloaded.variables(*self.libraries(preload))

    def on_fake_nodes(self, what: str) -> bool:
        """Let mpi() start its ranks on four; False, and `what` reported, where none can be."""
        if os.getuid() != 0:
            not_verified(f"{what}: fake nodes want root")
            return False
        if subprocess.run(["unshare", "-u", "-m", "true"], check=False).returncode != 0:
            not_verified(f"{what}: no right to have host names of their own")
            return False
        self.mpirun = str(TESTBEDS / "local_nodes")
        return True

    def libraries(
        self, preload: bool | Sequence[object] = True, shim: bool = False
    ) -> list[object]:
        """What a run preloads: iotune or not, or just the libraries that are given."""
        if not isinstance(preload, bool):
            return list(preload)
        found: list[object] = [self.library] if preload else []
        return [*found, self.shim] if shim else found

    def run(
        self,
        *command: object,
        preload: bool | Sequence[object] = True,
        shim: bool = False,
        cwd: Path | None = None,
        before: Callable[[], None] | None = None,
        seconds: float = SECONDS,
        **env: object,
    ) -> Done:
        """Run to the end, as preloaded.run() does. With iotune IOTUNE_TRACE is self.trace if it
        is not given.
        """
        libraries = self.libraries(preload, shim)
        if self.library in libraries:
            env.setdefault("IOTUNE_TRACE", self.trace)
        return preloaded.run(
            *command, libraries=tuple(libraries), environment=self.environment(False, **env),
            cwd=cwd or self.scratch, before=before, seconds=seconds,
        )  # fmt: skip

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
    if not IOTUNE.exists():
        not_verified("what iotune show joins: iotune is not in .venv")
        return False
    place.right(place.run(IOTUNE, "show", *trace, preload=False, IOTUNE_DB="none"), "iotune show")
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
