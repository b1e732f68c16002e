"""Prefetching on a file system with latency, proved by what was requested and by whom.

The trace of `iotune fuse` names the thread of each request. A read of the program that was
prefetched makes none of its own: the helper made it before.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import Done, Place, main, not_verified

BLOCK = 65536
PATIENCE_MS = 20000  # reached only where a prefetch does not come


def fuse_works(place: Place) -> bool:
    if not (place.bin / "iotune-fuse").exists():
        not_verified("prefetching: iotune-fuse is not built (libfuse 3 is missing)")
    elif not os.access("/dev/fuse", os.W_OK) or shutil.which("fusermount3") is None:
        not_verified("prefetching: /dev/fuse or fusermount3 cannot be had here")
    else:
        return True
    return False


@contextlib.contextmanager
def mounted(place: Place, trace: Path, latency_ms: int = 5) -> Iterator[Path]:
    """The place's root folder behind a latency; its requests are in `trace` at the end."""
    mount, root = place.scratch / "m", place.scratch / "root"
    mount.mkdir(exist_ok=True)
    command = [
        str(place.bin / "iotune-fuse"), f"--latency-ns={latency_ms * 1_000_000}",
        f"--trace={trace}", "--replace", str(mount), str(root),
    ]  # fmt: skip
    with subprocess.Popen(command) as server:
        try:
            until = time.monotonic() + 20
            while not os.path.ismount(mount):
                assert server.poll() is None and time.monotonic() < until, "no mount"
                time.sleep(0.01)
            yield mount
        finally:
            subprocess.run(["fusermount3", "-u", str(mount)], check=False)
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.send_signal(signal.SIGKILL)


def data_file(place: Place, size: int) -> None:
    (place.scratch / "root").mkdir(exist_ok=True)
    place.right(place.run(place.bin / "planned_reads", place.scratch / "root" / "data", "make",
                          size, preload=False))  # fmt: skip


def plan(place: Place, accesses: list[tuple[int, int]]) -> Path:
    path = place.scratch / "accesses"
    path.write_text("".join(f"{offset} {length}\n" for offset, length in accesses))
    return path


def drive(
    place: Place, mount: Path, accesses: list[tuple[int, int]], method: str = "pread", **env: Any
) -> tuple[int, int]:
    """How many reads were made, and of how many all pages were there before."""
    env.setdefault("IOTUNE_PREFETCH", "pattern")
    done = place.right(
        place.run(place.bin / "planned_reads", mount / "data", plan(place, accesses), method, 1000,
                  PATIENCE_MS if env["IOTUNE_PREFETCH"] == "pattern" else 0, **env)
    )  # fmt: skip
    assert done.said() == [], done.err
    reads, cached, _, _ = map(int, done.out.split())
    return reads, cached


def requests(place: Place, trace: Path) -> list[tuple[int, int, int]]:
    """(process of the trace, offset, length) of each read request, in the order of answers."""
    calls = place.calls(trace)
    reads = [c for c in calls if c["name"] == "pread"]
    return [(c["process"], c["arguments"]["offset"], c["arguments"]["result"]) for c in reads]


def begin(call: dict[str, Any]) -> float:
    """Seconds since 1970: processes of a trace have clocks of their own."""
    return float(call["line"].split()[0])


def notes(place: Place) -> dict[str, Any]:
    (found,) = [c["arguments"] for c in place.calls() if c["name"] == "iotune_prefetch"]
    return dict(found)


