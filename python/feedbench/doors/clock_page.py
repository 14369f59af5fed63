"""How well an exchange's clock is known, as an object for files and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from feedbench.clock_offset.discipline import ClockDiscipline
from feedbench.clock_offset.estimate import OffsetEstimate, estimate_offset
from feedbench.clock_offset.sample import ClockSample
from feedbench.paths import SCHEMA
from feedbench.report.numbers import duration


def clock_document(samples: Sequence[ClockSample], discipline: ClockDiscipline) -> dict[str, Any]:
    """Of one sample or more. Offsets are the exchange's Unix time less the local monotonic clock."""
    return {
        "schema": SCHEMA,
        **offset_document(estimate_offset(samples)),
        "round_trips_ns": [sample.round_trip_ns for sample in samples],
        "discipline": discipline.in_words,
    }


def offset_document(offset: OffsetEstimate) -> dict[str, Any]:
    """`offset_low_ns` and `offset_high_ns` are at the sample with the shortest round trip; null, like
    `half_width_ns`, where no steadily running clock explains all samples, and `contradiction` says so.
    """
    bounds, drift = offset.bounds, offset.drift
    within = bounds.above_base(bounds.reference_ns) if bounds else None
    return {
        "samples": offset.samples,
        "paper_offset_ns": round(offset.paper_offset_ns),
        "best_offset_ns": round(offset.best_offset_ns),
        "best_half_width_ns": offset.best_bounds_ns.width / 2,
        "offset_low_ns": bounds.base_ns + round(within.low) if bounds and within else None,
        "offset_high_ns": bounds.base_ns + round(within.high) if bounds and within else None,
        "half_width_ns": within.width / 2 if within else None,
        "drift_bounds_ppm": [bounds.drift_ppm.low, bounds.drift_ppm.high] if bounds else None,
        "drift_ppm": drift.ppm if drift else None,
        "drift_interval_ppm": [drift.interval_ppm.low, drift.interval_ppm.high] if drift else None,
        "contradiction": offset.contradiction,
    }


def clock_lines(clock: Mapping[str, Any] | None) -> Iterator[str]:
    """For people; None when nobody asked for the time."""
    if clock is None:
        yield "The exchange's clock was not asked, so no age is known."
        return
    if clock["contradiction"]:
        yield f"The exchange's clock: {clock['contradiction']}; every age is undecided."
    else:
        middle_ns = (clock["offset_low_ns"] + clock["offset_high_ns"]) // 2
        away = duration(abs(clock["paper_offset_ns"] - middle_ns))
        yield (
            f"The exchange's clock is known to ±{duration(clock['half_width_ns'])} from {clock['samples']} "
            f"questions; the paper's figure, the median of the first five, lies {away} from its middle."
        )
        if clock["drift_interval_ppm"] is not None:
            low, high = clock["drift_interval_ppm"]
            yield f"It gains {clock['drift_ppm']:.3g} ppm [{low:.3g}, {high:.3g}] on this machine's clock."
    yield f"This machine's clock: {clock['discipline']}"
