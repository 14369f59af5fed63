"""Facts about the machine and the protocol as pairs of label and text, whatever fields the files hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from feedbench.report.numbers import share, size
from feedbench.report.sentences import value_words
from feedbench.units import format_duration

# The host's name says nothing about a latency, and a report is made to be passed on.
LEFT_OUT = frozenset({"schema", "hostname", "advice"})
ACRONYMS = {"cpu": "CPU", "cpus": "CPUs", "psi": "PSI", "hz": "(Hz)", "cgroup": "cgroup"}


def facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """`{"cpu": {"model": "…"}, "memory_bytes": 25e9}` → `[("CPU · model", "…"), ("Memory", "25.0 GB")]`."""
    return [(label, text) for label, text in _walk(document, "") if text]


def _walk(document: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in document.items():
        if key in LEFT_OUT:
            continue
        if isinstance(value, Mapping):
            yield from _walk(value, f"{prefix}{_label(key)} · ")
        else:
            yield prefix + _label(key), _text(key, value)


def _label(key: str) -> str:
    for unit in ("_ns", "_bytes", "_share"):
        key = key.removesuffix(unit)
    words = [ACRONYMS.get(word, word) for word in key.split("_")]
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def _text(key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(_text(key, item) for item in value if not isinstance(item, Mapping | list))
    if isinstance(value, int | float) and not isinstance(value, bool):
        if key.endswith("_ns"):
            return format_duration(int(value))
        if key.endswith("_bytes"):
            return size(value)
        if key.endswith("_share"):
            return share(value)
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return value_words(value)
