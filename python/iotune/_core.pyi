"""The types of the native part. Every function raises iotune.Error; import it as iotune.core."""

from collections.abc import Callable, Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

_Path = str | PathLike[str]
_Table = list[list[float]]

# What the job, the site and the file system allow: the functions of the preload.

def filesystem_of(directory: _Path) -> str:
    """ext4, tmpfs, lustre …: the database's words; "unknown" if unknowable."""

def job_limit_bytes() -> int | None:
    """What the control groups let this job take of the node's memory; None: they set no limit.

    Control groups of version 1 tell a number beyond any node's memory where there is none.
    """

def site_is_frozen() -> bool:
    """Whether /etc/iotune.conf, or what IOTUNE_SITE_CONFIG names, forbids runs to teach anything.

    A file that others may write or that is not understood forbids it too.
    """

def site_switches_off() -> bool:
    """Whether one of these two files switches everything off."""

def site_limits() -> dict[str, Any]:
    """What these two files allow: `mode`, `frozen`, `share` (percent of the jobs), `database`.

    Folders, with %u for the user's number: `traces`, `applied_log`; `for_group`: who reads them.
    `exclude_programs`, and `keep_above_mib` (0: not said): which bare preloads leave a trace.
    `gathers_stored`: small writes wait where a stored answer says so.
    `replayers`: the site's folder of prebuilt replayers, "" where it has none. `faults`: why one
    of these files is not understood, in the words of a run's line on stderr.
    """

def site_traces_folder(name: str, make: bool = False) -> tuple[Path, str, bool] | None:
    """The folder `name` of this user's below what /etc/iotune.conf names for traces.

    With it, why it cannot be used (empty where it can) and whether its group may read what lies in
    it. None where the site names nothing.
    """

def site_applied_folder() -> tuple[Path, str, bool] | None:
    """The same of this user's log of what was applied; nothing is made."""

def identify_mpi(library_version: str, soname: str, has_open_mpi_objects: bool) -> dict[str, str]:
    """The `version` of an MPI as traces name it, empty where runs leave it alone, and its `abi`.

    `library_version`: what MPI_Get_library_version() says.
    """

def locks_hold_between_nodes(directory: _Path, filesystem: str) -> bool:
    """Whether fcntl locks on a directory's files exclude processes on other nodes too."""

# Traces.

def summarize(
    path: _Path,
    calls_at_once: int = 262144,
    take: Callable[[dict[str, Any]], None] | None = None,
    fold: bool = False,
) -> dict[str, Any]:
    """analyzer::RunSummary of a trace or buffer.

    `take` is called with each file, and the result has none: they are never all there. With `fold`
    it gets files that are alike as one, with `alike` (analyzer/summary/alike_files.h).
    """

def processes(path: _Path) -> list[dict[str, Any]]:
    """What each process of the trace said of itself (FORMAT.md, PROCESS and END)."""

def losses(path: _Path) -> list[str]:
    """What is missing or damaged, in words, as far as it is known without decoding calls."""

def conflicts(traces: Sequence[_Path]) -> dict[str, Any]:
    """Accesses of two processes to the same bytes, by file and call sites: iotune.verify."""

def verdicts(traces: Sequence[_Path]) -> dict[str, Any]:
    """The same, and which of them are properly synchronised under which model: iotune.verify."""

def join(buffers: Sequence[_Path], out: _Path, remove: bool = False) -> dict[str, Any]:
    """Join process buffers into the trace `out`; `remove` unlinks those that were joined."""

def parse_descriptor(text: str) -> dict[str, Any]:
    """A descriptor's dimensions. Error names the first fault of the text."""

def call_table() -> list[dict[str, Any]]:
    """The calls that iotune records, with their arguments: recorder/calls.table."""

def observe(trace: _Path) -> None:
    """Leave an observation of the run in the user's spool, for the next question to fold in."""

def learn_from_pending_runs(folder: Path, database: _Path) -> int:
    """Finish what the ends of runs had no time for, and store it in that database.

    Returns how many runs were learnt from; 0 where another process does it just now.
    """

# Settings.

def parameters() -> list[dict[str, Any]]:
    """Every parameter that can be set: name, unit, range, layer, gate."""

def fault_of_setting(name: str, value: str) -> str | None:
    """What is wrong with a setting, as the end of a sentence; None where it is valid."""

def known_settings() -> dict[str, list[dict[str, str]]]:
    """What is known of each setting: `rows` of the table, `classes` of values (docs/safety.md)."""

def gate_answer(question: Mapping[str, Any], name: str, value: str) -> dict[str, str]:
    """`known`, `value_class`, and the `reason` why a setting would be refused at that open."""

def gate_refusals(question: Mapping[str, Any], settings: Mapping[str, str]) -> list[dict[str, str]]:
    """What would be refused of settings at that open, each with the `reason`.

    `unproven_name` and `unproven_value` are the setting whose proof would let it through.
    """

def mpiio_name(mpi: str, mpi_io: str) -> str:
    """The library of an MPI's MPI-IO; `mpi_io` tells Open MPI's two apart."""

def config_xml(
    settings: Mapping[str, str],
    of_files: Mapping[str, Mapping[str, str]] = ...,
    forced: bool = False,
) -> str:
    """H5Tuner's XML, as IOTUNE_CONFIG takes it. `forced`: also settings of which nothing is known.

    `of_files`: what beats `settings` for files of one base name or path, which is printable text.
    """

