"""What MkDocs is given beyond docs/ (mkdocs.yml, `hooks`).

Pages that lie elsewhere in the tree, such as a format beside its reader, are pages of the site
too, under their own path. Wherever a page names another one in its prose ("docs/safety.md",
"HACKING.md"), the site has a link.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "HACKING.md",
    "logstore/FORMAT.md",
    "recorder/FORMAT.md",
)
FENCE = re.compile(r"^(```|~~~)")
# Code in a line, a link, or the plain name of a page.
NAME = r"(?<![\w/.-])(?:docs/(?:[\w-]+/)*[\w-]+\.md|" + "|".join(map(re.escape, OUTSIDE)) + r")\b"
PART = re.compile(rf"(?P<kept>`[^`]*`|\[[^\]]*\]\([^)]*\))|(?P<name>{NAME})")
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)")


def place_in_site(path: str) -> str:
    """Where a file of the tree, by its path from the top, is in the site."""
    return path.removeprefix("docs/")


def with_links(text: str, page: str, pages: set[str]) -> str:
    """Make a page's Markdown the site's.

    `page` is its path from the top of the tree, `pages` those of all pages. Names of pages become
    links, and links that lead out of docs/, or into it, are led to where the page is in the site.
    """
    folder = posixpath.dirname(place_in_site(page))

    def link(path: str) -> str:
        return posixpath.relpath(place_in_site(path), folder or ".")

    def moved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1]))
        return f"]({link(target)}" if target in pages else found[0]

    def named(found: re.Match[str]) -> str:
        if found["kept"]:
            return LINK.sub(moved, found["kept"])
        return f"[{found[0]}]({link(found[0])})" if found[0] in pages - {page} else found[0]

    lines, fenced = [], False
    for line in text.splitlines():
        fenced = fenced != bool(FENCE.match(line))
        is_prose = not fenced and not line.startswith(("    ", "#"))
        lines.append(PART.sub(named, line) if is_prose else line)
    return "\n".join(lines) + "\n"


def on_files(files: Files, config: Any) -> Files:
    for path in OUTSIDE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    outside = set(OUTSIDE)
    uri = page.file.src_uri
    pages = outside | {f"docs/{one.src_uri}" for one in files} - {f"docs/{one}" for one in outside}
    return with_links(markdown, uri if uri in outside else f"docs/{uri}", pages)
