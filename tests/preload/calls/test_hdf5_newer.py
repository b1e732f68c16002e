"""Programs that move data by calls which only newer HDF5s have: recorded, analysed and tuned."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done

CONFIG = """<Parameters><High_Level_IO_Library>
  <alignment>65536,4096</alignment>
</High_Level_IO_Library></Parameters>
"""


EVERY = """<Parameters><High_Level_IO_Library>
  <alignment>65536,4096</alignment> <sieve_buf_size>131072</sieve_buf_size>
  <chunk>16</chunk> <fill_time>never</fill_time> <chunk_cache>2097152</chunk_cache>
</High_Level_IO_Library></Parameters>
"""


def values(done: Done) -> list[dict[str, str]]:
    """What the program printed, before and after it opened its file again."""
    halves = done.out.decode().split("reopened 1\n")
    return [dict(line.split() for line in half.splitlines()) for half in halves]


def programs(place: Place) -> Iterable[Path]:
    """The program with each HDF5 that could be had."""
    found = sorted(place.bin.glob("hdf5_newer_*"))
    if not found:
        not_verified("no HDF5 from 1.14 on (tools/setup.sh companions)")
    return found


def datasets(place: Place) -> dict[tuple[str, bool], dict[str, Any]]:
    (file,) = [f for f in place.summary()["files"] if f["datasets"]]
    return {(d["dataset"], d["write"]): d for d in file["datasets"]}


def learnt_once(place: Place) -> None:
    """Each process of a command line that has one trace learns from its own calls alone."""
    for program in programs(place):
        place.clear()
        files = [place.scratch / f"{program.name}-{kind}.h5" for kind in ("one", "two", "three")]
        script = 'program="$1"; shift; for file; do "$program" multi "$file"; done'
        database = place.scratch / f"{program.name}.db"
        done = place.run("sh", "-c", script, "sh", program, *files, IOTUNE_DB=database,
                         IOTUNE_LEARN_MS=5000)  # fmt: skip
        place.right(done, program.name)
        assert len([c for c in place.calls() if c["name"] == "H5Dwrite_multi"]) == 3
        with contextlib.closing(sqlite3.connect(database)) as db:
            rows = db.execute("SELECT file_path FROM observations").fetchall()
        assert sorted(rows) == sorted((str(file),) for file in files), rows


def multi(place: Place) -> None:
    """One call on two datasets is one record, and a transfer of each of them."""
    for program in programs(place):
        place.clear()
        place.right(place.run(program, "multi", "m.h5", IOTUNE_MODE="record"), program.name)
        (write,) = [c for c in place.calls() if c["name"] == "H5Dwrite_multi"]
        assert write["arguments"]["count"] == 2, write
        table, numbers = write["transfers"]
        slab = {"kind": 2, "dimensions": 2, "rows": [[2, 1], [1, 1], [1, 1], [3, 4]]}
        slabs = (slab, {**slab, "rows": [[2, 1], [1, 1], [3, 4], [1, 1]]})
        assert table["file"] in slabs and table["memory"] in slabs, table
        assert (table["points"], table["type_bytes"]) == (12, 8), table
        assert (numbers["points"], numbers["type_bytes"]) == (40, 4), numbers
        assert numbers["file"] == numbers["memory"] == {
            "kind": 1, "dimensions": 1, "rows": [[40]]
        }, numbers  # fmt: skip
        have = datasets(place)
        assert set(have) == {(d, w) for d in ("/table", "/list") for w in (True, False)}, have
        assert have["/table", True]["bytes"] == 96 and have["/list", True]["bytes"] == 160
        assert have["/table", False]["bytes"] == 384 and have["/list", False]["bytes"] == 160


def chunks(place: Place) -> None:
    """Chunks count for what they hold of the dataset, which is less at its edge."""
    for program in programs(place):
        place.clear()
        place.right(place.run(program, "chunk", "c.h5", IOTUNE_MODE="record"), program.name)
        have = datasets(place)
        assert set(have) == {("/table", True), ("/table", False)}, have
        assert (have["/table", True]["calls"], have["/table", True]["bytes"]) == (2, 192), have
        assert (have["/table", False]["calls"], have["/table", False]["bytes"]) == (1, 64), have


def asynchronous(place: Place) -> None:
    """What comes by asynchronous forms alone is recorded and tuned as anything else."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    for program in programs(place):
        place.clear()
        done = place.right(place.run(program, "async", "a.h5", IOTUNE_MODE="record"))
        assert done.out.split() == [b"1", b"1"], done.out
        have = datasets(place)
        assert set(have) == {("/table", True), ("/table", False)}, have
        assert all(d["bytes"] == 384 and d["calls"] == 1 for d in have.values()), have
        place.clear()
        done = place.right(
            place.run(program, "async", "a.h5", IOTUNE_DB="none", IOTUNE_CONFIG=config)
        )
        assert done.out.split() == [b"65536", b"4096"], (done.out, done.err)
        (setting,) = [c for c in place.calls() if c["name"] == "iotune_setting"]
        assert setting["numbers"][0] == 0, setting
        assert place.leftovers() == []


