"""The native part, `iotune._core`, with types: the one place that knows its exact shape.

Every function raises iotune.Error, never the extension's own exception, and says so plainly
where the extension is missing.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from iotune.errors import Error


def native_part() -> ModuleType:
    """The extension, or Error that says so plainly."""
    try:
        return importlib.import_module("iotune._core")
    except ImportError as problem:
        raise Error(f"the native part of iotune cannot be loaded ({problem}); reinstall") from None


@contextlib.contextmanager
def as_error() -> Iterator[None]:
    """Turn what the extension throws into Error."""
    try:
        yield
    except RuntimeError as problem:  # _core.Error is one
        raise Error(" ".join(str(problem).split())) from None
    except OSError as problem:
        raise Error(str(problem)) from None


def filesystem_of(directory: str | os.PathLike[str]) -> str:
    """The file system that a directory lies on: ext4, tmpfs, lustre …; "unknown" if unknowable.

    The same words as the preload and the database use, because it is the same function.
    """
    return cast(str, native_part().filesystem_of(os.path.join(os.fspath(directory), "file")))


def job_limit_bytes() -> int | None:
    """What the control groups let this job take of the node's memory; None: they set no limit.

    Control groups of version 1 tell a number beyond any node's memory where there is none. The
    preload's function, by which it caps chunk caches.
    """
    return cast("int | None", native_part().job_limit_bytes())


def lower_databases() -> list[Path]:
    """The databases that are asked where the user's own has no answer; they are only read.

    What IOTUNE_DB names where the user may not change it, then the site's (/etc/iotune.conf).
    """
    return [Path(path) for path in native_part().lower_databases() if os.path.exists(path)]


def site_is_frozen() -> bool:
    """Whether /etc/iotune.conf, or what IOTUNE_SITE_CONFIG names, forbids runs to teach anything.

    A file that others may write or that is not understood forbids it too.
    """
    return bool(native_part().site_is_frozen())


def site_switches_off() -> bool:
    """Whether /etc/iotune.conf, or what IOTUNE_SITE_CONFIG names, switches everything off."""
    return bool(native_part().site_switches_off())


def site_limits() -> dict[str, Any]:
    """What these two files allow: `mode`, `frozen`, `share` (percent of the jobs), `database`.

    Folders, with %u for the user's number: `traces`, `applied_log`; `for_group`: who reads them.
    `exclude_programs`, and `keep_above_mib` (0: not said): which bare preloads leave a trace.
    `replayers`: the site's folder of prebuilt replayers, "" where it has none. `faults`: why one
    of these files is not understood, in the words of a run's line on stderr.
    """
    return dict(native_part().site_limits())


def identify_mpi(library_version: str, soname: str, has_open_mpi_objects: bool) -> dict[str, str]:
    """The `version` of an MPI as traces name it, empty where runs leave it alone, and its `abi`.

    The preload's function. `library_version`: what MPI_Get_library_version() says.
    """
    return dict(native_part().identify_mpi(library_version, soname, has_open_mpi_objects))


def locks_hold_between_nodes(directory: str | os.PathLike[str], filesystem: str) -> bool:
    """Whether fcntl locks on a directory's files exclude processes on other nodes too.

    The preload's function, by which it refuses settings that sieve.
    """
    file = os.path.join(os.fspath(directory), "file")
    return bool(native_part().locks_hold_between_nodes(file, filesystem))


def site_traces_folder(name: str, make: bool = False) -> tuple[Path, str, bool] | None:
    """The folder `name` of this user's below what /etc/iotune.conf names for traces.

    With it, why it cannot be used (empty where it can) and whether its group may read what lies in
    it. None where the site names nothing. The preload's own function.
    """
    found = native_part().site_traces_folder(name, make)
    return None if found is None else (Path(found[0]), str(found[1]), bool(found[2]))


def site_applied_folder() -> tuple[Path, str, bool] | None:
    """The same of this user's log of what was applied; nothing is made."""
    found = native_part().site_applied_folder()
    return None if found is None else (Path(found[0]), str(found[1]), bool(found[2]))


def summarize(path: str | os.PathLike[str]) -> dict[str, Any]:
    """analyzer::RunSummary of a trace or buffer."""
    native = native_part()
    with as_error():
        return cast("dict[str, Any]", json.loads(native.summarize(os.fspath(path))))


