"""An event's way in parts: written by the exchange, on the wire, handed over by the library. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedbench.feed.join import Joined, join
from feedbench.feed.ledger import Ledger
from feedbench.feed.received import Received
from feedbench.run.own_client import summarise

Times = NDArray[np.int64]
_MISSING = -1


@dataclass(frozen=True)
class Parts:
    """For each message that was met everywhere: from the exchange's write to the wire, and on to the client.

    `sent` counts those of the measured part; `unseen` were sent, and not met on the wire or at the client.
    `to_wire_ns` and `to_client_ns` are None where the wire was not watched; `whole_ns` is their sum.
    """

    sent: int
    unseen: int
    to_wire_ns: Times | None
    to_client_ns: Times | None
    whole_ns: Times

    def document(self) -> dict[str, Any]:
        """As `feedbench wire --json` prints it."""
        return {
            "sent": self.sent,
            "unseen": self.unseen,
            "send_to_wire_ns": None if self.to_wire_ns is None else summarise(self.to_wire_ns),
            "wire_to_client_ns": None if self.to_client_ns is None else summarise(self.to_client_ns),
            "send_to_client_ns": summarise(self.whole_ns),
        }


def parts_of(client: Received, wire: Received | None, ledger: Ledger, *, warmup_ns: int) -> Parts:
    """Of the run's first connection. A message is the same where it is the same record of the ledger."""
    messages = ledger.of_connection(0)
    measured = messages["born_ns"].astype(np.int64) >= int(ledger.header["opened_ns"]) + warmup_ns
    sent_ns = messages["sent_ns"].astype(np.int64)
    client_ns = _by_place(join(client, messages))
    met = measured & (client_ns != _MISSING)
    if wire is None:
        return _parts(measured, met, None, None, client_ns - sent_ns)
    wire_ns = _by_place(join(wire, messages))
    met &= wire_ns != _MISSING
    return _parts(measured, met, wire_ns - sent_ns, client_ns - wire_ns, client_ns - sent_ns)


def _parts(
    measured: NDArray[np.bool_],
    met: NDArray[np.bool_],
    to_wire_ns: Times | None,
    to_client_ns: Times | None,
    whole_ns: Times,
) -> Parts:
    sent = int(np.count_nonzero(measured))
    return Parts(
        sent=sent,
        unseen=sent - int(np.count_nonzero(met)),
        to_wire_ns=None if to_wire_ns is None else to_wire_ns[met],
        to_client_ns=None if to_client_ns is None else to_client_ns[met],
        whole_ns=whole_ns[met],
    )


def _by_place(joined: Joined) -> Times:
    """When each message of the ledger was there."""
    times = np.full(len(joined.messages), _MISSING, dtype=np.int64)
    times[joined.place] = joined.received_ns.astype(np.int64)
    return times
