"""Cache delivery where something fails: hints are given, and the program sees nothing of it."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

from support.place import Place, main, not_verified
from support.prefetching import (
    CACHE,
    data_file,
    fuse_works,
    mounted,
    patiently,
    plan,
    read_planned,
    script,
    served,
)


def server_dies(place: Place) -> None:
    """Where the storage fails, the program sees it as it would, and no helper hangs."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        (pid,) = [int(process.name) for process in Path("/proc").glob("[0-9]*")
                  if {str(mount).encode(), b"--direct"} <= _command(process)]  # fmt: skip
        done = script(
            place, mount,
            f"""
import errno, signal
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
fd = os.open(sys.argv[1], os.O_RDONLY)
ends = []
for i in range(60):
    if i == 30:
        os.kill({pid}, signal.SIGKILL)
    try:
        assert os.pread(fd, 8192, i * 100_000) == good[i * 100_000:i * 100_000 + 8192]
        ends.append('read')
    except OSError as fault:
        assert fault.errno in (errno.ENOTCONN, errno.ECONNABORTED), fault
        ends.append('fault')
    time.sleep(0.003)
print(ends.index('fault'), ends.count('fault'))
""",
            **CACHE,
        )  # fmt: skip
    first, count = map(int, done.out.split())
    assert first >= 30 and count > 0 and first + count == 60, done.out


def _small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def _command(process: Path) -> set[bytes]:
    try:
        return set((process / "cmdline").read_bytes().split(b"\0"))
    except OSError:
        return set()


def memory(place: Place) -> None:
    """Little memory, or none: hints, and the right bytes."""
    if not fuse_works(place):
        return
    data_file(place, 64 << 20)
    long = [(i * (5 << 20), 4 << 20) for i in range(8)]
    with mounted(place, place.scratch / "fuse.iotrace", 2) as mount:
        assert read_planned(place, mount, long, "pread", IOTUNE_PREFETCH_MEMORY_MIB=1) == []
        done = place.right(place.run(
            place.bin / "planned_reads", mount / "data", plan(place, long), "pread", 6000, **CACHE,
            IOTUNE_PREFETCH_MEMORY_MIB=16384,
            before=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
        ))  # fmt: skip
    (line,) = done.said()
    assert "memory" in line and "hints" in line, line
    for value in ("0", "16385", "many"):
        done = place.right(place.run("/bin/true", **CACHE, IOTUNE_PREFETCH_MEMORY_MIB=value))
        (line,) = done.said()
        assert f"IOTUNE_PREFETCH_MEMORY_MIB={value}" in line, line


@patiently
def table(place: Place) -> None:
    """Without the table of writers, or when it goes, hints are given, and one line says so."""
    if not fuse_works(place):
        return
    data_file(place, 16 << 20)
    accesses = [(i * 100_000, 8192) for i in range(40)]
    file = place.buffers / "written-files-2"
    on_disk = place.scratch / "disk"
    on_disk.mkdir(mode=0o700)
    cases: list[tuple[str, dict[str, Any]]] = [("link", {}), ("mode", {}), ("limit", {})]
    if os.stat(on_disk).st_dev != os.stat(place.buffers).st_dev:
        cases.append(("disk", {"IOTUNE_BUFFER_DIR": on_disk}))
    if os.geteuid() != 0:
        cases.append(("folder", {}))
    else:
        not_verified("cache delivery: a folder that cannot be written, as root")
    with mounted(place, place.scratch / "fuse.iotrace", 2, "--direct") as mount:
        for name, env in cases:
            file.unlink(missing_ok=True)
            if name == "link":
                (place.scratch / "elsewhere").write_bytes(b"not ours")
                file.symlink_to(place.scratch / "elsewhere")
            elif name == "mode":
                file.write_bytes(b"")
                file.chmod(0o644)
            elif name == "folder":
                place.buffers.chmod(0o500)
            done = place.run(
                place.bin / "planned_reads", mount / "data", plan(place, accesses), "pread", 1000,
                **CACHE, **env, IOTUNE_TRACE=None if name == "limit" else place.trace,
                before=_small_files if name == "limit" else None,
            )  # fmt: skip
            place.buffers.chmod(0o700)
            place.right(done)
            lines = [line for line in done.said() if "DELIVERY" in line]
            assert len(lines) == 1 and "hints are given" in lines[0], (name, done.said())
            if name == "link":
                assert (place.scratch / "elsewhere").read_bytes() == b"not ours"
        file.unlink(missing_ok=True)
        done = script(
            place, mount,
            f"""
import os
good = open(os.path.dirname(sys.argv[1]) + '/../root/data', 'rb').read()
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(80):
    if i == 40:
        os.unlink({str(file)!r})
    assert os.pread(fd, 8192, i * 100_000) == good[i * 100_000:i * 100_000 + 8192]
    time.sleep(0.004)
os.close(fd)
""",
            **CACHE,
        )  # fmt: skip
    (line,) = done.said()
    assert "removed" in line and 10 <= served(place) <= 40, (line, served(place))


if __name__ == "__main__":
    main({"server-dies": server_dies, "memory": memory, "table": table})
