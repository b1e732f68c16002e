"""HDF5's property lists: with which properties a run opened its files and datasets.

Property lists are handles that a process makes, sets, copies and closes; what a file got is what
stood on its list when it was opened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from iotune.models.settings.chunk_caches import default_cache_bytes
from iotune.traces.call_meaning import Meaning

_CHUNK_CACHE = "H5Pset_chunk_cache"
_FILE_CACHE = "H5Pset_cache"
_PARALLEL = "H5Pset_fapl_mpio"
_COLLECTIVE_METADATA = "H5Pset_all_coll_metadata_ops"

_List = dict[str, dict[str, Any]]  # what was set: arguments by the call


class Properties:
    """What was set so far. `version`: of HDF5, for what holds where nothing is set."""

    def __init__(self, version: str):
        self._default_bytes = default_cache_bytes(version)
        self._files: dict[str, _List] = defaultdict(dict)
        self._lists: dict[tuple[int, int], _List] = defaultdict(dict)
        self._cache_bytes: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)

    def is_parallel(self, file: str) -> bool:
        """Whether ranks opened the file together."""
        return _PARALLEL in self._files.get(file, {})

    def reads_metadata_together(self, file: str) -> bool:
        """Whether one rank reads metadata for all."""
        return bool(self._files.get(file, {}).get(_COLLECTIVE_METADATA, {}).get("collective"))

    def cache_bytes(self, process: int, file: str, dataset: str) -> int:
        """The size of a dataset's chunk cache in a process."""
        own = self._cache_bytes[process, file].get(dataset.rpartition("/")[2])
        # What is opened as any object has its file's.
        return self._cache({}, self._files.get(file, {})) if own is None else own

    def take(
        self, process: int, meaning: Meaning, file: str, result: int, said: Mapping[str, Any]
    ) -> None:
        """Take a call that is_property_call(): its file, result and arguments."""
        if meaning.thing == "plist":
            own = (process, next(iter(said.values()), 0))
            if meaning.verb == "changes":
                self._lists[own][meaning.name] = dict(said)
            elif meaning.verb == "creates":  # a copy has what its original has
                self._lists[process, result] = dict(self._lists.get(own, {}))
            else:
                self._lists.pop(own, None)
        elif meaning.thing == "file" and file:
            self._files[file].update(self._lists.get((process, said.get("fapl", 0)), {}))
            self._cache_bytes.pop((process, file), None)
        elif file:
            name = str(said.get("name", "")).rpartition("/")[2]
            of_set = self._lists.get((process, said.get("dapl", 0)), {})
            self._cache_bytes[process, file][name] = self._cache(of_set, self._files[file])

    def _cache(self, of_dataset: _List, of_file: _List) -> int:
        file_bytes = int(of_file.get(_FILE_CACHE, {}).get("bytes") or self._default_bytes)
        size = of_dataset.get(_CHUNK_CACHE, {}).get("bytes")
        # H5D_CHUNK_CACHE_NBYTES_DEFAULT, the largest number, is the file's.
        return file_bytes if size is None or not 0 <= int(size) < 1 << 62 else int(size)


def is_property_call(one: Meaning) -> bool:
    """Whether it makes or sets a property list, or opens something with one."""
    opens = one.verb in ("opens", "creates") and one.thing in ("file", "dataset")
    of_list = one.thing == "plist" and one.verb in ("creates", "changes", "closes")
    return one.of_hdf5 and (opens or of_list)
