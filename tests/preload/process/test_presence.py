"""All loaded ranks come to one answer whether all are there, in any order, on full disks too.

Ranks that differ would wait for each other for ever, so that each case is about equal answers; what
the answer is matters less.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.slow_home import left_processes, slow_home


class Rank:
    """A process that takes its steps on command."""

    def __init__(
        self, place: Place, node: str = "", preload: Sequence[Path] = (), **more: object
    ) -> None:
        env = place.environment(
            preload, IOTUNE_RUN_ID="run", IOTUNE_BUFFER_DIR=place.buffers / (node or "here"), **more
        )
        self.process = subprocess.Popen(
            [place.bin / "presence_rank", *([node] if node else [])], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, step: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(step + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, (step, self.process.wait(), self.process.communicate())
        return answer

    def settle(self, size: int) -> str:
        return self(f"settle {size}")

    def end(self) -> list[str]:
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0 and not out, (out, err)
        return err.splitlines()


def ranks(place: Place, nodes: Sequence[str], launcher: bool = False, **more: Any) -> list[Rank]:
    """`launcher`: it says how many ranks each node has."""
    for node in nodes:
        (place.buffers / (node or "here")).mkdir(parents=True, exist_ok=True)
    return [
        Rank(place, node, **local_ranks(nodes, node) if launcher else {}, **more) for node in nodes
    ]


def local_ranks(nodes: Sequence[str], node: str) -> dict[str, Any]:
    return {"MPI_LOCALNRANKS": nodes.count(node), "PMI_SIZE": len(nodes)}


def ended(place: Place, group: Sequence[Rank]) -> list[str]:
    """What they said; nothing is left for the next group."""
    said = [line for rank in group for line in rank.end()]
    for folder in place.buffers.iterdir():
        shutil.rmtree(folder)
    shutil.rmtree(place.state, ignore_errors=True)
    return said


def left(place: Place) -> list[Path]:
    return [path for top in (place.buffers, place.state / "iotune" / "runs")
            for path in top.rglob("*") if not path.is_dir()]  # fmt: skip


def fake_nodes() -> bool:
    if os.getuid() == 0:
        return True
    not_verified("presence on several nodes: fake ones want root")
    return False


def clusters() -> list[tuple[tuple[str, ...], bool]]:
    """Nodes of ranks, and whether the launcher says how many each has."""
    nodes = [("", "", ""), *([("n1", "n2", "n2")] if fake_nodes() else [])]
    return [(each, launcher) for each in nodes for launcher in (False, True)]


def everyone(place: Place) -> None:
    """All registered: yes, no matter who asks first, and nothing stays behind."""
    for nodes, launcher in clusters():
        for order in itertools.permutations(range(3)):
            group = ranks(place, nodes, launcher)
            for rank in group:
                rank("register")
            expected = f"1 1 {len(set(nodes))}"
            assert [group[i].settle(3) for i in order] == [expected] * 3, (nodes, order)
            for rank in group:
                rank("remove")
            assert left(place) == [], left(place)
            assert ended(place, group) == []


def late(place: Place) -> None:
    """A rank asks before the last one has registered: no for all, said once."""
    for nodes, launcher in clusters():
        group = ranks(place, nodes, launcher)
        group[0]("register")
        group[1]("register")
        answers = [group[0].settle(3)]
        group[2]("register")
        answers += [rank.settle(3) for rank in group[1:]]
        assert {answer[:3] for answer in answers} == {"0 0"}, (nodes, answers)
        said = ended(place, group)
        # A node counts when all of its ranks do, as far as the launcher says how many it has.
        known = "1 of 3" if launcher and len(set(nodes)) > 1 else "2 of 3"
        assert len(said) == 1 and f"{known} ranks" in said[0], said


def full_disk(place: Place) -> None:
    """Where some ranks cannot write any more, none waits for them, and they for none."""
    for nodes, launcher in clusters():
        for stuck in itertools.product((False, True), repeat=3):
            for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
                group = ranks(place, nodes, launcher)
                for rank in group:
                    rank("register")
                filled = [rank("full") for rank, full in zip(group, stuck) if full]
                if "none" in filled:
                    not_verified("full disks: no filters of system calls here")
                    ended(place, group)
                    return
                answers = {group[i].settle(3)[:3] for i in order}
                assert len(answers) == 1, (nodes, stuck, order, answers)
                # Ranks of one node write what they agree on into a file that is there already.
                first = stuck[order[0]] and len(set(nodes)) > 1
                assert answers == ({"0 0"} if first else {"1 1"}), (stuck, order, answers)
                said = ended(place, group)
                assert bool(said) == first and len(said) <= 1, said


def full_from_the_start(place: Place) -> None:
    """A rank that cannot register does not count."""
    for nodes, launcher in clusters():
        for stuck in range(3):
            group = ranks(place, nodes, launcher)
            if group[stuck]("full") == "none":
                not_verified("full disks: no filters of system calls here")
                ended(place, group)
                return
            for rank in group:
                rank("register")
            assert {rank.settle(3)[:3] for rank in group} == {"0 0"}, (nodes, stuck)
            ended(place, group)


def no_room(place: Place) -> None:
    """The answer itself cannot be written: no for all, also for those that could."""
    for order in itertools.permutations(range(3)):
        group = ranks(place, [""] * 3)
        for rank in group:
            rank("register")
        group[order[0]]("limit")
        assert {group[i].settle(3)[:3] for i in order} == {"0 0"}, order
        said = ended(place, group)
        assert len(said) == 1 and "cannot be written" in said[0], said


def other_worlds(place: Place) -> None:
    """Of two worlds in a run the second one finds an answer that is not about it."""
    for later in (2, 3, 4):
        group = ranks(place, [""] * (2 + later))
        for rank in group[:2]:
            rank("register")
        assert [rank.settle(2) for rank in group[:2]] == ["1 1 1"] * 2
        for rank in group[2:]:
            rank("register")
        assert {rank.settle(later)[:3] for rank in group[2:]} == {"0 0"}, later
        ended(place, group)


def other_launcher(place: Place) -> None:
    """Processes that another MPI's launcher started are worlds of one rank each."""
    group = ranks(place, ["", "", ""])
    for rank in group:
        rank("register")
    assert {rank.settle(1)[:3] for rank in group} == {"0 0"}
    said = ended(place, group)
    assert len(said) == 1 and "3 processes were started together" in said[0], said
    assert "1 rank:" in said[0] and "launcher" in said[0], said


