"""Whatever is wrong with iotune's surroundings, the program runs as if it were not there.

Each case runs a program bare and under the preload: equal exit status, output and files, one
line on stderr that says why, and an end before the watchdog.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from support import preloaded
from support.answers import APPLICATION_ID, SCHEMA
from support.place import Place, main, not_verified
from support.preloaded import Done
from support.repository import IOTUNE, program_source
from support.small_disk import small_disk
from support.undisturbed import contents

CONFIG = """<Parameters><High_Level_IO_Library><alignment>16384,4096</alignment>
</High_Level_IO_Library><Middleware_Layer><cb_buffer_size>1048576</cb_buffer_size>
</Middleware_Layer></Parameters>"""


def frozen(place: Place, preload: bool, shim: bool = False) -> list[object]:
    """What is preloaded, with the clock that stands still for HDF5: bytes can be compared."""
    return [*place.libraries(preload, shim), place.build / "lib" / "libfrozen_time.so"]


def compare(place: Place, launch: Callable[[bool, Path], Done], *words: str) -> Done:
    """Bare and under the preload in a folder of one name. `words` stand in the one line said;
    without them nothing may be said.
    """
    seen = []
    for preload in (False, True):
        folder = place.scratch / "here"
        folder.mkdir()
        done = launch(preload, folder)
        seen.append((done, contents(folder)))
        shutil.rmtree(folder)
    (bare, bare_files), (under, files) = seen
    assert bare_files and bare.said() == [], (bare_files, bare.err)
    assert under.status == bare.status == 0, (bare, under)
    assert under.out == bare.out, (bare.out, under.out)
    assert files == bare_files, (files, bare_files)
    said = under.said()
    other = [line for line in under.err.decode().splitlines() if line not in said]
    assert other == bare.err.decode().splitlines(), (other, bare.err)
    assert len(said) == (1 if words else 0), said
    for word in words:
        assert word in said[0], f"'{word}' is not in: {said[0]}"
    return under


def two_ranks(place: Place, *words: str, **env: Any) -> Done:
    """compare() of the usual program on two ranks."""
    return compare(
        place,
        lambda preload, folder: place.mpi(
            2, place.bin / "ask_settings", "a.h5", cwd=folder, preload=frozen(place, preload),
            **{"IOTUNE_TRACE": place.trace, **env},
        ),
        *words,
    )  # fmt: skip


def write_database(path: Path, version: int) -> None:
    path.parent.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(SCHEMA.read_text())
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    path.chmod(0o600)


def database_of(place: Place) -> Path:
    return place.data / "iotune" / "patterns.db"


def no_database(place: Place) -> None:
    two_ranks(place)  # the first contact: nothing to report
    place.clear()  # else what this run left makes a database
    two_ranks(place, "elsewhere.db", IOTUNE_DB=place.scratch / "elsewhere.db")
    two_ranks(place, IOTUNE_DB="none")
    # A sound one is not complained of.
    place.clear()
    write_database(database_of(place), 1)
    two_ranks(place)


def corrupt_database(place: Place) -> None:
    path = database_of(place)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database" * 1000)
    two_ranks(place, "patterns.db")
    shutil.rmtree(place.data)
    write_database(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + 100])
    two_ranks(place, "patterns.db")
    path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    two_ranks(place, "patterns.db")
    # SQLite's own rule: an empty file is a database that nobody has begun.
    path.write_bytes(b"")
    two_ranks(place)


def newer_database(place: Place) -> None:
    write_database(database_of(place), 99)
    before = database_of(place).read_bytes()
    two_ranks(place, "patterns.db", "version 99")
    assert database_of(place).read_bytes() == before


def foreign_library(place: Place) -> None:
    """libiotune-db.so is missing or is something else."""
    alone = place.buffers / "lib"  # LD_PRELOAD splits at spaces
    alone.mkdir()
    shutil.copy(place.library, alone)
    place.library = alone / "libiotune.so"
    two_ranks(place, "libiotune-db.so")
    (alone / "libiotune-db.so").write_bytes(b"\x7fELF, but not really")
    two_ranks(place, "libiotune-db.so")


def read_only_home(place: Place) -> None:
    with small_disk("size=64k,ro") as disk:
        if disk is None:
            not_verified("a read-only home needs the right to mount")
            return
        env = {"HOME": disk, "XDG_STATE_HOME": None, "XDG_DATA_HOME": None,
               "XDG_CONFIG_HOME": None}  # fmt: skip
        # The database is asked for, the trace goes where it is asked to, the observation nowhere.
        two_ranks(place, str(disk), IOTUNE_DB="none", IOTUNE_TRACE=None, **env)
        # There is no database yet, and none can be made of what the run would leave.
        two_ranks(place, str(disk), **env)


def full_buffers(place: Place) -> None:
    for size in ("4k", "64k", "300k"):
        with small_disk(f"size={size}") as disk:
            if disk is None:
                not_verified("a full disk for buffers needs the right to mount")
                return
            two_ranks(place, str(disk), IOTUNE_DB="none", IOTUNE_BUFFER_DIR=disk / "b")
    two_ranks(place, "IOTUNE_BUFFER_DIR", IOTUNE_DB="none", IOTUNE_BUFFER_DIR="/proc/nowhere")


def full_trace(place: Place) -> None:
    with small_disk("size=64k") as disk:
        if disk is None:
            not_verified("a full disk for the trace needs the right to mount")
            return
        fill = disk / "fill"
        with contextlib.suppress(OSError):
            fill.write_bytes(b"x" * (1 << 20))
        two_ranks(place, str(disk), IOTUNE_DB="none", IOTUNE_TRACE=disk / "run.iotrace")
        assert [p.name for p in disk.iterdir()] == ["fill"], "a piece of a trace was left"
    two_ranks(place, "/proc/nowhere", IOTUNE_DB="none", IOTUNE_TRACE="/proc/nowhere/x.iotrace")


def file_size_limit(place: Place) -> None:
    """Under `ulimit -f` a write beyond the limit is a signal in the program: none may be ours."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    compare(
        place,
        lambda preload, folder: place.run(
            "sh", "-c", "echo small > a; echo more >> a; read -r line < a; echo \"$line\"",
            cwd=folder, preload=preload,
            before=limit,
        ),
        "file size",
    )  # fmt: skip
    # And its own signal stays its own.
    program = place.bin / "posix_calls"
    ends = [place.run(program, "big", "exit", 100, preload=p, before=limit) for p in (False, True)]
    assert ends[0].status == ends[1].status == 128 + 25, ends


