"""docs/ is a site: each page has its place, each link leads somewhere, and it reads offline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.repository import ROOT

# What a page loads by itself, beside links that a reader may follow.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|embed|object)\b[^>]*?\s(?:src|data)=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*?\shref=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"'\s)]+)"
)


def build(tree: Path, out: Path) -> str:
    """Build the site of a tree, strictly; return what was wrong, nothing where all is right."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=tree,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    # With --quiet MkDocs counts no warnings, and --strict finds nothing.
    assert (done.returncode == 0) == (re.search("^(WARNING|ERROR)", said, re.M) is None), said
    return said if done.returncode else ""


def loads_from_others(site: Path) -> list[str]:
    """What pages and styles of a built site load from other hosts."""
    wrong = []
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css"):
            found = LOADED.findall(path.read_text())
            wrong += [f"{path.relative_to(site)}: {''.join(one)}" for one in found]
    return wrong


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    assert build(ROOT, out) == ""
    return out


def test_it_reads_offline(site):
    assert loads_from_others(site) == []
    # The search's index as a script, because a page that is opened from disk may fetch no file.
    assert (site / "search/search_index.js").is_file()


def test_a_page_elsewhere_in_the_tree_is_a_page_of_the_site(site):
    text = (site / "recorder/FORMAT.html").read_text()
    assert "<h1" in text


def test_the_name_of_a_page_is_a_link(site):
    assert (
        '<a href="descriptors.html">docs/descriptors.md</a>' in (site / "commands.html").read_text()
    )


@pytest.fixture
def small(tmp_path):
    """Return a function that builds a tree of two pages, one of them with this text."""

    def built(text: str, more: str = "") -> str:
        settings = (ROOT / "mkdocs.yml").read_text()
        (tmp_path / "mkdocs.yml").write_text(
            re.sub(r"\nhooks:\n.*\n", "\n", settings.partition("\nnav:")[0])
            + "\nnav: [index.md, other.md]\n"
        )
        shutil.rmtree(tmp_path / "docs", ignore_errors=True)
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/index.md").write_text("# One\n\n" + text)
        (tmp_path / "docs/other.md").write_text("# Other\n\n## A part\n")
        if more:
            (tmp_path / "docs" / more).write_text("# More\n")
        return build(tmp_path, tmp_path / "out")

    return built


def test_what_is_right_passes(small):
    assert small("[there](other.md#a-part), [elsewhere](https://a.b/c)\n") == ""


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        ("[there](gone.md)\n", "", "gone.md"),
        ("[there](other.md#gone)\n", "", "#gone"),
        ("[here](#gone)\n", "", "#gone"),
        ("[there](/other.md)\n", "", "/other.md"),
        ("![picture](gone.png)\n", "", "gone.png"),
        ("nothing\n", "more.md", "more.md"),
    ],
)
def test_what_is_wrong_is_an_error(small, text, more, said):
    assert said in small(text, more)


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://a.b/c.js"></script>',
        "<script async src=//a.b/c.js></script>",
        '<link rel="stylesheet" href="https://a.b/c.css">',
        '<img alt="x" src="http://a.b/c.png">',
        "<style>@import 'https://a.b/c.css'</style>",
        "<style>b { background: url(https://a.b/c.png) }</style>",
    ],
)
def test_what_another_host_serves_is_found(tmp_path, text):
    (tmp_path / "index.html").write_text(f'<a href="https://a.b">seen</a>{text}\n')
    assert len(loads_from_others(tmp_path)) == 1
