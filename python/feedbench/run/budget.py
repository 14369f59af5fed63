"""Whether another block fits into the time that the scenario allows."""

from __future__ import annotations

from collections.abc import Sequence


def next_block_ns(measured_ns: Sequence[int], *, planned_ns: int) -> int:
    """How long the next block will take: as the longest so far, or as planned before there is one."""
    return max(measured_ns, default=planned_ns)


def allows_another(
    *, budget_ns: int | None, spent_ns: int, measured_ns: Sequence[int], planned_ns: int
) -> bool:
    """Whether the next block would end within the budget. The first is always allowed: none is no result."""
    if budget_ns is None or not measured_ns:
        return True
    return spent_ns + next_block_ns(measured_ns, planned_ns=planned_ns) <= budget_ns


def time_left_ns(
    *,
    budget_ns: int | None,
    spent_ns: int,
    measured_ns: Sequence[int],
    planned_ns: int,
    blocks_left: int,
    within_ns: int,
) -> int:
    """The time left: of the blocks still to come, or of the budget if that ends sooner; `within_ns` into this
    block.
    """
    each_ns = next_block_ns(measured_ns, planned_ns=planned_ns)
    left_ns = max(0, each_ns * blocks_left - within_ns)
    if budget_ns is None:
        return left_ns
    return min(left_ns, max(0, budget_ns - spent_ns - within_ns))
