"""Echo and stamp servers with socketify."""

import os
import signal
import sys
from pathlib import Path

from socketify import App, AppListenOptions, AppOptions, OpCode, Request, Response, WebSocket

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving

LARGEST_BYTES = 16 * 1024 * 1024


def echo(connection: WebSocket, message: str | bytes, opcode: OpCode) -> None:
    serving.before_answer(message)
    connection.send(message, opcode)


def greet(connection: WebSocket) -> None:
    connection.send(serving.stamp(0), OpCode.TEXT)


def stamp(connection: WebSocket, message: str | bytes, _: OpCode) -> None:
    serving.before_answer(message)
    answer = serving.stamp_answer(message)
    if answer is None:
        connection.end(1003, "")
    else:
        connection.send(answer, OpCode.TEXT)


def refuse(response: Response, _: Request) -> None:
    response.write_status(404).end("")


host, port = serving.parse_arguments()
serving.listening_socket(host, port).close()  # says in one line when the address can't be had
files = serving.certificate_files()
application = App(AppOptions(cert_file_name=files[0], key_file_name=files[1]) if files else None)
common = {"max_payload_length": LARGEST_BYTES, "idle_timeout": 0, "max_backpressure": LARGEST_BYTES}
application.ws("/echo", {"message": echo, **common})
application.ws("/stamp", {"open": greet, "message": stamp, **common})
application.any("/*", refuse)
application.listen(AppListenOptions(port=port, host=host))
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: os._exit(0))  # its loop runs in C and can't be left in order
application.run()
