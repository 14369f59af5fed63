"""What a run found, as values, and their form in findings.json (spec/README.md, findings.schema.json).

The analysis makes them, the report draws them from the file: both know them from here. Nothing here computes,
so whoever only reads findings need not load what the analysis computes with.
"""

from feedbench.findings.cell import CellFinding, Estimate
from feedbench.findings.comparison import Comparison, ControlFinding, Decision, Interval, SentinelFinding
from feedbench.findings.crossing import CrossingFinding, LevelEffect, OwnPairs, PartFinding
from feedbench.findings.question import (
    DroppedBlock,
    GateFinding,
    LatencyEstimate,
    QuestionFinding,
    Ranked,
)
from feedbench.findings.relay import RelayFinding
from feedbench.findings.whole import (
    Advice,
    Findings,
    ImpossibleFinding,
    NotMeasured,
    OptionsFinding,
    TargetFinding,
    read_findings,
)

__all__ = [
    "Advice",
    "CellFinding",
    "Comparison",
    "ControlFinding",
    "CrossingFinding",
    "Decision",
    "DroppedBlock",
    "Estimate",
    "Findings",
    "GateFinding",
    "ImpossibleFinding",
    "Interval",
    "LatencyEstimate",
    "LevelEffect",
    "NotMeasured",
    "OptionsFinding",
    "OwnPairs",
    "PartFinding",
    "QuestionFinding",
    "Ranked",
    "RelayFinding",
    "SentinelFinding",
    "TargetFinding",
    "read_findings",
]
