"""Drawn programs run bare and under drawn settings: they end alike, and leave equal contents.

`thirty` is the part for every check. `soak` runs on to a thousand programs, writes what it saw to
torture.json, and goes on from there when it is started again with the same build.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))
from draw_programs import SETTINGS, Program, draw_program  # noqa: E402
from harness import Done, Hang, Place, preloadable  # noqa: E402

VERDICTS = ("applied", "without effect", "refused", "unverifiable")
PROGRAMS = 1000
LEAST_PROGRAMS_A_SETTING = 200
# Of the thirty: else all might end alike because nothing was set, or nothing ran.
LEAST_APPLIED, MOST_SKIPPED = 20, 2


@dataclass
class Seen:
    """How a run ended and what it left."""

    status: int
    out: bytes
    contents: dict[str, str]


def contents(place: Place, folder: Path) -> dict[str, str]:
    """By name: for HDF5 what is in it, because offsets may differ; for others the bytes."""
    names = sorted(p.name for p in folder.iterdir())
    hdf5 = [name for name in names if ".h5" in name]
    found = {
        name: hashlib.sha1((folder / name).read_bytes()).hexdigest()
        for name in names
        if name not in hdf5
    }
    if hdf5:
        dump = subprocess.run(
            [str(place.bin / "torture_program"), "--dump", *hdf5],
            cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert dump.returncode == 0, dump.stderr
        found |= {line.split(" ", 1)[0]: line for line in dump.stdout.splitlines()}
    return found


def groups(place: Place, program: Program, tuned: bool) -> list[object]:
    """What the launcher is told to start."""
    main = place.bin / "torture_program"
    apart: list[object] = [main, "script"]
    if program.launch == "mpmd":
        apart = [place.bin / "torture_other", "script"]
    elif tuned and program.launch == "partial":
        apart = ["env", f"LD_PRELOAD={place.shim}", *apart]
    elif tuned and program.launch == "record":
        apart = ["env", "IOTUNE_MODE=record", *apart]
    elif program.launch == "hints":
        # Not ROMIO_HINTS: on one rank alone that hangs ROMIO itself.
        apart = ["env", "MPICH_MPIIO_HINTS=*:cb_buffer_size=131072:cb_nodes=1", *apart]
    if program.launch == "all":
        return ["-n", program.ranks, main, "script"]
    return ["-n", program.ranks - program.apart, main, "script", ":", "-n", program.apart, *apart]


def run(place: Place, program: Program, tuned: bool) -> Seen:
    folder = place.scratch / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    script, config = folder / "script", place.scratch / "config.xml"
    script.write_text(program.script)
    config.write_text(program.config)
    shim, fake = str(place.shim), place.scratch / "fake storage"
    env: dict[str, Any] = {}
    if tuned and program.storage:
        shutil.rmtree(fake, ignore_errors=True)
        fake.mkdir()
        shim += f":{place.build / 'lib' / 'libfake_storage.so'}"
        env = {"FAKE_STORAGE": program.storage, "FAKE_ROOT": folder, "FAKE_STORE": fake}
    done: Done = place.run(
        place.mpirun, *groups(place, program, tuned), cwd=folder, preload=False,
        LD_PRELOAD=f"{place.preload()}:{shim}" if tuned else shim,
        IOTUNE_TRACE=place.trace, IOTUNE_CONFIG=config, IOTUNE_DB="none", **env,
    )  # fmt: skip
    # A launcher that reports a death tells the numbers of its processes.
    out = b"" if b"BAD TERMINATION" in done.out else done.out
    return Seen(done.status, out, contents(place, folder))


def end_of(program: Program, seen: Seen) -> tuple[object, bytes]:
    """The status, where it is the program's to decide: of a run in which one rank dies, three
    ranks and more, mpirun gives now that rank's status and now that of those it killed (9).
    """
    dies = program.lines[-1].split()[1] in ("abort", "early", "segv")
    return "killed" if dies and seen.status != 0 else seen.status, seen.out


def outcomes(place: Place) -> dict[str, list[str]]:
    """What became of each setting, in the run's trace or in what dead ranks left of it."""
    files = [place.trace] if place.trace.exists() else place.leftovers()
    found: dict[str, set[str]] = {}
    for file in files:
        for call in place.calls(file):
            if call["name"] == "iotune_setting":
                found.setdefault(call["texts"][1], set()).add(VERDICTS[call["numbers"][0]])
    return {name: sorted(verdicts) for name, verdicts in found.items()}


