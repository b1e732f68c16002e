"""Which runs leave a trace where nobody asked for one, and which nothing at all."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.preloaded import Done
from support.repository import IOTUNE

# As a user has them: no trace is asked for, and the default says what is worth one.
BARE: dict[str, Any] = {
    "IOTUNE_TRACE": None, "IOTUNE_KEEP_ABOVE_MIB": None, "IOTUNE_EXCLUDE_PROGRAMS": None,
}  # fmt: skip
MIB = 1 << 20
LITTLE, MUCH = MIB, 24 * MIB  # the limit is 16 MiB
WRITE = """
import os, sys
def write(name, count):
    f = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for _ in range(0, count, 65536): os.write(f, bytes(65536))
    os.close(f)
"""


def python(place: Place, code: str, *words: object, **env: Any) -> Done:
    return place.run(sys.executable, "-I", "-S", "-c", WRITE + code, *words, **BARE | env)


def moves(place: Place, count: int, **env: Any) -> Done:
    return place.right(python(place, f"write('data', {count})", **env))


def shell_line(place: Place) -> None:
    """A dozen ordinary programs, one after the other and in pipes."""
    line = (
        "seq 200000 | sort -r >x; cp x y; tar cf z.tar x y; gzip -k x; sed s/1/2/ x >w; cat x y >u;"
        " dd if=x of=v 2>/dev/null; md5sum x >m; wc -l x >n; tail -c 9000 x >>n; mv w a; rm a;"
        " (cat x; echo end) >o; env >e; od x >d"
    )
    place.right(place.run("sh", "-c", line, **BARE))
    assert (place.scratch / "z.tar").stat().st_size > MIB
    assert place.ours() == [] and place.leftovers() == [], (place.ours(), place.leftovers())
    assert list(place.buffers.iterdir()) == []


def amount(place: Place) -> None:
    """Many bytes, or that somebody asks: by a trace's name, or by a lower limit."""
    moves(place, LITTLE)
    assert place.ours() == [] and list(place.buffers.iterdir()) == []
    for much in ({}, {"IOTUNE_KEEP_ABOVE_MIB": "16"}):
        moves(place, MUCH, **much)
        (trace,) = place.traces()
        assert place.summary(trace)["files"][0]["bytes_written"] == MUCH
        place.clear()
    moves(place, MUCH, IOTUNE_KEEP_ABOVE_MIB="30")
    assert place.ours() == []
    moves(place, LITTLE, IOTUNE_KEEP_ABOVE_MIB="0")
    assert len(place.traces()) == 1
    place.clear()
    # The site's limit, and the user's instead of it.
    conf = place.scratch / "site.conf"
    conf.write_text("keep_above_mib = 30\n")
    conf.chmod(0o644)
    moves(place, MUCH, IOTUNE_SITE_CONFIG=conf)
    assert place.ours() == []
    moves(place, MUCH, IOTUNE_SITE_CONFIG=conf, IOTUNE_KEEP_ABOVE_MIB="20")
    assert len(place.traces()) == 1
    place.clear()
    # A file is made and no byte is moved: not even this is left.
    place.right(python(place, "write('data', 0)", IOTUNE_KEEP_ABOVE_MIB="0"))
    assert place.ours() == []
    place.right(python(place, "write('data', 0)", IOTUNE_TRACE=place.trace))
    assert place.calls()


def killed(place: Place) -> None:
    """What a death leaves is decided by the next command."""
    die = "; os.kill(os.getpid(), 9)"
    for count, left in ((LITTLE, 0), (MUCH, 1)):
        place.clear()
        python(place, f"write('data', {count}){die}")
        assert len(place.leftovers()) == 1
        if not collect_quietly(place):
            return
        assert (len(place.traces()), place.leftovers()) == (left, []), (count, place.ours())
    # A trace that was asked for comes, however little was moved.
    place.clear()
    python(place, f"write('data', 4096){die}", IOTUNE_TRACE=place.trace)
    assert collect_quietly(place) and len(place.traces()) == 1


def collect_quietly(place: Place) -> bool:
    """As collect(), where there may be no run to show."""
    if not IOTUNE.exists():
        not_verified("what iotune show joins: iotune is not in .venv")
        return False
    place.run(IOTUNE, "show", preload=False, IOTUNE_DB="none", IOTUNE_TRACE=None)
    return True


def workers(place: Place) -> None:
    """Forked processes count together, and those that moved nothing leave nothing."""
    fork = (
        "\nfor i in range(4):"
        "\n    if os.fork() == 0:"
        "\n        write(f'data{i}', %d); os._exit(0)"
        "\nfor i in range(4): os.wait()"
    )
    place.right(python(place, fork % 0))
    assert place.leftovers() == [] and place.traces() == []
    for count, left in ((MIB, 0), (8 * MIB, 1)):
        place.clear()
        place.right(python(place, fork % count))
        if not collect_quietly(place):
            return
        assert (len(place.traces()), place.leftovers()) == (left, []), count
    assert place.summary(place.traces()[0])["processes"] == 4


def stdout(place: Place) -> None:
    """What goes to stdout is no data, and the trace says so."""
    code = f"write('data', 65536); os.write(1, bytes({MUCH}))"
    with (place.scratch / "said").open("wb") as said:
        place.right(place.run(
            "sh", "-c", 'exec "$@" >said', "sh", sys.executable, "-I", "-S", "-c", WRITE + code,
            **BARE))  # fmt: skip
        assert said.tell() == 0
    (trace,) = place.traces()
    files = {Path(one["path"]).name: one["is_stdout"] for one in place.summary(trace)["files"]}
    assert files == {"data": False, "said": True}, files


