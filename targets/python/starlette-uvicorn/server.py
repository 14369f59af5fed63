"""Echo and stamp servers with Starlette on uvicorn."""

import signal
import sys
from pathlib import Path

import uvicorn

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving
from starlette_application import application

listener = serving.listening_socket(*serving.parse_arguments())
certificate, key = serving.certificate_files() or (None, None)
config = uvicorn.Config(
    application,
    loop=serving.EVENT_LOOP or "auto",
    log_level="error",
    access_log=False,
    ws_per_message_deflate=serving.DEFLATE != "off",
    ssl_certfile=certificate,
    ssl_keyfile=key,
    timeout_graceful_shutdown=1,
)
for number in (signal.SIGTERM, signal.SIGINT):
    # uvicorn ends in order and then raises the signal again.
    signal.signal(number, lambda *_: sys.exit(0))
uvicorn.Server(config).run(sockets=[listener])
