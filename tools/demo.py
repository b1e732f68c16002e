"""The whole loop on two of the papers' kernels: record, recognise, train, run again, explain.

Run by `make demo`, after installation. Everything that it keeps lies below build/demo; the
user's own database and traces are not touched. Ends with 1 where the loop does not close.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "build" / "demo"
IOTUNE = Path(sys.executable).parent / "iotune"
CANDIDATES = [
    "romio_cb_write=disable",
    "cb_nodes=2;cb_config_list=*:2",
    "romio_cb_write=enable",
]


class Failed(Exception):
    """The loop does not close; the text says where."""


@dataclass(frozen=True)
class Kernel:
    """A kernel and what iotune has to recognise of it."""

    name: str
    options: tuple[str, ...]
    descriptor: str


KERNELS = [
    Kernel("vpic-io", ("--collective", "--size", "1048576"), "<1D,(BLOCK),(1048576)>"),
    Kernel("cyclic-io", ("--collective", "--size", "1000000"), "<1D,(CYCLIC),(1000000)>"),
]


def say(text: str) -> None:
    """A heading of the demonstration."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def find_kernels() -> Path:
    """The folder with the kernels: the first argument's, or that of a build."""
    for found in [Path(word).absolute() for word in sys.argv[1:]] or [
        ROOT / "build" / build / "bin" for build in ("release", "dev")
    ]:
        if all((found / kernel.name).exists() for kernel in KERNELS):
            return found
    raise Failed("the kernels are not built: make build")


def launcher() -> str:
    """The MPI that the kernels were built for."""
    named = os.environ.get("IOTUNE_MPIRUN", "")
    found = shutil.which(named) if named else shutil.which("mpirun.mpich") or shutil.which("mpirun")
    if not found:
        raise Failed(f"no launcher {named or 'mpirun'}")
    return Path(found).name if shutil.which(Path(found).name) == found else found


def environment() -> dict[str, str]:
    """The user's environment with places of the demonstration's own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "IOTUNE_MPIRUN" or not (name.startswith("IOTUNE_") or name == "LD_PRELOAD")
    }
    for kind in ("DATA", "STATE", "CONFIG", "CACHE"):
        kept[f"XDG_{kind}_HOME"] = str(DEMO / "home" / kind.lower())
    # One run in eight would show the default.
    kept["IOTUNE_EXPLORE"] = "off"
    # What other programs of this user leave behind is not joined into the demonstration.
    kept["IOTUNE_BUFFER_DIR"] = f"/dev/shm/iotune-demo-{os.getuid()}"
    return kept


def shown(words: list[str]) -> str:
    """A command as the user would type it."""
    return shlex.join(Path(word).name if word == str(IOTUNE) else word for word in words)


def run(words: list[str]) -> None:
    """Show a command, run it, and demand that it succeeds."""
    print(f"\n$ {shown(words)}", flush=True)
    status = subprocess.run(words, cwd=DEMO / "work", env=environment(), check=False).returncode
    if status != 0:
        raise Failed(f"exit status {status} of: {shown(words)}")


def asked(*words: str) -> Any:
    """What a command answers to a program."""
    done = subprocess.run(
        [str(IOTUNE), *words, "--json"],
        cwd=DEMO / "work",
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"iotune {shlex.join(words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def explanation() -> dict[str, Any]:
    """What `iotune explain` knows of the last run's HDF5 file."""
    files: list[dict[str, Any]] = asked("explain")["files"]
    for file in files:
        if file["recognised"]:
            return file
    raise Failed("the last run's trace holds no HDF5 file")


def first_run(kernel: Kernel, words: list[str]) -> None:
    """The pattern is recognised, and nothing is known of it."""
    run(words)
    run([str(IOTUNE), "show"])
    found = explanation()
    if found["recognised"] != kernel.descriptor:
        raise Failed(f"{kernel.name} is {kernel.descriptor}, not {found['recognised']}")
    if found["settings"]:
        raise Failed(f"{kernel.name} was tuned although nothing is known of it")


def second_run(kernel: Kernel, words: list[str]) -> str:
    """The pattern is matched, and what was found is applied and read back."""
    run(words)
    run([str(IOTUNE), "explain"])
    found = explanation()
    if found["source"] != "exact":
        raise Failed(f"{kernel.name} was trained, but its answer came from '{found['source']}'")
    if found["state"] == "default-is-best":
        return f"{kernel.name}: default is best, and was left alone"
    applied = [one for one in found["settings"] if one["verdict"] == "applied"]
    if not applied:
        raise Failed(f"{kernel.name}: no setting was applied")
    text = ", ".join(f"{one['parameter']}={one['wanted']} (read back: {one['got']})"
                     for one in applied)  # fmt: skip
    answers = asked("db", "query", kernel.descriptor)["patterns"][0]["answers"]
    gain, low, high = (answers[0][name] for name in ("gain", "low", "high"))
    return (
        f"{kernel.name}: {text}, {gain:.2f}x ({low:.2f} to {high:.2f}) in paired replays; "
        f"this run against the first: {against_default(found)}"
    )


def against_default(found: dict[str, Any]) -> str:
    """The effect of the tuned run against the untuned one, as a ratio; two runs prove nothing."""
    tuned, default = found["tuned_bytes_per_second"], found["default_bytes_per_second"]
    return f"{tuned / default:.2f}x" if tuned and default else "not known"


def main() -> None:
    """Go once round the loop."""
    began = time.monotonic()
    kernels, mpirun = find_kernels(), launcher()
    shutil.rmtree(DEMO, ignore_errors=True)
    (DEMO / "work").mkdir(parents=True)
    for kernel in KERNELS:
        # Programs are named as users do, and not by a path into somebody's build.
        os.symlink(kernels / kernel.name, DEMO / "work" / kernel.name)
    commands = {
        kernel: [str(IOTUNE), "run", "--", mpirun, "-n", "2", f"./{kernel.name}", *kernel.options]
        for kernel in KERNELS
    }
    say("1. Two programs run for the first time. Their patterns are recognised, not yet known.")
    for kernel, words in commands.items():
        first_run(kernel, words)
    run([str(IOTUNE), "explain"])

    say("2. Each pattern is replayed under three candidates and the default, five rounds.")
    train = [str(IOTUNE), "train", "--rounds", "5"]
    for candidate in CANDIDATES:
        train += ["--candidates", candidate]
    run(train)

    say("3. The same programs again: looked up, applied, read back.")
    results = [second_run(kernel, words) for kernel, words in commands.items()]

    say(f"The loop is closed ({time.monotonic() - began:.0f} s):")
    for result in results:
        print(f"  {result}")
    say("Next, with a program of your own:")
    print(f"  {IOTUNE} run -- mpirun -n 4 ./program")


if __name__ == "__main__":
    try:
        main()
    except Failed as problem:
        print(f"demo: {problem}", file=sys.stderr)
        sys.exit(1)
