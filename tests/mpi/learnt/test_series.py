"""A run that writes a series of files tunes it by itself: default and candidates by turns."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from support.answers import make_database
from support.place import Place, main

CANDIDATES = ["romio_cb_write=disable", "cb_config_list=*:2;cb_nodes=2",
              "dxpl_mpio_collective_opt=individual"]  # fmt: skip


def run(place: Place, *arguments: object, ranks: int = 2, **env: Any) -> list[dict[str, Any]]:
    """Run a kernel; of each of its files, in order: source, state, message, settings."""
    place.trace.unlink(missing_ok=True)
    # The shim: beside other work MPICH burns its time slices.
    done = place.mpi(ranks, place.bin / "cyclic-io", *arguments, shim=True, **env)
    place.right(done, "cyclic-io")
    files: dict[str, dict[str, Any]] = {}
    for path in sorted(place.scratch.glob("*.h5")):
        files[path.name] = {"source": "", "message": "", "settings": {}}
    for call in sorted(place.calls(), key=lambda one: one["start_ns"]):
        if call["name"] == "iotune_decision":
            file, source, _, message = call["texts"]
            # --verify opens it once more, to read.
            if not files[Path(file).name]["source"]:
                files[Path(file).name].update(source=source, message=message)
        elif call["name"] == "iotune_setting":
            file, parameter, wanted, _, _ = call["texts"]
            if call["numbers"][0] != 2:
                files[Path(file).name]["settings"][parameter] = (wanted, call["numbers"][0])
    return [files[name] for name in sorted(files)]


def wanted(file: dict[str, Any]) -> str:
    return ";".join(f"{name}={file['settings'][name][0]}" for name in sorted(file["settings"]))


def turns(place: Place, **env: Any) -> None:
    """Every byte of every file is right; candidates and default take turns, as the words say."""
    make_database(place.data / "iotune" / "patterns.db")
    steps = 13
    files = run(place, "--collective", "--size", 3000, "--steps", steps, "--verify", **env)
    assert len(files) == steps, files
    assert files[0]["source"] == "unknown" and not files[0]["settings"], files[0]
    assert files[1]["source"] == "series" and not files[1]["settings"], files[1]
    assert [wanted(file) for file in files[2:8:2]] == CANDIDATES, files[1:8]
    decided = ""
    for number, file in enumerate(files[1:], start=2):
        assert file["source"] == "series", (number, file)
        settled = re.search("decided for|the default stays", file["message"])
        name = "cyclic-io#.h5" if settled else f"file {number} of cyclic-io#.h5"
        assert f"{name} in this run: " in file["message"], file
        setting = wanted(file)
        assert all(verdict in (0, 1) for _, verdict in file["settings"].values()), file
        if "the default's turn" in file["message"]:
            assert not setting and not decided, (number, file)
        elif match := re.search(r"tries (\S+) with (\d+) won and (\d+) lost", file["message"]):
            assert setting == match[1] in CANDIDATES and not decided, (number, file)
            assert int(match[2]) < 7 and int(match[3]) < 3, file
        elif match := re.search(r"decided for (\S+) with (\d+) won", file["message"]):
            decided = decided or match[1]
            assert setting == match[1] == decided and int(match[2]) >= 7, (number, file)
        elif number == 2:
            assert "no series of names that count up yet" in file["message"], file
        elif "the default stays" in file["message"] or "once more" in file["message"]:
            assert not setting, (number, file)
        else:
            raise AssertionError(file)
    # What was set is there: the last candidate's hints are read back from the open file.
    applied = [v for file in files for v in file["settings"].values() if v[1] == 0]
    assert applied, files


def decides(place: Place) -> None:
    """Storage that takes so much of each client: two aggregators are found, and are kept."""
    paced = place.build / "lib" / "libpaced_writes.so"
    files = run(place, "--collective", "--size", 16384, "--steps", 60, "--verify",
                preload=[place.library, place.shim, paced],
                PACED_BYTES_PER_SECOND=10_000_000)  # fmt: skip
    decided = [file for file in files if "decided for" in file["message"]]
    assert decided, [file["message"] for file in files]
    assert {wanted(file) for file in decided} == {CANDIDATES[1]}, decided
    # What follows has it, but for looks at the default now and then.
    after = files[files.index(decided[0]) :]
    assert all("once more" in file["message"] for file in after if not wanted(file)), after
    applied = {verdict for file in decided for _, verdict in file["settings"].values()}
    assert applied == {0}, decided


def nodes(place: Place) -> None:
    """Two aggregators a node are twice the nodes in all."""
    if not place.on_fake_nodes("candidates on several nodes"):
        return
    files = run(place, "--collective", "--size", 600, "--steps", 6, ranks=8)
    assert wanted(files[4]) == "cb_config_list=*:2;cb_nodes=8", files
    assert {verdict for _, verdict in files[4]["settings"].values()} == {0}, files


def without_a_database(place: Place) -> None:
    """None is needed; with IOTUNE_DB=none, with record and without numbers nothing is tried."""
    series = ("--collective", "--size", 500, "--steps", 4)
    files = run(place, *series)
    assert [file["source"] for file in files] == ["", "series", "series", "series"], files
    assert [wanted(file) for file in files] == ["", "", CANDIDATES[0], ""], files
    pair = ("--collective", "--size", 500, "--steps", 2)
    for path in place.scratch.glob("*.h5"):
        path.unlink()
    assert [wanted(file) for file in run(place, *pair)] == ["", ""]
    for path in place.scratch.glob("*.h5"):
        path.unlink()
    off: list[dict[str, Any]] = [{"IOTUNE_DB": "none"}, {"IOTUNE_MODE": "record"}]
    for env in off:
        files = run(place, *series, **env)
        assert [file["source"] for file in files] == [""] * 4, (env, files)


def config_for_others(place: Place) -> None:
    """IOTUNE_CONFIG decides for the files that it has a leaf for; the others are a series."""
    config = place.scratch / "config.xml"
    text = "<Parameters><Middleware_Layer>{}</Middleware_Layer></Parameters>"
    series = ("--collective", "--size", 500, "--steps", 3)
    config.write_text(text.format('<cb_nodes FileName="other.h5">1</cb_nodes>'))
    for database, sources, tried in (
        (None, ["unknown", "series", "series"], CANDIDATES[0]),
        ("none", ["config"] * 3, ""),
    ):
        for path in place.scratch.glob("*.h5"):
            path.unlink()
        files = run(place, *series, IOTUNE_CONFIG=config, IOTUNE_DB=database)
        assert [file["source"] for file in files] == sources, files
        assert [wanted(file) for file in files] == ["", "", tried], files
    config.write_text(text.format("<cb_buffer_size>1048576</cb_buffer_size>"))
    files = run(place, *series, IOTUNE_CONFIG=config)
    assert [wanted(file) for file in files] == ["cb_buffer_size=1048576"] * 3, files


def frozen(place: Place) -> None:
    """Where the site freezes what is set, a run tries nothing of its own."""
    site = place.scratch / "site.conf"
    site.write_text("freeze = yes\n")
    site.chmod(0o644)
    files = run(place, "--collective", "--size", 500, "--steps", 4, IOTUNE_SITE_CONFIG=site)
    assert [wanted(file) for file in files] == [""] * 4, files
    assert not {file["source"] for file in files} & {"series"}, files


def independent(place: Place) -> None:
    files = run(place, "--size", 500, "--steps", 3)
    assert wanted(files[2]) == "romio_cb_write=enable;romio_ds_write=disable", files


if __name__ == "__main__":
    # A sample leaves calls out, and neither turns nor what was set.
    sampled = partial(turns, IOTUNE_RECORD="sample")
    main(
        {
            "turns": turns,
            "decides": decides,
            "nodes": nodes,
            "sampled": sampled,
            "without-a-database": without_a_database,
            "config-for-others": config_for_others,
            "frozen": frozen,
            "independent": independent,
        }
    )
