"""The genetic algorithm of Behzad et al., "Taming parallel I/O complexity with auto-tuning", SC'13.

A population of 15, 40 generations, 15 % mutation, 3 elites. An individual has one gene for each
parameter: a value, or none. Where a child's genes are no candidate of the space, the candidate that
shares most genes with it takes its place.
"""

from __future__ import annotations

import random

from iotune.models.search.interface import Point, Problem, Search

POPULATION, GENERATIONS, MUTATION, ELITES = 15, 40, 0.15, 3
Genes = tuple[str, ...]  # one for each parameter; "": it is not set


class GeneticSearch(Search):
    """A generation is run whole, then the next is bred from its fitter half."""

    def __init__(self, problem: Problem, seed: int):
        super().__init__(problem, seed)
        self._random = random.Random(seed)
        self._values = problem.values()
        self._genes = [self._genes_of(point) for point in problem.points]
        count = min(POPULATION, len(self._genes))
        self._generation = self._random.sample(range(len(self._genes)), count)
        self._waiting = list(self._generation)
        self._left = GENERATIONS - 1

    def next(self) -> int | None:
        """The next individual; None after the last generation."""
        while not self._waiting:
            if self._left == 0:
                return None
            self._left -= 1
            self._generation = self._bred()
            # Who is known is not run again: elites keep their times.
            self._waiting = [
                one for one in dict.fromkeys(self._generation)
                if one not in self.seconds and one not in self.failed
            ]  # fmt: skip
        return self._waiting.pop(0)

    def _genes_of(self, point: Point) -> Genes:
        return tuple(point.get(name, "") for name in self._values)

    def _bred(self) -> list[int]:
        def fitness(one: int) -> float:
            times = self.seconds.get(one)
            return min(times) if times else float("inf")

        ranked = sorted(dict.fromkeys(self._generation), key=fitness)
        parents = ranked[: max(2, (len(ranked) + 1) // 2)]
        children = ranked[:ELITES]
        while len(children) < POPULATION:
            first, second = self._random.choice(parents), self._random.choice(parents)
            children.append(self._nearest(self._mutated(self._crossed(first, second))))
        return children

    def _crossed(self, first: int, second: int) -> Genes:
        return tuple(
            self._random.choice(pair) for pair in zip(self._genes[first], self._genes[second])
        )

    def _mutated(self, genes: Genes) -> Genes:
        return tuple(
            self._random.choice(["", *values]) if self._random.random() < MUTATION else gene
            for gene, values in zip(genes, self._values.values())
        )

    def _nearest(self, genes: Genes) -> int:
        def shared(one: int) -> int:
            return sum(a == b for a, b in zip(self._genes[one], genes))

        most = max(map(shared, range(len(self._genes))))
        return self._random.choice([i for i in range(len(self._genes)) if shared(i) == most])
