"""What is traced and what is not, and that what iotune keeps is its user's alone."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from support import preloaded
from support.place import Place, main, not_verified
from support.preloaded import Done

# Writes a byte to each file that is named.
WRITER = """
import os, sys
for path in sys.argv[1:]:
    f = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(f, b"x"); os.close(f)
"""


def traced_files(place: Place, paths: list[str], **env: Any) -> set[str]:
    place.clear()
    done = place.right(
        place.run(sys.executable, "-I", "-S", "-c", WRITER, *paths, cwd=place.scratch, **env)
    )
    assert done.said() == [], done.said()
    if not place.trace.exists():
        assert place.ours() == [], place.ours()
        return set()
    calls = place.calls()
    names = {call["keys"][0]: call["texts"][0] for call in calls if call["name"] == "iotune_file"}
    return {names[call["keys"][1]] for call in calls if call["name"] == "write"}


def globs(place: Place) -> None:
    here = place.scratch
    for folder in ("a", "a/deep", "lib/python3", "b"):
        (here / folder).mkdir(parents=True, exist_ok=True)
    one, two, deep, so, python = (
        f"{here}/{name}" for name in ("a/one", "b/two", "a/deep/x", "a/x.so", "lib/python3/x")
    )
    ordinary = [one, two, deep]
    paths = [*ordinary, so, python]
    # By default libraries and Python's own files are left out.
    assert traced_files(place, paths) == set(ordinary)
    assert traced_files(place, paths, IOTUNE_EXCLUDE="*") == set()
    assert traced_files(place, paths, IOTUNE_EXCLUDE=f"{here}/a/*") == {two}
    assert traced_files(place, paths, IOTUNE_EXCLUDE="*/one:*/two") == {deep}
    assert traced_files(place, paths, IOTUNE_EXCLUDE="*/on?:::*/tw") == {two, deep}
    # What is included wins over what is excluded, and over the default.
    include, exclude = f"{here}/a/*", "*"
    assert traced_files(place, paths, IOTUNE_INCLUDE=include) == {*ordinary, so}
    assert traced_files(place, paths, IOTUNE_INCLUDE=include, IOTUNE_EXCLUDE=exclude) == {
        one, deep, so,
    }  # fmt: skip
    assert traced_files(place, paths, IOTUNE_INCLUDE="*.so:*python3*", IOTUNE_EXCLUDE="*/b/*") == {
        one, deep, so, python,
    }  # fmt: skip
    # Case counts, the whole path counts, empty lists are none.
    assert traced_files(place, paths, IOTUNE_EXCLUDE="*/ONE:/one") == set(ordinary)
    assert traced_files(place, paths, IOTUNE_INCLUDE="", IOTUNE_EXCLUDE="") == set(ordinary)
    # Relative paths are the program's, made absolute.
    assert traced_files(place, ["a/one", "./b/two"], IOTUNE_EXCLUDE=f"{here}/a/*") == {two}
    # System folders are left out, and can be asked for.
    system = tempfile.mkdtemp(prefix="iotune-filter-", dir="/var/lib") if os.geteuid() == 0 else ""
    if not system:
        not_verified("files in /var/lib: no root")
        return
    try:
        assert traced_files(place, [f"{system}/x", one, "/dev/null"]) == {one}
        assert traced_files(place, [f"{system}/x", one], IOTUNE_INCLUDE="/var/lib/*") == {
            f"{system}/x", one,
        }  # fmt: skip
    finally:
        shutil.rmtree(system)


def bad_globs(place: Place) -> None:
    file = place.scratch / "data"
    for name in ("IOTUNE_INCLUDE", "IOTUNE_EXCLUDE"):
        for value, word in (("data/*", "'data/*'"), ("/x/*:*.h5:~/run:b", "'~/run'"),
                            ("*" * 17000, "16 KiB")):  # fmt: skip
            place.clear()
            env: dict[str, Any] = {name: value}
            done = place.right(place.run(place.bin / "posix_calls", file, "plain", **env))
            (line,) = done.said()
            assert name in line and word in line and len(line) < 300, line
            # Off is off.
            off = place.run("true", IOTUNE_MODE="off", **env)
            assert off.said() == [], off.said()


def nothing_left(place: Place) -> None:
    """A shell loop over small tools: a site may load the module for everyone."""
    script = (
        "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done;"
        " for i in 1 2 3 4 5 6 7 8 9 10; do env > /dev/null; date > /dev/null; expr 1 + 1;"
        " ls / > /dev/null; cat /etc/hostname > /dev/null; uname > /dev/null; seq 3 | sort -r;"
        " id > /dev/null; head -c 10 /dev/zero | wc -c; grep -c root /etc/passwd; done"
    )
    temporary = place.scratch / "tmp"
    temporary.mkdir()
    bare = place.run("sh", "-c", script, preload=False)
    under = place.run("sh", "-c", script, IOTUNE_TRACE=None, IOTUNE_KEEP_ABOVE_MIB=None,
                      TMPDIR=temporary)  # fmt: skip
    assert under.same_as(bare) and under.status == 0, (bare, under)
    left = [*place.buffers.iterdir(), *temporary.iterdir(), *place.scratch.glob("**/*iotune*")]
    assert left == [] and place.ours() == [], (left, place.ours())


def private(place: Place) -> None:
    """While the program runs, and afterwards: nobody else reads, nobody guesses a name."""
    names = []
    for _ in range(3):
        place.clear()
        script = (
            "import os, sys; f = os.open('data', os.O_WRONLY | os.O_CREAT, 0o666);"
            "os.write(f, b'x'); print('ready', flush=True); sys.stdin.read()"
        )
        root = place.buffers / "root"
        env = place.environment(preload=True, IOTUNE_BUFFER_DIR=root)
        with subprocess.Popen(
            [sys.executable, "-c", script], cwd=place.scratch, env=env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, umask=0,
        ) as child:  # fmt: skip
            assert child.stdin is not None and child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            (buffer,) = place.leftovers()
            for path, mode in ((root, 0o700), (buffer.parent, 0o700), (buffer, 0o600)):
                assert stat.S_IMODE(path.stat().st_mode) == mode, (path, oct(path.stat().st_mode))
            child.stdin.close()
        (trace,) = place.traces()
        for path, mode in ((trace, 0o600), (trace.parent, 0o700), (trace.parent.parent, 0o700)):
            assert stat.S_IMODE(path.stat().st_mode) == mode, (path, oct(path.stat().st_mode))
        names.append(buffer.name.split(".")[-2])
        assert len(names[-1]) == 16, buffer.name
    assert len(set(names)) == 3, names


def runs_unrecorded(place: Place, folder: Path, word: str = "private directory") -> None:
    bare = place.run(place.bin / "posix_calls", place.scratch / "data", "errors", preload=False)
    done = place.run(place.bin / "posix_calls", place.scratch / "data", "errors",
                     IOTUNE_BUFFER_DIR=folder)  # fmt: skip
    assert (done.status, done.out) == (bare.status, bare.out) == (0, b""), (bare, done)
    (line,) = done.said()
    assert word in line, line
    assert not place.trace.exists()


def planted(place: Place) -> None:
    """What others put in the way in a shared folder is not written to."""
    elsewhere = place.scratch / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    link = place.buffers / "link"
    link.symlink_to(elsewhere)
    runs_unrecorded(place, link)
    file = place.buffers / "file"
    file.touch()
    runs_unrecorded(place, file)
    # open to all
    loose = place.buffers / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    runs_unrecorded(place, loose)
    dangling = place.buffers / "dangling"
    dangling.symlink_to(place.scratch / "not there")
    runs_unrecorded(place, dangling)
    # The run's directory, whose name can be guessed where a launcher or a batch system named it.
    root = place.buffers / "root"
    root.mkdir(mode=0o700)
    (root / "run7").symlink_to(elsewhere)
    done = place.right(place.run(place.bin / "posix_calls", place.scratch / "data", "plain",
                                 IOTUNE_BUFFER_DIR=root, IOTUNE_RUN_ID="run7"))  # fmt: skip
    assert len(done.said()) == 1, done.said()
    assert list(elsewhere.iterdir()) == [], list(elsewhere.iterdir())
    if os.geteuid() != 0:
        not_verified("a folder of another user, and the default one: no root")
        return
    foreign = place.buffers / "foreign"
    foreign.mkdir(mode=0o700)
    os.chown(foreign, 65534, 65534)
    runs_unrecorded(place, foreign)
    default_place(place, elsewhere)


def default_place(place: Place, elsewhere: Path) -> None:
    shell = ('mount -t tmpfs none /dev/shm && ln -s "$1" /dev/shm/iotune-$(id -u) && shift &&'
             ' exec env "$@"')  # fmt: skip

    def launch(*command: object) -> Done:
        return place.run("unshare", "-m", "sh", "-c", shell, "sh", elsewhere, *command,
                         preload=False, IOTUNE_BUFFER_DIR=None, IOTUNE_TRACE=None)  # fmt: skip

    if launch("true").status != 0:
        not_verified("a link at /dev/shm/iotune-UID: no mount namespace for this user")
        return
    done = launch(preloaded.setting(place.library), place.bin / "posix_calls",
                  place.scratch / "data", "plain")  # fmt: skip
    assert done.status == 0 and len(done.said()) == 1, done
    assert "/dev/shm/iotune-" in done.said()[0]
    assert list(elsewhere.iterdir()) == []


if __name__ == "__main__":
    main({"globs": globs, "bad-globs": bad_globs, "nothing-left": nothing_left,
          "private": private, "planted": planted})  # fmt: skip
