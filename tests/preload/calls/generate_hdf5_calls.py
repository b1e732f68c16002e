"""Writes a program that issues HDF5's calls, and prints what it passed, from hdf5_calls.c.in.

Usage: generate_hdf5_calls.py calls.table hdf5_calls.c.in LIBRARY… output.c

Issued are those that the libraries have.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.generators import Argument, Call, read_table

CALL = re.compile(r"@(\??)(\w+)\(")
HERE = ["name()", "name()", "below(1000)"]
FILLED = ("sizep", "uintp", "hboolp")


def exported(libraries: list[str]) -> set[str]:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", *libraries], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if " " in line}


def split_arguments(text: str) -> list[str]:
    """The arguments of a call whose text begins behind its parenthesis, and what follows them."""
    parts, depth, end = [""], 0, 0
    for letter in text:
        end += 1
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            if depth == 0:
                break
            depth -= 1
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    words = [part.strip() for part in parts if part.strip()]
    return [*(HERE if words[:1] == ["HERE"] else words[:1]), *words[1:], text[end:]]


def print_argument(call: Call, at: int, argument: Argument) -> str:
    value, key = f"a{at}", f'"{argument.name}"'
    if argument.kind == "ptr":
        return ""
    if argument.kind == "cstr":
        return f"print_text({key}, {value});"
    if argument.kind == "double":
        return f"print_double({key}, {value});"
    if argument.kind in FILLED:
        return f"print_number({key}, r < 0 ? -1 : (int64_t)*{value});"
    if argument.kind in ("dims", "hids", "uints"):
        if argument.length.startswith("@"):
            length = "RANK"
        else:
            names = [other.name for other in call.arguments]
            length = f"(int64_t)a{names.index(argument.length)}"
        how = "print_unsigneds" if argument.kind == "uints" else "print_words"
        return f"{how}({key}, {value}, {length}, r < 0);"
    return f"print_number({key}, (int64_t){value});"


def expansion(call: Call, words: list[str], may_fail: bool) -> str:
    if len(words) != len(call.arguments):
        raise SystemExit(f"{call.name}: {len(words)} arguments, not {len(call.arguments)}")
    lines = [f"__auto_type a{i} = ({word});" for i, word in enumerate(words)]
    names = ", ".join(f"a{i}" for i in range(len(words)))
    # In parentheses the function is meant, not the macro of that name.
    lines.append(f"__auto_type r = ({call.name})({names});")
    lines.append(f'printf("{{\\"call\\": \\"{call.name}\\"");')
    lines += [print_argument(call, i, a) for i, a in enumerate(call.arguments)]
    lines.append(f'end_call("{call.name}", (int64_t)r, {int(may_fail)});')
    return "({ " + " ".join(line for line in lines if line) + " r; })"


def program(calls: dict[str, Call], template: str, names: set[str]) -> str:
    sections = {"#ASYNC": "H5Fcreate_async" in names, "#PARALLEL": "H5Pset_fapl_mpio" in names}
    lines, wanted = [], True
    for line in template.splitlines():
        if line in sections or line == "#END":
            wanted = sections.get(line, True)
            continue
        found = CALL.search(line)
        # Where such a line declares a variable, only lines that are left out too use it.
        if not wanted or (found and found[2] not in names):
            continue
        if found:
            *words, rest = split_arguments(line[found.end() :])
            made = expansion(calls[found[2]], words, found[1] == "?")
            line = line[: found.start()] + made + rest
        lines.append(line)
    lacks = " ".join(name for name in calls if name.startswith("H5") and name not in names)
    return "\n".join(lines).replace("@LACKS@", lacks) + "\n"


def main() -> int:
    table, template, *libraries, output = sys.argv[1:]
    calls = {call.name: call for call in read_table(Path(table))}
    text = program(calls, Path(template).read_text(), exported(libraries))
    Path(output).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
