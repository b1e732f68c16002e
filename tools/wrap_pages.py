"""Wraps prose of Markdown pages at 100 characters: tools/wrap_pages.py PAGE…

Only paragraphs and items with a longer line are set anew; tables, headings, code and all other
lines stay as they are. What stands in backticks is broken only where it fills a line.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

WIDTH = 100
FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(\s*)([-*+]|\d+\.)\s+")
# A line that begins so would be something else than prose.
STARTS = re.compile(r"^([-*+>#|]|\d+\.)(\s|$)")
GLUE = "\x00"


def blocks_of(text: str) -> list[list[str]]:
    """Lines that belong together: a paragraph, an item; of everything else one line each."""
    blocks: list[list[str]] = []
    fenced = open_block = False
    for line in text.splitlines():
        fence = bool(FENCE.match(line))
        fenced = fenced != fence
        kept = fence or fenced or not line.strip() or line.lstrip().startswith(("|", "#", "<!--"))
        # Code by indentation stands behind an empty line.
        kept = kept or (not open_block and line.startswith("    "))
        if kept or not open_block or ITEM.match(line):
            blocks.append([line])
        else:
            blocks[-1].append(line)
        open_block = not kept
    return blocks


def _glued(code: str) -> str:
    return code.replace(" ", GLUE) if len(code) <= WIDTH - 10 else code


def wrapped(lines: list[str]) -> list[str]:
    """The block with lines of at most WIDTH characters, as far as words allow."""
    if all(len(line) <= WIDTH for line in lines) or FENCE.match(lines[0]):
        return lines
    item = ITEM.match(lines[0])
    first = item[0] if item else re.match(r"\s*", lines[0])[0]  # type: ignore[index]
    more = " " * len(first)
    text = " ".join(line.strip() for line in [lines[0][len(first) :], *lines[1:]])
    text = re.sub(r"`[^`]+`", lambda code: _glued(code[0]), text)
    # No line may begin with what Markdown reads as a mark.
    words, glued = text.split(" "), ""
    for word in words:
        glued += (GLUE if STARTS.match(word) else " ") + word if glued else word
    found = textwrap.wrap(
        glued, WIDTH, initial_indent=first, subsequent_indent=more,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(GLUE, " ") for line in found]


def wrap(text: str) -> str:
    """A page whose prose is at most WIDTH characters wide."""
    prose = []
    fenced = False
    for block in blocks_of(text):
        fence = bool(FENCE.match(block[0]))
        fenced = fenced != fence
        line = block[0]
        is_prose = not (fence or fenced) and not line.lstrip().startswith(("|", "#", "<!--"))
        indented_code = len(block) == 1 and line.startswith("    ") and not ITEM.match(line)
        prose += wrapped(block) if is_prose and not indented_code else block
    return "\n".join(prose) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(wrap(page.read_text()))
