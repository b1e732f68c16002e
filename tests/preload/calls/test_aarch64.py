"""libiotune.so for AArch64, cross-compiled and run under qemu-user; its traces are read here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import preloaded
from support.place import Place, main, not_verified
from support.posix_calls import compare
from support.prefetching import notes, plan
from support.preloaded import Done
from support.repository import ROOT, program_source

COMPILER = "aarch64-linux-gnu-"
QEMU = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")


def built(place: Place) -> Path | None:
    """The library; None where this machine cannot make or run it."""
    for tool in (COMPILER + "g++", COMPILER + "gcc", QEMU[0], "cmake", "ninja"):
        if shutil.which(tool) is None:
            not_verified(f"AArch64: there is no {tool}")
            return None
    folder = place.scratch / "build"
    configure: list[str | Path] = [
        "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64", f"-DCMAKE_C_COMPILER={COMPILER}gcc",
        f"-DCMAKE_CXX_COMPILER={COMPILER}g++", "-DIOTUNE_PRELOAD_ONLY=ON",
        "-DIOTUNE_BUILD_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython3_EXECUTABLE={sys.executable}",
    ]  # fmt: skip
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["cmake", "--build", folder, "--target", "iotune"], check=False,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "warning:" not in done.stdout, done.stdout
    # LD_PRELOAD splits at spaces.
    library = place.buffers / "libiotune.so"
    for built_one in (folder / "lib").glob("libiotune*.so"):
        shutil.copy(built_one, place.buffers)
    return library


def program(place: Place, name: str) -> Path:
    target = place.scratch / name
    source = program_source(f"{name}.c")
    subprocess.run([COMPILER + "gcc", "-O2", "-pthread", str(source), "-o", str(target)],
                   check=True)  # fmt: skip
    return target


def run(place: Place, library: Path, *command: object, **more: object) -> Done:
    """The emulator itself is not preloaded: the variables are the program's."""
    env = {**preloaded.variables(library), "IOTUNE_TRACE": place.trace,
           "IOTUNE_BUFFER_DIR": place.buffers / "b", **more}  # fmt: skip
    words = [word for name, value in env.items() for word in ("-E", f"{name}={value}")]
    return place.run(*QEMU, *words, *command, preload=False)


def prefetched(place: Place, library: Path) -> None:
    """libiotune-prefetch.so, which the preload loads from beside itself, predicts the reads."""
    place.trace.unlink(missing_ok=True)
    data = place.scratch / "to read"
    reads = program(place, "planned_reads")
    place.right(run(place, library, reads, data, "make", 16 << 20))
    accesses = [(i * 37 * 4096, 4096) for i in range(100)]
    listed = plan(place, accesses)
    place.trace.unlink(missing_ok=True)
    place.right(run(place, library, reads, data, listed, "pread", 1000, IOTUNE_PREFETCH="pattern"))
    said = notes(place)
    assert said["predictor"] == "pattern" and said["reads"] >= 95, said


def calls(place: Place) -> None:
    library = built(place)
    if library is None:
        return
    folder = place.scratch / "a folder"
    folder.mkdir()
    random = program(place, "posix_random")
    compare(place, place.right(run(place, library, random, folder, 7), "posix_random").out)

    # Patterns go on, noise is listed, a killed process keeps all.
    place.trace.unlink()
    posix = program(place, "posix_calls")
    place.right(run(place, library, posix, place.scratch / "data", "plain"))
    plain = place.calls()
    assert len([c for c in plain if c["name"] == "pwrite"]) == 100
    place.trace.unlink()
    done = run(place, library, posix, place.scratch / "data", "kill", 5000)
    assert done.status == 128 + 9, done
    (left,) = (place.buffers / "b").rglob("*.iobuf")
    kept = [c for c in place.calls(left) if c["name"] == "pwrite"]
    assert len(kept) == 5000, len(kept)
    prefetched(place, library)
    print(f"{os.uname().machine} reads what aarch64 wrote")


if __name__ == "__main__":
    main({"calls": calls})
