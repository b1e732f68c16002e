"""Surveys: drawn patterns are measured with real ranks, and nothing that was measured is lost."""

import math
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from support.installed.json_schemas import conforming

pytest.importorskip("sklearn")
from iotune.models.cases import Case, stored_pattern  # noqa: E402
from iotune.models.replays.many import ManyBench, Timed  # noqa: E402
from iotune.models.settings.candidates import Candidate, parse_candidate, unsieved  # noqa: E402
from iotune.models.survey import measure  # noqa: E402
from iotune.models.survey.beaten import beaten  # noqa: E402
from iotune.models.survey.costs import Costs  # noqa: E402
from iotune.models.survey.draw import Limits, draw_pattern  # noqa: E402
from iotune.models.survey.survey import _drawn, _Size  # noqa: E402
from iotune.models.survey.trials import Journal, Subject, Surface, Trial, read_trials  # noqa: E402

from iotune import Error, core  # noqa: E402
from iotune.replay.mpi import find_mpi  # noqa: E402
from iotune.replay.plan_build import plan_of_pattern  # noqa: E402
from iotune.replay.replayer import find_replayer, scratch_directory  # noqa: E402
from iotune.traces.trace import open_trace  # noqa: E402

pytestmark = pytest.mark.mpi

needs_mpi = pytest.mark.skipif(shutil.which("mpirun.mpich") is None, reason="no MPICH here")
PATTERN = {
    "descriptor": "<2D,(*,BLOCK),(512,64)>", "op": "write", "element_bytes": 8, "ranks": 2,
    "grid": [1, 2], "mode": "collective", "chunk": [], "filters": 0, "dataset_dims": [512, 128],
}  # fmt: skip


def test_drawn_patterns_keep_to_their_limits():
    draw = random.Random(3)
    limits = Limits(ranks=(2, 4))
    modes = set()
    for _ in range(300):
        drawn = draw_pattern(draw, limits)
        pattern = drawn.pattern
        assert math.prod(pattern["grid"]) == pattern["ranks"]
        size = math.prod(pattern["dataset_dims"]) * pattern["element_bytes"] * drawn.datasets
        assert limits.least_file_bytes / 2 <= size <= limits.most_file_bytes * 2
        [row] = core.features(pattern, [{}]) or [[]]
        features = dict(zip(core.feature_names(), row))
        assert 2 ** features["log2_pieces"] <= limits.most_pieces + 0.5
        assert 2 ** features["log2_piece_bytes"] >= limits.least_piece_bytes - 0.5
        # Every rank holds its part of the dataset, and together they hold all of it.
        plan = plan_of_pattern(stored_pattern(Case(0, pattern, {})), 1)
        held = sum(
            math.prod(slab[2 * len(pattern["grid"]) + d] * slab[3 * len(pattern["grid"]) + d]
                      for d in range(len(pattern["grid"])))
            for one in plan.files[0].transfers[0].selections.values() for slab in one.items
        )  # fmt: skip
        assert held == math.prod(pattern["dataset_dims"])
        modes.add((pattern["op"], pattern["mode"], bool(pattern["chunk"])))
    assert len(modes) == 8


def test_a_survey_draws_where_settings_matter_and_small_files_first():
    draw, limits, size = random.Random(5), Limits(ranks=(2,)), _Size(32 << 20)
    drawn = []
    for number in range(1, 61):
        drawn.append(_drawn(draw, limits, number, size.most_bytes))
        size.measured([0.1, 0.2])
    kinds = {(one.pattern["op"], one.pattern["mode"], bool(one.pattern["chunk"])) for one in drawn}
    assert len(kinds) >= 6, kinds
    rows = [(core.features(one.pattern, [{}]) or [[]])[0] for one in drawn]
    pieces = [2 ** row[core.feature_names().index("log2_piece_bytes")] for row in rows]
    assert min(pieces) == 1 and sum(one <= 64 for one in pieces) >= 12
    counts = [2 ** row[core.feature_names().index("log2_pieces")] for row in rows]
    assert min(counts) < 1000 and max(counts) > 100_000  # as programs have them
    names = [one.pattern["descriptor"] for one in drawn]
    assert sum("CYCLIC" in name for name in names) >= 8
    assert sum("(*,BLOCK)" in name for name in names) >= 8
    sizes = [
        math.prod(one.pattern["dataset_dims"]) * one.pattern["element_bytes"] * one.datasets
        for one in drawn
    ]
    assert max(sizes[:8]) <= 512 << 10 < max(sizes) <= 64 << 20
    for one in drawn:  # all can be replayed
        plan_of_pattern(stored_pattern(Case(0, one.pattern, {})), one.datasets)


