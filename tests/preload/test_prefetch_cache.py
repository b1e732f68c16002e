"""IOTUNE_PREFETCH_DELIVERY=cache: what is served, and that it never differs from the file.

On a mount past the page cache (--direct) each read of the program that is not served is a request
of the program's own in the mount's trace.
"""

from __future__ import annotations

import os
import random
import resource
from pathlib import Path
from typing import Any

from harness import Place, main, not_verified
from prefetch_place import (
    BLOCK,
    data_file,
    fuse_works,
    mounted,
    patiently,
    plan,
    requests,
    script,
)

CACHE: dict[str, Any] = {"IOTUNE_PREFETCH": "pattern", "IOTUNE_PREFETCH_DELIVERY": "cache"}
SCHEDULES = ("none", "pp", "ppis", "ours")


def served(place: Place) -> int:
    """Reads that were served, by the run's trace."""
    return sum(int(c["arguments"]["served"]) for c in place.calls()
               if c["name"] == "iotune_prefetch")  # fmt: skip


def read_planned(
    place: Place, mount: Path, accesses: list[tuple[int, int]], method: str, **env: Any
) -> list[str]:
    done = place.right(place.run(place.bin / "planned_reads", mount / "data",
                                 plan(place, accesses), method, 6000, **CACHE, **env))  # fmt: skip
    return done.said()


@patiently
def is_served(place: Place) -> None:
    """Every read is served, or made once by the program itself; served bytes are the file's."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    accesses = [(i * 147 * 4096, BLOCK) for i in range(60)]
    cases = [("pread", "none"), ("read", "ppis"), ("readv", "ours"), ("preadv", "pp")]
    for method, schedule in [*cases, ("fread", "none")]:
        trace = place.scratch / "fuse.iotrace"
        with mounted(place, trace, 4, "--direct") as mount:
            said = read_planned(place, mount, accesses, method, IOTUNE_PREFETCH_SCHEDULE=schedule)
        assert said == [], said
        count = served(place)
        if method == "fread":  # its calls are libc's own
            assert count == 0, count
            continue
        made = requests(place, trace)
        own = sum(process == made[0][0] for process, _, _ in made)
        assert own + count == 60, f"{method} {schedule}: {own} requests, {count} served"
        assert count >= 40, f"{method} {schedule}: {count} of 60 served"


@patiently
def edges(place: Place) -> None:
    """Ends of files, positions, empty and wrong buffers: as without iotune."""
    if not fuse_works(place):
        return
    size = 40 * 50_000 + 1234
    data_file(place, size)
    text = """
import ctypes, errno, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
page = libc.mmap(None, 8192, 3, 0x22, -1, 0)
assert libc.mprotect(ctypes.c_void_p(page + 4096), 4096, 0) == 0
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
fd = os.open(sys.argv[1], os.O_RDONLY)
rest = time.sleep
for round in range(2):
    for i in range(41):  # the last one's end is the file's
        at = i * 50_000
        if i == 38:  # predicted, and so there, but nowhere to go
            for to in (8, page + 4096):
                ctypes.set_errno(0)
                assert libc.pread(fd, ctypes.c_void_p(to), 20_000, ctypes.c_long(at)) == -1
                assert ctypes.get_errno() == errno.EFAULT
            got = libc.pread(fd, ctypes.c_void_p(page), 20_000, ctypes.c_long(at))
            assert got in (-1, 4096), got  # the mount's own answer is of whole pages
        assert os.pread(fd, 0, at) == b''
        if round == 0:
            assert os.pread(fd, 20_000, at) == good[at:at + 20_000], i
        else:
            os.lseek(fd, at, 0)
            assert os.read(fd, 20_000) == good[at:at + 20_000], i
            assert os.lseek(fd, 0, 1) == min(at + 20_000, len(good))
        rest(0.004)
    assert os.pread(fd, 10, len(good)) == b'' and os.pread(fd, 10, 1 << 40) == b''
    for wrong in (-1, -5):
        try:
            os.pread(fd, 10, wrong)
            raise AssertionError(wrong)
        except OSError as fault:
            assert fault.errno == errno.EINVAL
