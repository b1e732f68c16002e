"""Regions that a program marks (include/iotune.h) are counted, with what it did in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from support import preloaded
from support.place import Place, main, not_verified

PYTHON = "/usr/bin/python3"
BLOCK = 4096
KEPT_ALONE = 256  # recorder/regions/regions.cpp


def regions(place: Place, file: Path | None = None) -> dict[tuple[str, ...], dict[str, Any]]:
    found = {tuple(one["path"]): one for one in place.summary(file)["regions"]}
    for one in found.values():
        assert one["io_seconds"] <= one["seconds"] or one["open"], one
        assert one["least_seconds"] <= one["largest_seconds"], one
    return found


def ran(place: Place, what: str, **how: Any) -> Any:
    place.clear()
    return place.right(place.run(place.bin / "regions", what, place.scratch, **how), what)


def marks(place: Place, name: str) -> list[dict[str, Any]]:
    return [call for call in place.calls() if call["name"] == f"iotune_{name}"]


def code(place: Place) -> None:
    """A program runs without iotune too, and reads what there is."""
    for name in ("regions", "regions_no_pie"):
        program = place.bin / name
        bare = place.right(place.run(program, "code", place.scratch, preload=False), name)
        assert bare.out == b"38 38\n", (name, bare.out)  # ENOSYS
        off = place.right(place.run(program, "code", place.scratch, IOTUNE_MODE="off"), name)
        assert off.out == b"95 95\n", (name, off.out)  # ENOTSUP
        on = place.right(place.run(program, "code", place.scratch), name)
        assert on.out == b"0 0\n", (name, on.out)
        # Nothing was read or written: there is no trace of it.
        assert not place.trace.exists() and not place.leftovers()


def nested(place: Place) -> None:
    """What lies inside counts for what is around it."""
    ran(place, "nested")
    found = regions(place)
    assert list(found) == [("epoch",), ("epoch", "step"), ("checkpoint",)]
    counts = {
        path: (one["entered"], one["calls"], one["bytes_written"], one["bytes_read"])
        for path, one in found.items()
    }
    assert counts == {
        ("epoch",): (3, 9, 9 * BLOCK, 0),
        ("epoch", "step"): (3, 6, 6 * BLOCK, 0),
        ("checkpoint",): (3, 3, 0, 3 * BLOCK),
    }
    assert found["epoch",]["seconds"] >= found["epoch", "step"]["seconds"] > 0
    begun = [(one["arguments"]["name"], one["arguments"]["value"])
             for one in marks(place, "region_begin")]  # fmt: skip
    none = -(2**63)
    assert begun[:3] == [("epoch", 0), ("step", none), ("checkpoint", 0)]
    assert [value for name, value in begun if name == "checkpoint"] == [0, 10, 20]


def million(place: Place) -> None:
    """A million entries cost as much as some hundreds."""
    ran(place, "million")
    (step,) = regions(place).values()
    assert (step["entered"], step["open"], step["calls"]) == (1_000_000, 0, 10_000)
    assert step["bytes_written"] == 10_000 * BLOCK
    assert place.trace.stat().st_size < 16384, place.trace.stat().st_size
    assert len(marks(place, "region_end")) == KEPT_ALONE
    (summed,) = marks(place, "regions")
    reported = summed["arguments"]
    assert reported["count"] == 1_000_000 - KEPT_ALONE
    assert (reported["first_value"], reported["last_value"]) == (KEPT_ALONE, 999_999)


def irregular(place: Place) -> None:
    """What was in rings that were emptied within the region counts."""
    ran(place, "irregular")
    (everything,) = regions(place).values()
    reads = [call for call in place.calls() if call["name"] == "pread"]
    assert everything["calls"] == len(reads) == 40_000
    # pread's numbers: bytes asked for, offset, result.
    assert everything["bytes_read"] == sum(call["arguments"]["result"] for call in reads)
    assert everything["io_seconds"] > 0


def unbalanced(place: Place) -> None:
    """An end of nothing is refused, one of an outer region ends the inner ones."""
    done = ran(place, "unbalanced")
    assert done.out == b"22 22 22 0 22\n", done.out  # EINVAL but once
    found = regions(place)
    assert {path: one["open"] for path, one in found.items()} == {
        ("outer",): 0, ("outer", "inner"): 0, ("left open",): 1,
    }  # fmt: skip
    assert found["outer",]["bytes_written"] == found["outer", "inner"]["bytes_written"] == BLOCK


def names(place: Place) -> None:
    """Names beyond the first 127 are one; of a long name the beginning and a hash are kept."""
    ran(place, "names")
    found = regions(place)
    assert len(found) == 128
    others = found["(other regions)",]
    assert sum(one["entered"] for one in found.values()) == 1000
    assert others["entered"] == 1000 - 127
    assert all(len(name) <= 208 for path in found for name in path)

    place.clear()
    place.right(place.run(place.bin / "regions", "long", place.scratch))
    long = [path[-1] for path in regions(place)]
    assert len(set(long)) == 2, long
    assert all(name.startswith("x" * 190) and len(name) < 208 for name in long), long


def deep(place: Place) -> None:
    """Below 64 regions none is recorded, and the ends still match."""
    ran(place, "deep")
    found = regions(place)
    assert max(len(path) for path in found) == 64
    assert all(one["entered"] == 1 and one["open"] == 0 for one in found.values())
    assert found["after",]["calls"] == 0


def deep_unbalanced(place: Place) -> None:
    """An end of nothing closes no other region, however deep it comes."""
    done = ran(place, "deep-unbalanced")
    assert done.out == b"22 0 22 22 0\n", done.out  # EINVAL where there is none
    found = regions(place)
    assert found["outer",]["bytes_written"] == BLOCK
    assert {one["open"] for one in found.values()} == {0}
    assert found["outer", "level"]["bytes_written"] == 0, found


def threads(place: Place) -> None:
    """Each thread has its own regions, and counts its own calls."""
    ran(place, "threads")
    (work,) = regions(place).values()
    assert (work["entered"], work["calls"], work["bytes_written"]) == (24, 72, 72 * BLOCK)
    assert len({one["thread"] for one in marks(place, "region_end")}) == 6


def fork(place: Place) -> None:
    """A child is in no region of its parent's."""
    ran(place, "fork")
    found = regions(place)
    assert found["parent",]["calls"] == 1
    assert found["parent",]["processes"] == 1
    if ("child",) not in found:  # its buffer waits for a command
        buffers = place.leftovers()
        joined = place.scratch / "child.iotrace"
        place._json("join", joined, *buffers)
        found = regions(place, joined)
    child = found["child",]
    assert (child["calls"], child["bytes_written"], child["entered"]) == (2, 2 * BLOCK, 1)