def test_files_that_take_no_time_are_larger_at_once():
    size = _Size(1 << 20)
    size.measured([0.001, 0.002, 0.1])
    assert size.most_bytes == 512 << 10
    for _ in range(7):
        size.measured([0.1])
    assert size.most_bytes == 512 << 10
    size.measured([])
    assert size.most_bytes == 1 << 20
    size.measured([0.001])
    assert size.most_bytes == 1 << 20, "the limit"


@needs_mpi
def test_each_file_of_a_replay_gets_its_own_settings(tmp_path):
    mpi = find_mpi()
    case = Case(0, PATTERN, {})
    tried = [Candidate(), Candidate({"romio_cb_write": "disable"}),
             Candidate({"cb_buffer_size": "4194304"}), Candidate({"cb_nodes": "1"}),
             Candidate({"dxpl_mpio_collective_opt": "individual"} | unsieved("write"))]  # fmt: skip
    with scratch_directory(tmp_path, 1 << 20) as scratch:
        plan = plan_of_pattern(stored_pattern(case), 1)
        bench = ManyBench(case, plan, mpi, find_replayer(mpi), scratch)
        bench.settle()
        found = bench.measure(tried)
        run = open_trace(bench.trace_of("default")).summary
        sizes = {one.stat().st_size for one in (scratch / "files").iterdir()}
    assert sorted(one.candidate.text for one in found) == sorted(one.text for one in tried)
    assert all(one.seconds is not None and one.seconds > 0 for one in found)
    assert all(len(one.default_seconds) == 3 for one in found)
    # What was set is read back from the trace: one file has it, no other does.
    for one in tried[1:4]:
        [(name, value)] = one.settings.items()
        having = [
            file.path for file in run.files
            if any(s.parameter == name and s.wanted == value for s in file.settings)
        ]  # fmt: skip
        assert len(having) == 1, one.text
    assert len(sizes) == 1, "all files hold the same"
    # 512 rows of either rank: one by one where nothing joins them, else in a few calls.
    calls = {one.candidate.text: one.counts["system_calls"] for one in found}
    assert calls["cb_nodes=1"] < 64 and calls["romio_cb_write=disable"] < 64, calls
    assert calls[tried[4].text] >= 2 * 512, calls
    moved = {one.candidate.text: one.counts["moved_bytes"] for one in found}
    assert moved["cb_nodes=1"] < 1.2 * 512 * 128 * 8, moved
    # Of either rank the other's bytes too, read and written.
    assert moved["romio_cb_write=disable"] > 3 * 512 * 128 * 8, moved
    assert all(one.counts["processor_seconds"] > 0 for one in found)


@needs_mpi
def test_who_fails_is_found_among_those_who_do_not(tmp_path, monkeypatch):
    mpi = find_mpi()
    case = Case(0, PATTERN, {})
    with scratch_directory(tmp_path, 1 << 20) as scratch:
        bench = ManyBench(case, plan_of_pattern(stored_pattern(case), 1), mpi,
                          find_replayer(mpi), scratch)  # fmt: skip
        bench.settle()
        replayed = ManyBench.replayed

        def failing(self, name, config, limit_seconds):
            if "12345678" in config:
                raise Error("the replay failed (1): made up")
            return replayed(self, name, config, limit_seconds)

        monkeypatch.setattr(ManyBench, "replayed", failing)
        tried = [Candidate({"cb_buffer_size": str(size)}) for size in (4194304, 12345678, 8388608)]
        found = {one.candidate.settings["cb_buffer_size"]: one for one in bench.measure(tried)}
    assert found["12345678"].seconds is None and "made up" in found["12345678"].effect
    assert found["4194304"].seconds and found["8388608"].seconds


