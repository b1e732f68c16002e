"""Running a program under the preload: its environment, its signals, its exit status."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import stat
from collections.abc import Iterable, Mapping, Sequence

from iotune.launch.elf import read_executable

_LAUNCHERS = frozenset(
    "mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich mpirun.openmpi mpiexec.openmpi "
    "orterun prterun prun srun aprun jsrun".split()
)
# The runtime of AddressSanitizer, as a library.
_HAS_TO_BE_FIRST = "libasan.so"
_WRAPPERS = frozenset("env nice ionice nohup numactl setarch stdbuf taskset time timeout".split())
_RANKS = re.compile(r"(?<!\S)-{1,2}(?:n|np|ntasks)[ =]?(\d+)(?!\S)")
# Launchers' and wrappers' options and how many words follow them; others are taken alone.
_OPTION_WORDS = {
    **dict.fromkeys(
        "-n -np -c -N -ppn -perhost -hosts -host -H -f -hostfile -machinefile -wdir -wd -x -a "
        "-genvlist -envlist -bind-to -map-by -rank-by -launcher -launcher-exec -bootstrap -iface "
        "-rmk -prepend-pattern -outfile-pattern -errfile-pattern -path -arch -u -k -s -i -o -e "
        "-t -p -w -A -J -m -C -npernode -npersocket -profile -pmi-port -usize -topolib".split(),
        1,
    ),
    **dict.fromkeys("-env -genv -mca -gmca -am -tune -pmixmca -prtemca".split(), 2),
}


def programs(command: Sequence[str]) -> list[str]:
    """Absolute paths of the programs that `command` starts, seen through launchers.

    `mpirun -n 4 ./a : -n 2 ./b` gives both. What cannot be found is left out.
    """
    found = [shutil.which(program) for program, _ in programs_and_words(command)]
    return [os.path.abspath(one) for one in found if one]


def programs_and_words(command: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The same as they are written, each with the words behind it; also what cannot be found."""
    if not command:
        return []
    name = os.path.basename(command[0])
    if name not in _LAUNCHERS and name not in _WRAPPERS:
        return [(command[0], list(command[1:]))]
    result: list[tuple[str, list[str]]] = []
    for part in _parts(command[1:]):
        result += programs_and_words(_after_options(part, name))
    return result


def launchers(command: Sequence[str]) -> list[str]:
    """The launchers of MPI programs among the words before the program, as they are written."""
    found: list[str] = []
    words = list(command)
    while words:
        name = os.path.basename(words[0])
        if name in _LAUNCHERS:
            found.append(words[0])
        elif name not in _WRAPPERS:
            break
        words = list(_after_options(words[1:], name))
    return found


def ranks_of(command: Sequence[str]) -> int | None:
    """How many ranks the launchers among the words start in all; None where they do not say."""
    name = os.path.basename(command[0]) if command else ""
    if name in _WRAPPERS:
        return ranks_of(_after_options(command[1:], name))
    if name not in _LAUNCHERS:
        return None
    found = 0
    for part in _parts(command[1:]):
        options = part[: len(part) - len(_after_options(part, name))]
        numbers = _RANKS.findall(" ".join(options))
        if not numbers:
            return None
        found += int(numbers[-1])
    return found