def read_config_xml(path: str, data_file: str) -> dict[str, Any]:
    """H5Tuner's XML as it holds for `data_file`: `settings`, and `notes` of what is left out."""

# What settings are worth.

def feature_names() -> list[str]:
    """What the columns of features() are, in order. Models are stored with these names."""

def pattern_feature_count() -> int:
    """How many of the first features are of the pattern alone."""

def features(
    pattern: Mapping[str, Any],
    settings: Sequence[Mapping[str, str]],
    question: Mapping[str, int] = ...,
) -> _Table | None:
    """Numbers with a meaning for each of `settings` on a pattern (patterndb/matching/features.h).

    `question`: nodes, datasets, repeats, striped (0 or 1), stripe_count, stripe_bytes. None where
    the pattern is irregular or its dataset's dimensions are not known.
    """

def cost_term_names() -> list[str]:
    """What the columns of cost_terms() are, in order."""

def cost_terms(features: _Table) -> _Table:
    """A row of counts for each of features (patterndb/gains/cost_terms.h)."""

def ways(features: _Table, of_default: _Table) -> list[int]:
    """How bytes reach the storage: 0 piece by piece, 1 sieved, 2 exchanged, 3 newly striped."""

def gain_inputs(features: _Table, of_default: _Table, prices: list[float]) -> _Table:
    """What the trees of a gain model see: a row for each of features (gains/gain_model.h)."""

def checksum(content: bytes) -> int:
    """FNV-1a of 64 bits, as gain models end with."""

class GainModel:
    """What settings are worth, evaluated by the code of a run. Error for other bytes."""

    def __init__(self, payload: bytes) -> None: ...
    def gains(self, features: _Table, of_default: _Table) -> _Table:
        """Rows of log_gain, spread, low, high and sure, as natural logarithms.

        `sure`: the lower bound where the settings were chosen among many.
        """
    def out_of_range(self, of_default: list[float]) -> str:
        """The first feature of the pattern outside of what was learnt; empty: none."""

# The pattern database.

def default_database() -> Path:
    """IOTUNE_DB or the user's own pattern database."""

def lower_databases() -> list[Path]:
    """The databases that are asked where the user's own has no answer; they are only read.

    What IOTUNE_DB names where the user may not change it, then the site's (/etc/iotune.conf).
    """

class Database:
    """The pattern database. The user's spool is folded in where it may be written."""

    def __init__(self, path: _Path | None = None, read_only: bool = False) -> None: ...
    @property
    def path(self) -> Path: ...
    def patterns(self) -> dict[str, Any]:
        """`patterns`, each with its `workloads` and its newest `answers` per platform."""
    def show(self, pattern: int) -> dict[str, Any]:
        """One pattern with all evidence: also its `history` and what was `measured`."""
    def query(self, descriptor: str, element_bytes: int | None = None) -> dict[str, Any]:
        """`patterns` that match, each with all evidence."""
    def add_tuning(self, tuning: Mapping[str, Any]) -> int:
        """Add an answer (iotune.database.tunings.tuning_json); returns its row."""
    def add_proof(self, proof: Mapping[str, Any]) -> bool:
        """Add what was compared of a setting on a platform; False where it is there already."""
    def add_surface(self, surface: Mapping[str, Any]) -> int:
        """Add trials of a pattern on a platform (docs/database.md); returns how many are new."""
    def surfaces(self) -> list[dict[str, Any]]:
        """What was measured of settings, by pattern and platform."""
    def add_gain_model(self, model: Mapping[str, Any]) -> bool:
        """Add a model (docs/database.md); False where it is there already."""
    def gain_models(self) -> list[dict[str, Any]]:
        """Models that were fitted to what was measured, the oldest first; `payload` in base64."""
    def proofs(self) -> list[dict[str, Any]]:
        """All settings that were compared on some platform."""
    def import_json(self, text: str, source: str) -> dict[str, Any]:
        """Merge another database's export, all or nothing; returns counts of what was new."""
    def history(self, pattern: int) -> dict[str, Any]:
        """Every move of a pattern's answers with its evidence; `trials` under way."""
    def ledger(self) -> dict[str, Any]:
        """Hours saved and lost by settings, and how many answers were taken back."""
    def merge(self, other: _Path, platform: Mapping[str, str]) -> dict[str, Any]:
        """Add another database file's rows of the platforms that fit; counts of what was new."""
    def export_json(self) -> str:
        """The whole database as JSON."""
    def ingest(self, spool: _Path | None = None) -> dict[str, Any]:
        """Fold a spool directory's observations in; counts, and `faults` in words."""
    def compact(self) -> dict[str, Any]:
        """Add up observations beyond the newest, and give free space back; counts."""
    def untrained(self) -> list[dict[str, Any]]:
        """Patterns that lack an answer, with the run to train from."""
    def decide(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What a run would get at an open, out of this database alone."""
    def observations(
        self, workload: Mapping[str, Any], file_bytes: int, left_out: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        """What runs of a workload (program, file, ranks, nodes) took, per platform and settings.

        Only files that moved `file_bytes` within a tenth count, and no run of `left_out` (ids).
        """
