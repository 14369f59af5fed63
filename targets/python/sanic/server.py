"""Echo and stamp servers with Sanic."""

import sys
from pathlib import Path

from sanic import Request, Sanic, Websocket

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving

application = Sanic("feedbench", configure_logging=False)
application.config.ACCESS_LOG = False
application.config.MOTD = False
application.config.GRACEFUL_SHUTDOWN_TIMEOUT = 0.5


@application.websocket("/echo")
async def echo(_: Request, connection: Websocket) -> None:
    async for message in connection:
        serving.before_answer(message)
        await connection.send(message)


@application.websocket("/stamp")
async def stamp(_: Request, connection: Websocket) -> None:
    await connection.send(serving.stamp(0))
    async for message in connection:
        serving.before_answer(message)
        answer = serving.stamp_answer(message)
        if answer is None:
            await connection.close(1003)
            return
        await connection.send(answer)


listener = serving.listening_socket(*serving.parse_arguments())
application.run(sock=listener, ssl=serving.ssl_context(), single_process=True)
