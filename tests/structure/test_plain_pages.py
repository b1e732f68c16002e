"""Prose of the documentation keeps to short sentences.

A rule over a folder, as in test_pages.py. Pages that are older than the rule are tolerated with the
number of long sentences that they have: it may shrink, and a page without any leaves the list.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.repository import ROOT

LONGEST = 30
TOLERATED = {
    "docs/calls.md": 5,
    "docs/commands.md": 75,
    "docs/comparison.md": 2,
    "docs/database.md": 29,
    "docs/descriptors.md": 19,
    "docs/design-principles.md": 1,
    "docs/environment.md": 8,
    "docs/findings.md": 6,
    "docs/import.md": 6,
    "docs/logstore.md": 9,
    "docs/models.md": 11,
    "docs/offset-index.md": 3,
    "docs/patterns.md": 6,
    "docs/prefetch.md": 18,
    "docs/reading.md": 3,
    "docs/response-times.md": 5,
    "docs/results/finish.md": 1,
    "docs/results/latency.md": 1,
    "docs/results/peers.md": 6,
    "docs/results/ppis.md": 1,
    "docs/results/prefetch-programs.md": 1,
    "docs/results/prefetch.md": 2,
    "docs/results/report.md": 1,
    "docs/results/safety.md": 1,
    "docs/results/scale.md": 1,
    "docs/safety.md": 22,
    "docs/similarity.md": 8,
}

FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
# A full stop ends a sentence where a capital letter, a name in code or the paragraph's end follows.
END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*(?:[A-Z]|X_CODE|iotune\b))")
SHORTENED = re.compile(r"\b(?:e\.g|i\.e|vs|et al|Fig|No|[A-Z])\.$")


def paragraphs(text: str) -> list[str]:
    """Prose of a page: no code, no tables, no headings; items by themselves."""
    text = COMMENT.sub("", FENCED.sub("", text))
    found: list[str] = [""]
    for line in text.splitlines():
        if not line.strip() or line.startswith(("#", "|", "    ")) or ITEM.match(line):
            found.append("")
        if line.strip() and not line.startswith(("#", "|", "    ")):
            found[-1] += " " + ITEM.sub("", line).strip()
    return [one.strip() for one in found if one.strip()]


def sentences(paragraph: str) -> list[str]:
    """Sentences of a paragraph; what stands in backticks is one word."""
    plain = LINK.sub(r"\1", CODE.sub("X_CODE", paragraph))
    found: list[str] = []
    for part in END.split(plain):
        if found and SHORTENED.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return found


def long_sentences(text: str) -> list[str]:
    """The sentences with more words than LONGEST, each by its number of words and beginning."""
    counted = [
        (len([word for word in one.split() if re.search(r"\w", word)]), one)
        for paragraph in paragraphs(text)
        for one in sentences(paragraph)
    ]
    return [f"{words} words: {one[:70]}…" for words, one in counted if words > LONGEST]


def too_long(root: Path, tolerated: dict[str, int]) -> list[str]:
    """Long sentences of pages with more of them than is tolerated, and pages that have improved."""
    wrong = []
    pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    found = {str(one.relative_to(root)): long_sentences(one.read_text()) for one in pages}
    for name, long in found.items():
        if len(long) > tolerated.get(name, 0):
            wrong += [f"{name}: {one}" for one in long]
    wrong += [f"{name} needs no tolerance" for name in tolerated if not found.get(name)]
    return wrong


def test_this_tree_obeys() -> None:
    assert too_long(ROOT, TOLERATED) == []


LONG = " ".join(["word"] * 31)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "howto").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# A title\n\nShort.\n")
    return tmp_path


def test_a_long_sentence_is_found(house: Path) -> None:
    (house / "docs" / "howto" / "a.md").write_text(f"# A\n\nShort one. W{LONG}.\n")
    (found,) = too_long(house, {})
    assert found.startswith("docs/howto/a.md: 31 words: Wword word")
    assert too_long(house, {"docs/howto/a.md": 1}) == []


def test_tolerance_only_shrinks(house: Path) -> None:
    (house / "docs" / "a.md").write_text("Short.\n")
    assert too_long(house, {"docs/a.md": 1}) == ["docs/a.md needs no tolerance"]
    assert too_long(house, {"docs/gone.md": 1}) == ["docs/gone.md needs no tolerance"]


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{LONG}\n```\n",
        f"| {LONG} |\n",
        f"# {LONG}\n",
        f"    {LONG}\n",
        f"<!-- {LONG} -->\n",
        f"One `{LONG}` word.\n",
        f"{' '.join(['word'] * 20)}. {' '.join(['Word'] * 20)}.\n",
        f"- {' '.join(['word'] * 20)}\n- {' '.join(['word'] * 20)}\n",
        f"{' '.join(['word'] * 20)} - = + {' '.join(['word'] * 10)}.\n",
    ],
)
def test_what_is_no_sentence_is_not_counted(text: str) -> None:
    assert long_sentences(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"{' '.join(['word'] * 20)}\n{' '.join(['word'] * 20)}\n",
        f"- {' '.join(['word'] * 20)}\n  {' '.join(['word'] * 20)}\n",
        f"J. He et al. {' '.join(['word'] * 30)}.\n",
        f"[{' '.join(['word'] * 31)}](a.md)\n",
    ],
)
def test_what_goes_on_is_one_sentence(text: str) -> None:
    assert len(long_sentences(text)) == 1
