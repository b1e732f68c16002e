"""Beside tools that are preloaded too: the same program, and both tools see all of its calls.

Darshan and XALT are not in a registry that tests may use: stand-ins do what their libraries do in
a process (programs/beside/stand_in_xalt.c, tests/mpi/programs/stand_ins/stand_in_darshan.c). The
others are the tools themselves.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.peers.tracers import dftracer_library
from support import preloaded
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.undisturbed import contents

# programs/beside/beside.c
THREADS, BLOCKS = 3, 100
STATUS = 3
BOTH = THREADS * BLOCKS
CALLS = {"pwrite": BOTH, "pread": BOTH, "fwrite": 50, "fread": 51, "write": 1}


class Beside:
    """Runs of a program bare, beside a tool, and beside the tool and iotune in both orders."""

    def __init__(self, place: Place, tool: object, **env: object) -> None:
        self.place = place
        self.tool = tool
        self.env: dict[str, Any] = dict(env)
        self.folder = place.scratch / "files"

    def orders(self) -> dict[str, list[object]]:
        iotune = self.place.library
        return {"behind it": [self.tool, iotune], "before it": [iotune, self.tool]}

    def run(self, preload: Sequence[object], program: object) -> tuple[Done, dict[str, str]]:
        self.place.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        done = self.place.run(*self.command(program), preload=preload, **self.env)
        return done, contents(self.folder)

    def command(self, program: object) -> list[object]:
        return [program, self.folder]

    def check_trace(self, order: str) -> None:
        """The trace has each call, and nothing of the program's is left out of it."""
        traces = [self.place.trace, *self.place.leftovers()]
        joined = self.place.scratch / "joined.iotrace"
        joined.unlink(missing_ok=True)
        if len(traces) > 1:  # a child's buffer waits for a command
            self.place._json("join", joined, *traces)
        else:
            joined = self.place.trace
        calls = self.place.calls(joined)
        # A tool's own log is a file of the process, too.
        ours = {
            (call["process"], call["keys"][0])
            for call in calls
            if call["name"] == "iotune_file" and str(self.folder) in call["texts"][0]
        }
        seen = Counter(
            call["name"]
            for call in calls
            if call["keys"] and (call["process"], call["keys"][-1]) in ours
        )
        assert {name: seen[name] for name in CALLS} == CALLS, (order, seen)

    def check(
        self, seen: Callable[[], Any] | None = None, program: object | None = None,
        orders: dict[str, list[object]] | None = None,
    ) -> None:  # fmt: skip
        """`seen` tells what the tool kept of a run, and forgets it."""
        program = program or self.place.bin / "beside"
        bare = self.run([], program)
        assert bare[0].status == STATUS and bare[0].err == b"", bare
        alone = self.run([self.tool], program)
        assert alone == bare, (alone, bare)
        kept = seen() if seen else None
        for order, preload in (orders or self.orders()).items():
            both = self.run(preload, program)
            assert both == bare, (order, both, bare)
            now = seen() if seen else None
            assert now == kept, (order, now, kept)
            self.check_trace(order)
        print(f"{self.tool}: {kept}")


def found(pattern: str, what: str) -> str | None:
    files = sorted(glob.glob(pattern))
    if not files:
        not_verified(f"{what} is not here")
    return files[0] if files else None


def tcmalloc(place: Place) -> None:
    if library := found("/usr/lib/*/libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"):
        Beside(place, library).check()


def heaptrack(place: Place) -> None:
    """It counts the same allocations: iotune makes none."""
    library = found("/usr/lib/heaptrack/libheaptrack_preload.so", "heaptrack")
    if library is None:
        return
    kept = place.scratch / "heap"

    def allocations() -> int:
        count = sum(line.startswith(b"+") for line in kept.read_bytes().splitlines())
        kept.unlink()
        assert count > 2 * THREADS * BLOCKS, count
        return count

    Beside(place, library, DUMP_HEAPTRACK_OUTPUT=kept).check(allocations)


