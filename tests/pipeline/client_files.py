"""Files as feed clients leave them, made by hand as spec/feed.md says; what the pipeline makes of them."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from feedbench.pipeline.run import Options, run_pipeline
from feedbench.pipeline.source import find_sources
from feedbench.pipeline.study import ExchangeStudy, SeriesStudy, Study

TEXT, CONNECTED, END = 1, 3, 4

# Receipt in Unix ms, and the text.
Message = tuple[int, str]


def trade(event_ms: int, number: int = 1) -> str:
    """A trade of Binance's, as in the paper's Fig. 4a."""
    return f'{{"stream":"btcusdt@trade","data":{{"e":"trade","E":{event_ms},"s":"BTCUSDT","t":{number}}}}}'


def stamps_record(kind: int, unix_ms: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack("<QQIB3x", unix_ms * 1_000_000, unix_ms, len(payload), kind) + payload


def stamps_content(messages: Iterable[Message], *, end: bool = True) -> bytes:
    records = [stamps_record(CONNECTED)]
    records += [stamps_record(TEXT, unix_ms, text.encode()) for unix_ms, text in messages]
    records += [stamps_record(END)] if end else []
    return b"FBSTAMPS" + struct.pack("<II", 1, 0) + b"".join(records)


def write_stamps(folder: Path, name: str, messages: Iterable[Message]) -> Path:
    path = folder / f"{name}.stamps"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stamps_content(messages))
    return path


def write_sqlite(path: Path, messages: Iterable[Message], *, exchange: str = "binance") -> Path:
    """With the study's own schema, text columns and all."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            """CREATE TABLE events (event_id integer NOT NULL PRIMARY KEY AUTOINCREMENT,
                   datetime_received text NOT NULL, event text NOT NULL);
               CREATE TABLE test_details (test_id integer NOT NULL PRIMARY KEY AUTOINCREMENT,
                   vps_id text NOT NULL, connector_id text NOT NULL, exchange_id text NOT NULL,
                   stream_id text NOT NULL, stream_args text NOT NULL, datetime_start text NOT NULL);"""
        )
        database.execute(
            "INSERT INTO test_details VALUES (1, 'host', 'php/php-wss', ?, '/ws', '', '0')", [exchange]
        )
        database.executemany(
            "INSERT INTO events (datetime_received, event) VALUES (?, ?)",
            [(str(unix_ms), text) for unix_ms, text in messages],
        )
        database.commit()
    return path


def study_of(folder: Path, *arguments: str | Path, one_clock: bool = False) -> Study:
    """Of files, or of all that is in `folder`."""
    sources = find_sources([str(argument) for argument in arguments or (folder,)])
    return run_pipeline(sources, folder / "out", Options(one_clock=one_clock, memory_bytes=2**30, threads=1))


def only(study: Study) -> ExchangeStudy:
    (exchange,) = study.exchanges
    return exchange


def by_client(exchange: ExchangeStudy) -> dict[str, SeriesStudy]:
    return {each.series.client: each for each in exchange.series}


def kinds(study: Study) -> list[str]:
    return [problem.kind for problem in study.problems]


def clients(folder: Path, received: dict[str, Sequence[Message]], exchange: str = "binance") -> Path:
    """A stamps file for each client."""
    for client, messages in received.items():
        write_stamps(folder, f"{client}@{exchange}", messages)
    return folder
