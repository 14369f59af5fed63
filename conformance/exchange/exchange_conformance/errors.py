"""What can go wrong, as one line for the reader."""

from __future__ import annotations


class ConformanceError(Exception):
    """The run as a whole cannot go on. The message says what happened, where, and what to try."""
