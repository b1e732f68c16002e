"""Stripe counts from nodes, ranks, bytes and targets, and those that response times rule out."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from iotune.models.cases import Case
from iotune.models.measuring.paired import Gain
from iotune.models.outcome import Measured, Outcome
from iotune.models.settings import storage_targets
from iotune.models.settings.candidates import Candidate, Shape, candidates
from iotune.models.settings.space import dense_space, space
from iotune.models.settings.storage import on_storage
from iotune.models.settings.storage_targets import Targets, ceph_targets, lustre_targets
from iotune.models.settings.stripes import UNKNOWN_STORAGE, stripings

from iotune import core
from iotune.errors import Error

MIB = 1 << 20
LUSTRE = Targets(24, overstripes=True, by_setting=True)


def counts(nodes: int, ranks: int, targets: Targets, file_bytes: int = 1 << 36) -> list[int]:
    found = stripings(nodes, ranks, file_bytes, targets)
    return list(dict.fromkeys(one.count for one in found))


def test_counts_come_from_targets_ranks_and_nodes() -> None:
    assert counts(4, 16, LUSTRE) == [24, 48, 16, 4]
    # More ranks than targets: as many as there are. One node: one of its counts is one.
    assert counts(1, 512, LUSTRE) == [24, 48, 1]
    assert counts(4, 16, Targets(24)) == [24, 16, 4]
    assert counts(2, 8, Targets(3, overstripes=True)) == [3, 12, 48, 2]
    # No more than a layout has room for.
    assert max(counts(64, 64, Targets(1500, overstripes=True, by_setting=True))) == 2000


def test_overstriping_is_asked_for_where_that_is_a_setting() -> None:
    for one in stripings(4, 16, 1 << 36, LUSTRE):
        assert ("overstriping" in one.settings) == (one.count > 24), one
    ceph = stripings(4, 16, 1 << 36, Targets(3, overstripes=True))
    assert max(one.count for one in ceph) > 3
    assert not any("overstriping" in one.settings for one in ceph)


@pytest.mark.parametrize("file_bytes", [1 << 16, 8 * MIB, 1 << 30, 1 << 40])
def test_every_stripe_gets_bytes(file_bytes: int) -> None:
    found = stripings(4, 16, file_bytes, LUSTRE)
    assert len({(one.count, one.unit) for one in found}) == len(found) > 0
    for one in found:
        assert one.count * one.unit <= file_bytes or one.unit == 65536, one
        for name, value in one.settings.items():
            assert core.fault_of_setting(name, value) is None, (name, value)
    assert (4 * MIB in {one.unit for one in found}) == (file_bytes >= 1 << 30)


def test_of_an_unknown_storage_the_usual_ones_are_tried() -> None:
    for targets in (None, Targets(None, "nobody tells")):
        found = [(one.count, one.unit) for one in stripings(4, 16, 1 << 30, targets)]
        assert found == list(UNKNOWN_STORAGE)


@pytest.mark.parametrize("targets", [None, Targets(None), LUSTRE, Targets(3, overstripes=True)])
def test_the_trainer_chooses_within_the_space(targets: Targets | None) -> None:
    for filesystem, ranks in itertools.product(("lustre", "cephfs"), (1, 4, 64)):
        shape = Shape(
            write=True, collective=True, distributions=("BLOCK", "*"), ranks=ranks,
            file_bytes=1 << 30, filesystem=filesystem, nodes=2, targets=targets,
        )  # fmt: skip
        points = {one.text for one in space(shape)}
        tried = [one for one in candidates(shape, 1000) if "striping_factor" in one.settings]
        assert tried and {one.text for one in tried} <= points
        found = {int(one.settings["striping_factor"]) for one in tried}
        bounded = replace(shape, ruled_out_counts=frozenset({max(found)}))
        for points_of in (space, dense_space, lambda one: candidates(one, 1000)):
            have = {int(one.settings.get("striping_factor", 0)) for one in points_of(bounded)}
            assert max(found) not in have and have - {0}


LFS = """#!/bin/sh
[ "$1" = osts ] || exit 1
printf 'OBDS:\\n0: work-OST0000_UUID ACTIVE\\n1: work-OST0001_UUID ACTIVE\\n'
printf '2: work-OST0002_UUID INACTIVE\\n'
"""


def test_lustre_tells_its_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    unknown = lustre_targets(tmp_path, root=tmp_path)
    assert unknown.count is None and unknown.why_unknown
    for name, value in (("sys/fs/lustre/lov/work-clilov-1", "activeobd"),):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / value).write_text("12\n")
    assert lustre_targets(tmp_path, root=tmp_path) == Targets(12, overstripes=True, by_setting=True)
    # Of two file systems the client does not say which one the directory is on; lfs does.
    (tmp_path / "sys/fs/lustre/lov/home-clilov-2").mkdir()
    (tmp_path / "sys/fs/lustre/lov/home-clilov-2/activeobd").write_text("4\n")
    assert lustre_targets(tmp_path, root=tmp_path).count is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lfs").write_text(LFS)
    (tmp_path / "bin" / "lfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
    assert lustre_targets(tmp_path, root=tmp_path).count == 2


def test_cephfs_tells_by_the_places_of_objects(tmp_path: Path) -> None:
    found = ceph_targets(tmp_path, lambda fd, number: (number * 7919) % 37)
    assert found == Targets(37, overstripes=True)
    # No kernel client: this directory's file system knows no such question.
    unknown = ceph_targets(tmp_path)
    assert unknown.count is None and "kernel" in unknown.why_unknown
    assert list(tmp_path.iterdir()) == []


def shape_of(filesystem: str = "lustre", file_bytes: int = 1 << 30) -> Shape:
    return Shape(True, True, ("BLOCK",), 16, file_bytes, filesystem=filesystem)


def test_what_is_not_known_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _, bound, reported = on_storage(shape_of("cephfs"), tmp_path, 4)
    assert not bound.text and len(reported) == 1 and "usual" in reported[0]
    assert on_storage(shape_of("ext4"), tmp_path, 4)[2] == []


# --- response times ------------------------------------------------------------------------------


def kept(filesystem: str, seconds_at: dict[int, float], tail: float, share: float = 0.05):
    """Requests that take some time each, and now and then, by a power law, far more."""
    pytest.importorskip("scipy")
    from iotune.models.latency.kept import KeptKind, KeptLatency
    from iotune.models.latency.response_times import ResponseTimes
    from iotune.models.latency.tail import Tail

    kinds = []
    for size, seconds in seconds_at.items():
        end, shape = 1.2 * seconds, 1 / (tail - 1)
        beyond = Tail(
            end, share, "power law", shape, shape * end, 50, (shape, shape), (end, end)
        )  # fmt: skip
        times = ResponseTimes(
            1000, (0.0, (1 - share) / 2, 1 - share), (0.9 * seconds, seconds, end), beyond
        )
        kinds.append(KeptKind("write", "cold", "mpiio", size, 1000, 0.0, times))
    return KeptLatency(filesystem, "x86_64", "/scratch", tuple(kinds))


SIZES = [1 << power for power in range(19, 31)]
# What a request takes is its bytes over a rate, and a start.
LINEAR = {size: size / 1e9 + 0.001 for size in SIZES}
# A rate that many servers share: a part of the bytes takes no part of the time.
FLAT = {size: 0.5 * (1 + size / 1e12) for size in SIZES}


def test_where_parts_are_shorter_nothing_is_ruled_out() -> None:
    from iotune.models.latency.stripe_bound import bound_of

    # A light tail: each server more halves the transfer, and hardly one is late.
    found = bound_of(kept("lustre", LINEAR, tail=8.0), True, 1 << 30, [4, 16, 64])
    assert not found.counts and not found.text


def test_where_the_slowest_grows_faster_more_stripes_are_ruled_out() -> None:
    from iotune.models.latency.stripe_bound import bound_of

    found = bound_of(kept("lustre", FLAT, tail=2.5), True, 1 << 30, [1, 4, 16, 64])
    assert found.counts == {4, 16, 64}, found
    assert "not tried: 4, 16, 64 stripes" in found.text and "/scratch" in found.text
    # Between the two: the transfer shortens at first.
    mixed = {size: size / 1e10 + 0.03 for size in SIZES}
    found = bound_of(kept("lustre", mixed, tail=2.6), True, 1 << 30, [2, 8, 512])
    assert found.counts == {512}, found


def test_the_bound_is_that_of_simulation() -> None:
    """Who waits for the slowest of n, drawn: the order of the counts is the same."""
    np = pytest.importorskip("numpy")
    from iotune.models.latency.order_statistics import simulate_slowest
    from iotune.models.latency.stripe_bound import slowest_part

    kinds = kept("lustre", FLAT, tail=4.0).of("write")
    for count in (4, 64):
        one = slowest_part(kinds, 1 << 30, count)
        (of_size,) = [kind for kind in kinds if kind.bytes == (1 << 30) // count]
        drawn = simulate_slowest(of_size.times, count, np.random.default_rng(3))
        assert one is not None and one.p95_seconds == pytest.approx(
            np.quantile(drawn, 0.95), rel=0.03
        )


def test_parts_beyond_the_samples_are_left_alone() -> None:
    from iotune.models.latency.stripe_bound import bound_of

    few = {size: FLAT[size] for size in (MIB, 16 * MIB)}
    found = bound_of(kept("lustre", few, tail=2.5), True, 1 << 30, [64, 512, 2000])
    # 2 MiB and 16 MiB lie within; half a MiB does not, nor does the whole.
    assert found.counts == {512}, found
    assert not bound_of(kept("lustre", few, tail=2.5), False, 1 << 30, [64, 512]).counts


def test_a_tail_without_a_mean_is_compared_all_the_same() -> None:
    from iotune.models.latency.stripe_bound import bound_of

    found = bound_of(kept("lustre", FLAT, tail=1.8), True, 1 << 30, [1, 64])
    assert found.counts == {64} and "inf" not in found.text


def write_kept(folder: Path, filesystem: str, **more) -> Path:
    from iotune.models.latency.kept import kept_path
    from iotune.models.latency.response_times import response_times_to_dict

    one = kept(filesystem, FLAT, 2.5)
    path = kept_path(folder / "patterns.db", filesystem)
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {
        "format": "iotune-latency", "version": 2, "filesystem": filesystem,
        "host_class": os.uname().machine, "directory": "/scratch",
        "kinds": [{"operation": "write", "cache": "cold", "interface": "mpiio",
                   "bytes": kind.bytes, "samples": 1000, "correlation": 0.0,
                   "times": response_times_to_dict(kind.times)} for kind in one.kinds],
        **more,
    }  # fmt: skip
    path.write_text(json.dumps(said))
    return path


def test_a_training_leaves_out_what_is_ruled_out_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    from iotune.models.latency.kept import kept_of

    monkeypatch.setattr("iotune.models.settings.storage._targets", lambda *_: LUSTRE)
    write_kept(tmp_path, "lustre")
    databases = [tmp_path / "other" / "patterns.db", tmp_path / "patterns.db"]
    shape, bound, reported = on_storage(
        shape_of(), tmp_path, 4, lambda filesystem: kept_of(databases, filesystem)
    )
    assert shape.ruled_out_counts == {4, 16, 24, 48} == bound.counts
    assert reported == [bound.text] and "\n" not in bound.text
    assert not any("striping_factor" in one.settings for one in candidates(shape, 1000))
    # Another file system's response times say nothing.
    shape, bound, _ = on_storage(
        shape_of("cephfs"), tmp_path, 4, lambda filesystem: kept_of(databases, filesystem)
    )
    assert not bound.counts


BAD = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "a list": lambda text: "[]",
    "foreign": lambda text: '{"format": "other"}',
    "newer": lambda text: text.replace('"version": 2', '"version": 3'),
    "of one tail at the pivot": lambda text: text.replace('"version": 2', '"version": 1'),
    "another machine": lambda text: text.replace(os.uname().machine, "vax"),
    "no number": lambda text: text.replace('"correlation": 0.0', '"correlation": "x"', 1),
    "out of range": lambda text: text.replace('"correlation": 0.0', '"correlation": 1.5', 1),
    "not a number": lambda text: text.replace('"share": 0.05', '"share": NaN', 1),
    "no family": lambda text: text.replace('"power law"', '"odd"', 1),
    "without kinds": lambda text: text.replace('"kinds"', '"kind"'),
}


@pytest.mark.parametrize("how", BAD)
def test_damaged_response_times_are_one_line(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("scipy")
    from iotune.models.latency.kept import kept_of

    monkeypatch.setattr("iotune.models.settings.storage._targets", lambda *_: LUSTRE)
    path = write_kept(tmp_path, "lustre")
    changed = BAD[how](path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    with pytest.raises(Error) as raised:
        kept_of([tmp_path / "patterns.db"], "lustre")
    message = str(raised.value)
    assert "\n" not in message and str(path) in message and "iotune latency fit" in message
    shape, bound, reported = on_storage(
        shape_of(), tmp_path, 4, lambda filesystem: kept_of([tmp_path / "patterns.db"], filesystem)
    )
    assert not shape.ruled_out_counts and not bound.text and len(reported) == 1, reported


def test_a_hanging_lfs_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lfs = tmp_path / "lfs"
    lfs.write_text("#!/bin/sh\nexec sleep 60\n")
    lfs.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    monkeypatch.setattr(storage_targets, "_LFS_SECONDS", 0.2)
    assert lustre_targets(tmp_path, root=tmp_path).count is None


def test_an_answer_says_what_bounded_it() -> None:
    """`iotune explain` shows what a row rests on."""
    bound = "not tried: 48 stripes; the slowest of so many servers would take 3 s or more"
    for settings, said in (({"striping_factor": "4"}, True), ({"cb_buffer_size": "4096"}, False)):
        case = Case(1, {"descriptor": "<1D,BLOCK,8>"}, {}, workload=("vpic", "v#.h5"), bound=bound)
        winner = Measured(Candidate(settings), "applied")
        gain = Gain(1.5, 1.4, 1.6, 9)
        outcome = Outcome(case, {}, [winner], [1.0], winner, gain)
        evidence = str(outcome.as_tuning()["evidence"])
        assert evidence.startswith("for vpic v#.h5") and (bound in evidence) == said
