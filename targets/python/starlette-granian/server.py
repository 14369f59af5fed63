"""Echo and stamp servers with Starlette on granian."""

import os
import sys
from pathlib import Path

from granian.constants import Interfaces
from granian.server import Server

sys.path.append(str(Path(__file__).resolve().parents[1] / "_support"))
import serving

if __name__ == "__main__":
    host, port = serving.parse_arguments()
    os.environ["PYTHONPATH"] = sys.path[-1]  # granian's worker is a new process
    certificate, key = serving.certificate_files() or (None, None)
    serving.listening_socket(host, port).close()  # says in one line when the address can't be had
    Server(
        "starlette_application:application",
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        workers=1,
        websockets=True,
        log_enabled=False,
        ssl_cert=Path(certificate) if certificate else None,
        ssl_key=Path(key) if key else None,
        workers_kill_timeout=1,
    ).serve()
