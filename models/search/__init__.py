"""Searches for the best settings of a pattern: which candidate to run next, and which is the best.

Every search has one face (interface.Search), so that they are compared on the same measurements:
replay.py plays them on a response surface that was measured before.
"""

from __future__ import annotations

from importlib import import_module

from iotune.models.search.interface import Point, Problem, Search

__all__ = ["METHODS", "Point", "Problem", "Search", "make_search"]

# In the order of the help. What a search needs is imported with it alone.
_SEARCHES = {
    "random": ("plain", "RandomSearch"),
    "grid": ("plain", "GridSearch"),
    "genetic": ("genetic", "GeneticSearch"),
    "regression": ("regression", "RegressionSearch"),
    "tpe": ("tpe", "TpeSearch"),
    "halving": ("halving", "HalvingSearch"),
    "ours": ("ours", "OurSearch"),
}
METHODS = tuple(_SEARCHES)


def make_search(method: str, problem: Problem, seed: int) -> Search:
    """A search by its name; each draws from `seed` alone. Raises KeyError for an unknown name."""
    module, name = _SEARCHES[method]
    made: Search = getattr(import_module(f"{__name__}.{module}"), name)(problem, seed)
    return made
