"""What ended runs left behind, buffers and traces, is bounded by the next run."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from support.place import Place, main

MOST, AT_ONCE = 256, 64  # recorder/gather/leftovers.h
MOST_TRACES = 4096  # kept_traces.h
HOST = socket.gethostname().split(".")[0]
HOUR, DAY = 3600.0, 86400.0
NOBODY = 4194305  # beyond the largest process id
# In a buffer's head (recorder/ring/buffer_file.h).
FIRST_NS, LAST_NS, NAMESPACE = 32, 48, 88


def killed(place: Place) -> Path:
    """The directory of a run that was killed; there is no other one."""
    files = place.scratch / "files"
    files.mkdir(exist_ok=True)
    place.run(place.bin / "deaths", files, "kill", 1, IOTUNE_TRACE=None)
    (left,) = place.buffers.iterdir()
    return left


def directory(place: Place, name: str, age_seconds: float, **files: bytes | Path) -> Path:
    """A run's directory of that age; a path becomes a link to it. `__` means dots."""
    run = place.buffers / name
    run.mkdir()
    for word, content in files.items():
        path = run / word.replace("__", ".")
        if isinstance(content, Path):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
    changed = time.time() - age_seconds
    os.utime(run, (changed, changed))
    return run


def many(place: Place, like: Path, count: int, age_seconds: float) -> list[Path]:
    """Copies of a run's directory, the oldest first, a second apart."""
    made = []
    for number in range(count):
        run = place.buffers / f"pid-{NOBODY + number}-{like.name}"
        shutil.copytree(like, run)
        changed = time.time() - age_seconds + number
        os.utime(run, (changed, changed))
        made.append(run)
    return made


def run_once(place: Place, **environment: Any) -> list[str]:
    """A program that ends well; what iotune said."""
    files = place.scratch / "files"
    done = place.run(place.bin / "deaths", files, "return", 2, IOTUNE_TRACE=None, **environment)
    assert done.status == 6, done
    return done.said()


def until_said(place: Place, **environment: Any) -> list[str]:
    """Of runs one after the other what the first said that said something."""
    for _ in range(400):  # none of so many draws: 6 in 10^12
        if said := run_once(place, **environment):
            return said
    raise AssertionError("nothing was said")


def with_word(buffer: bytes, offset: int, word: int) -> bytes:
    """A buffer with another 64-bit word in its head."""
    return buffer[:offset] + struct.pack("<Q", word) + buffer[offset + 8 :]


def oldest(place: Place) -> None:
    """Beyond the limit the oldest go, and that is said once; up to it nothing does."""
    left = many(place, killed(place), MOST - 2, 2 * HOUR)  # beside the killed run and the new one
    assert run_once(place) == []
    assert all(run.exists() for run in left)

    more = many(place, left[1], 1, 3 * HOUR)
    said = run_once(place, PMI_RANK="1")  # a rank that is quiet else
    assert len(said) == 1 and f"the {AT_ONCE} oldest are removed" in said[0], said
    left = [*more, *left]
    assert not any(run.exists() for run in left[:AT_ONCE])
    assert all(run.exists() for run in left[AT_ONCE:])
    assert run_once(place) == []


def living(place: Place) -> None:
    """However old: what a process may still write, another joins or knows, or is not iotune's."""
    like = killed(place)
    buffer = next(like.glob("*.iobuf")).read_bytes()
    dead = f"{HOST}__{NOBODY}__1__a__iobuf"
    now_ns = time.time_ns()
    (namespace,) = struct.unpack_from("<Q", buffer, NAMESPACE)
    assert str(namespace) in os.readlink("/proc/self/ns/pid")
    killed_now = with_word(
        with_word(buffer, FIRST_NS, now_ns - int(DAY * 1e9)), LAST_NS, now_ns - int(300e9)
    )
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        start = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
        try:
            kept = [
                directory(place, "alive", DAY, **{
                    dead: buffer, f"{HOST}__{sleeper.pid}__{start}__b__iobuf": buffer}),
                directory(place, "elsewhere", DAY, other__4194305__1__a__iobuf=buffer),
                directory(place, "container", DAY, **{
                    dead: with_word(buffer, NAMESPACE, namespace + 1)}),
                directory(place, "just-killed", DAY, **{dead: killed_now}),
                directory(place, f"pid-{sleeper.pid}-{start}", DAY, **{dead: buffer}),
                directory(place, f"mpi-1-{sleeper.pid}", DAY, **{dead: buffer}),
                directory(place, "6743210fdeadbeef", HOUR, **{dead: buffer}),
                directory(place, "thesis", 2 * DAY, **{"all-data__h5": b"few"}),
                directory(place, "thesis-2", 2 * DAY, **{"presence-3": bytes(121)}),
                users := directory(place, "users", DAY, **{dead: buffer, "results": b"of years"}),
                directory(place, "empty", DAY),
                directory(place, "present", HOUR, **{dead: buffer, "presence-3": bytes(120)}),
            ]  # fmt: skip
            gone = [
                directory(place, "reused", DAY, **{f"{HOST}__{sleeper.pid}__1__b__iobuf": buffer}),
                was_present := directory(
                    place, "was-present", 2 * DAY, **{"presence-3": bytes(120)}),
                directory(place, f"mpi-1-{NOBODY}", HOUR, **{dead: buffer}),
                directory(place, f"mpi-2-{NOBODY}", HOUR),
                directory(place, "6743210fdeadbee0", 2 * DAY, **{dead: buffer}),
            ]  # fmt: skip
            many(place, like, MOST, HOUR)
            young = many(place, was_present, 2, 0.0)
            said = run_once(place)
        finally:
            sleeper.kill()
    assert len(said) == 1, said
    assert all(run.exists() for run in [*kept, *young]), [run for run in kept if not run.exists()]
    assert not any(run.exists() for run in gone), [run for run in gone if run.exists()]
    assert (users / "results").read_bytes() == b"of years"


