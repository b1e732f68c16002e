"""Plans of workers: processes that read one file, each in an order of its own, epoch by epoch."""

from __future__ import annotations

from collections import Counter

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
    """A stream that begins its own past anew is foretold from the second epoch of its first run."""
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
    for predictor in ("recorded", "markov"):
        script(place, place.scratch / "root", text, IOTUNE_PREFETCH=predictor)
    assert list((place.state / "iotune").glob("prefetch/*")) == []


CASES = {"workers": workers, "epochs": epochs, "few-reads": few_reads}

if __name__ == "__main__":
    main(CASES)
