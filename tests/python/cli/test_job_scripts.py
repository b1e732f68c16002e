"""Batch scripts that train under a scheduler."""

import re
import shutil
import subprocess
import sys

import pytest

from iotune import Error
from iotune.cli.train_script import without_own
from iotune.launch.job_script import SCHEDULERS, Job, script_of, submit_words
from support.installed.columns_program import Home, needs_mpi
from support.repository import ROOT, TESTBEDS

pytestmark = pytest.mark.mpi

JOB = Job([3, 7, 12], 8, 2, ["python3", "-m", "iotune", "train", "--rounds", "5"])
SLURM = TESTBEDS / "slurm"
TUTORIAL = ROOT / "docs" / "tutorial-slurm.md"


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_each_scheduler_has_a_script_that_a_shell_reads(scheduler, tmp_path):
    text = script_of(scheduler, JOB)
    assert "3 7 12" in text and "python3 -m iotune train --rounds 5 --pattern" in text
    script = tmp_path / "job.sh"
    script.write_text(text)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert str(script) in submit_words(scheduler, script)


def test_a_task_takes_its_own_pattern(tmp_path):
    """By the shell itself: the command only says what it was given."""
    job = Job([3, 7, 12], 8, 2, ["echo", "train"])
    numbered = {"slurm": ("SLURM_ARRAY_TASK_ID", 0), "pbs": ("PBS_ARRAY_INDEX", 0),
                "lsf": ("LSB_JOBINDEX", 1)}  # fmt: skip
    for scheduler, (variable, first) in numbered.items():
        script = tmp_path / scheduler
        script.write_text(script_of(scheduler, job))
        for task, pattern in enumerate(job.patterns, start=first):
            done = subprocess.run(
                ["bash", script], capture_output=True, text=True, check=True,
                env={variable: str(task), "PBS_O_WORKDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
            )  # fmt: skip
            assert done.stdout.split() == ["train", "--pattern", str(pattern)]


def test_a_sites_own_template_is_taken(tmp_path):
    template = tmp_path / "mine.sh"
    template.write_text("#!/bin/sh\nfor p in $patterns; do $command --pattern $$p; done\n")
    assert "for p in 3 7 12" in script_of(str(template), JOB)
    template.write_text("$account\n")
    with pytest.raises(Error, match="'account' is no name of a template"):
        script_of(str(template), JOB)
    with pytest.raises(Error, match="nowhere.sh is neither"):
        script_of("nowhere.sh", JOB)


def test_what_chooses_patterns_is_not_given_to_tasks():
    words = ["--script", "job.sh", "--rounds", "5", "--file=a*", "--pattern", "3", "--budget", "9"]
    assert without_own(words) == ["--rounds", "5", "--budget", "9"]


@pytest.fixture
def slurm_home(tmp_path):
    """A user of a real Slurm."""
    if shutil.which("sbatch") is None:
        pytest.skip("no Slurm here")
    folder = tmp_path / "slurm"
    up = subprocess.run([SLURM, "up", folder], capture_output=True, text=True, check=False)
    if up.returncode == 77:
        pytest.skip(up.stderr.strip())
    assert up.returncode == 0, up.stderr
    try:
        home = Home(tmp_path / "home")
        home.folder.mkdir()
        home.environment["SLURM_CONF"] = up.stdout.strip()
        yield home
    finally:
        subprocess.run([SLURM, "down", folder], check=False)


@needs_mpi
def test_slurm_trains_what_a_run_left(slurm_home):
    home = slurm_home
    home.record()
    launcher = home.folder / "launcher"
    launcher.write_text('#!/bin/sh\nexec srun --mpi=pmi2 "$@"\n')
    launcher.chmod(0o755)
    home.environment["IOTUNE_MPIRUN"] = str(launcher)
    script = home.folder / "job.sh"
    done = home.iotune("train", "--rounds", "3", "--candidates", "romio_cb_write=disable",
                       "--script", str(script))  # fmt: skip
    assert done.returncode == 0 and "sbatch" in done.stderr, done.stderr
    job = subprocess.run(
        ["sbatch", "--wait", script], capture_output=True, text=True, check=False,
        env=home.environment, cwd=home.folder, timeout=300,
    )  # fmt: skip
    said = "".join(one.read_text() for one in home.folder.glob("iotune-train-*.txt"))
    assert job.returncode == 0, job.stderr + said
    assert "nothing to train" in home.iotune("train").stderr, said


def blocks_of(page):
    """The shell commands of a page, block by block."""
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.soak
@needs_mpi
def test_the_tutorial_leads_to_a_trained_database_under_slurm(slurm_home):
    """Every command of docs/tutorial-slurm.md, with a real slurmctld and slurmd."""
    pytest.importorskip("sklearn")
    home = slurm_home
    home.build()
    tools = home.folder / "bin"
    tools.mkdir()
    command = tools / "iotune"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m iotune "$@"\n')
    command.chmod(0o755)
    home.environment["PATH"] = f"{tools}:{home.environment['PATH']}"
    said = [_block(home, one) for one in blocks_of(TUTORIAL)]
    _, shown, planned, trained, applied, surveyed, predicted = said
    assert "untrained" in shown, shown
    assert "(*,BLOCK),(4096,32)" in planned, planned
    assert "stored: " in trained, trained
    assert "exact" in applied or "default is best" in applied, applied
    survey = (home.folder / "survey.txt").read_text()
    assert "model" in survey, surveyed + survey
    assert "gain" in predicted, predicted


def _block(home, text):
    """What it printed; each must succeed."""
    text = text.replace("./my-program", "./columns 4096").replace("--budget 30m", "--budget 3m")
    done = subprocess.run(
        ["bash", "-e", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, env=home.environment, cwd=home.folder, timeout=300,
    )  # fmt: skip
    left = "".join(one.read_text() for one in sorted(home.folder.glob("*.txt")))
    assert done.returncode == 0, text + done.stdout + left
    return done.stdout
