"""Libraries that come and go: nobody waits for the loader, nothing outlives what it is about."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from support.place import Place, main
from support.preloaded import Done


def host(place: Place, mode: str, **env: Any) -> tuple[Done, list[dict[str, Any]]]:
    """Run the host of plug-ins bare and under the preload; the latter's calls."""
    program, folder = place.bin / "plugin_host", place.build / "lib"
    bare = place.run(
        program, mode, folder, place.scratch / "bare", preload=False, seconds=20, **env
    )
    assert bare.status == 0 and b"\n0 wrong\n" in b"\n" + bare.out, bare
    file = place.scratch / "file"
    done = place.run(program, mode, folder, file, seconds=20, **env)
    assert done.same_as(bare), (done, bare)
    assert file.read_bytes() == bytes(8192)
    return done, place.calls()


def count(calls: list[dict[str, Any]], name: str) -> int:
    return sum(call["name"] == name for call in calls)


def constructor(place: Place) -> None:
    """A constructor makes its first call while another thread looks one up."""
    _, calls = host(place, "constructor", PLUGIN="calls")
    assert count(calls, "H5Fflush") == 1 and count(calls, "H5Oflush") == 1, calls


def waits(place: Place) -> None:
    """A constructor, and a destructor, wait for a thread that makes its first calls."""
    for when in ("waits", "waits-leaving"):
        _, calls = host(place, "waits", PLUGIN=when)
        assert count(calls, "H5Gflush") == 1, calls
        assert count(calls, "H5Fflush") == 2, calls
        assert count(calls, "access") == 1 and count(calls, "fputs") == 1, calls
        place.clear()


def scopes(place: Place) -> None:
    """A plug-in's call reaches the HDF5 that the loader finds for it, by scope and version."""
    _, calls = host(place, "scopes")
    assert count(calls, "H5Fflush") == 6, calls


def jumps(place: Place) -> None:
    """A plug-in's last call is a jump: its return address lies in a host without an HDF5."""
    done = place.run(place.bin / "jump_host", place.build / "lib")
    assert done.status == 0 and done.out == b"0 wrong\n" and done.err == b"", done


def forks(place: Place) -> None:
    """A child can use the loader, whatever another thread looks up while it is forked."""
    done = place.run(place.bin / "jump_host", place.build / "lib", "fork", IOTUNE_MODE="off")
    assert done.status == 0 and done.out == b"0 wrong\n" and done.err == b"", done


def unloaded(place: Place) -> None:
    """Plug-ins take their HDF5s with them; the next ones lie where they lay."""
    done, calls = host(place, "come-and-go", TELL_LEAVING="yes")
    assert count(calls, "H5Fflush") == 90 * 3, count(calls, "H5Fflush")
    assert done.out.count(b" leaves\n") == 90 + 1, done


def beside(place: Place) -> None:
    """Other threads call on meanwhile."""
    host(place, "beside", IOTUNE_MODE="record")


def runpath(place: Place) -> None:
    """What dlopen finds by its caller's RUNPATH it still finds."""
    host(place, "runpath")


def weak(place: Place) -> None:
    """A weak reference is answered as without iotune, and by whatever else is there."""
    caliper = place.build / "lib" / "libstand_in_caliper.so"
    hdf5 = place.build / "lib" / "libmock_hdf5_4.so"
    for name in ("weak_references", "weak_references_now", "weak_references_shared_page"):
        program = place.bin / name
        if name.endswith("shared_page"):
            program = with_shorter_relro(program, place.scratch / name)
        for others, caliper_there, hdf5_there in (((), "00", "00"), ((caliper,), "11", "00"),
                                                  ((hdf5,), "00", "01")):  # fmt: skip
            want = f"caliper {caliper_there} mpi 000 hdf5 {hdf5_there} libc 1 table 00\n"
            bare = place.right(place.run(program, preload=others), name)
            assert bare.out.decode() == want and bare.err == b"iotune 0\n", bare
            for order in ((place.library, *others), (*others, place.library)):
                done = place.right(place.run(program, preload=order), name)
                assert done.out == bare.out, (name, order, done)
                assert done.err == b"iotune 1\n", done
                off = place.run(program, preload=order, IOTUNE_MODE="off")
                assert off.same_as(done), (name, order, off)


