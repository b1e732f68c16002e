"""corners.py FOLDER: where programs meet a file in unusual ways. Prints the same on every file
system that keeps what is written.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial

folder = sys.argv[1]


def at(name: str) -> str:
    return os.path.join(folder, name)


def whole(name: str) -> bytes:
    with open(at(name), "rb") as file:
        return file.read()


def code_of(call: Callable[[], object]) -> str:
    try:
        call()
    except OSError as problem:
        return errno.errorcode[problem.errno or 0]
    return "no error"


# A child of vfork, or posix_spawn, that appends by its stdout, in turn with its parent.
with open(at("log"), "w") as log:
    log.write("first line\n")
with open(at("log"), "a") as log:
    subprocess.run(["/bin/echo", "echo"], stdout=log, check=True)
    log.write("parent\n")
    log.flush()
    subprocess.run(["/bin/echo", "echo again"], stdout=log, check=True)
print(whole("log"))

# What was written such a child sees.
with open(at("seen"), "wb") as file:
    file.write(b"seen")
    file.flush()
    print(subprocess.run(["/bin/cat", at("seen")], capture_output=True, check=True).stdout)
    os.system(f"/bin/cat '{at('seen')}' > '{at('copy')}'")
print(whole("copy"))

# Two processes that share a position: nothing is written twice to one place.
fd = os.open(at("shared"), os.O_RDWR | os.O_CREAT)
pid = os.fork()
for _ in range(5000):
    os.write(fd, b"parent.\n" if pid else b"child..\n")
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
print(os.lseek(fd, 0, os.SEEK_CUR))
os.close(fd)
lines = whole("shared").split()
print(len(lines), lines.count(b"parent."), lines.count(b"child.."))

# Nor is anything read twice.
fd = os.open(at("shared"), os.O_RDONLY)
pid = os.fork()
got = b""
while piece := os.read(fd, 8):
    got += piece
if pid == 0:
    with open(at("half"), "wb") as file:
        file.write(got)
    os._exit(0)
os.waitpid(pid, 0)
os.close(fd)
print(sorted((got + whole("half")).split()) == sorted(lines))

# A link that leads elsewhere the next time.
for name in ("one", "other"):
    os.mkdir(at(name))
    os.symlink(name, at("new link"))
    os.replace(at("new link"), at("link"))
    fd = os.open(at("link/f"), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(fd, name.encode())
    os.close(fd)
print(whole("one/f"), whole("other/f"))

# All descriptors are closed, in either order, and the file is opened again.
for numbers in (range(3, 2048), range(2047, 2, -1), None):
    fd = os.open(at("closed"), os.O_RDWR | os.O_CREAT)
    os.write(fd, b"before")
    if numbers is None:
        os.closerange(3, 4096)
    else:
        for number in numbers:
            code_of(partial(os.close, number))
    fd = os.open(at("closed"), os.O_RDWR)
    print(os.read(fd, 100), os.pwrite(fd, b"A", 0))
    os.close(fd)
    print(whole("closed"))

# Names of descriptors.
fd = os.open(at("log"), os.O_RDONLY)
for name in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
    print(whole(name) == whole("log"), os.stat(name).st_size)
    program = ["/usr/bin/stat", "-L", "-c", "%s", name]
    print(subprocess.run(program, capture_output=True, pass_fds=[fd], check=True).stdout)
os.close(fd)
by_name = "open('/dev/stdout', 'a').write('by its name')"
with open(at("stdout"), "w") as text:
    subprocess.run([sys.executable, "-c", by_name], stdout=text, check=True)
print(whole("stdout"))

# A slash at the end.
print(code_of(lambda: os.open(at("none/"), os.O_WRONLY | os.O_CREAT)), os.path.exists(at("none")))
print(code_of(lambda: os.open(at("log/"), os.O_RDONLY)), code_of(lambda: os.stat(at("log/"))))
