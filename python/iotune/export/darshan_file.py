"""Darshan's logs, version 3.41, byte by byte: a head, the job, names, and regions of records.

All but the head is compressed by zlib; numbers are little-endian.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from iotune.importing.darshan_format import DXT_MPI_IO, DXT_POSIX, HEATMAP, LUSTRE, Module

_VERSION = b"3.41"
_MAGIC = 6567223
_MOST_MODULES = 64
_JOB_BYTES = 4096  # of job, command and mounts together
# Of files' kinds nothing is known. Darshan's library reads the command only where a mount follows.
_MOUNT = b"\nunknown\t/"
_METADATA_BYTES = 1024
_HOST_BYTES = 64
_ALL_RANKS, _UNKNOWN = -1, -1
_ORDER = "<"  # of bytes; readers turn those of other machines round
_HEAD = "8sqB7xQ"
SEGMENT = "qqdd"  # offset, length, start and end in seconds; packed()


@dataclass
class Job:
    """The run as a whole."""

    ranks: int
    start_ns: int
    end_ns: int
    command: str
    user: int = 0
    metadata: dict[str, str] = field(default_factory=dict)


def id_of(name: str) -> int:
    """A record's number: equal names have equal ones, in every log."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


class DarshanFile:
    """Takes records; write() puts them down."""

    def __init__(self, job: Job):
        self._job = job
        self._names: dict[int, str] = {}
        self._regions: dict[Module, bytearray] = {}

    def name(self, name: str) -> int:
        """The number of a record's name, which goes into the log."""
        number = id_of(name)
        self._names[number] = name
        return number

    def counted(
        self,
        module: Module,
        name: str,
        rank: int,
        numbers: tuple[list[int], list[float]],
        of_file: str | None = None,
    ) -> None:
        """A record of counters; `of_file`: whose part it is."""
        counters, times = numbers
        body = packed("Qq", self.name(name), rank)
        if of_file is not None:
            body += packed("Q", self.name(of_file))
        body += packed(f"{len(counters)}q{len(times)}d", *counters, *times)
        self._add(module, body)

    def traced(
        self, module: Module, name: str, rank: int, host: str, written: bytes, read: bytes
    ) -> None:
        """Segments of one rank on one file, packed as SEGMENT."""
        assert module in (DXT_POSIX, DXT_MPI_IO)
        head = packed(
            f"Qqq{_HOST_BYTES}sqq",
            *(self.name(name), rank, 0),
            host.encode("utf-8", "replace")[: _HOST_BYTES - 1],
            *(len(written) // _size(SEGMENT), len(read) // _size(SEGMENT)),
        )
        self._add(module, head + written + read)

    def heat(
        self, name: str, rank: int, seconds: float, written: list[int], read: list[int]
    ) -> None:
        """Bytes of one rank in bins of so many seconds."""
        bins = len(written)
        head = packed("QqdqQQ", self.name(name), rank, seconds, bins, 0, 0)
        self._add(HEATMAP, head + packed(f"{2 * bins}q", *written, *read))

    def striped(self, name: str, stripe_bytes: int, targets: list[int]) -> None:
        """How Lustre laid a file out."""
        counters = (_UNKNOWN, _UNKNOWN, targets[0], stripe_bytes, len(targets))
        body = packed("Qq5q", self.name(name), _ALL_RANKS, *counters)
        self._add(LUSTRE, body + packed(f"{len(targets)}q", *targets))

    def write(self, to: BinaryIO) -> None:
        """The log as a whole."""
        at = _size(_HEAD) + 16 * (_MOST_MODULES + 1) + 4 * _MOST_MODULES
        regions = [zlib.compress(self._packed_job()), zlib.compress(self._packed_names())]
        places = [(0, 0)] * (_MOST_MODULES + 1)  # names first
        versions = [0] * _MOST_MODULES
        at += len(regions[0])
        places[0] = (at, len(regions[1]))
        at += len(regions[1])
        for module in sorted(self._regions, key=lambda one: one.number):
            regions.append(zlib.compress(bytes(self._regions[module])))
            places[module.number + 1] = (at, len(regions[-1]))
            versions[module.number] = module.version
            at += len(regions[-1])
        to.write(packed(_HEAD, _VERSION, _MAGIC, 0, 0))
        to.write(packed(f"{2 * len(places)}Q", *_flat(places)))
        to.write(packed(f"{_MOST_MODULES}I", *versions))
        for region in regions:
            to.write(region)

    def _add(self, module: Module, body: bytes) -> None:
        self._regions.setdefault(module, bytearray()).extend(body)

    def _packed_job(self) -> bytes:
        job = self._job
        metadata = "".join(f"{key}={value}\n" for key, value in job.metadata.items())
        head = packed(
            f"7q{_METADATA_BYTES}s",
            *(job.user, *divmod(job.start_ns, 10**9), *divmod(job.end_ns, 10**9), job.ranks, 0),
            metadata.encode("utf-8", "replace")[: _METADATA_BYTES - 1],
        )
        words = job.command.replace("\n", " ").encode("utf-8", "surrogateescape")
        words = words[: _JOB_BYTES - len(head) - len(_MOUNT) - 1] + _MOUNT
        return head + words + b"\0"

    def _packed_names(self) -> bytes:
        return b"".join(
            packed("Q", number) + name.encode("utf-8", "surrogateescape") + b"\0"
            for number, name in self._names.items()
        )


def packed(form: str, *values: object) -> bytes:
    """As struct.pack() without an order of bytes, in the log's."""
    return struct.pack(_ORDER + form, *values)


def _size(form: str) -> int:
    return struct.calcsize(_ORDER + form)


def _flat(pairs: Iterable[tuple[int, int]]) -> list[int]:
    return [number for pair in pairs for number in pair]
