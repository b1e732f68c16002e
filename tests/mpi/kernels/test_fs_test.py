"""fs-test writes what it says, reads it with any number of ranks, and finds a wrong byte."""

from __future__ import annotations

from pathlib import Path

from support.kernel_programs import Programs, main

_64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(z: int) -> int:
    """splitmix64's output function, written anew."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _64
    return z ^ (z >> 31)


def content(size: int, number: int = 0, seed: int = 0) -> bytes:
    """What a file of that number holds, by the formula alone."""
    key = mixed((seed * GOLDEN + number + 1) & _64)
    words = (mixed((key + at * GOLDEN) & _64) for at in range((size + 7) // 8))
    return b"".join(word.to_bytes(8, "little") for word in words)[:size]


def flip(path: Path, byte: int) -> None:
    held = bytearray(path.read_bytes())
    held[byte] ^= 1
    path.write_bytes(held)


def patterns(programs: Programs) -> None:
    """One content whatever the pattern and the interface; each rank's own in N-N."""
    file = programs.scratch / "a.out"
    for ranks, record, records in ((1, 64, 5), (2, 4096, 7), (4, 100, 33)):
        size = ranks * record * records
        common = ("--record", record, "--records", records, "--output", "a.out", "--json")
        for pattern in ("strided", "segmented"):
            for interface in ((), ("--mpiio",), ("--collective",)):
                done = programs.result(ranks, "fs-test", "--pattern", pattern, *interface,
                                       *common, "--write", "--read", "--verify")  # fmt: skip
                assert file.read_bytes() == content(size), (pattern, interface)
                assert (done["bytes"], done["ranks"]) == (size, ranks), done
                assert set(done["write"]) >= {"open_s", "transfer_s", "close_s", "seconds"}, done
        programs.result(ranks, "fs-test", "--pattern", "n-n", *common, "--seed", 3, "--verify")
        for rank in range(ranks):
            held = (programs.scratch / f"a.out.{rank:05d}").read_bytes()
            assert held == content(record * records, rank, 3), rank


def readers(programs: Programs) -> None:
    """Another number of ranks, other shares, other records; each finds every byte."""
    for pattern in ("strided", "segmented", "n-n"):
        common = ("--pattern", pattern, "--record", 96, "--records", 20, "--output", "a.out")
        programs.right(3, "fs-test", *common)
        for ranks in (1, 2, 4):
            for more in (
                (), ("--read-as", "strided"), ("--read-as", "segmented", "--shuffle", 1),
                ("--read-record", 40), ("--mpiio",), ("--collective", "--read-record", 192),
            ):  # fmt: skip
                read = ("--read", "--written-by", 3, "--verify", "--json")
                done = programs.result(ranks, "fs-test", *common, *read, *more)
                assert done["bytes"] == 3 * 96 * 20 and "write" not in done, done


def damage(programs: Programs) -> None:
    """A wrong byte anywhere, a file that is too short, one that is not there."""
    common = ("--record", 64, "--records", 10, "--output", "a.out")
    file = programs.scratch / "a.out"
    read = ("fs-test", *common, "--read", "--written-by", 2, "--verify")
    for byte in (0, 63, 640, 1279):
        programs.right(2, "fs-test", *common, "--fsync")
        for ranks in (1, 2, 3):
            programs.right(ranks, *read)
        flip(file, byte)
        for ranks, more in ((1, ()), (2, ("--mpiio",)), (3, ("--read-as", "segmented"))):
            programs.wrong(1, "a.out", f"byte {byte} ", command=(ranks, *read, *more))
    # Without --verify nothing is compared.
    programs.right(2, *read[:-1])
    file.write_bytes(file.read_bytes()[:1270])
    programs.wrong(1, "a.out", "ends before", command=(2, *read))
    programs.wrong(1, "a.out", "ends before", command=(2, *read, "--mpiio"))
    file.unlink()
    programs.wrong(1, "a.out", command=(2, *read))
    # A stale file: what is not written over has the other seed's bytes.
    programs.right(2, "fs-test", *common, "--seed", 1)
    programs.right(2, "fs-test", *common, "--over", "--verify")
    programs.wrong(1, "a.out", "byte 0 ", command=(2, *read, "--seed", 1))


def options(programs: Programs) -> None:
    for words, arguments in (
        (("--nope",), ("--nope",)),
        (("--records",), ("--records",)),
        (("--records 0",), ("--records", 0)),
        (("--records -4",), ("--records=-4",)),
        (("--record 4q",), ("--record", "4q")),
        (("--record 3g",), ("--record", "3g")),
        (("--records 9000000000000000000",), ("--records", 9 * 10**18)),
        (("--records 1000000000000000000", "too large"), ("--records", 10**18)),
        (("--pattern zigzag",), ("--pattern", "zigzag")),
        (("--read-as n-n",), ("--read-as", "n-n")),
        (("--read-record 7", "multiple"), ("--read-record", 7, "--read")),
        (("--written-by 3", "--read"), ("--written-by", 3)),
        (("--over",), ("--over", "--read")),
        (("--verify=1",), ("--verify=1",)),
    ):
        programs.wrong(2, *words, command=(2, "fs-test", *arguments))
    programs.wrong(1, "/missing/a", command=(2, "fs-test", "--output", "/missing/a"))
    assert "--shuffle" in programs.right(1, "fs-test", "--help")
    text = programs.right(2, "fs-test", "--record=1k", "--records=4", "--write", "--read")
    assert "write open" in text and "read all" in text, text
    assert (programs.scratch / "fs-test.out").stat().st_size == 2 * 4 * 1024


CASES = {"patterns": patterns, "readers": readers, "damage": damage, "options": options}

if __name__ == "__main__":
    main(CASES)
