"""Blocks that do not hold all targets, made comparable: each value without what its block did to everybody.

In log units a value is taken to be target + block + its own chance. Both effects are fitted by median polish
(Tukey 1977), so that one restless target does not shift a whole block; then each value is adjusted by the
median of what the *others* of its block show. Leaving itself out keeps a value from hiding part of its own
deviation, which would make every comparison look more certain than it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

MOST_SWEEPS = 200
SETTLED = 1e-9  # in log units: far below a nanosecond of any latency

Values = Mapping[int, int]  # block → quantile in ns


def adjusted(values: Mapping[str, Values]) -> dict[str, dict[int, int]]:
    """By cell and block, in ns as in the run's typical block. A block in which a cell was alone is left out.

    `values` holds all cells of one round, copies too: the more of them, the better a block is known.
    """
    logs = {
        cell: {block: math.log(max(value, 1)) for block, value in blocks.items()}
        for cell, blocks in values.items()
    }
    inside: dict[int, list[str]] = {}
    for cell, blocks in logs.items():
        for block in blocks:
            inside.setdefault(block, []).append(cell)
    present = {block: cells for block, cells in inside.items() if len(cells) > 1}
    of_cell, of_block = _polish(logs, present)
    typical = median(of_block.values()) if of_block else 0.0
    result: dict[str, dict[int, int]] = {}
    for cell, blocks in logs.items():
        result[cell] = {}
        for block, value in blocks.items():
            if block in present:
                others = [logs[other][block] - of_cell[other] for other in present[block] if other != cell]
                result[cell][block] = round(math.exp(value - median(others) + typical))
    return result


def _polish(
    logs: Mapping[str, Mapping[int, float]], present: Mapping[int, list[str]]
) -> tuple[dict[str, float], dict[int, float]]:
    """The effects of cells and of blocks: sweeps of medians until they settle."""
    of_cell = dict.fromkeys(logs, 0.0)
    of_block = dict.fromkeys(present, 0.0)
    for _ in range(MOST_SWEEPS):
        moved = 0.0
        for block, cells in present.items():
            effect = median(logs[cell][block] - of_cell[cell] for cell in cells)
            moved = max(moved, abs(effect - of_block[block]))
            of_block[block] = effect
        for cell, blocks in logs.items():
            left = [value - of_block[block] for block, value in blocks.items() if block in present]
            of_cell[cell] = median(left) if left else 0.0
        if moved < SETTLED:
            break
    return of_cell, of_block
