"""Searches for the best settings of a pattern: which candidate to run next, and which is the best.

Every search has one face (interface.Search), so that they are compared on the same measurements:
replay.py plays them on a response surface that was measured before.
"""

from __future__ import annotations

from collections.abc import Callable

from iotune.models.search.interface import Point, Problem, Search

__all__ = ["METHODS", "Point", "Problem", "Search", "make_search"]

# The names of --method, in the order of the help.
METHODS = ("random", "grid", "genetic", "regression", "tpe", "halving")


def make_search(method: str, problem: Problem, seed: int) -> Search:
    """A search by its name; each draws from `seed` alone. Raises KeyError for an unknown name."""
    return _factory(method)(problem, seed)


def _factory(method: str) -> Callable[[Problem, int], Search]:
    if method == "random":
        from iotune.models.search.plain import RandomSearch

        return RandomSearch
    if method == "grid":
        from iotune.models.search.plain import GridSearch

        return GridSearch
    if method == "genetic":
        from iotune.models.search.genetic import GeneticSearch

        return GeneticSearch
    if method == "regression":
        from iotune.models.search.regression import RegressionSearch

        return RegressionSearch
    if method == "tpe":
        from iotune.models.search.tpe import TpeSearch

        return TpeSearch
    if method == "halving":
        from iotune.models.search.halving import HalvingSearch

        return HalvingSearch
    raise KeyError(method)