def _parts(words: Sequence[str]) -> list[list[str]]:
    """Of a launcher's words, what is between colons."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            found.append([])
        else:
            found[-1].append(word)
    return found


def _after_options(words: Sequence[str], launcher: str) -> Sequence[str]:
    at = 0
    while at < len(words):
        word = words[at]
        if word.startswith("-"):
            key = "-" + word.lstrip("-")
            at += 1 + (0 if "=" in word else _OPTION_WORDS.get(key, 0))
        elif launcher in _WRAPPERS and ("=" in word or not shutil.which(word)):
            at += 1  # env NAME=value, timeout 10, taskset 0x3
        else:
            return words[at:]
    return []


def how_to_start(program: str) -> str:
    """What to do where the system refuses to start the file `program`; empty where unknown."""
    if not os.path.isfile(program) or os.access(program, os.X_OK):
        return ""
    if program.endswith(".py"):
        return f"name its interpreter (python3 {program}), or chmod +x {program}"
    return f"chmod +x {program}"


def why_secure(program: str) -> str:
    """Why the dynamic linker ignores the preload for `program`, in plain words; else empty."""
    try:
        found = os.stat(program)
    except OSError:
        return ""
    if (found.st_mode & stat.S_ISUID and found.st_uid != os.geteuid()) or (
        found.st_mode & stat.S_ISGID and found.st_gid != os.getegid()
    ):
        return "is setuid or setgid: the dynamic linker ignores the preload"
    try:
        has_capabilities = bool(os.getxattr(program, "security.capability"))
    except OSError:
        return ""
    if has_capabilities and os.geteuid() != 0:
        return "has capabilities of its own (getcap): the dynamic linker ignores the preload"
    return ""


def why_blind(program: str) -> str:
    """In what respect the preload cannot see `program`, in plain words; empty where it can."""
    elf = read_executable(program)
    if elf is None:
        return ""
    if not elf.interpreter:
        return "is statically linked: nothing of it can be seen or tuned"
    if elf.is_go:
        return (
            "is a Go program: Go makes its system calls itself, past every library, so that its "
            "I/O cannot be seen or tuned"
        )
    secure = why_secure(program)
    if secure:
        return secure
    if elf.holds_hdf5:
        return (
            "holds a static libhdf5: its HDF5 calls cannot be seen, only MPI-IO and POSIX; "
            "link the shared one (Debian: pkg-config hdf5-mpich or hdf5-openmpi, not h5pcc)"
        )
    return ""


def why_refused(program: str) -> str:
    """Why `program` would not even start with the preload; empty where it would."""
    elf = read_executable(program)
    if elf is None:
        return ""
    if elf.bits != 64:
        return "is a 32-bit program"
    if "musl" in os.path.basename(elf.interpreter):
        return "was built for musl and not for glibc"
    asan = [name for name in elf.needed if name.startswith(_HAS_TO_BE_FIRST)]
    if asan and not any(map(_has_to_be_first, preloads_of(os.environ))):
        return f"was built with AddressSanitizer, whose {asan[0]} has to be the first preload"
    return ""


def preloads_of(environment: Mapping[str, str]) -> list[str]:
    """What LD_PRELOAD names, in order."""
    named = environment.get("LD_PRELOAD", "").replace(" ", ":").split(":")
    return [path for path in named if path]


def _has_to_be_first(path: str) -> bool:
    return os.path.basename(path).startswith(_HAS_TO_BE_FIRST)


def preload_environment(
    base: Mapping[str, str], library: str, settings: Mapping[str, str]
) -> dict[str, str]:
    """A copy of `base` with `library` put before what LD_PRELOAD already holds.

    AddressSanitizer stays in front: behind another preload it ends the program.
    """
    environment = dict(base)
    others = [path for path in preloads_of(base) if path != library]
    first = [path for path in others if _has_to_be_first(path)]
    rest = [path for path in others if not _has_to_be_first(path)]
    environment["LD_PRELOAD"] = ":".join([*first, library, *rest])
    environment.update(settings)
    return environment


def run_forwarding_signals(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run `command` in the foreground and return its exit status as a shell would.

    128 + n after signal n. Raises OSError where the program cannot be started.
    Signals that a user or a batch system sends to us are passed on; what the terminal sends
    (Ctrl-C) has reached the program already, as it is in the same process group.
    """
    passed_on = [
        number
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGHUP,
            signal.SIGQUIT,
            signal.SIGUSR1,
            signal.SIGUSR2,
        )
        if signal.getsignal(number) != signal.SIG_IGN
    ]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    awaited = {*passed_on, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    try:
        child = _spawn(command, environment, before)
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return 128 - code if (code := os.waitstatus_to_exitcode(status)) < 0 else code
            came = signal.sigwaitinfo(awaited)
            sent_by_a_process = came.si_code <= 0
            if came.si_signo != signal.SIGCHLD and sent_by_a_process:
                os.kill(child, came.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _spawn(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    # Python ignores these two; programs expect the default.
    restored = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        return os.posix_spawnp(
            command[0], list(command), environment, setsigmask=mask, setsigdef=restored
        )
    except OSError as problem:
        if problem.errno != errno.ENOEXEC:
            raise
    # A script without #!: what a shell and execvp do.
    script = shutil.which(command[0]) or command[0]
    return os.posix_spawn(
        "/bin/sh", ["sh", script, *command[1:]], environment, setsigmask=mask, setsigdef=restored
    )
