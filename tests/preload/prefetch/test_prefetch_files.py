"""Files that are opened, read whole and closed: the next file is read ahead, by the order in which
they were read before.
"""

from __future__ import annotations

import os
import random
import stat
from collections import Counter
from pathlib import Path

from support.place import Place, main
from support.prefetching import fuse_works, mounted, notes_of_files, patiently, script

FILES, BYTES = 100, 40000
# What is read before a plan is chosen and trusted, and what a reader begins too late.
LEAST_AHEAD = 60

# A read of all and one at the end, as pathlib and zarr make them.
READER = f"""
import fcntl, hashlib, random
folder = os.path.dirname(sys.argv[1])
def order(seed, count={FILES}):
    return random.Random(seed).sample(range(count), count)
def whole(path):
    fd = os.open(path, os.O_RDONLY)
    found = os.read(fd, 1 << 20)
    os.read(fd, 1)
    os.close(fd)
    return found
def read_all(names):
    sum = hashlib.sha256()
    for name in names:
        sum.update(whole(os.path.join(folder, name)))
        time.sleep(0.008)
    return sum.hexdigest()
def samples(seed):
    return [f's/{{n:06}}.npy' for n in order(seed)]
def chunks(seed):
    return [f't.zarr/c/{{n // 10}}/{{n % 10}}' for n in order(seed)]
def forget(names):
    for name in names:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
"""
ONCE = READER + "print(os.getpid(), read_all(samples(1)))"
CHUNKS = READER + "print(os.getpid(), read_all(chunks(1)))"
EPOCHS = (
    READER
    + """
for epoch in range(3):
    found = read_all(samples(1))
    forget(samples(1))
print(os.getpid(), found)
"""
)
# New workers for each epoch, each of them with a part of its own; ended as multiprocessing does.
WORKERS = (
    READER
    + """
for epoch in range(2):
    children = []
    for number in (0, 1) if epoch == 0 else (1, 0):
        child = os.fork()
        if child == 0:
            out = os.open('/dev/null', os.O_WRONLY)
            read_all(samples(1)[number::2])
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    forget(samples(1))
    print(*children)
"""
)
LOCKED = (
    READER
    + """
assert read_all(samples(1)[:30]) != ''
locked = os.open(os.path.join(folder, samples(1)[60]), os.O_RDWR)
fcntl.lockf(locked, fcntl.LOCK_EX)
before = sorted(os.listdir('/proc/self/fd'))
assert read_all(samples(1)[30:50]) != ''
assert sorted(os.listdir('/proc/self/fd')) == before
assert read_all(samples(1)[50:60]) != ''
time.sleep(0.1)
child = os.fork()
if child == 0:
    fd = os.open(os.path.join(folder, samples(1)[60]), os.O_RDWR)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os._exit(0)
    os._exit(1)
print(os.getpid(), os.waitpid(child, 0)[1])
"""
)

# A file is open for writing all the time.
WRITING = READER + "kept = os.open(os.path.join(folder, 'open'), os.O_RDWR | os.O_CREAT)\n"
WRITING += "print(os.getpid(), read_all(samples(1)))"
# Begins under a filter that ends who calls close_range (436 everywhere).
FILTERED = (
    """
import ctypes, os, struct, sys
if 'FILTERED' not in os.environ:
    # load the number; is it 436; end the process; allow
    code = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 436, 6, 0, 0, 1 << 31,
                       6, 0, 0, 0x7fff0000)
    code = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 4, ctypes.addressof(code)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP
    os.environ['FILTERED'] = '1'
    os.execv(sys.executable, sys.orig_argv)
"""
    + ONCE
)


def make_files(place: Place) -> None:
    root = place.scratch / "root"
    names = [f"s/{n:06}.npy" for n in range(FILES)]
    names += [f"t.zarr/c/{n // 10}/{n % 10}" for n in range(FILES)]
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(random.Random(number).randbytes(BYTES))


def plans(place: Place) -> list[Path]:
    return sorted((place.state / "iotune" / "prefetch").glob("*"))


def ran(place: Place, text: str, **env: object) -> tuple[list[bytes], Counter[int]]:
    """What it printed, and the read requests of each thread."""
    trace = place.scratch / "fuse.iotrace"
    with mounted(place, trace, 4) as mount:
        done = script(place, mount, text, **{"IOTUNE_PREFETCH": "recorded", **env})
        assert done.said() == [], done.err
    threads = [int(head["attributes"]["pid"]) for head in place.heads(trace)]
    reads = [call for call in place.calls(trace) if call["name"] == "pread"]
    made = Counter(threads[call["process"]] for call in reads)
    print(dict(made), done.out)
    return done.out.split(), made


