"""Settings reach the program's own files, and are what the trace says of them.

The program itself reads them back, from its property lists and its MPI_File.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from support.answers import answer, make_database
from support.asked_settings import CONFIG, EVERY, HINTS, Seen, config
from support.place import Place, main


def hdf5(place: Place) -> None:
    bare = Seen(place, "a.h5", preload=False)
    recorded = Seen(place, "a.h5", IOTUNE_MODE="record", IOTUNE_CONFIG=config(place))
    assert recorded.values == bare.values and recorded.outcomes == [], recorded.outcomes
    tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place))
    assert tuned.source == "config", tuned.source
    assert tuned.values["alignment"] == "65536,4096" != bare.values["alignment"], tuned.values
    assert tuned.values["meta_block_size"] == "131072", tuned.values
    for name, value in HINTS.items():
        assert tuned.values[name] == value, (name, tuned.values)
    differs = [name for name in HINTS if bare.values.get(name) != HINTS[name]]
    assert len(differs) >= 4, f"the defaults are these settings already: {bare.values}"
    assert {o[1] for o in tuned.outcomes} == {"applied"}, tuned.outcomes
    assert {o[0] for o in tuned.outcomes} >= {*HINTS, "alignment", "meta_block_size"}
    assert tuned.values["own-list"] == bare.values["own-list"], "the program's list was changed"
    tuned.check_verdicts()
    assert tuned.said == [], tuned.said


def every_setting(place: Place) -> None:
    """All that live in the file's access list and its hints, at once: each differs from the
    default, is what the program reads back, and is called applied.
    """
    leaves = "".join(f"<{name}>{value}</{name}>" for name, value in EVERY.items())
    text = f"<Parameters><Middleware_Layer>{leaves}</Middleware_Layer></Parameters>"
    bare = Seen(place, "a.h5", preload=False)
    tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place, text))
    for name, value in EVERY.items():
        assert tuned.values[name] == value != bare.values.get(name), (name, tuned.values)
        assert tuned.verdict(name) == "applied", tuned.outcomes
    tuned.check_verdicts()


def aligned(place: Place) -> None:
    text = CONFIG.replace("65536,4096", "4096,4096")
    tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place, text))
    # The threshold is raised to four times the alignment: the data are larger, and are aligned.
    assert tuned.values["alignment"] == "16384,4096", tuned.values
    assert int(tuned.values["offset"]) % 4096 == 0, tuned.values
    path = place.scratch / "a.h5"
    bare = Seen(place, "a.h5", preload=False)
    assert int(bare.values["offset"]) % 4096 != 0, "aligned without help: this proves nothing"
    size = path.stat().st_size
    block = "<meta_block_size>131072</meta_block_size>"
    Seen(place, "a.h5", IOTUNE_CONFIG=config(place, text.replace(block, "")))
    assert size < path.stat().st_size <= 1.25 * size, (size, path.stat().st_size)
    # A file grows by the rest of its last block of metadata, no further.
    only = CONFIG.replace("<alignment>65536,4096</alignment>", "")
    Seen(place, "a.h5", IOTUNE_CONFIG=config(place, only))
    assert size < path.stat().st_size <= size + 131072, (size, path.stat().st_size)
    tuned.check_verdicts()


def program_wins(place: Place) -> None:
    own = ("--own", "--set-hint", "cb_buffer_size=4194304", "--set-hint", "romio_cb_write=disable")
    tuned = Seen(place, "a.h5", *own, IOTUNE_CONFIG=config(place))
    assert tuned.values["alignment"] == "777,512", tuned.values
    assert tuned.values["meta_block_size"] == "3000", tuned.values
    assert tuned.values["cb_buffer_size"] == "4194304", tuned.values
    assert tuned.values["romio_cb_write"] == "disable", tuned.values
    assert tuned.values["cb_nodes"] == "2", tuned.values
    # It is set beside our own romio_cb_write alone.
    assert tuned.verdict("romio_ds_write") == "refused", tuned.outcomes
    for name in ("alignment", "meta_block_size", "cb_buffer_size", "romio_cb_write"):
        assert tuned.verdict(name) == "refused", tuned.outcomes
        assert any("program" in o[3] for o in tuned.outcomes if o[0] == name), tuned.outcomes
    assert tuned.verdict("cb_nodes") == "applied", tuned.outcomes
    tuned.check_verdicts()
    # All of the access list. What was set to HDF5's default looks like what was not set.
    bare = Seen(place, "a.h5", "--own", preload=False)
    contents = (place.scratch / "a.h5").read_bytes()
    names = ("alignment", "meta_block_size", "sieve_buf_size", "coll_metadata_write")
    leaves = "".join(f"<{name}>{EVERY[name]}</{name}>" for name in names)
    text = CONFIG.replace("<cb_nodes>", f"{leaves}<libver_low>v110</libver_low><cb_nodes>")
    text = text.replace(text[text.index("<High") : text.index("<Middle")], "")
    tuned = Seen(place, "a.h5", "--own", IOTUNE_CONFIG=config(place, text))
    for name in (*names, "libver_low"):
        assert tuned.values.get(name) == bare.values.get(name), (name, tuned.values)
        assert tuned.verdict(name) == "refused", tuned.outcomes
        assert any("program" in o[3] for o in tuned.outcomes if o[0] == name), tuned.outcomes
    assert (place.scratch / "a.h5").read_bytes() == contents


def unchanged_is_not_own(place: Place) -> None:
    """A property that the program sets to the value it already has is not the program's choice."""
    names = ("alignment", "meta_block_size", "sieve_buf_size")
    leaves = "".join(f"<{name}>{EVERY[name]}</{name}>" for name in names)
    text = f"<Parameters><Middleware_Layer>{leaves}</Middleware_Layer></Parameters>"
    tuned = Seen(place, "a.h5", "--same", IOTUNE_CONFIG=config(place, text))
    for name in names:
        assert tuned.values[name] == EVERY[name], (name, tuned.values)
        assert tuned.verdict(name) == "applied", tuned.outcomes


