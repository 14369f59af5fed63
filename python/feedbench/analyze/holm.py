"""Holm's step-down correction for testing several hypotheses (Holm 1979, Scandinavian Journal of Statistics
6).
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values in the order given: reject those at or below α, and P(any false rejection) ≤ α."""
    adjusted = [1.0] * len(p_values)
    floor = 0.0
    for step, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        floor = max(floor, min(1.0, (len(p_values) - step) * p_values[index]))
        adjusted[index] = floor
    return adjusted
