"""How a study is cut into parts: files that are read together, and partitions by the first bits of a hash.

What comes out does not depend on the cut: a text's receipts are all in one partition, and only whole numbers
are added. The cut decides on memory, and on how much is lost with a worker.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from feedbench.pipeline.part import Part

# While a partition is joined: rows, the hash table over them, and the columns under way. See docs/scale.md.
BYTES_PER_EVENT = 200
# While messages are read: the rows, and what waits to be written to each partition.
BYTES_PER_MESSAGE = 250
MOST_MESSAGES = 2_000_000
# Sixteen partitions at least, so that workers that are not equally fast end at nearly the same time. At most
# 4,096, since each chunk writes a file for each.
LEAST_BITS, MOST_BITS = 4, 12


@dataclass(frozen=True)
class Chunk:
    """Files of one series that one worker reads at a time. `series` is its number in the study."""

    name: str
    series: int
    exchange: str
    paths: tuple[str, ...]
    messages: int


def chunks(series: int, exchange: str, parts: Sequence[Part], *, memory_bytes: int) -> Iterator[Chunk]:
    """Of one series; a single file may be more than a chunk should be, and is one nevertheless."""
    most = min(MOST_MESSAGES, memory_bytes // BYTES_PER_MESSAGE)
    together: list[Part] = []
    number = 0
    for part in parts:
        if together and sum(each.messages for each in together) + part.messages > most:
            yield _chunk(series, exchange, number, together)
            number, together = number + 1, []
        together.append(part)
    if together:
        yield _chunk(series, exchange, number, together)


def prefix_bits(messages: int, *, memory_bytes: int) -> int:
    """How many bits of the hash tell partitions apart, for so many messages of one exchange."""
    partitions = math.ceil(messages * BYTES_PER_EVENT / memory_bytes)
    return min(MOST_BITS, max(LEAST_BITS, math.ceil(math.log2(max(1, partitions)))))


def prefix_name(prefix: int, bits: int) -> str:
    """As binary digits, as the hash begins: `00101`."""
    return f"{prefix:0{bits}b}"


def _chunk(series: int, exchange: str, number: int, parts: Sequence[Part]) -> Chunk:
    return Chunk(
        f"{series:03}-{number:05}",
        series,
        exchange,
        tuple(str(part.path) for part in parts),
        sum(part.messages for part in parts),
    )