# Of one position that two share each gets what the other did not.
os.lseek(fd, 0, 0)
copy = os.dup(fd)
seen = []
for i in range(60):
    seen.append(os.read((fd, copy)[i % 3 == 1], 30_000))
    rest(0.002)
assert b''.join(seen) == good[:60 * 30_000]
os.close(copy)
os.close(fd)
for flags in (os.O_RDWR, os.O_WRONLY):
    fd = os.open(sys.argv[1], flags)
    try:
        assert os.pread(fd, 10, 0) == good[:10] and flags == os.O_RDWR
    except OSError as fault:
        assert fault.errno == errno.EBADF and flags == os.O_WRONLY
"""
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        script(place, mount, text, **CACHE)
    count = served(place)
    assert count >= 60, count


@patiently
def writers(place: Place) -> None:
    """What another program has written before it said so is what the next read returns.

    It opens, writes and says so, with the descriptor still open; by its name, through a mapping, or
    with what it was given. In the end it is killed, and the file is served again.
    """
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    text = """
import subprocess
WRITE = '''
import os, sys
how, path, at, text = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].encode()
if how == 'inherited':
    os.pwrite(0, text, at)
elif how == 'mapping':
    import mmap
    fd = os.open(path, os.O_RDWR)
    map = mmap.mmap(fd, 0)
    os.close(fd)
    map[at:at + len(text)] = text
elif how == 'stream':
    stream = open(path, 'r+b')
    stream.seek(at)
    stream.write(text)
    stream.flush()
elif how == 'truncate':
    os.truncate(path, at)
elif how == 'create':
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.ftruncate(fd, 16 << 20)
else:
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, text, at)
os.write(1, b'done')
sys.stdin.close() if how != 'inherited' else None
import time
time.sleep(60)
'''
STEP = 100_000
HOW = 'open', 'stream', 'inherited', 'mapping', 'open', 'create', 'truncate'
for number, how in enumerate(HOW):
    if how == 'mapping' and KIND == 'direct':
        continue  # there is no page cache to be mapped
    reader = os.open(sys.argv[1], os.O_RDONLY)
    for i in range(20):
        os.pread(reader, 8192, i * STEP)
        time.sleep(0.004)
    text = b'new %d ' % number * 20
    given = os.open(sys.argv[1], os.O_RDWR) if how == 'inherited' else subprocess.DEVNULL
    command = [sys.executable, '-S', '-c', WRITE, how, sys.argv[1], str(20 * STEP), text]
    writer = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE)
    if how == 'inherited':
        os.close(given)
    assert writer.stdout.read(4) == b'done'
    for late in range(4):  # the first was read ahead before it was written
        back = os.pread(reader, 8192, (20 + late) * STEP)
        if how == 'truncate':
            assert back == b'', (how, late, back[:40])
        elif how == 'create':
            assert back == bytes(8192), (how, late, back[:40])
        elif late == 0:
            assert back.startswith(text), (how, back[:40])
        time.sleep(0.004)
    os.kill(writer.pid, 9)
    writer.wait()
    os.close(reader)
