"""Campaigns out of thin air: two targets, message by message, with the noise that real ones have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from feedbench.analyze import quantiles
from feedbench.analyze.decide import Comparison, compare_paired, correct, log_ratios, margin_of
from synthetic_run import chain

QUANTILES = ("p50", "p99")


@dataclass(frozen=True)
class Noise:
    """`weather`: what both targets of a block share, in two modes 28 % apart with a spread around them;
    `process`: what is a process's own, in modes too if `process_mode` is not 1. Deviations: of log latency.
    """

    weather_mode: float = 1.28
    weather_sd: float = 0.05
    process_mode: float = 1.0
    process_sd: float = 0.004
    autocorrelation: float = 0.6


Values = dict[str, dict[int, int]]  # quantile → block → ns


def campaign(
    seed: int,
    *,
    noise: Noise,
    delay_ns: int = 0,
    blocks: int = 11,
    messages: int = 1_500,
    median_ns: int = 40_000,
) -> tuple[Values, Values]:
    """Two targets that are the same program but for `delay_ns` in the second, block by block."""
    random = np.random.default_rng(seed)
    weather = np.exp(random.normal(0, noise.weather_sd, blocks)) * _modes(random, noise.weather_mode, blocks)
    pair = []
    for added_ns in (0, delay_ns):
        own = np.exp(random.normal(0, noise.process_sd, blocks)) * _modes(random, noise.process_mode, blocks)
        latency = chain(
            random,
            median_ns=median_ns * weather * own + added_ns,
            length=messages,
            autocorrelation=noise.autocorrelation,
        )
        latency.sort(axis=1)
        pair.append({name: _values(latency, name) for name in QUANTILES})
    return pair[0], pair[1]


def decide(
    first: Values, second: Values, *, sentinel: tuple[Values, Values] | None = None
) -> dict[str, Comparison]:
    """As the analysis does for a pair by itself, all quantiles one family, by the default protocol."""
    family = []
    for name in QUANTILES:
        ratios = log_ratios(sentinel[0][name], sentinel[1][name]) if sentinel else {}
        margin = margin_of(
            [first[name], second[name]],
            margin_ratio=0.01,
            margin_ns=250,
            sentinel=list(ratios.values()),
            confidence=0.95,
            seed=1,
        )
        family.append(compare_paired(log_ratios(first[name], second[name]), margin, confidence=0.95, seed=1))
    return dict(zip(QUANTILES, correct(family, confidence=0.95), strict=True))


def _modes(
    random: np.random.Generator, slow: float, count: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(random.random(count) < 0.5, slow, 1.0)


def _values(ascending: np.ndarray[tuple[int, int], np.dtype[np.uint64]], name: str) -> dict[int, int]:
    share = quantiles.parse_quantile(name)
    values = {block: quantiles.gated(row, share) for block, row in enumerate(ascending)}
    return {block: value for block, value in values.items() if value is not None}
