"""Words that nobody in this field uses are not in the tree: each has a plain one in its place.

A rule over a folder, as in test_pages.py, so that it is tried on a bad tree too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.repository import ROOT
from support.tracked_files import tracked

# Each with what is written in its place, in the form that the sentence needs.
NEVER = {
    "told": "said, reported, known, given",
    "untold": "unreported",
    "foretold": "predicted",
    "vain": "unused, without effect",
    "whoever": "who, the process that",
    "of which nobody": "that no one",
    "stands for": "means, represents",
}
# Paths from the top of the tree, or beginnings of such: what is not written by hand now.
LEFT_ALONE = {
    "CHANGELOG.md": "says what was released, in the words of then",
    "docs/results/data/": "numbers of runs, with the names that these had",
    "tests/structure/test_words.py": "has the list",
    "tests/zoo/programs/": "input files of other people's programs (Abinit's toldfe)",
}
# The tables of docs/results are made of stored data, whose columns keep their names.
STORED_TABLE = re.compile(r"<!-- results: .*?<!-- end of results -->", re.DOTALL)
# An identifier's words: snake_case, camelCase and CapitalWords.
PARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
WORDS = re.compile(r"\b(?:" + "|".join(NEVER) + r")\b", re.IGNORECASE)
# Most lines have not even the letters, and are not taken apart.
LETTERS = re.compile("told|vain|whoever|of.which.nobody|stands.for", re.IGNORECASE)


def found_words(text: str) -> list[tuple[int, str]]:
    """The lines with a word of the list, as it is listed."""
    text = STORED_TABLE.sub(lambda table: "\n" * table[0].count("\n"), text)
    return [
        (number, found[0].lower())
        for number, line in enumerate(text.splitlines(), 1)
        if LETTERS.search(line)
        for found in WORDS.finditer(PARTS.sub(" ", line))
    ]


def never_used(root: Path) -> list[str]:
    """Lines of tracked texts with a word of the list, and names of files with one."""
    wrong = []
    for path in tracked(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(tuple(LEFT_ALONE)):
            continue
        wrong += [f"{name}: its name has '{word}'" for _, word in found_words(name)]
        content = path.read_bytes()
        if b"\0" in content:
            continue
        wrong += [
            f"{name}:{number}: '{word}', write: {NEVER[word]}"
            for number, word in found_words(content.decode(errors="replace"))
        ]
    return wrong


def test_this_tree_obeys() -> None:
    assert never_used(ROOT) == []


def test_what_is_left_alone_is_there() -> None:
    for name in LEFT_ALONE:
        assert (ROOT / name).exists(), f"{name} is gone: take it from the list"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("// Whoever asks gets it.", "whoever"),
        ("bool is_told_of(int fd);", "told"),
        ("kNotToldOf = 4", "told"),
        ("int in_vain_ = 0;", "vain"),
        ("TEST(Reads, AreForetold) {", "foretold"),
        ("a row stands for 8 ranks", "stands for"),
    ],
)
def test_each_form_is_found(line: str, word: str) -> None:
    assert found_words(f"int a;\n{line}\n") == [(2, word)]


@pytest.mark.parametrize("line", ["a threshold", "available", "toldfe 1.0d-6", "it stands forward"])
def test_other_words_are_not(line: str) -> None:
    assert found_words(line) == []


def test_tables_of_stored_data_are_not_looked_at() -> None:
    page = "Text.\n<!-- results: a b -->\n| in vain |\n<!-- end of results -->\nin vain\n"
    assert found_words(page) == [(5, "vain")]
