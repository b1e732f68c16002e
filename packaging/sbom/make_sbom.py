"""make_sbom.py OUTPUT IOTUNE_VERSION NAME=VERSION...: the list of what iotune's libraries carry.

CycloneDX 1.5 as JSON. CMake calls it with what it has linked; a name that is not in PARTS is an
error, so that nothing can be carried without a licence. The output depends on its arguments and on
the versions of Debian's packages alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Part:
    """One project that is carried: as SPDX calls its licence, and where Debian has it."""

    licence: str
    licence_text: str
    debian_package: str
    debian_source: str
    cpe: str
    carried_in: str


DATABASE = "libiotune-db.so, _core"
PARTS = {
    "sqlite": Part("blessing", "sqlite.txt", "libsqlite3-dev", "sqlite3",
                   "cpe:2.3:a:sqlite:sqlite:{}:*:*:*:*:*:*:*", DATABASE),
    "libxml2": Part("MIT", "libxml2.txt", "libxml2-dev", "libxml2",
                    "cpe:2.3:a:xmlsoft:libxml2:{}:*:*:*:*:*:*:*", DATABASE),
    "nlohmann-json": Part("MIT", "nlohmann-json.txt", "nlohmann-json3-dev", "nlohmann-json3",
                          "cpe:2.3:a:json-for-modern-cpp_project:json-for-modern-cpp:{}:*:*:*:*:*:*:*",
                          "libiotune-db.so, libiotune-logstore.so, _core, iotune-fuse"),
    "gcc-runtime": Part("GPL-3.0-or-later WITH GCC-exception-3.1", "gcc-runtime.txt",
                        "libstdc++-12-dev", "gcc-12", "cpe:2.3:a:gnu:gcc:{}:*:*:*:*:*:*:*",
                        "libiotune-db.so, libiotune-gather.so, libiotune-logstore.so, _core, "
                        "iotune-fuse"),
    "pybind11": Part("BSD-3-Clause", "pybind11.txt", "", "", "", "_core"),
    "typer": Part("MIT", "typer.txt", "", "", "", "the folder iotune/vendored"),
    "libfuse": Part("LGPL-2.1-only", "libfuse.txt", "libfuse3-dev", "fuse3",
                    "cpe:2.3:a:fuse_project:fuse:{}:*:*:*:*:*:*:*", "iotune-fuse"),
}  # fmt: skip


def debian_version(package: str) -> str:
    """The installed version with Debian's patches in it; empty where there is no dpkg."""
    if not package or shutil.which("dpkg-query") is None:
        return ""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True
    )
    return done.stdout if done.returncode == 0 else ""


def component(name: str, version: str) -> dict[str, Any]:
    """One carried part in CycloneDX's words."""
    part = PARTS[name]
    licence = {"license": {"id": part.licence}}
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": name,
        "name": name,
        "version": version,
        "licenses": [{"expression": part.licence} if " " in part.licence else licence],
        "properties": [{"name": "iotune:carried-in", "value": part.carried_in}],
    }
    if part.cpe:
        found["cpe"] = part.cpe.format(version)
    patched = debian_version(part.debian_package)
    # Another distribution's compiler is not Debian's package of that name.
    if version in patched:
        found["purl"] = f"pkg:deb/debian/{part.debian_source}@{patched.replace('+', '%2B')}"
        found["properties"].append({"name": "iotune:debian-version", "value": patched})
    return found


def sbom(version: str, carried: dict[str, str]) -> dict[str, Any]:
    """The whole document."""
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "iotune",
                "name": "iotune",
                "version": version,
                "licenses": [{"license": {"id": "BSD-3-Clause"}}],
            }
        },
        "components": [component(name, carried[name]) for name in sorted(carried)],
        "dependencies": [
            {"ref": "iotune", "dependsOn": sorted(carried)},
            *({"ref": name} for name in sorted(carried)),
        ],
    }


def main() -> None:
    output, version, *words = sys.argv[1:]
    carried = dict(word.split("=", 1) for word in words)
    unknown = sorted(set(carried) - set(PARTS))
    if unknown:
        sys.exit(f"make_sbom.py: no licence is known of {', '.join(unknown)}: add it to PARTS")
    unnamed = sorted(name for name, number in carried.items() if not number)
    if unnamed:
        sys.exit(f"make_sbom.py: no version was found of {', '.join(unnamed)}")
    text = json.dumps(sbom(version, carried), indent=2)
    Path(output).write_text(text + "\n")


if __name__ == "__main__":
    main()
