"""A command whose extra is not installed says so; the others are not taken along."""

from __future__ import annotations

import subprocess
import sys

from iotune import __version__

WITHOUT_JINJA = """
import sys
sys.modules["jinja2"] = None
sys.argv = ["iotune", *sys.argv[1:]]
from iotune.entry import main
main()
"""


def without_jinja(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_JINJA, *words], capture_output=True, text=True
    )


def test_the_version_needs_no_extra() -> None:
    done = without_jinja("--version")
    assert (done.returncode, done.stdout) == (0, f"iotune {__version__}\n"), done


def test_a_report_names_its_extra_in_one_line() -> None:
    done = without_jinja("report", "--help")
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "pip install 'iotune[report]'" in line
