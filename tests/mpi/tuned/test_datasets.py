"""Settings of datasets and transfers reach those of the tuned file, and only where they may."""

from __future__ import annotations

import os

from support.asked_settings import DATASETS, EVERY, Seen, SeenDatasets, config, transfers
from support.place import Place, collect, main, not_verified
from support.prefetching import fuse_works, mounted


def each(place: Place) -> None:
    """Chunks, chunk caches and low-level transfers are set where they live, and only there."""
    bare = SeenDatasets(place, "a.h5", preload=False)
    recorded = SeenDatasets(place, "a.h5", IOTUNE_MODE="record")
    assert recorded.opens == bare.opens, recorded.opens
    _, collective = transfers(place)
    assert collective >= 8, "HDF5 does not write collectively here: this proves nothing"
    tuned = SeenDatasets(place, "a.h5", IOTUNE_CONFIG=config(place, DATASETS))
    created, opened = tuned.opens
    assert (created["a.chunk"], created["b.chunk"]) == ("128", "64"), created
    assert (opened["a.chunk"], opened["b.chunk"]) == ("128", "64"), opened
    assert opened["a.chunk_cache"] == opened["b.chunk_cache"] == "8388608", opened
    # As many as HDF5 advises for a hundred chunks; more for larger caches, see memory.
    assert opened["a.chunk_slots"] == opened["b.chunk_slots"] == "12421", opened
    assert bare.opens[1]["a.chunk"] == "0" and bare.opens[1]["a.chunk_cache"] == "1048576"
    # The data go out independently; what HDF5 tells the program stays "collective".
    independent_now, collective_now = transfers(place)
    assert collective_now < collective and independent_now >= 4, (independent_now, collective_now)
    assert created["write.actual"] != "0" and opened["read.actual"] != "0", tuned.opens
    assert [v for v, _ in tuned.verdicts("chunk")] == ["applied", "applied"], tuned.outcomes
    # While ranks may write, HDF5 caches no chunks; read-only it does, also as an object.
    caches = tuned.verdicts("chunk_cache")
    assert [v for v, _ in caches] == ["without effect"] * 2 + ["applied"] * 3, caches
    assert [v for v, _ in tuned.verdicts("dxpl_mpio_collective_opt")] == ["applied"] * 2
    assert tuned.said == [], tuned.said
    # Without chunks a cache has no effect, and that is what is said.
    cache_only = DATASETS.replace("<chunk>128</chunk>", "").replace(
        '<chunk VariableName="b">64</chunk>', "")  # fmt: skip
    plain = SeenDatasets(place, "a.h5", IOTUNE_CONFIG=config(place, cache_only))
    reasons = plain.verdicts("chunk_cache")
    assert {v for v, _ in reasons} == {"without effect"}, reasons
    assert all("not chunked" in reason for _, reason in reasons), reasons


def converted(place: Place) -> None:
    """HDF5 itself takes apart what it has to convert: nothing was applied then."""
    only = DATASETS.replace("<chunk>128</chunk>", "").replace(
        '<chunk VariableName="b">64</chunk>', "")  # fmt: skip
    tuned = SeenDatasets(place, "a.h5", "--convert", IOTUNE_CONFIG=config(place, only))
    assert tuned.opens[0]["write.actual"] == "0", "HDF5 converts collectively: this proves nothing"
    said = tuned.verdicts("dxpl_mpio_collective_opt")
    assert said == [("without effect", "HDF5 made the transfers independent by itself")] * 2, said
    # Nor was a hint of aggregators, whatever MPI-IO has of it: the summary tells.
    hints = "<Middleware_Layer><cb_nodes>2</cb_nodes></Middleware_Layer>"
    hints = f"<Parameters>{hints}</Parameters>"
    tuned = SeenDatasets(place, "a.h5", "--convert", IOTUNE_CONFIG=config(place, hints))
    assert tuned.verdict("cb_nodes") == "applied", tuned.outcomes
    datasets = reported_datasets(place)
    assert len(datasets) == 4 and {how for how, _ in datasets} == {"independent"}, datasets
    assert {why for _, why in datasets} == {"datatype conversion"}, datasets


def reported_datasets(place: Place) -> list[tuple[str, str]]:
    """Of each dataset and direction in the run's summary what HDF5 made of it, and why."""
    (file,) = [file for file in place.summary()["files"] if file["datasets"]]
    assert all(sum(one["actual_io"].values()) == one["calls"] for one in file["datasets"])
    return [(",".join(one["actual_io"]), ",".join(one["not_collective"]))
            for one in file["datasets"]]  # fmt: skip


