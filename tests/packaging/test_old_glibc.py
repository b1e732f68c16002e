"""A program with everything that glibc_compat.c stands in for: right, and content with glibc 2.28.

On AArch64 under qemu-user, which is as far as that architecture is verified here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence

from support.installation import command
from support.place import Place, main, not_verified
from support.repository import ROOT

COMPAT = ROOT / "patterndb" / "library" / "glibc_compat.c"
LIMIT = (2, 28)


def verify(place: Place, prefix: str, emulator: Sequence[object]) -> None:
    compat = place.scratch / "compat.o"
    program = place.scratch / "old_glibc"
    source = ROOT / "tests" / "packaging" / "programs" / "old_glibc.cpp"
    command(f"{prefix}gcc", "-O2", "-fPIC", "-fno-builtin", "-Wall", "-Wextra", "-Werror",
            "-DIOTUNE_THREADS", "-DIOTUNE_PROGRAM", "-c", COMPAT, "-o", compat,
            place=place)  # fmt: skip
    command(f"{prefix}g++", "-std=c++20", "-O2", source, compat, "-o", program,
            "-static-libstdc++", "-static-libgcc", "-Wl,--no-as-needed", "-l:libpthread.so.0",
            "-l:libdl.so.2", place=place)  # fmt: skip
    symbols = command(f"{prefix}readelf", "-W", "--dyn-syms", program, place=place).out.decode()
    wanted = re.findall(r" UND (\w+)@(\w+?)_([\d.]+)", symbols)
    assert len(wanted) > 20, symbols
    newer = [name for name, kind, number in wanted
             if kind != "GLIBC" or tuple(map(int, number.split("."))) > LIMIT]  # fmt: skip
    assert newer == [], newer
    done = command(*emulator, program, place.scratch, place=place)
    assert done.out == b"as it should be\n", done


def native(place: Place) -> None:
    verify(place, "", ())


def aarch64(place: Place) -> None:
    for tool in ("aarch64-linux-gnu-g++", "qemu-aarch64"):
        if shutil.which(tool) is None:
            not_verified(f"AArch64: there is no {tool}")
            return
    verify(place, "aarch64-linux-gnu-", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"))


if __name__ == "__main__":
    main({"native": native, "aarch64": aarch64})