def strided(place: Place) -> None:
    """All but the first few reads are there before they are asked for, by any call."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    accesses = [(i * 147 * 4096, BLOCK) for i in range(100)]
    for method in ("pread", "read", "readv", "preadv", "fread"):
        trace = place.scratch / "fuse.iotrace"
        # when
        with mounted(place, trace) as mount:
            reads, cached = drive(place, mount, accesses, method)
        # then
        assert reads == 100
        assert cached >= 94, f"{method}: {cached} of 100 were prefetched"
        made = requests(place, trace)
        program = made[0][0]
        helper = {process for process, _, _ in made} - {program}
        assert len(helper) == 1, f"{method}: {helper}"
        own = [offset for process, offset, _ in made if process == program]
        assert len(own) <= 8, f"{method}: the program itself requested {own}"
        wanted = {offset + at for offset, length in accesses for at in range(0, length, 4096)}
        pages = [offset + at for process, offset, length in made if process in helper
                 for at in range(0, length, 4096)]  # fmt: skip
        assert len(pages) == len(set(pages)), f"{method}: pages requested twice"
        beyond = len(set(pages) - wanted) * 4096
        said = notes(place)
        # What is under way when the program ends, nobody can take back.
        assert beyond <= said["depth"] * BLOCK, f"{method}: {beyond} bytes in vain"
        assert said["predictor"] == "pattern" and said["reads"] in range(95, 102), said
        assert said["hits"] >= 94 and said["saved_ns"] > 0, said


def without(place: Place) -> None:
    """Nothing is prefetched, and no thread is started, unless it is asked for."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    accesses = [(i * 98 * 4096, 4096) for i in range(40)]
    cases: list[dict[str, Any]] = [
        {"IOTUNE_PREFETCH": "none"}, {"IOTUNE_PREFETCH": None},
        {"IOTUNE_PREFETCH": "pattern", "IOTUNE_MODE": "record"},
    ]  # fmt: skip
    for env in cases:
        trace = place.scratch / "fuse.iotrace"
        with mounted(place, trace, 1) as mount:
            done = place.right(place.run(place.bin / "planned_reads", mount / "data",
                                         plan(place, accesses), "pread", 0, **env))  # fmt: skip
        assert done.said() == []
        assert len({process for process, _, _ in requests(place, trace)}) == 1, env
        assert [c for c in place.calls() if c["name"] == "iotune_prefetch"] == []


def kept(place: Place) -> None:
    """What an earlier run left makes the second one know; damage and other files do not matter."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    seed = random.randrange(2**31)
    # An order without a pattern, each block once.
    order = random.Random(seed).sample(range(1000), 100)
    accesses = [(block * BLOCK, 4096) for block in order]
    cached = {}
    for predictor in ("recorded", "markov"):
        for run in ("first", "second", "damaged"):
            if run == "damaged":
                (model,) = (place.state / "iotune" / "prefetch").glob(f"*.{predictor}")
                content = bytearray(model.read_bytes())
                content[len(content) // 2] ^= 0x10
                model.write_bytes(content)
            with mounted(place, place.scratch / "fuse.iotrace", 3) as mount:
                patience = PATIENCE_MS if run == "second" else 0
                done = place.right(place.run(
                    place.bin / "planned_reads", mount / "data", plan(place, accesses), "pread",
                    1000, patience, IOTUNE_PREFETCH=predictor,
                ))  # fmt: skip
            assert done.said() == []
            cached[run] = int(done.out.split()[1])
        assert cached["first"] <= 20 and cached["damaged"] <= 20, f"seed {seed}: {cached}"
        assert cached["second"] >= 90, f"seed {seed}, {predictor}: {cached}"


def schedules(place: Place) -> None:
    """Under PPIS and ours no prefetch begins while the program waits; under none and PP they do."""
    if not fuse_works(place):
        return
    data_file(place, 128 << 20)
    begun: dict[str, int] = {}
    for schedule in ("none", "pp", "ppis", "ours"):
        trace = place.scratch / "fuse.iotrace"
        with mounted(place, trace, 4) as mount:
            # A thread that reads by a stride and computes, another that waits for random blocks.
            script(
                place, mount,
                """
import random, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
other = os.open(sys.argv[1], os.O_RDONLY)
over = False
def wait_for_blocks():
    draw = random.Random(5)
    while not over:
        os.pread(other, 4096, (64 << 20) + draw.randrange(16384) * 4096)
        time.sleep(0.005)
waiting = threading.Thread(target=wait_for_blocks)
waiting.start()
for i in range(60):
    os.pread(fd, 65536, i * 1_000_000)
    time.sleep(0.012)
