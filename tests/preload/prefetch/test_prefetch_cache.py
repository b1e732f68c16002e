"""IOTUNE_PREFETCH_DELIVERY=cache: what is served, and that it never differs from the file.

On a mount past the page cache (--direct) each read of the program that is not served is a request
of the program's own in the mount's trace.
"""

from __future__ import annotations

import os
import random

from support.place import Place, main, not_verified
from support.prefetching import (
    BLOCK,
    CACHE,
    data_file,
    fuse_works,
    mounted,
    patiently,
    read_planned,
    requests,
    script,
    served,
)

SCHEDULES = ("none", "pp", "ppis", "ours")


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
            # No offset is the position, though what lies there is there.
            assert os.lseek(fd, at, 0) == at
            for wrong in (-1, -(2**63)):
                ctypes.set_errno(0)
                assert libc.pread(fd, ctypes.c_void_p(page), 4096, ctypes.c_long(wrong)) == -1
                assert ctypes.get_errno() == errno.EINVAL and os.lseek(fd, 0, 1) == at
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
def huge(place: Place) -> None:
    """Up to the largest offset: what would end past it is EINVAL, however much of it is there."""
    if not fuse_works(place):
        return
    root = place.buffers / "huge"  # a file system that has such files
    root.mkdir()
    if not (place.scratch / "root").is_symlink():
        (place.scratch / "root").symlink_to(root)
    (root / "data").touch()
    try:
        os.truncate(root / "data", 2**63 - 1)
    except OSError:
        return not_verified("cache delivery: no file of 2**63 - 1 bytes can be made here")
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        script(
            place, mount,
            """
import errno
fd = os.open(sys.argv[1], os.O_RDONLY)
step = 2**63 // 60
for i in range(60):
    assert os.pread(fd, 4096, i * step) == bytes(4096)
    time.sleep(0.003)
for length, expected in ((31, 31), (32, None), (4096, None)):
    for i in range(20, -1, -1):
        try:
            got = len(os.pread(fd, length, 2**63 - 32 - i * 100_000))
        except OSError as fault:
            assert fault.errno == errno.EINVAL
            got = None
        assert got == (length if i else expected), (i, length, got)
        time.sleep(0.003)
""",
            **CACHE,
        )  # fmt: skip
    assert served(place) >= 40, served(place)


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


@patiently
def ranks(place: Place) -> None:
    """ROMIO's reads are served from MPI_Init on, unless a rank does not tell what it writes."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    here, other = (f"IOTUNE_PREFETCH_DELIVERY={how}" for how in ("cache", "hint"))
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        reader = ["env", here, place.bin / "strided_reads", mount / "data", 40, 6000]
        done = place.right(place.mpi(2, *reader, **CACHE, IOTUNE_DB="none"))
        found = [c["arguments"]["served"] for c in place.calls() if c["name"] == "iotune_prefetch"]
        assert done.said() == [] and len(found) == 2 and min(found) >= 20, (done.err, found)
        place.trace.unlink()
        done = place.right(place.mpi(1, *reader, ":", "-n", 1, "env", other, *reader[2:],
                                     **CACHE, IOTUNE_DB="none", shim=False))  # fmt: skip
    (line,) = done.said()
    assert "not all ranks" in line and served(place) == 0, (line, served(place))


@patiently
def rewritten(place: Place) -> None:
    """A rank rewrites, syncs and meets a reader in a barrier, who is served nothing stale."""
    if not fuse_works(place):
        return
    (place.scratch / "root").mkdir(exist_ok=True)
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        done = place.right(place.mpi(2, place.bin / "rewritten_reads", mount / "data", 3, 40, 6000,
                                     **CACHE, IOTUNE_DB="none"))  # fmt: skip
    assert done.said() == [], done.err
    found = [c["arguments"] for c in place.calls() if c["name"] == "iotune_prefetch"]
    assert max(one["served"] for one in found) >= 40, found


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
            "served": is_served, "edges": edges, "huge": huge, "writers": writers, "fork": fork,
            "signals": signals, "ranks": ranks, "rewritten": rewritten, "torture": torture,
            "long-torture": long_torture,
        }
    )  # fmt: skip
