"""Reports of one Darshan log by every tool that reads it: seconds, and bytes of the page.

The log is one that PyDarshan comes with. Drishti asks for darshan-convert where a log is of an
older version, which no package has. PyDarshan reads such logs by itself: a copy stands in for it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import paired
from bench.peers.tracers import PEERS

LOG = "ior_hdf5_example.darshan"
KIB = 1024


def installed_log() -> Path | None:
    """The log in the peers' environment."""
    found = PEERS.glob(f"lib/python*/site-packages/darshan/examples/example_logs/{LOG}")
    return next(iter(found), None)


def convert_by_copy(folder: Path) -> Path:
    """A darshan-convert that copies, in a folder for PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "darshan-convert"
    script.write_text('#!/bin/sh\nexec cp "$1" "$2"\n')
    script.chmod(0o755)
    return folder


def arms(log: Path, scratch: Path) -> dict[str, tuple[list[list[str]], Path, Mapping[str, str]]]:
    """By the tool: its commands, the page that they make, what they add to the environment."""
    python, ours = str(PEERS / "bin" / "python"), [sys.executable, "-m", "iotune"]
    trace, page = scratch / "log.iotrace", scratch / "iotune.html"
    path = f"{convert_by_copy(scratch / 'bin')}:{os.environ['PATH']}"
    found: dict[str, tuple[list[list[str]], Path, Mapping[str, str]]] = {
        "iotune": (
            [[*ours, "import", str(log), "-o", str(trace), "--force"],
             [*ours, "report", str(trace), "-o", str(page), "--db", "none", "--force"]],
            page, {},
        ),
        "PyDarshan": (
            [[python, "-m", "darshan", "summary", str(log), "--output", str(scratch / "py.html")]],
            scratch / "py.html", {},
        ),
    }  # fmt: skip
    drishti = PEERS / "bin" / "drishti"
    if drishti.exists():
        copy = scratch / "drishti.darshan"
        shutil.copy(log, copy)
        found["Drishti"] = (
            [[str(drishti), "--html", str(copy)]], Path(f"{copy}.html"), {"PATH": path},
        )  # fmt: skip
    explorer = PEERS / "bin" / "dxt-explorer"
    if not explorer.exists() or shutil.which("darshan-dxt-parser") is None:
        print("NOT VERIFIED DXT Explorer: it needs darshan-dxt-parser, which no package here has",
              file=sys.stderr)  # fmt: skip
    return found


def seconds(commands: list[list[str]], env: Mapping[str, str], folder: Path) -> None:
    """Run a tool's commands; its pages are looked at afterwards."""
    for command in commands:
        done = subprocess.run(command, env={**os.environ, **env}, cwd=folder, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
        if done.returncode != 0:
            raise paired.ArmFailed(f"{' '.join(command)}\n{done.stderr[-2000:]}")


def add_reports(table: paired.Table, scratch: Path, rounds: int, seed: int | None) -> None:
    """One row of seconds and one of bytes a tool."""
    log = installed_log()
    if log is None:
        print("NOT VERIFIED reports: no PyDarshan (tools/setup.sh peers)", file=sys.stderr)
        return
    made = arms(log, scratch)
    runs: dict[str, Callable[[], None]] = {}
    for name, (commands, page, env) in list(made.items()):
        run = functools.partial(seconds, commands, env, scratch)
        try:
            run()
        except (paired.ArmFailed, OSError) as problem:
            print(f"NOT VERIFIED {name}: {problem}", file=sys.stderr)
            continue
        if not page.is_file():
            print(f"NOT VERIFIED {name}: it left no page", file=sys.stderr)
            continue
        runs[name] = run
    comparison = paired.compare("reports", runs, rounds, seed=seed)
    table.keep(comparison)
    for name in runs:
        what = f"report of {LOG}, {name}"
        table.add(f"{what}: s", comparison.median(name))
        if name != "iotune":
            table.add(f"{what}: over iotune", comparison.ratio(name, "iotune"))
        table.add(f"{what}: page, KiB", made[name][1].stat().st_size / KIB)
