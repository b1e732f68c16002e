"""Drawn programs run bare and under drawn settings: they end alike, and leave equal contents.

`thirty` is the part for every check. `soak` runs on to a thousand programs, writes what it saw to
torture.json, and goes on from there when it is started again with the same build. `thirty-openmpi`
and `soak-openmpi` (three hundred programs) do the same under Debian's Open MPI, whose MPI-IO is
OMPIO. OMPIO by itself may write wrong bytes: a program whose bare runs differ is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import preloaded
from support.answers import make_database
from support.draw_programs import SETTINGS, Program, draw_program
from support.mpis import Mpi, find_mpi, use
from support.place import Place, preloadable
from support.preloaded import Done, Hang
from support.settings import VERDICTS

PROGRAMS = 1000
OPEN_MPI_PROGRAMS = 300
SOURCES_OF_PROGRAMS = ("torture_program.c", "torture_hdf5.c", "torture_mpiio.c")
# A difference under Open MPI counts only if so many further bare runs all agree with the first.
BARE_REPEATS = 4
LEAST_PROGRAMS_A_SETTING = 200
# Of the thirty: else all might end alike because nothing was set, or nothing ran.
LEAST_APPLIED, MOST_SKIPPED = 18, 2
# Where decisions of all programs together come from; of the thirty some.
SOURCES = {"config", "unknown", "untrained", "exact", "explore", "similar", "series"}
OF_THIRTY = {"config", "unknown", "exact", "explore", "similar"}
# Those that no database is asked for: they change the layout.
LAYOUT = ("chunk", "fill_time", "libver_low")


class TorturePlace(Place):
    """A place whose torture programs may be those of another MPI than the build's."""

    another_mpi: Mpi | None = None  # None: the build's own

    @property
    def program(self) -> Path:
        return self._built("torture_program")

    @property
    def other(self) -> Path:
        return self._built("torture_other")

    def _built(self, name: str) -> Path:
        return (self.bin if self.another_mpi is None else self.scratch / "programs") / name


def compile_programs(place: TorturePlace, mpi: Mpi) -> None:
    """Build the torture programs with the compiler and the HDF5 of `mpi`, and use them."""
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", mpi.hdf5_package],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    place.another_mpi = mpi
    place.program.parent.mkdir()
    sources = [Path(__file__).with_name(name) for name in SOURCES_OF_PROGRAMS]
    subprocess.run([mpi.compiler, "-O1", "-o", place.program, *sources, *flags], check=True)
    shutil.copy2(place.program, place.other)
    use(place, mpi)


@dataclass
class Seen:
    """How a run ended and what it left."""

    status: int
    out: bytes
    contents: dict[str, str]


def contents(place: TorturePlace, folder: Path) -> dict[str, str]:
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
            [str(place.program), "--dump", *hdf5],
            cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert dump.returncode == 0, dump.stderr
        found |= {line.split(" ", 1)[0]: line for line in dump.stdout.splitlines()}
    return found


def groups(place: TorturePlace, program: Program, tuned: bool, main: Path) -> list[object]:
    """What the launcher is to start."""
    apart: list[object] = [main, "script"]
    if program.launch == "mpmd":
        apart = [place.other, "script"]
    elif tuned and program.launch == "partial":
        apart = ["env", preloaded.setting(place.shim), *apart]
    elif tuned and program.launch == "record":
        apart = ["env", "IOTUNE_MODE=record", *apart]
    elif program.launch == "hints":
        # Not ROMIO_HINTS: on one rank alone that hangs ROMIO itself.
        apart = ["env", "MPICH_MPIIO_HINTS=*:cb_buffer_size=131072:cb_nodes=1", *apart]
    if program.launch == "all":
        return ["-n", program.ranks, main, "script"]
    return ["-n", program.ranks - program.apart, main, "script", ":", "-n", program.apart, *apart]


