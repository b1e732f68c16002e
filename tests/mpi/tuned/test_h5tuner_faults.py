"""The known faults of H5Tuner, whose XML files iotune reads: each is a test here."""

from __future__ import annotations

import struct
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done

ALL = """<Parameters><High_Level_IO_Library>
  <sieve_buf_size>262144</sieve_buf_size> <alignment>0,4096</alignment> <chunk>512</chunk>
</High_Level_IO_Library><Middleware_Layer>
  <cb_buffer_size>1048576</cb_buffer_size> <cb_nodes>1</cb_nodes>
</Middleware_Layer><Parallel_File_System>
  <striping_factor>4</striping_factor> <striping_unit>65536</striping_unit>
</Parallel_File_System></Parameters>
"""
CHUNKED = "2"  # H5D_CHUNKED


def config(place: Place, text: str = ALL) -> Path:
    path = place.scratch / "config.xml"
    path.write_text(text)
    return path


def run(place: Place, case: str, file: str = "a.h5", text: str | None = ALL) -> Done:
    """Tuned by the XML `text`; bare where that is None."""
    place.trace.unlink(missing_ok=True)
    how: dict[str, Any] = {"preload": False} if text is None else {"IOTUNE_DB": "none"}
    if text is not None:
        how["IOTUNE_CONFIG"] = config(place, text)
    done = place.mpi(2, place.bin / "h5tuner_faults", case, file, **how)
    return place.right(done, case)


def values(done: Done) -> dict[str, str]:
    return dict(line.split() for line in done.out.decode().splitlines())


def applied(place: Place) -> set[str]:
    return {
        c["texts"][1]
        for c in place.calls()
        if c["name"] == "iotune_setting" and c["numbers"][0] == 0
    }


def changes_the_callers_list(place: Place) -> None:
    """H5Tuner set its values on the property list that the program passed."""
    bare = values(run(place, "lists", text=None))
    tuned = values(run(place, "lists"))
    assert {"alignment", "sieve_buf_size", "cb_buffer_size", "chunk"} <= applied(place)
    del bare["layout"], tuned["layout"]
    assert bare == tuned and tuned["same"] == "1", (bare, tuned)


def many_files(place: Place, ranks: int, count: int) -> None:
    """In memory, because creating a file takes a disk some ten milliseconds, tuned or not. The
    watchdog is for hangs: where others use the machine MPICH's ranks wait for their time slices.
    """
    with tempfile.TemporaryDirectory(prefix="many-", dir="/dev/shm") as files:
        done = place.mpi(ranks, place.bin / "h5tuner_faults", f"many-{count}", f"{files}/a.h5",
                         shim=True, seconds=800, IOTUNE_DB="none",
                         IOTUNE_CONFIG=config(place))  # fmt: skip
    place.right(done, f"{count} files")
    # As text: of 5,000 files there are 280,000 calls.
    decided = place.text_of("calls").count('"name":"iotune_decision"')
    assert decided == count, decided
    assert int(values(done)["grew_kib"]) < 4 * (count - 1000), done.out  # less than 4 KiB a file


def leaks_its_copies(place: Place) -> None:
    """H5Tuner never closed the copy of the list. MPICH has some 2,000 communicators: one that is
    kept of each file is one too many.
    """
    many_files(place, 1, 2500)


def five_thousand_files(place: Place) -> None:
    """Each with an agreement of its own."""
    many_files(place, 2, 5000)


def fails_with_other_drivers(place: Place) -> None:
    """Under H5Tuner H5Fcreate failed for a driver that was not MPI-IO."""
    bare, tuned = values(run(place, "drivers", text=None)), values(run(place, "drivers"))
    assert bare == tuned and bare["core"] == bare["default"] == "good", (bare, tuned)


def fails_without_a_file(place: Place) -> None:
    """Under H5Tuner a missing configuration made H5Fcreate fail; a missing data file is the
    program's own error, as deep in HDF5's stack as ever.
    """
    bare, tuned = (
        values(run(place, "missing", "no.h5", None)),
        values(run(place, "missing", "no.h5")),
    )
    assert bare == tuned and bare["opened"] == "0" and int(bare["frames"]) > 2, (bare, tuned)
    done = place.mpi(2, place.bin / "h5tuner_faults", "file", "a.h5", IOTUNE_DB="none",
                     IOTUNE_CONFIG=place.scratch / "nowhere.xml")  # fmt: skip
    place.right(done, "no configuration")
    assert len(done.said()) == 1 and "nowhere.xml" in done.said()[0], done.said()


