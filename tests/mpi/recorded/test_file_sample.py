"""Of long series of files the first are recorded whole, and of the others a sample."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from support.place import Place, main

FILES, WHOLE = 60, 4
# What stands in the trace of a file that is not in the sample.
FEW = {"H5Fcreate", "H5Fopen", "H5Fclose", "iotune_file", "iotune_unsampled", "iotune_decision",
       "iotune_decision_again", "iotune_setting"}  # fmt: skip


def run(place: Place, *beside: str, **env: Any) -> tuple[Path, str]:
    """A run of the program without a name for its trace; the trace, and what was said."""
    place.clear()
    env = {"IOTUNE_TRACE": None, "IOTUNE_DB": "none", **env}
    done = place.right(place.run(place.bin / "series_files", FILES, *beside, **env))
    (trace,) = place.traces()
    return trace, done.err.decode()


def openings(calls: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Of each file of the series that is opened, in order: its name, the calls up to its close.

    In the trace a call stands behind those that were made inside of it.
    """
    found: list[tuple[str, list[dict[str, Any]]]] = []
    since: list[dict[str, Any]] = []
    name = ""
    for call in calls:
        since.append(call)
        if call["name"] in ("H5Fcreate", "H5Fopen"):
            name = call["texts"][0]
            if "none" in name:  # it was not there
                since, name = [], ""
        elif call["name"] == "H5Fclose" and name:
            found.append((name, since))
            since, name = [], ""
    return found


def left_out(calls: list[dict[str, Any]]) -> list[str]:
    """Names of the files whose calls were not recorded, once an opening and rank."""
    opened: dict[tuple[int, int], str] = {}
    out = []
    for call in calls:
        if call["name"] == "iotune_file":
            opened[call["rank"], call["arguments"]["handle"]] = Path(call["texts"][0]).name
        elif call["name"] == "iotune_unsampled":
            out.append(opened[call["rank"], call["arguments"]["file"]])
    return out


def in_memory(calls: list[dict[str, Any]]) -> dict[str, int]:
    """How often each call of HDF5 on dataspaces and property lists stands in the trace."""
    return Counter(call["name"] for call in calls if call["name"].startswith(("H5S", "H5P")))


def sample(place: Place) -> None:
    """The sample is whole, of the others only their opening stands there; no byte differs."""
    done = place.right(place.run(place.bin / "series_files", FILES, preload=False))
    assert done.err == b""
    bare = {path.name: path.read_bytes() for path in place.scratch.glob("*.h5")}
    drawn = set()
    for beside in ((), ("log",), ("fail",)):
        trace, said = run(place, *beside)
        assert said == "", said
        calls = place.calls(trace)
        out = left_out(calls)
        # By name, few of the others stay (FileSample): the same ones in every run.
        drawn.add(frozenset(out))
        assert len(drawn) == 1, drawn
        assert FILES - WHOLE - 3 <= len(set(out)) <= FILES - WHOLE, out
        assert not {f"step{i:05}.h5" for i in range(WHOLE)} & set(out), out
        assert not in_memory(calls), in_memory(calls)
        opened = openings(calls)
        assert len(opened) == FILES + 2, len(opened)
        for name, inside in opened:
            names = {call["name"] for call in inside}
            if beside == ("log",) and "H5Fcreate" in names:
                (line,) = [c for c in inside if c["name"] == "write" and c["depth"] == 0]
                assert line["arguments"]["count"] == 7, line
                names.discard("write")
            if name in out:
                assert names <= FEW and "iotune_unsampled" in names, (name, names)
            else:
                moved = "H5Dread" if "H5Fopen" in names else "H5Dwrite"
                assert {moved, "H5Dclose", "iotune_dataset"} <= names, (name, names)
        # Opened again a file is as whole as it was at first.
        assert out.count(opened[-2][0]) == 0 and out.count(opened[-1][0]) in (0, 2), out
        (head,) = place.heads(trace)
        assert head["end"]["sampled_out"] == str(len(out)), head["end"]
        assert head["attributes"]["learns"] == "no", head  # IOTUNE_DB=none
        files = {Path(f["path"]).name: f for f in place.summary(trace)["files"]}
        assert {name for name, file in files.items() if file["sampled_out"]} == set(out)
        assert all(bool(file["datasets"]) == (name not in out)
                   for name, file in files.items() if name.startswith("step"))  # fmt: skip
        (said,) = [w for w in place.summary(trace)["warnings"] if "series" in w]
        assert re.match(rf"of {len(out)} further files .*IOTUNE_RECORD=all", said), said
        assert {p.name: p.read_bytes() for p in place.scratch.glob("step*.h5")} == bare