def in_part(place: Place) -> None:
    """Judged by all transfers of the file, whichever comes first."""
    only = DATASETS.replace("<chunk>128</chunk>", "").replace(
        '<chunk VariableName="b">64</chunk>', "")  # fmt: skip
    tuned = SeenDatasets(place, "a.h5", "--convert-b", IOTUNE_CONFIG=config(place, only))
    said = tuned.verdicts("dxpl_mpio_collective_opt")
    # Of the first transfer, for a program that never closes its file, then of all.
    assert [v for v, _ in said] == ["applied"] * 4, said
    text = ("of 2 transfers 1 stayed collective by HDF5's actual I/O mode, "
            "1 HDF5 made independent by itself")  # fmt: skip
    assert [said[1][1], said[3][1]] == [text] * 2 and "the transfers stayed" in said[0][1], said
    whole = ("collective (contiguous)", "")
    assert reported_datasets(place) == [whole, ("independent", "datatype conversion")] * 2


def many(place: Place) -> None:
    """Datasets of which nothing is written down are counted."""
    tuned = SeenDatasets(place, "a.h5", "--many", IOTUNE_CONFIG=config(place, DATASETS))
    chunks, caches = tuned.verdicts("chunk"), tuned.verdicts("chunk_cache")
    (closing,) = [one for one in chunks + caches if one[0] == "not listed"]
    # Each is created; of the first file's 42 it is 32 that are listed, and of the second's all.
    assert closing[1] == "and 10 further datasets", closing
    assert len([v for v, _ in chunks if v == "applied"]) == 32, chunks


def never_closed(place: Place) -> None:
    """What became of the transfers is reported of a file that its program never closes, too."""
    done = place.mpi(2, place.bin / "ask_datasets", "a.h5", "--abort",
                     IOTUNE_CONFIG=config(place, DATASETS))  # fmt: skip
    assert done.status != 0, done.err
    if not collect(place):
        return
    said = [(call["texts"][1], call["numbers"][0]) for file in place.traces()
            for call in place.calls(file) if call["name"] == "iotune_setting"]  # fmt: skip
    assert ("dxpl_mpio_collective_opt", 0) in said, said


def without_locks(place: Place) -> None:
    """Ranks on several nodes do not come to sieve writes where no lock is known to hold."""
    if not place.on_fake_nodes("nodes whose file system has no locks") or not fuse_works(place):
        return
    (place.scratch / "root").mkdir()
    unjoined = DATASETS.replace(
        "</High_Level_IO_Library>",
        "</High_Level_IO_Library><Middleware_Layer><romio_cb_write>disable</romio_cb_write>"
        "</Middleware_Layer>")  # fmt: skip
    direct = unjoined.replace("<romio_cb_", "<romio_ds_write>disable</romio_ds_write><romio_cb_")
    counts = []
    with mounted(place, place.scratch / "requests", 0) as mount:
        for text, verdict in ((unjoined, "refused"), (direct, "applied")):
            tuned = SeenDatasets(place, mount / "a.h5", shim=True,
                                 IOTUNE_CONFIG=config(place, text))  # fmt: skip
            for name in ("dxpl_mpio_collective_opt", "romio_cb_write"):
                said = tuned.verdicts(name)
                assert {v for v, _ in said} == {verdict}, (name, said)
                assert verdict == "applied" or "locks" in said[0][1], said
            counts.append(transfers(place)[1])
            assert tuned.said == [], tuned.said
    # HDF5's own transfers stayed with the ranks together, where that was refused.
    assert counts[0] >= counts[1] + 8, counts