def torture(place: Place, seed: int) -> dict[str, Any]:
    """One program; "fault" is None where nothing but its speed has changed."""
    program = draw_program(seed)
    place.clear()
    began = time.monotonic()
    record: dict[str, Any] = {"seed": seed, "launch": program.launch, "ranks": program.ranks,
                              "storage": program.storage or "as it is",
                              "end": program.lines[-1].split()[1],
                              "settings": program.settings, "fault": None}  # fmt: skip
    try:
        bare = run(place, program, tuned=False)
    except Hang as hang:
        # HDF5's or MPI's own matter; nothing can be compared.
        record["skipped"] = str(hang)[-300:]
        return record
    try:
        tuned = run(place, program, tuned=True)
    except Hang as hang:
        record["fault"] = f"hang: {str(hang)[-300:]}"
        return record
    if end_of(program, tuned) != end_of(program, bare):
        record["fault"] = f"ended with {tuned.status}, bare with {bare.status}"
    elif tuned.contents != bare.contents:
        names = {*bare.contents, *tuned.contents}
        differ = sorted(n for n in names if bare.contents.get(n) != tuned.contents.get(n))
        record["fault"] = f"other contents: {differ}: " + "; ".join(
            f"{bare.contents.get(n)} became {tuned.contents.get(n)}" for n in differ[:2]
        )
    record["status"] = bare.status
    record["outcomes"] = outcomes(place)
    record["seconds"] = round(time.monotonic() - began, 2)
    return record


def place_at(build: Path, mpirun: str, scratch: Path, buffers: Path) -> Place:
    place = Place(build, mpirun, scratch, buffers)
    (place.scratch / "home").mkdir()
    return place


def told(records: list[dict[str, Any]]) -> str:
    """The counts, a line a setting."""
    skipped = [record["seed"] for record in records if "skipped" in record]
    records = [record for record in records if "skipped" not in record]
    drawn: Counter[str] = Counter()
    by_verdict: Counter[tuple[str, str]] = Counter()
    for record in records:
        drawn.update(list(record["settings"]))
        for name, verdicts in record.get("outcomes", {}).items():
            by_verdict.update((name, verdict) for verdict in verdicts)
    lines = [f"{len(records)} programs, {sum(r['fault'] is not None for r in records)} faults"]
    if skipped:
        lines.append(f"  not counted, because they hang without iotune: seeds {skipped}")
    for kind in ("launch", "end", "ranks", "storage"):
        counts = Counter(str(record[kind]) for record in records)
        lines.append(f"  {kind}: " + ", ".join(f"{n} {c}" for n, c in sorted(counts.items())))
    for name in SETTINGS:
        verdicts = ", ".join(f"{v} {by_verdict[name, v]}" for v in VERDICTS if by_verdict[name, v])
        lines.append(f"  {name:25} {drawn[name]:4} programs: {verdicts}")
    return "\n".join(lines)


def build_of(place: Place) -> dict[str, str]:
    """What a record is worth nothing without: another build of these was never tortured."""
    files = [place.library, place.library.with_name("libiotune-db.so"),
             place.bin / "torture_program", place.bin / "torture_other"]  # fmt: skip
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def saved(file: Path, build: dict[str, str]) -> list[dict[str, Any]]:
    """The records of this very build."""
    content = json.loads(file.read_text()) if file.exists() else {}
    records: list[dict[str, Any]] = content.get("programs", [])
    if content.get("build") != build and records:
        print(f"{len(records)} programs were of another build: begun anew", file=sys.stderr)
        return []
    return records