def processes(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """What each process of the trace said of itself (FORMAT.md, PROCESS and END)."""
    native = native_part()
    with as_error():
        return [dict(row) for row in native.processes(os.fspath(path))]


def losses(path: str | os.PathLike[str]) -> list[str]:
    """What is missing or damaged, in words, as far as it is known without decoding calls."""
    native = native_part()
    with as_error():
        return list(native.losses(os.fspath(path)))


def join(
    buffers: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    remove: bool = False,
) -> dict[str, Any]:
    """Join process buffers into the trace `out`; `remove` unlinks those that were joined."""
    native = native_part()
    with as_error():
        paths = [os.fspath(buffer) for buffer in buffers]
        return dict(native.join(paths, os.fspath(out), remove=remove))


def parse_descriptor(text: str) -> dict[str, Any]:
    """A descriptor's dimensions. Raises Error that names the first fault of the text."""
    native = native_part()
    with as_error():
        return cast("dict[str, Any]", json.loads(native.parse_descriptor(text)))


def parameters() -> list[dict[str, Any]]:
    """Every parameter that can be set: name, unit, range, layer, gate."""
    native = native_part()
    with as_error():
        return cast("list[dict[str, Any]]", _decoded(native.parameters()))


def known_settings() -> dict[str, list[dict[str, str]]]:
    """What is known of each setting: `rows` of the table, `classes` of values (docs/safety.md)."""
    native = native_part()
    with as_error():
        return cast("dict[str, list[dict[str, str]]]", _decoded(native.known_settings()))


def gate_answer(question: dict[str, Any], name: str, value: str) -> dict[str, str]:
    """`known`, `value_class`, and the `reason` why a setting would be refused at that open."""
    native = native_part()
    with as_error():
        return cast(
            "dict[str, str]", _decoded(native.gate_answer(json.dumps(question), name, value))
        )


def gate_refusals(question: dict[str, Any], settings: Mapping[str, str]) -> list[dict[str, str]]:
    """What would be refused of settings at that open, each with the `reason`.

    `unproven_name` and `unproven_value` are the setting whose proof would let it through.
    """
    native = native_part()
    with as_error():
        answer = native.gate_refusals(json.dumps(question), json.dumps(dict(settings)))
    return cast("list[dict[str, str]]", _decoded(answer))


def mpiio_name(mpi: str, mpi_io: str) -> str:
    """The library of an MPI's MPI-IO; `mpi_io` tells Open MPI's two apart."""
    return cast(str, native_part().mpiio_name(mpi, mpi_io))


def feature_names() -> list[str]:
    """What the columns of features() are, in order. Models are stored with these names."""
    return list(native_part().feature_names())


def features(
    pattern: Mapping[str, Any],
    settings: Sequence[Mapping[str, str]],
    question: Mapping[str, int] | None = None,
) -> list[list[float]] | None:
    """Numbers with a meaning for each of `settings` on a pattern (patterndb/matching/features.h).

    `question`: nodes, datasets, repeats, striped (0 or 1), stripe_count, stripe_bytes. None where
    the pattern is irregular or its dataset's dimensions are not known. Raises Error for settings
    that are none.
    """
    native = native_part()
    with as_error():
        texts = [native.settings_text(json.dumps(dict(one))) for one in settings]
        found = native.features(json.dumps(dict(pattern)), json.dumps(dict(question or {})), texts)
        return cast("list[list[float]] | None", found)


def pattern_feature_count() -> int:
    """How many of the first features are of the pattern alone."""
    return int(native_part().pattern_feature_count)


def cost_term_names() -> list[str]:
    """What the columns of cost_terms() are, in order."""
    return list(native_part().cost_term_names())


def cost_terms(features: list[list[float]]) -> list[list[float]]:
    """A row of counts for each of features (patterndb/gains/cost_terms.h)."""
    with as_error():
        return cast("list[list[float]]", native_part().cost_terms(features))


def gain_inputs(
    features: list[list[float]], of_default: list[list[float]], prices: list[float]
) -> list[list[float]]:
    """What the trees of a gain model see: a row for each of features (gains/gain_model.h)."""
    with as_error():
        return cast("list[list[float]]", native_part().gain_inputs(features, of_default, prices))


def checksum(content: bytes) -> int:
    """FNV-1a of 64 bits, as gain models end with."""
    return int(native_part().checksum(content))


class GainModel:
    """What settings are worth, evaluated by the code of a run. Raises Error for other bytes."""

    def __init__(self, payload: bytes):
        with as_error():
            self._model = native_part().GainModel(payload)

    def gains(
        self, features: list[list[float]], of_default: list[list[float]]
    ) -> list[list[float]]:
        """Rows of log_gain, spread, low and high, as natural logarithms."""
        with as_error():
            return cast("list[list[float]]", self._model.gains(features, of_default))

    def out_of_range(self, of_default: list[float]) -> str:
        """The first feature of the pattern outside of what was learnt; empty: none."""
        with as_error():
            return str(self._model.out_of_range(of_default))


def config_xml(
    settings: Mapping[str, str],
    of_files: Mapping[str, Mapping[str, str]] | None = None,
    forced: bool = False,
) -> str:
    """H5Tuner's XML, as IOTUNE_CONFIG takes it. `forced`: also settings of which nothing is known.

    `of_files`: what beats `settings` for files of one base name or path, which is printable text.
    """
    native = native_part()
    files = {"": dict(settings), **{name: dict(own) for name, own in (of_files or {}).items()}}
    with as_error():
        return cast(str, native.write_config_xml(json.dumps(files), forced))


def read_config_xml(path: str, data_file: str) -> dict[str, Any]:
    """H5Tuner's XML as it holds for `data_file`: `settings`, and `notes` of what is left out."""
    native = native_part()
    with as_error():
        return cast("dict[str, Any]", _decoded(native.read_config_xml(path, data_file)))


def default_database() -> Path:
    """IOTUNE_DB or the user's own pattern database."""
    native = native_part()
    with as_error():
        return Path(native.default_db_path())


def fault_of_setting(name: str, value: str) -> str | None:
    """What is wrong with a setting, as the end of a sentence; None where it is valid."""
    if "\0" in value:  # the native part reads up to it
        return "holds a zero byte"
    native = native_part()
    return cast("str | None", native.validate_setting(name, value))


def observe(trace: str | os.PathLike[str]) -> None:
    """Leave an observation of the run in the user's spool, for the next question to fold in."""
    native = native_part()
    with as_error():
        native.observe(os.fspath(trace))


def learn_from_pending_runs(folder: Path, database: str | os.PathLike[str]) -> int:
    """Finish what the ends of runs had no time for, and store it in that database.

    Returns how many runs were learnt from; 0 where another process does it just now.
    """
    native = native_part()
    with as_error():
        return int(native.learn_from_pending_runs(os.fspath(folder), _in_utf8(database)))


def _decoded(value: Any) -> Any:
    """What the extension gives as JSON text or, where it is handier, as objects."""
    return json.loads(value) if isinstance(value, (str, bytes)) else value


def _in_utf8(path: str | os.PathLike[str] | None) -> str | None:
    """A path as the database has texts; Error where it is none."""
    text = None if path is None else os.fspath(path)
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        plain = (text or "").encode(errors="replace").decode()
        raise Error(f"{plain}: a path of the database's must be UTF-8") from None
    return text


def _demand_regular(path: str | os.PathLike[str]) -> None:
    """Raise Error for a FIFO, which would be waited for, or a device. What is missing may come."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise Error(f"{os.fspath(path)}: no regular file, so no database")


class Database:
    """The pattern database. The user's spool is folded in where it may be written."""

    def __init__(self, path: str | os.PathLike[str] | None = None, read_only: bool = False):
        native = native_part()
        self.path = Path(default_database() if path is None else path)
        _demand_regular(self.path)
        with as_error():
            self._db = native.PatternDb(_in_utf8(path), read_only)

    def _ask(self, method: str, *arguments: Any) -> Any:
        with as_error():
            return _decoded(getattr(self._db, method)(*arguments))

    def patterns(self) -> dict[str, Any]:
        """`patterns`, each with its `workloads` and its newest `answers` per platform."""
        return cast("dict[str, Any]", self._ask("list"))

    def show(self, pattern: int) -> dict[str, Any]:
        """One pattern with all evidence: also its `history` and what was `measured`."""
        return cast("dict[str, Any]", self._ask("show", pattern))

    def query(self, descriptor: str, element_bytes: int | None = None) -> dict[str, Any]:
        """`patterns` that match, each with all evidence."""
        return cast("dict[str, Any]", self._ask("query", descriptor, element_bytes))

    def add_tuning(self, tuning: dict[str, Any]) -> int:
        """Add an answer (iotune.database.tunings.tuning_json); returns its row."""
        return int(self._ask("add_tuning", json.dumps(tuning)))

    def add_proof(self, proof: dict[str, Any]) -> bool:
        """Add what was compared of a setting on a platform; False where it is there already."""
        return bool(self._ask("add_proof", json.dumps(proof)))

    def add_surface(self, surface: Mapping[str, Any]) -> int:
        """Add trials of a pattern on a platform (docs/database.md); returns how many are new."""
        return int(self._ask("add_surface", json.dumps(surface)))

    def surfaces(self) -> list[dict[str, Any]]:
        """What was measured of settings, by pattern and platform."""
        return cast("list[dict[str, Any]]", self._ask("surfaces"))

    def add_gain_model(self, model: Mapping[str, Any]) -> bool:
        """Add a model (docs/database.md); False where it is there already."""
        return bool(self._ask("add_gain_model", json.dumps(model)))

    def gain_models(self) -> list[dict[str, Any]]:
        """Models that were fitted to what was measured, the oldest first; `payload` in base64."""
        return cast("list[dict[str, Any]]", self._ask("gain_models"))

    def proofs(self) -> list[dict[str, Any]]:
        """All settings that were compared on some platform."""
        return cast("list[dict[str, Any]]", self._ask("proofs"))

    def import_json(self, text: str, source: str) -> dict[str, Any]:
        """Merge another database's export, all or nothing; returns counts of what was new."""
        return cast("dict[str, Any]", self._ask("import_json", text, source))

    def history(self, pattern: int) -> dict[str, Any]:
        """Every move of a pattern's answers with its evidence; `trials` under way."""
        return cast("dict[str, Any]", self._ask("history", pattern))

    def ledger(self) -> dict[str, Any]:
        """Hours saved and lost by settings, and how many answers were taken back."""
        return cast("dict[str, Any]", self._ask("ledger"))

    def merge(self, other: str, platform: dict[str, str]) -> dict[str, Any]:
        """Add another database file's rows of the platforms that fit; counts of what was new."""
        _demand_regular(other)
        return cast("dict[str, Any]", self._ask("merge", _in_utf8(other), json.dumps(platform)))

    def export_json(self) -> str:
        """The whole database as JSON."""
        with as_error():
            return cast(str, self._db.export_json())

    def ingest(self, spool: str | None = None) -> dict[str, Any]:
        """Fold a spool directory's observations in; counts, and `faults` in words."""
        return cast("dict[str, Any]", self._ask("ingest", _in_utf8(spool)))

    def compact(self) -> dict[str, Any]:
        """Add up observations beyond the newest, and give free space back; counts."""
        return cast("dict[str, Any]", self._ask("compact"))

    def untrained(self) -> list[dict[str, Any]]:
        """Patterns that lack an answer, with the run to train from."""
        return cast("list[dict[str, Any]]", self._ask("untrained")["untrained"])

    def decide(self, question: dict[str, Any]) -> dict[str, Any]:
        """What a run would get at an open, out of this database alone."""
        where = {"database": self._db.path, "lower": [], "spool": "", "config": ""}
        with as_error():
            return cast(
                "dict[str, Any]", _decoded(native_part().decide(json.dumps({**question, **where})))
            )

    def observations(
        self, workload: dict[str, Any], file_bytes: int, left_out: Collection[str] = ()
    ) -> list[dict[str, Any]]:
        """What runs of a workload (program, file, ranks, nodes) took, per platform and settings.

        Only files that moved `file_bytes` within a tenth count, and no run of `left_out` (ids).
        """
        with as_error():
            answer = self._db.observations(
                workload=json.dumps(workload), bytes=file_bytes, left_out=set(left_out)
            )
        return cast("list[dict[str, Any]]", _decoded(answer)["measured"])


def call_table() -> list[dict[str, Any]]:
    """The calls that iotune records, with their arguments: recorder/calls.table."""
    return [dict(row) for row in native_part().call_table()]
