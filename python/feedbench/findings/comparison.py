"""Two cells against each other: what their blocks show, and the three places where that is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from feedbench.typed_json import INLINED, named

Interval = tuple[float, float]
Outcome = Literal["different", "equivalent", "undecided"]
MarginSource = Literal["margin_ratio", "margin_ns", "sentinel"]


@dataclass(frozen=True)
class Margin:
    """A difference up to `ratio` (0.01: one per cent, either way) has no consequence, or is within this run's
    noise.
    """

    ratio: float
    source: MarginSource = field(metadata=named("from"))


@dataclass(frozen=True)
class Comparison:
    """first / second by blocks: geometric mean of the ratios, its t interval and its exact p; None when
    unknown. `margin` is the ratio of the one that it was held against.
    """

    outcome: Outcome = field(metadata=named("decision"))
    ratio: float | None
    interval: Interval | None
    p: float
    p_holm: float
    margin: float
    blocks: int


@dataclass(frozen=True)
class Decision:
    """About two labels at one quantile; a ratio below 1 says that the first is faster."""

    pair: tuple[str, str]
    cells: tuple[str, str]
    quantile: str
    comparison: Comparison = field(metadata=INLINED)
    cliffs_delta: float | None

    @property
    def outcome(self) -> Outcome:
        return self.comparison.outcome


@dataclass(frozen=True)
class SentinelFinding:
    """Two copies of one target: `passed` unless they came out different at any declared quantile."""

    passed: bool
    pair: tuple[str, str]
    decisions: Mapping[str, Comparison]


@dataclass(frozen=True)
class ControlFinding:
    """A copy delayed by a known time: `passed` when it was found, with the right sign and size."""

    passed: bool
    pair: tuple[str, str]
    delay_ns: int
    expected_ns: tuple[int, int | None]
    found_ns: int | None
    interval_ns: tuple[int, int] | None
    comparison: Comparison = field(metadata=INLINED)

    @property
    def sensitive(self) -> bool:
        """Found to be different, whatever its sign and size."""
        return self.comparison.outcome == "different"
