"""Runs the clients, each beside its witnesses, and leaves a directory for each trial."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from exchange_conformance.catalogue import ROOM, Trial
from exchange_conformance.errors import ConformanceError
from exchange_conformance.install import Installed
from exchange_conformance.witness import witness

KILL_AFTER_S = 15.0
# Drivers are asked for more than is needed: what greets a subscriber is not compared.
GREETINGS = 100

CLAIMS, DRIVER_LOG, OUTCOME = "claims.jsonl", "driver.log", "outcome.json"

Urls = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Orders:
    """What every driver is told."""

    messages: int
    deadline_s: float
    at_once: int


async def collect(
    trials: Sequence[Trial],
    installed: Mapping[Path, Installed],
    *,
    urls: Urls,
    directory: Path,
    orders: Orders,
    say: Callable[[str], None],
) -> None:
    """Runs all trials, several at once. A trial that fails leaves its complaint, and the others go on."""
    turns = asyncio.Semaphore(orders.at_once)

    async def one(trial: Trial) -> None:
        async with turns:
            folder = directory / trial.directory_name
            folder.mkdir(parents=True, exist_ok=True)
            try:
                complaint = await _run(
                    trial, installed[trial.folder], urls[trial.personality], folder, orders
                )
            except (ConformanceError, OSError) as error:
                complaint = str(error)
            (folder / OUTCOME).write_text(json.dumps({"schema": 1, "complaint": complaint}))
            say(f"{trial.name}: {complaint or 'received'}")

    async with asyncio.TaskGroup() as group:
        for trial in trials:
            group.create_task(one(trial))


def witness_record(folder: Path, index: int) -> Path:
    """Where the messages of a trial's `index`-th witness are."""
    return folder / f"witness-{index}.jsonl"


async def _run(
    trial: Trial, installed: Installed, urls: Mapping[str, str], folder: Path, orders: Orders
) -> str | None:
    """The complaint about the driver as a process; None if it ended well."""
    async with AsyncExitStack() as stack:
        for index, plan in enumerate(trial.witness):
            await stack.enter_async_context(
                witness(
                    plan,
                    ws=urls["ws"],
                    rest=urls["rest"],
                    dialect=trial.dialect,
                    record=witness_record(folder, index),
                )
            )
        return await _drive(trial, installed, urls, folder, orders)


async def _drive(
    trial: Trial, installed: Installed, urls: Mapping[str, str], folder: Path, orders: Orders
) -> str | None:
    arguments = ["--exchange", trial.exchange, "--messages", str(orders.messages + GREETINGS)]
    arguments += ["--deadline-s", str(orders.deadline_s), "--ws", urls["ws"], "--rest", urls["rest"]]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOM / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: value.format(**urls) for name, value in trial.environment.items()},
    }
    with (folder / CLAIMS).open("wb") as claims, (folder / DRIVER_LOG).open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *installed.command,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=claims,
            stderr=log,
            env=environment,
        )
        try:
            status = await asyncio.wait_for(process.wait(), orders.deadline_s + KILL_AFTER_S)
        except TimeoutError:
            return f"the driver did not end within {orders.deadline_s + KILL_AFTER_S:g} s"
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if status == 0:
        return None
    said = (folder / DRIVER_LOG).read_text(errors="replace").strip().splitlines()
    return f"the driver ended with status {status}: {said[-1] if said else 'without a word'}"
