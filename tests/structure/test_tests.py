"""The shape of tests/: nobody edits Python's search path, no test imports another test, and one
place sets LD_PRELOAD.

The rules are functions over a folder, so that they are tried on a bad tree as well as
on this one: a rule that cannot fail proves nothing.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from support.repository import ROOT
from support.tracked_files import tracked

# Where scripts that tests run or import lie.
PYTHON_FOLDERS = ("tests", "recorder/generate", "tools", "models")
PRELOADED = "tests/support/preloaded.py"
# Path -> why it sets LD_PRELOAD by itself.
OTHERS_THAT_PRELOAD = {
    "tests/bench/recording/spawn_timer.c": "starts what it times itself, by posix_spawn",
    "tests/bench/recording/timed_exit.c": "times a rank's end: sets it right before exec",
    "tests/python/cli/test_cli_launch.py": "tests what the command makes of a value",
    "tests/structure/test_tests.py": "has examples of what it has to find",
}

PRELOAD = "LD_" + "PRELOAD"


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree, made once for all rules."""
    return ast.parse(text)


def python_files(root: Path) -> list[tuple[str, ast.Module]]:
    """The path from `root` and the syntax tree of each Python file that the rules are about."""
    found = []
    for path in tracked(root):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py" and name.startswith(tuple(f"{one}/" for one in PYTHON_FOLDERS)):
            found.append((name, parsed(path.read_text())))
    return found


def edits_of_the_search_path(root: Path) -> list[str]:
    """Every use of sys.path: tests/run.py and pyproject.toml say what is found."""
    return [
        f"{name}:{node.lineno} sys.path"
        for name, tree in python_files(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "path"
        and isinstance(node.value, ast.Name)
        and node.value.id == "sys"
    ]


def imported_tests(root: Path) -> list[str]:
    """Every import of a test: what two tests share is in tests/support."""
    files = python_files(root)
    tests = {Path(name).stem for name, _ in files if Path(name).name.startswith("test_")}
    wrong = []
    for name, tree in files:
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or "", *(alias.name for alias in node.names)]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            else:
                continue
            parts = {part for module in modules for part in module.split(".")}
            wrong += [f"{name}:{node.lineno} imports {one}" for one in sorted(parts & tests)]
    return wrong


def preloads(root: Path) -> list[str]:
    """Every place but one that names LD_PRELOAD to set it, or to look it up by name."""
    wrong = []
    for name, tree in python_files(root):
        if not name.startswith("tests/"):
            continue
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword):
                found = node.arg == PRELOAD
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value if id(node) not in docstrings else ""
                found = text == PRELOAD or f"{PRELOAD}=" in text
            else:
                continue
            if found:
                wrong.append(f"{name}:{node.lineno}")
    for path in tracked(root):
        name = path.relative_to(root).as_posix()
        if not name.startswith("tests/") or path.suffix in (".py", ".md", ".txt"):
            continue
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
            if re.search(rf'setenv\("{PRELOAD}"|\b{PRELOAD}=', line):
                wrong.append(f"{name}:{number}")
    allowed = (PRELOADED, *OTHERS_THAT_PRELOAD)
    return [one for one in wrong if one.rpartition(":")[0] not in allowed]


def counted_folders(root: Path) -> list[str]:
    """Every path that counts the folders above a file: it is wrong once the file moves. The root is
    support.repository's ROOT.
    """
    wrong = []
    for name, tree in python_files(root):
        if not name.startswith("tests/") or name == "tests/support/repository.py":
            continue
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Attribute) and node.attr == "parents"):
                continue
            if any(isinstance(one, ast.Name) and one.id == "__file__" for one in ast.walk(node)):
                wrong.append(f"{name}:{node.lineno} parents")
    return wrong


# What only a test that starts ranks imports.
STARTS_RANKS = {"find_mpi", "needs_mpi", "columns_program", "compute_nodes"}


