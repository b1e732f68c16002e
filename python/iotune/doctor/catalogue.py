"""Every check of `iotune doctor`: its id, where it stands, and what its verdicts mean.

docs/howto/when-nothing-happens.md is written from this list (page.py).
"""

from __future__ import annotations

from dataclasses import dataclass

INSTALL, MPIS, PROGRAM, DIRECTORY = GROUPS = ("install", "mpi", "program", "directory")


@dataclass(frozen=True)
class Kind:
    """One check, in words for the page."""

    id: str
    group: str  # of GROUPS
    looks: str  # what is looked at
    means: str  # what follows from the verdicts, and what to do


KINDS = (
    Kind(
        "library", INSTALL,
        "libiotune.so: whether it is installed, and whether a program of this node loads it.",
        "*does not work*: nothing can be recorded or tuned. The evidence has the words of the "
        "dynamic linker. A library that was built on a newer system asks for a newer glibc: "
        "install iotune on this one.",
    ),
    Kind(
        "database-library", INSTALL,
        "libiotune-db.so, which the rank that asks the database loads.",
        "*does not work*: runs are recorded and not tuned.",
    ),
    Kind(
        "versions", INSTALL,
        "Whether the Python package, its native part and the command on PATH are of one install.",
        "Traces and databases name the version of their format, so that parts of two installs may "
        "not understand each other. Remove one of them, or unset IOTUNE_LIB.",
    ),
    Kind(
        "recording", INSTALL,
        "A small program is run under the preload, and its trace is read back.",
        "*works* means that library, buffers and reader fit together on this node. Where the site "
        "or a limit forbids recording, the evidence says which.",
    ),
    Kind(
        "database", INSTALL,
        "The pattern database that runs of this user ask, and its folder.",
        "One that is not there yet is made by the first run. One that cannot be read is never "
        "changed: put it aside, and iotune begins a new one.",
    ),
    Kind(
        "site-limits", INSTALL,
        "/etc/iotune.conf and the file that IOTUNE_SITE_CONFIG names (docs/environment.md).",
        "A file that is not understood, or that others may write, switches everything off. "
        "*works partly*: the site allows less than tuning for all jobs. Or this user cannot have a "
        "folder that it names for traces, or for its log of what was applied.",
    ),
    Kind(
        "variables", INSTALL,
        "All variables of the environment that begin with IOTUNE_: their names and values.",
        "A name that nothing reads is mostly a slip of the pen. A value that is not understood "
        "counts as not set, but for IOTUNE_MODE, where it counts as `off`.",
    ),
    Kind(
        "traces", INSTALL,
        "The folder of traces: whether it can be written, and its free space.",
        "*works partly*: traces go below /tmp, or become incomplete. `iotune run -o FILE` or "
        "XDG_STATE_HOME names another place.",
    ),
    Kind(
        "buffers", INSTALL,
        "The node-local folder in which processes keep their buffers, its file system, and whether "
        "files in it can be mapped.",
        "*does not work*: nothing is recorded. IOTUNE_BUFFER_DIR names another folder on tmpfs, "
        "ext4 or xfs of this node.",
    ),
    Kind(
        "preloads", INSTALL,
        "What LD_PRELOAD and /etc/ld.so.preload hold besides iotune. Darshan, Recorder, dftracer, "
        "XALT, heaptrack, jemalloc, tcmalloc, mimalloc and the sanitizers are known by name.",
        "Allocators and profilers of memory are no obstacle. Two tools that watch I/O see the same "
        "calls and measure each other: for times leave one of them out. docs/howto/other-tools.md "
        "says what was tried, and how.",
    ),
    Kind(
        "process-limits", INSTALL,
        "Limits of this shell (ulimit), and a seccomp filter that is there already.",
        "A filter from the start, as containers have it, changes nothing. Small limits on memory, "
        "files or descriptors let iotune record less, or nothing (docs/safety.md).",
    ),
    Kind(
        "storage-variables", INSTALL,
        "HDF5_VOL_CONNECTOR, HDF5_DRIVER and HDF5_PLUGIN_PATH.",
        "HDF5 files that go through another connector than HDF5's own, or another driver than sec2 "
        "and mpio, are recorded and left alone: none of their settings is tuned.",
    ),
    Kind(
        "user-hints", INSTALL,
        "ROMIO_HINTS, MPICH_MPIIO_HINTS, /etc/romio-hints, and Open MPI's parameters for OMPIO.",
        "What these set wins over iotune's answers. Unset them to have iotune choose.",
    ),
    Kind(
        "mpi", MPIS,
        "Launchers on PATH and in IOTUNE_MPIRUN, and of which MPI each of them is.",
        "Programs want the launcher of their own MPI. *unknown*: it says no version that iotune "
        "knows; programs may be run all the same.",
    ),
    Kind(
        "replayer", MPIS,
        "What `iotune train`, `replay` and `prove` need: programs that are prebuilt for that MPI, "
        "or its compiler, a parallel HDF5, and programs that were compiled before.",
        "Recording and tuning need none of it. docs/environment.md has IOTUNE_MPICC and "
        "IOTUNE_HDF5_PKG, which name others. Where nodes have no compiler, `iotune replayer build` "
        "makes the programs elsewhere.",
    ),
    Kind(
        "program", PROGRAM,
        "Whether there is such a program, and whether it may be executed here.",
        "*does not work*: it would not start without iotune either.",
    ),
    Kind(
        "script", PROGRAM,
        "A script's interpreter, and for Python what it imports: h5py, netCDF4, mpi4py and others.",
        "The checks that follow are of the interpreter and of the libraries behind these modules. "
        "A shell script is no obstacle, for what it starts inherits the preload; name its programs "
        "to have them looked at.",
    ),
    Kind(
        "linkage", PROGRAM,
        "How the program is linked: static or dynamic, 32 or 64 bits, glibc or musl, Go.",
        "Nothing can be preloaded into a static program. Link it without `-static`. Go calls the "
        "kernel past every library.",
    ),
    Kind(
        "setuid", PROGRAM,
        "Set-user-id and set-group-id bits, and capabilities of the file.",
        "The dynamic linker ignores LD_PRELOAD in such programs. A copy of the file that you own "
        "has neither bits nor capabilities.",
    ),
    Kind(
        "sanitizer", PROGRAM,
        "Sanitizers that the program is built with.",
        "AddressSanitizer has to be the first preload, so `iotune run` leaves iotune out of such a "
        "program. With libasan.so in LD_PRELOAD it stays the first, and the program is recorded. "
        "Or run a build without it.",
    ),
    Kind(
        "libraries", PROGRAM,
        "The dynamic linker's own list of what the program loads, with libiotune.so in front. "
        "The program is not run for it.",
        "*does not work*: a library is missing, or asks for another glibc. Load the modules that "
        "the job script loads, and ask again.",
    ),
    Kind(
        "hdf5", PROGRAM,
        "The HDF5 libraries that the program loads, their versions, and whether they are parallel.",
        "A libhdf5 inside the program cannot be seen: only MPI-IO and POSIX below it are. An MPI "
        "program whose HDF5 is not parallel opens each file by one rank at a time.",
    ),
    Kind(
        "mpi-library", PROGRAM,
        "The MPI that the program loads, by what the library says of itself.",
        "iotune knows MPICH and what is built on it (Cray, Intel, MVAPICH), Open MPI, and MPI 5's "
        "standard ABI. An MPI that it does not know is left alone.",
    ),
    Kind(
        "mpi-io", PROGRAM,
        "Which MPI-IO that MPI has, and whether it takes hints.",
        "OMPIO reads three hints. Open MPI 5 hands its ROMIO none. Settings of HDF5 and of the "
        "file system hold all the same.",
    ),
    Kind(
        "launcher", PROGRAM,
        "Whether the launcher of the command line is of the program's MPI.",
        "*does not work*: under another MPI's launcher each process is a run of one rank. *works "
        "partly*: the launcher does not say how many ranks a node has. Then each rank, and not one "
        "a node, publishes in the home that it is loaded.",
    ),
    Kind(
        "loading", PROGRAM,
        "dlmopen, dlopen, RTLD_DEEPBIND and ctypes: libraries that come while the program runs.",
        "Libraries that come by dlopen are seen. Those of RTLD_DEEPBIND or dlmopen find libc "
        "before iotune, and functions that ctypes calls are asked of their library alone.",
    ),
    Kind(
        "system-calls", PROGRAM,
        "io_uring and libaio.",
        "Their transfers go past libc and are not seen. Opens and closes are, where libc makes "
        "them.",
    ),
    Kind(
        "giving-up-rights", PROGRAM,
        "libseccomp, chroot, unshare and setns in the program's own imports.",
        "From such a call on iotune makes no system call: it records in memory that it has, and "
        "sets nothing (docs/safety.md). Whether the program makes the call shows only when it "
        "runs.",
    ),
    Kind(
        "directory", DIRECTORY,
        "Whether files can be made in the directory: in a scratch folder, which is removed.",
        "*does not work*: it is read-only, or belongs to others.",
    ),
    Kind(
        "file-system", DIRECTORY,
        "The type of the directory's file system, as answers and proofs name it, and its mount.",
        "Answers hold for one type of file system. *unknown*: it stands in no table of iotune's; "
        "answers of different unknown ones cannot be distinguished.",
    ),
    Kind(
        "layout", DIRECTORY,
        "Whether iotune can give new files a layout: stripes on Lustre, objects on CephFS.",
        "*works partly*: there are no stripes to set, and all other settings hold.",
    ),
    Kind(
        "locks", DIRECTORY,
        "fcntl locks, and whether they hold between nodes.",
        "MPI-IO reads, changes and writes blocks back under locks. Where they do not hold between "
        "nodes, iotune refuses settings that need them; so it does on NFS.",
    ),
    Kind(
        "room", DIRECTORY,
        "Free space and inodes, the quota where a program tells it, and `ulimit -f`.",
        "`iotune prove` and `train` want some room for scratch files: 64 MiB at least.",
    ),
    Kind(
        "proven", DIRECTORY,
        "How many settings are known to keep every byte right with this MPI, HDF5 and file system.",
        "What is unknown is refused in production runs. `iotune prove --on DIR` compares bytes "
        "under each of these settings, and what passes is allowed here from then on.",
    ),
)  # fmt: skip
KIND_OF = {one.id: one for one in KINDS}