def reopened(place: Place) -> None:
    """Settings of a file and of its datasets reach those that asynchronous forms make and open."""
    config = place.scratch / "config.xml"
    config.write_text(EVERY)
    for program in programs(place):
        place.clear()
        bare = values(place.right(place.run(program, "reopen", "r.h5", preload=False)))
        done = place.right(
            place.run(program, "reopen", "r.h5", IOTUNE_DB="none", IOTUNE_CONFIG=config)
        )
        assert done.err == b"", done.err
        created, opened = values(done)
        assert created["file.alignment"] == "65536,4096" != bare[0]["file.alignment"], created
        assert opened["file.alignment"] == bare[1]["file.alignment"], opened
        assert created["file.sieve"] == opened["file.sieve"] == "131072" != bare[1]["file.sieve"]
        assert (created["numbers.chunk"], created["numbers.fill"]) == ("16", "1"), created
        assert (opened["numbers.chunk"], bare[1]["numbers.chunk"]) == ("16", "0"), (opened, bare)
        assert created["numbers.cache"] == opened["numbers.cache"] == "2097152", (created, opened)
        assert bare[1]["numbers.cache"] != "2097152", bare
        # HDF5 refuses texts our list: the call was made again with the program's, unheard.
        assert (created["texts.chunk"], created["texts.fill"]) == ("0", bare[0]["texts.fill"])
        assert created["handler"] == bare[0]["handler"] == "1", (created, bare)
        said = [
            (call["texts"][1], call["numbers"][0], call["texts"][4].partition(": ")[0])
            for call in place.calls()
            if call["name"] == "iotune_setting"
        ]
        for name, verdicts in (("alignment", [0, 2]), ("sieve_buf_size", [0, 0])):
            assert [v for p, v, _ in said if p == name] == verdicts, said
        for name in ("chunk", "fill_time"):
            reported = [(v, dataset) for p, v, dataset in said if p == name]
            assert reported == [(0, "/numbers"), (2, "/texts")], said
        reported = [(v, dataset) for p, v, dataset in said if p == "chunk_cache"]
        assert reported == [(0, "/numbers"), (1, "/texts"), (0, "/numbers")], said


def connector(place: Place) -> None:
    """Under a connector that is not HDF5's own a file is recorded and left alone."""
    for program in programs(place):
        run = left_alone(
            place, program, HDF5_VOL_CONNECTOR="pass_through under_vol=0;under_info={}"
        )
        (write,) = [c for c in run if c["name"] == "H5Dwrite_async"]
        assert write["transfers"][0]["file"]["kind"] == -1, write
        left_alone(place, program, "vol")


def driver(place: Place) -> None:
    """So is one that the environment gave another driver than HDF5's own for one process."""
    for program in programs(place):
        for name in ("core", "stdio"):
            left_alone(place, program, HDF5_DRIVER=name)
        # The program's own word is stronger.
        assert tuned(place, program, "sec2", HDF5_DRIVER="core") == [b"65536", b"4096"]
        assert tuned(place, program, HDF5_DRIVER="sec2") == [b"65536", b"4096"]


def tuned(place: Place, program: Path, *by: str, **env: Any) -> list[bytes]:
    """The alignment that a file has under a configuration that asks for one."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    place.clear()
    done = place.right(
        place.run(program, "async", "a.h5", *by, IOTUNE_DB="none", IOTUNE_CONFIG=config, **env)
    )
    assert done.err == b"", done.err
    return done.out.split()


def left_alone(place: Place, program: Path, *by: str, **env: Any) -> list[dict[str, Any]]:
    assert tuned(place, program, *by, **env) == [b"1", b"1"], (program, by, env)
    calls = place.calls()
    assert not [c for c in calls if c["name"] == "iotune_setting"], (program, by, env)
    return calls


def pending(place: Place) -> None:
    """Objects that are not there yet are never asked about, and their calls are recorded."""
    config = place.scratch / "config.xml"
    config.write_text(CONFIG)
    for mode in ("record", "tune"):
        place.clear()
        done = place.right(
            place.run(place.bin / "pending_calls", "p.h5", IOTUNE_MODE=mode, IOTUNE_DB="none",
                      IOTUNE_CONFIG=config)
        )  # fmt: skip
        assert done.err == b"", done.err
        made = [c for c in place.calls() if c["layer"] == "hdf5"]
        assert [c["name"].removesuffix("_async") for c in made] == 2 * [
            "H5Fcreate", "H5Dcreate", "H5Dset_extent", "H5Dwrite", "H5Dwrite_multi", "H5Dclose",
            "H5Fclose",
        ], made  # fmt: skip
        for call in made:
            assert call["arguments"]["events"] == 5, call
            assert all(one["object"] == 0 for one in call["transfers"]), call
        files = [c for c in place.calls() if c["name"] == "iotune_file"]
        assert all(c["texts"][0].endswith("/p.h5") for c in files) and len(files) == 2, files
        assert not [c for c in place.calls() if c["name"] == "iotune_dataset"]


if __name__ == "__main__":
    cases: dict[str, Callable[[Place], None]] = {
        "multi": multi, "learnt-once": learnt_once, "chunk": chunks, "async": asynchronous,
        "reopened": reopened,
        "connector": connector, "driver": driver, "pending": pending,
    }  # fmt: skip
    main(cases)
