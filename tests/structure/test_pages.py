"""The pages name what is there: links, pages, files and functions.

Rules over a folder, as in test_direction.py, so that each is tried on a bad tree too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from support.repository import ROOT
from support.tracked_files import tracked

LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
PAGE = re.compile(r"(?<![\w/.-])docs/(?:[\w-]+/)*[\w-]+\.md\b")
# A path from the top of the tree, perhaps with a star in its last part. What matches any name is
# written in capitals: bench_NAME.py, schema_vN.sql.
ENDS = r"\.(?:cpp|c\.in|c|h|py|sql|md|json|map|table)\b"
PATH = re.compile(r"(?<![\w/.<-])(?:[a-z][a-z0-9_]*/)+[\w.*-]*" + ENDS)
PLACEHOLDER = re.compile(r"NAME|VERSION|(?<![A-Za-z])v?N(?![A-Za-z])")
NAMED_FILE = re.compile(r"`([\w.-]+\.(?:cpp|h|py|sql|table))`")
FUNCTION = re.compile(r"`(?:\w+::)*(\w+)\(\)`")
# `name()` (`file.cpp`), or: `name()` in `file.cpp`.
PLACED = re.compile(FUNCTION.pattern + r"\s(?:\(|in\s)" + NAMED_FILE.pattern)
# Made when iotune is built.
GENERATED = {"wrappers_hdf5.cpp", "wrappers_mpi.cpp", "wrappers_hdf5_fast.cpp",
             "wrappers_mpi_fast.cpp"}  # fmt: skip
WALK = "docs/life-of-a-call.md"
# Pages whose prose keeps to the width of the code: tools/wrap_pages.py PAGE sets it anew.
NARROW = ("CHANGELOG.md", "CONTRIBUTING.md", "HACKING.md", "README.md", "docs/")
WIDTH = 100
CODE = {".c", ".cpp", ".h", ".py"}


def text_of(path: Path) -> str:
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode(errors="replace")


def named(root: Path) -> dict[str, list[Path]]:
    """The tracked files, relative to the top, by their names without folders."""
    found = defaultdict(list)
    for path in tracked(root):
        found[path.name].append(path.relative_to(root))
    return found


def missing_pages(root: Path) -> list[str]:
    """Pages of docs/ that some file names, and links of pages, where nothing is."""
    wrong = []
    for path in tracked(root):
        relative = path.relative_to(root)
        if relative.parts[:2] == ("tests", "structure"):
            continue
        text = text_of(path)
        pages = [root / page for page in PAGE.findall(text) if not PLACEHOLDER.search(page)]
        wrong += [f"{relative}: {page.relative_to(root)}" for page in pages if not page.is_file()]
        links = LINK.findall(text) if path.suffix == ".md" else []
        wrong += [f"{relative}: {link}" for link in links if not (path.parent / link).exists()]
    return wrong


def results_without_a_line(root: Path) -> list[str]:
    """Pages of results that the list of them does not have, and benchmarks that are none."""
    folder = root / "docs" / "results"
    text = text_of(folder / "README.md") if folder.is_dir() else ""
    pages = {path.name for path in folder.glob("*.md")} - {"README.md"}
    wrong = [f"docs/results/{name} has no line" for name in sorted(pages - set(LINK.findall(text)))]
    benches = {path.stem.removeprefix("bench_") for path in root.glob("tests/bench/*/bench_*.py")}
    asked = set(re.findall(r"make bench NAME=(\w+)", text))
    return wrong + [f"no benchmark is called {name}" for name in sorted(asked - benches)]


def where_to_find_it(root: Path) -> list[str]:
    """The walk through the house, and where the table at its end says that things are."""
    page = root / WALK
    if not page.is_file():
        return []
    body, _, table = text_of(page).partition("## Where to find it")
    files = named(root)
    wrong, wanted = [], defaultdict(set)
    for name in sorted(set(NAMED_FILE.findall(body)) - GENERATED):
        if len(files[name]) != 1:
            wrong.append(f"{name} is {len(files[name])} files")
        else:
            wanted[f"{files[name][0].parent}/"].add(name)
    rows = re.findall(r"^\| ([\w/]+/) \|(.*)\|$", table, re.MULTILINE)
    said = {folder: set(NAMED_FILE.findall(cells)) for folder, cells in rows}
    for folder in sorted({*wanted, *said}):
        if wanted[folder] != said.get(folder, set()):
            names = ", ".join(f"`{name}`" for name in sorted(wanted[folder]))
            wrong.append(f"should be: | {folder} | {names} |" if names else f"not needed: {folder}")
    code = {path: text_of(path) for path in tracked(root) if path.suffix in CODE}
    called = set(re.findall(r"\b(\w+)\(", "\n".join(code.values())))
    functions = sorted(set(FUNCTION.findall(body)))
    wrong += [f"no function {name}()" for name in functions if name not in called]
    for name, file in sorted(set(PLACED.findall(body))):
        text = "".join(code.get(root / path, "") for path in files[file])
        if not re.search(rf"\b{name}\(", text):
            wrong.append(f"no {name}() in {file}")
    return wrong


def missing_steps(root: Path) -> list[str]:
    """Files that the checklists name and that are not there."""
    page = root / "CONTRIBUTING.md"
    text = text_of(page) if page.is_file() else ""
    paths = sorted({path for path in PATH.findall(text) if not path.startswith("build/")})
    return [path for path in paths if not list(root.glob(PLACEHOLDER.sub("*", path)))]


def wide_lines(root: Path) -> list[str]:
    """Lines of prose that are wider than the code is; tables, code, headings, comments may be."""
    wrong = []
    for path in tracked(root):
        relative = str(path.relative_to(root))
        if path.suffix != ".md" or not relative.startswith(NARROW):
            continue
        fenced = False
        for number, line in enumerate(text_of(path).splitlines(), 1):
            fenced = fenced != line.startswith("```")
            is_prose = not fenced and not line.lstrip().startswith(("|", "#", "<!--"))
            if is_prose and not line.startswith("    ") and len(line) > WIDTH:
                wrong.append(f"{relative}:{number} {len(line)}")
    return wrong


RULES = (missing_pages, results_without_a_line, where_to_find_it, missing_steps, wide_lines)


@pytest.mark.parametrize("rule", RULES)
def test_this_tree_obeys(rule):
    assert rule(ROOT) == []


@pytest.fixture
def house(tmp_path):
    """Return a function that writes files into a tree whose pages are right."""

    def write(files: dict[str, str]) -> Path:
        good = {
            "README.md": "[results](docs/results/README.md#all), [elsewhere](https://a.b/c.md)\n",
            "patterns/extent.h": "// see docs/results/startup.md\nint end_of(int);\n",
            "tests/bench/recording/bench_startup.py": "main()\n",
            "tests/bench/paired.py": "",
            "docs/results/README.md": "| [Start-up](startup.md) | `make bench NAME=startup` |\n",
            "docs/results/startup.md": "# Start-up\n\n| " + "wide " * 30 + "|\n",
            "CONTRIBUTING.md": "patterns/*.h, tests/bench/paired.py, docs/results/NAME.md\n",
            WALK: "`end_of()` (`extent.h`)\n\n## Where to find it\n\n| patterns/ | `extent.h` |\n",
        }
        for name, content in {**good, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return tmp_path

    return write


def test_good_pages_have_no_findings(house):
    root = house({})
    assert [finding for rule in RULES for finding in rule(root)] == []


TABLE = "\n\n## Where to find it\n\n| patterns/ | `extent.h` |\n"


@pytest.mark.parametrize(
    ("rule", "name", "text", "finding"),
    [
        (missing_pages, "patterns/a.h", "// docs/gone.md\n", "patterns/a.h: docs/gone.md"),
        (missing_pages, "docs/a.md", "[there](results/gone.md)\n", "docs/a.md: results/gone.md"),
        (results_without_a_line, "docs/results/a.md", "# A\n", "docs/results/a.md has no line"),
        (results_without_a_line, "docs/results/README.md",
         "[s](startup.md) `make bench NAME=gone`\n", "no benchmark is called gone"),
        (where_to_find_it, WALK, "`extent.h` `gone.cpp`" + TABLE, "gone.cpp is 0 files"),
        (where_to_find_it, WALK, "`extent.h` `gone()`" + TABLE, "no function gone()"),
        (where_to_find_it, WALK, "`main()` (`extent.h`)" + TABLE, "no main() in extent.h"),
        (where_to_find_it, WALK, "nothing" + TABLE, "not needed: patterns/"),
        (missing_steps, "CONTRIBUTING.md", "patterns/gone_*.cpp\n", "patterns/gone_*.cpp"),
        (missing_steps, "CONTRIBUTING.md", "patterns/vN.sql\n", "patterns/vN.sql"),
        (wide_lines, "CONTRIBUTING.md", "a" * (WIDTH + 1) + "\n", "CONTRIBUTING.md:1 101"),
    ],
)  # fmt: skip
def test_a_page_that_is_wrong_is_found(house, rule, name, text, finding):
    assert rule(house({name: text})) == [finding]


def test_a_file_that_has_moved_is_said_with_its_new_place(house):
    root = house({"core/extent.h": "int end_of(int);\n"})
    (root / "patterns/extent.h").unlink()
    assert where_to_find_it(root) == ["should be: | core/ | `extent.h` |", "not needed: patterns/"]
