"""A report in a real browser: it runs without a complaint, and what it draws can be read.

A copy of the report gets two scripts: one that keeps what the browser complains of, one that looks
at the page and leaves what it found for `chromium --dump-dom`. No network is needed.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from iotune.cli import app
from iotune.importing import import_log
from support.repository import TESTS

pytestmark = pytest.mark.soak

NEWEST = max((TESTS / "data").glob("v*"), key=lambda one: int(one.name[1:]))
TRACES = (NEWEST / "four-ranks-hdf5.iotrace", NEWEST / "serial-posix.iotrace")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KEEPS = """
const complaints = [];
addEventListener("error", (event) => complaints.push(String(event.message)));
addEventListener("unhandledrejection", (event) => complaints.push(String(event.reason)));
for (const name of ["error", "warn"]) {
  console[name] = (...words) => complaints.push(words.join(" "));
}
addEventListener("securitypolicyviolation", (event) => complaints.push(event.violatedDirective));
"""
LOOKS = """
const channel = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
const luminance = ([r, g, b]) =>
  0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
const groundOf = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = numbers(getComputedStyle(one).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const pale = [];
let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const drawn = element.closest("svg");
  if (!walker.currentNode.data.trim() || element.closest("script,style,option")) continue;
  if (!element.checkVisibility() || (drawn && element.classList.contains("owner"))) continue;
  const style = getComputedStyle(element);
  const ink = numbers(drawn ? style.fill : style.color);
  const [high, low] = [luminance(ink), luminance(groundOf(element))].sort((a, b) => b - a);
  texts += 1;
  const contrast = (high + 0.05) / (low + 0.05);
  if (contrast < 4.5) pale.push(walker.currentNode.data.trim() + ": " + contrast.toFixed(2));
}
const map = document.querySelector("figure.map");
const zoomed = { before: map.querySelector(".zoom").getAttribute("viewBox"), each: 0, ticks: 0 };
for (let at = 0; at < 6; at += 1) map.querySelector(".tools button").click();
zoomed.after = map.querySelector(".zoom").getAttribute("viewBox");
zoomed.said = map.querySelector(".tools [role=status]").textContent;
zoomed.ticks = map.querySelectorAll(".axis text.t").length;
for (const figure of document.querySelectorAll("figure.map")) {
  const [closer, , , , , , whole] = figure.querySelectorAll(".tools button");
  whole.click();
  closer.click();
  for (const path of figure.querySelectorAll(".each-write,.each-read")) {
    zoomed.each += (path.getAttribute("d").match(/M/g) || []).length;
  }
}
const hover = document.querySelector("figure.heat .hover");
const box = hover.getBoundingClientRect();
hover.dispatchEvent(new MouseEvent("mousemove", {
  bubbles: true, clientX: box.left + box.width * 0.6, clientY: box.top + 3 }));
const tip = document.getElementById("tip").textContent;
const choice = document.getElementById("theme-choice");
const before = getComputedStyle(document.body).backgroundColor;
choice.value = THEME === "dark" ? "light" : "dark";
choice.dispatchEvent(new Event("change"));
const after = getComputedStyle(document.body).backgroundColor;
const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
const kept = document.createElement("pre");
kept.id = "kept";
kept.textContent = JSON.stringify({ complaints, pale, texts, zoomed, tip, before, after, wide });
document.body.append(kept);
"""


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        print("NOT VERIFIED: a report in a browser: no chromium (tools/setup.sh browser)")
        pytest.skip("no chromium")
    return found


def looked_at(report: Path, theme: str, width: int) -> dict[str, Any]:
    """What a browser of that theme finds in the report."""
    text = report.read_text()
    text = text.replace("<head>", f"<head><script>{KEEPS}</script>", 1)
    looks = LOOKS.replace("THEME", json.dumps(theme))
    text = text.replace("</body>", f"<script>{{{looks}}}</script></body>", 1)
    page = report.with_name(f"{theme}-{width}.html")
    page.write_text(text)
    scheme = "0" if theme == "dark" else "1"
    done = subprocess.run(
        [
            *(browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={report.parent / 'profile'}", f"--window-size={width},1000"),
            *(f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=3000"),
            *("--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    kept = re.search(r'<pre id="kept">(.*?)</pre>', done.stdout, re.DOTALL)
    assert kept is not None, done.stderr[-2000:]
    return dict(json.loads(html.unescape(kept[1])))


def conflicting(folder: Path) -> Path:
    """A trace of two ranks that write the same bytes."""
    log = folder / "log.csv"
    rows = [f"{rank},/d/a,write,0,1024,{rank},{rank}.5" for rank in (0, 1)]
    log.write_text("\n".join(["rank,file,op,offset,length,start,end", *rows, ""]))
    return import_log(log, folder / "conflicting.iotrace").trace


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 500])
def test_it_runs_and_can_be_read(theme: str, width: int, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    traces = [*TRACES, conflicting(tmp_path)]
    words = ["report", *map(str, traces), "-o", str(report), "--db", "none"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert 'id="order"' in report.read_text()
    assert report.stat().st_size < 3 << 20
    found = looked_at(report, theme, width)
    assert found["complaints"] == []
    assert found["pale"] == [] and found["texts"] > 200
    assert found["wide"] <= 0, "the page itself scrolls sideways"
    zoomed = found["zoomed"]
    assert zoomed["before"] != zoomed["after"] and " to " in zoomed["said"]
    assert zoomed["ticks"] > 3 and zoomed["each"] > 0
    assert re.search(r"rank 0\n.* to .*\n.*iB|rank 0\n.* to .*\n.* B", found["tip"])
    assert (found["before"] == "rgb(255, 255, 255)") is (theme == "light")
    assert found["before"] != found["after"]


def test_a_fault_of_the_page_is_noticed(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    words = ["report", str(TRACES[0]), "-o", str(report), "--db", "none"]
    assert CliRunner().invoke(app, words).exit_code == 0
    wrong = report.read_text().replace("chooseTheme();", "chooseTheme(); console.error('so');", 1)
    report.write_text(wrong.replace("--muted:#525b66", "--muted:#d0d0d0", 1))
    found = looked_at(report, "light", 1400)
    assert found["complaints"] == ["so"] and len(found["pale"]) > 20