def read_by(out: list[bytes], made: Counter[int]) -> int:
    return made[int(out[0])]


def planned(place: Place, text: str) -> None:
    """The second run's files are read ahead by the first one's order, and have the same bytes."""
    make_files(place)
    (_, bare), _ = ran(place, text, IOTUNE_PREFETCH="none")
    first, made = ran(place, text)
    assert read_by(first, made) >= FILES and first[1] == bare
    (plan,) = plans(place)
    # Names differ by their numbers alone.
    assert plan.name.endswith(".files") and plan.stat().st_size < 4 * FILES
    for schedule in ("none", "ours"):
        again, made = ran(place, text, IOTUNE_PREFETCH_SCHEDULE=schedule)
        assert again[1] == bare
        assert read_by(again, made) <= FILES - LEAST_AHEAD, schedule
        assert plans(place) == [plan]
    reported = notes_of_files(place)
    assert (
        sum(one["hits"] > 0 and one["predictor"] == "recorded" for one in reported) >= LEAST_AHEAD
    )
    assert {(one["requested_bytes"], one["unused_bytes"]) for one in reported} == {(BYTES, 0)}


@patiently
def samples(place: Place) -> None:
    """A file a sample."""
    if fuse_works(place):
        planned(place, ONCE)


@patiently
def chunks(place: Place) -> None:
    """A zarr directory of two dimensions: its chunks lie in numbered folders."""
    if fuse_works(place):
        planned(place, CHUNKS)


@patiently
def epochs(place: Place) -> None:
    """The second epoch of one order is read ahead in the first run."""
    if not fuse_works(place):
        return
    make_files(place)
    out, made = ran(place, EPOCHS)
    assert FILES <= read_by(out, made) <= FILES + 2 * (FILES - LEAST_AHEAD)


@patiently
def workers(place: Place) -> None:
    """New workers find the plan of the one that had their part in the epoch before."""
    if not fuse_works(place):
        return
    make_files(place)
    out, made = ran(place, WORKERS)
    first, second = [int(word) for word in out[:2]], [int(word) for word in out[2:]]
    assert sum(made[one] for one in first) >= FILES - 10
    assert sum(made[one] for one in second) <= FILES - LEAST_AHEAD // 2
    assert len(plans(place)) == 2


@patiently
def locks(place: Place) -> None:
    """Reading a file ahead drops no lock on it, and no descriptor is seen."""
    if not fuse_works(place):
        return
    make_files(place)
    ran(place, ONCE)
    out, made = ran(place, LOCKED)
    assert int(out[1]) == 0, "the lock is gone"
    assert read_by(out, made) <= 60 - LEAST_AHEAD // 2


@patiently
def writing(place: Place) -> None:
    """No file is read ahead where a close would write out what the program has open."""
    if not fuse_works(place):
        return
    make_files(place)
    ran(place, ONCE)
    out, made = ran(place, WRITING)
    assert read_by(out, made) >= FILES


@patiently
def filtered(place: Place) -> None:
    """A filter from the start ends nobody for a call of a reader's: there is none."""
    if not fuse_works(place):
        return
    make_files(place)
    ran(place, ONCE)
    out, made = ran(place, FILTERED)
    assert read_by(out, made) >= FILES


@patiently
def replaced(place: Place) -> None:
    """What is not there any more, or no file any more, is left alone; the next ones are read."""
    if not fuse_works(place):
        return
    make_files(place)
    ran(place, ONCE)
    root = place.scratch / "root" / "s"
    order = random.Random(1).sample(range(FILES), FILES)
    for n in order[20:25]:
        (root / f"{n:06}.npy").unlink()
    os.mkfifo(root / f"{order[20]:06}.npy")
    text = ONCE.replace("samples(1)))", "[n for n in samples(1) if n not in samples(1)[20:25]]))")
    out, made = ran(place, text)
    assert stat.S_ISFIFO((root / f"{order[20]:06}.npy").stat().st_mode)
    assert read_by(out, made) <= FILES - LEAST_AHEAD


@patiently
def damaged(place: Place) -> None:
    """A plan that is none is as if there were none, and is written anew."""
    if not fuse_works(place):
        return
    make_files(place)
    ran(place, ONCE)
    (plan,) = plans(place)
    whole = plan.read_bytes()
    plan.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    out, made = ran(place, ONCE)
    assert read_by(out, made) >= FILES
    assert plans(place) == [plan] and plan.read_bytes() == whole


CASES = {
    "samples": samples, "chunks": chunks, "epochs": epochs, "workers": workers, "locks": locks,
    "writing": writing, "filtered": filtered, "replaced": replaced, "damaged": damaged,
}  # fmt: skip

if __name__ == "__main__":
    main(CASES)