def broken_xml(place: Place) -> None:
    path = place.scratch / "broken.xml"
    for text, word in (
        ("<Parameters><Middle", "broken.xml"), ("", "broken.xml"),
        ("<Parameters><Middleware_Layer><cb_nodes>many</cb_nodes></Middleware_Layer></Parameters>",
         "cb_nodes"),
        ("<Parameters><Middleware_Layer><cb_nods>1</cb_nods></Middleware_Layer></Parameters>",
         "cb_nods"),
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "/etc/passwd">]><Parameters>&e;</Parameters>',
         "broken.xml"),
    ):  # fmt: skip
        path.write_text(text)
        two_ranks(place, word, IOTUNE_CONFIG=path)
    two_ranks(place, "nowhere.xml", IOTUNE_CONFIG=place.scratch / "nowhere.xml")


def no_mpi(place: Place) -> None:
    compare(
        place,
        lambda preload, folder: place.run(
            "sh", "-c", "echo a > a; dd if=a of=b bs=1 2>/dev/null; cat b", cwd=folder,
            preload=preload,
        ),
    )  # fmt: skip
    # A rank that nobody launched.
    compare(
        place,
        lambda preload, folder: place.run(
            place.bin / "ask_settings", "a.h5", cwd=folder, preload=frozen(place, preload),
            IOTUNE_DB="none", IOTUNE_TRACE=place.trace,
        ),
    )  # fmt: skip
    # An unknown mode is off, and said.
    two_ranks(place, "IOTUNE_MODE", IOTUNE_MODE="fast")
    place.clear()
    two_ranks(place, IOTUNE_MODE="off")
    assert place.ours() == [], place.ours()