def asan(place: Place) -> None:
    """AddressSanitizer has to come first; it ends a program in which it does not, and says so."""
    library = found("/usr/lib/*/libasan.so.8", "libasan8")
    if library is None or not (place.bin / "beside_asan").exists():
        not_verified("AddressSanitizer: the compiler has none")
        return
    beside = Beside(place, library)
    first = {"behind it": [library, place.library]}
    beside.check(orders=first)
    beside.check(program=place.bin / "beside_asan", orders=first)
    for program, preload in (("beside", [place.library, library]),
                             ("beside_asan", [place.library, library]),
                             ("beside_asan", [place.library])):  # fmt: skip
        done, files = beside.run(preload, place.bin / program)
        assert done.status == 1 and b"does not come first" in done.err, (program, done)
        assert files == {} and done.said() == [], (program, files)
    # Linked into the program, as clang does it too, it comes first by itself.
    static = place.bin / "beside_asan_static"
    bare = beside.run([], static)
    assert beside.run([place.library], static) == bare
    beside.check_trace("static")


class Valgrind(Beside):
    def command(self, program: object) -> list[object]:
        return ["/usr/bin/valgrind", "-q", "--error-exitcode=9", program, self.folder]


def valgrind(place: Place) -> None:
    """A program under Valgrind: it finds no error that it does not find without iotune."""
    if not Path("/usr/bin/valgrind").exists():
        not_verified("valgrind is not here")
        return
    beside = Valgrind(place, place.library)
    bare = beside.run([], place.bin / "beside")
    assert bare[0].status == STATUS and bare[0].err == b"", bare
    both = beside.run([place.library], place.bin / "beside")
    assert both == bare, (both, bare)
    beside.check_trace("under Valgrind")


def dftracer(place: Place) -> None:
    library = dftracer_library()
    if library is None:
        not_verified("dftracer: not installed (tools/setup.sh peers)")
        return
    logs = place.scratch / "logs"
    logs.mkdir()

    def seen() -> dict[str, int]:
        text = b"".join(
            gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
            for log in logs.iterdir()
        )
        for log in logs.iterdir():
            log.unlink()
        counts = {name: 0 for name in ("pread", "pwrite")}
        for name in counts:
            counts[name] = text.count(b'"name":"%s' % name.encode())
        assert counts == {name: CALLS[name] for name in counts}, counts
        return counts

    Beside(place, library, DFTRACER_ENABLE=1, DFTRACER_INC_METADATA=1, DFTRACER_INIT="PRELOAD",
           DFTRACER_DATA_DIR="all", DFTRACER_LOG_FILE=logs / "trace").check(seen)  # fmt: skip


def lines_of(log: Path) -> Counter[str]:
    """What a stand-in wrote, which is gone then."""
    lines = Counter(log.read_text().splitlines())
    log.unlink()
    return lines