def killed(place: Place) -> None:
    """What was marked before a death is there, and which region it happened in."""
    place.clear()
    done = place.run(place.bin / "regions", "killed", place.scratch)
    assert done.status == 137, done.status
    joined = place.scratch / "killed.iotrace"
    place._json("join", joined, *place.leftovers())
    found = regions(place, joined)
    step, last = found["step",], found["last",]
    assert (step["entered"], step["open"], step["bytes_written"]) == (5000, 0, 50 * BLOCK)
    assert (last["entered"], last["open"]) == (1, 1)


def languages(place: Place) -> None:
    """C++ ends a region with its scope; Fortran marks them by a module of its own."""
    for name in ("regions_cpp", "regions_fortran"):
        program = place.bin / name
        if not program.exists():
            print(f"NOT VERIFIED: {name}: there is no gfortran")
            continue
        place.clear()
        bare = place.run(program, place.scratch / "data", preload=False)
        done = place.right(place.run(program, place.scratch / "data"), name)
        assert done.same_as(bare), (bare, done)
        found = regions(place)
        assert found["step",]["entered"] == 3, (name, found)
        assert found["step", "output"]["bytes_written"] > 0, (name, found)
        values = [one["arguments"]["value"] for one in marks(place, "region_begin")
                  if one["arguments"]["name"] == "step"]  # fmt: skip
        assert values == [1, 2, 3], (name, values)


def without_file(place: Place) -> None:
    """However many marks: what touches no file leaves none, a child of one that did neither."""
    ran(place, "marks")
    assert not place.trace.exists() and not place.leftovers(), place.leftovers()
    ran(place, "child-marks")
    assert not place.leftovers(), place.leftovers()
    heads = place.heads()
    assert len({call["process"] for call in place.calls()}) == 1, heads
    assert regions(place) == {}


def late(place: Place) -> None:
    """What was marked before the first file is in the trace that begins with it."""
    ran(place, "late")
    found = regions(place)
    assert found["main",]["entered"] == found["write",]["entered"] == 1
    assert found["write",]["bytes_written"] == BLOCK
    for i in range(8):
        part, inner = found["main", f"part {i}"], found["main", f"part {i}", "inner"]
        assert (part["entered"], part["open"], part["calls"]) == (500, 0, 0), part
        assert inner["entered"] == 500 and inner["seconds"] <= part["seconds"], inner
    assert len(found) == 2 + 2 * 8
    # Names for which there is no room are one.
    ran(place, "late-many")
    found = regions(place)
    named = [path for path in found if path[-1].startswith("part ")]
    assert 40 < len(named) < 127, len(named)
    assert sum(found[path]["entered"] for path in named) == 3 * len(named)
    # So are those inside of each other's.
    assert sum(one["entered"] for one in found.values()) == 1 + 2 * 900 + 1
    assert found["(other regions)",]["entered"] > 900
    assert found["write",]["bytes_written"] == BLOCK, "names that come later have their own"


