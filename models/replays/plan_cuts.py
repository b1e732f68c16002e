"""Parts of a plan: of one direction, of so many bytes."""

from __future__ import annotations

from dataclasses import replace

from iotune.replay.plan import Plan, PlanFile, Transfer
from iotune.replay.plan_build import plan_bytes


def only_direction(plan: Plan, write: bool) -> Plan:
    """The transfers of one direction: reads of a file that was written are prepared instead."""
    files = []
    for file in plan.files:
        kept = _kept(file.transfers, write)
        if kept:
            files.append(replace(file, transfers=kept, create=write))
    return replace(plan, files=files)


def _kept(transfers: list[Transfer], write: bool) -> list[Transfer]:
    """Those of one direction. Where one that is left out opened its dataset anew, the next does."""
    kept: list[Transfer] = []
    closed: set[int] = set()
    for one in transfers:
        if one.write != write:
            if one.reopens:
                closed.add(one.dataset)
            continue
        if one.dataset in closed and not one.reopens and one.repeat == 1:
            one = replace(one, reopens=True)
        closed.discard(one.dataset)
        kept.append(one)
    return kept


def cut_plan(plan: Plan, most_bytes: int) -> Plan:
    """The plan's first datasets, up to `most_bytes` and at least one; `plan` if it fits."""
    if plan_bytes(plan) <= most_bytes:
        return plan
    files: list[PlanFile] = []
    total = 0
    for file in plan.files:
        kept: set[int] = set()
        for number, dataset in enumerate(file.datasets):
            size = dataset.element_bytes
            for extent in dataset.dims:
                size *= extent
            if (files or kept) and total + size > most_bytes:
                break
            total += size
            kept.add(number)
        transfers = [one for one in file.transfers if one.dataset in kept]
        if transfers:
            files.append(replace(file, transfers=transfers))
        if total >= most_bytes:
            break
    # A plan's size is that of its datasets: those without a transfer are left out.
    for at, file in enumerate(files):
        used = sorted({one.dataset for one in file.transfers})
        number_of = {old: new for new, old in enumerate(used)}
        files[at] = replace(
            file,
            datasets=[file.datasets[old] for old in used],
            transfers=[replace(one, dataset=number_of[one.dataset]) for one in file.transfers],
        )
    return replace(plan, files=files)