over = True
waiting.join()
""",
                IOTUNE_PREFETCH_SCHEDULE=schedule,
            )  # fmt: skip
        calls = [c for c in place.calls(trace) if c["name"] == "pread"]
        far = [c for c in calls if c["arguments"]["offset"] >= 64 << 20]
        # A random block may have been predicted, too.
        waiting = Counter(c["pid"] for c in far).most_common(1)[0][0]
        waits = [(begin(c), begin(c) + c["duration_ns"] * 1e-9) for c in far
                 if c["pid"] == waiting]  # fmt: skip
        near = [c for c in calls if c["arguments"]["offset"] < 64 << 20]
        helpers = [c for c in near if c["pid"] not in (near[0]["pid"], waiting)]
        # On a machine with much else to do, whoever gives way gets little.
        assert len(helpers) >= 5, f"{schedule}: {len(helpers)} requests of the helper"
        # A request of the program may begin in the moment after the helper has looked.
        margin = 300e-6
        begun[schedule] = sum(
            any(a + margin < begin(c) < b - margin for a, b in waits) for c in helpers
        ) * 100 // len(helpers)  # fmt: skip
    # per cent of the helper's requests
    assert max(begun["none"], begun["pp"]) >= 4, begun
    assert begun["ppis"] <= 3 and begun["ours"] <= 3, begun


def end(place: Place) -> None:
    """Not one request lies past the end of the file, and the last block is short."""
    if not fuse_works(place):
        return
    size = 40 * 500_000 + 1234
    data_file(place, size)
    accesses = [(i * 500_000, 20_000) for i in range(41)]
    trace = place.scratch / "fuse.iotrace"
    with mounted(place, trace) as mount:
        reads, cached = drive(place, mount, accesses)
    assert reads == 41 and cached >= 36, (reads, cached)
    assert all(offset < size for _, offset, _ in requests(place, trace))


def scattered(place: Place) -> None:
    """Random reads are left to themselves: hardly a byte is requested in vain."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    seed = random.randrange(2**31)
    draw = random.Random(seed)
    accesses = [(draw.randrange((64 << 20) // BLOCK - 1) * BLOCK, BLOCK) for _ in range(300)]
    trace = place.scratch / "fuse.iotrace"
    with mounted(place, trace, 1) as mount:
        done = place.right(place.run(place.bin / "planned_reads", mount / "data",
                                     plan(place, accesses), "pread", 0,
                                     IOTUNE_PREFETCH="pattern"))  # fmt: skip
    assert done.said() == []
    wanted = {offset for offset, _ in accesses}
    vain = sum(length for process, offset, length in requests(place, trace)
               if process != 0 and offset // BLOCK * BLOCK not in wanted)  # fmt: skip
    assert vain <= 300 * BLOCK // 20, f"seed {seed}: {vain} bytes in vain"


HELPER = """
import os, sys, time, re
def threads():
    return sorted(int(t) for t in os.listdir('/proc/self/task'))
def field(thread, name):
    text = open(f'/proc/self/task/{thread}/status').read()
    return re.search(name + r':\\s*(\\S+)', text)[1]
def read_some(fd, first, count):
    for i in range(first, first + count):
        os.pread(fd, 65536, i * 600_000)
def helpers():
    return [t for t in threads() if t != os.getpid()]
"""


def script(place: Place, mount: Path, text: str, *words: object, **env: Any) -> Done:
    (place.scratch / "script.py").write_text(HELPER + text)
    env.setdefault("IOTUNE_PREFETCH", "pattern")
    done = place.run(
        *words, os.path.realpath(sys.executable), "-S", place.scratch / "script.py",
        mount / "data", **env,
    )  # fmt: skip
    return place.right(done)


def helper(place: Place) -> None:
    """The helper starts late, blocks signals but libc's, and is not bound to the program's core."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    cores = sorted(os.sched_getaffinity(0))
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        done = script(
            place, mount,
            """
fd = os.open(sys.argv[1], os.O_RDONLY)
assert helpers() == []
read_some(fd, 0, 2)
assert helpers() == [], 'started before anything was predicted'
read_some(fd, 2, 30)
(one,) = helpers()
print(field(one, 'SigBlk'), field(one, 'Cpus_allowed_list'), field(os.getpid(), 'SigBlk'))
os.setuid(os.getuid())  # waits for every thread to answer a signal of libc's
os.close(fd)
""",
            "taskset", "-c", cores[0],
        )  # fmt: skip
    blocked, allowed, own = done.out.split()
    assert int(own, 16) == 0, own
    # 9 and 19 cannot be blocked, 32 and 33 are libc's.
    free = sum(1 << (number - 1) for number in (9, 19, 32, 33))
    assert int(blocked, 16) == 2**64 - 1 - free, blocked
    if len(cores) > 1:
        assert allowed != str(cores[0]).encode(), allowed
    else:
        not_verified("prefetching: a program bound to one core of several: there is one core")


def fork(place: Place) -> None:
    """A child prefetches by a helper of its own, and its parent's goes on."""
    if not fuse_works(place):
        return
    data_file(place, 128 << 20)
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        script(
            place, mount,
            """
fd = os.open(sys.argv[1], os.O_RDONLY)
read_some(fd, 0, 30)
(parents,) = helpers()
for round in range(3):
    child = os.fork()
    if child == 0:
        assert helpers() == []
        mine = os.open(sys.argv[1], os.O_RDONLY)
        read_some(mine, 40 + 40 * round, 30)
        assert len(helpers()) == 1, helpers()
        os.close(mine)
        os._exit(7)
    assert os.waitpid(child, 0)[1] == 7 << 8
read_some(fd, 30, 10)
assert helpers() == [parents]
""",
        )  # fmt: skip


def closing(place: Place) -> None:
    """A closed descriptor is left at once: its file can be unmounted, its number used again."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        script(
            place, mount,
            """
other = os.path.join(os.path.dirname(sys.argv[1]), 'other')
for round in range(20):
    fd = os.open(sys.argv[1], os.O_RDONLY)
    read_some(fd, 5 * (round % 3), 12)
    if round % 4 == 0:
        again = os.dup(fd)
        os.close(fd)
        read_some(again, 20, 8)
        fd = again
    if round % 3 == 0:
        new = os.open(other, os.O_RDWR | os.O_CREAT)
        os.dup2(new, fd)
        os.close(new)
        os.pwrite(fd, b'x' * 4096, 0)
        assert os.pread(fd, 4096, 0) == b'x' * 4096
    os.close(fd)
""",
        )  # fmt: skip
        assert (mount / "other").stat().st_size == 4096
    assert not os.path.ismount(place.scratch / "m"), "something is still open"


def threads(place: Place) -> None:
    """Threads that read, open, duplicate and close at once get their bytes, under every schedule.

    One of them is in a read that ends only when the others are done: no close waits for it.
    """
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    expected = (place.scratch / "root" / "data").read_bytes()
    (place.scratch / "expected").write_bytes(expected)
    for schedule in ("none", "pp", "ppis", "ours"):
        with mounted(place, place.scratch / "fuse.iotrace", 1) as mount:
            script(
                place, mount,
                """
import threading
good = open(os.path.dirname(sys.argv[1]) + '/../expected', 'rb').read()
shared = os.open(sys.argv[1], os.O_RDONLY)
fifo = os.path.dirname(sys.argv[1]) + '/../fifo'
os.mkfifo(fifo)
wrong = []
def check(fd, at, size):
    if os.pread(fd, size, at) != good[at:at + size]:
        wrong.append(at)
def work(number):
    for round in range(6):
        fd = os.open(sys.argv[1], os.O_RDONLY)
        for i in range(12):
            check(fd, (i * 7 + number * 3 + round) * 300_000, 40_000)
            check(shared, (number * 16 + i) * 900_000 % (60 << 20), 8192)
        again = os.dup(fd)
        os.close(fd)
        for i in range(12, 16):
            check(again, (i * 7 + number * 3 + round) * 300_000, 40_000)
        os.close(again)
def wait_long():
    with open(fifo, 'rb', buffering=0) as pipe:
        pipe.read(1)
waiting = threading.Thread(target=wait_long)
waiting.start()
end = open(fifo, 'wb', buffering=0)
workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[one.start() for one in workers]
[one.join() for one in workers]
end.write(b'x')
waiting.join()
os.unlink(fifo)
assert not wrong, wrong
""",
                IOTUNE_PREFETCH_SCHEDULE=schedule,
            )  # fmt: skip


def bad_values(place: Place) -> None:
    """An unknown value is said in one line, and nothing is prefetched."""
    for name in ("IOTUNE_PREFETCH", "IOTUNE_PREFETCH_SCHEDULE"):
        env: dict[str, Any] = {"IOTUNE_PREFETCH": "pattern", name: "quick"}
        done = place.right(place.run("/bin/true", **env))
        (line,) = done.said()
        assert f"{name}=quick" in line, line


if __name__ == "__main__":
    main(
        {
            "strided": strided, "without": without, "end": end, "scattered": scattered,
            "kept": kept, "schedules": schedules, "helper": helper, "fork": fork,
            "closing": closing, "threads": threads, "bad-values": bad_values,
        }
    )  # fmt: skip
