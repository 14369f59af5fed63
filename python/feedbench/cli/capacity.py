"""`feedbench capacity`: how many clients, or what rate, a server takes before it is late; what rate a feed
client takes; how many clients a relay feeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from feedbench.builder import build_targets
from feedbench.cli.common import say
from feedbench.errors import FeedbenchError
from feedbench.host.pinning import Pinning, choose_pinning
from feedbench.load import STAMP_PATH, Closed, Load, Payload
from feedbench.measuring import measuring
from feedbench.paths import SCHEMA, Project
from feedbench.registry import discover
from feedbench.service import serve
from feedbench.units import format_duration, parse_duration

if TYPE_CHECKING:  # they bring in numpy, which the other commands' help does without
    from feedbench.capacity.market import MarketCapacity
    from feedbench.capacity.probe import Limit, Probe
    from feedbench.capacity.search import Capacity

# By what is searched for.
UNITS = {
    "clients": "clients",
    "rate": "messages/s",
    "feed-rate": "events/s",
    "subscribers": "subscribers",
}
USUAL_MARKETS = {"feed-rate": "breaking-rate.toml", "subscribers": "capacity.toml"}
QUANTILES = ("p50", "p90", "p95", "p99", "p99.9", "p99.99")  # those of load.json


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("capacity", short_help="Search how many clients, or what rate, a server takes in time.")(
        capacity
    )


def capacity(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TARGET | URL | FILE", help="A target, a server that runs, or a feed's scenario."
        ),
    ],
    of: Annotated[
        str, typer.Option("--of", metavar="clients|rate|feed-rate|subscribers", help="What is searched for.")
    ] = "clients",
    quantile: Annotated[
        str | None,
        typer.Option(
            help="Which latency is to stay below. [p95; the age's p99 of a feed]", show_default=False
        ),
    ] = None,
    below: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Its limit. Without it, only the rate has to be kept."),
    ] = None,
    connections: Annotated[int, typer.Option(min=1, help="With --of rate.")] = 1,
    payload: Annotated[str, typer.Option(help="binary:N, text:N, json:N or stamp.")] = "binary:108",
    most: Annotated[
        int | None, typer.Option(min=1, help="Nothing above is tried. [10000 clients, 1000000 messages/s]")
    ] = None,
    precision: Annotated[float, typer.Option(min=0.001, max=0.5, help="Share of the answer.")] = 0.05,
    repeats: Annotated[int, typer.Option(min=1, help="Searches, for the interval.")] = 5,
    duration: Annotated[str, typer.Option(metavar="TIME", help="Measured time of each experiment.")] = "1s",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Search the greatest load that a server answers in time: doubled until it fails, then narrowed.

    Each load is decided by a majority of up to three experiments; the search is repeated, and the range of
    the repeats is printed with their median. With `--of feed-rate` TARGET is a feed client that follows the
    market of scenarios/feeds/breaking-rate.toml; FILE asks all clients of such a scenario. With `--of
    subscribers` TARGET is a relay on the market of scenarios/feeds/capacity.toml, or FILE asks all relays.
    """
    from feedbench.capacity.probe import Limit, clients_experiment, rate_experiment
    from feedbench.capacity.search import find_capacity

    searched = _one_of(of, tuple(UNITS), "--of")
    if what.endswith(".toml") and searched != "subscribers":
        searched = "feed-rate"
    usual = "p99" if searched in USUAL_MARKETS else "p95"
    limit = Limit(_one_of(quantile or usual, QUANTILES, "--quantile"), _duration(below) if below else None)
    if searched in USUAL_MARKETS:
        _on_market(what, searched, limit, _duration(duration), most, precision, repeats, as_json=as_json)
        return
    if searched == "clients" and limit.below_ns is None:
        raise FeedbenchError("waiting clients keep every rate", hint="--below 5ms, or --of rate")
    project = Project.find()
    with measuring(project), _probe(what, project, payload, connections, _duration(duration)) as probe:
        make = clients_experiment if searched == "clients" else rate_experiment
        experiment = make(probe, limit)

        unit = UNITS[searched]

        def told(load: int) -> bool:
            held = experiment(load)
            say(f"{load} {unit}: {'in time' if held else 'late'}")
            return held

        found = find_capacity(
            told,
            least=1 if searched == "clients" else _least_rate(limit, probe.measure_s),
            most=most or (10_000 if searched == "clients" else 1_000_000),
            precision=precision,
            repeats=repeats,
        )
    load = {"connections": connections if searched == "rate" else None, "payload": payload}
    _show(what, searched, load, limit, found, as_json=as_json)


def _on_market(
    what: str,
    searched: str,
    limit: Limit,
    measure_ns: int,
    most: int | None,
    precision: float,
    repeats: int,
    *,
    as_json: bool,
) -> None:
    """Of feed clients or relays, one after the other."""
    from feedbench.capacity.feed_search import search_feed_clients
    from feedbench.capacity.market import MarketSearch, read_market
    from feedbench.capacity.relay_search import most_subscribers, search_relays

    project = Project.find()
    registry = discover(project)
    is_file = what.endswith(".toml")
    path = Path(what) if is_file else project.scenarios / "feeds" / USUAL_MARKETS[searched]
    scenario = read_market(path, project, registry)
    names = scenario.targets if is_file else (registry.get(what).name,)
    if searched == "subscribers":
        if scenario.relay is None:
            raise FeedbenchError("it has no [relay]", where=str(path), hint="subscribers are a relay's")
        search_all, usual_most, role = search_relays, most_subscribers(), "relay"
        known = tuple(name for name in names if registry.get(name).relay_command is not None)
    else:
        search_all, usual_most, role = search_feed_clients, 1_000_000, "client"
        known = tuple(name for name in names if "ws" in registry.get(name).doors)
    if not known:
        is_none = "it is no relay" if role == "relay" else "it is no feed client"
        raise FeedbenchError(is_none, where=what, hint=f"feedbench targets --role {role} lists them")
    search = MarketSearch(scenario, limit, measure_ns, most or usual_most, precision, repeats)
    with measuring(project):
        for one in search_all(search, known, project=project, told=say):
            if as_json:
                document = {"what": one.target, "of": searched, **asdict(limit), **one.document()}
                print(json.dumps({"schema": SCHEMA, **document}), flush=True)
            else:
                print(_market_sentence(one, searched, limit), flush=True)


