"""Prefetching beside threads, forks, and descriptors that are closed under it."""

from __future__ import annotations

import itertools
import os

from support.place import Place, main, not_verified
from support.prefetching import (
    CACHE,
    begin,
    data_file,
    fuse_works,
    mounted,
    notes,
    requests,
    script,
)


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


def stacks(place: Place) -> None:
    """Helpers take little of what the program may map: no stacks of its threads' size.

    Where the first one starts the others, libc reserves 64 MiB for what it might allocate.
    """
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    text = """
def mapped():
    return int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE')
fd = os.open(sys.argv[1], os.O_RDONLY)
os.pread(fd, 65536, 0)
before = mapped()
read_some(fd, 0, 60)
print(len(helpers()), mapped() - before)
"""
    for how, arena in (({}, 0), ({**CACHE, "IOTUNE_PREFETCH_MEMORY_MIB": 1}, 64 << 20)):
        with mounted(place, place.scratch / "fuse.iotrace", 5, "--direct") as mount:
            done = script(place, mount, text, **how)
        count, grown = map(int, done.out.split())
        if count == 0:  # hints bring nothing on such a mount, and the stream is left alone
            continue
        assert grown < ((count + 3) << 20) + arena, (how, count, grown)


def in_handler(place: Place) -> None:
    """A pattern that is read in a signal handler starts no thread there; the next read does."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    hows = ("plain", "stack")
    for how, thread in itertools.product(hows, ([], ["thread"])):
        with mounted(place, place.scratch / "fuse.iotrace", 1) as mount:
            done = place.right(place.run(place.bin / "reads_in_handler", mount / "data", how,
                                         *thread, IOTUNE_PREFETCH="pattern"))  # fmt: skip
        before = 1 + len(thread)
        assert [int(word) for word in done.out.split()] == [before, before + 1], (how, thread)


def jumps(place: Place) -> None:
    """Handlers jump out of reads, and of what prefetching does beside them: no lock stays held."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    good = (place.scratch / "root" / "data").read_bytes()[:65536]
    with mounted(place, place.scratch / "fuse.iotrace", 0, "--direct") as mount:
        for how in ({}, CACHE, {"IOTUNE_PREFETCH": "markov", "IOTUNE_PREFETCH_SCHEDULE": "ppis"}):
            env = {"IOTUNE_PREFETCH": "pattern", **how}
            done = place.run(place.bin / "jumps", "reads", mount / "data", 4000, **env)
            place.right(done, str(env))
            assert done.out == good + b"4000 jumps\n", (env, done.out[-40:])
            said = done.said()
            assert all("jumped out of a change of" in line for line in said), said
            assert len(said) == len(set(said)), said
    # A transfer that is left is none that a prefetch waits for.
    data_file(place, 64 << 20)
    trace = place.scratch / "fuse.iotrace"
    os.mkfifo(place.scratch / "fifo")
    for schedule in ("ppis", "ours"):
        with mounted(place, trace, 2) as mount:
            place.right(place.run(place.bin / "jumps", "gate", place.scratch / "fifo",
                                  mount / "data", IOTUNE_PREFETCH="pattern",
                                  IOTUNE_PREFETCH_SCHEDULE=schedule))  # fmt: skip
        assert len({process for process, _, _ in requests(place, trace)}) > 1, schedule


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


def locks(place: Place) -> None:
    """The program's locks last until it gives them up: no other descriptor is opened and closed."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    for how in ({}, CACHE, {"IOTUNE_PREFETCH_SCHEDULE": "ppis"}):
        with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
            script(
                place, mount,
                """
import fcntl
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.lockf(fd, fcntl.LOCK_SH)
for i in range(40):
    read_some(fd, i, 1)
    time.sleep(0.002)
def is_locked():
    child = os.fork()
    if child == 0:
        other = os.open(sys.argv[1], os.O_RDWR)
        try:
            fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