def kinds(place: Place) -> None:
    """Of each kind of files, which a number tells apart, some are recorded whole."""
    for how, name in (
        ("kinds", "out_{step:05}_h{kind}.h5"),
        ("kinds-first", "out_h{kind}_{step:05}.h5"),
    ):
        trace, said = run(place, how)
        assert said == "", said
        out = set(left_out(place.calls(trace)))
        assert len(out) > 6 * (FILES - WHOLE - 5), len(out)
        for kind in range(6):
            names = [name.format(step=step, kind=kind) for step in range(WHOLE + 2)]
            assert len(set(names) - out) >= WHOLE, (kind, out)


def beside(place: Place) -> None:
    """While another HDF5 file is open, whose calls count, all is recorded."""
    trace, _ = run(place, "keep")
    calls = place.calls(trace)
    # The two that are read when it has been closed may be left out; nothing that is written may.
    assert len(left_out(calls)) <= 2
    assert len([c for c in calls if c["name"] == "H5Dwrite"]) == 2 * FILES
    assert len([c for c in calls if c["name"] == "iotune_dataset"]) >= 2 * FILES


def tuned(place: Place) -> None:
    """A dataset's settings are applied to the files outside the sample, too."""
    config = place.scratch / "config.xml"
    config.write_text(
        "<Parameters><High_Level_IO_Library><chunk>50</chunk></High_Level_IO_Library></Parameters>"
    )
    sizes = []
    for env in ({}, {"IOTUNE_CONFIG": config}):
        trace, _ = run(place, **env)
        assert len(set(left_out(place.calls(trace)))) >= FILES - WHOLE - 8
        files = sorted(place.scratch.glob("step*.h5"))
        assert len(files) == FILES
        sizes.append({path.stat().st_size for path in files})
    contiguous, chunked = sizes
    assert len(contiguous) == len(chunked) == 1 and contiguous != chunked, sizes


def asked(place: Place) -> None:
    """Who asks for a trace, times or prefetching has all calls; IOTUNE_RECORD decides."""
    named = place.scratch / "named.iotrace"
    for env in (
        {"IOTUNE_RECORD": "all"}, {"IOTUNE_TRACE": named}, {"IOTUNE_MODE": "record"},
        {"IOTUNE_TIMING": "call"}, {"IOTUNE_PREFETCH": "pattern"}, {"IOTUNE_RECORD": "some"},
    ):  # fmt: skip
        named.unlink(missing_ok=True)
        trace, said = run(place, **env)
        calls = place.calls(trace)
        assert left_out(calls) == [], env
        counts = in_memory(calls)
        assert min(counts["H5Screate_simple"], counts["H5Pcreate"]) >= FILES, counts
        unknown = "IOTUNE_RECORD=some is none of all, sample" in said
        assert unknown == ("some" in env.values()), said
    for more in ({"IOTUNE_TRACE": named}, {"IOTUNE_MODE": "record"}):
        named.unlink(missing_ok=True)
        trace, _ = run(place, IOTUNE_RECORD="sample", **more)
        assert left_out(place.calls(trace)), more