def counts_of(log: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line, times in lines_of(log).items():
        name, count = line.split()
        counts[name] += int(count) * times
    return counts


def xalt(place: Place) -> None:
    """A stand-in for XALT, whose helper runs before and after the program."""
    log = place.scratch / "log"
    tool = place.build / "lib" / "libstand_in_xalt.so"
    beside = Beside(place, tool, BESIDE_LOG=log, BESIDE_WITHOUT=preloaded.VARIABLE)

    def seen() -> Counter[str]:
        lines = lines_of(log)
        # The child that is forked ends as the program does.
        assert lines == {"begin beside 1": 1, "end beside 1": 2}, lines
        return lines

    beside.check(seen)


def darshan(place: Place) -> None:
    """A stand-in for Darshan, in a program without MPI."""
    tool = place.build / "lib" / "libstand_in_darshan.so"
    if not tool.exists():
        not_verified("the stand-in for Darshan: there is no MPI or no HDF5")
        return
    log = place.scratch / "log"
    beside = Beside(place, tool, BESIDE_LOG=log, BESIDE_FILES=place.scratch / "files",
                    DARSHAN_ENABLE_NONMPI=1)  # fmt: skip

    def seen() -> Counter[str]:
        counts = counts_of(log)
        # The child has its parent's counts so far.
        assert counts["pwrite"] == 2 * CALLS["pwrite"] and counts["fread"] == 2 * 51, counts
        assert counts["write"] == 1, counts
        return counts

    beside.check(seen)


class OnRanks:
    """A parallel HDF5 program on two ranks, and what iotune and the tool kept of it."""

    def __init__(self, place: Place, tool: Path) -> None:
        self.place = place
        self.tool = tool
        self.log = place.scratch / "log"
        self.folder = place.scratch / "files"

    def run(self, *preload: object) -> tuple[list[bytes], bytes, int, bytes]:
        """What it printed but for its times, and its file but for the dates that HDF5 keeps."""
        self.place.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        file = self.folder / "a.h5"
        done = self.place.mpi(
            2, self.place.bin / "vpic-io", "--particles", 4096, "--collective",
            "--output", file, preload=preload, IOTUNE_DB="none",
            BESIDE_LOG=self.log, BESIDE_FILES=self.folder,
            BESIDE_WITHOUT=preloaded.VARIABLE,
        )  # fmt: skip
        self.place.right(done)
        lines = [line for line in done.out.splitlines() if line[:4] not in (b"seco", b"band")]
        dump = self.place.right(self.place.run("h5dump", file, preload=False))
        assert dump.out.count(b"DATASET") == 8, dump.out[:1000]
        return lines, done.err, file.stat().st_size, hashlib.sha1(dump.out).digest()

    def traced(self) -> Counter[tuple[int, str]]:
        """The calls of each rank by name."""
        assert self.place.leftovers() == [], self.place.leftovers()
        return Counter((call["process"], call["name"]) for call in self.place.calls()
                       if not call["name"].startswith("iotune_"))  # fmt: skip

    def check(self, seen: Callable[[], Any], its_own: tuple[str, ...] = ()) -> None:
        """`its_own`: calls that the tool makes itself, and that may be in the trace as well."""
        iotune = self.place.library
        bare = self.run()
        assert self.run(iotune) == bare
        traced = self.traced()
        assert traced[0, "H5Dwrite"] == traced[1, "H5Dwrite"] == 8, traced
        assert self.run(self.tool) == bare
        kept = seen()
        for preload in ([self.tool, iotune], [iotune, self.tool]):
            both = self.run(*preload)
            assert both == bare, (preload, both, bare)
            now = seen()
            assert now == kept, (preload, now, kept)
            now = self.traced()
            more = {name for _, name in now - traced}
            assert traced - now == Counter() and more <= set(its_own), (preload, now - traced)
        print(kept)


def darshan_mpi(place: Place) -> None:
    """A stand-in for Darshan, whose log is written within MPI_Finalize."""
    on_ranks = OnRanks(place, place.build / "lib" / "libstand_in_darshan.so")

    def seen() -> Counter[str]:
        counts = counts_of(on_ranks.log)
        assert counts["H5Dwrite"] == 16 and counts["MPI_File_open"] == 2, counts
        assert counts["MPI_File_write_at_all"] == 16 and counts["pwrite"] > 0, counts
        return counts

    on_ranks.check(seen, (
        "H5Dget_space", "H5Sget_select_npoints", "H5Sclose",  # of each transfer's selection
        "MPI_File_open", "MPI_File_write_at_all", "MPI_File_close", "umask",  # of its log
        "pwrite", "open", "close", "lstat",
    ))  # fmt: skip


def xalt_mpi(place: Place) -> None:
    """A stand-in for XALT in each process of a job: the launcher's, too."""
    on_ranks = OnRanks(place, place.build / "lib" / "libstand_in_xalt.so")

    def seen() -> Counter[str]:
        lines = lines_of(on_ranks.log)
        assert lines["begin vpic-io 1"] == lines["end vpic-io 1"] == 2, lines
        return lines

    on_ranks.check(seen)


if __name__ == "__main__":
    main(
        {
            "tcmalloc": tcmalloc, "heaptrack": heaptrack, "asan": asan, "valgrind": valgrind,
            "dftracer": dftracer, "xalt": xalt, "darshan": darshan,
            "darshan-mpi": darshan_mpi, "xalt-mpi": xalt_mpi,
        }
    )  # fmt: skip