def unmarked_ranks(root: Path) -> list[str]:
    """Every module of pytest that starts ranks without the marker `mpi`: `make check` would run it
    beside others, and ranks that wait for a core spin.
    """
    wrong = []
    for name, tree in python_files(root):
        if not name.startswith("tests/python/"):
            continue
        nodes = list(ast.walk(tree))
        imported = {
            part
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for part in [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        }
        marked = any(isinstance(node, ast.Attribute) and node.attr == "mpi" for node in nodes)
        habits = "Habits" in imported and any(
            isinstance(node, ast.keyword) and node.arg == "ranks" for node in nodes
        )
        if (imported & STARTS_RANKS or habits) and not marked:
            wrong.append(name)
    return wrong


RULES = [edits_of_the_search_path, imported_tests, preloads, counted_folders, unmarked_ranks]


@pytest.mark.parametrize("rule", RULES)
def test_this_tree_obeys(rule):
    assert rule(ROOT) == []


def test_the_exceptions_are_current():
    for name in OTHERS_THAT_PRELOAD:
        assert PRELOAD in (ROOT / name).read_text(), name


@pytest.fixture
def tree(tmp_path):
    """Return a function that writes files into a good tree."""

    def write(files: dict[str, str]) -> Path:
        good = {
            "tests/support/place.py": '"""LD_PRELOAD=a is said here."""\nimport sys\n',
            PRELOADED: 'VARIABLE = "LD_PRELOAD"\n',
            "tests/mpi/test_a.py": "from support.place import x\nfrom support import tests_of_a\n",
            "tests/zoo/test_b.py": "seen = '[ -n \"$LD_PRELOAD\" ]'\nspath = sys.paths\n",
            "tests/zoo/a.c": '/* By LD_PRELOAD. */ getenv("LD_PRELOAD");\n',
            "tests/zoo/README.md": "LD_PRELOAD=$(iotune lib) ls\n",
            "python/iotune/a.py": 'import sys\nsys.path.append(1)\nx["LD_PRELOAD"] = 1\n',
        }
        for name, content in {**good, **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return tmp_path

    return write


def test_a_good_tree_has_no_findings(tree):
    root = tree({})
    assert [rule(root) for rule in RULES] == [[]] * len(RULES)


@pytest.mark.parametrize("folder", ["tests/mpi", "tests/bench/io", "recorder/generate", "tools"])
@pytest.mark.parametrize("line", ["sys.path.insert(0, x)", "sys.path += [x]", "p = sys.path"])
def test_an_edit_of_the_search_path_is_found(tree, folder, line):
    root = tree({f"{folder}/bad.py": f"import sys\n{line}\n"})
    assert edits_of_the_search_path(root) == [f"{folder}/bad.py:2 sys.path"]


@pytest.mark.parametrize(
    "line",
    ["import test_a", "from test_a import x", "from zoo import test_b", "import mpi.test_a as y"],
)
def test_an_import_of_a_test_is_found(tree, line):
    root = tree({"tests/python/deep/test_c.py": f"\n{line}\n"})
    (finding,) = imported_tests(root)
    assert finding.startswith("tests/python/deep/test_c.py:2 imports test_")


@pytest.mark.parametrize(
    "line",
    [
        'run(env={"LD_PRELOAD": x})', "run(LD_PRELOAD=x)", 'env["LD_PRELOAD"] = x',
        'run("env", f"LD_PRELOAD={x}")', 'script = "export LD_PRELOAD=a"',
        'words = ["-genv", "LD_PRELOAD", x]',
    ],
)  # fmt: skip
def test_a_second_place_that_preloads_is_found(tree, line):
    assert preloads(tree({"tests/mpi/test_c.py": f"\n{line}\n"})) == ["tests/mpi/test_c.py:2"]


@pytest.mark.parametrize("line", ['setenv("LD_PRELOAD", x, 1);', "LD_PRELOAD=x exec y"])
def test_a_program_that_preloads_is_found(tree, line):
    assert preloads(tree({"tests/mpi/bad": f"\n{line}\n"})) == ["tests/mpi/bad:2"]


def test_unmarked_ranks_are_found(tree):
    starts = "from iotune.replay.mpi import find_mpi\n"
    root = tree({
        "tests/python/cli/test_c.py": starts,
        "tests/python/cli/test_d.py": f"{starts}pytestmark = pytest.mark.mpi\n",
    })  # fmt: skip
    assert unmarked_ranks(root) == ["tests/python/cli/test_c.py"]


def test_a_counted_folder_is_found(tree):
    text = "from pathlib import Path\nROOT = Path(__file__).resolve().parents[2]\n"
    root = tree({"tests/bench/a.py": text, "tests/support/repository.py": text})
    assert counted_folders(root) == ["tests/bench/a.py:2 parents"]
