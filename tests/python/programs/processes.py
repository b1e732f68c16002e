"""processes.py FOLDER: what processes that share files see of each other. Prints the same on every
file system that keeps what is written.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable

folder = sys.argv[1]
path = os.path.join(folder, "f")


def child(act: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        act()
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def whole(name: str) -> bytes:
    with open(name, "rb") as file:
        return file.read()


# A child shares the position, and its writes are its own.
fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
os.write(fd, b"parent ")
print(child(lambda: os.write(fd, b"child ")), os.lseek(fd, 0, os.SEEK_CUR))
os.write(fd, b"parent again")
os.close(fd)
print(whole(path))

# So do the children of a child, in a program of their own.
fd = os.open(path, os.O_RDWR)
os.set_inheritable(fd, True)
os.pwrite(fd, b"PARENT", 0)
code = "import os, sys; fd = int(sys.argv[1]); os.lseek(fd, 7, 0); os.write(fd, b'CHILD')"
subprocess.run([sys.executable, "-c", code, str(fd)], close_fds=False, check=True)
print(os.lseek(fd, 0, os.SEEK_CUR))
os.close(fd)
print(whole(path))

# exec itself, with what was not flushed.
if os.fork() == 0:
    fd = os.open(path, os.O_RDWR)
    os.pwrite(fd, b"exec", 30)
    os.set_inheritable(fd, True)
    os.execv(sys.executable, [sys.executable, "-c", f"import os; os.pwrite({fd}, b'after', 34)"])
os.wait()
print(whole(path))

# Appends of several processes: every line is there, whole.
lines = os.path.join(folder, "lines")
open(lines, "w").close()


def append(who: int) -> Callable[[], None]:
    def act() -> None:
        with open(lines, "ab", buffering=0) as file:
            for number in range(50):
                file.write(b"%d %d\n" % (who, number))

    return act


pids = []
for who in range(4):
    pid = os.fork()
    if pid == 0:
        append(who)()
        os._exit(0)
    pids.append(pid)
for pid in pids:
    os.waitpid(pid, 0)
found = sorted(tuple(map(int, line.split())) for line in whole(lines).split(b"\n") if line)
print(found == [(who, number) for who in range(4) for number in range(50)])

# A counter under a lock, as of shared file pointers.
counter = os.path.join(folder, "counter")
fd = os.open(counter, os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b"%08d" % 0, 0)
os.close(fd)
for lock, unlock, kind in (
    (fcntl.LOCK_EX, fcntl.LOCK_UN, fcntl.flock),
    (fcntl.LOCK_EX, fcntl.LOCK_UN, fcntl.lockf),
):
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            fd = os.open(counter, os.O_RDWR)
            for _ in range(30):
                kind(fd, lock)
                value = int(os.pread(fd, 8, 0))
                os.pwrite(fd, b"%08d" % (value + 1), 0)
                kind(fd, unlock)
            os.close(fd)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    print(kind.__name__, whole(counter))

# A removed file lives on for who has it open.
fd = os.open(path, os.O_RDWR)
os.unlink(path)
os.pwrite(fd, b"still", 0)
print(os.path.exists(path), os.pread(fd, 12, 0), os.fstat(fd).st_size)
os.close(fd)

# One is renamed over another that is open.
first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
for name in (first, second):
    with open(name, "w") as file:
        file.write(name[-6:])
with open(second) as old:
    os.rename(first, second)
    print(old.read(), whole(second), sorted(os.listdir(folder)))

# Vectors, holes, sparse ends.
fd = os.open(os.path.join(folder, "sparse"), os.O_RDWR | os.O_CREAT)
os.pwritev(fd, [b"a" * 5000, b"b" * 5000], 100_000)
os.ftruncate(fd, 300_000)
print(os.fstat(fd).st_size, os.preadv(fd, [bytearray(7), bytearray(9000)], 99_990))
print(os.pread(fd, 30, 99_990), os.pread(fd, 100, 299_990), os.pread(fd, 1, 300_000))
print(os.lseek(fd, -10, os.SEEK_END), os.read(fd, 100))
os.ftruncate(fd, 100_003)
os.ftruncate(fd, 100_006)
print(os.pread(fd, 100, 99_998))
print(os.sendfile(1, fd, 100_000, 3) == 3)
os.close(fd)
