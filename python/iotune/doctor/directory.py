"""Checks of a directory and its file system. Only a scratch folder in it is touched."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from iotune import core
from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS, Check
from iotune.errors import Error
from iotune.proving.prover import Site, can_be_unknown, settings_to_try
from iotune.reports.tables import path_text, size_text

_LEAST_BYTES = 64 << 20  # what `iotune prove` asks for
_LEAST_INODES = 64
_SECONDS = 20
# As a run sets it (tuner/posix/file_layout.cpp); CephFS's own default.
_CEPH_LAYOUT = ("ceph.file.layout", b"stripe_unit=4194304 stripe_count=1 object_size=4194304")
_SHOWN = 4
# Options with a value that are shown.
_REPORTED = frozenset(
    "vers nfsvers proto sec rsize wsize local_lock lookupcache actimeo size".split()
)


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mountinfo."""

    point: str
    type: str
    options: str

    @property
    def plain_options(self) -> str:
        """Those that say how it behaves; addresses, folders and names are left out."""
        kept = (one for one in self.options.split(",") if one.partition("=")[0] in _REPORTED
                or "=" not in one)  # fmt: skip
        return ",".join(kept)


def mount_of(directory: Path) -> Mount | None:
    """The mount that a directory lies on, by its device; the last one where several are stacked."""
    try:
        device = os.stat(directory).st_dev
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return None
    wanted, real = f"{os.major(device)}:{os.minor(device)}", os.path.realpath(directory)
    best: Mount | None = None
    for line in lines:
        words = line.split()
        if "-" not in words or words[2] != wanted:
            continue
        dash = words.index("-")
        point = _unescaped(words[4])
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and (best is None or len(point) >= len(best.point)):
            options = ",".join(dict.fromkeys([*words[5].split(","), *words[dash + 3].split(",")]))
            best = Mount(point, words[dash + 1], options)
    return best


def _unescaped(text: str) -> str:
    for code, char in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, char)
    return text


def directory_checks(directory: Path) -> list[Check]:
    """All checks of this file but `proven`, which wants libraries too."""
    name = str(directory)
    found = [_file_system(directory)]
    try:
        with tempfile.TemporaryDirectory(prefix=".iotune-doctor-", dir=directory) as scratch:
            file = Path(scratch) / "file"
            file.write_bytes(bytes(4096))
            found.insert(0, Check("directory", WORKS, "files can be made and removed", "", name))
            found += [_layout(directory, file), _locks(directory, file)]
    except OSError as problem:
        found.insert(0, Check("directory", FAILS, f"{problem.strerror}",
                              "name a directory that you may write, by --on", name))  # fmt: skip
    return [*found, _room(directory)]


def _file_system(directory: Path) -> Check:
    kind, mount = core.filesystem_of(directory), mount_of(directory)
    said = (
        f"{mount.type} mounted at {mount.point} ({mount.plain_options})"
        if mount
        else "no mount found"
    )
    if kind == "unknown":
        return Check(
            "file-system",
            UNKNOWN,
            f"it stands in no table of iotune's: {said}",
            "tell its statfs type (`stat -f`) to iotune's authors",
            str(directory),
        )
    return Check("file-system", WORKS, f"{kind}: {said}", "", str(directory))


def _layout(directory: Path, file: Path) -> Check:
    kind, name = core.filesystem_of(directory), str(directory)
    if kind == "lustre":
        return Check("layout", WORKS, "Lustre: new files get their stripes at their open", "", name)
    if kind == "cephfs":
        try:
            # On the descriptor of an empty file, as a run sets it.
            with file.with_name("empty").open("wb") as empty:
                os.setxattr(empty.fileno(), *_CEPH_LAYOUT)
        except OSError as problem:
            return Check("layout", PARTLY, f"CephFS refuses a layout: {problem.strerror}",
                         "ask for a client key with the right `p`", name)  # fmt: skip
        return Check("layout", WORKS, "CephFS: new files get a layout of their own", "", name)
    return Check("layout", PARTLY, f"{kind} has no layout to set: striping settings do nothing",
                 "keep large shared files on Lustre or CephFS, if there is one", name)  # fmt: skip