"""
    for kind, options in (("direct", ["--direct"]), ("cached", [])):
        with mounted(place, place.scratch / "fuse.iotrace", 2, *options) as mount:
            done = script(place, mount, text.replace("KIND", repr(kind)), **CACHE)
        assert done.said() == [], done.err
        runs = {c["arguments"]["served"] for c in place.calls() if c["name"] == "iotune_prefetch"}
        # Each descriptor is a stream; dead writers are no more in the way of later ones.
        assert sum(runs) > 0 and max(runs) >= 8, runs


@patiently
def fork(place: Place) -> None:
    """A child begins with nothing, and reads right; what it has open for writing counts."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        script(
            place, mount,
            """
STEP = 100_000
fd = os.open(sys.argv[1], os.O_RDONLY)
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
other = os.path.dirname(sys.argv[1]) + '/other'
with open(other, 'wb') as file:
    file.write(good)
second = os.open(other, os.O_RDONLY)
ready, go = os.pipe(), os.pipe()
for i in range(20):
    assert os.pread(fd, 8192, i * STEP) == good[i * STEP:i * STEP + 8192]
    time.sleep(0.004)
writing = os.open(other, os.O_RDWR)
child = os.fork()
if child == 0:
    for i in range(20, 60):
        if os.pread(fd, 8192, i * STEP) != good[i * STEP:i * STEP + 8192]:
            os._exit(1)
    os.read(go[0], 1)
    os.pwrite(writing, b'by the child', 20 * STEP)
    os.write(ready[1], b'x')
    os._exit(7)
os.close(writing)
for i in range(20):  # it may be read ahead by hints alone: the child may write
    assert os.pread(second, 8192, i * STEP) == good[i * STEP:i * STEP + 8192]
    time.sleep(0.004)
os.write(go[1], b'x')
os.read(ready[0], 1)
assert os.pread(second, 8192, 20 * STEP).startswith(b'by the child')
assert os.waitpid(child, 0)[1] == 7 << 8
for i in range(20, 60):
    assert os.pread(fd, 8192, i * STEP) == good[i * STEP:i * STEP + 8192]
    time.sleep(0.004)
""",
            **CACHE,
        )  # fmt: skip
    assert served(place) >= 40, served(place)


def signals(place: Place) -> None:
    """A handler that reads, synchronises and writes the file: no lock, no stale byte."""
    if not fuse_works(place):
        return
    (place.scratch / "root").mkdir()
    for schedule in ("none", "ppis"):
        with mounted(place, place.scratch / "fuse.iotrace", 1, "--direct") as mount:
            done = place.right(place.run(place.bin / "cache_signals", mount / "data", 2, **CACHE,
                                         IOTUNE_PREFETCH_SCHEDULE=schedule))  # fmt: skip
        assert done.said() == [] and int(done.out) > 0, done.out
    assert served(place) > 0, "the first round alone has many"


def server_dies(place: Place) -> None:
    """Where the storage fails, the program sees it as it would, and no helper hangs."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        (pid,) = [int(process.name) for process in Path("/proc").glob("[0-9]*")
                  if {str(mount).encode(), b"--direct"} <= _command(process)]  # fmt: skip
        done = script(
            place, mount,
            f"""
import errno, signal
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
fd = os.open(sys.argv[1], os.O_RDONLY)
ends = []
for i in range(60):
    if i == 30:
        os.kill({pid}, signal.SIGKILL)
    try:
        assert os.pread(fd, 8192, i * 100_000) == good[i * 100_000:i * 100_000 + 8192]
        ends.append('read')
    except OSError as fault:
        assert fault.errno in (errno.ENOTCONN, errno.ECONNABORTED), fault
        ends.append('fault')
    time.sleep(0.003)
print(ends.index('fault'), ends.count('fault'))
""",
            **CACHE,
        )  # fmt: skip
    first, count = map(int, done.out.split())
    assert first >= 30 and count > 0 and first + count == 60, done.out


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def _command(process: Path) -> set[bytes]:
    try:
        return set((process / "cmdline").read_bytes().split(b"\0"))
    except OSError:
        return set()


def memory(place: Place) -> None:
    """Little memory, or none: hints, and the right bytes."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    long = [(i * (5 << 20), 4 << 20) for i in range(8)]
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        assert read_planned(place, mount, long, "pread", IOTUNE_PREFETCH_MEMORY_MIB=1) == []
        done = place.right(place.run(
            place.bin / "planned_reads", mount / "data", plan(place, long), "pread", 6000, **CACHE,
            IOTUNE_PREFETCH_MEMORY_MIB=16384,
            before=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
        ))  # fmt: skip
    (line,) = done.said()
    assert "memory" in line and "hints" in line, line
    for value in ("0", "16385", "many"):
        done = place.right(place.run("/bin/true", **CACHE, IOTUNE_PREFETCH_MEMORY_MIB=value))
        (line,) = done.said()
        assert f"IOTUNE_PREFETCH_MEMORY_MIB={value}" in line, line


