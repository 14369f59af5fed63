"""A feed client as the other side of a conversation: the suite is its exchange (spec/feed.md).

Whatever a case sends must stand in the client's record, and nothing else; how the client ended, too.
"""

from __future__ import annotations

import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from feedbench.certificate import own_certificate
from feedbench.errors import RunDirectoryError
from feedbench.feed.client import Address, settings_of, start_client
from feedbench.feed.received import SUFFIXES
from feedbench.feed.stamps import Ending, Kind, read_stamps
from feedbench.host.process import ending
from feedbench.launch import UNSUPPORTED_STATUS, UnsupportedError, log_tail
from feedbench.paths import Project
from feedbench.target import Target
from feedbench.verify.case import Case, FeedTerms
from feedbench.verify.client_peer import LOG, ClientPeer
from feedbench.verify.departure import ConclusionError, DepartureError
from feedbench.verify.link import Link
from feedbench.verify.message import Message, difference
from feedbench.verify.payload import payload

EXCHANGE = "conformance"
EXIT_FILE = "exit"
CLOSED_PORT = "{closed_port}"
# Its clock is read once for both: CLOCK_MONOTONIC in ns, and Unix time in ms right after.
UNIX_TOLERANCE_MS = 5_000
AGAIN_S = 0.3  # within which a client that should not would connect again