def caliper(place: Place) -> None:
    """Caliper's regions are iotune's too, and Caliper gets them; here by a stand-in for it."""
    plugin = place.build / "lib" / "libcaliper_plugin.so"
    ways = ((place.bin / "caliper_program",), (place.bin / "caliper_host", plugin))
    for program, *more in ways:
        command = (program, place.scratch / "data", *more)
        bare = place.right(place.run(*command, preload=False), "bare")
        assert bare.out == b"2 2\n", bare.out
        place.clear()
        done = place.right(place.run(*command), program.name)
        assert done.out == bare.out, (program, done.out)
        found = regions(place)
        assert found["main",]["bytes_written"] == 2 * BLOCK, found
        assert found["main", "write"]["bytes_written"] == BLOCK, found


def missing_caliper(place: Place) -> None:
    """That there is no Caliper is found once, and that there is one when it comes."""
    command = (place.bin / "missing_caliper", place.build / "lib" / "libstand_in_caliper.so")
    bare = place.right(place.run(*command, preload=False), "bare")
    if bare.out == b"no such segment\n":
        not_verified("this linker puts symbols and code into one segment")
        return
    assert bare.out == b"1 1\n", bare.out
    done = place.right(place.run(*command), "missing")
    assert done.same_as(bare), done


MANY_CALIPERS = """
import ctypes, shutil, sys
caliper, plugin, folder = sys.argv[1:]
for i in range(20):
    copy = shutil.copy(caliper, f"{folder}/libcaliper-{i}.so")
    ctypes.CDLL(copy).stand_in_mark()
open(f"{folder}/data", "wb").write(bytes(5000))
print(ctypes.CDLL(plugin).go())
"""


def many_calipers(place: Place) -> None:
    """A Caliper is no MPI: however many are loaded, an HDF5 that comes later is still known."""
    library = place.build / "lib"
    done = place.right(
        place.run(PYTHON, "-c", MANY_CALIPERS, library / "libstand_in_caliper.so",
                  library / "libmock_plugin_1.so", place.scratch)
    )  # fmt: skip
    assert done.out == b"101\n" and done.err == b"", done
    assert len(marks(place, "region_end")) == 20
    assert [call["name"] for call in place.calls()].count("H5Fflush") == 1


def nvtx(place: Place) -> None:
    """Ranges that a program pushes and pops, by a stand-in for NVTX's header."""
    program = place.bin / "nvtx_program"
    bare = place.right(place.run(program, place.scratch / "data", preload=False), "bare")
    place.clear()
    done = place.right(place.run(program, place.scratch / "data"), "nvtx")
    assert bare.out == b"not initialized\n" and done.out == b"initialized\n", done.out
    found = regions(place)
    assert found["train",]["bytes_written"] == 2 * BLOCK, found
    assert found["train", "batch"]["entered"] == 2, found
    assert found["train", "batch", "wide"]["entered"] == 1, found
    values = [one["arguments"]["value"] for one in marks(place, "region_begin")
              if one["arguments"]["name"] == "batch"]  # fmt: skip
    assert values == [7, 8], values
    # A tool of the user's stays, nothing is named where nothing is recorded, nor inherited.
    ways: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
        ({"NVTX_INJECTION64_PATH": "/nonexistent.so"}, ()), ({"IOTUNE_MODE": "off"}, ()),
        ({}, ("/usr/bin/env", "-u", preloaded.VARIABLE)),
    )  # fmt: skip
    for how, command in ways:
        other = place.right(place.run(*command, program, place.scratch / "data", **how), "nvtx")
        assert other.out == bare.out, (how, command, other)
    listed = place.right(place.run("/usr/bin/env"), "env")
    assert b"NVTX" not in listed.out
    # Loaded without being preloaded there is nothing to record into.
    place.clear()
    alone = place.run(
        program, place.scratch / "data", preload=False, NVTX_INJECTION64_PATH=place.library,
        IOTUNE_TRACE=place.trace,
    )  # fmt: skip
    assert (alone.status, alone.out) == (0, b"initialized\n"), alone
    assert not place.trace.exists()


if __name__ == "__main__":
    os.umask(0o077)
    main(
        {
            "code": code, "nested": nested, "million": million, "irregular": irregular,
            "unbalanced": unbalanced, "names": names, "deep": deep,
            "deep-unbalanced": deep_unbalanced, "threads": threads,
            "fork": fork, "killed": killed, "languages": languages,
            "without-file": without_file, "late": late, "caliper": caliper,
            "missing-caliper": missing_caliper, "many-calipers": many_calipers, "nvtx": nvtx,
        }
    )  # fmt: skip
