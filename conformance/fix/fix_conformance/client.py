"""One case's side of a connection: sends what the script says, compares what comes."""

from __future__ import annotations

import re
import socket
import time
from datetime import timedelta

from fix_conformance.definition import (
    Case,
    Connect,
    Disconnected,
    Expect,
    Pause,
    Raw,
    Send,
    Step,
)
from fix_conformance.errors import CheckError, DefinitionError
from fix_conformance.pattern import Expected, check, parse
from fix_conformance.planted import Plant
from fix_conformance.wire import Field, decode, encode, shown, split, timestamp

AGO = re.compile(r"-(\d+)(ms|s)")
FRAME = ("8", "9", "10")


class Client:
    """See the module."""

    def __init__(
        self,
        case: Case,
        address: tuple[str, int],
        *,
        patience_s: float,
        plant: tuple[Plant, int] | None = None,
    ) -> None:
        """`plant` spoils the expected message of this number, counted from zero."""
        self._case = case
        self._address = address
        self._patience_s = patience_s
        self._plant = plant
        self._answers = 0
        self._socket: socket.socket | None = None
        self._buffer = b""
        self._waiting: list[list[Field]] = []
        self._sent = 0
        self._expected = 0

    def run(self) -> None:
        """CheckError names the step at which the acceptor answered otherwise."""
        try:
            self._do(Connect())
            for number, step in enumerate(self._case.steps, 1):
                try:
                    self._do(step)
                except (CheckError, OSError, ValueError) as error:
                    raise CheckError(f"step {number}: {error}") from error
            if self._waiting:
                raise CheckError(f"{shown(self._waiting[0])} comes after the last step")
        finally:
            self._close()

    def _do(self, step: Step) -> None:
        match step:
            case Connect():
                self._close()
                self._socket = socket.create_connection(self._address, timeout=self._patience_s)
            case Send():
                self._connection.sendall(self._message(step))
            case Raw():
                self._connection.sendall(step.text.replace("|", "\x01").encode())
            case Expect():
                self._expect(step)
            case Disconnected():
                message = self._next()
                if message is not None:
                    raise CheckError(f"the connection should end, but {shown(message)} comes")
            case Pause():
                time.sleep(step.ms / 1000)

    @property
    def _connection(self) -> socket.socket:
        if self._socket is None:
            raise CheckError("there is no connection")
        return self._socket

    def _close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._buffer, self._waiting = None, b"", []

    def _message(self, step: Send) -> bytes:
        door, changes = self._case.door, dict(step.header)
        number = int(changes.get("34", self._sent + 1)) if "!34" not in changes else self._sent + 1
        if changes.get("43") != "Y":
            self._sent = number
        header = {
            "8": door.begin_string,
            "35": step.msg_type,
            "34": str(number),
            "49": self._case.client,
            "52": "-0s",
            "56": door.comp_id,
        }
        length = int(changes.pop("9", "0"))
        sum_text = changes.pop("10", None)
        for tag, value in changes.items():
            if tag.startswith("!"):
                del header[tag[1:]]
            else:
                header[tag] = value
        fields = [(int(tag), self._now(value)) for tag, value in header.items()]
        for part in filter(None, step.body.split("|")):
            tag, _, value = part.partition("=")
            fields.append((int(tag), self._now(value)))
        return encode(fields, length_error=length, sum_text=sum_text)

    def _now(self, value: str) -> str:
        """`-3s` stands for a time."""
        ago = AGO.fullmatch(value)
        if ago is None:
            return value
        amount = timedelta(**{{"ms": "milliseconds", "s": "seconds"}[ago[2]]: int(ago[1])})
        return timestamp(self._case.door.decimals, ago=amount)

    def _expect(self, step: Expect) -> None:
        while True:
            message = self._next()
            if message is None:
                raise CheckError(f"35={step.msg_type} is expected, but the connection ends")
            if (35, step.skipped) in message:
                self._count(message)
                continue
            spoiled = self._spoiled(message)
            if spoiled:
                message, self._waiting = spoiled[0], [*spoiled[1:], *self._waiting]
                break
        expected = self._whole(step)
        try:
            check(expected, message, self._case.door.decimals)
        except CheckError as error:
            raise CheckError(f"{error} in {shown(message)}") from error
        self._count(message)

    def _spoiled(self, message: list[Field]) -> list[list[Field]]:
        self._answers += 1
        if self._plant is None or self._plant[1] != self._answers - 1:
            return [message]
        return self._plant[0](message)

    def _count(self, message: list[Field]) -> None:
        fields = dict(message[:12])
        if fields.get(43) != "Y":
            self._expected = int(fields[34])

    def _whole(self, step: Expect) -> list[Expected]:
        """The expected fields from 8 to 10, in the order of a header: ascending but for the first three."""
        door = self._case.door
        header = {
            34: Expected(34, str(self._expected + 1)),
            49: Expected(49, door.comp_id),
            52: Expected(52, "@"),
            56: Expected(56, self._case.client),
        }
        header |= {one.tag: one for one in step.header}
        frame = parse(f"8={door.begin_string}|9=#|35={step.msg_type}")
        return [*frame, *(header[tag] for tag in sorted(header)), *step.body, Expected(10, "~\\d{3}~")]

    def _next(self) -> list[Field] | None:
        """The next message, or None at the end of the connection; CheckError if nothing comes."""
        while not self._waiting:
            found = split(self._buffer)
            if found is not None:
                message, self._buffer = found
                fields = decode(message)
                self._waiting = [fields]
                continue
            try:
                received = self._connection.recv(65536)
            except TimeoutError:
                raise CheckError(f"nothing comes for {self._patience_s:g} s") from None
            except ConnectionResetError:
                received = b""
            if not received:
                if self._buffer:
                    raise CheckError(f"{self._buffer!r} is no message")
                return None
            self._buffer += received
        return self._waiting.pop(0)


def answers(case: Case) -> int:
    """How many messages are expected; DefinitionError if there is none: such a case could not fail."""
    count = sum(isinstance(step, Expect) for step in case.steps)
    if count == 0:
        raise DefinitionError(f"{case.id} expects no message")
    return count
