"""What the Python servers share: arguments, knobs, the stamp protocol, an orderly end.

spec/README.md says under "Server" what they do.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import ssl
import sys
import time
from collections.abc import Awaitable, Callable

BACKLOG = 4096  # connections that may wait to be accepted, as many as the kernel grants

DEFLATE = os.environ.get("FEEDBENCH_DEFLATE")  # "on", "off", or None for the library's default
DELAY_NS = int(os.environ.get("FEEDBENCH_DELAY_NS", "0"))
LOG_MESSAGES = os.environ.get("FEEDBENCH_LOG_MESSAGES") == "true"
REUSE_PORT = os.environ.get("FEEDBENCH_REUSE_PORT") == "on"
TLS = os.environ.get("FEEDBENCH_TLS") == "on"
EVENT_LOOP = os.environ.get("FEEDBENCH_EVENT_LOOP")  # "asyncio" or "uvloop"

Message = str | bytes | bytearray | memoryview


def before_answer(message: Message) -> None:
    """What the knobs want done first: printing the message, and spinning for a while."""
    if LOG_MESSAGES:
        print(message if isinstance(message, str) else bytes(message))
    if DELAY_NS:
        until_ns = time.monotonic_ns() + DELAY_NS
        while time.monotonic_ns() < until_ns:
            pass


def stamp(count: int) -> str:
    return json.dumps({"c": count, "ts": int(time.time())})


def stamp_answer(message: str | bytes) -> str | None:
    """The answer to `{"c":n}`; None when the message is something else, which ends the connection."""
    try:
        return stamp(json.loads(message)["c"])
    except (ValueError, KeyError, TypeError):
        return None


def parse_arguments() -> tuple[str, int]:
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    return given.host, given.port


def listening_socket(host: str, port: int) -> socket.socket:
    """Bound and listening; ends the program with one line when the address can't be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sets TCP_NODELAY only on sockets that say they are TCP; socket.create_server's do not.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if REUSE_PORT:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        sys.exit(f"cannot listen on {host}:{port}: {error.strerror}")
    return listener


def certificate_files() -> tuple[str, str] | None:
    """Certificate and key when wss is wanted."""
    if not TLS:
        return None
    return os.environ["FEEDBENCH_TLS_CERTIFICATE"], os.environ["FEEDBENCH_TLS_KEY"]


def ssl_context() -> ssl.SSLContext | None:
    files = certificate_files()
    if files is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


async def asked_to_end() -> None:
    """Comes back on SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()


def run(main: Callable[[socket.socket], Awaitable[None]]) -> None:
    """Runs a server on the event loop that the knob names, with the socket that the command line asks for."""
    listener = listening_socket(*parse_arguments())
    if EVENT_LOOP == "uvloop":
        import uvloop

        loop_factory = uvloop.new_event_loop
    else:
        loop_factory = asyncio.new_event_loop
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main(listener))