SUBJECT = Subject("one", PATTERN, {"nodes": 1, "datasets": 1}, {"filesystem": "ext4"})


def test_a_journal_goes_on_behind_a_half_line(tmp_path):
    path = tmp_path / "trials"
    journal = Journal(path)
    surface = journal.add_subject(SUBJECT)
    counts = {"system_calls": 12.0}
    journal.add_trials(
        surface,
        [Trial("a=1", 1.0, (2.0, 3.0), 0, counts=counts), Trial("b=1", None, (), 0, "no")],
    )
    with path.open("a") as file:
        file.write('{"of":"one","settings":"c=1","sec')
    again = Journal(path)
    assert len(again.surfaces["one"].trials) == 2
    again.add_trials(again.surfaces["one"], [Trial("d=1", 0.5, (1.0,), 1)])
    [found] = read_trials(path)
    assert [one.settings for one in found.trials] == ["a=1", "b=1", "d=1"]
    assert found.ratios() == {"a=1": [2.5], "d=1": [2.0]}
    assert found.failed() == {"b=1": "no"}
    assert found.counts() == {"a=1": counts}
    assert found.next_batch() == 2


def surface_of(seconds: dict[str, list[float]], defaults=(1.0, 1.02, 0.98)) -> Surface:
    surface = Surface(SUBJECT)
    for text, times in seconds.items():
        surface.trials += [Trial(text, one, defaults, batch) for batch, one in enumerate(times)]
    return surface


def test_settings_that_cannot_be_best_are_beaten():
    surface = surface_of({"": [1.0], "best=1": [0.5, 0.5], "near=1": [0.52], "slow=1": [1.0]})
    assert beaten(surface) == {"slow=1"}, "the default is compared with, whatever it takes"
    # Where the default's own files differ by much, one time says nothing.
    noisy = surface_of({"": [1.0], "best=1": [0.5], "slow=1": [1.0]}, (1.0, 1.9, 0.6))
    assert beaten(noisy) == set()
    # A setting whose own repeats differ is not left for a slow one.
    restless = surface_of({"best=1": [0.5] * 3, "restless=1": [0.4, 1.2, 1.0], "slow=1": [1.1] * 3})
    assert beaten(restless) == {"slow=1"}
    assert beaten(Surface(SUBJECT)) == set()


def test_what_may_take_long_runs_alone_and_the_rest_of_its_kind_not_at_all():
    piece_by_piece = "romio_cb_write=disable;romio_ds_write=disable"
    texts = ("", "cb_nodes=1", piece_by_piece, f"ind_wr_buffer_size=1048576;{piece_by_piece}")
    points = [parse_candidate(text) if text else Candidate() for text in texts]
    subject = replace(SUBJECT, question={"nodes": 1, "datasets": 1, "repeats": 1})
    costs = Costs(subject, points)
    _, few, piecewise, other_piecewise = points
    assert costs.together(points, {}, 28) == points[:2]
    assert costs.together(points, {}, 1) == points[:1]
    assert len(costs.together(points[2:], {}, 28)) == 1
    # What was measured and is fast does others' replay no harm.
    assert costs.together(points, {piecewise.text: [0.9]}, 28) == points[:3]
    assert costs.together(points[2:3], {piecewise.text: [0.01]}, 28) == [piecewise]
    for slow in (Timed(piecewise, None, (), "failed"), Timed(piecewise, 9.0, (1.0,), "applied")):
        [(also, why)] = costs.as_hopeless(slow, points)
        assert also is other_piecewise and why.startswith("left out: with less to do romio_cb_w")
    assert costs.as_hopeless(Timed(piecewise, 1.1, (1.0,), "applied"), points) == []
    assert costs.as_hopeless(Timed(few, None, (), "failed"), points) == []
    # Rows of 512 bytes may be worth a call each, elements of 8 are not.
    elements = {**PATTERN, "descriptor": "<1D,(CYCLIC),(65536)>", "grid": [2],
                "dataset_dims": [131072]}  # fmt: skip
    of_elements = Costs(replace(subject, pattern=elements), points)
    assert [costs.is_hopeless(one) for one in points] == [False] * 4
    assert [of_elements.is_hopeless(one) for one in points] == [False, False, True, True]


