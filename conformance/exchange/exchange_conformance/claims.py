"""What a client claims to have received: the lines that its driver printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from exchange_conformance.errors import ConformanceError
from exchange_conformance.symbols import base_of
from exchange_conformance.values import Json, parse


@dataclass(frozen=True)
class Claim:
    """One thing that a client handed to its user, in one of three forms.

    `message` is a whole message as the client parsed it, `text` one that it handed over as it was, `fields`
    are values of the client's own objects. A `state` is an order book that the client keeps.
    """

    channel: str
    symbol: str
    message: Json = None
    text: str | None = None
    fields: Mapping[str, Json] | None = None
    state: Mapping[str, Json] | None = None
    sampled: bool = False
    """The client hands over the latest value only, so that values between two claims may be absent."""


@dataclass(frozen=True)
class Claims:
    """All that one driver printed."""

    version: str
    claims: tuple[Claim, ...]
    complete: bool
    """The driver saw as much as it was asked to."""


def read_claims(path: Path) -> Claims:
    """Reads a driver's output; ConformanceError where a line is not a claim."""
    version, complete, claims = "unknown", False, []
    for number, line in enumerate(_lines(path), start=1):
        try:
            value = parse(line)
            if "version" in value:
                version = value["version"]
            elif "complete" in value:
                complete = value["complete"]
            else:
                claims.append(Claim(**{**value, "symbol": base_of(value["symbol"])}))
        except (json.JSONDecodeError, TypeError, KeyError) as error:
            raise ConformanceError(f"{path}:{number}: not a claim ({error}): {line[:80]!r}") from error
    return Claims(version, tuple(claims), complete)


def _lines(path: Path) -> Iterator[str]:
    # A client may print lines of its own (gemini_python does); claims are those that begin as an object.
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from (line for line in file if line.startswith("{"))