assert is_locked()
os.close(fd)
assert not is_locked()
""",
                **how,
            )  # fmt: skip
        assert notes(place)["hits"] >= 10, notes(place)


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


def taken_over(place: Place) -> None:
    """A block that a helper holds at the gate is read by the program, which waits for nobody.

    A thread of the program is in a read all the while, so that no prefetch may begin: who waited
    for the helper would wait for ever. Then the gate opens, the helper goes on, and no block is
    read twice.
    """
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    (place.scratch / "expected").write_bytes((place.scratch / "root" / "data").read_bytes())
    trace = place.scratch / "fuse.iotrace"
    # Whatever transfer it is that the thread waits in.
    calls = {
        "read": ("os.read(pipe, 1)", {"x86_64": "0", "aarch64": "63"}),
        "preadv2": ("os.preadv(pipe, [bytearray(1)], -1)", {"x86_64": "327", "aarch64": "286"}),
        "splice": ("os.splice(pipe, sink, 1)", {"x86_64": "275", "aarch64": "76"}),
    }
    for schedule, how, options, (call, numbers) in (
        ("ppis", {}, [], calls["preadv2"]), ("ppis", CACHE, ["--direct"], calls["read"]),
        ("ours", CACHE, ["--direct"], calls["splice"]), ("ppis", {}, [], calls["splice"]),
    ):  # fmt: skip
        with mounted(place, trace, 2, *options) as mount:
            done = script(
                place, mount,
                f"""
import threading
NUMBERS = {numbers}
def wait(pipe, sink):
    {call}
"""
                """
good = open(os.path.dirname(sys.argv[1]) + '/../expected', 'rb').read()
fifo = os.path.dirname(sys.argv[1]) + '/../fifo'
os.mkfifo(fifo)
def wait_long():
    pipe, sink = os.open(fifo, os.O_RDONLY), os.open(fifo + '.sink', os.O_WRONLY | os.O_CREAT)
    wait(pipe, sink)
    os.close(pipe), os.close(sink)
waiting = threading.Thread(target=wait_long)
waiting.start()
end = open(fifo, 'wb', buffering=0)
def is_reading():
    with open(f'/proc/self/task/{waiting.native_id}/syscall') as call:
        return call.read().split()[0] == NUMBERS[os.uname().machine]
while not is_reading():
    time.sleep(0.001)
fd = os.open(sys.argv[1], os.O_RDONLY)
def read_slowly(first, count):
    for i in range(first, first + count):
        assert os.pread(fd, 65536, i * 600_000) == good[i * 600_000:i * 600_000 + 65536]
        time.sleep(0.006)
read_slowly(0, 20)
print(time.time(), os.getpid())
end.write(b'x')
waiting.join()
os.unlink(fifo)
read_slowly(20, 40)
""",
                IOTUNE_PREFETCH_SCHEDULE=schedule, **how,
            )  # fmt: skip
        opened, program = float(done.out.split()[0]), int(done.out.split()[1])
        reported = (schedule, how, notes(place))
        reads = [c for c in place.calls(trace) if c["name"] == "pread"]
        helped = [c for c in reads if c["pid"] != program]
        assert helped, f"{reported}: the helper never went on"
        assert min(map(begin, helped)) >= opened, f"{reported}: the gate was open"
        # It was asked for a block while the gate was closed, and the program has that. Single pages
        # of it may be read anew: a kernel that is set to reclaim them early takes them by then.
        behind = [c["arguments"] for c in helped if c["arguments"]["offset"] < 20 * 600_000 - 4096]
        assert sum(one["result"] for one in behind) < 65536, f"{reported}: {behind} read twice"
        blocks = {c["arguments"]["offset"] // 600_000 for c in helped}
        assert reported[2]["requested"] > len(blocks), f"{reported}: nothing was to be taken over"


if __name__ == "__main__":
    main(
        {
            "helper": helper,
            "stacks": stacks,
            "signal": in_handler,
            "jumps": jumps,
            "fork": fork,
            "closing": closing,
            "locks": locks,
            "threads": threads,
            "taken-over": taken_over,
        }
    )
