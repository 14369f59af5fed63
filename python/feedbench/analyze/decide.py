"""Decisions about two targets: `different`, `equivalent` or `undecided`, from one log ratio a block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from feedbench.analyze.holm import holm
from feedbench.analyze.intervals import t_interval, welch_interval
from feedbench.analyze.signflip import null_mean_bound, sign_flip_p
from feedbench.analyze.studentized import studentized_p
from feedbench.findings import Comparison
from feedbench.findings.comparison import Margin, Outcome

Values = Mapping[int, int]  # block → quantile in ns

# Below this many blocks no two-sided exact test reaches 5 %, and two blocks that happen to agree prove
# nothing.
FEWEST_BLOCKS = 6


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
    blocks: int | None = None,
    confidence: float,
    seed: int,
) -> Margin:
    """max(ratio, absolute margin as a ratio, what the sentinel shows of this run's noise) for the targets'
    `values`. `blocks`: over how many their means are taken, where they are fewer than the sentinel's.

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
    fewer = math.sqrt(len(sentinel) / blocks) if blocks and sentinel else 1.0
    bound = math.expm1(null_mean_bound(sentinel, confidence, seed=seed) * max(fewer, 1.0))
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
        margin=margin.ratio,
        outcome="undecided",
    )
    return replace(comparison, outcome=outcome(comparison, confidence=confidence))


def compare_unpaired(
    first: Values, second: Values, margin: Margin, *, confidence: float, seed: int, draws: int
) -> Comparison:
    """Two cells that seldom or never met, by their adjusted values (adjust.py): Welch's interval, and p from
    the studentized permutation test. `blocks` is the smaller of their numbers of blocks.
    """
    logs = [[math.log(max(value, 1)) for value in values.values()] for values in (first, second)]
    interval = welch_interval(logs[0], logs[1], confidence)
    p = studentized_p(*logs, seed=seed, draws=draws)
    means = [math.fsum(values) / len(values) for values in logs if values]
    comparison = Comparison(
        blocks=min(len(values) for values in logs),
        ratio=math.exp(means[0] - means[1]) if len(means) == 2 else None,
        interval=(math.exp(interval[0]), math.exp(interval[1])) if interval else None,
        p=p,
        p_holm=p,
        margin=margin.ratio,
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
    limit = math.log1p(comparison.margin)
    # The rounding of 1 − 0.95 must not cost a test whose p is exactly 5 %.
    significant = comparison.p_holm <= 1 - confidence + 1e-12
    if significant and abs(math.log(comparison.ratio)) > limit:
        return "different"
    low, high = (math.log(bound) for bound in comparison.interval)
    return "equivalent" if -limit <= low and high <= limit else "undecided"
