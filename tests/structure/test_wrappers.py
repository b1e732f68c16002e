"""Wrappers are functions: no macro has a body, and each finds the function of its own name.

A macro that holds locals, branches or `return` cannot be stepped through, and hides from a reader
what the function around it does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.repository import ROOT

ROOMS = ("core", "patterns", "recorder", "analyzer", "patterndb", "prefetch", "tuner", "fuse")

MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:.*\\\n)*.*)", re.MULTILINE)
# A statement, a block or a way out. One line without these is a name for an expression or an
# attribute.
BODY = re.compile(r"[;{\n]|\b(?:return|if|for|while|switch|goto|static|constinit)\b")
LABEL = re.compile(r'\b(\w+)\([^;{}]*?\)\s*(?:noexcept\s*)?__asm__\("(\w+)"\);')
WRAPPER = re.compile(
    r"^(?:[\w:*\[\]]+[ *]+)+(\w+)\(([^;{}]*)\)\s*(?:noexcept\s*)?\{\n"
    r"((?:[ #].*\n|\n)*?  static constinit NextSymbol next;\n(?:[ #].*\n|\n)*)\}",
    re.MULTILINE,
)
NEXT = re.compile(r'(?:\b(?:prepare|find_as)<[^;]*?>\(|\bnext, )\s*"(\w+)"')


def sources(root: Path, folders: tuple[str, ...]) -> list[Path]:
    found = (path for folder in folders for path in (root / folder).rglob("*"))
    return sorted(path for path in found if path.suffix in (".h", ".cpp"))


def macros(root: Path) -> dict[str, tuple[str, str]]:
    """Return the body of every macro and where it stands."""
    found = {}
    for path in sources(root, ROOMS):
        text = path.read_text()
        for match in MACRO.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            body = re.sub(r"//.*|/\*.*?\*/", "", match[2])
            found[match[1]] = (body, f"{path.relative_to(root)}:{line} {match[1]}")
    return found


def macros_with_bodies(root: Path) -> list[str]:
    """Return the macros that should be functions."""
    return [place for name, (body, place) in macros(root).items() if BODY.search(body)]


def own_name(exported: str, parameters: str) -> str:
    """Return the function that a wrapper passes its call on to.

    A call of printf or scanf with `...` cannot be passed on as such: its form with a va_list is.
    Nor can one of exec: its form with an array is.
    """
    if "..." not in parameters:
        return exported
    if exported.startswith("exec"):
        return {"execl": "execve", "execle": "execve", "execlp": "execvpe"}[exported]
    return re.sub(r"([fd]printf|fscanf)", r"v\1", exported)


def wrappers(root: Path) -> dict[str, tuple[str, list[str]]]:
    """Return for each exported name what is to be called and the names that are looked up."""
    found = {}
    for path in sources(root, ("recorder/wrappers",)):
        text = path.read_text()
        labels = dict(LABEL.findall(text))
        for name, parameters, body in WRAPPER.findall(text):
            exported = labels.get(name, name)
            found[exported] = (own_name(exported, parameters), NEXT.findall(body))
    return found


def wrong_names(root: Path) -> list[str]:
    """Return the wrappers that call another function than the program did."""
    return [
        f"{exported}: {', '.join(asked) or 'nothing'} instead of {wanted}"
        for exported, (wanted, asked) in wrappers(root).items()
        if asked != [wanted]
    ]


def test_no_macro_has_a_body() -> None:
    assert macros_with_bodies(ROOT) == []


def test_each_wrapper_finds_the_function_of_its_own_name() -> None:
    assert wrong_names(ROOT) == []


def test_all_wrappers_by_hand_are_looked_at() -> None:
    """All but two in assembly, those of pread and pwrite (a template), and our own calls.

    NVTX calls the library itself. Caliper's marks go on by the caller, as HDF5's calls do.
    """
    exported = set(re.findall(r"(\w+);", (ROOT / "tuner" / "exports.map").read_text()))
    elsewhere = {"vfork", "syscall", "iotune_preexecute_slice"}
    elsewhere |= {"iotune_region_enter", "iotune_region_leave", "InitializeInjectionNvtx2"}
    elsewhere |= {"iotune_leave_this_process"}
    elsewhere |= {"cali_begin_region", "cali_end_region"}
    elsewhere |= {f"{front}{way}{back}" for way in ("pread", "pwrite") for front, back in
                  (("", ""), ("", "64"), ("__", "64"))}  # fmt: skip
    assert exported - set(wrappers(ROOT)) == elsewhere


GOOD = """\
#define IOTUNE_EXPORT __attribute__((visibility("default")))
#define IOTUNE_BODY(name) hidden at_##name  // no { body; }
IOTUNE_EXPORT int flock(int fd, int operation) noexcept {
  static constinit NextSymbol next;
  return ask(fd, next.prepare<int>("flock", fd, operation));
}
int own_dprintf(int fd, ...) __asm__("dprintf");
int own_dprintf(int fd, ...) {
  static constinit NextSymbol next;

  return next.prepare<int>("vdprintf", fd)();
}
"""


@pytest.fixture
def wrappers_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "recorder" / "wrappers"
    folder.mkdir(parents=True)
    (folder / "good.cpp").write_text(GOOD)
    return folder


def test_attributes_and_right_names_pass(wrappers_folder: Path) -> None:
    root = wrappers_folder.parents[1]
    assert set(wrappers(root)) == {"flock", "dprintf"}
    assert macros_with_bodies(root) == [] and wrong_names(root) == []


@pytest.mark.parametrize(
    "body",
    [
        "int name() { return 1; }",
        "return 1",
        "int a = 1; int b = 2",
        "\\\n  real(name)",
        "if (a) b",
    ],
)
def test_a_macro_with_a_body_is_found(wrappers_folder: Path, body: str) -> None:
    (wrappers_folder / "bad.h").write_text(f"// first line\n#define BAD(name) {body}\n")
    assert macros_with_bodies(wrappers_folder.parents[1]) == ["recorder/wrappers/bad.h:2 BAD"]


@pytest.mark.parametrize("wrong", ["flocks", "vflock"])
def test_a_wrapper_that_calls_another_function_is_found(wrappers_folder: Path, wrong: str) -> None:
    (wrappers_folder / "good.cpp").write_text(GOOD.replace('"flock"', f'"{wrong}"'))
    assert wrong_names(wrappers_folder.parents[1]) == [f"flock: {wrong} instead of flock"]
