"""Goes through a case's steps over one connection, and says where the peer departs from them."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

from feedbench.handshake import HandshakeError
from feedbench.verify.case import Case, Step
from feedbench.verify.departure import ConclusionError, DepartureError, RefusalError, SilenceError
from feedbench.verify.frames import WireError, encode, opcode_of
from feedbench.verify.link import Link, Peer
from feedbench.verify.message import Message, difference, either_code
from feedbench.verify.payload import payload

STAMP_TOLERANCE_S = 5.0
# Between the echoes of `conclude`: it is to last until the client's time is up, not to load the machine.
ECHO_PAUSE_S = 0.01
PROBE_AFTER_S = 0.5
# A server that takes an unmasked frame for a masked one eats the first four bytes of what follows. What is
# left of this ping is then an empty pong, whole and masked: it lives on and shows what it took, if only by
# answering the second ping.
PROBE, PROBE_MASK = b"here", bytes.fromhex("37fa8a80")


def converse(case: Case, peer: Peer) -> None:
    """Returns when all went as the case says; DepartureError or RefusalError when it did not."""
    try:
        with suppress(ConclusionError):
            _Conversation(case, peer).run()
    except TimeoutError as error:
        raise SilenceError(f"no answer within {peer.timeout_s:g} s") from error
    except (HandshakeError, WireError) as error:
        raise DepartureError(str(error)) from error
    except OSError as error:
        raise DepartureError(f"the connection broke: {error.strerror}") from error


class _Conversation:
    """What nobody asked for yet waits: a pong may overtake a message."""

    def __init__(self, case: Case, peer: Peer) -> None:
        self.case = case
        self.peer = peer
        self.link: Link = peer.open()
        self.waiting: deque[Message] = deque()
        self.last_sent = Message("text", b"")
        self.actions: Mapping[str, Callable[[Step], None]] = {
            "send": self.send,
            "receive": self.receive,
            "receive_json": self.receive_json,
            "receive_header": self.receive_header,
            "extension": self.extension,
            "failed": self.failed,
            "ended": self.ended,
            "reconnect": self.reconnect,
            "conclude": self.conclude,
            "terminate": self.terminate,
        }

    def run(self) -> None:
        for step in self.case.steps:
            next(act for name, act in self.actions.items() if name in step)(step)

    def send(self, step: Step) -> None:
        kind = step["send"]
        written = []
        for number in range(step.get("repeat", 1)):
            body = payload(step, number)
            written.append(body if kind == "raw" else self._frames(step, body))
            if kind in ("text", "binary"):
                self.last_sent = Message(kind, body)
        self.link.write(b"".join(written), chunk=step.get("chunk"))

    def _frames(self, step: Step, body: bytes) -> bytes:
        """The message in as many frames as the step says; only the first is marked as compressed."""
        reserved = step.get("reserved", 0)
        if "deflate" in step:
            assert self.link.compressor is not None, f"{self.case.id} compresses before it has agreed on it"
            body = self.link.compressor.compress(body, step["deflate"])
            reserved |= 4
        count = step.get("fragments", 1)
        borders = [len(body) * part // count for part in range(count + 1)]
        mask = step.get("mask")
        return b"".join(
            encode(
                0 if part else opcode_of(step["send"]),
                body[borders[part] : borders[part + 1]],
                fin=part == count - 1 and step.get("fin", True),
                reserved=0 if part else reserved,
                masked=step.get("masked", self.peer.suite_is_client),
                mask=bytes.fromhex(mask) if mask else None,
            )
            for part in range(count)
        )

    def receive(self, step: Step) -> None:
        if step["receive"] == "close":
            message = self._next(step, "close")
            codes = [*step["code"], *step.get("or_failed", ())]
            if message.code not in codes:
                raise DepartureError(f"{message} instead of {either_code(codes)}")
            return
        for number in range(step.get("repeat", 1)):
            echo = step["receive"] == "echo"
            wanted = self.last_sent if echo else Message(step["receive"], payload(step, number))
            found = self._next(step, wanted.kind)
            while step.get("latest") and found != wanted:
                found = self._next(step, wanted.kind)
            if found != wanted:
                raise DepartureError(difference(found, wanted))

    def receive_json(self, step: Step) -> None:
        message = self._next(step, "text")
        try:
            content = json.loads(message.payload)
        except ValueError as error:
            raise DepartureError(f"{message} is no JSON") from error
        stamp = step.get("stamp")
        wanted = set(step["receive_json"]) | ({stamp} if stamp else set())
        if not isinstance(content, dict) or set(content) != wanted:
            raise DepartureError(f"{message} instead of an object with {', '.join(sorted(wanted))}")
        for name, value in step["receive_json"].items():
            if content[name] != value:
                raise DepartureError(f"{name} is {content[name]!r} instead of {value!r}")
        if stamp and not _is_now(content[stamp]):
            raise DepartureError(f"{stamp} is {content[stamp]!r}, which is not the time in unix seconds")

    def receive_header(self, step: Step) -> None:
        """A header may be a list; its tokens are compared without regard to case."""
        name = step["receive_header"]
        value = self.link.greeting.headers.get(name)
        tokens = step.get("token")
        if value is None:
            if not step.get("absent"):
                raise DepartureError(f"the handshake has no {name}")
        elif tokens is None and step.get("absent"):
            raise DepartureError(f"the handshake has {name}: {value}")
        elif tokens is not None and not {part.strip().lower() for part in value.split(",")} & set(tokens):
            raise DepartureError(f"the handshake has {name}: {value} instead of {' or '.join(tokens)}")

    def extension(self, step: Step) -> None:
        agreement = self.link.greeting.agreement
        if step["extension"] == "declined":
            if agreement is not None:
                raise DepartureError(f"it accepts {self.link.greeting.headers['sec-websocket-extensions']!r}")
        elif agreement is None:
            raise RefusalError("it does not agree to permessage-deflate")
        elif missing := [name for name in step.get("parameters", ()) if name not in agreement.answer]:
            raise RefusalError(f"it agrees, but not to {' and '.join(missing)}")

    def failed(self, step: Step) -> None:
        if self.link.frames.is_silent(for_s=PROBE_AFTER_S):
            # Who answers a ping took what came before it, and will never give up: no need to wait for that.
            masked = self.peer.suite_is_client
            self.link.write(2 * encode(opcode_of("ping"), PROBE, masked=masked, mask=PROBE_MASK))
        message = self.link.read()
        if message is None:
            return
        if message == Message("pong", PROBE):
            raise DepartureError(
                f"it goes on as if nothing were wrong, instead of {either_code(step['failed'])}"
            )
        if message.kind != "close":
            raise DepartureError(
                f"{message} instead of {either_code(step['failed'])} or the connection's end"
            )
        if message.code not in step["failed"]:
            # It gave up, as it must; the code is advice (RFC 6455, sections 7.1.7 and 7.4.1).
            raise DepartureError(f"{message} instead of {either_code(step['failed'])}", level="should")

    def ended(self, step: Step) -> None:
        message = self.link.read()
        if message is not None:
            raise DepartureError(f"{message} instead of the connection's end")

    def reconnect(self, step: Step) -> None:
        self.link = self.peer.reopen(reset=step["reconnect"] == "reset")
        self.waiting.clear()

    def conclude(self, step: Step) -> None:
        """A close is answered, as it must be; `code` wants one, with one of those codes."""
        while (message := self.link.read()) is not None and message.kind != "close":
            time.sleep(ECHO_PAUSE_S)
            if message.kind != "pong":
                self.link.write(encode(opcode_of(message.kind), message.payload, masked=False))
        if message is not None:
            self.link.write(encode(opcode_of("close"), message.payload[:2], masked=False))
        if "code" in step and (message is None or message.code not in step["code"]):
            raise DepartureError(f"{message or 'the bare end'} instead of {either_code(step['code'])}")
        self.peer.conclude()

    def terminate(self, step: Step) -> None:
        self.peer.stop()

    def _next(self, step: Step, kind: str) -> Message:
        """The next message of this kind. A pong and a message may come in either order; a close ends all."""
        for message in self.waiting:
            if message.kind == kind:
                self.waiting.remove(message)
                return message
        while (read := self.link.read()) is not None and read.kind != kind:
            if read.kind == "close" and read.code in self.case.unsupported:
                raise RefusalError(str(read))
            if read.kind == "close" or "pong" not in (kind, read.kind):
                break
            self.waiting.append(read)
        if read is not None and read.kind == kind:
            return read
        if "or_failed" in step and (read is None or read.code in step["or_failed"]):
            raise ConclusionError
        raise DepartureError(f"{read or 'the end of the connection'} instead of {kind}")


def _is_now(stamp: object) -> bool:
    return isinstance(stamp, int | float) and abs(stamp - time.time()) < STAMP_TOLERANCE_S