def run(
    place: TorturePlace, program: Program, tuned: bool, script: str = "", main: Path | None = None,
    **env: Any,
) -> Seen:  # fmt: skip
    """Run it, or another script of its kind, or by another executable."""
    folder = place.scratch / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config = place.scratch / "config.xml"
    (folder / "script").write_text(script or program.script)
    config.write_text(program.config)
    loaded, fake = place.libraries(tuned, shim=True), place.scratch / "fake storage"
    if tuned and program.storage:
        shutil.rmtree(fake, ignore_errors=True)
        fake.mkdir()
        loaded.append(place.build / "lib" / "libfake_storage.so")
        env |= {"FAKE_STORAGE": program.storage, "FAKE_ROOT": folder, "FAKE_STORE": fake}
    if not program.known:
        env |= {"IOTUNE_CONFIG": config, "IOTUNE_DB": "none"}
    place.trace.unlink(missing_ok=True)
    done: Done = place.run(
        place.mpirun, *groups(place, program, tuned, main or place.program),
        cwd=folder, preload=loaded,
        IOTUNE_TRACE=place.trace, **env,
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


def calls(place: TorturePlace) -> list[dict[str, Any]]:
    """Of the run's trace, or of what dead ranks left of it."""
    files = [place.trace] if place.trace.exists() else place.leftovers()
    return [call for file in files for call in place.calls(file)]


def sources(place: TorturePlace) -> list[str]:
    """Where the decisions on the run's files came from."""
    return sorted({c["texts"][1] for c in calls(place) if c["name"] == "iotune_decision"})


def learn(place: TorturePlace, program: Program) -> None:
    """A database that knows of the program what is drawn, out of runs like it."""
    database = place.data / "iotune" / "patterns.db"
    make_database(database)
    if program.known == "similar":
        run(place, program, tuned=True, script=program.larger, main=place.other)
        answer_all(database, program)
    run(place, program, tuned=True, script=program.learned_from)
    if program.known in ("exact", "explore"):
        answer_all(database, program)


def answer_all(database: Path, program: Program) -> None:
    """Every pattern that was seen has the drawn settings for its answer, but for the layout's."""
    settings = ";".join(
        f"{name}={value}" for name, value in sorted(program.settings.items()) if name not in LAYOUT
    )
    share = 1 if program.known == "explore" else 0
    with contextlib.closing(sqlite3.connect(database)) as db:
        # At a run's end the kernel is asked for the storage, not what stands in for it.
        if program.storage:
            db.execute(
                "INSERT OR IGNORE INTO platforms (filesystem, mpi, hdf5, host_class)"
                " SELECT ?, mpi, hdf5, host_class FROM platforms",
                ({"ceph": "cephfs"}.get(program.storage, program.storage),),
            )
        db.execute("INSERT OR IGNORE INTO settings (text) VALUES (?)", (settings,))
        db.execute(
            "INSERT INTO tunings (pattern, platform, settings, state, gain, low, high, rounds,"
            " made_at, source, default_share) SELECT p.id, f.id, s.id, ?, 2.0, 1.5, 2.5, 5, ?,"
            " 'train', ? FROM patterns p, platforms f, settings s WHERE s.text = ?",
            ("tuned" if settings else "default-is-best", time.time(), share, settings),
        )
        db.commit()


def outcomes(place: TorturePlace) -> dict[str, list[str]]:
    """What became of each setting, in the run's trace or in what dead ranks left of it."""
    found: dict[str, set[str]] = {}
    for call in calls(place):
        if call["name"] == "iotune_setting":
            found.setdefault(call["texts"][1], set()).add(VERDICTS[call["numbers"][0]])
    return {name: sorted(verdicts) for name, verdicts in found.items()}


def fault_of(program: Program, bare: Seen, tuned: Seen) -> str | None:
    if end_of(program, tuned) != end_of(program, bare):
        return f"ended with {tuned.status}, bare with {bare.status}"
    if tuned.contents == bare.contents:
        return None
    names = {*bare.contents, *tuned.contents}
    differ = sorted(n for n in names if bare.contents.get(n) != tuned.contents.get(n))
    return f"other contents: {differ}: " + "; ".join(
        f"{bare.contents.get(n)} became {tuned.contents.get(n)}" for n in differ[:2]
    )


def bare_runs_differ(place: TorturePlace, program: Program, first: Seen) -> bool:
    """Whether the program by itself does not always do the same."""
    again = (run(place, program, tuned=False) for _ in range(BARE_REPEATS))
    return any(fault_of(program, first, seen) is not None for seen in again)


def is_order_recorded(seed: int) -> bool:
    """Of each third program messages and collectives are recorded as well."""
    return seed % 3 == 0


def torture(place: TorturePlace, seed: int) -> dict[str, Any]:
    """One program; "fault" is None where nothing but its speed has changed."""
    program = draw_program(seed)
    place.clear()
    began = time.monotonic()
    record: dict[str, Any] = {"seed": seed, "launch": program.launch, "ranks": program.ranks,
                              "storage": program.storage or "as it is",
                              "known": program.known or "configured",
                              "record": program.record, "order": is_order_recorded(seed),
                              "end": program.lines[-1].split()[1],
                              "settings": program.settings, "fault": None}  # fmt: skip
    try:
        bare = run(place, program, tuned=False)
    except Hang as hang:
        # HDF5's or MPI's own matter; nothing can be compared.
        record["skipped"] = f"hangs: {str(hang)[-300:]}"
        return record
    try:
        if program.known:
            learn(place, program)
        more: dict[str, Any] = {"IOTUNE_EXPLORE": None} if program.known == "explore" else {}
        if is_order_recorded(seed):
            more["IOTUNE_ORDER"] = 1
        tuned = run(place, program, tuned=True, IOTUNE_RECORD=program.record, **more)
    except Hang as hang:
        record["fault"] = f"hang: {str(hang)[-300:]}"
        return record
    record["fault"] = fault_of(program, bare, tuned)
    if record["fault"] and place.another_mpi is not None and bare_runs_differ(place, program, bare):
        record["skipped"], record["fault"] = "bare runs differ from each other", None
        return record
    record["status"] = bare.status
    record["outcomes"] = outcomes(place)
    record["sources"] = sources(place)
    record["seconds"] = round(time.monotonic() - began, 2)
    return record


def place_at(build: Path, mpirun: str, scratch: Path, buffers: Path) -> TorturePlace:
    place = TorturePlace(build, mpirun, scratch, buffers)
    (place.scratch / "home").mkdir()
    return place


def reported(records: list[dict[str, Any]]) -> str:
    """The counts, a line a setting."""
    skipped = {record["seed"]: record["skipped"] for record in records if "skipped" in record}
    records = [record for record in records if "skipped" not in record]
    drawn: Counter[str] = Counter()
    by_verdict: Counter[tuple[str, str]] = Counter()
    for record in records:
        drawn.update(list(record["settings"]))
        for name, verdicts in record.get("outcomes", {}).items():
            by_verdict.update((name, verdict) for verdict in verdicts)
    lines = [f"{len(records)} programs, {sum(r['fault'] is not None for r in records)} faults"]
    if skipped:
        lines.append(f"  not counted, for what they do without iotune: {skipped}")
    for kind in ("launch", "end", "ranks", "storage", "known", "record", "order"):
        counts = Counter(str(record[kind]) for record in records)
        lines.append(f"  {kind}: " + ", ".join(f"{n} {c}" for n, c in sorted(counts.items())))
    by_source = Counter(source for record in records for source in record.get("sources", []))
    lines.append("  decided by: " + ", ".join(f"{n} {c}" for n, c in sorted(by_source.items())))
    for name in SETTINGS:
        verdicts = ", ".join(f"{v} {by_verdict[name, v]}" for v in VERDICTS if by_verdict[name, v])
        lines.append(f"  {name:25} {drawn[name]:4} programs: {verdicts}")
    return "\n".join(lines)


def build_of(place: TorturePlace) -> dict[str, str]:
    """What a record is worth nothing without: another build of these was never tortured."""
    files = [place.library, place.library.with_name("libiotune-db.so"),
             place.program, place.other]  # fmt: skip
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


def some(place: TorturePlace, first: int, programs: int) -> list[dict[str, Any]]:
    records = [torture(place, first + i) for i in range(programs)]
    print(reported(records))
    faults = [(r["seed"], r["fault"]) for r in records if r["fault"] is not None]
    assert not faults, faults
    return records


def thirty(place: TorturePlace, first: int) -> None:
    records = some(place, first, 30)
    skipped = {r["seed"]: r["skipped"] for r in records if "skipped" in r}
    assert len(skipped) <= MOST_SKIPPED, f"seeds that do not count: {skipped}"
    found = {source for record in records for source in record.get("sources", [])}
    assert found >= OF_THIRTY, f"no decision came from {OF_THIRTY - found}"
    applied = sum(any("applied" in v for v in r.get("outcomes", {}).values()) for r in records)
    print(f"{applied} programs with an applied setting")
    assert applied >= LEAST_APPLIED, f"{applied} programs alone had a setting applied"


def soak(place: TorturePlace, file: Path, most: int, until: float) -> None:
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
    print(reported(records))
    faults = [r["seed"] for r in records if r["fault"] is not None]
    assert not faults, f"seeds {faults}; one alone: --seed N"
    whole = [record for record in records if "skipped" not in record]
    if len(whole) < most:
        print(f"NOT VERIFIED: the other {most - len(whole)} programs; start again to go on")
        return
    found = {source for record in whole for source in record.get("sources", [])}
    assert found >= SOURCES or most < PROGRAMS, f"no decision came from {SOURCES - found}"
    reached = {name for record in whole for name in record.get("outcomes", {})}
    assert reached >= set(SETTINGS), f"no program reported {set(SETTINGS) - reached}"
    drawn = Counter(name for record in whole for name in record["settings"])
    few = {name: drawn[name] for name in SETTINGS if drawn[name] < LEAST_PROGRAMS_A_SETTING}
    assert not few or most < PROGRAMS, few


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("--seed", type=int, help="this program alone, and what it saw")
    parser.add_argument(
        "--first", type=int, default=100000, help="eight, thirty: seed of the first"
    )
    parser.add_argument("--json", type=Path, help="soak: default build/soak/torture.json")
    parser.add_argument("--programs", type=int, help="soak: how many; default 1000 or 300")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument(
        "case", choices=["eight", "thirty", "soak", "thirty-openmpi", "soak-openmpi"]
    )
    options = parser.parse_args()
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="iotune torture ") as scratch,
        tempfile.TemporaryDirectory(prefix="iotune-torture-", dir="/dev/shm") as buffers,
        tempfile.TemporaryDirectory(prefix="iotune-build-") as links,
    ):
        build = preloadable(options.build, Path(links))
        place = place_at(build, options.mpirun, Path(scratch), Path(buffers))
        case, _, other = options.case.partition("-")
        if other:
            mpi = find_mpi("openmpi-4")
            if mpi is None:
                return
            compile_programs(place, mpi)
        # Without them each program would end as it does without iotune: not at all.
        for program in (place.program, place.other):
            assert program.exists(), f"{program} is not built"
        if options.seed is not None:
            print(draw_program(options.seed).script, draw_program(options.seed).config)
            print(json.dumps(torture(place, options.seed), indent=1))
        elif case == "eight":
            some(place, options.first, 8)
        elif case == "thirty":
            thirty(place, options.first)
        else:
            name = f"torture-{other}.json" if other else "torture.json"
            file = options.json or options.build.parent / "soak" / name
            most = options.programs or (OPEN_MPI_PROGRAMS if other else PROGRAMS)
            soak(place, file, most, time.time() + 60 * options.minutes)


if __name__ == "__main__":
    os.environ.pop("IOTUNE_CONFIG", None)
    main()