def memory(place: Place) -> None:
    """Chunk caches together take an eighth of the node's memory at most, shared by its ranks."""
    budget = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8 // 2
    text = DATASETS.replace("8388608", str(4 << 30))
    if budget >= 4 << 30:
        not_verified("a node with so much memory has room for the largest cache")
        return
    tuned = SeenDatasets(place, "a.h5", IOTUNE_CONFIG=config(place, text))
    got = tuned.opens[1]["a.chunk_cache"]
    # Both count the node's memory, but not to the last page.
    assert abs(int(got) - budget) < 1 << 20, (got, budget)
    # Room for so many chunks is no use where they share a slot.
    slots, least = int(tuned.opens[1]["a.chunk_slots"]), max(min(int(got) >> 10, 1 << 20), 12421)
    assert least <= slots < least + 200, (slots, least)
    said = tuned.verdicts("chunk_cache")
    assert any("cut to the memory" in why for verdict, why in said if verdict == "applied"), said
    # The next one finds nothing left, and has HDF5's own.
    assert tuned.opens[1]["b.chunk_cache"] == "1048576", tuned.opens
    assert tuned.opens[1]["b.chunk_slots"] == "521", tuned.opens
    assert any("other datasets have all" in why for verdict, why in said if verdict == "refused")
    # Nor does one that takes no access list have more than a small part.
    alone = int(tuned.opens[1]["object.chunk_cache"])
    assert alone == 1 << 20 or abs(alone - budget // 64) < 1 << 20, (alone, budget)


def of_program(place: Place) -> None:
    bare = SeenDatasets(place, "a.h5", "--own", preload=False)
    tuned = SeenDatasets(place, "a.h5", "--own", IOTUNE_CONFIG=config(place, DATASETS))
    assert tuned.opens[0] == bare.opens[0], tuned.opens
    assert tuned.opens[1]["b.chunk_cache"] == "4000", tuned.opens
    refused = {v for v, _ in tuned.verdicts("chunk")}
    assert refused == {"refused"}, tuned.outcomes
    assert ("refused", "/group/b: the program set it itself") in tuned.verdicts("chunk_cache")


def uneven(place: Place) -> None:
    """What one rank does alone, and may, must not set it apart: ranks that differ would hang."""
    tuned = SeenDatasets(place, "a.h5", "--uneven", IOTUNE_CONFIG=config(place, DATASETS))
    assert (tuned.opens[0]["a.chunk"], tuned.opens[0]["b.chunk"]) == ("128", "64"), tuned.opens
    assert [v for v, _ in tuned.verdicts("dxpl_mpio_collective_opt")] == ["applied"] * 2


def unchanged_is_not_own(place: Place) -> None:
    """Caches that are set to what they were are tuned, of the file and of a dataset's own list."""
    tuned = SeenDatasets(place, "a.h5", "--same", IOTUNE_CONFIG=config(place, DATASETS))
    opened = tuned.opens[1]
    assert opened["a.chunk_cache"] == opened["b.chunk_cache"] == "8388608", opened
    assert int(opened["object.chunk_cache"]) > 1 << 20, opened
    assert not [why for _, why in tuned.verdicts("chunk_cache") if "program" in why]


def misfit(place: Place) -> None:
    """A chunk that cannot be is refused with the reason, and the program runs as ever."""
    bare = SeenDatasets(place, "a.h5", "--three", preload=False)
    tuned = SeenDatasets(place, "a.h5", "--three", IOTUNE_CONFIG=config(place, DATASETS))
    assert tuned.opens[0]["a.chunk"] == bare.opens[0]["a.chunk"] == "0", tuned.opens
    assert all("number of dimensions" in why for _, why in tuned.verdicts("chunk"))
    large = DATASETS.replace("128", "100000")
    tuned = SeenDatasets(place, "a.h5", IOTUNE_CONFIG=config(place, large))
    assert (tuned.opens[0]["a.chunk"], tuned.opens[0]["b.chunk"]) == ("0", "64"), tuned.opens
    assert ("refused", "/a: the chunk is larger than the dataset") in tuned.verdicts("chunk")


def independent_stays(place: Place) -> None:
    """Whatever is set, a transfer that the program makes by itself is not made with others."""
    leaves = "".join(f"<{n}>{v}</{n}>" for n, v in EVERY.items() if n != "coll_metadata_write")
    for opt in ("collective", "individual"):
        more = f"<dxpl_mpio_collective_opt>{opt}</dxpl_mpio_collective_opt>"
        text = f"<Parameters><Middleware_Layer>{leaves}{more}</Middleware_Layer></Parameters>"
        tuned = Seen(place, "a.h5", IOTUNE_CONFIG=config(place, text))
        assert tuned.verdict("romio_cb_read") == "applied", tuned.outcomes
        independent, collective = transfers(place)
        assert independent >= 2 and collective == 0, (independent, collective)


if __name__ == "__main__":
    main({"each": each, "memory": memory, "of-program": of_program,
          "unchanged-is-not-own": unchanged_is_not_own, "misfit": misfit,
          "converted": converted, "in-part": in_part, "many": many,
          "uneven": uneven, "never-closed": never_closed,
          "without-locks": without_locks, "independent-stays": independent_stays})  # fmt: skip
