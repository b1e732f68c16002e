"""What commands import that are typed often: a launch script calls `iotune lib` for each job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from iotune.cli import app
from iotune.command_table import COMMANDS, help_text
from iotune.importing import import_log
from support.installed.import_logs import LOGS

# What they may not even look at: parsers of options, tables, numbers.
HEAVY = {"typer", "click", "pydantic", "rich", "numpy", "pandas", "pyarrow", "asyncio"}
# All of iotune that they may import.
QUICK = {
    *("iotune.command_table", "iotune.entry", "iotune.errors", "iotune.talk", "iotune.locations"),
    *("iotune.launch", "iotune.launch.lib_path", "iotune.launch.preload"),
}
LISTING = """
import sys
sys.argv = ["iotune", *sys.argv[1:]]
from iotune.entry import main
try:
    main()
finally:
    print("imported", *sys.modules, file=sys.stderr)
"""


def imported(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTING, *words], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("words", [["lib"], ["lib", "--include"], ["--help"]])
def test_the_path_and_the_help_need_no_parser_and_no_native_part(words: list[str]) -> None:
    found = imported(*words)
    assert not found & (HEAVY | {"json", "dataclasses"})
    assert {name for name in found if name.startswith("iotune.")} <= QUICK


def test_show_needs_no_parser_and_no_arrays(tmp_path: Path) -> None:
    trace = tmp_path / "run.iotrace"
    import_log(LOGS / "accesses.csv", trace)
    found = imported("show", str(trace))
    assert not found & HEAVY and "iotune._core" in found
    unused = ("iotune.cli", "iotune.models", "iotune.importing", "iotune.analysis", "iotune.export")
    assert not {name for name in found if name.startswith(unused)}


def test_a_command_imports_no_other_one() -> None:
    found = imported("db", "--help")
    others = {module for name, (module, _) in COMMANDS.items() if name != "db"}
    assert not found & others


def test_the_help_is_the_parser_s_own() -> None:
    assert CliRunner().invoke(app, ["--help"], prog_name="iotune").stdout == help_text()
