"""What orders a process and its children, and locks on files, are recorded where IOTUNE_ORDER asks
for it, as the program itself saw them.
"""

from __future__ import annotations

from typing import Any

from support.place import Place, main

ALWAYS = {"flock"}
NAMES = {"fork", "posix_spawn", "wait", "waitpid", "wait3", "wait4", "waitid", "fcntl"} | ALWAYS


def numbers(call: dict[str, Any]) -> list[int]:
    """Those that the program can say: not where a lock's range stood in its memory."""
    found: list[int] = call["numbers"]
    return found[:1] + found[2:] if call["name"] == "fcntl" else found


def children(place: Place) -> None:
    for order in (1, None):
        file = place.scratch / "file"
        done = place.right(place.run(place.bin / "children", file, IOTUNE_ORDER=order))
        said = [(name, [int(n) for n in rest])
                for name, *rest in map(str.split, done.out.decode().splitlines())]  # fmt: skip
        assert {name for name, _ in said} == NAMES
        files = [*place.traces(), *place.leftovers()]
        heads = {int(head["attributes"]["pid"]): head["attributes"]
                 for path in files for head in place.heads(path)}  # fmt: skip
        parent = next(pid for pid, head in heads.items() if int(head["parent"]) not in heads)
        found = [(call["name"], numbers(call)) for path in files for call in place.calls(path)
                 if call["name"] in NAMES and call["pid"] == parent]  # fmt: skip
        assert found == [one for one in said if order or one[0] in ALWAYS], (order, found, said)
        made = {rest[-1] for name, rest in said if name == "fork"}
        assert made <= heads.keys(), (made, heads.keys())
        assert all(int(heads[pid]["parent"]) == parent for pid in made)
        place.clear()


def own_thread_block(place: Place) -> None:
    """Children whose thread-local variables lie nowhere end as they do without the preload."""
    for calls in ("none", "places", "root", "transfers", "files", "rights", "memory", "exec"):
        for below in (0, 255):
            words = (place.bin / "own_thread_block", place.scratch / "file", calls, below)
            bare = place.run(*words, preload=False)
            assert bare.out == b"exit 0\nexit 0\n", (calls, bare)
            done = place.run(*words)
            assert done.same_as(bare), (calls, below, done)
            # The parent goes on, and its trace has its own transfer alone.
            [moved] = [
                [call["numbers"][:1] for call in place.calls(path) if call["name"] == "pwrite"]
                for path in place.traces()
            ]
            assert moved == [[5]], (calls, moved)
            place.clear()


if __name__ == "__main__":
    main({"children": children, "own-thread-block": own_thread_block})
