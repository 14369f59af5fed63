"""`feedbench path`: a network path with a delay, jitter, losses and a rate, on this machine."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from feedbench.cli.common import JSON, say
from feedbench.errors import FeedbenchError
from feedbench.network_path import PathEnd, PathShape, lay_path, parse_rate, parse_share, verify_path
from feedbench.paths import Project
from feedbench.units import format_duration, parse_duration

ENDING = (signal.SIGINT, signal.SIGTERM)


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""

    @app.command()
    def path(
        delay: Annotated[
            str, typer.Option(help="From one end to the other; a round trip takes it twice.")
        ] = "0ms",
        jitter: Annotated[
            str, typer.Option(help="Each packet's delay is drawn from the delay ± this.")
        ] = "0ms",
        loss: Annotated[str, typer.Option(help="Share of packets lost, in each direction.")] = "0%",
        rate: Annotated[
            str | None, typer.Option(help="In each direction, such as 100Mbit; without it, no limit.")
        ] = None,
        congestion: Annotated[
            str | None,
            typer.Option(help="Congestion control of TCP at both ends, such as cubic or bbr."),
        ] = None,
        seed: Annotated[int, typer.Option(help="The same seed loses and delays the same packets.")] = 1,
        verify: Annotated[
            bool,
            typer.Option("--verify", help="Measure such a path instead, and say whether it is as asked."),
        ] = False,
        as_json: JSON = False,
    ) -> None:
        """Lay a network path between two network namespaces, until ^C or SIGTERM. Needs root.

        Programs started at its ends (nsenter --net=…) meet it as they would a network: the kernel's own TCP
        runs at both. No packet leaves the machine.
        """
        shape = _shape(delay, jitter, loss, rate, congestion)
        binary = Project.find().path_emulator
        if verify:
            _verify(binary, shape, as_json=as_json)
            return
        # Before the emulator starts, which must not be ended before us by a ^C at the terminal.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        with (
            tempfile.TemporaryDirectory(prefix="feedbench-path-") as folder,
            lay_path(binary, shape, seed=seed, log=Path(folder) / "log") as ends,
        ):
            _tell(ends, as_json=as_json)
            signal.sigwait(ENDING)


def _shape(delay: str, jitter: str, loss: str, rate: str | None, congestion: str | None) -> PathShape:
    try:
        return PathShape(
            delay_ns=parse_duration(delay),
            jitter_ns=parse_duration(jitter),
            loss=parse_share(loss),
            rate_bits_per_s=None if rate is None else parse_rate(rate),
            congestion=congestion,
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _verify(binary: Path, shape: PathShape, *, as_json: bool) -> None:
    verdict = verify_path(binary, shape)
    if as_json:
        print(json.dumps(verdict, indent=1))
    else:
        print(_found(verdict))
    if verdict["departures"]:
        raise FeedbenchError(
            "the path is not as asked: " + "; ".join(verdict["departures"]),
            hint="is the machine busy? Try again when it is not",
        )


def _found(verdict: Mapping[str, Any]) -> str:
    found = verdict["found"]
    trip = found["round_trip_ns"]
    lines = [
        f"round trip  p50 {trip['p50'] / 1e6:.3f} ms, p99 {trip['p99'] / 1e6:.3f} ms"
        f" (without the path {format_duration(found['floor_ns'])})",
        f"lost        {found['lost']} of {found['counted']}",
    ]
    if found["rate_bits_per_s"] is not None:
        lines.append(f"rate        {found['rate_bits_per_s'] / 1e6:.3f} Mbit/s")
    return "\n".join(lines)


def _tell(ends: tuple[PathEnd, PathEnd], *, as_json: bool) -> None:
    if as_json:
        described = [{"namespace": str(end.namespace), "address": end.address} for end in ends]
        print(json.dumps({"schema": 1, "ends": described}), flush=True)
        return
    for end in ends:
        print(f"{end.address}  nsenter --net={end.namespace} COMMAND", flush=True)
    say("the path is there until ^C")
    sys.stdout.flush()
