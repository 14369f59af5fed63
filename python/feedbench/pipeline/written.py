"""A study's tables and figures, and the drawings of these: what its pages show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from feedbench.analyze.table import Table
from feedbench.report.figures.figure import Figure


@dataclass(frozen=True)
class Written:
    """`beside` are ours beside the printed ones. `drawings`: SVG by the figure's name."""

    tables: tuple[Table, ...]
    beside: tuple[Table, ...]
    figures: tuple[Figure, ...]
    drawings: Mapping[str, str]