def _locks(directory: Path, file: Path) -> Check:
    kind, name = core.filesystem_of(directory), str(directory)
    try:
        with file.open("r+b") as opened:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(opened, fcntl.LOCK_UN)
    except OSError as problem:
        code = errno.errorcode.get(problem.errno or 0, "")
        return Check("locks", FAILS, f"fcntl locks fail: {problem.strerror} ({code}); MPI-IO and "
                     "HDF5 need them", "mount it with locks (Lustre: flock; NFS: lockd), or set "
                     "HDF5_USE_FILE_LOCKING=FALSE for HDF5", name)  # fmt: skip
    if core.locks_hold_between_nodes(directory, kind):
        return Check("locks", WORKS, f"fcntl locks hold, as {kind} is known", "", name)
    return Check("locks", PARTLY, f"fcntl locks are given; between nodes {kind} is not known to "
                 "keep them", "rely on one node: on several, settings that need them are refused",
                 name)  # fmt: skip


def _room(directory: Path) -> Check:
    name = str(directory)
    try:
        space = os.statvfs(directory)
    except OSError as problem:
        return Check("room", UNKNOWN, f"{problem.strerror}", "look by df", name)
    free = space.f_bavail * space.f_frsize
    said = f"{size_text(free)} free, {_quota(directory)}"
    if free < _LEAST_BYTES:
        return Check(
            "room",
            FAILS if free == 0 else PARTLY,
            said,
            f"make room: prove and train want {size_text(_LEAST_BYTES)}",
            name,
        )
    if 0 < space.f_files and space.f_favail < _LEAST_INODES:
        return Check("room", PARTLY, f"{said}, {space.f_favail} inodes free", "remove some files",
                     name)  # fmt: skip
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if 0 <= limit < _LEAST_BYTES:
        return Check("room", PARTLY, f"{said}, but files of {size_text(limit)} at most",
                     "raise ulimit -f", name)  # fmt: skip
    return Check("room", WORKS, said, "", name)


def _quota(directory: Path) -> str:
    """What the programs of quotas say; their own words differ, so only whether one is exceeded."""
    uid = str(os.getuid())
    lustre = core.filesystem_of(directory) == "lustre"
    words = ["lfs", "quota", "-q", "-u", uid, str(directory)] if lustre else ["quota", "-q"]
    program = shutil.which(words[0])
    if program is None:
        return f"quota not asked (no {words[0]})"
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [program, *words[1:]], capture_output=True, text=True, errors="replace",
            timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        over = "*" in done.stdout if lustre else bool(done.stdout.strip())
        return "a quota is exceeded" if over else "no quota is exceeded"
    return "quota not known"


def proven_check(site: Site, directory: Path, hdf5_library: str = "") -> Check:
    """What is known of each setting at a site, and what `iotune prove` would add.

    `hdf5_library`: that of a program without MPI.
    """
    with suppress(Error):
        database = str(core.default_database())
        question = {**site.question(directory), "database": database, "config": ""}
        known: dict[str, list[str]] = {}
        for one in settings_to_try():
            answer = core.gate_answer(question, one.parameter, one.value)["known"]
            if answer != "unknown" or can_be_unknown(site, one):
                known.setdefault(answer, []).append(one.parameter)
        prove = f"iotune prove --on {path_text(directory)}"
        if hdf5_library:
            prove += f" --hdf5 {path_text(hdf5_library)}"
        return _reported(site, directory, known, prove)
    return Check("proven", UNKNOWN, "the database cannot be asked", "see database", str(directory))


def _reported(site: Site, directory: Path, known: dict[str, list[str]], prove: str) -> Check:
    where = " and ".join(filter(None, (site.mpi, f"HDF5 {site.hdf5}" if site.hdf5 else "")))
    may = sum(len(names) for word, names in known.items() if word not in ("unknown", "known bad"))
    bad = len(known.get("known bad", []))
    open_ones = list(dict.fromkeys(known.get("unknown", [])))
    said = (f"{where} on {site.filesystem}: {may} classes of values may be set"
            + (f", {bad} are known bad" if bad else ""))  # fmt: skip
    if not open_ones:
        return Check("proven", WORKS, f"{said}, none is unknown", "", str(directory))
    more = f" and {len(open_ones) - _SHOWN} more" if len(open_ones) > _SHOWN else ""
    return Check("proven", PARTLY, f"{said}, {len(known['unknown'])} unknown",
                 f"{prove} compares {', '.join(open_ones[:_SHOWN])}{more}",
                 str(directory))  # fmt: skip
