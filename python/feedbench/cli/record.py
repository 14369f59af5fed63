"""`feedbench record`: keeps what a WebSocket delivers, for `feedbench exchange --replay`."""

from __future__ import annotations

import asyncio
import json
import signal
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from feedbench.cli.common import say
from feedbench.paths import SCHEMA
from feedbench.recording.file import RecordingFile
from feedbench.recording.recorder import Order, Progress, record
from feedbench.units import parse_duration


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("record", short_help="Record a WebSocket feed, for `exchange --replay`.")(record_feed)


def record_feed(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="ws:// or wss://, of an exchange or the simulator.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Packed if it ends in .gz.")],
    subscribe: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Sent after each connection began; may be given several times."),
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Go on with a recording that is there.")] = False,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="Stop after this time.")] = None,
    frames: Annotated[int | None, typer.Option(min=1, help="Stop after so many frames.")] = None,
    acknowledge: Annotated[
        str, typer.Option(metavar="TIME", help="How often frames are brought to the disk and called safe.")
    ] = "1s",
    authority: Annotated[
        Path | None, typer.Option("--ca", metavar="FILE", help="For wss: the authority to trust, as PEM.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
) -> None:
    """Record each text frame with the time of its receipt; connect again when the connection is lost.

    What was called safe is on the disk: a process that is killed leaves a recording that can be read, and
    gone on with by --append, up to the last frame of its last acknowledgement at least.
    """
    order = Order(
        url=url,
        subscribe=tuple(subscribe or ()),
        authority=authority,
        duration_s=None if duration is None else parse_time(duration) / 1e9,
        frames=frames,
        acknowledge_every_s=parse_time(acknowledge) / 1e9,
    )
    file = RecordingFile(out, append=append)
    if file.repaired_bytes:
        say(f"{out}: {file.repaired_bytes} bytes of an unfinished line were cut off")
    try:
        progress = asyncio.run(_until_asked(order, file))
    finally:
        file.close()
    _tell_end(progress, out, as_json=as_json)


def parse_time(text: str) -> int:
    """Nanoseconds above zero; a mistake in the argument ends with status 2."""
    try:
        length_ns = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if length_ns <= 0:
        raise typer.BadParameter(f"{text} is no time to wait")
    return length_ns


async def _until_asked(order: Order, file: RecordingFile) -> Progress:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return await record(order, file, stopped=stopped, told=_tell)


def _tell(progress: Progress) -> None:
    trouble = f", last trouble: {progress.last_trouble}" if progress.last_trouble else ""
    say(f"{progress.acknowledged} lines safe, {progress.connections} connections{trouble}")


def _tell_end(progress: Progress, out: Path, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"schema": SCHEMA, "file": str(out), **asdict(progress)}))
        return
    lost = f", {progress.gap_s:.1f} s between connections are missing" if progress.connections > 1 else ""
    left = f", {progress.binary} binary frames left out" if progress.binary else ""
    typer.echo(f"{out}: {progress.frames} frames over {progress.connections} connections{lost}{left}")