def _market_sentence(one: MarketCapacity, searched: str, limit: Limit) -> str:
    if one.found is None:
        return f"{one.target}: {one.trouble}"
    rule = _rule(limit, otherwise="complete")
    if one.found.value == 0:
        return f"{one.target}: not even the least load {rule}"
    low, high = one.found.interval
    least = "at least " if one.found.at_least or one.exchange_was_late else ""
    messages = "" if one.messages_per_s is None else f", {one.messages_per_s:,.0f} messages/s"
    bound = "; the exchange itself was late beyond" if one.exchange_was_late else ""
    return (
        f"{one.target}: {least}{one.found.value:,} {UNITS[searched]} {rule}{messages} "
        f"(range of {len(one.found.estimates)}: {low:,} to {high:,}{bound})"
    )


def _rule(limit: Limit, *, otherwise: str) -> str:
    """What held, in words; `otherwise` without a limit."""
    if limit.below_ns is None:
        return otherwise
    return f"with {limit.quantile} below {format_duration(limit.below_ns)}"


@contextmanager
def _probe(what: str, project: Project, payload: str, connections: int, measure_ns: int) -> Iterator[Probe]:
    from feedbench.capacity.probe import Probe

    pinning = choose_pinning()
    parsed = _payload(payload)
    load = Load(
        pacer=Closed(in_flight=1),
        connections=connections,
        path=STAMP_PATH if parsed.kind == "stamp" else "/echo",
        payload=parsed,
        offer_deflate=False,
        client="engine",
        transport="epoll",
        timeout_ns=2_000_000_000,
    )
    with _served(what, project, load.path, pinning) as (url, authority_file):
        yield Probe(
            engine=project.engine,
            url=url,
            load=load,
            measure_s=measure_ns / 1e9,
            warmup_s=min(0.2, measure_ns / 4e9),
            cpu=pinning.engine_cpu,
            authority_file=authority_file,
        )


@contextmanager
def _served(what: str, project: Project, path: str, pinning: Pinning) -> Iterator[tuple[str, Path | None]]:
    """The URL that was given, or that of the target's server for as long as the context lasts."""
    if what.startswith(("ws://", "wss://")):
        yield what, None
        return
    registry = discover(project)
    target = registry.get(what)
    receipt = build_targets([target], registry, project=project, say=say)[0]
    if receipt.state != "built":
        raise FeedbenchError(receipt.reason or receipt.state, where=what)
    with TemporaryDirectory(prefix="feedbench-capacity-") as folder:
        log = Path(folder) / "server.log"
        with serve(target, project=project, log=log, cpus=pinning.targets or None) as service:
            yield service.url(path), service.authority_file


def _least_rate(limit: Limit, measure_s: float) -> int:
    """The quantile needs so many messages, whatever their rate."""
    from feedbench.analyze.quantiles import minimum_count, parse_quantile

    if limit.below_ns is None:
        return math.ceil(10 / measure_s)
    return math.ceil(1.05 * minimum_count(parse_quantile(limit.quantile)) / measure_s)


def _show(
    what: str, searched: str, load: Mapping[str, Any], limit: Limit, found: Capacity, *, as_json: bool
) -> None:
    """`load`: what of it was not searched for."""
    if as_json:
        document = {"schema": SCHEMA, "what": what, "of": searched, **load, **asdict(limit), **asdict(found)}
        print(json.dumps(document))
        return
    unit = UNITS[searched]
    rule = _rule(limit, otherwise="at the offered rate")
    if found.value == 0:
        print(f"{what}: not even the least load {rule}")
        return
    least = "at least " if found.at_least else ""
    low, high = found.interval
    print(
        f"{what}: {least}{found.value:,} {unit} {rule} (range of {len(found.estimates)}: {low:,} to {high:,})"
    )


def _duration(text: str) -> int:
    try:
        duration_ns = parse_duration(text)
    except ValueError as error:
        raise FeedbenchError(str(error), hint="for example 5ms") from error
    if duration_ns == 0:
        raise FeedbenchError("a time of 0 leaves nothing to measure", hint="for example 5ms")
    return duration_ns


def _payload(text: str) -> Payload:
    kind, _, size = text.partition(":")
    if text != "stamp" and not (kind in ("binary", "text", "json") and size.isascii() and size.isdigit()):
        raise FeedbenchError(f'"{text}" is no payload', hint="binary:108, text:37, json:150 or stamp")
    return Payload.parse(text)


def _one_of(value: str, known: tuple[str, ...], option: str) -> str:
    if value not in known:
        raise FeedbenchError(f'{option} is "{value}"', hint="one of " + ", ".join(known))
    return value