@patiently
def table(place: Place) -> None:
    """Without the table of writers, or when it goes, hints are given, and one line says so."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    accesses = [(i * 100_000, 8192) for i in range(40)]
    file = place.buffers / "written-files-1"
    on_disk = place.scratch / "disk"
    on_disk.mkdir(mode=0o700)
    cases: list[tuple[str, dict[str, Any]]] = [("link", {}), ("mode", {}), ("limit", {})]
    if os.stat(on_disk).st_dev != os.stat(place.buffers).st_dev:
        cases.append(("disk", {"IOTUNE_BUFFER_DIR": on_disk}))
    if os.geteuid() != 0:
        cases.append(("folder", {}))
    else:
        not_verified("cache delivery: a folder that cannot be written, as root")
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        for name, env in cases:
            file.unlink(missing_ok=True)
            if name == "link":
                (place.scratch / "elsewhere").write_bytes(b"not ours")
                file.symlink_to(place.scratch / "elsewhere")
            elif name == "mode":
                file.write_bytes(b"")
                file.chmod(0o644)
            elif name == "folder":
                place.buffers.chmod(0o500)
            done = place.run(
                place.bin / "planned_reads", mount / "data", plan(place, accesses), "pread", 1000,
                **CACHE, **env, IOTUNE_TRACE=None if name == "limit" else place.trace,
                before=_small_files if name == "limit" else None,
            )  # fmt: skip
            place.buffers.chmod(0o700)
            place.right(done)
            lines = [line for line in done.said() if "DELIVERY" in line]
            assert len(lines) == 1 and "hints are given" in lines[0], (name, done.said())
            if name == "link":
                assert (place.scratch / "elsewhere").read_bytes() == b"not ours"
        file.unlink(missing_ok=True)
        done = script(
            place, mount,
            f"""
import os
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(80):
    if i == 40:
        os.unlink({str(file)!r})
    assert os.pread(fd, 8192, i * 100_000) == good[i * 100_000:i * 100_000 + 8192]
    time.sleep(0.004)
os.close(fd)
""",
            **CACHE,
        )  # fmt: skip
    (line,) = done.said()
    assert "removed" in line and 10 <= served(place) <= 40, (line, served(place))


def _torture(place: Place, milliseconds: int, seeds: int) -> None:
    (place.scratch / "root").mkdir(exist_ok=True)
    for number, schedule in enumerate(SCHEDULES):
        for options in (["--direct"], []):
            # One of a kind, or some of all.
            for _ in range(seeds or (number % 2 == len(options) % 2)):
                seed = random.randrange(1 << 20)
                with mounted(place, place.scratch / "fuse.iotrace", 1, *options) as mount:
                    done = place.run(
                        place.bin / "cache_torture", mount, milliseconds, seed, **CACHE,
                        IOTUNE_PREFETCH_SCHEDULE=schedule, seconds=60 + milliseconds / 1000,
                    )  # fmt: skip
                what = f"cache_torture … {milliseconds} {seed}, schedule {schedule}, {options}"
                place.right(done, what)
                assert done.said() == [], (what, done.err)
                print(f"{what}: {done.out.decode().strip()} reads, {served(place)} served")


def torture(place: Place) -> None:
    """Three processes read, write, truncate, rename, dup and fork: not one stale byte."""
    if fuse_works(place):
        _torture(place, 500, 0)


def long_torture(place: Place) -> None:
    """The same for minutes."""
    if fuse_works(place):
        _torture(place, 10_000, 4)


if __name__ == "__main__":
    main(
        {
            "served": is_served, "edges": edges, "writers": writers, "fork": fork,
            "signals": signals, "server-dies": server_dies, "memory": memory, "table": table,
            "torture": torture, "long-torture": long_torture,
        }
    )  # fmt: skip
