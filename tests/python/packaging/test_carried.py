"""The list of what the libraries carry is true, valid, and complete with licences."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from iotune import __version__
from support.installed.package_files import (
    PACKAGE,
    metadata_files,
    native_files,
    output,
    tool,
)
from support.repository import ROOT

MAKE = ROOT / "packaging" / "sbom" / "make_sbom.py"
VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
found = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(str(found) if found else 0)
"""


def installed_list() -> Path:
    (found,) = (path for path in metadata_files() if path.name == "iotune.cdx.json")
    assert found.parent.name == "sboms"
    return found


def components() -> dict[str, dict[str, Any]]:
    document = json.loads(installed_list().read_text())
    assert document["metadata"]["component"]["version"] == __version__
    return {part["name"]: part for part in document["components"]}


def test_the_versions_are_those_in_the_libraries() -> None:
    parts = components()
    database = (PACKAGE / "lib" / "libiotune-db.so").read_bytes()
    if "sqlite" in parts:
        assert parts["sqlite"]["version"].encode() + b"\0" in database
    if "libxml2" in parts:
        major, minor, micro = parts["libxml2"]["version"].split(".")
        assert f"{major}{minor:0>2}{micro:0>2}".encode() in database
    compiler = parts["gcc-runtime"]["version"]
    assert f"{compiler}".encode() in database
    fuse = PACKAGE / "bin" / "iotune-fuse"
    assert ("libfuse" in parts) == (
        fuse.exists() and "libfuse3" not in output("readelf", "-Wd", fuse)
    )


def test_what_a_library_does_not_load_it_carries() -> None:
    """SQLite, libxml2 and libstdc++ are used: each is loaded, or it is in the list."""
    parts = components()
    for path in native_files():
        needed = " ".join(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-Wd", path)))
        users = {"sqlite": "libsqlite3", "libxml2": "libxml2", "gcc-runtime": "libstdc++"}
        for name, library in users.items():
            if name in parts:
                assert library not in needed, path


def test_each_part_has_its_licence() -> None:
    licences = {path.name for path in metadata_files() if "licenses" in path.parts}
    table = (ROOT / "packaging" / "licences" / "README.md").read_text()
    named = set(re.findall(r"\| ([\w-]+\.txt) \|", table))
    assert named == {path.name for path in (ROOT / "packaging" / "licences").glob("*.txt")}
    assert named <= licences and "LICENSE" in licences
    source = MAKE.read_text()
    assert named == set(re.findall(r'"([\w-]+\.txt)"', source))


def test_the_list_is_valid_cyclonedx(tmp_path: Path) -> None:
    python = tool("python", "sbom")
    output(python, "-c", VALIDATE, installed_list())
    spoilt = tmp_path / "spoilt.json"
    spoilt.write_text(installed_list().read_text().replace('"library"', '"thing"'))
    assert subprocess.run([python, "-c", VALIDATE, spoilt], capture_output=True).returncode != 0


def test_a_part_without_a_licence_is_refused(tmp_path: Path) -> None:
    for word, what in (("openssl=3.0", "no licence is known of openssl"),
                       ("sqlite=", "no version was found of sqlite")):  # fmt: skip
        done = subprocess.run(
            [sys.executable, MAKE, tmp_path / "list.json", "1.0", word],
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 1 and what in done.stderr
        assert not (tmp_path / "list.json").exists()
