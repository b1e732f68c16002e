"""VerifyIO's rules on traces of ours: which of them makes a published verdict another than ours.

  python3 tests/run.py tests/bench/verify/verifyio_rules.py TRACE…

Written from what its source does (wangvsa/VerifyIO, and Recorder's search for conflicts), to say
why verdicts differ; nothing is verified by it. A line a trace and set of rules: the conflicting
pairs, and under POSIX, commit, session and MPI-IO those that are not properly synchronised. Pairs
are gone through one by one: some million are the limit. Messages are followed for MPI_Recv alone.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iotune import core
from iotune.traces.calls import Call, calls
from support.installed.order_steps import SELVES, WORLDS, recorded_arguments

MODELS = ("posix", "commit", "session", "mpiio")
TRANSFERS = {f"MPI_File_{what}_all" for what in ("read", "read_at", "write", "write_at")}
FENCES = TRANSFERS | {
    "MPI_Barrier", "MPI_Allreduce", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Reduce_scatter",
    "MPI_File_open", "MPI_File_close", "MPI_File_set_size", "MPI_File_set_view", "MPI_File_sync",
    "MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_split_type", "MPI_Cart_create", "MPI_Cart_sub",
}  # fmt: skip
ROOTED = {"MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Gatherv"}
MAKES = {"MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_split_type", "MPI_Cart_create",
         "MPI_Cart_sub", "MPI_Comm_create"}  # fmt: skip
SENDS = {"MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Issend"}
ON_FILES = {"open", "fopen", "close", "fclose", "fsync"}
NEAR = 5  # calls


@dataclass(frozen=True)
class Rules:
    """What VerifyIO does and iotune does not; each may be left out."""

    locks: bool = True  # a lock near an access synchronises it
    rooted: bool = True  # a broadcast or a reduction is a barrier
    transfers: bool = True  # a collective transfer is a barrier
    fsync_opens: bool = True  # fsync opens and closes a session
    shortcuts: bool = True  # the first or the last access of a list decides for all of it


@dataclass
class Node:
    """A call that VerifyIO keeps."""

    process: int
    sequence: int  # among all calls of the process, by their starts
    name: str
    index: int  # among the nodes of the process
    begin: int = 0
    end: int = 0
    write: bool = False
    start: float = 0.0
    fence: tuple[Any, ...] | None = None  # what the other ranks' nodes have as well
    root: int | None = None
    after: Node | None = None  # the send of what was received
    knows: list[int] = field(default_factory=list)  # of each process the last node before it


class Run:
    """The nodes of one trace."""

    def __init__(self, trace: Path, rules: Rules) -> None:
        self.rules = rules
        self.rows = {row["name"]: row for row in core.call_table()}
        self.heads = core.processes(trace)
        self.nodes: list[list[Node]] = [[] for _ in self.heads]
        self.locked: list[list[int]] = [[] for _ in self.heads]
        self.accesses: dict[str, list[Node]] = defaultdict(list)
        self.fences: dict[tuple[Any, ...], dict[int, Node]] = defaultdict(dict)
        sends: dict[tuple[Any, ...], list[Node]] = defaultdict(list)
        receives: dict[tuple[Any, ...], list[Node]] = defaultdict(list)
        of_process: list[list[Call]] = [[] for _ in self.heads]
        for call in calls(trace):
            if call.layer != "iotune":
                of_process[call.process].append(call)
        for process, own in enumerate(of_process):
            self._read(process, own, sends, receives)
        for key, sent in sends.items():
            for send, receive in zip(sent, receives[key]):
                receive.after = send
        self._order()
        self.places: list[dict[str, list[int]]] = []
        for nodes in self.nodes:
            places: dict[str, list[int]] = defaultdict(list)
            for node in nodes:
                places[node.name].append(node.index)
            self.places.append(places)

    def _read(
        self, process: int, own: Sequence[Call], sends: dict[Any, list[Node]],
        receives: dict[Any, list[Node]],
    ) -> None:  # fmt: skip
        head = self.heads[process]
        comms: dict[int, tuple[Any, ...]] = dict.fromkeys(
            WORLDS | {int(head.get("comm_world", 0))}, ("world",))  # fmt: skip
        selves = SELVES | {int(head.get("comm_self", 0))}
        comms |= dict.fromkeys(selves, ("self", process))
        files: dict[int, tuple[Any, ...]] = {}
        made: dict[Any, int] = defaultdict(int)

        def next_of(key: tuple[Any, ...]) -> tuple[Any, ...]:
            made[key] += 1
            return (*key, made[key])

        for sequence, call in enumerate(own):
            row, name = self.rows.get(call.name), call.name
            if row is None:
                continue
            node = Node(process, sequence, name, len(self.nodes[process]), start=call.start)
            if name in ("fcntl", "flock"):
                self.locked[process].append(sequence)
            keeps = name in ON_FILES
            if name.startswith("MPI_"):
                said = recorded_arguments(call, self.rows)
                comm = comms.get(said.get("comm", 0), ("unknown", said.get("comm", 0)))
                if name in MAKES:
                    new = next_of(("comm", comm))
                    comms[said["newcomm"]] = (*new, said.get("color", 0))
                elif name == "MPI_File_open":
                    files[said["file"]] = next_of(("file", comm))
                where = files.get(said.get("file", 0), comm) if "_File_" in name else comm
                if name in SENDS:
                    keeps = True
                    sends[comm, process, said["dest"], said["tag"]].append(node)
                elif name == "MPI_Recv":
                    keeps = True
                    receives[comm, said["got_source"], process, said["got_tag"]].append(node)
                elif name in FENCES | ROOTED and (self.rules.transfers or name not in TRANSFERS):
                    keeps, node.root = True, said.get("root")
                    node.fence = next_of(("fence", name, where))
                    self.fences[node.fence][process] = node
            elif call.file and row["transfer"] and row["layer"] in ("posix", "stdio"):
                keeps = self._access(node, call, row)
                if keeps:
                    self.accesses[call.file].append(node)
            if keeps:
                self.nodes[process].append(node)

    @staticmethod
    def _access(node: Node, call: Call, row: dict[str, Any]) -> bool:
        """What was asked for counts, and not what was moved."""
        meaning = row["meaning"]
        if meaning["offset"] is None or meaning["bytes"] is None:
            return False
        length = call.numbers[meaning["bytes"]]
        if meaning["item_bytes"] is not None:
            length *= call.numbers[meaning["item_bytes"]]
        elif call.name in ("read", "write", "pread", "pwrite"):
            length = max(length, call.numbers[0])
        node.begin, node.write = call.numbers[meaning["offset"]], row["writes"]
        node.end = node.begin + length
        return node.begin >= 0 and length > 0

    def _order(self) -> None:
        """Clocks. What a rank meets others in orders all that comes behind it, also what ran
        inside the call.
        """
        at = [0] * len(self.nodes)
        knows = [[-1] * len(self.nodes) for _ in self.nodes]
        while any([self._go_on(process, at, knows) for process in range(len(self.nodes))]):
            pass

    def _go_on(self, process: int, at: list[int], knows: list[list[int]]) -> bool:
        moved = False
        while at[process] < len(self.nodes[process]):
            node = self.nodes[process][at[process]]
            if not node.knows:
                if node.after is not None:
                    if not node.after.knows:
                        break
                    knows[process] = _joined(knows[process], node.after)
                node.knows = knows[process] = [*knows[process]]
                node.knows[process] = node.index
                moved = True
            givers = self._givers(node)
            if not all(giver.knows for giver in givers):
                break
            for giver in givers:
                knows[process] = _joined(knows[process], giver)
            at[process] += 1
            moved = True
        return moved

    def _givers(self, node: Node) -> list[Node]:
        others = self.fences[node.fence] if node.fence is not None else {}
        if node.name not in ROOTED or self.rules.rooted:
            return list(others.values())
        rank = self.heads[node.process]["rank"]
        if node.name == "MPI_Bcast":
            return [one for one in others.values() if self.heads[one.process]["rank"] == node.root]
        return list(others.values()) if rank == node.root else []

    # --- one pair
    def _next(self, node: Node, names: Sequence[str]) -> Node | None:
        found = []
        for name in names:
            places = self.places[node.process].get(name, [])
            found += places[bisect_right(places, node.index) :][:1]
        return self.nodes[node.process][min(found)] if found else None

    def _last(self, node: Node, names: Sequence[str]) -> Node | None:
        found = []
        for name in names:
            places = self.places[node.process].get(name, [])
            found += places[: bisect_left(places, node.index)][-1:]
        return self.nodes[node.process][max(found)] if found else None

    def synchronised(self, model: str, first: Node, second: Node) -> bool:
        locked, begin = self.locked[first.process], first.sequence - NEAR
        if self.rules.locks and begin >= 0:
            place = bisect_left(locked, begin)
            if place < len(locked) and locked[place] < first.sequence + NEAR:
                return True
        out: Node | None = first
        into: Node | None = second
        fsync = ("fsync",) if self.rules.fsync_opens else ()
        if model == "commit":
            out = self._next(first, ("fsync", "close", "fclose"))
        elif model == "session":
            out = self._next(first, ("close", "fclose", *fsync))
            into = self._last(second, ("open", "fopen", *fsync))
        elif model == "mpiio":
            sync = self._next(first, ("MPI_File_close", "MPI_File_sync"))
            own = self.nodes[first.process]
            # The order has to begin behind the sync.
            out = own[sync.index + 1] if sync and sync.index + 1 < len(own) else None
            into = self._last(second, ("MPI_File_open", "MPI_File_sync"))
        if out is None or into is None or not into.knows:
            return False
        return into.knows[out.process] >= out.index

    def conflicts(self) -> Iterator[tuple[Node, list[Node]]]:
        """Each access with those of other ranks that begin at or behind it; what was made anew
        under the name of an old file is the same file.
        """
        for own in self.accesses.values():
            own.sort(key=lambda node: (node.begin, node.start))
            for place, first in enumerate(own):
                found = []
                for second in own[place + 1 :]:
                    if second.begin >= first.end:
                        break
                    if second.process != first.process and (first.write or second.write):
                        found.append(second)
                if found:
                    yield first, sorted(found, key=lambda node: node.process)

    def violations(self, model: str, first: Node, others: list[Node]) -> int:
        """Of the conflicts of one access."""

        def right(a: Node, b: Node) -> bool:
            return self.synchronised(model, a, b)

        if self.rules.shortcuts:
            if right(first, others[0]) or right(others[-1], first):
                return 0
            if not right(first, others[-1]) and not right(others[0], first):
                return len(others)
        return sum(not right(first, one) and not right(one, first) for one in others)


def _joined(knows: list[int], other: Node) -> list[int]:
    return [max(pair) for pair in zip(knows, other.knows)]


def judged(trace: Path, rules: Rules) -> list[int]:
    """The pairs, and the violations of each model."""
    run = Run(trace, rules)
    found = [0] * (1 + len(MODELS))
    for first, others in run.conflicts():
        found[0] += len(others)
        for place, model in enumerate(MODELS, 1):
            found[place] += run.violations(model, first, others)
    return found


def main() -> int:
    """Print what the rules say, and what they say without one or two of them."""
    if len(sys.argv) < 2:
        sys.exit("usage: verifyio_rules.py TRACE…")
    for trace in map(Path, sys.argv[1:]):
        print(f"{trace.name}: {judged(trace, Rules())}")
        for left_out in (*((rule,) for rule in vars(Rules())), ("locks", "rooted")):
            rules = replace(Rules(), **dict.fromkeys(left_out, False))
            print(f"  without {', '.join(left_out)}: {judged(trace, rules)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
