"""Makes the seeds: of spec/vectors, so that the fuzzer begins where the standards' examples are, and of what
exchanges' clients say.

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


def ledger_file(messages: int, *, end: bool = True) -> bytes:
    """A file as spec/ledger.md lays it out."""
    header = {"clock": "CLOCK_MONOTONIC", "opened_ns": 5, "opened_unix_ns": 6, "seed": 7, "paced": True}
    text = json.dumps(header).encode()
    text += b" " * (-(16 + len(text)) % 64)

    def record(content: bytes) -> bytes:
        content = content.ljust(60, b"\0")
        return content + struct.pack("<I", zlib.crc32(content))

    name = b"binance btcusdt@trade"
    records = [record(struct.pack("<BBHI", 2, len(name), 0, 0) + name)]
    for n in range(messages):
        sent = struct.pack("<BBHIQQQQIIIII", 1, 0, 0, 0, n, n + 1, n + 2, n, 2**32 - 1, 1, 200, 9, 30)
        records.append(record(sent))
    if end:
        records.append(record(struct.pack("<BBHIQ", 3, 0, 0, 0, len(records))))
    return struct.pack("<8sII", b"FBLEDGER", 1, len(text)) + text + b"".join(records)


# What clients of each personality say, and ask of REST; in the order in which the properties number them.
CLIENTS: list[tuple[str, list[str], list[str]]] = [
    (
        "binance",
        [
            '{"method":"SUBSCRIBE","params":["btcusdt@depth@100ms","ethusdt@kline_1m"],"id":1}',
            '{"method":"SET_PROPERTY","params":["combined",true],"id":"a"}',
            '{"method":"UNSUBSCRIBE","params":["btcusdt@trade"],"id":null}',
        ],
        ["/api/v3/depth?symbol=BTCUSDT&limit=5", "/stream?streams=btcusdt@trade&timeUnit=microsecond"],
    ),
    (
        "coinbase",
        [
            '{"type":"subscribe","product_ids":["BTC-USD"],"channels":["full",{"name":"level2_batch"}]}',
            '{"type":"unsubscribe","product_ids":["BTC-USD"]}',
        ],
        ["/products/BTC-USD/book?level=3", "/products/BTC-USD/trades?limit=2"],
    ),
    (
        "coinbase-advanced",
        [
            '{"type":"subscribe","product_ids":["BTC-USD","ETH-USD"],"channel":"level2"}',
            '{"type":"unsubscribe","product_ids":["BTC-USD"],"channel":"level2"}',
        ],
        ["/api/v3/brokerage/market/product_book?product_id=BTC-USD&limit=5"],
    ),
    (
        "kraken-v2",
        [
            '{"method":"subscribe","params":{"channel":"book","symbol":["BTC/USD"],"depth":10},"req_id":1}',
            '{"method":"ping","req_id":2}',
        ],
        ["/0/public/Depth?pair=XBTUSD&count=2"],
    ),
    (
        "kraken-v1",
        [
            '{"event":"subscribe","pair":["XBT/USD"],"subscription":{"name":"book","depth":25}}',
            '{"event":"unsubscribe","pair":["XBT/USD"],"subscription":{"name":"book","depth":25}}',
        ],
        ["/0/public/Ticker?pair=XBTUSD"],
    ),
    (
        "gemini",
        ['{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}'],
        ["/v1/book/btcusd?limit_bids=2", "/v1/marketdata/BTCUSD?heartbeat=true&bids=true"],
    ),
    (
        "gemini-streams",
        [
            '{"id":"1","method":"subscribe","params":["btcusd@depth@100ms","ethusd@bookTicker"]}',
            '{"id":2,"method":"depth","params":{"symbol":"btcusd","limit":3}}',
            '{"id":3,"method":"list_subscriptions"}',
        ],
        ["/v1/symbols/details/all", "/?snapshot=5"],
    ),
    (
        "bithumb",
        ['[{"ticket":"t"},{"type":"orderbook","codes":["KRW-BTC"]},{"format":"SIMPLE"}]', "PING"],
        ["/v1/orderbook?markets=KRW-BTC", "/public/ticker/ALL_KRW"],
    ),
    (
        "bithumb-global",
        ['{"cmd":"subscribe","args":["ORDERBOOK:BTC-USDT","TRADE:BTC-USDT"]}', '{"cmd":"ping"}'],
        ["/openapi/v1/spot/orderBook?symbol=BTC-USDT", "/message/realtime?subscribe=TICKER:BTC-USDT"],
    ),
    (
        "binance-sbe",
        [
            '{"method":"SUBSCRIBE","params":["btcusdt@depth20","ethusdt@bestBidAsk"],"id":1}',
            '{"method":"LIST_SUBSCRIPTIONS","id":2}',
        ],
        ["/api/v3/depth?symbol=BTCUSDT&limit=5", "/stream?streams=btcusdt@depth/ethusdt@trade"],
    ),
    (
        "itch",
        ['{"method":"SUBSCRIBE","params":["btcusdt@bookTicker","ethusdt@trade"],"id":1}'],
        ["/api/v3/ticker/bookTicker?symbol=BTCUSDT", "/ws/btcusdt@depth/ethusdt@trade"],
    ),
    (
        "bybit",
        [
            '{"op":"subscribe","args":["orderbook.50.BTCUSDT","publicTrade.ETHUSDT","kline.1.BTCUSDT"],"req_id":"1"}',
            '{"op":"ping","req_id":2}',
            '{"op":"unsubscribe","args":["orderbook.50.BTCUSDT"]}',
        ],
        [
            "/v5/market/orderbook?category=spot&symbol=BTCUSDT&limit=3",
            "/v5/market/kline?category=spot&symbol=ETHUSDT&interval=D",
        ],
    ),
]


def write_clients() -> None:
    for number, (name, messages, requests) in enumerate(CLIENTS):
        # A zero says a text at once, 0x10 one after some time, 0x12 and 0x13 a pong and a ping then.
        kinds = [b"\x10", b"\x00", b"\x10"]
        script = [kind + text.encode() for kind, text in zip(kinds, messages, strict=False)]
        write("session", name, bytes([number]) + b"\n".join([*script, b"\x12x", b"\x13"]))
        for index, target in enumerate(requests):
            write("rest", f"{name}.{index}", bytes([number]) + target.encode())


def write_inbound() -> None:
    frames = vectors("websocket-frames")
    for case in frames["frames"]:
        write("inbound", case["id"], bytes.fromhex(case["hex"]))
    key = b"\0\0\0\0"
    fragments = [b"\x01\x82" + key + b"ab", b"\x89\x81" + key + b"p", b"\x80\x81" + key + b"c"]
    write("inbound", "ping.between.fragments", b"".join(fragments))
    write("inbound", "close.then.more", b"\x88\x82" + key + b"\x03\xe8\x81\x80" + key)
    write("inbound", "announced.too.large", b"\x82\xff" + b"\x7f" * 8 + key)
    packed = zlib.compressobj(wbits=-15)
    text = packed.compress(b"the same, the same") + packed.flush(zlib.Z_SYNC_FLUSH)
    whole = text.removesuffix(b"\x00\x00\xff\xff")
    write("inbound", "compressed", bytes([0xC1, 0x80 | len(whole)]) + key + whole)
    first, rest = whole[:3], whole[3:]
    frames = bytes([0x41, 0x80 | len(first)]) + key + first + bytes([0x80, 0x80 | len(rest)]) + key + rest
    write("inbound", "compressed.in.fragments", frames)


def write_files() -> None:
    trade = '{"e":"trade","E":2,"s":"BTCUSDT","t":1,"p":"3.0","q":"4.0","T":2,"m":true,"M":true}'
    depth = '{"e":"depthUpdate","E":2,"s":"BTCUSDT","U":%d,"u":%d,"b":[["3.0","1.0"]],"a":[["4.0","0.0"]]}'
    book = '{"lastUpdateId":1,"bids":[["3.0","2.0"]],"asks":[["4.0","1.0"]]}'
    wrapped = '{"stream":"btcusdt@trade","data":%s}'
    url = "wss://host"
    recordings = {
        "raw": [f"1 {trade}", f"2 {depth % (2, 3)}"],
        "wrapped": [f"1 {wrapped % trade}", f"1000000000 {wrapped % trade}"],
        "book": [f"1 {book}", f"2 {depth % (2, 3)}", f"3 {depth % (4, 4)}"],
        "seconds": [f"{url} <-> 1.5", f'{url} <- 1.6: {{"type":"subscribe"}}', f"1.75: {trade}"],
        "neither": [f"1 {trade}", "hello"],
    }
    for name, lines in recordings.items():
        write("recording", name, "\n".join(lines).encode() + b"\n")
    write("recording", "no.text", b"1 {}\n2 \xff\n")
    for count in (0, 1, 5):
        write("ledger", f"whole.{count}", ledger_file(count))
    write("ledger", "no.end", ledger_file(3, end=False))
    write("ledger", "cut.short", ledger_file(3)[:-70])


def write_fix() -> None:
    """Messages, and bytes that are none; what clients say by door, `!` before a body that gets a header."""
    for case in vectors("fix")["messages"] + vectors("fix")["garbled"]:
        write("fix", case["id"], case["wire"].replace("|", "\x01").encode())
    logon, book = "!A 98=0|108=30|", "267=2|269=0|269=1|146=1|55="
    order = "54=1|55=BTC/USD|60=20261121-14:30:00|"
    scripts = {
        "standard.book": (0, [logon, f"!V 262=a|263=1|264=0|{book}BTC/USD|", "!1 112=x|", "!5 "]),
        "standard.orders": (
            0,
            [
                logon,
                f"!V 262=a|263=1|264=0|{book}BTC/USD|",
                f"!D 11=1|40=2|38=1|44=61837.60|{order}",
                f"!D 11=2|40=1|38=3|{order}",
                f"!F 11=3|41=1|{order}",
            ],
        ),
        "standard.resend": (
            0,
            [logon, f"!V 262=a|263=0|264=1|{book}BTC/USD|", "!2 7=1|16=0|", "!4 36=9|123=Y|"],
        ),
        "standard.garbled": (0, [logon, "8=FIX.4.4\x019=5\x0135=0\x0110=000\x01", "!1 112=x|", "!4 36=2|"]),
        "binance": (1, ["!A 98=0|108=30|141=Y|", f"!V 262=a|263=1|264=5|{book}BTCUSDT|", "!x 320=i|559=4|"]),
        "coinbase": (
            2,
            ["!A 98=0|108=30|1137=9|", f"!V 262=a|263=1|264=1|{book}BTC-USD|", "!V 262=a|263=2|264=1|"],
        ),
        "acceptance": (
            3,
            [logon, "!D 11=1|21=1|40=1|54=1|55=X|60=20261121-14:30:00|", "!d 320=1|322=1|323=1|"],
        ),
    }
    for name, (number, lines) in scripts.items():
        write("fix_session", name, bytes([number]) + "\n".join(lines).encode())


def main() -> None:
    write_clients()
    write_fix()
    write_inbound()
    write_files()
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
    stamps = vectors("stamp")
    for case in stamps["valid"] + stamps["invalid"]:
        write("stamp", case["id"], case["text"].encode())
    bomb = zlib.compressobj(wbits=-15)
    write("inflate", "bomb", bomb.compress(bytes(100_000)) + bomb.flush(zlib.Z_SYNC_FLUSH)[:-4])
    for records in (0, 1, 5):
        write("samples", f"whole.{records}", sample_file(records))
    write("samples", "cut.short", sample_file(5, footer=False)[:-7])
    write("samples", "damaged", sample_file(5).replace(b"\x30\x75", b"\x31\x75"))


if __name__ == "__main__":
    main()
