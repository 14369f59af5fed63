"""A conformance case: one connection's conversation, told in conformance/<protocol>/*.toml.

A step is one of

    send            a frame: its kind, its payload (`text`, `hex`, `size`, `numbered`, a close `code`), how
                    often (`repeat`), and what is odd (`fin`, `masked`, `reserved` bits, sent in `chunk`s)
    receive         a message, pong or close with that payload; `echo` is the last message sent
    receive_json    a text with these members, and with the server's clock (unix seconds) under `stamp`'s name
    receive_header  of the handshake: must be `absent`
    failed          the server gives up: a close with one of these codes, or the bare end of the connection
    ended           the server has ended the connection
    terminate       SIGTERM, after which the server must end well
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.document import Problem, TomlDocument
from feedbench.errors import FeedbenchError

ACTIONS = ("send", "receive", "receive_json", "receive_header", "failed", "ended", "terminate")

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """`status`: the handshake must be refused with one of them. `unsupported`: close codes that mean so."""

    id: str
    description: str
    rfc: str
    model: str
    path: str
    headers: Mapping[str, str | None]
    status: tuple[int, ...]
    unsupported: tuple[int, ...]
    steps: tuple[Step, ...]


def read_cases(folder: Path) -> list[Case]:
    """Every case of the folder, file by file; FeedbenchError names the line that it does not understand."""
    cases: list[Case] = []
    files = sorted(folder.glob("*.toml"))
    for file in files:
        document = TomlDocument.read(file, error=FeedbenchError)
        document.check("case")
        entries = document.content["case"]
        document.refuse(_problems(entries, known={case.id for case in cases}))
        cases += [_case(entry) for entry in entries]
    if not cases:
        raise FeedbenchError("there are no conformance cases", where=str(folder))
    return cases


def _problems(entries: list[dict[str, Any]], *, known: set[str]) -> list[Problem]:
    problems = []
    for index, entry in enumerate(entries):
        if entry["id"] in known:
            problems.append(
                Problem(("case", index, "id"), f'the id "{entry["id"]}" stands twice', "ids are for ever")
            )
        known = known | {entry["id"]}
        for step in entry["steps"]:
            actions = [action for action in ACTIONS if action in step]
            if len(actions) != 1:
                problems.append(
                    Problem(("case", index, "steps"), f"a step says {actions or 'nothing'}", "one of each")
                )
    return problems


def _case(entry: Mapping[str, Any]) -> Case:
    return Case(
        id=entry["id"],
        description=entry["description"],
        rfc=entry["rfc"],
        model=entry.get("model", "echo"),
        path=entry.get("path", "/echo"),
        # An empty header is left out of the request.
        headers={name: value or None for name, value in entry.get("headers", {}).items()},
        status=tuple(entry.get("status", ())),
        unsupported=tuple(entry.get("unsupported", ())),
        steps=tuple(entry["steps"]),
    )
