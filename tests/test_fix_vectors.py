"""The FIX vectors in spec/vectors/fix.json, held against simplefix, which shares no line with ours.

The Rust tests read the same file. Without simplefix these tests are skipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

simplefix: Any = pytest.importorskip("simplefix")

VECTORS = json.loads(
    (Path(__file__).parent.parent / "spec" / "vectors" / "fix.json").read_text(encoding="utf-8")
)


def by_id(case: dict[str, Any]) -> str:
    return str(case["id"])


def to_bytes(text: str) -> bytes:
    return text.replace("|", "\x01").encode("ascii")


def parse(wire: bytes) -> Any:
    """The first message in the bytes as simplefix reads it, or None."""
    parser = simplefix.FixParser()
    parser.append_buffer(wire)
    return parser.get_message()


@pytest.mark.parametrize("case", VECTORS["messages"], ids=by_id)
def test_messages(case: dict[str, Any]) -> None:
    wire = to_bytes(case["wire"])
    message = parse(wire)
    assert [[int(tag), value] for tag, value in message.pairs] == [
        [tag, to_bytes(value)] for tag, value in case["fields"]
    ]
    # Encoding computes BodyLength and CheckSum anew.
    assert message.encode() == wire


@pytest.mark.parametrize("case", VECTORS["garbled"], ids=by_id)
def test_garbled(case: dict[str, Any]) -> None:
    # simplefix does not check what it reads; but what it writes for the same fields must differ.
    wire = to_bytes(case["wire"])
    try:
        message = parse(wire)
        written = None if message is None else message.encode()
    except ValueError:
        written = None
    assert written != wire, case["why"]
