"""Where IOTUNE_TRACE points: a trace takes the place of nothing or of an older trace alone."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done

WRITER = "import os; f = os.open('{}', os.O_WRONLY | os.O_CREAT); os.write(f, b'x' * 5000)"


def write(place: Place, name: str, trace: Path) -> Done:
    """A program that writes 5000 bytes, and a trace of it."""
    words = (sys.executable, "-I", "-S", "-c", WRITER.format(name))
    return place.right(place.run(*words, IOTUNE_TRACE=trace))


def unchanging(path: Path) -> tuple[int, ...]:
    found = path.lstat()
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns)


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if "part" in path.name]


def replaced(place: Place) -> None:
    # A second run's trace replaces the first one's, and an empty file.
    place.trace.touch()
    for name in ("first", "second"):
        done = write(place, name, place.trace)
        assert done.said() == [], done.said()
        texts = [text for call in place.calls() for text in call["texts"]]
        assert f"{place.scratch}/{name}" in texts, texts
    assert f"{place.scratch}/first" not in texts
    assert parts(place.scratch) == []


def kept(place: Place) -> None:
    """What is there stays what it is; one line says why, and the buffers stay for `iotune show`."""
    elsewhere = place.scratch / "elsewhere"
    elsewhere.write_text("precious")
    here = place.scratch / "there"
    here.mkdir()
    (here / "link").symlink_to(elsewhere)
    (here / "dangling").symlink_to(place.scratch / "nothing")
    os.mkfifo(here / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(here / "socket"))
    (here / "thesis").write_text("not a trace, and not empty")
    reasons = {
        "link": "a symbolic link",
        "dangling": "a symbolic link",
        "fifo": "no regular file",
        "socket": "no regular file",
        "thesis": "a file that is no trace",
    }
    try:
        os.mknod(here / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        reasons["device"] = "no regular file"
    except PermissionError:
        not_verified("a trace in place of a device: no right to make one")
    if os.getuid() == 0:
        # The preload of a process that changes its user later is another matter.
        (here / "foreign").write_bytes(b"")
        os.chown(here / "foreign", 65534, 65534)
        reasons["foreign"] = "another user"
    else:
        not_verified("a trace in place of another user's file: no root")
    before = {path.name: unchanging(path) for path in here.iterdir()}
    for name, reason in reasons.items():
        done = write(place, f"data-{name}", here / name)
        [said] = done.said()
        assert reason in said and "iotune show" in said, said
        assert place.leftovers(), name
    assert before == {path.name: unchanging(path) for path in here.iterdir()}
    assert elsewhere.read_text() == "precious"


def processes(place: Place) -> None:
    """What one command line starts, one after the other and at once, has one trace."""
    (place.scratch / "data").write_bytes(b"x" * 5000)
    copy = "dd if=data bs=5000 status=none of="
    script = f"{copy}one; {copy}two & {copy}three & {copy}four & wait; {copy}five"
    for _ in range(2):  # the second run's replaces the first one's
        done = place.right(place.run("/bin/sh", "-c", script, IOTUNE_TRACE=place.trace))
        assert done.said() == [], done.said()
        files = [c["arguments"]["path"] for c in place.calls() if c["name"] == "iotune_file"]
        copies = sorted(path for path in files if not path.endswith("/data"))
        wanted = [f"{place.scratch}/{name}" for name in ("five", "four", "one", "three", "two")]
        assert copies == wanted, copies
    assert parts(place.scratch) == []


def long_names(place: Place) -> None:
    # A trace's name may be as long as names can be; that of a program may be longer than fits.
    long = place.scratch / ("t" * 255)
    done = write(place, "data", long)
    assert done.said() == [] and place.calls(long)
    program = place.scratch / ("p" * 255)
    shutil.copy("/bin/dd", program)
    words = (program, "if=data", "of=copy", "bs=5000", "count=1", "status=none")
    done = place.right(place.run(*words, IOTUNE_TRACE=None))
    assert done.said() == [], done.said()
    [trace] = (place.state / "iotune" / "traces").iterdir()
    assert "-" + "p" * 64 + "-" in trace.name
    # What shells split or terminals obey is no part of a trace's name.
    place.clear()
    odd = place.scratch / "an odd\tname;\x1b[2J"
    shutil.copy("/bin/dd", odd)
    done = place.right(place.run(odd, *words[1:], IOTUNE_TRACE=None))
    [trace] = (place.state / "iotune" / "traces").iterdir()
    assert "-an_odd_name___2J-" in trace.name, trace.name
    # What no path can be is reported, and the trace is in the default folder then.
    for too_long in ("/tmp/" + "d/" * 2100 + "trace", "d/" * 2045 + "trace"):
        place.clear()
        done = place.right(place.run(program, *words[1:], IOTUNE_TRACE=too_long))
        [line] = done.said()
        assert "IOTUNE_TRACE is longer than the 4,095 bytes of a path" in line, line
        assert len(list((place.state / "iotune" / "traces").iterdir())) == 1


def another_users_home(place: Place) -> None:
    """A service that took another user, with the environment of the first: nothing is said."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        not_verified("another user's home: only root can become another user")
        return
    private = place.scratch / "private"
    private.mkdir(mode=0o700)
    shared = place.scratch / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    nobodys = place.scratch / "nobodys"
    nobodys.mkdir(mode=0o555)
    os.chown(nobodys, 65534, 65534)
    buffers = place.scratch / "his buffers"
    buffers.mkdir(mode=0o700)
    os.chown(buffers, 65534, 65534)
    place.scratch.chmod(0o755)
    # The library as well: it is loaded by the other user.
    for outer in (*place.scratch.parents, *place.build.resolve().parents):
        if not outer.stat().st_mode & 0o001:
            not_verified(f"another user's home: {outer} is closed to others")
            return
    words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-I",
             "-S", "-c", WRITER.format(shared / "data"))  # fmt: skip

    def said(**variables: Any) -> list[str]:
        done = place.run(*words, IOTUNE_BUFFER_DIR=buffers, **variables)
        assert done.status == 0, done.err
        (shared / "data").unlink()
        return done.said()

    lines = said(IOTUNE_TRACE=None, XDG_STATE_HOME=private / "state")
    assert lines == [], lines
    # His own folder that takes nothing, and a trace that somebody asked for: these are reported.
    [line] = said(IOTUNE_TRACE=None, XDG_STATE_HOME=nobodys / "state")
    assert "cannot be written" in line, line
    [line] = said(IOTUNE_TRACE=private / "trace")
    assert "cannot be written" in line, line


main({
    "replaced": replaced, "kept": kept, "processes": processes, "long-names": long_names,
    "another-users-home": another_users_home,
})  # fmt: skip
