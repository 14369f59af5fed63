"""A WebSocket server in this process that says exactly what a test wants, right or wrong."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from websockets.utils import accept_key

from feedbench.launch import Server
from feedbench.verify.case import Case, Step, case_of
from planning import make_target

Behaviour = Callable[[socket.socket], None]


def case(*steps: Step, **more: Any) -> Case:
    """As it would be read from a file with these steps and no more said."""
    entry = {"id": "test.case", "description": "-", "rfc": "-", "steps": list(steps), **more}
    return case_of(entry)


@contextmanager
def scripted(behave: Behaviour, *, answer: bytes | None = None) -> Iterator[Server]:
    """Accepts one connection, answers its handshake (or with `answer`), lets `behave` act, closes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve_one, args=(listener, behave, answer), daemon=True)
        thread.start()
        server = object.__new__(Server)
        server.target, server.host, server.port = (
            make_target("test/scripted"),
            "127.0.0.1",
            listener.getsockname()[1],
        )
        server.log = Path("/nonexistent")
        server.authority_file = None
        yield server
        thread.join(5)
        assert not thread.is_alive()


def _serve_one(listener: socket.socket, behave: Behaviour, answer: bytes | None) -> None:
    connection, _ = listener.accept()
    with connection, suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        connection.sendall(answer if answer is not None else _accept(head))
        behave(connection)


def _accept(head: bytes) -> bytes:
    key = next(line for line in head.decode().split("\r\n") if line.lower().startswith("sec-websocket-key"))
    accepted = accept_key(cast(str, key.partition(":")[2].strip()))
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accepted}\r\n\r\n"
    ).encode()
