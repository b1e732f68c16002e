"""What changes a file's layout or format: only as asked for, refused without harm, read back."""

from __future__ import annotations

from support.asked_settings import Seen, config
from support.place import Place, main

CONTIGUOUS, CHUNKED = "layout=1", "layout=2"
NEVER, IF_SET = "fill=1", "fill=2"


def settings(**values: str) -> str:
    leaves = "".join(f"<{name}>{value}</{name}>" for name, value in values.items())
    return f"<Parameters><High_Level_IO_Library>{leaves}</High_Level_IO_Library></Parameters>"


class Made(Seen):
    """What became of each dataset, and what the trace says of it."""

    program = "layout_refusals"

    def of(self, dataset: str) -> str:
        return self.values[dataset]

    def said_of(self, dataset: str, parameter: str) -> str:
        """'verdict: reason' of the note."""
        for name, verdict, _, reason in self.outcomes:
            if name == parameter and reason.split(": ")[0] == f"/{dataset}":
                return f"{verdict}: {reason.partition(': ')[2]}"
        raise AssertionError((dataset, parameter, self.outcomes))


def compare(place: Place, *options: str) -> Made:
    """HDF5 itself refuses chunks without a fill for texts of variable length: that dataset is made
    as the program asked, its handler hears nothing, and what fails without iotune fails as before.
    """
    bare = Made(place, "a.h5", *options, preload=False)
    text = settings(chunk="16", fill_time="never")
    tuned = Made(place, "a.h5", *options, IOTUNE_CONFIG=config(place, text))
    assert tuned.of("numbers").startswith(f"made,{CHUNKED},{NEVER},handler=0"), tuned.values
    assert bare.of("numbers").startswith(f"made,{CONTIGUOUS},{IF_SET},handler=0"), bare.values
    for name in ("texts", "again", "growing", "filtered"):
        assert tuned.of(name) == bare.of(name), (name, bare.values, tuned.values)
    assert tuned.of("texts").startswith(f"made,{CONTIGUOUS},") and "handler=0" in tuned.of("texts")
    for name in ("again", "growing"):
        assert bare.of(name).startswith("failed") and "handler=1,frames=1" in bare.of(name)
    # Without iotune HDF5 makes no contiguous dataset with filters either: nothing is said of it.
    assert bare.of("filtered").startswith("failed"), bare.values
    for parameter in ("chunk", "fill_time"):
        assert tuned.said_of("texts", parameter).startswith("refused: HDF5 refuses it: "), (
            tuned.outcomes
        )
        assert tuned.said_of("numbers", parameter) == "applied: ", tuned.outcomes
    return tuned


def refused(place: Place) -> None:
    compare(place)


def alone(place: Place) -> None:
    """Each rank on a file of its own: nobody to agree with."""
    compare(place, "--serial")


def large(place: Place) -> None:
    """Chunks that HDF5 could not index, or not hold: each dataset keeps its own layout."""
    for chunk, dataset, why in (
        (1, "many", "more than a million chunks"), (1, "huge", "more than a million chunks"),
        (2, "many", ""), (2**31, "huge", "4 GiB or more"), (2**31 - 1, "huge", ""),
    ):  # fmt: skip
        text = settings(chunk=str(chunk))
        made = Made(place, "a.h5", "--serial", "--large", IOTUNE_CONFIG=config(place, text))
        said = made.said_of(dataset, "chunk")
        layout = CONTIGUOUS if why else CHUNKED
        assert made.of(dataset).startswith(f"made,{layout},"), (chunk, made.values)
        assert said.startswith("refused") and why in said if why else said == "applied: ", said


def mixed(place: Place) -> None:
    """A call that fails on one rank alone is not made again there: the ranks' calls would differ.
    The program hears of it as HDF5 tells it, once.
    """
    text = settings(chunk="16", fill_time="never")
    made = Made(
        place, "a.h5", "--mixed", expect_trace=False, finalizes=False,
        IOTUNE_CONFIG=config(place, text),
    )  # fmt: skip
    assert made.of("numbers.0") == f"made,{CHUNKED},{NEVER},handler=0,frames=0", made.values
    assert made.of("numbers.1").startswith("failed"), made.values
    assert made.of("numbers.1").endswith("handler=1,frames=1"), made.values


def fill_time(place: Place) -> None:
    """Only with chunks of our own: elsewhere fill time is the program's promise to its readers."""
    tuned = Made(place, "a.h5", IOTUNE_CONFIG=config(place, settings(fill_time="never")))
    assert tuned.of("numbers").startswith(f"made,{CONTIGUOUS},{IF_SET}"), tuned.values
    assert "without chunks of iotune's" in tuned.said_of("numbers", "fill_time"), tuned.outcomes
    text = settings(chunk="16", fill_time="never")
    tuned = Made(place, "a.h5", IOTUNE_CONFIG=config(place, text))
    assert "say on the fill" in tuned.said_of("filled", "fill_time"), tuned.outcomes
    assert tuned.said_of("filled", "chunk") == "applied: ", tuned.outcomes
    wrong = Made(place, "a.h5", IOTUNE_CONFIG=config(place, settings(fill_time="alloc")))
    assert len(wrong.said) == 1 and "fill_time" in wrong.said[0], wrong.said


def superblock(place: Place) -> int:
    contents = (place.scratch / "a.h5").read_bytes()
    at = contents.index(b"\x89HDF\r\n\x1a\n")
    return contents[at + 8]


def file_format(place: Place) -> None:
    """libver_low: the new file's superblock is of the newer version, and only where asked for."""
    Seen(place, "a.h5", preload=False)
    old = superblock(place)
    text = settings(libver_low="v110")
    tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place, text))
    assert tuned.verdict("libver_low") == "applied", tuned.outcomes
    assert superblock(place) > old, (superblock(place), old)
    # One that this HDF5 may not know yet is read back, not believed.
    tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place, settings(libver_low="v114")))
    assert (tuned.verdict("libver_low") == "applied") == (superblock(place) > old), tuned.outcomes


if __name__ == "__main__":
    main({"refused": refused, "alone": alone, "large": large, "mixed": mixed,
          "fill-time": fill_time, "format": file_format})  # fmt: skip
