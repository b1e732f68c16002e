"""Checks of what a run inherits: the site's word, other preloads, limits, hints, storage."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Mapping
from pathlib import Path

from iotune import core
from iotune.doctor.check import FAILS, PARTLY, UNKNOWN, WORKS, Check

_SITE = "/etc/iotune.conf"
_LD_PRELOAD = "/etc/ld.so.preload"
_ROMIO_HINTS = "/etc/romio-hints"
_ALONE, _BESIDE, _FIRST = "leaves I/O alone", "watches I/O too", "wants to be the first"
# What iotune's own tests run beside (tests/preload/undisturbed).
_TRIED, _STAND_IN, _UNTRIED = ", tried", ", tried by a stand-in", ", not tried"
# Begin of the file's name: what it is, what follows, and how that is known.
_TOOLS = {
    "libdarshan": ("Darshan", _BESIDE, _STAND_IN),
    "librecorder": ("Recorder", _BESIDE, _UNTRIED),
    "libdftracer": ("dftracer", _BESIDE, _TRIED),
    "libdlio_profiler": ("dftracer", _BESIDE, _UNTRIED),
    "libscorep": ("Score-P", _BESIDE, _UNTRIED),
    "libextrae": ("Extrae", _BESIDE, _UNTRIED),
    "libmpiptrace": ("Extrae", _BESIDE, _UNTRIED),
    "libxalt": ("XALT", _ALONE, _STAND_IN),
    "libheaptrack": ("heaptrack", _ALONE, _TRIED),
    "libjemalloc": ("jemalloc", _ALONE, _TRIED),
    "libtcmalloc": ("tcmalloc", _ALONE, _TRIED),
    "libmimalloc": ("mimalloc", _ALONE, _UNTRIED),
    "libtbbmalloc": ("TBB's malloc", _ALONE, _UNTRIED),
    "libiotune-yield": ("iotune's own for busy ranks", _ALONE, ""),
    "libiotune": ("iotune itself", _ALONE, ""),
    "libasan": ("AddressSanitizer", _FIRST, _TRIED),
}
_LEAST_DESCRIPTORS = 64
_LEAST_FILE_BYTES = 64 << 20
_OPEN_MPI_OWN = re.compile(
    r"^OMPI_MCA_(io_ompio_(num_aggregators|bytes_per_agg)|fcoll$|fs_lustre_|io$)"
)


def surroundings_checks() -> list[Check]:
    """All checks of this file but those of variables of iotune's own."""
    return [_site(), *_preloads(), _limits(), _storage(os.environ), _hints(os.environ)]


def _site() -> Check:
    limits = core.site_limits()
    own = os.environ.get("IOTUNE_SITE_CONFIG", "")
    files = " and ".join(one for one in (_SITE, own) if one and os.path.exists(one))
    if limits["faults"]:
        return Check("site-limits", FAILS, "; ".join(limits["faults"]),
                     "ask its author" if _SITE in limits["faults"][0]
                     else "mend it, or unset IOTUNE_SITE_CONFIG")  # fmt: skip
    if limits["mode"] == "off":
        return Check("site-limits", FAILS, f"{files}: mode = off", "ask the site's support")
    less = [] if limits["mode"] == "tune" else [f"at most {limits['mode']}"]
    less += ["frozen: nothing is learnt"] if limits["frozen"] else []
    less += [f"{limits['share']} % of the jobs are tuned"] if limits["share"] < 100 else []
    folders = {"traces": core.site_traces_folder("traces"), "the log of what was applied":
               core.site_applied_folder()}  # fmt: skip
    places = [f"database {limits['database']}"] if limits["database"] else []
    for what, found in folders.items():
        if found is None:
            continue
        folder, why, for_group = found
        places.append(f"{what} in {folder}{', which the group reads' if for_group else ''}")
        if why:
            instead = "they go to the home" if what == "traces" else "runs are not in it"
            less.append(f"{folder} for {what} {why}: {instead}")
    if limits["exclude_programs"]:
        places.append(f"programs left out: {limits['exclude_programs']}")
    if limits["gathers_stored"]:
        places.append("small writes wait where a stored answer says so")
    if limits["keep_above_mib"]:
        places.append(f"traces above {limits['keep_above_mib']} MiB")
    besides = "".join(f", {one}" for one in places)
    if less:
        return Check("site-limits", PARTLY, f"{files}: {', '.join(less)}{besides}",
                     "ask the site's support where that is in your way")  # fmt: skip
    said = f"{files} allows everything{besides}" if files else f"there is no {_SITE}"
    return Check("site-limits", WORKS, said)


