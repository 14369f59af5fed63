"""Clients in turn, each with an exchange of its own while the wire is watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from feedbench.capacity.feed_probe import LEDGER, FeedProbe
from feedbench.feed.ledger import read_ledger
from feedbench.feed.received import read_received
from feedbench.wire.capture import Capture, CaptureUnavailableError
from feedbench.wire.parts import parts_of


@dataclass
class Measured:
    """A client's repeats: its parts, and what the capture said of itself."""

    client: str
    repeats: list[Mapping[str, Any]] = field(default_factory=list)

    def typical_ns(self, part: str, quantile: str) -> float | None:
        """The median of the repeats; None where the wire was not watched."""
        values = [repeat[part][quantile] for repeat in self.repeats if repeat[part] is not None]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def total(self, count: str) -> int:
        return sum(int(repeat[count]) for repeat in self.repeats)


def measure_parts(
    probes: Sequence[FeedProbe], binary: Path, *, repeats: int, told: Callable[[str], None]
) -> list[Measured]:
    """All clients, then all again, so that none has a better hour than another. Without the right to capture
    that is said once, and the age stays whole.
    """
    found = [Measured(probe.target.name) for probe in probes]
    is_watched = True
    for number in range(repeats):
        for probe, measured in zip(probes, found, strict=True):
            told(f"{measured.client}, {number + 1} of {repeats}")
            if is_watched:
                try:
                    measured.repeats.append(_parts(probe, binary))
                    continue
                except CaptureUnavailableError as error:
                    told(f"the wire can't be watched, so ages stay whole: {error}")
                    is_watched = False
            measured.repeats.append(_parts(probe, None))
    return found


def _parts(probe: FeedProbe, binary: Path | None) -> dict[str, Any]:
    """`binary` None: the wire is not watched."""
    with TemporaryDirectory(prefix="feedbench-wire-") as name:
        folder = Path(name)
        capture = None if binary is None else Capture(binary, folder)
        client = probe.follow(
            probe.feed.rate_per_s, folder, beside=None if capture is None else capture.watch
        )
        parts = parts_of(
            read_received(client.output, client.sink),
            None if capture is None else read_received(capture.connection(), "stamps"),
            read_ledger(folder / LEDGER),
            warmup_ns=probe.warmup_ns,
        )
        return {**parts.document(), "capture": None if capture is None else capture.summary}
