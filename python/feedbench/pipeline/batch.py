"""Messages on their way from a client's file to Parquet, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feedbench.pipeline.problem import Problem

MESSAGES = 100_000  # in a batch, at most: some tens of MB


@dataclass(frozen=True)
class Batch:
    """Messages in the order of receipt. `received_ns` (CLOCK_MONOTONIC) is None where the file has none."""

    received_ns: NDArray[np.int64] | None
    received_unix_ms: NDArray[np.int64]
    payloads: NDArray[np.object_]  # str

    def __len__(self) -> int:
        return len(self.payloads)


@dataclass(frozen=True)
class Connected:
    """A handshake was done: what follows came through a connection of its own."""


# What a file tells, in its order.
Reading = Iterator[Batch | Connected | Problem]


def texts(payloads: list[str]) -> NDArray[np.object_]:
    """As an array of objects; numpy would make one of fixed width by itself."""
    array = np.empty(len(payloads), dtype=object)
    array[:] = payloads
    return array