class FeedPeer(ClientPeer):
    """One case's feed client, followed by the record that it left."""

    def __init__(
        self,
        case: Case,
        target: Target,
        *,
        project: Project,
        folder: Path,
        connect_timeout_s: float,
        timeout_s: float,
    ) -> None:
        self.terms: FeedTerms = case.feed
        self.sink = case.knobs.get("sink", "stamps")
        self.record = folder / f"record{SUFFIXES.get(self.sink, '')}"
        self.certificate = own_certificate(project) if self.terms.tls else None
        super().__init__(
            case,
            target,
            project=project,
            folder=folder,
            connect_timeout_s=connect_timeout_s,
            timeout_s=timeout_s,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        trusted = self.certificate.authority if self.certificate and self.terms.trusts else None
        settings = settings_of(subscribe=self.terms.subscribe, ca_file=trusted)
        self.started_ns, self.started_unix_ns = time.monotonic_ns(), time.time_ns()
        client = start_client(
            self.target,
            self._address(),
            project=self.project,
            output=self.record,
            log=self.folder / LOG,
            knobs=self.case.knobs,
            settings={**settings, "exit_file": str(self.folder / EXIT_FILE)},
            arguments=self._arguments(),
        )
        return client.process

    def _address(self) -> Address:
        host = "localhost" if self.terms.tls else "ws://127.0.0.1"
        return Address(EXCHANGE, host, self.listener.getsockname()[1], self.case.path)

    def _arguments(self) -> list[str] | None:
        """The case's own, if it has any."""
        if self.terms.arguments is None:
            return None
        with socket.create_server(("127.0.0.1", 0)) as briefly:
            closed_port = str(briefly.getsockname()[1])
        return [argument.replace(CLOSED_PORT, closed_port) for argument in self.terms.arguments]

    def _secured(self, connection: socket.socket) -> socket.socket:
        if self.certificate is None:
            return connection
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate.chain, self.certificate.key)
        return context.wrap_socket(connection, server_side=True)

    def stop(self) -> None:
        """Asks it to end, in the way that the case says."""
        if self.terms.exit_file:
            (self.folder / EXIT_FILE).touch()
        else:
            self.process.send_signal(signal.SIGTERM)

    def reopen(self, *, reset: bool) -> Link:
        """Only cuts the connection: to come again is its supervisor's, not its own."""
        assert self.connection is not None
        if reset:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        raise ConclusionError

    def check_end(self) -> None:
        """Its exit status and what it said; DepartureError when that is not what the case says."""
        if self.connection is not None:
            self.connection.close()  # after the closing handshake that is the server's part
        try:
            status = self.process.wait(self.timeout_s)
        except subprocess.TimeoutExpired:
            raise DepartureError(f"it does not end within {self.timeout_s:g} s") from None
        said = log_tail(self.folder / LOG, lines=100)
        if status == UNSUPPORTED_STATUS:
            raise UnsupportedError("it does not support this", where=self.target.name, hint=said)
        if status not in self.terms.status:
            wanted = " or ".join(map(str, self.terms.status))
            raise DepartureError(
                f"it ends with {ending(status)} instead of {wanted}; it said: {said or 'nothing'}"
            )
        if status != 0 and not said:
            raise DepartureError(f"it ends with {ending(status)} without a word")
        if self.terms.arguments is not None and len(said.split(" | ")) > 1:
            raise DepartureError(f"it says more than one line: {said}")
        if self.terms.reason and self.terms.reason not in said:
            raise DepartureError(f"it does not say {self.terms.reason!r}: {said or 'nothing'}")

    def check_record(self) -> None:
        """What it took down is what was sent."""
        self._check_alone()
        found: Iterator[Message]
        match self.sink:
            case "stamps":
                found = self._stamped()
            case "none":
                return
            case _:
                found = self._inserted()
        wanted = list(sent_messages(self.case))
        taken = list(found)
        for number, (one, other) in enumerate(zip(taken, wanted, strict=False)):
            if one != other:
                raise DepartureError(f"message {number} of its record is {difference(one, other)}")
        if len(taken) != len(wanted):
            raise DepartureError(f"its record has {len(taken):,} messages, {len(wanted):,} were sent")

    def _check_alone(self) -> None:
        self.listener.settimeout(AGAIN_S if self.terms.status != (0,) else 0)
        try:
            self.listener.accept()[0].close()
        except (TimeoutError, BlockingIOError):
            return
        raise DepartureError("it connects again")

    def _stamped(self) -> Iterator[Message]:
        try:
            stamps = read_stamps(self.record)
        except RunDirectoryError as error:
            raise DepartureError(f"its record can't be used: {error}") from error
        if stamps.ending is not Ending.ENDED:
            raise DepartureError(f"its record has no end: {stamps.ending.value}")
        if stamps.connections != 1 or stamps.heads["kind"][0] != Kind.CONNECTED:
            raise DepartureError(
                f"its record begins with kind {stamps.heads['kind'][0]}, not with a connection"
            )
        if self.terms.reason not in stamps.reasons[-1] or bool(stamps.reasons[-1]) != bool(self.terms.reason):
            raise DepartureError(
                f"its record ends with {stamps.reasons[-1]!r} instead of {self.terms.reason!r}"
            )
        times_ns = stamps.heads["received_ns"]
        if (times_ns[1:] < times_ns[:-1]).any() or not self._in_time(int(times_ns[0]), int(times_ns[-1])):
            raise DepartureError("its stamps are not readings of CLOCK_MONOTONIC in the order of receipt")
        for unix_ms in (int(stamps.heads["unix_ms"][0]), int(stamps.heads["unix_ms"][-1])):
            self._check_unix(unix_ms)
        kinds = {Kind.TEXT: "text", Kind.BINARY: "binary"}
        names = [kinds[Kind(kind)] for kind in stamps.heads["kind"][stamps.is_message]]
        yield from map(Message, names, stamps.payloads())

    def _inserted(self) -> Iterator[Message]:
        """The study's tables do not tell text from binary."""
        try:
            with sqlite3.connect(f"file:{self.record}?mode=ro", uri=True) as database:
                details = database.execute(
                    "SELECT connector_id, exchange_id, stream_id, stream_args, datetime_start"
                    " FROM test_details"
                ).fetchall()
                rows = database.execute(
                    "SELECT received_ns, datetime_received, event FROM events ORDER BY event_id"
                ).fetchall()
        except sqlite3.Error as error:
            raise DepartureError(f"its database can't be used: {error}") from error
        subscribed = "\n".join(self.terms.subscribe)
        wanted = (self.target.name, EXCHANGE, self.case.path)
        if len(details) != 1 or details[0][:3] != wanted or (details[0][3] or "") != subscribed:
            raise DepartureError(
                f"test_details has {details} instead of one row {wanted} with {subscribed!r}"
            )
        self._check_unix(details[0][4])
        for received_ns, unix_ms, _ in rows[:1]:
            self._check_unix(unix_ms)
            if not self._in_time(received_ns, received_ns):
                raise DepartureError("received_ns is no reading of CLOCK_MONOTONIC")
        kinds = iter(sent_messages(self.case))
        for _, _, event in rows:
            kind = next(kinds, Message("text", b"")).kind
            yield Message(kind, event if isinstance(event, bytes) else str(event).encode())

    def _in_time(self, first_ns: int, last_ns: int) -> bool:
        return self.started_ns <= first_ns and last_ns <= time.monotonic_ns()

    def _check_unix(self, unix_ms: int) -> None:
        since_ms = unix_ms - self.started_unix_ns / 1e6
        if not -UNIX_TOLERANCE_MS < since_ms < UNIX_TOLERANCE_MS + self.connect_timeout_s * 1e3:
            raise DepartureError(f"{unix_ms} is not the time in Unix milliseconds")


def sent_messages(case: Case) -> Iterator[Message]:
    """What a client of the case has to have in its record."""
    for step in case.steps:
        if step.get("send") in ("text", "binary") and not step.get("unrecorded"):
            for number in range(step.get("repeat", 1)):
                yield Message(step["send"], payload(step, number))
