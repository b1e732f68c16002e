"""The notebooks run: by nbclient as Jupyter would, and as a script of their cells in order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.repository import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def environment(home: Path) -> dict[str, str]:
    (home / "buffers").mkdir(mode=0o700)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("IOTUNE_")},
        "HOME": str(home), "IOTUNE_BUFFER_DIR": str(home / "buffers"), "JUPYTER_PLATFORM_DIRS": "1",
        "XDG_STATE_HOME": str(home / "state"), "XDG_DATA_HOME": str(home / "data"),
    }  # fmt: skip


def code_of(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text())["cells"]
    return ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]


def test_there_are_some() -> None:
    assert [one.name for one in NOTEBOOKS] == ["first-look.ipynb"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
def test_outputs_are_left_out(notebook: Path) -> None:
    content = json.loads(notebook.read_text())
    for cell in content["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None, cell["id"]
    assert notebook.stat().st_size < 20_000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
def test_its_cells_run_in_order(notebook: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    script = tmp_path / "cells.py"
    script.write_text("\n\n".join(code_of(notebook)))
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.stem)
def test_jupyter_runs_it(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    try:
        import ipykernel  # noqa: F401
        import nbclient
        import nbformat
    except ImportError:
        pytest.skip("NOT VERIFIED: notebooks in Jupyter: nbclient and ipykernel are not installed")
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    content = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(content, timeout=120, kernel_name="python3").execute()
    shown = [
        output["data"]["text/plain"]
        for cell in content.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    assert any("epoch / checkpoint" in one for one in shown), shown
    assert any("'romio_cb_write': 'disable'" in one and "0.5" in one for one in shown), shown
