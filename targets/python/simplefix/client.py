"""Follows an exchange over FIX 4.4: simplefix reads and writes messages, the session is ours."""

import asyncio
import os
import socket
import ssl
import sys
from pathlib import Path
from threading import Lock
from time import time_ns

from simplefix import FixMessage, FixParser

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import feed_client

HEARTBEAT_S = 30
ANSWER_WITHIN_S = 1.0
LOOK_EVERY_S = 0.02
RECEIVE_BYTES = 65_536
# MsgType (35)
HEARTBEAT, TEST_REQUEST, REJECT, LOGOUT, LOGON = b"0", b"1", b"3", b"5", b"A"
REQUEST, SNAPSHOT, CHANGES, REFUSED = b"V", b"W", b"X", b"Y"
MARKET_DATA = (SNAPSHOT, CHANGES)


class Session:
    """Numbers of one connection in both directions, from 1. The reader's thread and the other one send."""

    def __init__(self, connection: socket.socket, target: str) -> None:
        self.connection = connection
        self.sender = (
            f"F{os.getpid()}"  # unique among the sessions of one machine, and short enough for Binance
        )
        self.target = target
        self.parser = FixParser()
        self.next_out = 1
        self.next_in = 1
        self.sending = Lock()

    def send(self, kind: bytes, *fields: tuple[int, str | bytes]) -> None:
        with self.sending:
            message = FixMessage()
            message.append_pair(8, "FIX.4.4")
            message.append_pair(35, kind)
            message.append_pair(49, self.sender)
            message.append_pair(56, self.target)
            message.append_pair(34, self.next_out)
            message.append_utc_timestamp(52)
            for tag, value in fields:
                message.append_pair(tag, value)
            self.connection.sendall(message.encode())
            self.next_out += 1

    def logon(self) -> None:
        self.send(LOGON, (98, "0"), (108, str(HEARTBEAT_S)), (141, "Y"))

    def subscribe(self, symbol: str, entry_types: list[str]) -> None:
        """To every change from now on (263=1), of prices to that of the best alone (264=1)."""
        self.send(
            REQUEST,
            *((262, "1"), (263, "1"), (264, "1"), (266, "Y")),
            *((267, str(len(entry_types))), *((269, one) for one in entry_types)),
            *((146, "1"), (55, symbol)),
        )

    def receive(self) -> FixMessage | None:
        """The next message in its place; None at the end of the stream."""
        while (message := self.parser.get_message()) is None:
            if not (data := self.connection.recv(RECEIVE_BYTES)):
                return None
            self.parser.append_buffer(data)
        return message

    def check_number(self, message: FixMessage) -> None:
        """What is missing is not asked for again: Binance, for one, would not send it."""
        number = int(message.get(34))
        if number != self.next_in:
            raise ConnectionError(f"MsgSeqNum {number} came, {self.next_in} was expected")
        self.next_in += 1


def stream_of(path: str) -> tuple[str, str, list[str]]:
    """`/TARGETCOMPID/SYMBOL/ENTRYTYPES`, where a symbol may have a slash in it."""
    parts = path.removeprefix("/").split("/")
    if len(parts) < 3 or not all(parts):
        feed_client.fail(f"the stream {path} is not /TARGETCOMPID/SYMBOL/ENTRYTYPES", feed_client.USAGE)
    return parts[0], "/".join(parts[1:-1]), parts[-1].split(",")


class Client:
    def __init__(self, feed: feed_client.Feed) -> None:
        self.feed = feed
        self.target, self.symbol, self.entry_types = stream_of(feed.stream)
        self.session: Session | None = None
        self.has_ended = False

    async def follow(self) -> str:
        self.feed.call_soon = lambda flush: flush()  # this thread's messages come one by one
        heartbeat = asyncio.ensure_future(self.heartbeat())
        try:
            return await asyncio.to_thread(self.receive)
        finally:
            self.has_ended = True
            heartbeat.cancel()

    async def heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            if self.feed.is_connected and self.session is not None:
                self.session.send(HEARTBEAT)

    def connect(self) -> socket.socket:
        connection = socket.create_connection((self.feed.host, self.feed.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.feed.ssl_context is not None:
            return self.feed.ssl_context.wrap_socket(connection, server_hostname=self.feed.host)
        return connection

    def receive(self) -> str:
        self.session = session = Session(self.connect(), self.target)
        session.logon()
        clock = self.feed.clock
        try:
            while (message := session.receive()) is not None:
                received_ns, unix_ns = clock(), time_ns()
                kind = message.get(35)
                if kind in MARKET_DATA:
                    self.feed.record(received_ns, unix_ns, message.encode(raw=True))
                    session.check_number(message)
                elif (ending := self.answer(session, kind, message)) is not None:
                    return ending
        except (OSError, ssl.SSLError) as error:
            if not self.feed.is_connected:
                raise
            return f"lost: {error}"
        if not self.feed.is_connected:
            raise ConnectionError("it hung up before it logged on")
        return "lost: it hung up"

    def answer(self, session: Session, kind: bytes, message: FixMessage) -> str | None:
        """To what the session layer asks; a text when it has ended."""
        session.check_number(message)
        text = (message.get(58) or b"").decode(errors="replace")
        if kind == LOGON:
            self.feed.connected()
            session.subscribe(self.symbol, self.entry_types)
        elif kind == TEST_REQUEST:
            session.send(HEARTBEAT, (112, message.get(112)))
        elif kind in (REJECT, REFUSED):
            return f"lost: refused: {text}"
        elif kind == LOGOUT:
            if not self.feed.ending.is_asked:
                session.send(LOGOUT)
            return f"closed: logout {text}".rstrip()
        return None

    async def leave(self) -> None:
        assert self.session is not None
        self.session.send(LOGOUT)
        for _ in range(int(ANSWER_WITHIN_S / LOOK_EVERY_S)):
            if self.has_ended:
                return
            await asyncio.sleep(LOOK_EVERY_S)
        self.session.connection.shutdown(socket.SHUT_RDWR)  # ends the thread's wait


feed_client.run("python/simplefix", Client, stamps=("after",), scheme="fix")
