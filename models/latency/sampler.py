"""Takes samples of response times: files on chosen servers, the C program, its journal, one table.

What the program prints is journalled beside the table, so that a kill loses no sample: a program
that samples into the table next takes the journal in first.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iotune.models.latency.samples import read_samples, write_samples
from iotune.models.settings.file_layout import osd_of

from iotune import core
from iotune.errors import Error, shown
from iotune.locations import new_run_id
from iotune.output_file import demand_replaceable
from iotune.replay.mpi import Mpi
from iotune.replay.replayer import find_sampler, find_yield_shim, room_of

if TYPE_CHECKING:
    import pandas as pd

MIB = 1 << 20
# PDSW'15, section 2.2: 512 KiB to 1 GiB.
SIZES = tuple(512 * 1024 << step for step in range(12))
_FOLDER = "iotune-latency"
_LUSTRE_FIRST_TARGET = struct.Struct("=II16xIHH20xI")  # lov_user_md_v1 up to the first l_ost_idx
_LUSTRE_V1 = 0x0BD10BD0


@dataclass(frozen=True)
class SamplePlan:
    """What is to be sampled, and how much of the storage that may take."""

    directory: Path
    table: Path
    ranks: int
    sizes: Sequence[int] = SIZES
    rounds: int = 1  # 0: until `seconds` are over
    seconds: float = 0.0
    share: float = 0.1  # of the time, in transfers
    cache: str = "both"
    interface: str = "both"
    evict_mib: int = 0


def sizes_that_fit(sizes: Sequence[int], ranks: int, directory: Path) -> list[int]:
    """The sizes whose files for all ranks, smaller sizes included, take half of the free space.

    Raises Error where not even the smallest does.
    """
    room = room_of(directory)
    kept: list[int] = []
    for size in sorted(set(sizes)):
        if room is not None and (sum(kept) + size) * ranks > room // 2:
            break
        kept.append(size)
    if not kept:
        raise Error(
            f"{directory} has no room for files of {min(sizes)} bytes on {ranks} ranks: "
            "free some, or name another directory"
        )
    return kept


def take_samples(plan: SamplePlan, mpi: Mpi, progress: Callable[[int], None]) -> pd.DataFrame:
    """Sample and add to the table, which is returned whole. `progress` gets the samples so far.

    Raises Error where the program fails; what it printed until then is in the table.
    """
    demand_replaceable(plan.table)
    program = find_sampler(mpi)
    folder = plan.directory / _FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise Error(f"{folder}: {problem.strerror}; name a directory that you may write") from None
    with _alone(plan.table):
        take_in_journal(plan.table)
        failure = ""
        with contextlib.suppress(KeyboardInterrupt):
            failure = _run(plan, mpi, program, folder, progress)
        taken = take_in_journal(plan.table)
    if failure:
        raise Error(failure)
    if taken is None:
        raise Error(f"not one sample was taken in {folder}")
    return taken


def journal_of(table: Path) -> Path:
    """Where samples are until they are in the table."""
    return table.with_name(table.name + ".journal")


@contextlib.contextmanager
def _alone(table: Path) -> Iterator[None]:
    """One process at a time adds to a table; others wait, as jobs of a batch system may meet."""
    journal = journal_of(table)
    demand_replaceable(journal)
    try:
        descriptor = os.open(journal, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as problem:
        raise Error(f"{journal}: {problem.strerror}") from None
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        if os.fstat(descriptor).st_size == 0:
            with contextlib.suppress(OSError):
                os.unlink(journal)
    finally:
        os.close(descriptor)


def _run(
    plan: SamplePlan, mpi: Mpi, program: Path, folder: Path, progress: Callable[[int], None]
) -> str:
    """Run the program; why it failed, or nothing. Its lines are in the journal as they come."""
    run = new_run_id()
    servers = {
        (size, rank): _place_file(folder / f"{size}-{rank}.dat")
        for size in plan.sizes
        for rank in range(plan.ranks)
    }
    command = [
        *mpi.command(plan.ranks), str(program), str(folder), str(plan.rounds),
        f"{plan.seconds:.3f}", f"{plan.share:.6f}", plan.cache, plan.interface,
        str(plan.evict_mib), *map(str, plan.sizes),
    ]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith("IOTUNE_")}
    if plan.ranks > (os.cpu_count() or 1) and (shim := find_yield_shim()) is not None:
        environment["LD_PRELOAD"] = str(shim)
    try:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
    except OSError as problem:
        return f"{command[0]}: {problem.strerror}"
    count = 0
    with child, open(journal_of(plan.table), "a", encoding="utf-8") as journal:
        assert child.stdout is not None and child.stderr is not None
        try:
            for line in child.stdout:
                words = line.split()
                if len(words) != 9:
                    continue
                server = servers.get((int(words[2]), int(words[6])), -1)
                journal.write(" ".join([*words, str(server), run, _escaped(folder.parent)]) + "\n")
                journal.flush()
                count += 1
                progress(count)
            errors = child.stderr.read()
        except BaseException:
            child.terminate()
            raise
    if child.returncode == 0:
        return ""
    reason = next((one for one in errors.splitlines() if "iotune-latency-sample:" in one), errors)
    return f"sampling failed ({child.returncode}): {shown(reason.strip())}"


def _escaped(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace(" ", "%20").replace("\n", "%0A")


def _unescaped(text: str) -> str:
    return text.replace("%0A", "\n").replace("%20", " ").replace("%25", "%")


def take_in_journal(table: Path) -> pd.DataFrame | None:
    """Add what the journal holds to the table; the table as it is then, None where there is none.

    A line that a kill cut short is dropped.
    """
    import pandas as pd

    journal = journal_of(table)
    rows: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        for line in journal.read_text(encoding="utf-8", errors="replace").splitlines():
            words = line.split(" ")
            if len(words) == 12:
                with contextlib.suppress(ValueError):
                    rows.append(_row_of(words))
    known = read_samples(table) if table.exists() else None
    if not rows:
        return known
    fresh = pd.DataFrame(rows)
    whole = fresh if known is None else pd.concat([known, fresh], ignore_index=True)
    # A death between the table and the journal's end must not count samples twice.
    whole = whole.drop_duplicates(["run", "time_ns", "rank"]).reset_index(drop=True)
    write_samples(whole, table)
    os.truncate(journal, 0)
    return whole


def _row_of(words: Sequence[str]) -> dict[str, Any]:
    return {
        "time_ns": int(words[0]),
        "seconds": float(words[1]),
        "bytes": int(words[2]),
        "operation": words[3],
        "cache": words[4],
        "interface": words[5],
        "server": int(words[9]),
        "rank": int(words[6]),
        "round": int(words[7]),
        "host": words[8],
        "run": words[10],
        "directory": _unescaped(words[11]),
    }


def _place_file(path: Path) -> int:
    """Make the file where it is missing, on one server; that server's number, -1 if not known.

    A size must stay on its servers, so a file is made once and kept.
    """
    kind = core.filesystem_of(path.parent)
    if not path.exists():
        _make_on_one_server(path, kind)
    if kind in ("lustre", "cephfs"):
        return _lustre_server(path) if kind == "lustre" else _ceph_server(path)
    return 0 if kind in ("ext4", "xfs", "btrfs", "tmpfs", "overlay") else -1


def _make_on_one_server(path: Path, kind: str) -> None:
    if kind == "lustre":
        # Without the tool the file gets the folder's layout.
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            command = ["lfs", "setstripe", "-c", "1", str(path)]
            subprocess.run(command, capture_output=True, check=True, timeout=60)
            return
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as problem:
        raise Error(f"{path}: {problem.strerror}") from None
    if kind == "cephfs":
        # The whole file in one object.
        with contextlib.suppress(OSError):
            os.setxattr(path, "ceph.file.layout.object_size", str(1 << 30).encode())


def _ceph_server(path: Path) -> int:
    """The OSD that holds the file's first object, as the kernel's client says; -1: it does not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return osd_of(descriptor)
        finally:
            os.close(descriptor)
    return -1


def _lustre_server(path: Path) -> int:
    with contextlib.suppress(OSError):
        layout = os.getxattr(path, "lustre.lov")
        if len(layout) >= _LUSTRE_FIRST_TARGET.size:
            fields = _LUSTRE_FIRST_TARGET.unpack_from(layout)
            if fields[0] == _LUSTRE_V1:
                return int(fields[-1])
    return -1