def save(file: Path, build: dict[str, str], records: list[dict[str, Any]]) -> None:
    content = {"format": "iotune-torture", "version": 1, "build": build, "programs": records}
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(content))
    fresh.replace(file)


def thirty(place: Place, first: int) -> None:
    records = [torture(place, first + i) for i in range(30)]
    print(told(records))
    faults = [(r["seed"], r["fault"]) for r in records if r["fault"] is not None]
    assert not faults, faults
    skipped = [r["seed"] for r in records if "skipped" in r]
    assert len(skipped) <= MOST_SKIPPED, f"seeds that hang without iotune: {skipped}"
    applied = sum(any("applied" in v for v in r.get("outcomes", {}).values()) for r in records)
    print(f"{applied} programs with an applied setting")
    assert applied >= LEAST_APPLIED, f"{applied} programs alone had a setting applied"


def soak(place: Place, file: Path, most: int, until: float) -> None:
    build = build_of(place)
    records = saved(file, build)
    done = {record["seed"] for record in records}
    file.parent.mkdir(parents=True, exist_ok=True)
    seed = -1
    while sum("skipped" not in r for r in records) < most and time.time() < until:
        seed += 1
        if seed in done:
            continue
        try:
            record = torture(place, seed)
        except BaseException:
            save(file, build, records)
            raise
        records.append(record)
        if record["fault"] is not None:
            print(f"seed {seed}: {record['fault']}", file=sys.stderr, flush=True)
        if len(records) % 10 == 0:
            save(file, build, records)
    save(file, build, records)
    print(told(records))
    faults = [r["seed"] for r in records if r["fault"] is not None]
    assert not faults, f"seeds {faults}; one alone: --seed N"
    whole = [record for record in records if "skipped" not in record]
    if len(whole) < most:
        print(f"NOT VERIFIED: the other {most - len(whole)} programs; start again to go on")
        return
    told_of = {name for record in whole for name in record.get("outcomes", {})}
    assert told_of >= set(SETTINGS), f"no program was told of {set(SETTINGS) - told_of}"
    drawn = Counter(name for record in whole for name in record["settings"])
    few = {name: drawn[name] for name in SETTINGS if drawn[name] < LEAST_PROGRAMS_A_SETTING}
    assert not few or most < PROGRAMS, few


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("--seed", type=int, help="this program alone, and what it saw")
    parser.add_argument("--first", type=int, default=100000, help="thirty: seed of the first")
    parser.add_argument("--json", type=Path, help="soak: default build/soak/torture.json")
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("case", choices=["thirty", "soak"])
    options = parser.parse_args()
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="iotune torture ") as scratch,
        tempfile.TemporaryDirectory(prefix="iotune-torture-", dir="/dev/shm") as buffers,
        tempfile.TemporaryDirectory(prefix="iotune-build-") as links,
    ):
        build = preloadable(options.build, Path(links))
        place = place_at(build, options.mpirun, Path(scratch), Path(buffers))
        # Without them each program would end as it does without iotune: not at all.
        for name in ("torture_program", "torture_other"):
            assert (place.bin / name).exists(), f"{place.bin / name} is not built"
        if options.seed is not None:
            print(draw_program(options.seed).script, draw_program(options.seed).config)
            print(json.dumps(torture(place, options.seed), indent=1))
        elif options.case == "thirty":
            thirty(place, options.first)
        else:
            file = options.json or options.build.parent / "soak" / "torture.json"
            soak(place, file, options.programs, time.time() + 60 * options.minutes)


if __name__ == "__main__":
    os.environ.pop("IOTUNE_CONFIG", None)
    main()
