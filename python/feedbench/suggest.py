"""Hints for a mistyped word."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean "connections"?`, else the list of what there is."""
    words = list(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{close[0]}"?'
    if not words:
        return "none is known"
    return "known: " + ", ".join(sorted(words))
