"""A table of clients × servers, measured in every block, taken apart: client, server, interaction, residual.

In log units a cell of block b is  block + client + server + interaction + chance.  What strikes a whole block
is taken out first. The four parts are variances over the cells of the table, so that they add up; those of
the effects are estimated from products of *different* blocks, whose chance is independent, and so are not
inflated by it, as sums of squares of mean effects would be.

Blocks are the random unit throughout: a server process serves all clients of its block, so the cells of a
block are not independent repeats. Whether a part is there at all is decided by a sign-flip test of whole
blocks (exact up to 20 of them); intervals of effects are Student's over blocks; those of shares come from the
jackknife that leaves out one block at a time (nominal 95 % cover 92 % and more in simulated campaigns of
eight to fifteen blocks, `tests/analyze/test_analyze_variance.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from feedbench.analyze.holm import holm
from feedbench.analyze.intervals import t_interval
from feedbench.analyze.signflip import sign_flip_p_of_vectors
from feedbench.findings.comparison import Interval
from feedbench.findings.crossing import Part, PartFinding

Logs = NDArray[np.float64]  # (blocks, clients, servers): the logarithm of a latency
EFFECTS: tuple[Part, ...] = ("client", "server", "interaction")


@dataclass(frozen=True)
class Effects:
    """By block, in log units, each freed of the block and of the parts before it: they add up to the cell."""

    client: NDArray[np.float64]  # (blocks, clients)
    server: NDArray[np.float64]  # (blocks, servers)
    interaction: NDArray[np.float64]  # (blocks, clients, servers)

    @property
    def vectors(self) -> tuple[NDArray[np.float64], ...]:
        """(blocks, elements) of each part, in the order of EFFECTS."""
        return tuple(part.reshape(len(part), -1) for part in (self.client, self.server, self.interaction))


def effects_of(logs: Logs) -> Effects:
    within = logs - logs.mean(axis=(1, 2), keepdims=True)
    client, server = within.mean(axis=2), within.mean(axis=1)
    return Effects(client, server, within - client[:, :, None] - server[:, None, :])


def variances(logs: Logs) -> NDArray[np.float64]:
    """Of client, server, interaction and residual, over the cells of the table; needs two blocks.

    The first three are unbiased and so may come out below zero.
    """
    blocks = len(logs)
    found = []
    for vectors in effects_of(logs).vectors:
        total = vectors.sum(axis=0)
        # Σ over pairs of different blocks: (Σu)² − Σu².
        products = float(total @ total) - float((vectors**2).sum())
        found.append(products / (blocks * (blocks - 1)) / vectors.shape[1])
    within = logs - logs.mean(axis=(1, 2), keepdims=True)
    residual = float(((within - within.mean(axis=0)) ** 2).sum()) / (blocks - 1) / within[0].size
    return np.array([*found, residual])


def shares(logs: Logs) -> NDArray[np.float64]:
    """The same as shares of their sum; what is below zero counts as zero."""
    parts = np.maximum(variances(logs), 0)
    whole = float(parts.sum())
    return parts / whole if whole > 0 else np.zeros_like(parts)


def split(logs: Logs, *, confidence: float, seed: int) -> tuple[PartFinding, ...]:
    """The four parts; needs three blocks. A part is `found` when Holm leaves its p within 1 − confidence."""
    found, (low, high) = shares(logs), jackknife(logs, shares, confidence)
    factors = np.exp(np.sqrt(np.maximum(variances(logs), 0)))
    p = [sign_flip_p_of_vectors(vectors, seed=seed) for vectors in effects_of(logs).vectors]
    tests: list[tuple[float, float] | tuple[None, None]] = [*zip(p, holm(p), strict=True), (None, None)]
    return tuple(
        PartFinding(
            part=part,
            share=float(found[place]),
            interval=(max(0.0, float(low[place])), min(1.0, float(high[place]))),
            factor=float(factors[place]),
            p=tests[place][0],
            p_holm=tests[place][1],
            found=_passes(tests[place][1], confidence),
        )
        for place, part in enumerate((*EFFECTS, "residual"))
    )


def _passes(p_holm: float | None, confidence: float) -> bool:
    # The rounding of 1 − 0.95 must not cost a test whose p is exactly 5 %.
    return p_holm is not None and p_holm <= 1 - confidence + 1e-12


def jackknife(
    logs: Logs, statistic: Callable[[Logs], NDArray[np.float64]], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds of each of the statistic's values: leave out one block, Student's quantile."""
    blocks = len(logs)
    without = np.array([statistic(np.delete(logs, block, axis=0)) for block in range(blocks)])
    error = np.sqrt((blocks - 1) / blocks * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    half = float(stats.t.ppf((1 + confidence) / 2, blocks - 1)) * error
    value = statistic(logs)
    return value - half, value + half


def ratio_of(log_ratios: NDArray[np.float64], confidence: float) -> tuple[float, Interval]:
    """One log ratio a block → their geometric mean and Student's interval; needs two blocks."""
    interval = t_interval(list(map(float, log_ratios)), confidence)
    if interval is None:
        raise ValueError("an interval over blocks needs two of them")
    return math.exp(float(log_ratios.mean())), (math.exp(interval[0]), math.exp(interval[1]))
