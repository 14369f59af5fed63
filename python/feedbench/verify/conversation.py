"""Goes through a case's steps over one connection, and says where the server departs from them."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from websockets.frames import Frame, Opcode
from websockets.utils import accept_key, generate_key

from feedbench.handshake import Answer, HandshakeError, exchange, request
from feedbench.launch import Server
from feedbench.verify.case import Case, Step
from feedbench.verify.frames import FrameReader, WireError, encode, opcode_of

STAMP_TOLERANCE_S = 5.0
SHOWN_BYTES = 40


class DepartureError(Exception):
    """The server did something else than the case expects; the message says what."""


class RefusalError(Exception):
    """The server said, in a way that the case allows, that it does not do this."""


@dataclass(frozen=True)
class Message:
    """A whole message, or a pong or close; `kind` as in a step."""

    kind: str
    payload: bytes

    def __str__(self) -> str:
        if self.kind == "close":
            return (
                f"close {code}" if (code := close_code(self.payload)) is not None else "close without a code"
            )
        shown = self.payload[:SHOWN_BYTES]
        text = repr(shown.decode()) if self.kind == "text" and shown.isascii() else shown.hex(" ")
        more = " …" if len(self.payload) > SHOWN_BYTES else ""
        return (
            f"{self.kind} of {len(self.payload)} bytes: {text}{more}"
            if self.payload
            else f"empty {self.kind}"
        )


def converse(case: Case, server: Server, *, timeout_s: float) -> None:
    """Returns when all went as the case says; DepartureError or RefusalError when it did not."""
    with server.connect(timeout_s=timeout_s) as connection:
        try:
            answer = _shake_hands(case, server, connection)
            if answer is not None:
                _Conversation(case, server, connection, answer).run()
        except TimeoutError as error:
            raise DepartureError(f"no answer within {timeout_s:g} s") from error
        except (HandshakeError, WireError) as error:
            raise DepartureError(str(error)) from error
        except OSError as error:
            raise DepartureError(f"the connection broke: {error.strerror}") from error


def _shake_hands(case: Case, server: Server, connection: socket.socket) -> Answer | None:
    """The accepting answer; None when the case wants the handshake refused, and it was."""
    key = generate_key()
    headers = {"Sec-WebSocket-Key": key, **case.headers}
    answer = exchange(connection, request(path=case.path, host=server.authority, headers=headers))
    if case.status:
        if answer.status not in case.status:
            wanted = " or ".join(str(status) for status in case.status)
            raise DepartureError(f"HTTP status {answer.status} instead of {wanted}")
        return None
    if answer.status != 101:
        raise DepartureError(f"HTTP status {answer.status} instead of 101")
    if answer.headers.get("sec-websocket-accept") != accept_key(key):
        raise DepartureError("Sec-WebSocket-Accept does not fit the key")
    return answer


class _Conversation:
    """One connection after the handshake. What nobody asked for yet waits: a pong may overtake a message."""

    def __init__(self, case: Case, server: Server, connection: socket.socket, answer: Answer) -> None:
        self.case = case
        self.server = server
        self.connection = connection
        self.answer = answer
        self.frames = FrameReader(connection, already_read=answer.rest)
        self.waiting: deque[Message] = deque()
        self.fragments: list[Frame] = []
        self.last_sent = Message("text", b"")
        self.sender: threading.Thread | None = None

    def run(self) -> None:
        actions = {
            "send": self.send,
            "receive": self.receive,
            "receive_json": self.receive_json,
            "receive_header": self.receive_header,
            "failed": self.failed,
            "ended": self.ended,
            "terminate": self.terminate,
        }
        for step in self.case.steps:
            next(act for name, act in actions.items() if name in step)(step)

    def send(self, step: Step) -> None:
        opcode = opcode_of(step["send"])
        frames = []
        for number in range(step.get("repeat", 1)):
            body = payload(step, number)
            frames.append(
                encode(
                    opcode,
                    body,
                    fin=step.get("fin", True),
                    reserved=step.get("reserved", 0),
                    masked=step.get("masked", True),
                )
            )
            self.last_sent = (
                Message(step["send"], body) if step["send"] in ("text", "binary") else self.last_sent
            )
        self._write(b"".join(frames), chunk=step.get("chunk"))

    def _write(self, content: bytes, *, chunk: int | None) -> None:
        """Beside the reading: if both sides only wrote, both would wait for ever, their buffers full."""
        if self.sender is not None:
            self.sender.join()
        if chunk is None and len(content) < 1 << 15:
            self.connection.sendall(content)
            return
        step = chunk or len(content)
        self.sender = threading.Thread(
            target=_send_quietly,
            args=(self.connection, [content[at : at + step] for at in range(0, len(content), step)]),
            daemon=True,
        )
        self.sender.start()

    def receive(self, step: Step) -> None:
        if step["receive"] == "close":
            message = self._next("close")
            code = close_code(message.payload)
            if (1005 if code is None else code) not in step["code"]:
                raise DepartureError(f"{message} instead of {_either(step['code'])}")
            return
        for number in range(step.get("repeat", 1)):
            if step["receive"] == "echo":
                wanted = self.last_sent
            else:
                wanted = Message(step["receive"], payload(step, number))
            found = self._next(wanted.kind)
            if found != wanted:
                raise DepartureError(f"{found} instead of {wanted}")

    def receive_json(self, step: Step) -> None:
        message = self._next("text")
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
        value = self.answer.headers.get(step["receive_header"])
        if value is not None:
            raise DepartureError(f"the handshake's answer has {step['receive_header']}: {value}")

    def failed(self, step: Step) -> None:
        message = self._read()
        if message is None:
            return
        if message.kind != "close" or close_code(message.payload) not in step["failed"]:
            raise DepartureError(f"{message} instead of {_either(step['failed'])} or the connection's end")

    def ended(self, step: Step) -> None:
        message = self._read()
        if message is not None:
            raise DepartureError(f"{message} instead of the connection's end")

    def terminate(self, step: Step) -> None:
        ending = self.server.stop()
        if ending.killed:
            raise DepartureError(f"it still ran {ending.seconds:.1f} s after SIGTERM and was killed")
        if not ending.clean:
            raise DepartureError(f"after SIGTERM it ended with status {ending.status} instead of 0")

    def _next(self, kind: str) -> Message:
        """The next message of this kind. A pong and a message may come in either order; a close ends all."""
        for message in self.waiting:
            if message.kind == kind:
                self.waiting.remove(message)
                return message
        while (read := self._read()) is not None and read.kind != kind:
            if read.kind == "close" and close_code(read.payload) in self.case.unsupported:
                raise RefusalError(str(read))
            if read.kind == "close" or "pong" not in (kind, read.kind):
                break
            self.waiting.append(read)
        if read is None or read.kind != kind:
            raise DepartureError(f"{read or 'the end of the connection'} instead of {kind}")
        return read

    def _read(self) -> Message | None:
        """The next whole message, pong or close; None at the end. The server's own pings are answered."""
        for frame in iter(self.frames.read, None):
            if frame.opcode is Opcode.PING:
                self._write(encode(opcode_of("pong"), bytes(frame.data)), chunk=None)
            elif frame.opcode in (Opcode.PONG, Opcode.CLOSE):
                return Message(frame.opcode.name.lower(), bytes(frame.data))
            elif (message := self._whole(frame)) is not None:
                return message
        return None

    def _whole(self, frame: Frame) -> Message | None:
        if (frame.opcode is Opcode.CONT) != bool(self.fragments):
            raise WireError("a message in another" if self.fragments else "a continuation of nothing")
        self.fragments.append(frame)
        if not frame.fin:
            return None
        kind = self.fragments[0].opcode.name.lower()
        content = b"".join(bytes(fragment.data) for fragment in self.fragments)
        self.fragments = []
        return Message(kind, content)


