"""Pass a folder through as a file system: to record what a preload cannot see, to read ahead, to
be slow, or to keep files as logs.

  iotune fuse mount data --trace run.iotrace -- ./static-program mount/input
  iotune fuse mount data --prefetch pattern -- ./static-program mount/input
  iotune fuse mount data --latency 2ms --bandwidth 100MB/s
  iotune fuse mount data --logstore -- ./program mount/output

Files below ROOT are seen below MOUNT, an empty folder. With a command after -- it is mounted
for as long as the command runs, and the command's exit status is returned; without one until
Ctrl-C or `fusermount3 -u MOUNT`. The trace has the reads and writes that reach the file system,
by the process that made them: statically linked programs, io_uring and raw system calls too.
Reads come through the page cache, in pieces of up to 128 KiB and ahead of the program, unless
--direct is given. With --prefetch what is predicted is read into memory of the file system's own
and served from there (docs/prefetch.md). With --logstore directories that are files kept as logs
(iotune log) are files below MOUNT, and so is kept what is made there.
"""

import math
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Annotated, Optional

import typer

from iotune.cli.output import errors_in_one_line, next_command, path_text, say, value_of
from iotune.errors import Error
from iotune.launch import start
from iotune.launch.preload import library_directories
from iotune.output_file import demand_replaceable
from iotune.quantities import bytes_a_second, duration_ns, size_bytes

CONTEXT = {"allow_interspersed_args": True}
PROGRAM = "iotune-fuse"
PREDICTORS = ("none", "pattern", "he2013", "markov", "recorded")
_PATIENCE_SECONDS = 20.0