def mixed(
    place: Place, first: Sequence[object], second: Sequence[object], *said: str,
    words: Sequence[str] = (), **env: Any,
) -> None:  # fmt: skip
    """Two ranks, each behind an `env` of its own. `words`: for the program."""
    program = place.bin / "ask_settings"

    def launch(preload: bool, folder: Path) -> Done:
        own = [
            [word for word in part if preload or preloaded.VARIABLE not in str(word)]
            for part in (first, second)
        ]
        return place.run(
            place.mpirun, "-n", 1, "env", *own[0], program, "a.h5", *words,
            ":", "-n", 1, "env", *own[1], program, "a.h5", *words,
            cwd=folder, preload=frozen(place, preload),
            **{"IOTUNE_TRACE": place.trace, "IOTUNE_DB": "none", **env},
        )  # fmt: skip

    compare(place, launch, *said)


def environments(place: Place) -> None:
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    hints = place.scratch / "hints"
    hints.write_text("cb_nodes 1\n")
    # What rank 1 alone has learnt is not what the file gets.
    mixed(place, [], [f"IOTUNE_CONFIG={config}"])
    mixed(place, [], ["IOTUNE_DB=/nowhere/patterns.db"])
    mixed(place, [], ["IOTUNE_TRACE=/nowhere/x.iotrace"])
    mixed(place, [], ["XDG_STATE_HOME=/nowhere", "HOME=/nowhere"])


def other_mode(place: Place) -> None:
    """One rank is off or only records: whatever the others would do, nobody waits for it."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    for mode, words in (("off", ["1 of 2 ranks"]), ("record", ["IOTUNE_MODE differs"])):
        for first, second in (([f"IOTUNE_MODE={mode}"], []), ([], [f"IOTUNE_MODE={mode}"])):
            mixed(place, [*first], [*second], *words, IOTUNE_CONFIG=config)
            if mode == "record":
                made = {call["name"] for call in place.calls()}
                assert "iotune_setting" not in made and "H5Dwrite" in made, made
                place.trace.unlink()


def built_otherwise(place: Place, name: str) -> Path:
    """A libiotune.so of another build (tests/mpi/CMakeLists.txt), with a database library."""
    folder = place.buffers / name
    folder.mkdir()
    shutil.copy(place.library.parent / "libiotune-db.so", folder)
    return Path(shutil.copy(place.library.parent / f"lib{name}.so", folder / "libiotune.so"))


def other_protocol(place: Place, words: Sequence[str] = ()) -> None:
    """An executable of the job came with another iotune, with another protocol version."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    for other_first in (False, True):
        other = built_otherwise(place, "other_protocol")  # clear() takes it away
        loaded: list[object] = [preloaded.setting(other, *frozen(place, False))]
        first, second = (loaded, []) if other_first else ([], loaded)
        mixed(place, first, second, "1 of 2 ranks", IOTUNE_CONFIG=config, words=words)
        assert not place.trace.exists() and len(place.leftovers()) == 2, place.leftovers()
        made = [call["name"] for path in place.leftovers() for call in place.calls(path)]
        assert "MPI_File_write_at_all" in made or "H5Dwrite" in made, made
        assert "iotune_setting" not in made, made
        place.clear()


def unread_decision(place: Place, words: Sequence[str] = ()) -> None:
    """Rank 1 cannot read what rank 0 has decided: it votes all the same, for nothing."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    other = built_otherwise(place, "other_decision")
    loaded = [preloaded.setting(other, *frozen(place, False))]
    mixed(place, [], loaded, IOTUNE_CONFIG=config, words=words)
    refused = [c for c in place.calls() if c["name"] == "iotune_setting"]
    assert refused and {c["numbers"][0] for c in refused} == {2}, refused


def disagreement(place: Place) -> None:
    """A hint of the user's on one rank alone: the ranks would not apply the same."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    hints = place.scratch / "hints"
    hints.write_text("cb_buffer_size 2097152\n")
    mixed(place, [], [f"ROMIO_HINTS={hints}"], IOTUNE_CONFIG=config)
    refused = [c for c in place.calls() if c["name"] == "iotune_setting"]
    assert refused and {c["numbers"][0] for c in refused} == {2}, refused