def spilled(place: Place) -> None:
    """The blocks that left a buffer's memory go with it, and nothing else that a link leads to."""
    like = killed(place)
    many(place, like, MOST, HOUR)
    stem = f"{HOST}.4194305.1.a"
    spill, other = place.scratch / f"{stem}.iospill", place.scratch / "thesis"
    for path in (spill, other):
        path.write_bytes(b"x")
    words = stem.replace(".", "__")
    buffer = next(like.glob("*.iobuf")).read_bytes()
    files: dict[str, bytes | Path] = {
        f"{words}__iobuf": buffer, f"{words}__iospill": spill,
        f"{HOST}__4194305__1__b__iospill": other,
    }  # fmt: skip
    run = directory(place, "old", DAY, **files)
    run_once(place)
    assert not run.exists() and not spill.exists() and other.exists()


def stuck(place: Place) -> None:
    """Where the oldest cannot go, those behind them do."""
    like = killed(place)
    for number in range(AT_ONCE + 3):
        directory(place, f"users-{number}", DAY + number, results=b"of years")
    left = many(place, like, MOST, HOUR)
    said = run_once(place)
    assert len(said) == 1, said
    assert not left[0].exists() and left[-1].exists()
    assert len(list(place.buffers.glob("users-*"))) == AT_ONCE + 3


def others(place: Place) -> None:
    """What may not be removed does not count: the limit is of the runs beside it."""
    like = killed(place)
    for number in range(MOST + 10):
        directory(place, f"users-{number}", DAY + number, results=b"of years")
    left = many(place, like, AT_ONCE, HOUR)
    assert run_once(place) == []
    assert all(run.exists() for run in left)


def traces(place: Place) -> None:
    """The oldest traces go beyond 256 MiB or 4,096 files."""
    folder = place.state / "iotune" / "traces"
    folder.mkdir(parents=True)
    (place.scratch / "files").mkdir()

    def trace(name: str, mebibytes: int, age_seconds: float) -> Path:
        path = folder / name
        with path.open("wb") as file:
            file.truncate(mebibytes << 20)  # sparse
        changed = time.time() - age_seconds
        os.utime(path, (changed, changed))
        return path

    # given 270 MiB, of which 14 go to be an eighth below the limit, and what is no trace
    kept = [trace("notes.txt", 300, 9 * DAY)]
    old = [trace(f"{number}-a-1.iotrace", 18, DAY - number) for number in range(13)]
    kept.append(trace("new.iotrace", 36, 2.0))
    (folder / "link.iotrace").symlink_to(kept[0])
    # when runs end, one in 16 of which looks
    said = until_said(place)
    # then
    assert len(said) == 1 and "the 3 oldest are removed" in said[0], said
    assert [path.exists() for path in old] == [False] * 3 + [True] * 10
    assert all(path.exists() for path in kept)
    # and again where there are many small ones, through a link, on ranks that are quiet else
    for number in range(MOST_TRACES):
        trace(f"small-{number}.iotrace", 0, HOUR + number)
    folder.rename(place.scratch / "elsewhere")
    folder.symlink_to(place.scratch / "elsewhere")
    said = until_said(place, PMI_RANK="1")
    assert len(said) == 1 and f"the {AT_ONCE} oldest are removed" in said[0], said
    assert not old[-1].exists() and kept[1].exists()


if __name__ == "__main__":
    main(
        {
            "oldest": oldest,
            "living": living,
            "spilled": spilled,
            "stuck": stuck,
            "others": others,
            "traces": traces,
        }
    )
