"""The shape of the house: who may include whom, how long a file may be, no one's paths.

The rules are functions over a folder, so that they are tried on a bad tree as well as
on this one: a rule that cannot fail proves nothing.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from support.repository import ROOT
from support.tracked_files import tracked

# Data flows from left to right; a room includes itself and what stands before it.
ROOMS = (
    *("core", "patterns", "recorder", "analyzer", "patterndb", "prefetch", "logstore"),
    *("gather", "tuner", "python"),
)
# Of what stands before it a room leaves out: neither of the two at the bottom knows the other, and
# no room knows a service.
STRANGERS = {
    "patterns": {"core"}, "logstore": {"prefetch"}, "gather": {"prefetch"},
    "tuner": {"prefetch", "logstore", "gather"},
}  # fmt: skip
# Includes none of the rooms: the replayer reads a plain plan file and knows no iotune.
ALONE = ("kernels",)
# Programs of their own, which nobody includes: what they may know.
BESIDE = {"fuse": ("core", "patterns", "prefetch", "recorder", "analyzer", "logstore")}
# The papers' baselines are reached by name; who looks them up by it may include them.
LOOKS_UP_BASELINES = {
    "patterns/predict/predictors.cpp", "prefetch/preload/schedules.cpp",
    "python/bindings/bind_patterns.cpp", "python/bindings/bind_streams.cpp",
}  # fmt: skip
# Services enlist themselves in recorder/hooks/service.h; what of the recorder runs inside the
# program knows none by name. (recorder/gather/ is where ranks gather a trace.)
SERVICE = re.compile(r"prefetch|log_?\s?store|pre-?exec|gather::|IOTUNE_GATHER", re.IGNORECASE)
IN_PROGRAM = tuple(
    f"recorder/{part}/" for part in ("gather", "hooks", "regions", "ring", "wrappers")
)
# A folder with more files is several folders. What is still to be grouped stands here.
MOST_FILES = 26
CROWDED: set[str] = {"python/iotune/schemas"}
NATIVE = {".c", ".cc", ".cpp", ".h", ".hpp", ".inc"}
CODE = NATIVE | {".py", ".sh", ".cmake", ".sql"}
LONGEST = 500
# Path -> why it may be longer. Only what a program wrote.
GENERATED: dict[str, str] = {}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
# Put together, so that this file does not match itself.
ONE_MACHINE = re.compile(r"(?<![\w.)}-])/(?:" + "|".join(("wo" + "rk", "fa" + "rm")) + r")/\w")


def includes(path: Path) -> list[tuple[int, str]]:
    """Return line numbers and names of what a native source includes."""
    lines = path.read_text(errors="replace").splitlines()
    return [(n, hit[1]) for n, line in enumerate(lines, 1) if (hit := INCLUDE.match(line))]


def room_of(path: Path, name: str, root: Path) -> str | None:
    """Return the room that an include leads into, whichever way it is written."""
    if name.startswith("."):
        target = (path.parent / name).resolve()
        if not target.is_relative_to(root.resolve()):
            return None
        name = str(target.relative_to(root.resolve()))
    first = name.split("/", 1)[0]
    return first if "/" in name and first in (*ROOMS, *ALONE, *BESIDE) else None


def wrong_includes(root: Path) -> list[str]:
    """Return every include that runs against the direction."""
    wrong = []
    for path in tracked(root):
        relative = path.relative_to(root)
        home = relative.parts[0]
        if path.suffix not in NATIVE or home not in (*ROOMS, *ALONE, *BESIDE, "include"):
            continue
        if home in ROOMS:
            allowed = set(ROOMS[: ROOMS.index(home) + 1]) - STRANGERS.get(home, set())
        else:
            allowed = {home} & {*ALONE, *BESIDE} | set(BESIDE.get(home, ()))
        for line, name in includes(path):
            room = room_of(path, name, root)
            if room is not None and room not in allowed:
                wrong.append(f"{relative}:{line} includes {name}")
            # python3.11/Python.h is how some distributions spell it.
            is_python = name.split("/")[-1] == "Python.h" or name.startswith("pybind11/")
            if is_python and home != "python":
                wrong.append(f"{relative}:{line} includes {name}: the core knows no Python")
            if home in ALONE and name.split("/")[-1].startswith("iotune"):
                wrong.append(f"{relative}:{line} includes {name}: kernels know no iotune")
    return wrong


def long_files(root: Path) -> list[str]:
    """Return the sources that are longer than a reader should have to take in."""
    wrong = []
    for path in tracked(root):
        relative = str(path.relative_to(root))
        if path.suffix not in CODE and path.name not in ("CMakeLists.txt", "Makefile"):
            continue
        length = len(path.read_text(errors="replace").splitlines())
        if length > LONGEST and relative not in GENERATED:
            wrong.append(f"{relative}: {length} lines")
    return wrong


def uses_of_baselines(root: Path) -> list[str]:
    """Return the sources of the product that rest on a baseline."""
    wrong = []
    for path in tracked(root):
        relative = path.relative_to(root)
        if path.suffix not in NATIVE or relative.parts[0] not in (*ROOMS, *BESIDE):
            continue
        if "baselines" in relative.parts or relative.as_posix() in LOOKS_UP_BASELINES:
            continue
        wrong += [
            f"{relative}:{line} includes {name}"
            for line, name in includes(path)
            if "/baselines/" in name
        ]
    return wrong


def services_by_name(root: Path) -> list[str]:
    """Return the lines of the recorder that name a service."""
    wrong = []
    for path in tracked(root):
        relative = path.relative_to(root).as_posix()
        if path.suffix not in NATIVE or not relative.startswith(IN_PROGRAM):
            continue
        lines = path.read_text(errors="replace").splitlines()
        wrong += [
            f"{relative}:{number} {line.strip()[:80]}"
            for number, line in enumerate(lines, 1)
            if SERVICE.search(line)
        ]
    return wrong


def crowded_folders(root: Path) -> list[str]:
    """Return the folders in which nobody finds anything any more."""
    files = Counter(path.parent.relative_to(root).as_posix() for path in tracked(root))
    return sorted(
        f"{folder}: {count} files"
        for folder, count in files.items()
        if count > MOST_FILES and folder not in CROWDED
    )


def paths_of_one_machine(root: Path) -> list[str]:
    """Return the places that name a folder which only one machine has."""
    wrong = []
    for path in tracked(root):
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
            if ONE_MACHINE.search(line):
                wrong.append(f"{path.relative_to(root)}:{number} {line.strip()[:80]}")
    return wrong


RULES = (
    *(wrong_includes, long_files, uses_of_baselines, services_by_name),
    *(crowded_folders, paths_of_one_machine),
)


@pytest.mark.parametrize("rule", RULES)
def test_this_tree_obeys(rule):
    assert rule(ROOT) == []


def test_list_of_generated_files_is_current():
    assert [name for name in GENERATED if not (ROOT / name).is_file()] == []


def test_list_of_crowded_folders_is_current():
    files = Counter(path.parent.relative_to(ROOT).as_posix() for path in tracked(ROOT))
    assert [folder for folder in CROWDED if files[folder] <= MOST_FILES] == []


@pytest.fixture
def house(tmp_path):
    """Return a function that writes files into a tree which has one of every room."""

    def write(files: dict[str, str]) -> Path:
        good = {
            "core/os/lock.h": "#pragma once\n",
            "patterns/extent.h": "#pragma once\n",
            "recorder/trace.h": '#include "patterns/extent.h"\n#include "core/os/lock.h"\n',
            "recorder/block.h": "#include <cstdint>\n",
            "analyzer/merge.cpp": '#include "recorder/trace.h"\n#include "merge.h"\n',
            "tuner/hints.cpp": '# include "patterndb/store.h"\n#include "analyzer/merge.h"\n',
            "python/face.cpp": '#include <pybind11/pybind11.h>\n#include "tuner/hints.h"\n',
            "kernels/papers/vpic_io.c": '#include <hdf5.h>\n#include "kernel_io.h"\n',
            "tests/unit/any.cpp": '#include "tuner/hints.h"\n#include "patterns/extent.h"\n',
        }
        for name, content in {**good, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return tmp_path

    return write


def test_a_good_tree_has_no_findings(house):
    root = house({})
    assert wrong_includes(root) == long_files(root) == paths_of_one_machine(root) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("patterns/bad.h", '#include "recorder/trace.h"'),
        ("core/os/bad.h", '#include "recorder/call_table.h"'),
        ("core/bad.cpp", '#include "patterns/extent.h"'),
        ("patterns/bad.h", '#include "core/os/lock.h"'),
        ("recorder/wrappers/bad.cpp", '#include "tuner/hints.h"'),
        ("recorder/bad.cpp", '#include "prefetch/streams/stream.h"'),
        ("prefetch/bad.cpp", '#include "tuner/hints.h"'),
        ("prefetch/bad.cpp", '#include "logstore/format.h"'),
        ("logstore/bad.cpp", '#include "tuner/hints.h"'),
        ("recorder/bad.cpp", "#include <patterndb/store.h>"),
        ("recorder/bad.cpp", '  #  include "../tuner/hints.h"'),
        ("analyzer/bad.cpp", '#include "patterndb/store.h"'),
        ("tuner/bad.cpp", '#include "python/face.h"'),
        ("tuner/bad.cpp", '#include "logstore/format.h"'),
        ("tuner/bad.cpp", '#include "gather/held/pieces.h"'),
        ("logstore/bad.cpp", '#include "prefetch/streams/stream.h"'),
        ("tuner/bad.cpp", "#include <Python.h>"),
        ("patterndb/bad.cpp", "#include <pybind11/stl.h>"),
        ("patterns/bad.cpp", '#include "kernels/shared/kernel_io.h"'),
        ("kernels/bad.c", '#include "patterns/extent.h"'),
        ("recorder/bad.cpp", '#include "fuse/options.h"'),
        ("fuse/bad.cpp", '#include "tuner/advice.h"'),
        ("kernels/bad.c", '#include "../recorder/trace.h"'),
        ("kernels/bad.c", "#include <iotune.h>"),
        ("include/iotune.h", '#include "tuner/hints.h"'),
    ],
)
def test_an_include_against_the_direction_is_found(house, name, line):
    root = house({name: f"// first line\n{line}\n"})
    (finding,) = wrong_includes(root)
    assert finding.startswith(f"{name}:2 ")


def test_a_comment_is_no_include(house):
    root = house({"patterns/good.h": '// not #include "tuner/hints.h"\n'})
    assert wrong_includes(root) == []


@pytest.mark.parametrize("name", ["tuner/long.cpp", "python/iotune/long.py", "tools/long.sh"])
def test_a_long_file_is_found(house, name):
    root = house({name: "x\n" * (LONGEST + 1), "docs/long.md": "x\n" * 1000})
    assert long_files(root) == [f"{name}: {LONGEST + 1} lines"]


def test_a_file_of_just_the_limit_is_not(house):
    assert long_files(house({"tuner/fits.cpp": "x\n" * LONGEST})) == []


def test_a_use_of_a_baseline_is_found(house):
    line = '#include "patterns/predict/baselines/unit_finder.h"\n'
    root = house(
        {
            "prefetch/bad.cpp": line,
            "patterns/predict/baselines/tree.cpp": line,
            "patterns/predict/predictors.cpp": line,
            "tests/unit/good.cpp": line,
        }
    )
    (finding,) = uses_of_baselines(root)
    assert finding.startswith("prefetch/bad.cpp:1 ")


@pytest.mark.parametrize(
    "line", ["prefetch::begin();", "// the log store's", "IOTUNE_LOGSTORE", "IOTUNE_GATHER"]
)
def test_a_service_by_name_is_found(house, line):
    root = house(
        {
            "recorder/wrappers/bad.cpp": f"\n{line}\n",
            "recorder/read/good.cpp": line,
            "tuner/good.cpp": line,
        }
    )
    assert services_by_name(root) == [f"recorder/wrappers/bad.cpp:2 {line}"]


def test_a_crowded_folder_is_found(house):
    few = {f"tuner/file_{n}.h": "" for n in range(MOST_FILES - 1)}  # and hints.cpp
    assert crowded_folders(house(few)) == []
    assert crowded_folders(house({**few, "tuner/more.h": ""})) == [f"tuner: {MOST_FILES + 1} files"]


@pytest.mark.parametrize("text", ["see {}main/x", 'open("{}x")', "PATH={}bin"])
@pytest.mark.parametrize("place", ["wo" + "rk", "fa" + "rm"])
def test_a_path_of_one_machine_is_found(house, text, place):
    root = house({"docs/a.md": "\n" + text.format(f"/{place}/") + "\n"})
    (finding,) = paths_of_one_machine(root)
    assert finding.startswith("docs/a.md:2 ")


@pytest.mark.parametrize("text", ["a/{}/b", "./{}/b", "${{ROOT}}/{}/x", "/home/{}/x", "/{}space/x"])
@pytest.mark.parametrize("place", ["wo" + "rk", "fa" + "rm"])
def test_a_relative_path_of_that_name_is_not(house, text, place):
    assert paths_of_one_machine(house({"docs/a.md": text.format(place) + "\n"})) == []


def test_in_a_repository_only_tracked_files_count(house):
    root = house({"patterns/bad.h": '#include "tuner/hints.h"\n'})
    subprocess.run(["git", "-C", str(root), "init", "-q"], check=True)
    assert wrong_includes(root) == []
    subprocess.run(["git", "-C", str(root), "add", "patterns/bad.h"], check=True)
    assert len(wrong_includes(root)) == 1
