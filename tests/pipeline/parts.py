"""A study's input for the tests of its parts, and a crew that is this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from client_files import Message, trade, write_stamps

from feedbench.pipeline.ingest import SeriesFiles, ingest
from feedbench.pipeline.partitions.task import Effort, Place, Task, perform
from feedbench.pipeline.progress import Progress
from feedbench.pipeline.run import Options, study_series
from feedbench.pipeline.source import find_sources
from feedbench.pipeline.study import Study

AT_MS = 1_600_000_000_000
EVENTS = 400


def gemini(event_ms: int, number: int, sequence: int) -> str:
    """What Gemini counts for each connection differs between clients that got the same event."""
    return (
        f'{{"type":"trade","symbol":"BTCUSD","event_id":{number},"timestamp":{event_ms},'
        f'"socket_sequence":{sequence}}}'
    )


def received(client: int, *, exchange: str) -> list[Message]:
    """Each client misses some, every 50th event is sent twice with the same words and at one client three
    times, and every 97th message is no event, some of these no JSON.
    """
    messages: list[Message] = []
    for at in range(EVENTS):
        event_ms = AT_MS + 10 * (at - (at % 50 == 49))
        age = 5 + client + (at * (client + 3)) % 7
        if at % 97 == 0:
            messages.append((event_ms, '{"result":null,"id":1}' if at % 2 else "no JSON at all"))
        if (at + 13 * client) % 101 == 0:
            continue
        text = trade(event_ms, at - (at % 50 == 49))
        if exchange == "gemini":
            text = gemini(event_ms, at - (at % 50 == 49), at + client)
        messages += [(event_ms + age, text)] * (2 if client == 1 and at % 200 == 49 else 1)
    return messages


def write_input(folder: Path) -> Path:
    """Three exchanges: one with three clients, one with two, one that said so little that most partitions
    stay empty; and a client that received nothing.
    """
    for exchange, clients in (("binance", 3), ("gemini", 2)):
        for client in range(clients):
            write_stamps(folder, f"client{client}@{exchange}", received(client, exchange=exchange))
    for client in range(2):
        few = [(AT_MS + at + 7 + client, f'{{"timestamp":{AT_MS + at},"code":"{at}"}}') for at in range(3)]
        write_stamps(folder, f"client{client}@bithumb", few)
    write_stamps(folder, "mute@kraken", [])
    return folder


def ingested_input(folder: Path, *, messages: int = 150) -> list[SeriesFiles]:
    """As Parquet, in files of so many messages."""
    from feedbench.pipeline import stamps

    before = stamps.MESSAGES
    stamps.MESSAGES = messages
    try:
        return ingest(find_sources([str(write_input(folder / "clients"))]), folder / "series", lambda _: None)
    finally:
        stamps.MESSAGES = before


def one_process(files: Sequence[SeriesFiles], folder: Path) -> Study:
    return study_series(files, folder / "study.duckdb", Options(memory_bytes=2**30, threads=1))


class Inline:
    """Does what a crew does, one after the other in this process."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def perform(self, tasks: Sequence[Task], place: Place, progress: Progress) -> list[Effort]:
        efforts = []
        for task in tasks:
            efforts.append(perform(task, place))
            self.done.append(task.name)
            progress(task.size)
        return efforts
