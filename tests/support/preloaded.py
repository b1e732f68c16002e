"""How tests and benchmarks run a program, bare or with libraries preloaded.

This is the only place below tests/ that sets LD_PRELOAD (tests/structure looks for others). Who
starts a program in a way of its own, such as by Popen or by a launcher's option, takes the
variable from here.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "LD_PRELOAD"
SECONDS = 60  # the watchdog of one run: reached only by a hang


@dataclass
class Done:
    """How a program ended. `status` is what a shell would say: 128 + n after signal n."""

    status: int
    out: bytes
    err: bytes
    # Where its trace was asked for; None: nowhere.
    trace: Path | None = field(default=None, compare=False)

    def said(self) -> list[str]:
        """The lines that iotune wrote on stderr."""
        lines = self.err.decode(errors="replace").splitlines()
        return [line for line in lines if line.startswith("iotune:")]

    def same_as(self, other: Done) -> bool:
        return (self.status, self.out, self.err) == (other.status, other.out, other.err)


class Hang(AssertionError):
    """The watchdog had to end a run."""


def joined(*libraries: object) -> str:
    """The value of LD_PRELOAD that loads the libraries in this order.

    The loader splits it at spaces and colons, and nothing quotes them: a library whose
    path has one is reached by a link.
    """
    return ":".join(_loadable(os.path.abspath(str(library))) for library in libraries)


def _loadable(path: str) -> str:
    if not set(" :") & set(path):
        return path
    digest = hashlib.sha256(path.encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"iotune-preload-{os.getuid()}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to someone else")
    name = os.path.basename(path)
    draft = folder / f"{name}.{os.getpid()}"
    draft.symlink_to(path)
    return str(draft.replace(folder / name))


def variables(*libraries: object) -> dict[str, str]:
    """LD_PRELOAD with the libraries, for an environment; nothing without any."""
    return {VARIABLE: joined(*libraries)} if libraries else {}


def setting(*libraries: object) -> str:
    """The same as a word for env(1), or for a shell's line."""
    return f"{VARIABLE}={joined(*libraries)}"


def plain_environment(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """An environment without a user's iotune, preloads and hints."""
    return {
        name: value
        for name, value in base.items()
        if not name.startswith("IOTUNE_") and name not in (VARIABLE, "ROMIO_HINTS")
    }


def run(
    *command: object,
    libraries: tuple[object, ...] = (),
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    before: Callable[[], None] | None = None,
    seconds: float = SECONDS,
) -> Done:
    """Run a program to its end, with its input closed; the caller judges how it ended.

    `libraries` are preloaded in this order; none: a bare run. `environment` is the whole of it,
    plain_environment() if not given. `before` runs in the child before the program does. A run
    of more than `seconds` is killed with its whole session, and raises Hang.
    """
    env = plain_environment() if environment is None else dict(environment)
    env |= variables(*libraries)
    argv = [str(word) for word in command]
    with subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True, preexec_fn=before,
    ) as child:  # fmt: skip
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # The whole session: an MPI launcher's ranks hang with it.
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            text = err.decode(errors="replace")
            raise Hang(f"{' '.join(argv)}: no end after {seconds} s\n{text}") from None
    status = child.returncode
    trace = env.get("IOTUNE_TRACE")
    return Done(128 - status if status < 0 else status, out, err, Path(trace) if trace else None)
