"""Makes the seeds from spec/vectors: the fuzzer begins where the standards' examples are.

Run it after a change of the vectors: `python fuzz/seeds.py`. Inputs that once broke a parser
are added by hand.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VECTORS = HERE.parent / "spec" / "vectors"


def vectors(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


def write(target: str, name: str, content: bytes) -> None:
    folder = HERE / "seeds" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def sample_file(records: int, *, footer: bool = True) -> bytes:
    """A file as spec/README.md lays it out."""
    columns = ["intended_ns", "sent_ns", "received_ns", "connection", "slice"]
    header = {"clock": "CLOCK_MONOTONIC", "name": "seed", "columns": columns, "drop_first": 0.1}
    text = json.dumps(header).encode()
    text += b" " * (-(16 + len(text)) % 32)
    body = b"".join(struct.pack("<QQQII", n, n + 1, n + 30_000, n % 3, n // 4) for n in range(records))
    end = struct.pack("<8sQQQ", b"FBSMPEND", records, zlib.crc32(body), 0)
    return struct.pack("<8sII", b"FBSAMPLE", 1, len(text)) + text + body + (end if footer else b"")


def main() -> None:
    frames = vectors("websocket-frames")
    for part in ("frames", "headers", "invalid"):
        for case in frames[part]:
            write("frame", f"{part}.{case['id']}", bytes.fromhex(case["hex"]))
    for case in vectors("websocket-handshake")["responses"]:
        write("handshake", f"response.{case['id']}", case["response"].encode())
    request = (
        "GET /echo HTTP/1.1\r\nHost: 127.0.0.1:9001\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    )
    write("handshake", "request.plain", f"{request}\r\n".encode())
    offer = "permessage-deflate; client_max_window_bits; server_max_window_bits=10, permessage-deflate"
    extended = f"Sec-WebSocket-Protocol: chat, superchat\r\nSec-WebSocket-Extensions: {offer}\r\n"
    write("handshake", "request.extended", f"{request}{extended}\r\n".encode())
    for case in vectors("permessage-deflate")["messages"]:
        for number, wire in enumerate(case["wire_hex"]):
            write("inflate", f"{case['id']}.{number}", bytes.fromhex(wire))
    bomb = zlib.compressobj(wbits=-15)
    write("inflate", "bomb", bomb.compress(bytes(100_000)) + bomb.flush(zlib.Z_SYNC_FLUSH)[:-4])
    for records in (0, 1, 5):
        write("samples", f"whole.{records}", sample_file(records))
    write("samples", "cut.short", sample_file(5, footer=False)[:-7])
    write("samples", "damaged", sample_file(5).replace(b"\x30\x75", b"\x31\x75"))


if __name__ == "__main__":
    main()
