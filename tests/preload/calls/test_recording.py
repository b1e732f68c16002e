"""POSIX calls stand in the trace with exactly their arguments and results, whatever happens."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
from pathlib import Path
from typing import Any

from support.place import Place, main
from support.repository import CALLS_TABLE


def traced(place: Place, file: Path, calls: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """(name, recorded numbers) of the calls on `file`, in order, by its number in the process."""
    numbers: dict[int, str] = {}
    for call in calls:
        if call["name"] == "iotune_file":
            numbers[call["keys"][0]] = call["texts"][0]
    ours = {number for number, path in numbers.items() if path == str(file)}
    assert ours, (file, numbers)
    return [
        (call["name"], tuple(call["numbers"]))
        for call in calls
        if call["layer"] == "posix"
        and (len(call["keys"]) > 1 and call["keys"][1] in ours or str(file) in call["texts"])
    ]


def arguments(place: Place) -> None:
    file = place.scratch / "data file"
    program = place.bin / "posix_calls"
    place.right(place.run(program, file, "plain", preload=False))
    bare = file.read_bytes()
    file.unlink()
    place.right(place.run(program, file, "plain"))
    assert file.read_bytes() == bare
    got = traced(place, file, place.calls())

    size = 1000 + 99 * 256 + 64
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
    want: list[tuple[Any, ...]] = [("open", (flags, 0o640))]
    want += [("pwrite", (64, 1000 + 256 * i, 64)) for i in range(100)]
    want += [("pread", (32, 1000 + 512 * i, max(0, min(32, size - 1000 - 512 * i))))
             for i in range(100)]  # fmt: skip
    want += [
        ("lseek", (17, os.SEEK_SET, 17)), ("write", (10, 10, 17)), ("read", (20, 20, 27)),
        ("lseek", (0, os.SEEK_CUR, 47)), ("writev", (2, 11, 47)), ("readv", (2, 11, 58)),
        ("pwritev", (2, 300, 11)), ("preadv", (2, 301, 11)),
    ]  # fmt: skip
    # What open and dup return is the system's affair: looked up, then demanded of the rest.
    shown = [(name, numbers) for name, numbers in got]
    fd = shown[0][1][-1]
    assert shown[0] == ("open", (flags, 0o640, fd)), shown[0]
    assert shown[1 : len(want)] == want[1:], first_difference(shown[1:], want[1:])
    rest = shown[len(want) :]
    copy = rest[0][1][-1]
    again = os.O_WRONLY | os.O_APPEND
    assert rest == [
        ("dup", (copy,)), ("write", (3, 3, 69)), ("ftruncate", (12345, 0)), ("fsync", (0,)),
        ("fdatasync", (0,)), ("close", (0,)), ("close", (0,)),
        ("open", (again, 0, rest[7][1][-1])), ("write", (7, 7, 12345)), ("write", (9, 9, 12352)),
        ("close", (0,)),
    ], rest  # fmt: skip


def first_difference(a: list[Any], b: list[Any]) -> str:
    for index, (one, other) in enumerate(zip(a, b)):
        if one != other:
            return f"call {index}: recorded {one}, made {other}"
    return f"{len(a)} recorded, {len(b)} made"


def errors(place: Place) -> None:
    """The program itself checks errno after failing and after succeeding calls."""
    file = place.scratch / "data"
    program = place.bin / "posix_calls"
    for preload in (False, True):
        place.right(place.run(program, file, "errors", preload=preload))
    got = [call for call in place.calls() if call["name"] == "pwrite"]
    assert len(got) == 20000, len(got)
    failed = [c for c in place.calls() if c["name"] == "write" and c["arguments"]["result"] == -1]
    assert len(failed) == 1, failed


def threads(place: Place) -> None:
    file = place.scratch / "data"
    place.right(place.run(place.bin / "posix_calls", file, "threads"))
    calls = place.calls()
    for number in range(3):
        own = Path(f"{file}.{number}")
        got = traced(place, own, calls)
        length = 1 + number
        want = [("pwrite", (length, 10 * i, length)) for i in range(3000)]
        assert got[1:-1] == want, first_difference(got[1:-1], want)
        assert (got[0][0], got[-1][0]) == ("open", "close"), (got[0], got[-1])
    assert len({c["thread"] for c in calls if c["name"] == "pwrite"}) == 3
    (head,) = place.heads()
    assert head["dropped"] == 0 and head["damage"] == [], head


def expected(count: int) -> list[tuple[str, tuple[int, ...]]]:
    at = 12345
    made: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(count):
        at = (at * 1103515245 + 12345) & 0xFFFFFFFF
        made.append(("pwrite", (1, at % 1000003, 1)))
    return made


def fork(place: Place) -> None:
    file = place.scratch / "data"
    place.right(place.run(place.bin / "posix_calls", file, "fork", 300))
    files = [*place.traces(), *place.leftovers()]
    writes: dict[int, list[Any]] = {}
    for path in files:
        for call in place.calls(path):
            if call["name"] == "pwrite":
                numbers = tuple(call["numbers"])
                if numbers not in writes.setdefault(call["pid"], []):
                    writes[call["pid"]].append(numbers)
    assert len(writes) == 2, {pid: len(w) for pid, w in writes.items()}
    child, parent = sorted(writes.values(), key=len)
    assert child == [(1, 5, 1), (1, 7, 1)], child
    parents = dict.fromkeys(numbers for _, numbers in [*expected(300), ("", (1, 9, 1))])
    assert parent == list(parents), first_difference(parent, list(parents))


def ends(place: Place) -> None:
    """No death of the process costs a call: what was committed stands in the buffer."""
    program = place.bin / "posix_calls"
    file = place.scratch / "data"
    how = {"_exit": 3, "quick_exit": 4, "abort": 128 + signal.SIGABRT, "exit": 5,
           "kill": 128 + signal.SIGKILL, "term": 128 + signal.SIGTERM,
           "segv": 128 + signal.SIGSEGV}  # fmt: skip
    count = 20000
    for end, status in how.items():
        place.clear()
        done = place.run(program, file, end, count)
        assert done.status == status, (end, done)
        left = place.leftovers()
        if end == "exit":
            assert left == [] and place.trace.exists(), left
            source = place.trace
        else:
            assert len(left) == 1 and not place.trace.exists(), (end, left)
            (source,) = left
        calls = place.calls(source)
        got = [(c["name"], tuple(c["numbers"])) for c in calls if c["name"] == "pwrite"]
        assert got == expected(count), f"{end}: {first_difference(got, expected(count))}"
        (head,) = place.heads(source)
        assert not head["alive"] and head["dropped"] == 0 and head["damage"] == [], head
        print(f"{end}: kept {len(got)} of {count}")


def exec_(place: Place) -> None:
    """The same pid twice: the second program must not take the first one's buffer."""
    file = place.scratch / "data"
    done = place.right(place.run(place.bin / "posix_calls", file, "exec", 1000))
    assert done.said() == [], done.err
    files = [*place.traces(), *place.leftovers()]
    by_file = {path: [tuple(c["numbers"]) for c in place.calls(path) if c["name"] == "pwrite"]
               for path in files}  # fmt: skip
    want = [[(1, 77, 1)], [numbers for _, numbers in expected(1000)]]
    assert sorted(by_file.values(), key=len) == want, {p: len(w) for p, w in by_file.items()}


