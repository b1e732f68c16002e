"""The replayer does what a plan says, and says what is wrong with one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from support.kernel_programs import Programs, dumped_dims, flip_bit, main
from support.repository import ROOT

WRITES = """\
iotune-plan 1  # everything that a plan can say about writing
ranks 4
file elsewhere/a%20b.h5 create
dataset 0 /Step%230/x 4 1 4000
transfer write 0 independent
slab 0  0 1 1000 1
slab 1  1000 1 1000 1
slab 2  2000 1 1000 1
slab 3  3000 1 1000 1

dataset 7 /g/h/y 8 2 16 12 chunk 4 5 deflate 2
transfer write 7 collective
slab 0  0 0  2 3  2 4  1 1
slab 0  0 1  2 3  2 4  1 1
slab 0  4 0  1 1  12 12  1 1
none 2
dataset 8 /rows 3 2 16 4
transfer write 8 independent repeat 4 4 0
slab 0  0 0  1 1  1 4  1 1
slab 1  1 0  1 1  1 4  1 1
slab 2  2 0  1 1  1 4  1 1
slab 3  3 0  1 1  1 4  1 1
dataset 9 /s 1 0
transfer write 9 independent
all 2
dataset 10 /p 8 2 5 5
transfer write 10 collective
points 0  1 1  0 0  4 4
points 0  3 3   # more
dataset 11 /never 8 1 5
close
"""
WRITTEN = 4000 * 4 + (16 + 12 * 12) * 8 + 16 * 4 * 3 + 1 + 4 * 8

READS = """\
iotune-plan 1
ranks 2
file r.h5 open
dataset 0 /a/b 8 3 1 1 100000 chunk 1 1 999 deflate 1
dataset 1 /a/c 8 2 100 7
dataset 2 /a/s 16 0
dataset 3 /a/empty 8 2 0 7
transfer read 0 independent
slab 1  0 0 17  1 1 3  1 1 1000  1 1 2
transfer read 1 collective repeat 3 -10 1
slab 0  50 0  5 1  4 5  2 1
transfer read 2 independent
all 0
all 1
close
file r.h5 open
dataset 5 /late 4 1 6
dataset 6 /a/s 16 0
transfer read 5 independent
points 0  5 0
transfer write 5 independent
slab 1  0 1 6 1
close
"""
MOVED = 2000 * 8 + 3 * 8 * 5 * 8 + 2 * 16 + 2 * 4 + 6 * 4


def write_plan(programs: Programs, text: str) -> Path:
    plan: Path = programs.scratch / "the.plan"
    plan.write_text(text)
    return plan


def writes(programs: Programs) -> None:
    plan = write_plan(programs, WRITES)
    (programs.scratch / "out").mkdir()
    done = programs.result(4, "iotune-replay", "--verify", "--file-dir", "out", "--repeat", 2, plan)
    assert done["bytes"] == 2 * WRITTEN and done["files"] == 1, (done, WRITTEN)
    rounds = done["rounds"]
    assert isinstance(rounds, list) and len(rounds) == 2, done
    assert abs(sum(rounds) - float(str(done["seconds"]))) < 1e-4, done
    (median,) = done["file_seconds"]
    assert abs(median - sum(rounds) / 2) < 1e-4, done
    # What HDF5 writes beside the data is some kilobytes; --verify reads after the counting.
    (moved,), (calls,) = done["file_moved_bytes"], done["file_system_calls"]
    assert WRITTEN <= moved < WRITTEN + 65536, (done, WRITTEN)
    assert 10 < calls < 1000, done
    (seconds,) = done["file_processor_seconds"]
    assert 0 < seconds, done
    assert dumped_dims(programs.scratch / "out" / "a b.h5") == {
        "/Step#0/x": (4000,), "/g/h/y": (16, 12), "/rows": (16, 4), "/s": (), "/p": (5, 5),
        "/never": (5,),
    }  # fmt: skip
    # A real run's own file is not replaced without being asked to.
    (programs.scratch / "elsewhere").mkdir()
    programs.right(4, "iotune-replay", plan)
    programs.wrong(1, "a b.h5", "--overwrite", command=(4, "iotune-replay", plan))
    programs.right(4, "iotune-replay", "--overwrite", plan)


def reads(programs: Programs) -> None:
    plan = write_plan(programs, READS)
    programs.wrong(1, "r.h5", command=(2, "iotune-replay", "--file-dir", ".", plan))
    prepared = (2, "iotune-replay", "--file-dir", ".", "--prepare", "--verify", plan)
    done = programs.result(*prepared)
    assert done["bytes"] == MOVED and done["files"] == 2, (done, MOVED)
    file = programs.scratch / "r.h5"
    assert dumped_dims(file) == {
        "/a/b": (1, 1, 100000), "/a/c": (100, 7), "/a/s": (), "/a/empty": (0, 7), "/late": (6,),
    }  # fmt: skip
    assert not list(programs.scratch.glob("*.preparing"))
    made = file.stat().st_ino
    programs.right(*prepared)
    assert file.stat().st_ino == made, "a file that exists was prepared again"
    # What the plan did not prepare is not what the plan expects.
    changed = READS.replace("/a/c 8 2 100 7", "/a/c 8 2 100 8")
    programs.wrong(1, "/a/c", "dimensions", command=(*prepared[:-1], write_plan(programs, changed)))


def reopens(programs: Programs) -> None:
    """A dataset that is opened anew for each call: every form of a transfer, bytes compared."""
    text = WRITES.replace("iotune-plan 1", "iotune-plan 2").replace(
        "repeat 4 4 0", "reopen repeat 4 4 0"
    )
    (programs.scratch / "out").mkdir()
    command = (4, "iotune-replay", "--verify", "--file-dir", "out", write_plan(programs, text))
    assert programs.result(*command)["bytes"] == WRITTEN
    text = READS.replace("iotune-plan 1", "iotune-plan 2").replace(
        "repeat 3 -10 1", "reopen repeat 3 -10 1"
    )
    plan = write_plan(programs, text)
    done = programs.result(2, "iotune-replay", "--file-dir", ".", "--prepare", "--verify", plan)
    assert done["bytes"] == MOVED, (done, MOVED)


def contents(programs: Programs) -> None:
    """The bytes are where the plan put them: two plans of one dataset, one reads the other's.

    One writes columns by strided slabs, the other reads rows; a wrong selection cannot
    be wrong the same way in both.
    """
    columns = "iotune-plan 1\nranks 4\nfile c.h5 create\ndataset 0 /d 8 2 12 8\n" + (
        "transfer write 0 {}\n"
        + "".join(f"slab {r} 0 {r}  1 4  12 2  1 1\n" for r in range(4))
        + "close\n"
    )
    rows = "iotune-plan 1\nranks 4\nfile c.h5 open\ndataset 0 /d 8 2 12 8\n" + (
        "transfer read 0 independent\n"
        + "".join(f"slab {r} {3 * r} 0  1 1  3 8  1 1\n" for r in range(4))
        + "close\n"
    )
    for mode in ("independent", "collective"):
        programs.right(
            4,
            "iotune-replay",
            "--verify",
            "--overwrite",
            write_plan(programs, columns.format(mode)),
        )
        read = (4, "iotune-replay", "--verify", write_plan(programs, rows))
        programs.right(*read)
    flip_bit(programs.scratch / "c.h5", "/d", 50 * 8)
    programs.wrong(1, "c.h5", "/d", "index 50", command=read)


def faults(programs: Programs) -> None:
    for old, new, line, why in (
        ("iotune-plan 1", "iotune-plan 4", 1, "version"),
        ("iotune-plan 1", "a plan", 1, "not a plan"),
        ("ranks 4", "ranks 3", 2, "3 ranks"),
        ("ranks 4", "# ranks 4", 3, "'ranks'"),
        ("slab 3  3000", "slab 3  3001", 9, "dimension 0"),
        ("slab 3  3000", "slab 4  3000", 9, "RANK"),
        ("slab 2  2000 1 1000 1", "slab 2  2000 1 1000", 8, "missing"),
        ("slab 2  2000 1 1000 1", "slab 2  2000 1 1000 1 1", 8, "too much"),
        ("slab 2  2000 1 1000 1", "slab 2  2000 1 1000 2", 8, "stride"),
        ("slab 2  2000 1 1000 1", "slab 2  2000 1 99999999999999999999 1", 8, "count"),
        ("repeat 4 4 0", "repeat 5 4 0", 19, "dimension 0"),
        ("repeat 4 4 0", "chunk 0 0 repeat 4 4 0", 18, "no chunks"),
        ("repeat 4 4 0", "reopen repeat 4 4 0", 18, "version 2"),
        ("repeat 4 4 0", "later repeat 4 4 0", 18, "none of 'async'"),
        ("slab 3  3000", "multi 2\nslab 3  3000", 19, "repetitions"),
        ("repeat 4 4 0", "repeat 4 4", 18, "shift"),
        ("transfer write 0", "transfer write 1", 5, "dataset 1"),
        ("transfer write 0", "transfer append 0", 5, "'read'"),
        ("slab 1  1000 1", "all 0\nslab 1  1000 1", 7, "another selection"),
        ("%230", "%2", 4, "hexadecimal"),
        ("deflate 2", "deflate 10", 11, "deflate"),
        ("deflate 2", "class float", 11, "version 3"),
        ("chunk 4 5 deflate 2", "deflate 2", 11, "chunk"),
        ("close\n", "", 0, "not closed"),
        ("all 2", "some 2", 25, "'some'"),
    ):
        assert old in WRITES, old
        plan = write_plan(programs, WRITES.replace(old, new, 1))
        where = f"the.plan:{line}:" if line > 0 else "the.plan"
        programs.wrong(1, where, why, command=(4, "iotune-replay", plan))
    programs.wrong(1, "gone.plan", command=(1, "iotune-replay", "gone.plan"))
    plan = write_plan(programs, WRITES)
    programs.wrong(2, "PLAN is missing", command=(1, "iotune-replay"))
    programs.wrong(2, "--repeat x", command=(1, "iotune-replay", "--repeat", "x", plan))
    programs.wrong(2, "--quick", command=(1, "iotune-replay", "--quick", plan))
    programs.wrong(1, "nowhere", command=(4, "iotune-replay", "--file-dir", "nowhere", plan))


def alone(programs: Programs) -> None:
    """The replayer's sources compile without CMake, as a site compiles them from the wheel."""
    carried = programs.scratch / "carried"
    carried.mkdir()
    replay, shared = ROOT / "kernels" / "replay", ROOT / "kernels" / "shared"
    names = ("hdf5_failure.c", "plan_reader.c", "replay_program.c", "run_failure.c")
    sources = [*sorted(replay.glob("replay*.c")), replay / "plan.c", *(shared / n for n in names)]
    headers = [path.with_suffix(".h") for path in sources]
    for path in [*sources, *(header for header in headers if header.exists())]:
        shutil.copy(path, carried)
    flags = os.environ["IOTUNE_TEST_HDF5_FLAGS"].split(";")
    subprocess.run(
        [os.environ["IOTUNE_TEST_MPICC"], "-O1", "-std=gnu11", *[p.name for p in sources],
         *[flag for flag in flags if flag], "-o", "iotune-replay"],
        cwd=carried, check=True, timeout=120,
    )  # fmt: skip
    built = Programs(programs.place, carried)
    plan = write_plan(programs, WRITES)
    done = built.result(4, "iotune-replay", "--verify", "--file-dir", ".", plan)
    assert done["bytes"] == WRITTEN, done


