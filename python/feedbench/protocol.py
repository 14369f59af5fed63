"""How it is measured: blocks and slices (Protocol), what spoils a block (Gates), what must hold (Expect).

The reasons for each default are in METHODOLOGY.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """`slice_ns` None: targets one after the other; warm-up and measuring are per cell and block.

    `per_block`: how many targets a block holds besides reference, sentinel and control; None: all.
    """

    blocks: int = 11
    slice_ns: int | None = 25_000_000
    drop_first: float = 0.10
    warmup_ns: int = 1_000_000_000
    measure_ns: int = 1_000_000_000
    quantiles: tuple[str, ...] = ("p50", "p99")
    margin_ratio: float = 0.01
    margin_ns: int = 250
    confidence: float = 0.95
    pin: bool = True
    shield: bool = True
    cpus_awake: bool = True
    per_block: int | None = None


@dataclass(frozen=True)
class Gates:
    """Limits on the environment, blind to the target; a block beyond one is shown, but not used."""

    lateness_p999_share: float = 0.10
    achieved_rate_share: float = 0.01
    steal_share: float = 0.005
    run_delay_share: float = 0.05
    engine_stalls: float = 5
    exchange_run_delay_share: float = 0.10


@dataclass(frozen=True)
class Expect:
    """It ran right when no more messages of a cell than these are lost, duplicated, out of order or wrong."""

    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    wrong: int = 0