def modes(place: Place) -> None:
    """Loaded all, and one only records."""
    for asks_first in (0, 1):
        group = ranks(place, [""]) + [Rank(place, IOTUNE_MODE="record")]
        for rank in group:
            rank("register")
        answers = [group[i].settle(2) for i in (asks_first, 1 - asks_first)]
        assert answers == ["1 0 1"] * 2, answers
        said = ended(place, group)
        assert len(said) == 1 and "1 of 2" in said[0], said


def silent_home(place: Place) -> None:
    """A home that does not answer is asked once a node, and what asks it is left behind."""
    with slow_home(place) as home:
        if home is None or not fake_nodes():
            return
        home.takes(None)
        group = ranks(place, ("n1", "n2", "n2"), True)
        own = {str(rank.process.pid) for rank in group}
        for rank in group:
            rank("register")
        assert {rank.settle(3)[:3] for rank in group} == {"0 0"}
        left = [one for one in left_processes(place.bin / "presence_rank") if one.name not in own]
        assert len(left) == 2, left  # one a node
        said = [rank.end() for rank in group]
        for process in left:
            # In a session of its own, with nothing that was the program's but the pipe to it.
            assert (process / "stat").read_text().rsplit(")", 1)[1].split()[3] == process.name
            assert len(list((process / "fd").iterdir())) == 1
            assert (process / "cwd").readlink() == Path("/")
        assert all(len(lines) <= 1 for lines in said), said
        assert all("does not answer" in line for lines in said for line in lines), said
        assert said[0] and said[2], said
        assert not any(home.root.rglob("runs"))


def long_named_libraries(place: Place) -> list[Path]:
    """So that lines of /proc/self/maps are longer than what libc moves without its data."""
    folder = place.scratch / ("long-" * 40)
    folder.mkdir()
    names = [folder / f"lib{i}.so" for i in range(4)]
    for name in names:
        shutil.copy(place.bin.parent / "lib" / "libiotune-yield.so", name)
    return names


def late_home(place: Place) -> None:
    """One that takes its time is waited for."""
    with slow_home(place) as home:
        if home is None or not fake_nodes():
            return
        home.takes(50)
        group = ranks(place, ("n1", "n2", "n2"), True, preload=long_named_libraries(place))
        for rank in group:
            rank("register")
        assert {rank.settle(3) for rank in group} == {"1 1 2"}
        own = {str(rank.process.pid) for rank in group}
        until = time.monotonic() + 30  # what has asked for them ends by itself
        while left := {one.name for one in left_processes(place.bin / "presence_rank")} - own:
            assert time.monotonic() < until, left
            time.sleep(0.02)
        assert [line for rank in group for line in rank.end()] == []


if __name__ == "__main__":
    main({
        "everyone": everyone, "late": late, "full-disk": full_disk,
        "full-from-the-start": full_from_the_start, "no-room": no_room,
        "other-worlds": other_worlds, "other-launcher": other_launcher,
        "modes": modes, "silent-home": silent_home,
        "late-home": late_home,
    })  # fmt: skip
