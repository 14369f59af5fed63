"""Reads back what a run has written about its cells."""

from __future__ import annotations

from collections.abc import Iterator

from feedbench.errors import RunDirectoryError
from feedbench.paths import RunDirectory, read_json
from feedbench.run.status import Status


def cell_statuses(directory: RunDirectory) -> Iterator[Status]:
    """The status of every cell in every whole block, blocks in order."""
    whole = directory.path.glob("blocks/*/block.json")
    for block in sorted(
        (path.parent for path in whole if path.parent.name.isdigit()), key=lambda path: int(path.name)
    ):
        for path in sorted(block.glob("*/status.json")):
            document = read_json(path, needed_for="count the verdicts")
            try:
                yield Status(**{name: value for name, value in document.items() if name != "schema"})
            except TypeError as error:
                raise RunDirectoryError(f"this is no status ({error})", where=str(path)) from error
