"""Raw samples, one record a message: reads and writes `samples.fbs` (layout in spec/README.md).

A file is mapped, not loaded, and its times stay unsigned 64-bit integers: no value passes through a float.
A file that was cut short (full disk, killed process) still gives its whole records, and says that it is
incomplete.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feedbench.errors import RunDirectoryError

MAGIC = b"FBSAMPLE"
FOOTER_MAGIC = b"FBSMPEND"
VERSION = 1
RECORD = np.dtype(
    [
        ("intended_ns", "<u8"),
        ("sent_ns", "<u8"),
        ("received_ns", "<u8"),
        ("connection", "<u4"),
        ("slice", "<u4"),
    ]
)
COLUMNS = list(RECORD.names or ())
_PREFIX_BYTES = 16
_HEADER_LIMIT_BYTES = 1 << 20  # a header is a few hundred bytes; a greater length is damage

Nanoseconds = NDArray[np.uint64]
Records = NDArray[np.void]


class Ending(Enum):
    """How a sample file ends."""

    COMPLETE = "complete"
    CUT_SHORT = "cut short"  # no footer: the writer died, or its disk was full
    DAMAGED = "damaged"  # a footer that disagrees with the records


@dataclass(frozen=True)
class Samples:
    """The records of one cell in one block; `records` has the dtype RECORD."""

    header: Mapping[str, Any]
    records: Records
    ending: Ending

    @property
    def complete(self) -> bool:
        return self.ending is Ending.COMPLETE

    def __len__(self) -> int:
        return int(self.records.shape[0])

    @property
    def latency_ns(self) -> Nanoseconds:
        """From the intended send time; wraps around to an impossibly large value if received before it."""
        return self._since("intended_ns")

    @property
    def latency_from_send_ns(self) -> Nanoseconds:
        """From the actual send time."""
        return self._since("sent_ns")

    def _since(self, column: str) -> Nanoseconds:
        difference: Nanoseconds = self.records["received_ns"] - self.records[column]
        return difference


def read_samples(path: Path, *, verify: bool = True) -> Samples:
    """The samples in `path`; `verify` computes the checksum too (about 1 ms per 32,000 records).

    RunDirectoryError when the file is missing, is no sample file, or has another version.
    """
    try:
        # An empty file can't be mapped; a file of a header alone has no record to map.
        content = np.memmap(path, dtype=np.uint8, mode="r") if path.stat().st_size else np.empty(0, np.uint8)
    except OSError as error:
        raise RunDirectoryError(f"cannot read it: {error.strerror}", where=str(path)) from error
    header, begin = _read_header(content, path)
    whole = (content.size - begin) // RECORD.itemsize
    body = content[begin : begin + whole * RECORD.itemsize]
    footer = body[-RECORD.itemsize :].tobytes()
    if footer[:8] != FOOTER_MAGIC:
        return Samples(header, body.view(RECORD), Ending.CUT_SHORT)
    body = body[: -RECORD.itemsize]
    count, checksum = (int.from_bytes(footer[at : at + 8], "little") for at in (8, 16))
    sound = count == whole - 1 and (not verify or checksum == zlib.crc32(body.data))
    return Samples(header, body.view(RECORD), Ending.COMPLETE if sound else Ending.DAMAGED)


def write_samples(path: Path, records: Records, *, name: str, drop_first: float = 0.0) -> None:
    """Writes a whole file: `records` (dtype RECORD) of the cell `name`, times on CLOCK_MONOTONIC."""
    header = {"clock": "CLOCK_MONOTONIC", "name": name, "columns": COLUMNS, "drop_first": drop_first}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-(_PREFIX_BYTES + len(text)) % RECORD.itemsize)
    body = np.ascontiguousarray(records, dtype=RECORD).tobytes()
    words = (len(records), zlib.crc32(body), 0)
    with path.open("wb") as file:
        file.write(MAGIC + VERSION.to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)
        file.write(body)
        file.write(FOOTER_MAGIC + b"".join(word.to_bytes(8, "little") for word in words))


def _read_header(content: NDArray[np.uint8], path: Path) -> tuple[Mapping[str, Any], int]:
    """The header's JSON and where the first record begins."""
    prefix = content[:_PREFIX_BYTES].tobytes()
    if len(prefix) < _PREFIX_BYTES or prefix[:8] != MAGIC:
        raise RunDirectoryError(
            "this is no sample file", where=str(path), hint="it should begin with FBSAMPLE; was it cut short?"
        )
    version = int.from_bytes(prefix[8:12], "little")
    if version != VERSION:
        raise RunDirectoryError(
            f"sample file version {version} is not the one that this feedbench reads ({VERSION})",
            where=str(path),
            hint="use the feedbench that wrote it",
        )
    begin = _PREFIX_BYTES + int.from_bytes(prefix[12:16], "little")
    text = content[_PREFIX_BYTES:begin].tobytes()
    if begin % RECORD.itemsize or begin > _HEADER_LIMIT_BYTES or begin > content.size:
        raise RunDirectoryError("the sample file's header is cut short or damaged", where=str(path))
    try:
        header = json.loads(text)
    except ValueError as error:
        raise RunDirectoryError(f"the sample file's header is no JSON ({error})", where=str(path)) from error
    if not isinstance(header, dict) or header.get("columns") != COLUMNS:
        raise RunDirectoryError(
            "the sample file has other columns than this feedbench reads", where=str(path)
        )
    return header, begin
