"""Definitions: TOML files of cases, each a script of what is sent and what must come back."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fix_conformance.errors import DefinitionError
from fix_conformance.pattern import Expected, parse

DEFINITIONS = Path(__file__).parent.parent / "definitions"
LINE = re.compile(
    r"(?P<times>\d+)?(?P<verb>[<>])\s+(?:\.\.(?P<skipped>\S+)\s+)?(?:\{(?P<header>[^}]*)\}\s*)?(?P<msg_type>[^\s{}]+)(?:\s+(?P<body>.*))?"
)
PAUSE = re.compile(r"- (\d+)ms")


@dataclass(frozen=True)
class Door:
    """Where cases are put to the exchange."""

    name: str
    """A key of the exchange's `urls`."""
    begin_string: str
    comp_id: str
    """The exchange's name there."""
    decimals: int
    """Of the second, in the times that the exchange sends."""


@dataclass(frozen=True)
class Connect:
    """A new connection; numbers go on."""


@dataclass(frozen=True)
class Disconnected:
    """The exchange must close the connection."""


@dataclass(frozen=True)
class Pause:
    """Nothing is done for so long; what comes meanwhile is read later."""

    ms: int


@dataclass(frozen=True)
class Raw:
    """Bytes as they are, with bars for separators."""

    text: str


@dataclass(frozen=True)
class Send:
    """A message; `header` replaces, adds or (with an exclamation mark) takes away fields of its header."""

    msg_type: str
    header: dict[str, str]
    body: str


@dataclass(frozen=True)
class Expect:
    """The next message; messages of type `skipped` may come before."""

    msg_type: str
    header: tuple[Expected, ...]
    body: tuple[Expected, ...]
    skipped: str | None


Step = Connect | Disconnected | Pause | Raw | Send | Expect


@dataclass(frozen=True)
class Case:
    """One behaviour."""

    id: str
    what: str
    door: Door
    steps: tuple[Step, ...]
    client: str = field(default="")
    """The case's own CompID, so that no case knows another's numbers."""


def read_cases(folder: Path = DEFINITIONS) -> list[Case]:
    """All cases of all files; DefinitionError names the file and the case that is wrong."""
    cases: list[Case] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            cases += _cases(tomllib.loads(path.read_text(encoding="utf-8")), first=len(cases))
        except (tomllib.TOMLDecodeError, KeyError, ValueError, DefinitionError) as error:
            raise DefinitionError(f"{path.name}: {error}") from error
    ids = [case.id for case in cases]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice or not cases:
        raise DefinitionError(
            f"cases with the same id: {', '.join(twice)}" if twice else "there are no cases"
        )
    return cases


def select(cases: Iterable[Case], filters: Sequence[str]) -> list[Case]:
    """Those whose id contains one of the filters; all without filters."""
    return [case for case in cases if not filters or any(one in case.id for one in filters)]


def _cases(document: dict[str, Any], *, first: int) -> list[Case]:
    if document["schema"] != 1:
        raise DefinitionError(f"schema {document['schema']} is not known, only 1")
    doors = {name: Door(name=door.pop("name", name), **door) for name, door in document["doors"].items()}
    cases: list[Case] = []
    for number, case in enumerate(document["case"], first):
        try:
            lines = filter(None, map(str.strip, case["steps"].splitlines()))
            steps = tuple(step for line in lines for step in read_steps(line))
            cases.append(
                Case(
                    case["id"], case["what"], doors[case["door"]], steps, case.get("client", f"C{number:03}")
                )
            )
        except DefinitionError as error:
            raise DefinitionError(f"{case['id']}: {error}") from error
    return cases


def read_steps(line: str) -> list[Step]:
    """Reads one line of a script; a message that is sent many times is many steps."""
    if line == "connect":
        return [Connect()]
    if line == "disconnected":
        return [Disconnected()]
    if pause := PAUSE.fullmatch(line):
        return [Pause(int(pause[1]))]
    if line.startswith(">> "):
        return [Raw(line.removeprefix(">> "))]
    found = LINE.fullmatch(line)
    if found is None:
        raise DefinitionError(f"{line!r} is no step")
    header, body = found["header"] or "", found["body"] or ""
    if found["verb"] == "<":
        if found["times"]:
            raise DefinitionError(f"{line!r}: only what is sent has a number of times")
        return [Expect(found["msg_type"], parse(header), parse(body), found["skipped"])]
    changes = {}
    for change in filter(None, header.split("|")):
        tag, _, value = change.partition("=")
        changes[tag] = value
    return [Send(found["msg_type"], changes, body)] * int(found["times"] or 1)