def default_list_gets_no_chunks(place: Place) -> None:
    """H5Tuner never chunked a dataset that was created with H5P_DEFAULT."""
    bare, tuned = values(run(place, "file", text=None)), values(run(place, "file"))
    assert bare["layout"] != CHUNKED and tuned["layout"] == CHUNKED, (bare, tuned)
    assert "chunk" in applied(place)


def matches_parts_of_names(place: Place) -> None:
    """To H5Tuner FileName="x.h5" was max.h5 too."""
    text = ALL.replace("<chunk>", '<chunk FileName="x.h5">')
    assert values(run(place, "file", "max.h5", text))["layout"] != CHUNKED
    assert values(run(place, "file", "x.h5.old", text))["layout"] != CHUNKED
    assert values(run(place, "file", "x.h5", text))["layout"] == CHUNKED


def takes_unknown_tags(place: Place) -> None:
    """H5Tuner passed over a misspelt tag in silence."""
    for text, word in (
        (ALL.replace("cb_nodes", "cb_node"), "cb_node"),
        (ALL.replace("<chunk>", '<chunk Filename="a.h5">'), "Filename"),
        (ALL.replace("Middleware_Layer", "Middle_Layer"), "Middle_Layer"),
    ):
        done = run(place, "file", text=text)
        assert len(done.said()) == 1 and f"{word}" in done.said()[0], done.said()
        assert applied(place) == set(), "a file with a fault was followed in part"


def misses_the_asynchronous_calls(place: Place) -> None:
    """H5Tuner's hooks did not see H5Fcreate_async, by which newer programs create their files."""
    programs = sorted(place.bin.glob("hdf5_newer_*"))
    if not programs:
        not_verified("no HDF5 from 1.14 on (tools/setup.sh companions)")
    for program in programs:
        place.trace.unlink(missing_ok=True)
        text = ALL.replace("<chunk>512</chunk>", "")
        done = place.run(program, "async", "a.h5", IOTUNE_DB="none",
                         IOTUNE_CONFIG=config(place, text))  # fmt: skip
        place.right(done, program.name)
        assert "H5Fcreate_async" in {c["name"] for c in place.calls()}
        assert {"alignment", "sieve_buf_size"} <= applied(place), (program.name, applied(place))


def asks_only_its_own_list(place: Place) -> None:
    """H5Tuner's tests read hints back from the list that they had been set on. What counts is what
    the file system saw: where the data lie, and in which pieces they came.
    """
    only = ALL.replace("<chunk>512</chunk>", "").replace("1048576", "4096")

    def seen(text: str | None) -> tuple[int, Counter[int]]:
        if text is None:
            place.trace.unlink(missing_ok=True)
            place.right(place.mpi(2, place.bin / "h5tuner_faults", "file", "a.h5",
                                  IOTUNE_MODE="record"))  # fmt: skip
        else:
            run(place, "file", text=text)
        # The first two: four bytes alone may be met in HDF5's own, whose times change.
        first = struct.pack("<2i", 0x5A000000, 0x5A000001)
        offset = (place.scratch / "a.h5").read_bytes().index(first)
        sizes = Counter(
            c["arguments"]["count"]
            for c in place.calls()
            if c["name"] in ("pwrite", "pwrite64", "write") and c["arguments"]["count"] >= 4096
        )
        return offset, sizes

    bare_offset, bare_sizes = seen(None)
    offset, sizes = seen(only.replace("<cb_nodes>", "<romio_cb_write>enable</romio_cb_write>"
                                      "<cb_nodes>"))  # fmt: skip
    # Two ranks of 32 KiB: aligned to 4096 bytes, by the aggregator, in pieces of cb_buffer_size.
    assert bare_offset % 4096 != 0 and offset % 4096 == 0, (bare_offset, offset)
    assert max(bare_sizes) > 4096 and set(sizes) == {4096}, (bare_sizes, sizes)
    assert sum(size * n for size, n in sizes.items()) == 2 * 8192 * 4, sizes


if __name__ == "__main__":
    main({
        "changes-the-callers-list": changes_the_callers_list, "leaks-its-copies": leaks_its_copies,
        "five-thousand-files": five_thousand_files,
        "fails-with-other-drivers": fails_with_other_drivers,
        "fails-without-a-file": fails_without_a_file,
        "default-list-gets-no-chunks": default_list_gets_no_chunks,
        "matches-parts-of-names": matches_parts_of_names,
        "takes-unknown-tags": takes_unknown_tags,
        "misses-the-asynchronous-calls": misses_the_asynchronous_calls,
        "asks-only-its-own-list": asks_only_its_own_list,
    })  # fmt: skip
