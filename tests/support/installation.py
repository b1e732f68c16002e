"""A build, installed into a prefix of a test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support.place import Place
from support.preloaded import Done
from support.repository import ROOT

# A program of a user's: what iotune_preexecute says tells whether the preload is there.
PROGRAM = """
#include <stdio.h>
#include "iotune.h"
static void slice(void* argument) { (void)argument; }
int main(void) {
  int status = iotune_preexecute(slice, NULL);
  puts(status == ENOSYS ? "alone" : "preloaded");
  return 0;
}
"""


def install(place: Place) -> Path:
    """The prefix; nothing else of the machine is written. LD_PRELOAD can take its path."""
    prefix = place.buffers / "prefix"
    command("cmake", "--install", place.build, "--prefix", prefix, place=place)
    return prefix


def preload_in(prefix: Path) -> Path:
    """libiotune.so itself; in the Python package are links to it."""
    (found,) = (path for path in prefix.rglob("libiotune.so") if not path.is_symlink())
    return found


def command(*words: object, place: Place, cwd: Path | None = None, **env: Any) -> Done:
    """Run a tool that must succeed."""
    done = place.run(*words, preload=False, cwd=cwd, PATH=os.environ["PATH"], **env)
    assert done.status == 0, f"{words}: {done.status}\n{done.out.decode()}\n{done.err.decode()}"
    return done


def version() -> str:
    """The project's version, as CMakeLists.txt has it."""
    line = next(
        line for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if "project(iot" in line
    )
    return line.split("VERSION ")[1].split()[0]
