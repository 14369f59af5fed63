"""Decisions about two targets: `different`, `equivalent` or `undecided`, from one log ratio a block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from feedbench.analyze.holm import holm
from feedbench.analyze.intervals import t_interval
from feedbench.analyze.signflip import null_mean_bound, sign_flip_p

Outcome = Literal["different", "equivalent", "undecided"]
MarginSource = Literal["margin_ratio", "margin_ns", "sentinel"]
Values = Mapping[int, int]  # block → quantile in ns

# Below this many blocks no two-sided exact test reaches 5 %, and two blocks that happen to agree prove
# nothing.
FEWEST_BLOCKS = 6


@dataclass(frozen=True)
class Margin:
    """A difference up to `ratio` (0.01: one per cent, either way) has no consequence, or is within this run's
    noise.
    """

    ratio: float
    source: MarginSource

    @property
    def log(self) -> float:
        return math.log1p(self.ratio)


@dataclass(frozen=True)
class Comparison:
    """first / second by blocks: geometric mean of the ratios, its t interval and its exact p; None when
    unknown.
    """

    blocks: int
    ratio: float | None
    interval: tuple[float, float] | None
    p: float
    p_holm: float
    margin: Margin
    outcome: Outcome


def log_ratios(first: Values, second: Values) -> dict[int, float]:
    """log(first/second) for each block that has both; a value of 0 ns has no logarithm and counts as 1 ns."""
    common = sorted(first.keys() & second.keys())
    return {block: math.log(max(first[block], 1) / max(second[block], 1)) for block in common}


def margin_of(
    values: Sequence[Values],
    *,
    margin_ratio: float,
    margin_ns: int,
    sentinel: Sequence[float] = (),
    confidence: float,
    seed: int,
) -> Margin:
    """max(ratio, absolute margin as a ratio, what the sentinel shows of this run's noise) for the targets'
    `values`.

    The absolute margin is taken relative to the fastest target, where it weighs most.

    The sentinel's part. The protocol's "95th percentile of |A/A|" is about campaigns: which difference would
    this campaign find between two copies of one program, 19 times in 20? What is compared with the margin is
    the *mean* of B log ratios, so a percentile of the single blocks' |log ratio| would be too wide by about
    √B; and of campaigns we have one. But the copies are exchangeable, so each sign is a coin toss, and the
    sign-flip distribution of the sentinel's mean is the distribution over campaigns with this noise. Its 95th
    percentile is the margin. It needs no assumption about shape, shrinks with more blocks as the means that
    it judges do, and is 0 for perfect copies.
    """
    fastest = min((value for blocks in values for value in blocks.values()), default=0)
    bound = math.expm1(null_mean_bound(sentinel, confidence, seed=seed))
    candidates = [
        Margin(margin_ratio, "margin_ratio"),
        Margin(margin_ns / fastest if fastest else 0.0, "margin_ns"),
        Margin(bound, "sentinel"),
    ]
    return max(candidates, key=lambda margin: margin.ratio)


def compare_paired(
    ratios: Mapping[int, float], margin: Margin, *, confidence: float, seed: int
) -> Comparison:
    """One pair by itself: p is not yet corrected for others, and the outcome stands for a family of one."""
    values = list(ratios.values())
    p = sign_flip_p(values, seed=seed)
    interval = t_interval(values, confidence)
    comparison = Comparison(
        blocks=len(values),
        ratio=math.exp(math.fsum(values) / len(values)) if values else None,
        interval=(math.exp(interval[0]), math.exp(interval[1])) if interval else None,
        p=p,
        p_holm=p,
        margin=margin,
        outcome="undecided",
    )
    return replace(comparison, outcome=outcome(comparison, confidence=confidence))


def correct(family: Sequence[Comparison], *, confidence: float) -> list[Comparison]:
    """The family's comparisons with p by Holm, and the outcomes that follow."""
    adjusted = [
        replace(comparison, p_holm=p_holm)
        for comparison, p_holm in zip(family, holm([comparison.p for comparison in family]), strict=True)
    ]
    return [
        replace(comparison, outcome=outcome(comparison, confidence=confidence)) for comparison in adjusted
    ]


def outcome(comparison: Comparison, *, confidence: float) -> Outcome:
    """Different: significant after correction and beyond the margin. Equivalent: interval inside ±margin."""
    if comparison.ratio is None or comparison.interval is None or comparison.blocks < FEWEST_BLOCKS:
        return "undecided"
    limit = comparison.margin.log
    # The rounding of 1 − 0.95 must not cost a test whose p is exactly 5 %.
    significant = comparison.p_holm <= 1 - confidence + 1e-12
    if significant and abs(math.log(comparison.ratio)) > limit:
        return "different"
    low, high = (math.log(bound) for bound in comparison.interval)
    return "equivalent" if -limit <= low and high <= limit else "undecided"