def named(place: Place) -> None:
    """Programs that the user or the site leaves out: by name, also of a script or module."""
    names = {"script": ["writer.py"], "module": ["-m", "writer"]}
    (place.scratch / "writer.py").write_text(WRITE + f"write('data', {MUCH})\n")
    conf = place.scratch / "site.conf"
    conf.touch(mode=0o644)
    for words in names.values():
        for env, left in (
            ({}, 1), ({"IOTUNE_EXCLUDE_PROGRAMS": "other:writer*"}, 0),
            ({"IOTUNE_EXCLUDE_PROGRAMS": "writ:WRITER*"}, 1),
            ({"IOTUNE_EXCLUDE_PROGRAMS": Path(sys.executable).name}, 0),
        ):  # fmt: skip
            place.clear()
            place.right(place.run(sys.executable, *words, **BARE | env))
            assert len(place.traces()) == left, (words, env)
    for globs, left in (("write?", 0), ("write??", 1)):
        conf.write_text(f"exclude_programs = nothing\nexclude_programs = {globs}\n")
        place.clear()
        place.right(
            place.run(sys.executable, "-m", "writer", **BARE | {"IOTUNE_SITE_CONFIG": conf})
        )
        assert len(place.traces()) == left, globs
    # Who asks for a trace gets one of any program.
    place.right(place.run(sys.executable, "-m", "writer", IOTUNE_EXCLUDE_PROGRAMS="*"))
    assert place.calls()


def folder(place: Place) -> None:
    """By path, by a folder above it, and through a link to it."""
    tools = place.scratch / "tools"
    (tools / "deep").mkdir(parents=True)
    program = tools / "deep" / "mover"
    shutil.copy(place.bin / "posix_calls", program)
    (place.scratch / "link").symlink_to(tools)
    through = place.scratch / "link" / "deep" / "mover"
    for path, globs, left in (
        (program, tools, 0), (program, f"{tools}/", 0), (program, f"{tools}/*/mover", 0),
        (program, f"{place.scratch}/too", 1), (program, program, 0), (through, tools, 0),
        (through, place.scratch / "link", 0), ("tools/deep/mover", tools, 0),
    ):  # fmt: skip
        place.clear()
        env: dict[str, Any] = BARE | {
            "IOTUNE_KEEP_ABOVE_MIB": "0", "IOTUNE_EXCLUDE_PROGRAMS": globs}  # fmt: skip
        place.right(place.run(path, place.scratch / "data", "plain", **env))
        assert len(place.traces()) == left, (path, globs)


def everyday_names(place: Place) -> None:
    """A name of the default's, unless the program is linked to MPI or HDF5."""
    env = BARE | {"IOTUNE_KEEP_ABOVE_MIB": "0"}
    for name, source, words, left in (
        ("sort", "posix_calls", ["data", "plain"], 0),
        ("sorts", "posix_calls", ["data", "plain"], 1),
        ("sort", "vpic-io", ["--output", "data.h5", "--particles", "1024"], 1),
    ):  # fmt: skip
        if not (place.bin / source).exists():
            not_verified(f"{source} under the name {name}: it was not built")
            continue
        place.clear()
        program = place.scratch / name
        shutil.copy(place.bin / source, program)
        place.right(place.run(program, *words, **env))
        assert len(place.traces()) == left, (name, source)


def looks(place: Place) -> None:
    """Who writes a file by HDF5, or reads much of one, leaves a trace; who looks into one, none."""
    if shutil.which("h5import") is None:
        not_verified("looks into a file of HDF5: there is no h5import (package hdf5-tools)")
        return
    (place.scratch / "in.txt").write_text(" ".join(map(str, range(300_000))))
    made = ["h5import", "in.txt", "-d", "300000", "-t", "TEXTIN", "-s", "32", "-o", "out.h5"]
    for words, left in (
        (made, 1), (["h5ls", "out.h5"], 0), (["h5dump", "-H", "out.h5"], 0),
        (["h5dump", "-d", "/dataset0", "-o", "out.txt", "out.h5"], 1),
    ):  # fmt: skip
        place.clear()
        done = place.run(*words, **BARE)
        assert done.status == 0, (words, done)
        assert (len(place.traces()), place.leftovers()) == (left, []), (words, place.ours())


def own_command(place: Place) -> None:
    """No command of iotune's own is ever watched, even where a trace is asked for."""
    if not IOTUNE.exists():
        not_verified("iotune's own commands: iotune is not in .venv")
        return
    moves(place, 4096, IOTUNE_TRACE=place.trace)
    asked = place.scratch / "asked.iotrace"
    other_name = place.scratch / "it"
    other_name.symlink_to(IOTUNE)
    start = [sys.executable] if not os.access(IOTUNE, os.X_OK) else []
    python_of = IOTUNE.parent / "python"
    for command in (
        [*start, IOTUNE], [python_of, "-m", "iotune"], [python_of, IOTUNE], [other_name],
        [python_of, "-c", "from iotune.entry import main; main()"],
    ):  # fmt: skip
        every = (["show", place.trace], ["explain", place.trace], ["lib"], ["--version"])
        for words in every if command[-1] == IOTUNE else every[:1]:
            for env in ({"IOTUNE_TRACE": None}, {"IOTUNE_TRACE": asked}):
                done = place.run(*command, *words, IOTUNE_DB="none", **env)
                place.right(done, f"{command} {words}")
                assert not asked.exists(), (command, words)
                assert place.leftovers() == [] and place.traces() == [place.trace], words


if __name__ == "__main__":
    main({"shell-line": shell_line, "amount": amount, "killed": killed, "workers": workers,
          "stdout": stdout, "named": named, "folder": folder, "everyday-names": everyday_names,
          "looks": looks, "own-command": own_command})  # fmt: skip
