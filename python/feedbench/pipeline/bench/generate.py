"""Generated series of one exchange, as `ingest` leaves them: Parquet with raw payloads, a million a file.

The events are Binance's trades as in the paper's Fig. 4a, 197 bytes each. One in 1,000 says the same as the
one before it, each client misses one in 10,000 of its own, and ages are 80 ms and more with an exponential
tail that differs from client to client. All of it follows from the number of the event.

The paper's size would be 46 GB of stamps files, and SQLite is no smaller; as Parquet it is a quarter of that.
So reading the clients' own files is not in this measurement: `__main__` tells its speed beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from feedbench.pipeline.progress import Progress
from feedbench.pipeline.series import Series

PART_EVENTS = 1_000_000
EXCHANGE = "binance"
CLIENTS = ("cpp", "go", "java", "javascript", "php", "python")

PAYLOAD = (
    '{"stream":"btcusdt@trade","data":{"e":"trade","E":%d,"s":"BTCUSDT","t":%d,"p":"11%d.%d000000",'
    '"q":"0.%d00","b":%d,"a":%d,"T":%d,"m":%s,"M":true}}'
)
# The digits of price and quantity come from a hash, so that they compress as badly as real ones.
EVENTS = """
CREATE OR REPLACE TEMP TABLE events AS
SELECT i, 1596232800000 + i * 10 + (hash(i) % 10)::BIGINT AS event_ms,
    printf($payload, event_ms, 370684729 + i, 100 + hash(i) % 900, 10 + hash(i + 1) % 90,
           100000 + hash(i + 2) % 900000, 2813775880 + 2 * i, 2813775881 + 2 * i, event_ms - 1,
           CASE WHEN hash(i) % 2 = 0 THEN 'true' ELSE 'false' END) AS payload
FROM (SELECT number - (number % 1000 = 999)::INTEGER AS i FROM range($first, $end) AS numbers(number))
"""
RECEIVED = """
COPY (
    SELECT {first} + row_number() OVER () - 1 AS number, received_unix_ms * 1000000 AS received_ns,
        received_unix_ms, payload
    FROM (SELECT payload, event_ms + 80 + {client}
            + floor((4 + {client}) * -ln((hash(i, {client}) % 1000000 + 1) / 1e6))::BIGINT AS received_unix_ms
        FROM events WHERE hash(i, {client}, 'missed') % 10000 != 0)
) TO '{path}' (FORMAT parquet, COMPRESSION lz4)
"""


def generate(folder: Path, events: int, progress: Progress, clients: Sequence[str] = CLIENTS) -> None:
    """`events` for each client below `folder`, unless they are there; `progress` counts each client's."""
    with duckdb.connect(config={"memory_limit": "2GiB", "preserve_insertion_order": True}) as database:
        for part, first in enumerate(range(0, events, PART_EVENTS)):
            end = min(first + PART_EVENTS, events)
            paths = [Series(EXCHANGE, client).folder(folder) / f"{part:05}.parquet" for client in clients]
            if not all(path.exists() for path in paths):
                database.execute(EVENTS, {"payload": PAYLOAD, "first": first, "end": end})
            for client, path in enumerate(paths):
                if not path.exists():
                    _write(database, first, client, path)
                progress(end - first)


def _write(database: duckdb.DuckDBPyConnection, first: int, client: int, path: Path) -> None:
    """By rename, so that a file that is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    database.execute(RECEIVED.format(first=first, client=client, path=partial))
    partial.rename(path)
