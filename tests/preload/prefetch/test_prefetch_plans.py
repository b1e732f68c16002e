"""Plans of workers: processes that read one file, each in an order of its own, epoch by epoch."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from support.place import Place, main
from support.prefetching import data_file, fuse_works, mounted, patiently, script

READS = 100
# What may have to be read before a plan is chosen, and what a helper begins too late.
LEAST_AHEAD = 60

ORDERS = f"""
import random
def order(seed):
    return random.Random(seed).sample(range(1000), {READS})
def read_all(fd, blocks):
    for block in blocks:
        os.pread(fd, 4096, block * 65536)
        time.sleep(0.008)
"""
# An index first, as each worker reads one, then its own part; ended as multiprocessing does.
WORKERS = (
    ORDERS
    + """
def worker(seed):
    fd = os.open(sys.argv[1], os.O_RDONLY)
    read_all(fd, list(range(8)) + order(seed))
    os._exit(0)
first, second = (2, 1) if 'swapped' in os.environ.get('ORDER', '') else (1, 2)
children = []
for seed in (first, second):
    child = os.fork()
    if child == 0:
        worker(seed)
    children.append(child)
    # The second one of the first run must not find the first one's plan half-way.
    time.sleep(0.05)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
print(*children)
"""
)
# One descriptor, as a worker that stays has it.
EPOCHS = (
    ORDERS
    + """
fd = os.open(sys.argv[1], os.O_RDONLY)
read_all(fd, range(8))
for epoch in range(3):
    read_all(fd, order(1))
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
print(os.getpid())
"""
)


def requested(place: Place, text: str, **env: str) -> Counter[int]:
    """How many requests each thread made, by its number in the kernel, and below -1 how many."""
    trace = place.scratch / "fuse.iotrace"
    with mounted(place, trace, 4) as mount:
        done = script(place, mount, text, IOTUNE_PREFETCH="recorded", **env)
        assert done.said() == [], done.err
    names = [int(head["attributes"]["pid"]) for head in place.heads(trace)]
    reads = [call for call in place.calls(trace) if call["name"] == "pread"]
    own = {int(word) for word in done.out.split()}
    made = Counter(names[call["process"]] for call in reads)
    print({name: count for name, count in made.items()}, "own", own)
    return Counter({name: made[name] for name in own})


@patiently
def workers(place: Place) -> None:
    """Each worker finds its own plan among those of the path, in whatever order they start."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    first = requested(place, WORKERS)
    # given: a plan each (the index of one of them may come out of the page cache)
    assert all(count >= READS - 10 for count in first.values()), first
    plans = sorted((place.state / "iotune" / "prefetch").glob("*.recorded"))
    assert len(plans) == 2, plans
    for order in ("same", "swapped"):
        # when
        again = requested(place, WORKERS, ORDER=order)
        # then
        assert all(count <= READS - LEAST_AHEAD for count in again.values()), (order, again)
    # and none is written down a second time
    assert sorted((place.state / "iotune" / "prefetch").glob("*.recorded")) == plans


@patiently
def epochs(place: Place) -> None:
    """A stream that begins its past anew is predicted from its first run's second epoch on."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    (own,) = requested(place, EPOCHS).values()
    assert READS <= own <= READS + 2 * (READS - LEAST_AHEAD), own


def few_reads(place: Place) -> None:
    """A folder of small files leaves no plan a file."""
    data_file(place, 64 << 20)
    text = """
for n in range(50):
    path = f'{os.path.dirname(sys.argv[1])}/{n}.npy'
    with open(path, 'wb') as file:
        file.write(bytes(10000))
    fd = os.open(path, os.O_RDONLY)
    os.pread(fd, 128, 0)
    os.pread(fd, 9872, 128)
    os.close(fd)
"""
    for predictor in ("markov", "recorded"):
        script(place, place.scratch / "root", text, IOTUNE_PREFETCH=predictor)
    # but the order of all, see test_prefetch_files.py
    (plan,) = (place.state / "iotune").glob("prefetch/*")
    assert plan.suffix == ".files", plan


# A stream for each order, one after the other.
STREAMS = (
    ORDERS
    + """
