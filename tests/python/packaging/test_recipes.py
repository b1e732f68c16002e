"""Recipes and citation say what the project says, and their readers read them.

That Spack or EasyBuild builds iotune is verified by nothing (docs/howto/install.md says so).
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import Any

from iotune import __version__
from support.installed.package_files import output, tool
from support.repository import ROOT

PROJECT = (ROOT / "pyproject.toml").read_text()
SPACK = ROOT / "packaging" / "spack" / "packages" / "iotune" / "package.py"
(EASYBUILD,) = (ROOT / "packaging" / "easybuild").glob("*.eb")
READ = """
import json, sys
from easybuild.framework.easyconfig.parser import EasyConfigParser
from easybuild.tools import options
words = ["--modules-tool=Lmod", "--allow-use-as-root-and-accept-consequences"]
options.set_up_configuration(args=words, silent=True)
found = EasyConfigParser(sys.argv[1]).get_config_dict()
print(json.dumps({key: found[key] for key in sys.argv[2:]}, default=str))
"""


def dependencies() -> set[str]:
    (line,) = re.findall(r"^dependencies = \[(.*)\]$", PROJECT, re.MULTILINE)
    return {re.match(r"[\w-]+", word)[0] for word in re.findall(r'"([^"]+)"', line)}  # type: ignore[index]


def spack_calls() -> list[ast.Call]:
    tree = ast.parse(SPACK.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def first_words(name: str) -> set[str]:
    """First arguments of the directives `name` of Spack's recipe."""
    found: set[Any] = set()
    for call in spack_calls():
        if isinstance(call.func, ast.Name) and call.func.id == name:
            found |= {arg.value for arg in call.args[:1] if isinstance(arg, ast.Constant)}
    return found


def test_spacks_recipe_names_the_version_and_every_dependency() -> None:
    assert __version__ in first_words("version")
    named = {re.match(r"[\w-]+", word)[0] for word in first_words("depends_on")}  # type: ignore[index]
    assert {f"py-{name}" for name in dependencies()} <= named
    assert {"sqlite", "libxml2", "nlohmann-json", "py-pybind11", "cmake"} <= named
    python = re.findall(r'requires-python = ">=([\d.]+)"', PROJECT)[0]
    assert f"python@{python}:" in first_words("depends_on")


def test_easybuild_reads_its_recipe() -> None:
    python = tool("python")
    done = output(python, "-c", READ, EASYBUILD, "name", "version", "toolchain", "exts_list",
                  "dependencies")  # fmt: skip
    found = ast.literal_eval(done.strip().splitlines()[-1])
    assert (found["name"], found["version"]) == ("iotune", __version__)
    toolchain = found["toolchain"]
    wanted = f"iotune-{__version__}-{toolchain['name']}-{toolchain['version']}.eb"
    assert EASYBUILD.name == wanted
    assert [extension[0] for extension in found["exts_list"]] == ["typer", "pyelftools", "iotune"]


def test_the_citation_is_valid(tmp_path: Path) -> None:
    cffconvert = tool("cffconvert")
    citation = ROOT / "CITATION.cff"
    assert "valid" in output(cffconvert, "--validate", "-i", citation)
    assert re.findall(r"^version: (.*)$", citation.read_text(), re.MULTILINE) == [__version__]
    spoilt = tmp_path / "CITATION.cff"
    spoilt.write_text(citation.read_text().replace("authors:", "writers:"))
    done = subprocess.run([cffconvert, "--validate", "-i", spoilt], capture_output=True)
    assert done.returncode != 0


def test_the_versions_agree() -> None:
    assert f'version = "{__version__}"' in PROJECT
    assert f"project(iotune VERSION {__version__} " in (ROOT / "CMakeLists.txt").read_text()
