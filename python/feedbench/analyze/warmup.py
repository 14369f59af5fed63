"""How a cell's latency moves while it runs: the change-point classes of Barrett et al. (Krun, OOPSLA 2017).

`flat`: no change that matters · `warmup`: it ends at its fastest, after something slower · `slowdown`: it
ends slower than it once was · `no_steady_state`: it still changes near the end of the measurement.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import ruptures
from numpy.typing import NDArray

WarmupClass = Literal["flat", "warmup", "slowdown", "no_steady_state"]
# From harmless to harmful.
CLASSES: tuple[WarmupClass, ...] = ("flat", "warmup", "slowdown", "no_steady_state")

# Barrett et al. use 15·log n times the variance: far fewer false changes than the usual 3·log n finds.
PENALTY = 15.0
# Levels within 3 % count as one: well above what a 25 ms slice's median wanders by, below any JIT's first
# step.
SAME_LEVEL = math.log(1.03)
# Change points in the last quarter: it can't be said what it would have settled at.
UNSETTLED_SHARE = 0.25
FEWEST_POINTS = 8


def classify(series_ns: Sequence[int]) -> WarmupClass:
    """The class of a series of medians in time order; `flat` when it is too short to tell."""
    if len(series_ns) < FEWEST_POINTS:
        return "flat"
    levels = _levels(np.log(np.maximum(np.asarray(series_ns, np.float64), 1.0)))
    if len(levels) == 1:
        return "flat"
    last, fastest = levels[-1], min(levels, key=lambda level: level[1])
    if last[0] >= len(series_ns) * (1 - UNSETTLED_SHARE):
        return "no_steady_state"
    return "slowdown" if last[1] > fastest[1] + SAME_LEVEL else "warmup"


@dataclass(frozen=True)
class Course:
    """Medians of one process in time order, in ns: of its warm-up's bins, and of its slices (`interleaved`
    with other targets') or equal parts of an unsliced measurement.
    """

    warmup_ns: tuple[int, ...]
    measured_ns: tuple[int, ...]
    interleaved: bool


def without_machine(courses: Sequence[Course]) -> list[Course]:
    """The courses of one round in one block, without what all of them do at the same time.

    A machine changes its own level for seconds (29 to 39 µs and back, seen in every target's slices at once).
    So the k-th slices of all targets, each relative to its own median, show the machine's course in their
    median; the rest is the target's own. Two targets can't outvote each other, so it takes three.
    """
    together = [course for course in courses if course.interleaved]
    length = min((len(course.measured_ns) for course in together), default=0)
    if len(together) < 3 or length == 0:
        return list(courses)
    relative = np.array([course.measured_ns[:length] for course in together], np.float64)
    relative /= np.maximum(np.median(relative, axis=1, keepdims=True), 1.0)
    machine = np.median(relative, axis=0)
    return [
        replace(course, measured_ns=tuple(map(int, course.measured_ns[:length] / machine)))
        if course.interleaved
        else course
        for course in courses
    ]


def classify_block(course: Course) -> WarmupClass:
    """The class of one process: what was measured decides; else whether the warm-up before it was needed.

    The two are never joined to one series: a slice begins after other targets had the CPU, a warm-up bin does
    not, and that step would pass for a change of the target.
    """
    measured = classify(course.measured_ns)
    if measured != "flat":
        return measured
    before = classify(course.warmup_ns)
    # It moved until the end of the warm-up, and is steady since.
    return "warmup" if before == "no_steady_state" else before


def classify_cell(blocks: Sequence[WarmupClass]) -> WarmupClass:
    """The most harmful class that more than a quarter of the blocks show, so that one odd block convicts
    nobody.
    """
    counts = Counter(blocks)
    frequent = [name for name in CLASSES if counts[name] * 4 > len(blocks)]
    return frequent[-1] if frequent else "flat"


def _levels(series: NDArray[np.float64]) -> list[tuple[int, float]]:
    """(first index, mean) of each segment; neighbours on the same level are one segment."""
    # A single stall is an outlier, not a level: clip beyond Tukey's fences, widened as Barrett et al. do.
    low, high = np.percentile(series, [10, 90])
    reach = 3 * (high - low)
    clipped = np.clip(series, low - reach, high + reach)
    # The noise is what neighbours differ by; the variance of the whole would hold the changes themselves.
    steps = np.diff(clipped)
    variance = (float(np.median(np.abs(steps))) / 0.6745) ** 2 / 2
    # Without any noise every rounding would be a change.
    penalty = PENALTY * math.log(series.size) * max(variance, (SAME_LEVEL / 10) ** 2)
    ends = ruptures.KernelCPD(kernel="linear", min_size=2).fit(clipped.reshape(-1, 1)).predict(pen=penalty)
    levels: list[tuple[int, float]] = []
    begin = 0
    for end in ends:
        mean = float(clipped[begin:end].mean())
        if not levels or abs(mean - levels[-1][1]) > SAME_LEVEL:
            levels.append((begin, mean))
        begin = end
    return levels