@errors_in_one_line
def command(
    mount: Annotated[Path, typer.Argument(metavar="MOUNT", help="An empty folder.")],
    root: Annotated[
        Path, typer.Argument(metavar="ROOT", help="The folder that is passed through.")
    ],
    words: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="[COMMAND]", help="A command to run while it is mounted, after --."),
    ] = None,
    trace: Annotated[
        Optional[Path], typer.Option("--trace", "-o", metavar="FILE", help="Record into FILE.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
    latency: Annotated[
        Optional[str],
        typer.Option(metavar="TIME", help="Delay each read and write by this: 2ms, 500us."),
    ] = None,
    latency_tail: Annotated[
        Optional[str],
        typer.Option(
            metavar="SHARE:EXPONENT",
            help="Make some delays longer, by a power law: 10%:2.5.",
        ),
    ] = None,
    metadata_latency: Annotated[
        Optional[str],
        typer.Option(
            metavar="TIME", help="Delay each open, close, and request on names or attributes."
        ),
    ] = None,
    bandwidth: Annotated[
        Optional[str],
        typer.Option(metavar="RATE", help="Limit all reads and writes together: 20MB/s."),
    ] = None,
    direct: Annotated[
        bool,
        typer.Option(
            "--direct", help="Bypass the page cache: see each call as the program makes it."
        ),
    ] = False,
    logstore: Annotated[
        bool,
        typer.Option(
            "--logstore", help="Keep new files as logs, and show files kept as logs as files."
        ),
    ] = False,
    prefetch: Annotated[
        Optional[str],
        typer.Option(metavar="BY", help="Read ahead: none, pattern, he2013, markov, recorded."),
    ] = None,
    prefetch_memory: Annotated[
        Optional[str],
        typer.Option(metavar="SIZE", help="Memory for what is read ahead. Default: 64MiB."),
    ] = None,
) -> None:
    """Mount it."""
    arguments = [_program(), str(mount), str(root)]
    if trace is not None:
        demand_replaceable(trace, force)
        arguments.append(f"--trace={trace.absolute()}")
        arguments += ["--replace"] if force else []
    for name, text in (("latency", latency), ("metadata-latency", metadata_latency)):
        if text is not None:
            with value_of(f"--{name}"):
                arguments.append(f"--{name}-ns={duration_ns(text)}")
    if latency_tail is not None:
        with value_of("--latency-tail"):
            arguments.append("--latency-tail={:g}:{:g}".format(*_tail(latency_tail, latency)))
    if bandwidth is not None:
        with value_of("--bandwidth"):
            arguments.append(f"--bytes-per-second={bytes_a_second(bandwidth)}")
    if direct:
        arguments.append("--direct")
    if logstore:
        arguments.append("--logstore")
    if prefetch is not None:
        with value_of("--prefetch"):
            if prefetch not in PREDICTORS:
                raise Error(f"{prefetch} is none of {', '.join(PREDICTORS)}")
        arguments.append(f"--prefetch={prefetch}")
    if prefetch_memory is not None:
        with value_of("--prefetch-memory"):
            arguments.append(f"--prefetch-bytes={size_bytes(prefetch_memory)}")
    if os.path.ismount(mount):
        raise Error(f"{mount}: something is mounted there already")
    if mount.is_dir() and any(mount.iterdir()):
        raise Error(f"{mount}: is not empty: what is in it would be hidden")
    # In a session of its own: Ctrl-C ends it through us, once all is written.
    server = subprocess.Popen(arguments, start_new_session=True)
    try:
        _wait_for_mount(server, mount)
        status = (
            start.run_forwarding_signals(words, dict(os.environ)) if words else _wait(server, mount)
        )
    except (FileNotFoundError, PermissionError) as problem:
        say(f"{problem.filename}: {problem.strerror}")
        status = 127 if isinstance(problem, FileNotFoundError) else 126
    finally:
        ended = _unmount(server, mount)
    if trace is not None and trace.exists():
        say(f"trace: {path_text(trace)}")
        next_command("iotune", "show", str(trace))
    else:
        next_command("iotune", "fuse", "--help")
    raise typer.Exit(status or ended)


def _tail(text: str, latency: Optional[str]) -> tuple[float, float]:
    """The share of requests, 0 to 1, and the power law's exponent, of "10%:2.5"."""
    share, _, exponent = text.partition(":")
    try:
        read = (float(share.rstrip("%")) / (100 if share.endswith("%") else 1), float(exponent))
    except ValueError:
        raise Error(f"{text} is not SHARE:EXPONENT, such as 10%:2.5") from None
    if not 0 <= read[0] <= 1:
        raise Error(f"{share} is no share of the requests: 0% to 100%")
    if not 1 < read[1] < math.inf:
        raise Error(f"{exponent} is no exponent of a power law: above 1")
    if latency is None:
        raise Error("it is a tail of --latency, which is not given")
    return read


def _program() -> str:
    for directory in library_directories():
        for candidate in (directory.parent / "bin" / PROGRAM, directory / PROGRAM):
            if os.access(candidate, os.X_OK):
                return str(candidate)
    raise Error(
        f"{PROGRAM} is not in this installation: it was built without libfuse 3 "
        "(Debian: libfuse3-dev); install that and iotune again"
    )


def _wait_for_mount(server: "subprocess.Popen[bytes]", mount: Path) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not os.path.ismount(mount):
        if server.poll() is not None:
            raise Error(f"{mount}: could not be mounted")
        if time.monotonic() > end:
            raise Error(f"{mount}: not mounted after {_PATIENCE_SECONDS:.0f} s")
        time.sleep(0.01)


def _wait(server: "subprocess.Popen[bytes]", mount: Path) -> int:
    say(f"mounted: {path_text(mount)}; Ctrl-C or fusermount3 -u ends it")
    try:
        return server.wait()
    except KeyboardInterrupt:
        return 0


def _unmount(server: "subprocess.Popen[bytes]", mount: Path) -> int:
    """The server's exit status, once its trace is written."""
    if server.poll() is None and os.path.ismount(mount):
        subprocess.run(["fusermount3", "-u", "-z", str(mount)], check=False)
    try:
        return server.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        # A program still has a file open below the mount point.
        server.send_signal(signal.SIGTERM)
        return server.wait()