def payload(step: Step, number: int = 0) -> bytes:
    """The bytes that a step tells of: `number` counts its repetitions."""
    if "text" in step:
        return str(step["text"]).encode()
    if "hex" in step:
        return bytes.fromhex(step["hex"])
    if "size" in step:
        return _filled(step["size"], text=step.get("send", step.get("receive")) == "text")
    if "code" in step:
        return struct.pack("!H", step["code"])
    return str(number).encode()


def close_code(body: bytes) -> int | None:
    return int.from_bytes(body[:2], "big") if len(body) >= 2 else None


def _filled(size: int, *, text: bool) -> bytes:
    """Printable characters for text, every byte for binary; the period is odd so that a lost block shows."""
    pattern = bytes(range(0x21, 0x7E)) if text else bytes(range(251))
    return (pattern * (size // len(pattern) + 1))[:size]


def _is_now(stamp: object) -> bool:
    return isinstance(stamp, int | float) and abs(stamp - time.time()) < STAMP_TOLERANCE_S


def _send_quietly(connection: socket.socket, parts: list[bytes]) -> None:
    """What becomes of the connection shows where its answers are read."""
    try:
        for part in parts:
            connection.sendall(part)
    except OSError:
        return


def _either(codes: Iterator[int] | tuple[int, ...] | list[int]) -> str:
    return "close " + " or ".join(str(code) for code in codes)
