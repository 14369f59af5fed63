"""A recording on disk: lines that are safe once they are acknowledged, whatever happens to the process.

A line is `<unix ns> <frame>` for a frame received, `URL <-> <unix s>` where a connection began and
`URL <- <unix s>: <frame>` for what was sent. A file that ends in `.gz` is a sequence of gzip members, one for
each acknowledgement, so that what a killed process leaves is whole but for its last member.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from feedbench.errors import FeedbenchError

READ_BYTES = 1 << 20
GZIP = 31  # zlib's name for a gzip member with its header


class RecordingFile:
    """Takes lines and acknowledges them when the disk has them; FeedbenchError names the file that can't."""

    def __init__(self, path: Path, *, append: bool) -> None:
        self.path = path
        self.acknowledged = 0
        self.repaired_bytes = 0
        self._waiting: list[bytes] = []
        self._packed = path.suffix == ".gz"
        try:
            flags = os.O_RDWR | os.O_CREAT | (0 if append else os.O_EXCL)
            self._file = os.open(path, flags, 0o644)
        except FileExistsError as error:
            raise FeedbenchError(
                "this recording is there already", where=str(path), hint="--append goes on with it"
            ) from error
        except OSError as error:
            raise FeedbenchError(f"cannot record: {error.strerror}", where=str(path)) from error
        self._length = self._repair()

    def _repair(self) -> int:
        """Cuts off what an earlier process left unfinished; returns the length of what stays."""
        whole = whole_length(self.path)
        self.repaired_bytes = os.fstat(self._file).st_size - whole
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)
        return whole

    def add(self, line: bytes) -> None:
        """One line without its end; it is safe after the next `acknowledge`."""
        self._waiting.append(line + b"\n")

    def acknowledge(self) -> int:
        """Brings all lines to the disk; returns how many it has by now, of this process."""
        if not self._waiting:
            return self.acknowledged
        text = b"".join(self._waiting)
        content = gzip.compress(text, compresslevel=6) if self._packed else text
        try:
            written = 0
            while written < len(content):
                written += os.write(self._file, content[written:])
            os.fdatasync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._length)  # half a line is none
            raise FeedbenchError(
                f"cannot record: {error.strerror}; {self.acknowledged} lines are safe", where=str(self.path)
            ) from error
        self._length += len(content)
        self.acknowledged += len(self._waiting)
        self._waiting.clear()
        return self.acknowledged

    def close(self) -> None:
        """Acknowledges what waits."""
        try:
            self.acknowledge()
        finally:
            os.close(self._file)


def whole_length(path: Path) -> int:
    """Bytes of the file up to its last whole line, or of a packed one up to its last whole member."""
    try:
        with path.open("rb") as file:
            if path.suffix == ".gz":
                return _whole_members(file.read())
            return _whole_lines(file.read())
    except OSError as error:
        raise FeedbenchError(f"cannot read: {error.strerror}", where=str(path)) from error


def _whole_lines(content: bytes) -> int:
    return content.rfind(b"\n") + 1


def _whole_members(content: bytes) -> int:
    whole = 0
    while whole < len(content):
        member = zlib.decompressobj(GZIP)
        try:
            for at in range(whole, len(content), READ_BYTES):
                member.decompress(content[at : at + READ_BYTES])
                if member.eof:
                    whole = min(at + READ_BYTES, len(content)) - len(member.unused_data)
                    break
            else:
                return whole
        except zlib.error:
            return whole
    return whole
