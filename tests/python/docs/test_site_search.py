"""The documentation's search works for a page that is opened from disk (docs/assets)."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from support.repository import ROOT, VENV_PYTHON

SEARCH = """
addEventListener("load", () => setTimeout(() => {
  document.querySelector("#__search").click()
  const query = document.querySelector("[data-md-component=search-query]")
  query.value = "stripe"
  for (const name of ["focus", "keyup"]) query.dispatchEvent(new Event(name))
}, 500))
"""


@pytest.mark.soak
def test_the_search_works_from_disk(tmp_path):
    browser = shutil.which("chromium")
    if browser is None:
        print("NOT VERIFIED: the site's search in a browser: no chromium (tools/setup.sh browser)")
        pytest.skip("no chromium")
    site = tmp_path / "site"
    subprocess.run(
        [VENV_PYTHON, "-m", "mkdocs", "build", "--quiet", "--site-dir", site], cwd=ROOT, check=True
    )
    page = site / "searched.html"
    text = (site / "index.html").read_text()
    page.write_text(text.replace("</body>", f"<script>{SEARCH}</script></body>"))
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000"),
            *("--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert re.search(r"\d+ matching documents", done.stdout), done.stderr[-2000:]