for seed in map(int, os.environ['SEEDS'].split()):
    fd = os.open(sys.argv[1], os.O_RDONLY)
    read_all(fd, order(seed)[:40])
    os.close(fd)
"""
)


def record(place: Place, *seeds: int) -> list[Path]:
    """Streams of these orders, each of a file's own number; the plans there are then."""
    done = script(place, place.scratch / "root", STREAMS, IOTUNE_PREFETCH="recorded",
                  SEEDS=" ".join(map(str, seeds)))  # fmt: skip
    assert done.said() == [], done.err
    return plans_of(place)


def plans_of(place: Place) -> list[Path]:
    folder = place.state / "iotune" / "prefetch"
    return sorted(folder.glob("*.recorded"), key=lambda path: int(path.stem.split("-")[2]))


def checked(content: bytes) -> bytes:
    """A plan's or model's file with these contents."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return content + (crc ^ 0xFFFFFFFF).to_bytes(4, "little")


def age(path: Path, days: int) -> int:
    """Let a file be so many days old; its time in ns."""
    when = time.time_ns() - days * 86400 * 10**9
    os.utime(path, ns=(when, when))
    return path.stat().st_mtime_ns


def large_plans(place: Place) -> None:
    """Whatever the sizes of a path's plans, each is compared; the one that is followed is young."""
    data_file(place, 64 << 20)
    plans = record(place, 1, 2, 3, 4, 5)
    assert len(plans) == 5, plans
    before = {}
    for plan in plans:
        # A plan ends with its first short piece, whatever stands behind that.
        plan.write_bytes(checked(plan.read_bytes()[:-4] + bytes(700_000)))
        before[plan] = age(plan, 2)
    assert record(place, 5) == plans, "it was recorded once more"
    changed = [plan for plan in plans if plan.stat().st_mtime_ns != before[plan]]
    assert changed == [plans[4]], changed


def oldest_goes(place: Place) -> None:
    """Of a path with as many plans as there may be, a new one takes the place of the oldest."""
    data_file(place, 64 << 20)
    [first] = record(place, 1)
    content = first.read_bytes()
    begin, _, end = first.name.rpartition("-0.")
    for number in range(64):
        path = first.with_name(f"{begin}-{number}.{end}")
        path.write_bytes(content)
        age(path, 30 if number == 17 else 20 - number // 4)
    plans = record(place, 2)
    assert len(plans) == 64
    assert [number for number, plan in enumerate(plans) if plan.read_bytes() != content] == [17]
    # Neither damage nor a gap hides the others.
    plans[0].write_bytes(b"damaged")
    for number in (*range(1, 17), *range(18, 64)):
        plans[number].unlink()
    again = record(place, 2)
    assert again == [plans[17]], again


def bounded(place: Place) -> None:
    """The folder has 128 MiB at most, the oldest files go, and what a death left of a file."""
    data_file(place, 64 << 20)
    folder = place.state / "iotune" / "prefetch"
    folder.mkdir(parents=True)
    others = [folder / f"{number:016x}-0-0.recorded" for number in range(300)]
    for number, path in enumerate(others):
        path.touch()
        os.truncate(path, 1 << 20)
        age(path, 400 - number)
    drafts = [folder / ".draft-0123456789abcdef", folder / f"{others[0].name}.4711"]
    fresh = folder / ".draft-fedcba9876543210"
    notes = folder / "notes.txt"
    for path in (*drafts, fresh, notes):
        path.touch()
    for path in (*drafts, notes):
        age(path, 500)
    record(place, 1)
    left = [path for path in others if path.exists()]
    assert 100 <= len(left) <= 128 and left == others[-len(left) :], len(left)
    assert len(plans_of(place)) == len(left) + 1
    assert not any(path.exists() for path in drafts)
    assert fresh.exists() and notes.exists()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 128 << 20


CASES = {"workers": workers, "epochs": epochs, "few-reads": few_reads,
         "large-plans": large_plans, "oldest-goes": oldest_goes, "bounded": bounded}  # fmt: skip

if __name__ == "__main__":
    main(CASES)
