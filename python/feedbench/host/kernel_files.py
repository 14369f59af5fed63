"""The kernel's own files (/proc, /sys), read under a root that a test may plant.

A file that this kernel does not have, or does not show to this user, reads as None: what is unknown is said
to be unknown and never guessed.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class KernelFiles:
    """Reads below `root` ("/" outside tests)."""

    root: Path = Path("/")

    def text(self, path: str) -> str | None:
        """The file's text without surrounding white space."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def chosen(self, path: str) -> str | None:
        """The word in brackets, as in `always [madvise] never`."""
        text = self.text(path)
        if text is None or "[" not in text:
            return text
        return text.split("[", 1)[1].split("]", 1)[0]

    def whole_number(self, path: str) -> int | None:
        """The file as one whole number."""
        text = self.text(path)
        try:
            return int(text) if text is not None else None
        except ValueError:
            return None

    def configuration(self) -> dict[str, str]:
        """The options that the kernel was built with (`CONFIG_HZ` → `250`), empty where it does not tell."""
        try:
            packed = (self.root / "proc/config.gz").read_bytes()
            text: str | None = gzip.decompress(packed).decode()
        except (OSError, EOFError):
            release = self.text("proc/sys/kernel/osrelease")
            text = self.text(f"boot/config-{release}") if release else None
        lines = (text or "").splitlines()
        return dict(line.split("=", 1) for line in lines if line.startswith("CONFIG_") and "=" in line)
