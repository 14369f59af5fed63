"""The same cells in two runs: before and after a new library version, kernel or setting.

Two runs were not measured side by side, so their blocks are not paired: whatever else changed between them is
in the difference too. The intervals (Welch's, on log values of blocks) know what blocks differ by within a
run and nothing of what runs differ by; the warnings say what else changed, and whether things changed that
should not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from feedbench.analyze.decide import FEWEST_BLOCKS, Comparison, Margin, correct
from feedbench.analyze.intervals import welch_interval
from feedbench.analyze.permutation import permutation_p
from feedbench.paths import SCHEMA

Json = Mapping[str, Any]

# What a machine is, out of host.json; the rest of it (load, steal, limits) changes by the minute.
HOST_FACTS = (
    "hostname",
    "cpu_model",
    "cpu_count",
    "memory_bytes",
    "kernel",
    "governor",
    "virtualisation",
    "congestion_control",
    "transparent_huge_pages",
)


@dataclass(frozen=True)
class RunFacts:
    """What `compare` needs of a run. `host`: host.json, `protocol`: of plan.json; empty when missing."""

    findings: Json
    host: Json
    protocol: Json
    seed: int


@dataclass(frozen=True)
class Change:
    """One cell at one quantile: `ratio` is after/before, so below 1 it became faster."""

    cell: str
    quantile: str
    comparison: Comparison
    blocks: tuple[int, int]
    versions: tuple[str | None, str | None]


@dataclass(frozen=True)
class Upgrade:
    """Two runs beside each other; `only_before` and `only_after` are cells without a counterpart."""

    before: str
    after: str
    changes: tuple[Change, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            **asdict(self),
            "changes": [
                {
                    "cell": change.cell,
                    "quantile": change.quantile,
                    "decision": change.comparison.outcome,
                    "ratio": change.comparison.ratio,
                    "interval": change.comparison.interval,
                    "p": change.comparison.p,
                    "p_holm": change.comparison.p_holm,
                    "margin": change.comparison.margin.ratio,
                    "blocks": change.blocks,
                    "versions": change.versions,
                }
                for change in self.changes
            ],
        }


def compare_runs(before: RunFacts, after: RunFacts) -> Upgrade:
    """Every cell that both runs have, at every quantile that both declared; copies are compared as well."""
    old, new = (_cells(facts) for facts in (before, after))
    names = [name for name in old if name in new]
    quantiles = [name for name in _quantiles(before) if name in _quantiles(after)]
    changes = tuple(
        change for quantile in quantiles for change in _changes(before, old, new, names, quantile)
    )
    return Upgrade(
        before=before.findings["run"],
        after=after.findings["run"],
        changes=changes,
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
        warnings=tuple(_warnings(before, after, names, changes)),
    )


def compare_blocks(
    before: Sequence[int], after: Sequence[int], *, margin: Margin, confidence: float, seed: int
) -> Comparison:
    """after/before from the values of unpaired blocks, for a family of one."""
    logs = [[math.log(max(value, 1)) for value in values] for values in (after, before)]
    interval = welch_interval(logs[0], logs[1], confidence)
    p = permutation_p(logs[0], logs[1], seed=seed)
    known = bool(before and after)
    difference = math.fsum(logs[0]) / len(logs[0]) - math.fsum(logs[1]) / len(logs[1]) if known else None
    comparison = Comparison(
        blocks=min(len(before), len(after)),
        ratio=math.exp(difference) if difference is not None else None,
        interval=(math.exp(interval[0]), math.exp(interval[1])) if interval else None,
        p=p,
        p_holm=p,
        margin=margin,
        outcome="undecided",
    )
    return correct([comparison], confidence=confidence)[0]


def _changes(
    before: RunFacts, old: Mapping[str, Json], new: Mapping[str, Json], names: Sequence[str], quantile: str
) -> list[Change]:
    """All cells at one quantile, one family for Holm."""
    protocol = before.protocol
    confidence = protocol.get("confidence", 0.95)
    found = []
    for name in names:
        values = [_values(cells[name], quantile) for cells in (old, new)]
        fastest = min((value for side in values for value in side), default=1)
        candidates = [
            Margin(protocol.get("margin_ratio", 0.01), "margin_ratio"),
            Margin(protocol.get("margin_ns", 250) / max(fastest, 1), "margin_ns"),
        ]
        margin = max(candidates, key=lambda margin: margin.ratio)
        comparison = compare_blocks(*values, margin=margin, confidence=confidence, seed=before.seed)
        blocks = (len(values[0]), len(values[1]))
        versions = (old[name]["version"], new[name]["version"])
        found.append(Change(name, quantile, comparison, blocks, versions))
    family = correct([change.comparison for change in found], confidence=confidence)
    return [
        Change(change.cell, quantile, comparison, change.blocks, change.versions)
        for change, comparison in zip(found, family, strict=True)
    ]


def _warnings(
    before: RunFacts, after: RunFacts, names: Sequence[str], changes: Sequence[Change]
) -> Iterator[str]:
    for fact in HOST_FACTS:
        was, became = before.host.get(fact), after.host.get(fact)
        if was != became:
            yield f"the hosts differ: {fact} was {was}, is {became}"
    for key in sorted(before.protocol.keys() | after.protocol.keys()):
        was, became = before.protocol.get(key), after.protocol.get(key)
        if was != became:
            yield f"the protocols differ: {key} was {was}, is {became}"
    old, new = _cells(before), _cells(after)
    for name in names:
        yield from _cell_warnings(old[name], new[name])
    yield from _drift(old, new, changes)
    few = sorted({change.cell for change in changes if min(change.blocks) < FEWEST_BLOCKS})
    if few:
        yield f"fewer than {FEWEST_BLOCKS} blocks in one of the runs decide nothing: {', '.join(few)}"
    for facts in (before, after):
        if not facts.findings["complete"]:
            yield f"{facts.findings['run']} is not complete"


def _cell_warnings(was: Json, became: Json) -> Iterator[str]:
    if was["toolchain"] != became["toolchain"]:
        yield f"{was['cell']}: the toolchain was {was['toolchain']}, is {became['toolchain']}"
    for option in sorted(was["options"].keys() | became["options"].keys()):
        values = [cell["options"].get(option) for cell in (was, became)]
        if values[0] != values[1]:
            yield f"{was['cell']}: {option} was {values[0]}, is {values[1]}"


def _drift(old: Mapping[str, Json], new: Mapping[str, Json], changes: Sequence[Change]) -> Iterator[str]:
    """Nothing about them changed, and yet they did: then the machine did."""
    for change in changes:
        was, became = old[change.cell], new[change.cell]
        same = all(was[key] == became[key] for key in ("version", "toolchain", "options"))
        if same and change.comparison.outcome == "different":
            yield (
                f"{change.cell} changed by {change.comparison.ratio:.3f} at {change.quantile} with the same "
                "version, toolchain and options: the machine may have changed, and the others with it"
            )


def _cells(facts: RunFacts) -> dict[str, Json]:
    return {cell["cell"]: cell for cell in facts.findings["cells"]}


def _quantiles(facts: RunFacts) -> list[str]:
    return list(
        dict.fromkeys(name for question in facts.findings["questions"] for name in question["quantiles"])
    )


def _values(cell: Json, quantile: str) -> list[int]:
    return [line[quantile] for line in cell["per_block"] if line.get(quantile) is not None]
