"""A home whose server takes its time (tests/preload/programs/process/slow_home.c)."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from support.place import Place, not_verified


class SlowHome:
    """A mounted home; what its server has lies in `root`."""

    def __init__(self, place: Place) -> None:
        self.home, self.root = place.scratch / "far", place.scratch / "root"
        self._delay = place.scratch / "delay"
        for folder in (self.home, self.root, self.root / "state", self.root / "data"):
            folder.mkdir()
        self.takes(0)

    def takes(self, milliseconds: int | None) -> None:
        """From the next request on; None: for ever."""
        fresh = self._delay.with_suffix(".new")
        fresh.write_text("never" if milliseconds is None else str(milliseconds))
        fresh.rename(self._delay)

    def requests(self) -> list[str]:
        """Those that the server has been sent, and forgets now."""
        log = self._delay.with_name("delay.requests")
        lines = log.read_text().splitlines()
        log.write_text("")
        return lines


@contextlib.contextmanager
def slow_home(place: Place) -> Iterator[SlowHome | None]:
    """The place's state and data are in such a home; None, and a line, where there can be none."""
    program = place.bin / "slow_home"
    if not program.exists() or shutil.which("fusermount3") is None:
        not_verified("a slow home wants libfuse 3")
        yield None
        return
    made = SlowHome(place)
    server = subprocess.Popen(
        [program, made.root, made._delay, made.home, "-f", "-o", "default_permissions"],
        stderr=subprocess.DEVNULL,
    )
    before = place.state, place.data
    try:
        while not made.home.is_mount() and server.poll() is None:
            time.sleep(0.01)
        if server.poll() is not None:
            not_verified("this user may not mount a slow home")
            yield None
            return
        place.state, place.data = made.home / "state", made.home / "data"
        yield made
    finally:
        place.state, place.data = before
        subprocess.run(["fusermount3", "-u", "-z", made.home], check=False)
        server.kill()
        server.wait()
        for folder in (made.home, made.root):
            shutil.rmtree(folder, ignore_errors=True)


def left_processes(program: Path) -> list[Path]:
    """/proc's folders of the processes that run a program."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "exe").readlink() == program:
                found.append(folder)
    return found
