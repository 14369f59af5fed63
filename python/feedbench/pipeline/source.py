"""Which file holds which series: by what the file says, by its name, or as told on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from feedbench.errors import FeedbenchError
from feedbench.feed.stamps import MAGIC
from feedbench.pipeline import recording, sqlite, stamps
from feedbench.pipeline.batch import Reading
from feedbench.pipeline.dialect import DIALECTS, exchange_of
from feedbench.pipeline.problem import Problem
from feedbench.pipeline.series import Series

Format = Literal["stamps", "sqlite", "recording", "empty"]
SUFFIXES = (".stamps", ".sqlite", ".sqlite3", ".db")
HINT = "name it CLIENT@EXCHANGE.stamps, or say CLIENT@EXCHANGE=FILE"


@dataclass(frozen=True)
class Source:
    """One file of one series; a series may have several, read one after the other."""

    series: Series
    path: Path
    format: Format

    def read(self) -> Reading:
        """What the file tells; a file without a byte is a problem, not an error."""
        match self.format:
            case "stamps":
                return stamps.read_stamps(self.path)
            case "sqlite":
                return sqlite.read_sqlite(self.path)
            case "recording":
                return recording.read_recording(self.path)
            case "empty":
                return iter([Problem("empty", f"{self.path} has no byte in it")])


def find_sources(arguments: Sequence[str]) -> list[Source]:
    """Of files, folders and `CLIENT@EXCHANGE=FILE`. In a folder, stamps and SQLite files count, at any depth;
    FeedbenchError when there are none, or a file's series can't be told.
    """
    sources = [source for argument in arguments for source in _of_argument(argument)]
    if not sources:
        raise FeedbenchError(
            "there is no file of a feed client", where=", ".join(arguments), hint="see spec/feed.md"
        )
    return sources


def sources_of(series: Series, paths: Iterable[Path]) -> list[Source]:
    """Of files whose series is known."""
    return [Source(series, path, _format(path)) for path in paths]


def _of_argument(argument: str) -> Iterator[Source]:
    path = Path(argument)
    named, _, file = argument.partition("=")
    series = Series.parse(named)
    if series and file and not path.exists():
        yield from sources_of(series, [_existing(Path(file))])
    elif path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.is_file() and _is_client_file(inner):
                yield _named(inner)
    else:
        yield _named(_existing(path))


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FeedbenchError("there is no such file", where=str(path))
    return path


def _is_client_file(path: Path) -> bool:
    if path.stat().st_size == 0:
        return path.suffix in SUFFIXES
    return _beginning(path).startswith((MAGIC, sqlite.MAGIC))


def _named(path: Path) -> Source:
    format = _format(path)
    series = _series(path, format)
    if series is None:
        raise FeedbenchError("which client and which exchange is this?", where=str(path), hint=HINT)
    return Source(series, path, format)


def _format(path: Path) -> Format:
    beginning = _beginning(path)
    if not beginning:
        return "empty"
    if beginning.startswith(MAGIC):
        return "stamps"
    if beginning.startswith(sqlite.MAGIC):
        return "sqlite"
    if recording.is_recording(path):
        return "recording"
    if MAGIC.startswith(beginning) or path.suffix == ".stamps":
        return "stamps"  # which tells what is wrong with it
    raise FeedbenchError(
        "this is neither a stamps file, nor SQLite, nor a recording", where=str(path), hint="see spec/feed.md"
    )


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(sqlite.MAGIC))
    except OSError as error:
        raise FeedbenchError(f"cannot read: {error.strerror}", where=str(path)) from error


def _series(path: Path, format: Format) -> Series | None:
    stem = path.name.removesuffix(path.suffix) if path.suffix in SUFFIXES else path.name.split(".")[0]
    if named := Series.parse(stem):
        return named
    if format == "sqlite" and (details := sqlite.read_details(path)):
        return Series(details.exchange_id, details.connector_id.replace("/", "-"))
    if path.parent.name in DIALECTS:
        return Series(path.parent.name, stem)
    exchange = exchange_of(stem)
    return Series(exchange, stem) if exchange else None