def missing_rank(place: Place) -> None:
    """Three of four ranks are loaded."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    program = place.bin / "ask_settings"

    def launch(preload: bool, folder: Path) -> Done:
        bare = frozen(place, False, shim=True)
        loaded = frozen(place, preload, shim=True)
        return place.run(
            place.mpirun, "-n", 3, program, "a.h5",
            ":", "-n", 1, "env", preloaded.setting(*bare), program, "a.h5",
            cwd=folder, preload=loaded, IOTUNE_TRACE=place.trace,
            IOTUNE_CONFIG=config, IOTUNE_DB="none",
        )  # fmt: skip

    compare(place, launch, "3 of 4 ranks")
    left = place.leftovers()
    assert len(left) == 3 and not place.trace.exists(), left
    ranks = {call["rank"] for path in left for call in place.calls(path)}
    assert len(ranks) == 3, ranks


def missing_node(place: Place) -> None:
    """Of four nodes one has no iotune: what LD_PRELOAD names is not there."""
    if not place.on_fake_nodes("nodes of which one has no iotune"):
        return
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    script = place.scratch / "rank.sh"
    script.write_text('[ "$(hostname)" != node2 ] || export "$1"\nexec "$2" a.h5\n')

    def launch(preload: bool, folder: Path, missing: bool = True) -> Done:
        bare = frozen(place, False, shim=True)
        loaded = frozen(place, preload, shim=True)
        node2 = ["/nowhere/libiotune.so", *bare] if missing else loaded
        return place.run(
            place.mpirun, "-n", 8, "sh", script, preloaded.setting(*node2),
            place.bin / "ask_settings", cwd=folder, preload=loaded,
            IOTUNE_TRACE=place.trace, IOTUNE_CONFIG=config, IOTUNE_DB="none",
        )  # fmt: skip

    done = compare(place, launch, "6 of 8 ranks")
    assert b"/nowhere/libiotune.so" in done.err, "the library was not missing: this proves nothing"
    # The ranks' traces are in their nodes' memory, which has gone with these; that nothing was set
    # the program's own words say, which are those of the bare run.
    assert not place.trace.exists()
    # With all of them there it is tuned.
    place.clear()
    done = launch(True, place.scratch, missing=False)
    assert done.status == 0 and b"cb_buffer_size 1048576" in done.out, (done.out, done.err)


def static_hdf5(place: Place) -> None:
    h5pcc = shutil.which("h5pcc.mpich") or shutil.which("h5pcc")
    if h5pcc is None:
        not_verified("there is no h5pcc, so no program with a static libhdf5")
        return
    program = place.buffers / "static_settings"
    # h5pcc splits names at spaces.
    shutil.copy(program_source("ask_settings.c"), place.buffers)
    done = subprocess.run([h5pcc, "-O1", "-o", program.name, "ask_settings.c"], cwd=place.buffers,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    libraries = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True)
    if "libhdf5" in libraries.stdout:
        not_verified("h5pcc links libhdf5 shared here")
        return
    config = place.scratch / "config.xml"
    config.write_text(CONFIG.replace("<alignment>16384,4096</alignment>", ""))
    compare(
        place,
        lambda preload, folder: place.mpi(
            2, program, "a.h5", cwd=folder, preload=frozen(place, preload),
            IOTUNE_DB="none", IOTUNE_TRACE=place.trace,
        ),
    )  # fmt: skip
    names = {call["name"] for call in place.calls()}
    assert "MPI_File_open" in names and not any(n.startswith("H5") for n in names), names
    if not IOTUNE.exists():
        not_verified("iotune run on a static libhdf5: iotune is not in .venv")
        return
    run = place.run(IOTUNE, "run", "--db", "none", "--", place.mpirun, "-n", "2", program, "a.h5",
                    preload=False, IOTUNE_LIB=place.library)  # fmt: skip
    assert run.status == 0, run
    assert sum("static libhdf5" in line for line in run.said()) == 1, run.said()


if __name__ == "__main__":
    main({
        "no-database": no_database, "corrupt-database": corrupt_database,
        "newer-database": newer_database, "foreign-library": foreign_library,
        "read-only-home": read_only_home, "full-buffers": full_buffers, "full-trace": full_trace,
        "file-size-limit": file_size_limit, "broken-xml": broken_xml, "no-mpi": no_mpi,
        "environments": environments, "other-mode": other_mode,
        "other-protocol-hdf5": other_protocol,
        "other-protocol-mpiio": partial(other_protocol, words=("--mpiio",)),
        "unread-decision-hdf5": unread_decision,
        "unread-decision-mpiio": partial(unread_decision, words=("--mpiio",)),
        "disagreement": disagreement, "missing-rank": missing_rank,
        "missing-node": missing_node, "static-hdf5": static_hdf5,
    })  # fmt: skip
