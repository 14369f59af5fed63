"""The load generator's certificate: how near a cell came to what this machine's raw TCP loop reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from feedbench.load import ENGINE, STAMP, STAMP_ANSWER_BYTES, Closed, Load

# The engine itself reaches 0.85 to 0.98 of the raw loop; a cell above this measures the generator as much as
# the target.
GENERATOR_BOUND_SHARE = 0.9


def ceiling_share(
    round_trips_per_s: float, load: Load, ceilings: Sequence[Mapping[str, Any]]
) -> float | None:
    """Throughput as a share of the raw loop's under the same connections, depth and size.

    None where the certificate says nothing: another client than the engine, a load whose rate the pacer
    limits, or a ceiling that was not measured.
    """
    if load.client != ENGINE or not isinstance(load.pacer, Closed):
        return None
    size = STAMP_ANSWER_BYTES if load.payload.kind == STAMP else load.payload.bytes
    for ceiling in ceilings:
        same_shape = (
            ceiling["connections"] == load.connections
            and ceiling["in_flight"] == load.pacer.in_flight
            and size in (None, ceiling["bytes"])
        )
        if same_shape and ceiling["round_trips_per_s"] > 0:
            return float(round_trips_per_s / ceiling["round_trips_per_s"])
    return None


def is_generator_bound(share: float | None) -> bool:
    return share is not None and share >= GENERATOR_BOUND_SHARE