def user_wins(place: Place) -> None:
    hints = place.scratch / "romio hints"
    hints.write_text("# mine\ncb_buffer_size 2097152\nromio_ds_write enable\n")
    for arguments in ((), ("--mpiio",)):
        tuned = Seen(place, "a.h5", *arguments, IOTUNE_CONFIG=config(place), ROMIO_HINTS=hints)
        assert tuned.values["cb_buffer_size"] == "2097152", tuned.values
        assert tuned.values["romio_ds_write"] == "enable", tuned.values
        assert tuned.values["cb_nodes"] == "2", tuned.values
        assert tuned.verdict("cb_buffer_size") == "refused", tuned.outcomes
        # What the file has instead is reported too.
        assert tuned.got("cb_buffer_size") == "2097152", tuned.outcomes
        assert tuned.verdict("cb_nodes") == "applied", tuned.outcomes
        tuned.check_verdicts()
    # Of another MPI than this one, which does not read it: its user's all the same.
    tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place),
                 MPICH_MPIIO_HINTS="*.h5:cb_buffer_size=2097152:romio_ds_write=enable")  # fmt: skip
    for name in ("cb_buffer_size", "romio_ds_write"):
        assert tuned.verdict(name) == "refused", tuned.outcomes
        assert tuned.values[name] != HINTS[name], tuned.values
    assert tuned.verdict("cb_nodes") == "applied", tuned.outcomes


def mpiio(place: Place) -> None:
    bare = Seen(place, "a.bin", "--mpiio", preload=False)
    contents = (place.scratch / "a.bin").read_bytes()
    tuned = Seen(place, "a.bin", "--mpiio", IOTUNE_CONFIG=config(place))
    for name, value in HINTS.items():
        assert tuned.values[name] == value, (name, tuned.values)
        assert tuned.verdict(name) == "applied", tuned.outcomes
    assert bare.values != tuned.values
    tuned.check_verdicts()
    # Nothing that was wanted is passed over in silence.
    for name in ("alignment", "meta_block_size"):
        assert (name, "refused") in {(p, v) for p, v, _, _ in tuned.outcomes}, tuned.outcomes
    assert (place.scratch / "a.bin").read_bytes() == contents
    own = Seen(place, "a.bin", "--mpiio", "--set-hint", "cb_nodes=1", IOTUNE_CONFIG=config(place))
    assert own.values["cb_nodes"] == "1" and own.verdict("cb_nodes") == "refused", own.outcomes
    own.check_verdicts()


def reopened(place: Place) -> None:
    """On a file that exists nothing is allocated anew; hints hold all the same."""
    tuned = Seen(place, "a.h5", "--reopen", IOTUNE_CONFIG=config(place))
    created, opened = tuned.opens
    for name in ("alignment", "meta_block_size"):
        assert created[name] == EVERY[name] != opened[name], (name, opened)
        verdicts = [v for p, v, _, _ in tuned.outcomes if p == name]
        assert verdicts[0] == "applied" and "applied" not in verdicts[1:], tuned.outcomes
    for name, value in HINTS.items():
        assert created[name] == opened[name] == value, (name, created, opened)


def only_its_file(place: Place) -> None:
    """FileName is the whole name: H5Tuner matched parts of names."""
    text = CONFIG.replace("<cb_buffer_size>", '<cb_buffer_size FileName="other.h5">')
    tuned = Seen(place, "another.h5", IOTUNE_CONFIG=config(place, text))
    assert tuned.values["cb_buffer_size"] == "16777216", tuned.values
    tuned = Seen(place, "other.h5", IOTUNE_CONFIG=config(place, text))
    assert tuned.values["cb_buffer_size"] == "1048576", tuned.values


