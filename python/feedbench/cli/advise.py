"""`feedbench advise RUNS…`: which servers meet a need, by what the runs have shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from feedbench.errors import FeedbenchError
from feedbench.paths import SCHEMA
from feedbench.units import parse_duration


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command(name="advise", short_help="Which server to choose for a load, a limit and a budget.")(advise)


def advise(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run directories that were analyzed, and files from feedbench capacity --json."),
    ],
    streams: Annotated[int, typer.Option(min=1, help="Connections that stand at once.")],
    rate: Annotated[float, typer.Option(min=0, help="Messages a second, over all of them.")],
    p99: Annotated[str, typer.Option(metavar="TIME", help="What 99 of 100 messages have to stay below.")],
    languages: Annotated[
        str | None, typer.Option(metavar="A,B", help="Folders of targets/; without it, all.")
    ] = None,
    cores: Annotated[float | None, typer.Option(min=0, help="CPUs that it may keep busy.")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="BYTES", help="Such as 64000000, 64MB or 1GB.")
    ] = None,
    loss_tolerance: Annotated[float, typer.Option(help="Share of messages that may be lost, 0 to 1.")] = 0.0,
    doors: Annotated[str, typer.Option(metavar="A,B", help="ws, wss, rest, fix.")] = "ws",
    deflate: Annotated[bool, typer.Option("--deflate", help="With compression.")] = False,
    payload: Annotated[
        str | None, typer.Option(help="Such as binary:108, where the runs sent several.")
    ] = None,
    closed_loops: Annotated[
        bool, typer.Option("--closed-loops", help="Take the p99 of closed loops, which are blind to stalls.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Prints the servers that meet the need and that no other beats in everything, with reasons.

    A choice meets the need only by a measurement at least as heavy, and fails it only by one at most as
    heavy; what lies between is listed as not known, with the command that would tell. What the runs left
    undecided stays in. Status 0 also when nothing meets the need: that is an answer.
    """
    from feedbench.advise.evidence import read_evidence
    from feedbench.advise.need import Need
    from feedbench.advise.report import check_need, decide
    from feedbench.advise.text import decided_text
    from feedbench.typed_json import to_json

    need = Need(
        streams=streams,
        rate_per_s=rate,
        p99_ns=_duration(p99),
        languages=_names(languages),
        doors=_names(doors),
        deflate=deflate,
        cores=cores,
        memory_bytes=_bytes(memory) if memory else None,
        loss_share=loss_tolerance,
        closed_loops=closed_loops,
        payload=payload,
    )
    evidence = read_evidence(runs)
    if (wrong := check_need(need, evidence.payloads)) is not None:
        raise FeedbenchError(wrong)
    decided = decide(need, evidence)
    if as_json:
        print(json.dumps({"schema": SCHEMA, **to_json(decided)}, ensure_ascii=False))
    else:
        print(decided_text(decided), end="")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise FeedbenchError(str(error), where="--p99", hint="for example 1ms") from error


SIZES = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def _bytes(text: str) -> int:
    unit = next((unit for unit in SIZES if text.endswith(unit)), "")
    number = text.removesuffix(unit)
    if not (number.isascii() and number.isdigit()):
        raise FeedbenchError(f'"{text}" is no size', where="--memory", hint="for example 64MB")
    return int(number) * SIZES.get(unit, 1)
