"""What DuckDB says when a disk is full or a file is damaged, in the words of an error for the reader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC

import duckdb

from feedbench.errors import FeedbenchError

FULL = os.strerror(ENOSPC)


@contextmanager
def explained(where: str, *, room_hint: str = "--out on a larger disk") -> Iterator[None]:
    """FeedbenchError instead of DuckDB's own about files and room; a mistake in SQL stays what it is."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise _no_room(str(error), where, room_hint) from error
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        if FULL in str(error):
            raise _no_room(str(error), where, room_hint) from error
        raise FeedbenchError(
            f"a file can't be read: {_first_line(error)}",
            where=where,
            hint="cut short, damaged, or gone? A Parquet file is whole or useless",
        ) from error
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        raise _no_room(str(error), where, room_hint) from error


def _no_room(text: str, where: str, hint: str) -> FeedbenchError:
    return FeedbenchError(f"DuckDB has no room: {text.splitlines()[0]}", where=where, hint=hint)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