def _preloads() -> list[Check]:
    given = os.environ.get("LD_PRELOAD", "").replace(" ", ":").split(":")
    try:
        of_system = Path(_LD_PRELOAD).read_text(errors="replace").split()
    except OSError:
        of_system = []
    paths = list(dict.fromkeys(one for one in [*given, *of_system] if one))
    if not paths:
        return [Check("preloads", WORKS, "no other library is preloaded")]
    return [_preload(path, path == paths[0] and path in given) for path in paths]


def _preload(path: str, comes_first: bool) -> Check:
    if "/" in path and "$" not in path and not os.path.exists(path):
        return Check("preloads", PARTLY, "there is no such file: each process says so on stderr",
                     "take it out of LD_PRELOAD", path)  # fmt: skip
    name = os.path.basename(path)
    tool, does, tried = next(
        (of for begin, of in _TOOLS.items() if name.startswith(begin)), ("", "", "")
    )
    if does == _ALONE:
        return Check("preloads", WORKS, f"{tool}: no obstacle{tried}", "", path)
    if does == _BESIDE:
        return Check("preloads", PARTLY, f"{tool}: it watches the same calls, and each measures "
                     f"the other{tried}", "leave one of them out where times count",
                     path)  # fmt: skip
    if does == _FIRST and comes_first:
        return Check("preloads", PARTLY, f"{tool}: the first preload, where `iotune run` leaves "
                     f"it{tried}; times are its own", "measure without it", path)  # fmt: skip
    if does == _FIRST:
        return Check("preloads", FAILS, f"{tool}: it has to be the first preload, and ends the "
                     "program behind another one", "put it first in LD_PRELOAD",
                     path)  # fmt: skip
    return Check("preloads", UNKNOWN, "no tool that iotune knows by name",
                 "run a small case with both, and with each alone", path)  # fmt: skip


def _limits() -> Check:
    small = []
    bytes_of_file = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if 0 <= bytes_of_file < _LEAST_FILE_BYTES:
        small.append(f"files of {bytes_of_file >> 20} MiB at most (ulimit -f)")
    if resource.getrlimit(resource.RLIMIT_AS)[0] >= 0:
        small.append("limited address space (ulimit -v)")
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= descriptors <= _LEAST_DESCRIPTORS:
        small.append(f"{descriptors} descriptors (ulimit -n)")
    if small:
        return Check("process-limits", PARTLY, ", ".join(small),
                     "raise them: what does not fit is counted and not recorded")  # fmt: skip
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    memory = "no limit on locked memory" if locked < 0 else f"locked memory {locked >> 10} KiB"
    filtered = ", a seccomp filter from the start (a container's)" if _is_filtered() else ""
    return Check("process-limits", WORKS, f"files and memory are not limited, {memory}{filtered}")


def _is_filtered() -> bool:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    return re.search(r"^Seccomp:\s*2$", status, re.MULTILINE) is not None


def _storage(environment: Mapping[str, str]) -> Check:
    connector = environment.get("HDF5_VOL_CONNECTOR", "").split()
    driver = environment.get("HDF5_DRIVER", "")
    plugins = environment.get("HDF5_PLUGIN_PATH", "")
    other = []
    if connector and connector[0] != "native":
        other.append(f"HDF5_VOL_CONNECTOR={connector[0]}")
    if driver and driver not in ("sec2", "mpio"):
        other.append(f"HDF5_DRIVER={driver}")
    if other:
        return Check("storage-variables", PARTLY, f"{' and '.join(other)}: such files are recorded "
                     "and left alone", "unset them where HDF5's own will do")  # fmt: skip
    said = f"plug-ins of {plugins}" if plugins else "no plug-ins"
    return Check("storage-variables", WORKS, f"HDF5's own connector and driver, {said}")


def _hints(environment: Mapping[str, str]) -> Check:
    file = environment.get("ROMIO_HINTS", "") or _ROMIO_HINTS
    found = []
    try:
        lines = Path(file).read_text(errors="replace").splitlines()
        names = [line.split()[0] for line in lines if line.strip() and line.strip()[0] != "#"]
        found += [f"{', '.join(names)} by {file}"] if names else []
    except OSError as problem:
        if environment.get("ROMIO_HINTS"):
            return Check("user-hints", PARTLY, f"ROMIO_HINTS={file}: {problem.strerror}",
                         "mend it, or unset ROMIO_HINTS")  # fmt: skip
    if environment.get("MPICH_MPIIO_HINTS"):
        found.append("MPICH_MPIIO_HINTS")
    found += sorted(name for name in environment if _OPEN_MPI_OWN.match(name))
    if found:
        return Check("user-hints", PARTLY, f"{'; '.join(found)}: they win over iotune's answers",
                     "unset them to have iotune choose")  # fmt: skip
    return Check("user-hints", WORKS, "hints of MPI-IO are set nowhere else")