def with_shorter_relro(program: Path, copy: Path) -> Path:
    """A copy whose protected part ends 8 bytes before its page does, as where pages are larger than
    the linker took them: the loader leaves the last page writable.
    """
    content = bytearray(program.read_bytes())
    (headers,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(headers, headers + size * count, size):
        if struct.unpack_from("<I", content, at)[0] == 0x6474E552:  # PT_GNU_RELRO
            (memory_bytes,) = struct.unpack_from("<Q", content, at + 40)
            struct.pack_into("<Q", content, at + 40, memory_bytes - 8)
    copy.write_bytes(content)
    copy.chmod(0o755)
    return copy


def old_hdf5(place: Place) -> None:
    """An HDF5 with ids of 32 bits is left alone; what lies below is recorded."""
    file = place.scratch / "file"
    done = place.right(place.run(place.bin / "old_hdf5", file))
    assert done.out == b"fine\n" and done.err == b"", done
    calls = place.calls()
    assert not [call for call in calls if call["name"].startswith("H5")], calls
    assert [c["arguments"]["result"] for c in calls if c["name"] == "write"] == [8192], calls


def rank(place: Place, program: str, version: str, **env: Any) -> Done:
    file = place.scratch / "file"
    place.clear()
    done = place.run(place.bin / program, file, MOCK_MPI_VERSION=version, **env)
    assert done.status == 0 and done.out == b"rank 0 fine\n" and done.err == b"", (version, done)
    writes = [call for call in place.calls() if call["name"] == "write"]
    assert [call["arguments"]["result"] for call in writes] == [8192], (version, writes)
    return done


UNKNOWN = (
    "HPE MPT 2.25  08/14/21 03:05:20",
    "FUJITSU MPI Library 4.0.1 (4.0.1fj4.0.0)",
    "IBM Spectrum MPI v10.3.1.2",
    "Open MPI v4.1.4, package: nobody's, without its objects",
    "Microsoft MPI 10.1",
    "",
)  # fmt: skip


def unknown_mpi(place: Place) -> None:
    """An MPI that is not known gets the program's own calls alone."""
    for version in UNKNOWN:
        rank(place, "mock_mpi_rank", version, MOCK_MPI_FOREIGN="no", MOCK_MPI_WORLD="1")
        assert not [c for c in place.calls() if c["name"].startswith("MPI_")], version
    # Made of Open MPI, and yet another one.
    for version in (UNKNOWN[1], UNKNOWN[2], "MPICH Version:\t4.0.2\n"):
        rank(place, "mock_open_mpi_rank", version, MOCK_MPI_FOREIGN="no", MOCK_MPI_WORLD="1")


KNOWN = {
    "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7": "MPICH 4.0.2",
    "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\nMPI BUILD INFO :":
        "Cray MPICH 8.1.25.17 (MPICH 3.4a2)",
    "Intel(R) MPI Library 2021.8 for Linux* OS\n": "Intel MPI 2021.8",
    "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :": "MVAPICH2 2.3.7",
    "MVAPICH Version:\t3.0\n": "MVAPICH 3.0",
}  # fmt: skip


def known_mpi(place: Place) -> None:
    """Those with MPICH's ABI are known, by names of their own."""
    for version, name in KNOWN.items():
        rank(place, "mock_mpi_rank", version)
        said = [head["attributes"] for head in place.heads()]
        assert [(one.get("mpi"), one.get("rank")) for one in said] == [(name, "0")], (name, said)


if __name__ == "__main__":
    main(
        {
            "constructor": constructor,
            "waits": waits,
            "scopes": scopes,
            "jumps": jumps,
            "forks": forks,
            "unloaded": unloaded,
            "beside": beside,
            "runpath": runpath,
            "old-hdf5": old_hdf5,
            "weak": weak,
            "unknown-mpi": unknown_mpi,
            "known-mpi": known_mpi,
        }
    )
