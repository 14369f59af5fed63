"""What one client received from one exchange."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

EXCHANGE_KEY, CLIENT_KEY = "exchange=", "client="


@dataclass(frozen=True, order=True)
class Series:
    """`client` is a target-id or whatever a recording is called, `exchange` a name that dialect.py knows."""

    exchange: str
    client: str

    def __str__(self) -> str:
        return f"{self.client}@{self.exchange}"

    @classmethod
    def parse(cls, text: str) -> Series | None:
        """From `CLIENT@EXCHANGE`; None when it is not of that form."""
        client, at, exchange = text.rpartition("@")
        return cls(exchange, client) if at and client and exchange else None

    def folder(self, below: Path) -> Path:
        """Of its Parquet files, in the layout that DuckDB and others call Hive partitioning."""
        return below / f"{EXCHANGE_KEY}{quote(self.exchange)}" / f"{CLIENT_KEY}{quote(self.client, safe='')}"

    @classmethod
    def of_folder(cls, folder: Path) -> Series | None:
        """What `folder` made; None when it is no such folder."""
        exchange, client = folder.parent.name, folder.name
        if not exchange.startswith(EXCHANGE_KEY) or not client.startswith(CLIENT_KEY):
            return None
        return cls(unquote(exchange.removeprefix(EXCHANGE_KEY)), unquote(client.removeprefix(CLIENT_KEY)))