VFORK = """
import os, subprocess
f = open({path!r}, "wb", buffering=0)
f.write(b"a")
subprocess.run(["true"], close_fds=True, check=True)
f.write(b"bb")
os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
f.write(b"ccc")
os.close(f.fileno())
"""


def vfork(place: Place) -> None:
    """A child that shares the memory closes its descriptors; the parent's go on."""
    file = place.scratch / "data"
    place.right(place.run(sys.executable, "-c", VFORK.format(path=str(file))))
    got = traced(place, file, place.calls())
    transfers = [(name, numbers[0]) for name, numbers in got if name in ("write", "close")]
    assert transfers == [("write", 1), ("write", 2), ("write", 3), ("close", 0)], got
    assert file.read_bytes() == b"abbccc"


def stdio(place: Place) -> None:
    """Random stdio calls stand in the trace with their numbers; the file is as without it."""
    seed = random.SystemRandom().randrange(2**31)
    print("seed", seed)
    file = place.scratch / "data file"
    program = place.bin / "stdio_calls"
    place.right(place.run(program, file, seed, preload=False))
    bare = file.read_bytes()
    file.unlink()
    done = place.right(place.run(program, file, seed))
    assert file.read_bytes() == bare
    made = [line.split() for line in done.out.decode().splitlines()]
    want = [(name, tuple(int(n) for n in numbers)) for name, *numbers in made]
    calls = place.calls()
    got = [(c["name"], tuple(c["numbers"])) for c in calls if c["layer"] == "stdio"]
    assert got == want, first_difference(got, want)
    posix = [c["name"] for c in calls if c["layer"] == "posix"]
    assert posix == ["open"], posix
    text = CALLS_TABLE.read_text()
    table = set(re.findall(r"^stdio\s+\w+\s+(\w+)", text, re.MULTILINE))
    assert table == {name for name, _ in want}, table ^ {name for name, _ in want}
    temporary = [c["texts"] for c in calls if c["name"] == "tmpfile"]
    assert temporary[0][0].startswith("/tmp/"), temporary


def stream_bytes(place: Place) -> None:
    """A file's bytes are in the trace whichever calls of stdio moved them."""
    for kind in ("exit", "wide", "append", "fork", "dprintf", "threads", "stdout"):
        file = place.scratch / kind
        program = (place.bin / "stream_bytes", kind, file)
        if kind == "stdout":  # as a shell makes it
            script = 'file="$1"; shift; exec "$@" > "$file"'
            done = place.run("sh", "-c", script, "sh", file, *program)
        else:
            done = place.run(*program)
        assert done.status == 0 and done.err == b"", (kind, done)
        calls = place.calls()
        moved = {
            name: sum(c["numbers"][-1 if c["layer"] == "stdio" else 1] for c in found)
            for name in ("fputc", "fgetc", "fputs", "fwrite", "fprintf", "write")
            if (found := [c for c in calls if c["name"] == name])
        }
        assert "fgetc" not in moved, (kind, moved)
        # Only what lies between calls of one thread is counted.
        assert sum(moved.values()) == file.stat().st_size, (kind, moved, file.stat().st_size)
        assert "fputc" not in moved or kind != "threads", moved
        # What is not timed has no rate.
        if "fputc" in moved:
            [file_summary] = [f for f in place.summary()["files"] if f["path"] == str(file)]
            assert [d["seconds"] for d in file_summary["datasets"]] == [0], file_summary
        place.clear()


if __name__ == "__main__":
    main({"arguments": arguments, "errors": errors, "threads": threads, "fork": fork,
          "ends": ends, "exec": exec_, "vfork": vfork, "stdio": stdio,
          "stream-bytes": stream_bytes})  # fmt: skip