DECLARED = """\
#include <hdf5.h>
#include <stddef.h>
#include "hdf5_calls.h"
#define SAME(a, b) _Static_assert((int)(a) == (b), #a)
SAME(sizeof(hid_t), 8); SAME(sizeof(hsize_t), 8); SAME(sizeof(haddr_t), 8);
SAME(H5P_DEFAULT, 0); SAME(H5E_DEFAULT, 0); SAME(H5S_ALL, 0); SAME(H5S_MAX_RANK, 32);
SAME(H5T_NO_CLASS, -1); SAME(H5T_FLOAT, 1); SAME(H5T_STRING, 3); SAME(H5T_OPAQUE, 5);
SAME(H5T_REFERENCE, 7); SAME(H5T_VLEN, 9); SAME(H5S_SCALAR, 0); SAME(H5S_SELECT_SET, 0);
SAME(H5S_SELECT_OR, 1); SAME(H5S_SELECT_APPEND, 6); SAME(H5S_SEL_POINTS, 1);
SAME(H5S_SEL_HYPERSLABS, 2); SAME(H5F_FSPACE_STRATEGY_PAGE, 1); SAME(H5F_LIBVER_V110, 2);
SAME(H5D_FILL_TIME_NEVER, 1); SAME(H5D_FILL_TIME_IFSET, 2); SAME(H5E_WALK_UPWARD, 0);
SAME(H5AC__CURR_CACHE_CONFIG_VERSION, 1); SAME(offsetof(H5E_error2_t, desc), 48);
SAME(offsetof(H5AC_cache_config_t, set_initial_size), 1033);
SAME(offsetof(H5AC_cache_config_t, initial_size), 1040);
SAME(offsetof(H5AC_cache_config_t, min_size), 1064);
_Static_assert(sizeof(H5AC_cache_config_t) <= 1072 + 1024, "the room behind it");
"""


def declared(programs: Programs) -> None:
    """What serial/ declares of HDF5 is what its headers say, of each version that is here."""
    source = programs.scratch / "declared.c"
    source.write_text(DECLARED)
    flags = [flag for flag in os.environ["IOTUNE_TEST_HDF5_FLAGS"].split(";") if flag[:2] == "-I"]
    serial = ROOT / "kernels" / "serial"
    own = serial / "hdf5.h"
    newer = sorted((ROOT / "build" / "companions").glob("hdf5-*/include"))
    # The companions' headers come without H5pubconf.h.
    for first in ([f"-I{serial}", "-include", str(own)], [], *([f"-I{path}"] for path in newer)):
        command = [os.environ["IOTUNE_TEST_MPICC"], "-fsyntax-only", *first]
        command += [flag.replace("-I", "-idirafter") for flag in flags]
        subprocess.run([*command, "-iquote", str(serial), str(source)], check=True, timeout=120)


if __name__ == "__main__":
    main(
        {
            "writes": writes,
            "reads": reads,
            "contents": contents,
            "reopens": reopens,
            "faults": faults,
            "alone": alone,
            "declared": declared,
        }
    )
