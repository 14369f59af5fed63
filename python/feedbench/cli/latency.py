"""`feedbench latency`: one market's data through REST, WebSocket and FIX, as Grandhi and Yadagiri collect
it.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from feedbench.cli.common import JSON, print_table, say
from feedbench.clock_offset.discipline import read_discipline
from feedbench.clock_offset.estimate import PAPER_SAMPLES
from feedbench.collectors.composite import ClockQuestions, Collector, collect
from feedbench.collectors.fix import FixOptions, FixRequester
from feedbench.collectors.fix_echo import HOST, PORT, fix_echo
from feedbench.collectors.offset import sample_clock
from feedbench.collectors.rest import RestOptions, RestPoller
from feedbench.collectors.venue import Venue, venue
from feedbench.collectors.websocket import WebSocketOptions, WebSocketSubscriber
from feedbench.errors import FeedbenchError
from feedbench.units import format_duration, parse_duration

app = typer.Typer(
    help="Collect one market's data through REST, WebSocket and FIX, as Grandhi and Yadagiri (2026) do.",
    no_args_is_help=True,
)

VENUE = Annotated[str, typer.Option("--venue", help="coinbase, coinbase-advanced or binance.")]
DURATION = Annotated[str, typer.Option("--duration", help="How long to collect.", metavar="TIME")]
REST_URL = Annotated[
    str | None,
    typer.Option(
        "--rest-url",
        help="REST elsewhere: a simulated exchange. Default: the live exchange's.",
        show_default=False,
    ),
]
WEBSOCKET_URL = Annotated[
    str | None, typer.Option("--websocket-url", help="WebSocket elsewhere, likewise.", show_default=False)
]
AUTHORITY = Annotated[
    Path | None,
    typer.Option("--authority", help="PEM file of the authority to trust, for TLS.", show_default=False),
]
REST_THROTTLE = Annotated[
    str, typer.Option("--rest-throttle", help="Pause after each answer.", metavar="TIME")
]
KEEP_ALIVE = Annotated[bool, typer.Option(help="Keep the connection for all requests.")]
HTTP2 = Annotated[bool, typer.Option(help="HTTP/2: by ALPN, or by prior knowledge without TLS.")]
FIX_THROTTLE = Annotated[str, typer.Option("--fix-throttle", help="Pause after each answer.", metavar="TIME")]
FIX_HOST = Annotated[str, typer.Option("--fix-host", help="Where the FIX 4.2 acceptor is.")]
FIX_PORT = Annotated[int, typer.Option("--fix-port", min=1, max=65535, help="Its port.")]
OUT = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Write results.csv, summary.csv and so on there.", show_default=False
    ),
]


@dataclass(frozen=True)
class _Run:
    """What every collecting command ends with: how long, of what, where to."""

    duration: str
    out: Path | None
    as_json: bool
    questions: ClockQuestions | None
    provider: str
    symbol: str


def register(parent: typer.Typer) -> None:
    """Adds the group of commands to the command line."""
    parent.add_typer(app, name="latency", short_help="Collect through REST, WebSocket and FIX at once.")


@app.command("rest", short_help="Poll a ticker over REST.")
def rest(
    venue_name: VENUE = "coinbase",
    duration: DURATION = "30s",
    throttle: REST_THROTTLE = "20ms",
    keep_alive: KEEP_ALIVE = True,
    http2: HTTP2 = False,
    rest_url: REST_URL = None,
    authority: AUTHORITY = None,
    out: OUT = None,
    as_json: JSON = False,
) -> None:
    """Poll a ticker; 429 with Retry-After is obeyed, failures are backed off from."""
    place = _venue(venue_name, rest_url, None)
    options = _rest_options(throttle, keep_alive, http2, authority)
    _collect([RestPoller(place, options)], _run(place, options, duration, out, as_json))


@app.command("websocket", short_help="Subscribe to a ticker over WebSocket.")
def websocket(
    venue_name: VENUE = "coinbase",
    duration: DURATION = "30s",
    rest_url: REST_URL = None,
    websocket_url: WEBSOCKET_URL = None,
    authority: AUTHORITY = None,
    out: OUT = None,
    as_json: JSON = False,
) -> None:
    """Subscribe by message, count gaps, connect again when lost. The exchange's clock is asked over REST."""
    place = _venue(venue_name, rest_url, websocket_url)
    subscriber = WebSocketSubscriber(place, WebSocketOptions(authority_file=authority))
    options = RestOptions(authority_file=authority)
    _collect([subscriber], _run(place, options, duration, out, as_json))


@app.command("fix", short_help="Ask a FIX 4.2 acceptor for snapshots.")
def fix(
    duration: DURATION = "30s",
    throttle: FIX_THROTTLE = "5ms",
    host: FIX_HOST = HOST,
    port: FIX_PORT = PORT,
    out: OUT = None,
    as_json: JSON = False,
) -> None:
    """Log on, request snapshots, log out. `feedbench latency echo` is an acceptor for it."""
    requester = FixRequester(FixOptions(host=host, port=port, throttle_s=_seconds(throttle)))
    _collect([requester], _Run(duration, out, as_json, None, "local", FixOptions.symbol))


