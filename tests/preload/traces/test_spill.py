"""Blocks that left memory for a file are read again, call by call, however the process ends."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from support.place import Place, collect, main
from support.preloaded import Done
from support.small_disks import mounted

CALLS = 45000  # more blocks than the least memory holds
LEAST: dict[str, Any] = {"IOTUNE_MEMORY_MIB": 0}
MASK = 2**64 - 1
SPILLED_AT = 80  # of the buffer's header (recorder/FORMAT.md)

Transfers = list[tuple[int, int]]  # bytes, offset


def drawn(state: int, calls: int) -> Transfers:
    """What programs/calls/spilling.c makes of a state."""
    made = []
    for _ in range(calls):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        made.append((1 + (state >> 58), state >> 2))
    return made


def counted(folder: Path) -> list[int]:
    """How many reads have returned, by file."""
    return [struct.unpack("<QQ", path.read_bytes())[1] for path in folder.glob("*.made")]


def made(folder: Path) -> dict[str, Transfers]:
    """By file: the reads that have returned."""
    found = {}
    for path in folder.glob("*.made"):
        state, calls = struct.unpack("<QQ", path.read_bytes())
        found[path.stem] = drawn(state, calls)
    return found


def kept(place: Place, *files: Path) -> dict[str, Transfers]:
    """By file: the reads that stand in these traces and buffers."""
    found: dict[str, Transfers] = {}
    for trace in files:
        calls = place.calls(trace)
        names = {
            (call["process"], call["keys"][0]): Path(call["texts"][0]).name
            for call in calls if call["name"] == "iotune_file"
        }  # fmt: skip
        for call in calls:
            if call["name"] == "pread":
                name = names[call["process"], call["keys"][1]]
                assert call["numbers"][2] == 0, call
                found.setdefault(name, []).append((call["numbers"][0], call["numbers"][1]))
    return found


def compare(got: dict[str, Transfers], want: dict[str, Transfers], under_way: int = 0) -> int:
    """How many calls there are, all equal; of a killed thread one more may have been made."""
    # A thread that was killed before its first read has nothing to be kept.
    assert got.keys() <= want.keys(), (got.keys(), want.keys())
    for name, calls in want.items():
        have = got.get(name, [])
        more = len(have) - len(calls)
        first = next((i for i, (a, b) in enumerate(zip(have, calls)) if a != b), None)
        assert first is None and 0 <= more <= under_way, (name, len(calls), more, first)
    return sum(map(len, want.values()))


def spilled(place: Place) -> list[Path]:
    """The spill files and the links to them."""
    return sorted({*place.scratch.rglob("*.iospill"), *place.buffers.rglob("*.iospill")})


def folder_of(place: Place) -> Path:
    folder = place.scratch / "files of it"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def run(place: Place, how: str, calls: int = CALLS, **env: Any) -> tuple[Done, Path]:
    folder = folder_of(place)
    seed = random.SystemRandom().randrange(2**31)
    print(how, "seed", seed)
    done = place.run(place.bin / "spilling", folder, how, seed, calls, **{**LEAST, **env})
    assert done.status == 0, done
    return done, folder


def nothing_left(place: Place) -> None:
    assert place.leftovers() == [] and spilled(place) == [], spilled(place)


def ends(how: str, place: Place) -> None:
    """A process that ends by itself, in the trace that it writes."""
    done, folder = run(place, how, CALLS // 2 if how == "threads" else CALLS)
    assert done.err == b"", done.err
    size = place.trace.stat().st_size
    assert size > 320 << 10, "the blocks fitted into memory"
    print(f"{how}: {compare(kept(place, place.trace), made(folder))} calls, {size} bytes")
    nothing_left(place)


def joined(how: str, place: Place) -> None:
    """Processes that leave their buffers to the next command."""
    done, folder = run(place, how, IOTUNE_TRACE=None)
    assert done.err == b"", done.err
    assert spilled(place), "the blocks fitted into memory"
    if collect(place):
        nothing_left(place)
    left = [*place.traces(), *place.leftovers()]
    print(f"{how}: {compare(kept(place, *left), made(folder))} calls")


def killed(place: Place, how: str, seed: int, seconds: float, wait_spill: bool) -> Path:
    """Kill a process some time after its first spill, or after its start."""
    folder = folder_of(place)
    with subprocess.Popen(
        [str(place.bin / "spilling"), str(folder), how, str(seed), str(10**7)],
        env=place.environment(preload=True, **LEAST), cwd=place.scratch,
    ) as child:  # fmt: skip
        until = time.monotonic() + 30
        while wait_spill and not spilled(place):
            assert child.poll() is None and time.monotonic() < until
        time.sleep(seconds)
        child.kill()
        assert child.wait() == -signal.SIGKILL
    return folder


def kill(place: Place) -> None:
    draw = random.SystemRandom()
    for how in ("exit", "threads"):
        place.clear()
        seed = draw.randrange(2**31)
        # About half of them die at the moment of a first spill.
        seconds = draw.uniform(0, draw.choice((0.001, 0.05)))
        print(how, "seed", seed, "seconds", seconds)
        folder = killed(place, how, seed, seconds, wait_spill=True)
        (left,) = place.leftovers()
        (head,) = place.heads(left)
        assert head["dropped"] == 0 and head["damage"] == [], head
        count = compare(kept(place, left), made(folder), under_way=1)
        if collect(place):
            assert compare(kept(place, *place.traces()), made(folder), under_way=1) == count
            nothing_left(place)
        print(f"kept {count} of {count}")


def moments(place: Place) -> None:
    """Each moment of a spill at which a process may die, made out of a dead one's files."""
    folder = killed(place, "exit", 11, 0.015, wait_spill=True)
    want = made(folder)
    (left,) = place.leftovers()
    buffer, spill = left.read_bytes(), left.with_suffix(".iospill").resolve()
    (counts,) = struct.unpack_from("<Q", buffer, SPILLED_AT)
    assert counts > 0, "it died at its very first spill"
    file = spill.read_bytes()[:counts]
    # The second block segment is the first that is spilled.
    table = [struct.unpack_from("<IIQQ", buffer, 128 + 24 * i) for i in range(8)]
    offset = [entry[2] for entry in table if entry[0] == 1][1]
    (used,) = struct.unpack_from("<Q", buffer, offset)
    blocks = buffer[offset + 64 : offset + 64 + used]
    for what, tail, published in (
        ("half written", blocks[: used // 2], 0), ("written", blocks, 0),
        ("published, not emptied", blocks, used), ("as it was", b"", 0),
    ):  # fmt: skip
        spill.write_bytes(file + tail)
        changed = bytearray(buffer)
        struct.pack_into("<Q", changed, SPILLED_AT, counts + published)
        left.write_bytes(changed)
        (head,) = place.heads(left)
        assert head["damage"] == [] and head["dropped"] == 0, (what, head)
        print(what, compare(kept(place, left), want, under_way=1))
    # What is gone is reported.
    spill.write_bytes(file[: counts // 2])
    (head,) = place.heads(left)
    assert head["damage"], head
    assert len(kept(place, left)[next(iter(want))]) < len(next(iter(want.values())))
    spill.unlink()
    (head,) = place.heads(left)
    assert head["damage"] and head["calls"] > 0, head


def full_disk(place: Place) -> None:
    """The blocks that find no room stay in memory; the trace, which has none either, is joined."""
    with mounted(place, "tmpfs", "size=400k") as small:
        if small is None:
            return
        done, folder = run(place, "exit", 2 * CALLS, IOTUNE_TRACE=small / "x.iotrace")
        assert [line for line in done.said() if "cannot be written" not in line] == [], done.err
        (left,) = place.leftovers()
        print("kept", compare(kept(place, left), made(folder)))
        (spill,) = small.iterdir()
        assert 0 < spill.stat().st_size < 400 << 10, spill
    place.clear()
    with mounted(place, "tmpfs", "size=12k") as tiny:
        assert tiny is not None
        done, folder = run(place, "exit", IOTUNE_TRACE=tiny / "x.iotrace")
        (left,) = place.leftovers()
        print("kept", compare(kept(place, left), made(folder)))


def read_only(place: Place) -> None:
    with mounted(place, "tmpfs", "ro,size=1m") as small:
        if small is None:
            return
        _, folder = run(place, "exit", IOTUNE_TRACE=small / "x.iotrace")
        (left,) = place.leftovers()
        print("kept", compare(kept(place, left), made(folder)))
        assert not list(place.buffers.rglob("*.iospill"))


def size_limit(place: Place) -> None:
    """`ulimit -f` holds for the buffer and for the spill file: beyond both calls are counted."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600 << 10, 600 << 10))

    folder = folder_of(place)
    done = place.run(place.bin / "spilling", folder, "exit", 5, 4 * CALLS, before=limit, **LEAST)
    assert done.status == 0, done
    (left,) = place.leftovers()
    (head,) = place.heads(left)
    got, want = kept(place, left), made(folder)
    ((name, calls),) = want.items()
    assert len(calls) == 4 * CALLS
    assert 0 < len(got[name]) and len(got[name]) + head["dropped"] >= 4 * CALLS, head
    assert set(got[name]) <= set(calls)
    assert 0 < spilled(place)[0].stat().st_size <= 600 << 10
    print(f"kept {len(got[name])}, counted {head['dropped']} of {4 * CALLS}")


def off(place: Place) -> None:
    """IOTUNE_SPILL_LIMIT_MIB=0, and a limit that is met."""
    _, folder = run(place, "exit", IOTUNE_SPILL_LIMIT_MIB=0)
    compare(kept(place, place.trace), made(folder))
    _, folder = run(place, "exit", 3 * CALLS, IOTUNE_SPILL_LIMIT_MIB=1)
    compare(kept(place, place.trace), made(folder))
    nothing_left(place)


def vanishes(place: Place) -> None:
    """Somebody removes the spill file: the program goes on, and the loss is reported."""
    done, folder = run(place, "remove")
    assert len(done.said()) == 1 and "cannot be read again" in done.said()[0], done.err
    (head,) = place.heads()
    ((name, calls),) = made(folder).items()
    got = kept(place, place.trace)[name]
    assert 0 < len(got) < len(calls) and set(got) <= set(calls)
    assert int(head["end"]["calls"]) >= len(calls), head
    nothing_left(place)


def alive(place: Place) -> None:
    """A process that reads the buffer of a running process misses no call that had been made."""
    folder = folder_of(place)
    with subprocess.Popen(
        [str(place.bin / "spilling"), str(folder), "exit", "3", str(10**9)],
        env=place.environment(preload=True, **LEAST), cwd=place.scratch,
    ) as child:  # fmt: skip
        done = threading.Event()

        def in_steps() -> None:
            """So that it does not run away from its reader."""
            while not done.is_set():
                os.kill(child.pid, signal.SIGCONT)
                time.sleep(0.005)
                os.kill(child.pid, signal.SIGSTOP)
                time.sleep(0.05)

        steps = threading.Thread(target=in_steps)
        try:
            while not spilled(place):
                time.sleep(0.001)
            steps.start()
            (buffer,) = place.leftovers()
            for _ in range(6):
                (before,) = counted(folder)
                (head,) = place.heads(buffer)
                assert head["damage"] == [] and head["calls"] >= before, (head, before)
            done.set()
            steps.join()
            (now,) = counted(folder)
            (head,) = place.heads(buffer)
            print(f"{head['calls']} of {now} and the opening ones")
            # The opening ones, the byte's three among them, and one that is not counted yet.
            assert head["damage"] == [] and now <= head["calls"] <= now + 12, (head, now)
        finally:
            done.set()
            child.kill()


if __name__ == "__main__":
    main({
        "exit": partial(ends, "exit"), "threads": partial(ends, "threads"),
        "fork": partial(joined, "fork"), "exec": partial(joined, "exec"),
        "kill": kill, "moments": moments, "full-disk": full_disk, "read-only": read_only,
        "size-limit": size_limit, "off": off, "vanishes": vanishes, "alive": alive,
    })  # fmt: skip
