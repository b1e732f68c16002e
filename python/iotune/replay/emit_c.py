"""A stand-alone C kernel out of a plan: Record-and-Replay (PDSW'14), without iotune at run time.

It is the plan's lines, and the replayer's own sources behind them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from iotune.replay.plan import Plan, plan_text
from iotune.replay.programs import REPLAY, sources_of

_INCLUDE = re.compile(r'#include "(.*)"')
_FORMAT = (
    "The plan, a statement a line: `dataset` ID PATH ELEMENT_BYTES NDIMS and the dimensions;",
    "`transfer` with the ID, and behind it what each rank selects: `slab` RANK, and start, stride,",
    "count and block of all dimensions; `points` RANK and coordinates; `all` and `none` RANK;",
    "`repeat` says how many times, and how far each lies from the one before.",
)


def c_source(plan: Plan, origin: str, notes: Sequence[str] = ()) -> str:
    """The program's text. `origin` names the trace. Raises Error without iotune's own sources."""
    names = _file_names(plan)
    files = [replace(file, path=names[file.path]) for file in plan.files]
    seen: set[Path] = set()
    return "\n".join(
        [
            *_comment(plan, origin, notes),
            "static const char* const the_plan[] = {",
            *(
                f"    {_text(line)},"
                for line in plan_text(replace(plan, files=files), with_classes=True).splitlines()
            ),
            "    0};",
            "#define CARRIED_PLAN the_plan",
            "",
            *(line for source in sources_of(REPLAY) for line in _inlined(source, seen)),
            "",
        ]
    )


def _comment(plan: Plan, origin: str, notes: Sequence[str]) -> list[str]:
    lines = [
        f"The HDF5 transfers of {origin}, by {plan.ranks} rank(s).",
        *(f"- {note}" for note in notes),
        "Build: h5pcc -O2 THIS.c, or mpicc -O2 THIS.c $(pkg-config --cflags --libs hdf5-mpich)",
        f"Run:   mpirun -n {plan.ranks} ./a.out [--overwrite] [DIRECTORY]",
        "",
        *_FORMAT,
    ]
    safe = [line.replace("*/", "* /").replace("\n", " ") for line in lines]
    return ["/* " + "\n * ".join(safe), " */"]


def _inlined(source: Path, seen: set[Path]) -> Iterator[str]:
    """Its lines, with those of the project's headers in their places, each once."""
    for line in source.read_text().splitlines():
        included = _INCLUDE.match(line)
        if included is None:
            yield line
            continue
        header = source.parent / included[1]
        if header not in seen:
            seen.add(header)
            yield from _inlined(header, seen)


def _file_names(plan: Plan) -> dict[str, str]:
    """Each path's name in the kernel's directory; equal last parts get a number."""
    names: dict[str, str] = {}
    for file in plan.files:
        if file.path not in names:
            name = Path(file.path).name or "file"
            names[file.path] = name if name not in names.values() else f"{len(names)}-{name}"
    return names


def _text(text: str) -> str:
    """A C string literal. What is not plain is octal: it ends after three digits, hex does not."""
    encoded = text.encode(errors="surrogateescape")
    return '"' + "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in encoded
    ) + '"'  # fmt: skip