@app.command("composite", short_help="REST, WebSocket and FIX at once.")
def composite(
    venue_name: VENUE = "coinbase",
    duration: DURATION = "30s",
    rest_throttle: REST_THROTTLE = "20ms",
    fix_throttle: FIX_THROTTLE = "5ms",
    keep_alive: KEEP_ALIVE = True,
    http2: HTTP2 = False,
    rest_url: REST_URL = None,
    websocket_url: WEBSOCKET_URL = None,
    fix_host: FIX_HOST = HOST,
    fix_port: FIX_PORT = PORT,
    authority: AUTHORITY = None,
    out: OUT = None,
    as_json: JSON = False,
) -> None:
    """All three in one event loop, as in the study. Needs a FIX acceptor: `feedbench latency echo`."""
    place = _venue(venue_name, rest_url, websocket_url)
    options = _rest_options(rest_throttle, keep_alive, http2, authority)
    collectors: list[Collector] = [
        RestPoller(place, options),
        WebSocketSubscriber(place, WebSocketOptions(authority_file=authority)),
        FixRequester(FixOptions(host=fix_host, port=fix_port, throttle_s=_seconds(fix_throttle))),
    ]
    _collect(collectors, _run(place, options, duration, out, as_json))


@app.command("offset", short_help="Ask an exchange for its time, and say how well its clock is known.")
def offset(
    venue_name: VENUE = "coinbase",
    samples: Annotated[int, typer.Option(min=1, help="How many questions.")] = PAPER_SAMPLES,
    every: Annotated[str, typer.Option(metavar="TIME", help="Between two questions.")] = "150ms",
    rest_url: REST_URL = None,
    authority: AUTHORITY = None,
    as_json: JSON = False,
) -> None:
    """The paper's median of five, and the interval that the round trips imply."""
    # Statistics take a while to load, which no other command should wait for.
    from feedbench.doors.clock_page import clock_document, clock_lines

    place = _venue(venue_name, rest_url, None)
    options = RestOptions(authority_file=authority)
    asked = asyncio.run(sample_clock(place, samples, every_s=_seconds(every), options=options))
    if not asked:
        raise FeedbenchError("no answer", where=place.rest_url + place.time_path)
    document = clock_document(asked, read_discipline())
    if as_json:
        print(json.dumps(document))
    else:
        print("\n".join(clock_lines(document)))


@app.command("echo", short_help="Be the FIX 4.2 acceptor that answers every request.")
def echo(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = PORT,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = HOST,
    as_json: JSON = False,
) -> None:
    """The study's baseline: a server on loopback that knows no market. Runs until it is interrupted."""
    asyncio.run(_echo(host, port, as_json=as_json))


async def _echo(host: str, port: int, *, as_json: bool) -> None:
    stop = _stopped_by_signals()
    async with fix_echo(host, port) as chosen:
        line = json.dumps({"schema": 1, "host": host, "port": chosen})
        print(line if as_json else f"FIX 4.2 echo at {host}:{chosen}", flush=True)
        await stop.wait()


def _venue(name: str, rest_url: str | None, websocket_url: str | None) -> Venue:
    return venue(name).at(rest_url=rest_url, websocket_url=websocket_url)


def _rest_options(throttle: str, keep_alive: bool, http2: bool, authority: Path | None) -> RestOptions:
    return RestOptions(
        throttle_s=_seconds(throttle), keep_alive=keep_alive, http2=http2, authority_file=authority
    )


def _run(place: Venue, options: RestOptions, duration: str, out: Path | None, as_json: bool) -> _Run:
    return _Run(duration, out, as_json, ClockQuestions(place, options), place.provider, place.symbol)


def _seconds(text: str) -> float:
    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise FeedbenchError(str(error), hint='write a number and a unit, like "20ms"') from error


def _stopped_by_signals() -> asyncio.Event:
    """An event of the running loop that SIGINT and SIGTERM set."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _collect(collectors: Sequence[Collector], run: _Run) -> None:
    """Collects, writes, prints; FeedbenchError when no collector saw anything."""
    from feedbench.doors.store import Campaign, summary_document, write_campaign

    seconds = _seconds(run.duration)
    say(f"collecting for {format_duration(round(seconds * 1e9))}")

    async def played() -> Any:
        return await collect(collectors, seconds, questions=run.questions, stop=_stopped_by_signals())

    samples = asyncio.run(played())
    collected = tuple(collector.collected for collector in collectors)
    campaign = Campaign(run.provider, run.symbol, collected, tuple(samples), read_discipline())
    if run.out is not None:
        write_campaign(run.out, campaign)
        say(f"written to {run.out}")
    _say_troubles(campaign, say)
    if not campaign.observations:
        raise FeedbenchError("nothing was collected", hint="see above why")
    document = summary_document(campaign)
    if run.as_json:
        print(json.dumps(document))
        return
    heads = ("protocol", "event type", "count", "mean ms", "p50 ms", "p99 ms", "messages/s")
    keys = ("protocol", "event_type", "count", "mean_ms", "p50_ms", "p99_ms", "throughput_per_s")
    print_table(heads, [[_number(row[key]) for key in keys] for row in document["summary"]])


def _number(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _say_troubles(campaign: Any, talk: Callable[[str], None]) -> None:
    for collector in campaign.collected:
        for cause, times in collector.tally.causes.items():
            talk(f"{collector.door}: {cause} ({times} times)")
