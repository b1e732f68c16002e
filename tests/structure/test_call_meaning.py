"""calls.table says what each call means: a line that says too little is refused, and no source
guesses it from names.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.generators import (
    PARTS,
    PSEUDO_CALLS,
    THINGS,
    VERBS,
    WORDS,
    TableError,
    read_table,
)
from support.repository import CALLS_TABLE as TABLE
from support.repository import ROOT

MPI_READ = "mpi int MPI_File_new fh:file ptr:buffer int:count dtype:type ptr:status"

# A new call's line, and what it leaves out.
LACKING = {
    "any meaning": ("posix int new fd:fd", "no meaning"),
    "a meaning, with attributes": ("posix int new fd:fd | manual", "no meaning"),
    "the thing": ("posix int new fd:fd | closes | manual", "no meaning"),
    "a known verb": ("posix int new fd:fd | shuts file", "no meaning"),
    "a known word": ("posix int new fd:fd | closes file softly", "unknown word 'softly'"),
    "a known part": ("posix int new fd:fd | closes file of(fd)", "unknown word 'of(fd)'"),
    "a word that is said once": ("posix int new fd:fd | seeks file pointer pointer", "twice"),
    "a number of that name": ("posix int new fd:fd | closes file at(offset)", "at(offset)"),
    "a text of that name": ("posix int new int:path | opens file named(path)", "named(path)"),
    "the opened file's name": ("posix int new cstr:path | opens file", "named(ARG)"),
    "the name of a directory": ("posix int new cstr:path | creates directory", "named(ARG)"),
    "a handle to close": ("posix int new cstr:path | closes file", "on(ARG)"),
    "a handle to seek": ("stdio int new off:offset | seeks file at(offset)", "on(ARG)"),
    "a handle to duplicate": ("posix int new int:fd | duplicates file", "on(ARG)"),
    "an id in front": ("hdf5 int H5Dnew size:n hid:dataset | closes dataset", "on(ARG)"),
    "the place of a transfer": ("posix int new fd:fd | reads file bytes(result)", "at(ARG)"),
    "the bytes of a transfer": (
        "stdio int new fd:fd off:offset | writes file at(offset)",
        "bytes(ARG)",
    ),
    "the size of MPI-IO's items": (f"{MPI_READ} | reads file pointer bytes(count)", "N*SIZE"),
    "the pointer of MPI-IO": (
        f"{MPI_READ} | reads file bytes(count*type_bytes) | extra(type_bytes)",
        "at(ARG), pointer, shared",
    ),
    "one pointer alone": (
        f"{MPI_READ} | reads file pointer shared bytes(count*type_bytes) | extra(type_bytes)",
        "at(ARG), pointer, shared",
    ),
    "the request": (
        f"{MPI_READ.replace('status', 'request')} | reads file pointer bytes(count*type_bytes)"
        " | extra(type_bytes)",
        "begins(request)",
    ),
    "the event set": (
        "hdf5 int H5Dnew_async cstr:app_file cstr:app_func uint:app_line hid:dataset hid:events"
        " | flushes dataset",
        "begins(events)",
    ),
    "the ranks of an order": (
        f"{MPI_READ} | reads file shared ordered bytes(count*type_bytes) | extra(type_bytes)",
        "ordered is shared and collective",
    ),
    "what was received": (
        "mpi int MPI_New comm:comm status:status | receives message | order",
        "extra(got_source got_tag)",
    ),
    "that it orders processes": (
        "mpi int MPI_New rank:dest comm:comm | sends message",
        "rank is for calls that order processes",
    ),
    "what HDF5 selected": ("hdf5 int H5Dnew hid:dataset | reads dataset", "extra("),
}


@pytest.mark.parametrize("what", LACKING)
def test_a_line_that_says_too_little_is_refused(what: str, tmp_path: Path) -> None:
    line, reason = LACKING[what]
    table = tmp_path / "calls.table"
    table.write_text(line + "\n")
    with pytest.raises(TableError) as problem:
        read_table(table)
    assert reason in str(problem.value)


def test_an_asynchronous_form_means_what_its_twin_means(tmp_path: Path) -> None:
    front = "hdf5 int H5Dnew_async cstr:app_file cstr:app_func uint:app_line hid:dataset hid:events"
    table = tmp_path / "calls.table"
    table.write_text(
        "hdf5 int H5Dclose hid:dataset | closes dataset\n"
        f"{front} | flushes dataset begins(events) | as_in(H5Dclose)\n"
    )
    with pytest.raises(TableError, match="something else than H5Dclose"):
        read_table(table)


def test_the_vocabulary_is_documented_and_used() -> None:
    """Each word stands in the table's head and in a line; so there is none to be forgotten."""
    head, lines = TABLE.read_text().split("# --- HDF5: files", 1)
    documented = set(re.findall(r"[a-z_]+", head))
    calls = read_table(TABLE)
    meanings = [call.meaning for call in calls]
    noted = {word for _, said, _ in PSEUDO_CALLS for word in said.split()}
    used = {
        *noted,
        *(meaning.verb for meaning in meanings),
        *(meaning.thing for meaning in meanings),
        *(word for meaning in meanings for word in (*meaning.words, *meaning.parts)),
    }
    for word in (*VERBS, *THINGS, *WORDS, *PARTS):
        assert word in used, word
        assert word in documented or word in noted, word