@needs_mpi
def test_what_is_beaten_is_measured_no_more(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "trials")

    def beats_all_but_two(surface):
        return set(sorted(text for text in surface.ratios() if text)[2:])

    monkeypatch.setattr(measure, "beaten", beats_all_but_two)
    for drops in (False, True):
        found = measure.measure_pattern(
            f"{drops}", PATTERN, 1, tmp_path, find_mpi(), journal,
            measure.Asked(4, 2, drops=drops), lambda text: None,
        )  # fmt: skip
        times = sorted(len(one) for one in found.ratios().values())
        assert times == ([1] * (len(times) - 3) + [2] * 3 if drops else [2] * len(times))


def test_a_journal_of_another_pattern_is_refused(tmp_path):
    journal = Journal(tmp_path / "trials")
    journal.add_subject(SUBJECT)
    with pytest.raises(Error, match="'one' was measured with another pattern"):
        journal.add_subject(Subject("one", {**PATTERN, "ranks": 4}, {}, {}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "line 1"),
        ('{"format":"iotune-trials","version":99}\n', "99 is not known"),
        ('{"format":"iotune-trials","version":1}\n{"of":"nobody"}\n', "line 2"),
        ('{"of":"one"}\n', "does not name the format"),
    ],
)
def test_what_is_no_journal_is_named(tmp_path, text, said):
    path = tmp_path / "trials"
    path.write_text(text)
    with pytest.raises(Error, match=said):
        read_trials(path)


def iotune(*words, home):
    environment = {
        **os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"),
        "IOTUNE_BUFFER_DIR": str(home / "buffers"), "XDG_STATE_HOME": str(home / "state"),
    }  # fmt: skip
    environment.pop("IOTUNE_DB", None)
    return subprocess.run(
        [sys.executable, "-m", "iotune", *words], capture_output=True, text=True, check=False,
        env=environment, cwd=home,
    )  # fmt: skip


@needs_mpi
def test_a_survey_stores_what_it_measured(tmp_path):
    done = iotune("train", "--survey", "--budget", "30runs", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    said = conforming("train-survey", done.stdout)
    assert said["runs"] >= 30 and said["patterns"] >= 1 and said["model"] is None
    database = core.Database(tmp_path / "data" / "iotune" / "patterns.db", read_only=True)
    surfaces = database.surfaces()
    assert sum(len(one["trials"]) for one in surfaces) == said["runs"]
    assert surfaces[0]["platform"]["mpi"].startswith("MPICH")
    assert not list(tmp_path.glob(".iotune-replay-*")), "scratch is removed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "--survey", "--budget", "much"], "'much' is no budget"),
        (["train", "--survey", "--dir", "/nowhere"], "/nowhere is no directory"),
        (["predict", "<1D,(BLOCK),(10)>", "--ranks", "2"], "no model of"),
        (["predict", "<1D,(BLOCK),(10)>", "--grid", "2y"], "'2y' is not of the form"),
        (["predict", "nonsense"], "nonsense"),
        (["predict", "<1D,(BLOCK),(10)>", "--on", "/nowhere"], "/nowhere is no directory"),
    ],
)
def test_bad_questions_are_answered_in_one_line(tmp_path, words, said):
    done = iotune(*words, home=tmp_path)
    assert done.returncode != 0
    assert said in done.stderr and "Traceback" not in done.stderr
