"""`feedbench wire`: an event's age in parts, from the exchange to the wire and from there to the client."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from feedbench.builder import build_targets
from feedbench.cli.common import print_table, say
from feedbench.errors import FeedbenchError
from feedbench.host.pinning import choose_pinning
from feedbench.measuring import measuring
from feedbench.paths import SCHEMA, Project
from feedbench.registry import discover
from feedbench.units import format_duration, parse_duration

if TYPE_CHECKING:  # they bring in numpy, which the other commands' help does without
    from feedbench.capacity.feed_probe import FeedProbe
    from feedbench.wire.measure import Measured

PARTS = {
    "send_to_wire_ns": "send→wire",
    "wire_to_client_ns": "wire→client",
    "send_to_client_ns": "send→client",
}
QUANTILES = ("p50", "p99")


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("wire", short_help="Split feed clients' ages: kernel and exchange, and library.")(wire)


def wire(
    clients: Annotated[list[str], typer.Argument(metavar="CLIENT...", help="Feed clients: names or globs.")],
    scenario: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Whose market they follow. Default: scenarios/feeds/breaking-rate.toml.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="Events per second, instead of the file's.")] = None,
    duration: Annotated[str, typer.Option(metavar="TIME", help="Measured time of each repeat.")] = "2s",
    repeats: Annotated[int, typer.Option(min=1, help="Fresh exchange and client so often.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Stamp each message on the wire, for clients as they are: what the library takes, and what comes before.

    The loopback device's packets are stamped by the kernel (plain connections only), which wants root or
    CAP_NET_RAW; without it that is said, and ages stay whole. Printed are the medians of the repeats.
    """
    from feedbench.wire.measure import measure_parts

    project = Project.find()
    try:
        measure_ns = parse_duration(duration)
    except ValueError as error:
        raise FeedbenchError(str(error), hint="for example 2s") from error
    probes = _probes(clients, scenario, rate, measure_ns, project)
    if not project.wire_stamps.exists():
        raise FeedbenchError("it is not built", where=str(project.wire_stamps), hint="try: make setup")
    with measuring(project):
        found = measure_parts(probes, project.wire_stamps, repeats=repeats, told=say)
    if as_json:
        entries = [{"client": one.client, "repeats": one.repeats} for one in found]
        print(json.dumps({"schema": SCHEMA, "clients": entries}))
        return
    _show(found)


def _probes(
    names: list[str], scenario: Path | None, rate: int | None, measure_ns: int, project: Project
) -> list[FeedProbe]:
    from feedbench.capacity.feed_probe import FeedProbe
    from feedbench.capacity.market import market, read_market

    registry = discover(project)
    path = scenario or project.scenarios / "feeds" / "breaking-rate.toml"
    read = read_market(path, project, registry)
    feed = market(read)
    if feed.tls or feed.compression != "off":
        hint = 'tls = false, compression = "off"'
        raise FeedbenchError("messages are found on the wire in plain text only", where=str(path), hint=hint)
    matching = {target.name: target for name in names for target in registry.matching(name)}
    targets = [target for target in matching.values() if target.feed_client_command is not None]
    receipts = build_targets(targets, registry, project=project, say=say)
    built = [target for target, receipt in zip(targets, receipts, strict=True) if receipt.state == "built"]
    for receipt in receipts:
        if receipt.state != "built":
            say(f"{receipt.target}: left out, {receipt.reason or receipt.state}")
    if not built:
        raise FeedbenchError("no feed client is left", where=" ".join(names), hint="feedbench targets")
    return [
        FeedProbe(
            project=project,
            target=target,
            feed=feed if rate is None else replace(feed, rate_per_s=rate),
            warmup_ns=read.protocol.warmup_ns,
            measure_ns=measure_ns,
            knobs=read.knobs,
            pinning=choose_pinning(wanted=read.protocol.pin),
        )
        for target in built
    ]


def _show(found: list[Measured]) -> None:
    head = [
        "client",
        "sent",
        "unseen",
        *(f"{name} {quantile}" for name in PARTS.values() for quantile in QUANTILES),
    ]
    rows = [
        [
            one.client,
            f"{one.total('sent'):,}",
            f"{one.total('unseen'):,}",
            *(_time(one.typical_ns(part, quantile)) for part in PARTS for quantile in QUANTILES),
        ]
        for one in found
    ]
    print_table(head, rows)


def _time(value_ns: float | None) -> str:
    return "–" if value_ns is None else format_duration(round(value_ns))
