"""Looks at a trace for everything that is known to be slow."""

from __future__ import annotations

import os
from dataclasses import replace

from iotune.findings import thresholds
from iotune.findings.facts import Facts, slowest
from iotune.findings.finding import (
    HIGH,
    LOW,
    MEDIUM,
    SEVERITIES,
    Evidence,
    Finding,
    Findings,
    Setting,
)
from iotune.findings.rule import Rule, Sighting
from iotune.findings.rules import RULES
from iotune.findings.snippets.languages import fitting, language_of
from iotune.findings.snippets.named import EXAMPLE
from iotune.findings.totals import look_at_totals
from iotune.traces.trace import Trace

MOST_EVIDENCE = 8  # of a finding; more of the same persuades nobody


def findings_of(trace: Trace) -> Findings:
    """The findings of an opened trace; of a program that does nothing slow there is none.

    Reads the calls five times at most; memory grows with files, datasets and ranks and not with
    calls. Raises Error where the trace cannot be read.
    """
    facts = Facts(trace)
    found = []
    for rule in RULES:
        sighting = rule.look(facts) or look_at_totals(rule.id, facts)
        if sighting is not None and sighting.evidence:
            found.append(_finding(facts, rule, sighting))
    found.sort(key=_gravity)
    limits = [*facts.hdf5.limits]
    sampled = sum(one.sampled_out for one in facts.run.files)
    if sampled:
        limits.append(f"{sampled} files are outside of the sample that was recorded of a series")
    if not facts.run.has_calls:
        limits.append(
            "what needs the calls themselves: bytes that ranks share or overlap, the order of "
            "requests, HDF5's own calls"
        )
    return Findings(tuple(found), tuple(one.id for one in RULES), tuple(limits))


def _gravity(one: Finding) -> tuple[int, float, str]:
    return SEVERITIES.index(one.severity), -(one.estimate.seconds if one.estimate else 0), one.id


def _finding(facts: Facts, rule: Rule, sighting: Sighting) -> Finding:
    ordered = sorted(sighting.evidence, key=lambda one: (-(one.seconds or 0), -one.bytes, one.file))
    layer = sighting.layer or rule.layer
    named = sighting.named.get((ordered[0].file, ordered[0].dataset), EXAMPLE)
    return Finding(
        rule.id,
        sighting.severity or severity(facts, sighting.evidence),
        rule.title,
        sighting.summary,
        layer,
        sighting.advice or rule.advice,
        tuple(ordered[:MOST_EVIDENCE]),
        () if sighting.advice else fitting(rule.snippets_for(named), language_of(facts.run), layer),
        _settings(facts, rule, ordered),
        sighting.estimate,
        len(ordered) - len(ordered[:MOST_EVIDENCE]),
    )


def severity(facts: Facts, evidence: list[Evidence]) -> str:
    """By the share of the run that the slowest rank spent in these calls; medium without times."""
    seconds = slowest(evidence)
    if seconds <= 0 or facts.elapsed_seconds <= 0:
        return MEDIUM
    share = seconds / facts.elapsed_seconds
    if share >= thresholds.HIGH_SHARE:
        return HIGH
    return MEDIUM if share >= thresholds.MEDIUM_SHARE else LOW


def _settings(facts: Facts, rule: Rule, evidence: list[Evidence]) -> tuple[Setting, ...]:
    """What of the rule's parameters iotune set in this run, or may set where it is measured."""
    file = next((one.file for one in evidence if one.file), "")
    known = facts.files.get(file)
    found = []
    for name in rule.parameters:
        outcome = next((one for one in known.settings if one.parameter == name), None) if known \
            else None  # fmt: skip
        if outcome is not None:
            state = "set in this run" if outcome.has_effect else (
                "refused in this run" if outcome.verdict == "refused" else "without effect"
            )  # fmt: skip
            found.append(Setting(name, state, outcome.reason))
        elif file and name in facts.trainable(file):
            found.append(Setting(name, "may be set"))
    return tuple(found)


def with_path(finding: Finding, folder: str) -> Finding:
    """The same with paths from `folder` on, where they lie below it."""

    def short(path: str) -> str:
        inside = path.startswith(folder.rstrip("/") + "/")
        return os.path.relpath(path, folder) if inside else path

    return replace(
        finding, evidence=tuple(replace(one, file=short(one.file)) for one in finding.evidence)
    )