def ranks(place: Place) -> None:
    """All ranks leave the same files out; nothing is learnt of these, and of the others all."""
    place.clear()
    database = place.data / "iotune" / "patterns.db"
    done = place.mpi(2, place.bin / "vpic-io", "--size", 1000, "--steps", FILES, "--verify",
                     IOTUNE_TRACE=None)  # fmt: skip
    place.right(done, "vpic-io")
    (trace,) = place.traces()
    calls = place.calls(trace)
    by_rank = [sorted(left_out([c for c in calls if c["rank"] == rank])) for rank in (0, 1)]
    out = set(by_rank[0])
    assert by_rank[0] == by_rank[1] and len(out) >= FILES - WHOLE - 8, by_rank
    with contextlib.closing(sqlite3.connect(database)) as db:
        learnt = [Path(row[0]).name for row in db.execute("SELECT file_path FROM observations")]
    whole = {Path(f["path"]).name for f in place.summary(trace)["files"] if not f["sampled_out"]}
    assert sorted(learnt) == sorted(whole) and not whole & out, (learnt, json.dumps(sorted(out)))
    # --verify reads each file again: both openings are left out, or none.
    assert all(by_rank[0].count(name) == 2 for name in out), by_rank[0]


def decided(place: Place) -> None:
    """One answer for a series stands in the trace some times, and is known of every file."""
    place.clear()
    config = place.scratch / "config.xml"
    config.write_text(
        "<Parameters><High_Level_IO_Library><sieve_buf_size>131072</sieve_buf_size>"
        "</High_Level_IO_Library></Parameters>"
    )
    done = place.mpi(2, place.bin / "vpic-io", "--size", 1000, "--steps", FILES,
                     IOTUNE_TRACE=None, IOTUNE_CONFIG=config)  # fmt: skip
    place.right(done, "vpic-io")
    (trace,) = place.traces()
    calls = place.calls(trace)
    out = left_out([c for c in calls if c["rank"] == 0])
    assert len(out) >= FILES - WHOLE - 8
    again = [c["rank"] for c in calls if c["name"] == "iotune_decision_again"]
    whole = [c["rank"] for c in calls if c["name"] == "iotune_decision"]
    assert again == [0] * len(out) and whole == [0] * (FILES - len(out)), (again, whole)
    decisions = {
        tuple(value for key, value in sorted(file.items()) if key.startswith("decision_"))
        for file in place.summary(trace)["files"]
    }
    assert len(decisions) == 1 and "config" in decisions.pop(), decisions


def excluded(place: Place) -> None:
    """Nothing is kept of the calls on a file that is not traced while it is the only one."""
    trace, said = run(place, IOTUNE_EXCLUDE="*step*", IOTUNE_INCLUDE="*/step00005.h5")
    assert said == "", said
    calls = place.calls(trace)
    names = [call["name"] for call in calls]
    assert names.count("H5Fcreate") == FILES and names.count("H5Dwrite") == 1, names
    assert names.count("H5Dcreate2") == 1 and "H5Dread" not in names, names
    (file,) = place.summary(trace)["files"]
    assert file["path"].endswith("/step00005.h5") and not file["sampled_out"], file
    assert file["bytes_written"] == 400, file


def changed(place: Place) -> None:
    """What is changed in place may be another thing each time, and is recorded each time."""
    trace, _ = run(place, "change")
    (file,) = [f for f in place.summary(trace)["files"] if f["path"].endswith("step00000.h5")]
    assert {dataset["dataset"] for dataset in file["datasets"]} == {"/x", "/y", "/z"}, file


def ended(place: Place) -> None:
    """A run that ends inside a call of HDF5 on a file outside the sample is complete."""
    place.clear()
    done = place.mpi(1, place.bin / "series_files", FILES, "end", IOTUNE_TRACE=None,
                     IOTUNE_DB="none")  # fmt: skip
    place.right(done, "series_files end")
    assert not place.leftovers(), place.leftovers()
    (trace,) = place.traces()
    (head,) = place.heads(trace)
    assert head["end"]["end"] == "finalize", head["end"]
    assert left_out(place.calls(trace))


if __name__ == "__main__":
    main({"sample": sample, "beside": beside, "tuned": tuned, "asked": asked, "ranks": ranks,
          "decided": decided, "excluded": excluded, "changed": changed,
          "ended": ended, "kinds": kinds})  # fmt: skip
