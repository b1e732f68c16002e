"""What is prefetched, proved by what was requested and by whom (support/prefetching.py)."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from typing import Any

from support.place import Place, main
from support.prefetching import (
    BLOCK,
    PATIENCE_MS,
    begin,
    data_file,
    drive,
    fuse_works,
    mounted,
    notes,
    patiently,
    plan,
    requests,
    script,
)


@patiently
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
        assert beyond <= said["depth"] * BLOCK, f"{method}: {beyond} unused bytes"
        assert said["predictor"] == "pattern" and said["reads"] in range(95, 102), said
        assert said["hits"] >= 94 and said["saved_ns"] > 0, said


@patiently
def permuted(place: Place) -> None:
    """Sixty places in an order without a loop, again and again further on: steps are remembered."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    order = list(range(60))
    random.Random(3).shuffle(order)
    accesses = [((60 * turn + one) * 40 * 4096, 4096) for turn in range(6) for one in order]
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        # With time enough between reads: to wait for what nobody predicts would take minutes.
        done = place.right(
            place.run(place.bin / "planned_reads", mount / "data", plan(place, accesses),
                      "pread-alone", 10000, 0, IOTUNE_PREFETCH="pattern")
        )  # fmt: skip
    assert done.said() == [], done.err
    reads, cached, _, _ = map(int, done.out.split())
    assert reads == 360
    # Nobody knows the first two turns: the one that is not remembered, and the one that is.
    assert cached >= 220, f"{cached} of 360 were prefetched"
    assert notes(place)["predictor"] == "pattern"


@patiently
def large(place: Place) -> None:
    """Reads of some fifty requests each: no hint is dropped by a file system that has many."""
    if not fuse_works(place):
        return
    data_file(place, 96 << 20)
    accesses = [(i * (7 << 20), 6 << 20) for i in range(13)]
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        reads, cached = drive(place, mount, accesses)
    assert reads == 13
    assert cached >= 7, f"{cached} of 13 were prefetched"


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


@patiently
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


def many_kept(place: Place) -> None:
    """Who opens a file again and again leaves a bounded number of models, and no memory."""
    data_file(place, 16 << 20)
    text = """
def held():
    return int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGE_SIZE')
for round in range(300):
    fd = os.open(sys.argv[1], os.O_RDONLY)
    for i in range(8):
        os.pread(fd, 4096, i * 300_000)
    os.close(fd)
    if round == 1:
        before = held()
assert held() - before < 4 << 20, held() - before
"""
    for predictor in ("markov", "recorded"):
        folder = place.state / "iotune" / "prefetch"
        for _ in range(2):
            script(place, place.scratch / "root", text, IOTUNE_PREFETCH=predictor)
            models = list(folder.glob(f"*.{predictor}"))
            # Markov learns nothing of reads that come out of memory, and keeps nothing then.
            least = 1 if predictor == "recorded" else 0
            assert least <= len(models) <= 64, (predictor, len(models))
            # The second run finds each of them damaged.
            for model in models:
                content = bytearray(model.read_bytes()) + bytes(200_000)
                model.write_bytes(content)


@patiently
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
        # On a machine with much else to do, a process that gives way gets little.
        assert len(helpers) >= 5, f"{schedule}: {len(helpers)} requests of the helper"
        # A request of the program may begin in the moment after the helper has looked.
        margin = 300e-6
        begun[schedule] = sum(
            any(a + margin < begin(c) < b - margin for a, b in waits) for c in helpers
        ) * 100 // len(helpers)  # fmt: skip
    # per cent of the helper's requests
    assert max(begun["none"], begun["pp"]) >= 4, begun
    assert begun["ppis"] <= 3 and begun["ours"] <= 3, begun


@patiently
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


@patiently
def scattered(place: Place) -> None:
    """Random reads are left to themselves: hardly a byte is requested and never read."""
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
    unused = sum(length for process, offset, length in requests(place, trace)
               if process != 0 and offset // BLOCK * BLOCK not in wanted)  # fmt: skip
    assert unused <= 300 * BLOCK // 20, f"seed {seed}: {unused} unused bytes"


def bad_values(place: Place) -> None:
    """An unknown value is said in one line, and nothing is prefetched."""
    for name in ("IOTUNE_PREFETCH", "IOTUNE_PREFETCH_SCHEDULE"):
        env: dict[str, Any] = {"IOTUNE_PREFETCH": "pattern", name: "quick"}
        done = place.right(place.run("/bin/true", **env))
        (line,) = done.said()
        assert f"{name}=quick" in line, line


def missing_library(place: Place) -> None:
    """Without libiotune-prefetch.so, or with something else of that name, one line says so."""
    source = place.buffers / "left_behind.c"
    source.write_text("int of_another_build[99] = {1};\n"
                      "void* iotune_service(void) { return of_another_build; }\n")  # fmt: skip
    subprocess.run(["cc", "-shared", "-fPIC", "-o", source.with_suffix(".so"), source], check=True)
    alone = place.buffers / "lib"  # LD_PRELOAD splits at spaces
    alone.mkdir()
    shutil.copy(place.library, alone)
    place.library = alone / "libiotune.so"
    copy = "import os, sys; fd = os.open(sys.argv[1], os.O_RDONLY); print(len(os.pread(fd, 99, 1)))"
    (place.scratch / "file").write_bytes(b"x" * 50)
    for content, words in (
        (None, "cannot be loaded"), (b"\x7fELF, but not really", "cannot be loaded"),
        (source.with_suffix(".so").read_bytes(), "different versions"),
    ):  # fmt: skip
        if content is not None:
            (alone / "libiotune-prefetch.so").write_bytes(content)
        done = place.right(place.run("/usr/bin/python3", "-c", copy, place.scratch / "file",
                                     IOTUNE_PREFETCH="pattern"))  # fmt: skip
        assert done.out == b"49\n", done.out
        (line,) = done.said()
        assert str(alone / "libiotune-prefetch.so") in line and words in line, line
        assert "nothing is prefetched" in line, line
        assert [c for c in place.calls() if c["name"] == "pread"], "nothing was recorded"
        # Nobody who did not ask hears of it.
        assert place.right(place.run("/bin/true")).said() == []


def loaded(place: Place) -> None:
    """Only a process that is to prefetch loads the library."""
    maps = "print('libiotune-prefetch' in open('/proc/self/maps').read())"
    cases: list[tuple[dict[str, Any], bytes]] = [
        ({"IOTUNE_PREFETCH": "pattern"}, b"True"), ({}, b"False"),
        ({"IOTUNE_PREFETCH": "none"}, b"False"),
        ({"IOTUNE_PREFETCH": "pattern", "IOTUNE_MODE": "record"}, b"False"),
    ]  # fmt: skip
    for env, expected in cases:
        done = place.right(place.run("/usr/bin/python3", "-S", "-c", maps, **env))
        assert done.out.strip() == expected, (env, done.out)


if __name__ == "__main__":
    main(
        {
            "strided": strided, "permuted": permuted, "large": large, "without": without,
            "end": end, "scattered": scattered, "kept": kept, "many-kept": many_kept,
            "schedules": schedules, "bad-values": bad_values,
            "missing-library": missing_library, "loaded": loaded,
        }
    )  # fmt: skip
