"""What the documentation's sessions show is what happens (support/installed/transcripts.py)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from support.installed.transcripts import blocks, differences, masked, matches, rewritten
from support.repository import ROOT

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (ROOT / "docs").rglob("*.md")
    if "<!-- session" in page.read_text()
)


@pytest.fixture
def home():
    """A folder whose path is about as long as the one in the pages, for lines that wrap at it."""
    with tempfile.TemporaryDirectory(prefix="a", dir="/tmp") as folder:
        yield Path(folder)


def test_the_pages_that_teach_are_played():
    assert {"docs/tutorial.md", "docs/howto/h5py.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_happens(page, home):
    assert differences((ROOT / page).read_text(), home) == []


@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES)
def test_a_whole_page_shows_what_happens(page, home):
    text = (ROOT / page).read_text()
    if any(block.soak for block in blocks(text)):
        assert differences(text, home, soak=True) == []


SESSION = """# A page
<!-- file a.txt -->
```
one 1.5
```
Words.

<!-- session -->

```console
$ cat a.txt
one 1.7
$ echo $HOME; echo two
/home/ann
two
```
"""


def test_a_right_page_has_no_differences(home):
    assert differences(SESSION, home) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("one 1.7", "two 1.7"), ("/home/ann\ntwo", "/home/ann"), ("two\n```", "two\nthree\n```")],
)
def test_what_differs_is_found(home, right, wrong):
    assert len(differences(SESSION.replace(right, wrong), home)) == 1


def test_a_session_that_cannot_be_played_is_said(home, capsys):
    page = SESSION.replace("<!-- session -->", "<!-- session needs false -->").replace("two", "x")
    assert differences(page, home) == []
    assert capsys.readouterr().out.startswith("NOT VERIFIED: ")


def test_a_heavy_session_is_for_soak(home):
    page = SESSION.replace("<!-- session -->", "<!-- session soak -->").replace("one 1.7", "x")
    assert differences(page, home) == []
    assert len(differences(page, home, soak=True)) == 1


def test_a_mark_without_a_block_is_an_error():
    with pytest.raises(ValueError, match="without a fenced block"):
        blocks("<!-- session -->\n\nWords.\n")


def test_a_page_is_rewritten_with_what_happens(home):
    page = SESSION.replace("one 1.7", "gone").replace("two\n```", "t…\n```")
    assert rewritten(page, home) == page.replace("gone", "one 1.5")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("  16.0 MiB in 48.3 ms (312 MiB/s)", "9 B   in 1 s (1.5 GiB/s)"),
        ("gain 3.907 [3.865, 3.971]", "gain 2 [1e-3, 4]"),
        ("a 6b0a2d7f1c10086c.iotrace", "a 0011223344556677.iotrace"),
    ],
)
def test_numbers_and_widths_may_differ(one, other):
    assert masked(one) == masked(other)


@pytest.mark.parametrize(("one", "other"), [("a 1 b", "a b"), ("applied", "refused"), ("5x", "5")])
def test_words_may_not(one, other):
    assert masked(one) != masked(other)


def test_lines_may_be_left_out():
    assert matches(["a", "…", "d"], ["a", "b", "c", "d"])
    assert matches(["a…"], ["abc"])
    assert not matches(["a", "…", "e"], ["a", "b", "c", "d"])
    assert not matches(["a"], ["abc"])
