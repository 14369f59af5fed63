"""A conformance case: one connection's conversation, told in conformance/<protocol>/*.toml.

A case is for a `role`: the suite speaks as a client with a target's server, or as a server with its client.
Its `level` is the RFC's own word for what is tested: what departs from a MUST or a SHOULD fails, and its
detail says which; what the RFC leaves open (MAY) and the target does otherwise is unsupported.

A step is one of

    send            a frame: its kind, its payload (`text`, `hex`, `size`, `numbered`, a close `code`, …:
                    see payload.py), how often (`repeat`), and what is odd about it: `fin`, `masked`, which
                    `mask`, `reserved` bits, in how many `fragments`, compressed how (`deflate`), written in
                    `chunk`s. `raw` is bytes that need not be a frame; what is `unrecorded` is none of what
                    a feed client must have in its record
    receive         a message, pong or close with that payload; `echo` is the last message sent. `or_failed`:
                    the peer may as well give up with one of these codes; `latest`: earlier ones don't count
    receive_json    a text with these members, and with the server's clock (unix seconds) under `stamp`'s name
    receive_header  of the handshake: has one of these `token`s, if any are named; or it may be `absent`, and
                    must where no token is named
    extension       permessage-deflate is `agreed` (with these `parameters`) or `declined`
    failed          the peer gives up: a close with one of these codes, or the bare end of the connection
    ended           the peer has ended the connection
    reconnect       the connection is cut by `fin` or `reset`, and a new one opened in its place; a feed
                    client must not come again
    conclude        clients: every message is echoed until the client ends, which must have found none wrong
    terminate       SIGTERM, after which the server must end well; a feed client is asked to end
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from feedbench.document import Problem, TomlDocument
from feedbench.errors import FeedbenchError

ACTIONS = (
    "send",
    "receive",
    "receive_json",
    "receive_header",
    "extension",
    "failed",
    "ended",
    "reconnect",
    "conclude",
    "terminate",
)

Step = Mapping[str, Any]
Role = Literal["server", "client", "feed"]
Level = Literal["must", "should", "may"]
Headers = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class FeedTerms:
    """What else a feed client is told, and how it must end: with one of `status`, saying `reason` (empty
    after an end that it was asked for). `arguments` instead of the four; `refused`: nothing is followed.
    `trusts` the authority of the `tls` connection. `exit_file`: it is asked to end by that, not by SIGTERM.
    """

    tls: bool = False
    trusts: bool = True
    subscribe: tuple[str, ...] = ()
    arguments: tuple[str, ...] | None = None
    refused: bool = False
    exit_file: bool = False
    status: tuple[int, ...] = (0,)
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """`status`: the handshake must be refused with one of them; `may_refuse`: it may. `unsupported`: close
    codes that mean so. `half_requests` connections stay open beside it that never send the rest of their
    request. `own_server`: what it asks could slow a server down for all others, so it gets one to itself.
    `patience`: how many times the usual a target may be silent. `headers` are the suite's own side of the
    handshake, `answer` its status line's number when it is the server; `message` is what a client is told to
    send.
    """

    id: str
    description: str
    rfc: str
    role: Role
    level: Level
    model: str
    knobs: Mapping[str, str]
    method: str
    http: str
    path: str
    headers: Headers
    request_chunk: int | None
    half_requests: int
    own_server: bool
    patience: float
    status: tuple[int, ...]
    may_refuse: tuple[int, ...]
    unsupported: tuple[int, ...]
    answer: int
    message: Step
    steps: tuple[Step, ...]
    feed: FeedTerms = FeedTerms()

    @property
    def group(self) -> str:
        """`echo` of echo.text.125; `client.control` of client.control.ping: what a matrix has columns for."""
        words = self.id.split(".")
        return ".".join(words[: 1 if self.role == "server" else 2])

    @property
    def ends_the_server(self) -> bool:
        return any("terminate" in step for step in self.steps)


def read_cases(folder: Path) -> list[Case]:
    """Every case of the folder, file by file; FeedbenchError names the line that it does not understand."""
    cases: list[Case] = []
    files = sorted(folder.glob("*.toml"))
    for file in files:
        document = TomlDocument.read(file, error=FeedbenchError)
        document.check("case")
        entries = document.content["case"]
        document.refuse(_problems(entries, known={case.id for case in cases}))
        cases += [case_of(entry) for entry in entries]
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
        for role in ("client", "feed"):
            if (entry.get("role") == role) != entry["id"].startswith(f"{role}."):
                problems.append(
                    Problem(
                        ("case", index, "id"), f"{role} cases, and no others, begin with {role}.", "role = …"
                    )
                )
        for step in entry["steps"]:
            actions = [action for action in ACTIONS if action in step]
            if len(actions) != 1:
                problems.append(
                    Problem(("case", index, "steps"), f"a step says {actions or 'nothing'}", "one of each")
                )
    return problems


def case_of(entry: Mapping[str, Any]) -> Case:
    return Case(
        id=entry["id"],
        description=entry["description"],
        rfc=entry["rfc"],
        role=entry.get("role", "server"),
        level=entry.get("level", "must"),
        model=entry.get("model", "echo"),
        knobs=entry.get("knobs", {}),
        method=entry.get("method", "GET"),
        http=entry.get("http", "1.1"),
        path=entry.get("path", "/echo"),
        headers={name: _values(value) for name, value in entry.get("headers", {}).items()},
        request_chunk=entry.get("request_chunk"),
        half_requests=entry.get("half_requests", 0),
        own_server=entry.get("own_server", False),
        patience=entry.get("patience", 1),
        status=tuple(entry.get("status", ())),
        may_refuse=tuple(entry.get("may_refuse", ())),
        unsupported=tuple(entry.get("unsupported", ())),
        answer=entry.get("answer", 101),
        message=entry.get("message", {"send": "text", "text": "hello"}),
        steps=tuple(entry["steps"]),
        feed=_terms(entry.get("feed", {})),
    )


def _terms(entry: Mapping[str, Any]) -> FeedTerms:
    terms: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()
    }
    return FeedTerms(**terms)


def _values(value: str | list[str]) -> tuple[str, ...]:
    """One line for each; an empty header is left out of the usual ones."""
    if isinstance(value, list):
        return tuple(value)
    return (value,) if value else ()