# Guessing, in C++ and in Python.

# Names of calls that are words as well, or names of settings and predictors.
ORDINARY = {
    *("access", "close", "fallocate", "fork", "link", "open", "pipe", "read", "readahead"),
    *("remove", "rename", "rewind", "splice", "stat", "truncate", "unlink", "wait", "write"),
}
# Rooms and files that read traces: none of them may know a call by its name.
READERS = ("analyzer/", "recorder/read/", "recorder/write/", "python/bindings/")
NAME_OF_CALL = r"(?:\bname|\bname\(\)|\bsignature(?:\(\))?(?:\.|->)name)\s*"
GUESSES = {
    "part of a name": re.compile(
        NAME_OF_CALL
        + r'(?:\.|->)\s*(?:find|starts_with|ends_with|contains|compare|substr)\(\s*[\d,\s]*"'
    ),
    "part of a name, by a function": re.compile(r'(?<![.>\w])has\("_?[a-z]+"\)\s*(?:\|\||&&|;|\))'),
}
# Whatever reads or records: a call's number says nothing of its meaning either.
BY_NUMBER = re.compile(r"(?:[=!]=\s*|\bcase\s+)(?:\w+::)*CallNumber::k\w+")
# Name of a file -> why it may.
MAY_COMPARE_NUMBERS = {
    "install.cpp": "the one call after which a file's plan is forgotten",
    "program_settings.cpp": "each property's own bit",
    "stdio_position.cpp": "fileno has no position to look at",
}
NATIVE = {".cpp", ".h", ".c"}
# Python's, with why.
MAY_NAME_CALLS = {
    "python/iotune/importing/recorder_text.py": "how another tool writes down arguments",
    "python/iotune/importing/strace_text.py": "how another tool writes down arguments",
    "python/iotune/importing/dftracer_lines.py": "how another tool writes down arguments",
    "python/iotune/export/darshan.py": "what another tool counts apart",
    "models/settings/reach.py": "the call of each setting",
    "python/iotune/findings/properties.py": "the call of each property",
    "python/iotune/doctor/libraries.py": "symbols by which a library is known",
    "python/iotune/doctor/linked.py": "symbols that a program imports",
    "analyzer/order/models/order_table.cpp": "what standards promise of each call",
}


@functools.cache
def names_of_calls() -> frozenset[str]:
    """Of the table and of its pseudo calls, but for ordinary words."""
    calls = read_table(TABLE)
    aliases = {alias for call in calls for alias in call.aliases}
    names = {call.name for call in calls} | aliases | {name for name, _, _ in PSEUDO_CALLS}
    return frozenset(names - ORDINARY)


def sources(root: Path, *folders: str) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in NATIVE | {".py"} and "generate" not in path.parts:
                yield path, str(path.relative_to(root))


def guesses_in_native(root: Path) -> list[str]:
    """Return where a native source guesses what a call means."""
    names = names_of_calls()
    found = []
    rooms = ("analyzer", "core", "fuse", "patterns", "prefetch", "recorder", "tuner")
    for path, relative in sources(root, *rooms, "python/bindings"):
        if path.suffix not in NATIVE:
            continue
        reads_traces = relative.startswith(READERS)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            text = line.split("//", 1)[0]
            here = f"{relative}:{number}"
            if reads_traces:
                found += [f"{here} {what}" for what, guess in GUESSES.items() if guess.search(text)]
                quoted = set(re.findall(r'"(\w+)"', text)) & names
                quoted = quoted if relative not in MAY_NAME_CALLS else set()
                found += [f"{here} names {name}" for name in sorted(quoted)]
            if BY_NUMBER.search(text) and path.name not in MAY_COMPARE_NUMBERS:
                found.append(f"{here} compares the number of a call")
    return found


def _is_call(node: ast.expr) -> bool:
    """Whether it is a call's name: row.call, call.name."""
    if not isinstance(node, ast.Attribute):
        return False
    by_row = node.attr == "call"
    return by_row or (
        node.attr == "name" and isinstance(node.value, ast.Name) and node.value.id == "call"
    )


