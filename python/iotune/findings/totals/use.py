"""What a log counted of one file in one layer, as findings ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from iotune.findings.facts import Facts

VERBS = {True: "write", False: "read"}


@dataclass(frozen=True)
class Use:
    """Of one file in one layer. Where the log has nothing numbers are 0."""

    file: str
    said: Mapping[str, Any]
    of_file: Mapping[str, Any]

    @property
    def ranks(self) -> int:
        """How many used it."""
        return int(self.said.get("ranks", 1))

    def calls(self, name: str) -> int:
        """Of this kind: read, collective write, open …"""
        return int(self.said.get("calls", {}).get(name, 0))

    def transfers(self, writes: bool) -> int:
        """Calls that move data in this direction, however they do."""
        verb = VERBS[writes]
        kinds = ("", "independent ", "collective ", "split ", "nonblocking ")
        return sum(self.calls(kind + verb) for kind in kinds)

    def together(self, writes: bool) -> int:
        """Collective ones of them."""
        return self.calls(f"collective {VERBS[writes]}") + self.calls(f"split {VERBS[writes]}")

    def alone(self, writes: bool) -> int:
        """Independent ones of them."""
        return self.calls(f"independent {VERBS[writes]}") + self.calls(
            f"nonblocking {VERBS[writes]}"
        )

    def bytes(self, writes: bool) -> int:
        return int(self.said.get("bytes_written" if writes else "bytes_read", 0))

    def sizes(self, writes: bool) -> list[int]:
        """Calls by the classes of importing.darshan_totals.SIZE_CLASSES; [] where not counted."""
        return list(self.said.get(f"{VERBS[writes]}_sizes", []))

    def number(self, name: str) -> int:
        return int(self.said.get(name, 0))

    @property
    def seconds(self) -> float:
        """In all its calls, of the slowest rank."""
        return float(self.said.get("slowest", {}).get("seconds", 0.0))

    @property
    def slowest(self) -> Mapping[str, Any]:
        """rank, bytes and seconds; empty where it is not known."""
        return dict(self.said.get("slowest", {}))

    @property
    def sum_seconds(self) -> float:
        """Of all ranks, metadata with it."""
        keys = ("read_seconds", "write_seconds", "meta_seconds")
        return float(sum(self.said.get(key, 0.0) for key in keys))

    def part_of_slowest(self, key: str) -> dict[int, float]:
        """Seconds of the slowest rank, the part that all ranks together spent so: by its rank."""
        total = self.sum_seconds
        if not self.slowest or total <= 0:
            return {}
        share = min(1.0, float(self.said.get(key, 0.0)) / total)
        return {int(self.slowest["rank"]): self.seconds * share}


def uses(facts: Facts, *layers: str) -> Iterator[Use]:
    """Of all data files, in these layers."""
    for file, totals in facts.totals.items():
        for said in totals.get("layers", []):
            if said["layer"] in layers:
                yield Use(file, said, totals)


def of_layer(totals: Mapping[str, Any], file: str, layer: str) -> Use | None:
    """Of a file's totals those of one layer."""
    for said in totals.get("layers", []):
        if said["layer"] == layer:
            return Use(file, said, totals)
    return None


def mpi_io_of(one: Use) -> Use | None:
    """What MPI-IO was asked for in the same file."""
    return of_layer(one.of_file, one.file, "mpiio")
