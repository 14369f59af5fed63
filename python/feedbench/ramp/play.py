"""Plays a campaign: each repeat of each target with a fresh server, every line kept as it comes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.errors import EngineError, FeedbenchError, TargetError
from feedbench.host.pinning import Pinning
from feedbench.host.process import ending, own_preparation
from feedbench.measuring import measuring
from feedbench.paths import SCHEMA, Project, target_id
from feedbench.ramp.campaign import Campaign
from feedbench.ramp.progress import RampProgress
from feedbench.ramp.record import Repeat, read_repeat, repeat_file
from feedbench.registry import Registry
from feedbench.run.resources import read_tree
from feedbench.service import Service, serve

STAMP_PATH = "/stamp"


@dataclass(frozen=True)
class Place:
    """Where a campaign is played and what with."""

    run: Path
    project: Project
    registry: Registry
    pinning: Pinning


def waiting_repeats(campaign: Campaign, run: Path) -> list[tuple[str, int]]:
    """(target, repeat) of all that is not played yet, in the campaign's order."""
    return [
        (target, number)
        for number in range(1, campaign.repeats + 1)
        for target in campaign.order(number)
        if not read_repeat(run, target, number).whole
    ]


def play(campaign: Campaign, place: Place) -> None:
    """Plays what is missing. KeyboardInterrupt leaves each round that ended before it."""
    waiting = waiting_repeats(campaign, place.run)
    progress = RampProgress(repeats=max(1, len(waiting)))
    with measuring(place.project):
        for target, number in waiting:
            _play_repeat(campaign, place, target, number, progress)
            progress.next_repeat(_said(read_repeat(place.run, target, number), campaign))


def _said(repeat: Repeat, campaign: Campaign) -> str:
    name = f"{repeat.target}, repeat {repeat.number}"
    if repeat.failure is not None:
        return f"{name}: {repeat.failure}"
    seconds = sum(round.elapsed_ns for round in repeat.rounds) / 1e9
    text = f"{name}: {len(repeat.rounds)} of {campaign.rounds.rounds} rounds, requests took {seconds:.1f} s"
    if repeat.broken_round is not None:
        lost = repeat.rounds[repeat.broken_round - 1].lost_share
        text += f", broke in round {repeat.broken_round} ({lost:.1%} lost)"
    return text


def _play_repeat(campaign: Campaign, place: Place, target: str, number: int, progress: RampProgress) -> None:
    path = repeat_file(place.run, target, number)
    _move_aside(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _served(campaign, place, target, number) as (url, service):
            command = [str(place.project.engine), "ramp", url, "--json", *campaign.rounds.arguments()]
            if place.pinning.engine_cpu is not None:
                command.append(f"--cpu={place.pinning.engine_cpu}")

            def seen(line: dict[str, Any]) -> None:
                if line["kind"] in ("connected", "round") and service is not None:
                    line["target_rss_bytes"] = read_tree(*service.pids).rss_bytes
                if line["kind"] == "round":
                    progress.show(target, line["round"], campaign.rounds.rounds)

            cause = _call(command, path, seen)
            death = service.cause_of_death() if service is not None else None
    except TargetError as error:
        cause, death = str(error), None
    if cause is not None:
        _append(path, {"schema": SCHEMA, "kind": "failed", "cause": str(death or cause)})


@contextmanager
def _served(
    campaign: Campaign, place: Place, target: str, number: int
) -> Iterator[tuple[str, Service | None]]:
    """The URL, and the server if it is one of ours."""
    if campaign.elsewhere is not None:
        yield campaign.elsewhere, None
        return
    log = place.run / "logs" / f"{target_id(target)}-{number}.log"
    cpus = place.pinning.targets or None
    with serve(place.registry.get(target), project=place.project, log=log, cpus=cpus) as service:
        yield service.url(STAMP_PATH), service


def _call(command: list[str], path: Path, seen: Callable[[dict[str, Any]], None]) -> str | None:
    """Runs the engine to its end and writes its lines; why there is no whole ramp, None when there is."""
    try:
        engine = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # ^C comes to us; the engine is asked below
            preexec_fn=own_preparation(),
        )
    except OSError as error:
        raise EngineError.not_started(Path(command[0]), error) from error
    ended = False
    try:
        assert engine.stdout is not None
        try:
            for text in engine.stdout:
                ended |= _take(text, path, seen)
        except KeyboardInterrupt:
            engine.send_signal(signal.SIGTERM)
            for text in engine.stdout:
                _take(text, path, seen)
            raise
        said = engine.stderr.read().strip() if engine.stderr else ""
    finally:
        if engine.poll() is None and sys.exc_info()[0] is not None:
            engine.kill()
        status = engine.wait()
        for stream in (engine.stdout, engine.stderr):
            if stream is not None:
                stream.close()
    if ended:
        return None
    return (
        said.splitlines()[-1].removeprefix("feedbench-engine: ") if said else f"the engine: {ending(status)}"
    )


def _take(text: str, path: Path, seen: Callable[[dict[str, Any]], None]) -> bool:
    """Keeps one line; True for the last one of a ramp."""
    try:
        line = json.loads(text)
    except json.JSONDecodeError as error:
        raise FeedbenchError(f"the engine printed what is no JSON: {text[:80]!r}") from error
    seen(line)
    _append(path, line)
    return bool(line["kind"] == "end")


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _move_aside(path: Path) -> None:
    """What an interrupted repeat had is kept under another name; nothing is deleted."""
    if path.exists():
        path.rename(path.with_name(f"{path.stem}.interrupted-{time.time_ns()}.jsonl"))
