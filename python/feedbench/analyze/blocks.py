"""What one cell gave in one block, its messages boiled down to what the analysis needs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from feedbench.analyze import quantiles
from feedbench.analyze.effects import sample_messages
from feedbench.analyze.evidence import CellBlock
from feedbench.analyze.impossible import Witness
from feedbench.analyze.slices import in_time, medians, slices_of
from feedbench.analyze.warmup import Course
from feedbench.errors import RunDirectoryError
from feedbench.samples import Nanoseconds, Samples, read_samples


@dataclass(frozen=True)
class BlockValues:
    """`quantiles` in ns from the intended send time, None where too few messages allow it; latencies
    ascending.
    """

    block: int
    quantiles: Mapping[str, int | None]
    latency_ns: Nanoseconds
    latency_from_send_ns: Nanoseconds
    sampled_ns: Nanoseconds
    course: Course
    witness: Witness
    cut_short: bool


def read_block(result: CellBlock, names: Sequence[str], *, straddling: int) -> BlockValues | None:
    """Reads the samples of a usable cell; None when it left no readable sample file."""
    try:
        samples = read_samples(result.folder / "samples.fbs")
    except RunDirectoryError:
        return None
    bins = ((result.load or {}).get("warmup") or {}).get("bins") or []
    return boil_down(
        samples,
        result.block,
        names,
        warmup_ns=[part["p50"] for part in bins if part["count"]],
        straddling=straddling,
    )


def boil_down(
    samples: Samples, block: int, names: Sequence[str], *, warmup_ns: Sequence[int], straddling: int
) -> BlockValues:
    """`names`: the quantiles wanted; `warmup_ns`: medians of the warm-up's bins in time order.

    `straddling`: how many messages can lie across an edge of the measured windows.
    """
    latency, from_send = samples.latency_ns, samples.latency_from_send_ns
    slices = slices_of(samples.records["slice"])
    ascending = np.sort(latency)
    # In a closed loop each message is sent when it was meant to be; then the two are one.
    same = np.array_equal(samples.records["intended_ns"], samples.records["sent_ns"])
    shares = {name: quantiles.parse_quantile(name) for name in names}
    return BlockValues(
        block=block,
        quantiles={name: quantiles.gated(ascending, share) for name, share in shares.items()},
        latency_ns=ascending,
        latency_from_send_ns=ascending if same else np.sort(from_send),
        sampled_ns=sample_messages(latency, slices),
        course=Course(tuple(warmup_ns), tuple(medians(latency, in_time(slices))), len(slices) > 1),
        witness=_witness(samples, ascending, from_send, straddling),
        cut_short=not samples.complete,
    )


def _witness(samples: Samples, ascending: Nanoseconds, from_send: Nanoseconds, straddling: int) -> Witness:
    backwards = int(np.count_nonzero(samples.records["received_ns"] < samples.records["sent_ns"]))
    p50, p99 = (
        quantiles.at(ascending, share) if len(ascending) else None
        for share in (Fraction(1, 2), Fraction(99, 100))
    )
    return Witness(
        count=len(samples),
        complete=samples.complete,
        backwards=backwards,
        waits_ns=quantiles.total(from_send) if backwards == 0 else 0,
        edge_ns=quantiles.total(ascending[len(ascending) - min(straddling, len(ascending)) :]),
        p50_ns=p50,
        p99_ns=p99,
    )
