"""What each target is and what it takes to have it: code, dependencies, build, start."""

from __future__ import annotations

from collections.abc import Iterator

from feedbench.analyze.cells import estimate
from feedbench.analyze.evidence import Evidence
from feedbench.analyze.intervals import lower_median
from feedbench.findings import TargetFinding


def target_findings(evidence: Evidence) -> Iterator[TargetFinding]:
    """Each target of the plan that is ranked or could be, by its first process: its least unusual knobs."""
    plan = evidence.plan
    seen = set()
    for process in plan.processes:
        if process.copy is not None or process.target in seen:
            continue
        seen.add(process.target)
        receipt = evidence.receipts.get(process.target, {})
        starts = evidence.starts.get(process.id, [])
        yield TargetFinding(
            target=process.target,
            version=receipt.get("version"),
            source_lines=receipt.get("source_lines"),
            direct_dependencies=receipt.get("direct_dependencies"),
            all_dependencies=receipt.get("all_dependencies"),
            build_seconds=receipt.get("seconds"),
            start_up_ns=estimate([start["start_up_ns"] for start in starts], plan.protocol.confidence),
            start_rss_bytes=int(lower_median([start["rss_bytes"] for start in starts])) if starts else None,
        )