def named_by_file_system(place: Place) -> None:
    """MPI-IO takes names as ufs:a.bin: for settings, paths and patterns that is a.bin."""
    text = CONFIG.replace("<cb_buffer_size>", '<cb_buffer_size FileName="a.bin">')
    for arguments, file in (((), "a.bin"), (("--mpiio",), "a.bin")):
        tuned = Seen(place, f"ufs:{file}", *arguments, IOTUNE_CONFIG=config(place, text))
        assert (place.scratch / file).exists(), "this MPI-IO takes it for a part of the name"
        assert tuned.values["cb_buffer_size"] == "1048576", tuned.values
        paths = {one["path"] for one in place.summary()["files"]}
        assert str(place.scratch / file) in paths and not any("ufs:" in p for p in paths), paths


def database(place: Place) -> None:
    """A run is recorded, its pattern gets an answer, and the next run has it."""
    db = place.data / "iotune" / "patterns.db"
    make_database(db)
    first = Seen(place, "a.h5")
    assert first.source in ("unknown", "untrained"), (first.source, first.said)
    assert first.outcomes == [], first.outcomes
    spool = list((place.data / "iotune" / "spool").glob("*"))
    assert spool == [], "a run's end folds what it observed"
    with contextlib.closing(sqlite3.connect(db)) as folded:
        assert folded.execute("SELECT count(*) FROM observations").fetchone() == (1,)
    second = Seen(place, "a.h5")
    assert second.source == "untrained" and second.values == first.values, second.source
    assert answer(db, "cb_buffer_size=1048576;romio_cb_write=enable") >= 1
    third = Seen(place, "a.h5")
    assert third.source == "exact", (third.source, third.said)
    assert third.values["cb_buffer_size"] == "1048576", third.values
    assert third.values["romio_cb_write"] == "enable" != first.values["romio_cb_write"]
    assert third.verdict("cb_buffer_size") == "applied", third.outcomes
    third.check_verdicts()
    # A file that is not this workload's is left alone.
    other = Seen(place, "unheard-of.h5")
    assert other.source != "exact" and other.outcomes == [], other.source
    # And without the database the first state is back.
    without = Seen(place, "a.h5", IOTUNE_DB="none")
    assert without.values == first.values and without.said == [], without.said


def behind_a_tool(place: Place) -> None:
    """Tools that profile MPI and HDF5, loaded before iotune or behind it, cost neither anything."""
    tool = place.build / "lib" / "libprofiling_tool.so"
    names = ("MPI_File_open", "MPI_File_close", "MPI_File_write_at_all", "H5Fcreate")
    file = place.scratch / "a.h5"

    def run(
        *mode: str, preload: bool | list[Path] = True, **env: Any
    ) -> tuple[Seen, dict[str, str | None], Counter[str]]:
        """What the program saw, what the tool counted, the calls of the trace."""
        file.unlink(missing_ok=True)
        recorded = place.library in place.libraries(preload)
        seen = Seen(place, "a.h5", *mode, preload=preload, expect_trace=recorded, **env)
        reported = {name: seen.values.pop(name, None) for name in names}
        return seen, reported, Counter(call["name"] for call in (place.calls() if recorded else []))

    for mode in ("--mpiio",), ():
        settings: dict[str, Any] = {"IOTUNE_CONFIG": config(place)}
        alone, _, calls = run(*mode, **settings)
        assert alone.outcomes, alone.said
        _, counts, _ = run(*mode, preload=[tool])
        assert counts["MPI_File_open"] == "1" and "0" in counts.values(), counts
        for loaded in ([tool, place.library], [place.library, tool]):
            seen, reported, both = run(*mode, **settings, preload=loaded)
            assert reported == counts, (loaded, reported, counts)
            assert both == calls, (loaded, both - calls, calls - both)
            assert seen.values == alone.values, (loaded, seen.values, alone.values)
            assert seen.outcomes == alone.outcomes, (loaded, seen.outcomes)
            assert seen.said == alone.said, (loaded, seen.said)


def not_offered(place: Place) -> None:
    """What no gate makes safe has no name to ask for it by."""
    bare = Seen(place, "a.h5", preload=False)
    for name in ("all_coll_metadata_ops", "coll_metadata_ops", "libver_bounds", "libver_high",
                 "file_space_page_size", "file_space_strategy", "subfiling", "dxpl_mpio",
                 ):  # fmt: skip
        text = CONFIG.replace("<cb_nodes>2</cb_nodes>", f"<{name}>enable</{name}>")
        left = Seen(place, "a.h5", IOTUNE_CONFIG=config(place, text))
        assert len(left.said) == 1 and name in left.said[0], left.said
        assert left.values == bare.values and left.outcomes == [], left.outcomes


if __name__ == "__main__":
    main({"hdf5": hdf5, "every-setting": every_setting, "aligned": aligned,
          "not-offered": not_offered, "program-wins": program_wins,
          "unchanged-is-not-own": unchanged_is_not_own, "user-wins": user_wins,
          "mpiio": mpiio, "reopened": reopened, "only-its-file": only_its_file,
          "named-by-file-system": named_by_file_system, "database": database,
          "behind-a-tool": behind_a_tool})  # fmt: skip