def _texts(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))


def _docstrings(tree: ast.Module) -> set[int]:
    """The ids of expressions that are nothing but a text."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _guesses(tree: ast.Module, names: frozenset[str]) -> Iterator[tuple[int, str]]:
    passed = _docstrings(tree)
    fragment = re.compile(r"P?MPI_File_\S*|H5[A-Z]+[a-z]\w*\*?")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in passed and (node.value in names or fragment.fullmatch(node.value)):
                yield node.lineno, f"names {node.value}"
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_call(side) for side in sides) and any(_texts(side) for side in sides):
                yield node.lineno, "compares a call's name"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if _is_call(node.func.value) and node.func.attr != "join":
                yield node.lineno, "looks into a call's name"


def guesses_in_python(root: Path) -> list[str]:
    """Return where the package guesses what a call means."""
    names = names_of_calls()
    return [
        f"{relative}:{line} {what}"
        for path, relative in sources(root, "python/iotune", "models")
        if path.suffix == ".py" and relative not in MAY_NAME_CALLS
        for line, what in _guesses(ast.parse(path.read_text()), names)
    ]


@pytest.mark.parametrize("rule", [guesses_in_native, guesses_in_python])
def test_nothing_is_guessed_here(rule) -> None:
    assert rule(ROOT) == []


def test_what_may_name_calls_is_there() -> None:
    assert [name for name in MAY_NAME_CALLS if not (ROOT / name).is_file()] == []
    names = {path.name for path, _ in sources(ROOT, "recorder", "tuner", "core")}
    assert set(MAY_COMPARE_NUMBERS) <= names


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("analyzer/bad.cpp", 'facts.shared = name.find("_shared") != name.npos;'),
        ("analyzer/bad.cpp", 'facts.runs = has("iterate") || has("visit");'),
        ("analyzer/bad.cpp", 'if (call.name().find("_all") != std::string::npos) all = true;'),
        ("analyzer/bad.cpp", 'facts.makes = name.starts_with("H5Dcreate");'),
        ("analyzer/bad.cpp", 'if (name == "MPI_File_open") return MpiFile::kOpen;'),
        ("recorder/read/bad.cpp", 'if (call.stream->name().compare(0, 7, "iotune_") != 0) {'),
        ("recorder/read/bad.cpp", 'places.at = find_call("pread");'),
        ("python/bindings/bad.cpp", 'row["note"] = name == "iotune_file";'),
        ("recorder/wrappers/bad.cpp", "    case CallNumber::kpread:"),
        ("core/bad.cpp", "return number == CallNumber::kreadv;"),
        ("tuner/bad.cpp", "if (call != recorder::CallNumber::kH5Dopen2) return;"),
    ],
)
def test_a_guess_in_a_native_source_is_found(tmp_path: Path, name: str, line: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(f"// {line}\n{line}\n")
    assert [one.split()[0] for one in guesses_in_native(tmp_path)] == [f"{name}:2"]


@pytest.mark.parametrize(
    "line",
    [
        '_CLOSES = ("close", "fclose")',
        '_DUPLICATES = {"dup2": 1}',
        '_ASYNC = frozenset(["aio_read"])',
        'if row.call == "read": pass',
        'if "write" in row.call: pass',
        'if call.name in ("read", "write"): pass',
        'if call.name.startswith("H5D"): pass',
        'if row.call.endswith("_all"): pass',
        'note = one["name"] == "iotune_view"',
        'found = trace.each_call(call=("H5Dread*",))',
        '_MPI = re.compile(r"MPI_File_(i)?(read|write)")',
        'dict.fromkeys(("pread64", "pread"), 1)',
    ],
)
def test_a_guess_in_python_is_found(tmp_path: Path, line: str) -> None:
    bad = tmp_path / "python" / "iotune" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text(f'"""H5Dread and {line[:3]}."""\n{line}\n')
    found = guesses_in_python(tmp_path)
    assert found and {one.split()[0] for one in found} == {"python/iotune/bad.py:2"}


@pytest.mark.parametrize(
    "line",
    [
        'op = "write" if write else "read"',
        'OPERATIONS = ("read", "write")',
        "means = meaning_of(call.name)",
        'text = ", ".join(call.name for call in calls)',
        'print("as H5Dread and H5Dwrite of their elements")',
        'path.name.endswith(".iotrace")',
    ],
)
def test_a_word_is_no_guess(tmp_path: Path, line: str) -> None:
    good = tmp_path / "python" / "iotune" / "good.py"
    good.parent.mkdir(parents=True)
    good.write_text(line + "\n")
    assert guesses_in_python(tmp_path) == []
