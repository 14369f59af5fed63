"""`feedbench supervise`: keeps clients on their exchanges, for days."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from feedbench.builder import build_targets
from feedbench.cli.common import say
from feedbench.errors import FeedbenchError
from feedbench.paths import Project
from feedbench.registry import discover
from feedbench.supervise.folder import Folder
from feedbench.supervise.supervisor import Supervisor
from feedbench.supervise.task import read_task


def register(app: typer.Typer) -> None:
    """Adds the command to the command line."""
    app.command("supervise", short_help="Keep feed clients on their exchanges, and start again what dies.")(
        supervise
    )


def supervise(
    what: Annotated[
        Path, typer.Argument(metavar="FILE | DIR", help="What is to run, or the folder of what runs or ran.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where a new folder goes. Default: runs/TIME-NAME."),
    ] = None,
) -> None:
    """Start every client on every exchange, watch them, start again within 10 s what died.

    Clients outlive their supervisor: `feedbench supervise DIR` finds those that run, and goes on. SIGTERM, ^C
    or a file called `exit` in the folder ends them all, with everything written.
    """
    project = Project.find()
    folder = _folder(what, out, project)
    task = read_task(folder.task)
    registry = discover(project)
    targets = [registry.get(name) for name in task.clients]
    receipts = build_targets(targets, registry, project=project, say=say)
    failed = next((receipt for receipt in receipts if receipt.state != "built"), None)
    if failed:
        raise FeedbenchError(f"it is not built: {failed.reason or failed.state}", where=failed.target)
    asked: list[int] = []

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask)
    say(f"feedbench status {folder.path} shows how they are")
    Supervisor(task, folder, registry, project, say, lambda: bool(asked)).run()
    print(folder.path.resolve())


def _folder(what: Path, out: Path | None, project: Project) -> Folder:
    if what.is_dir():
        if out is not None:
            raise typer.BadParameter("--out is for a new folder")
        return Folder(what)
    task = read_task(what)
    folder = Folder(out or project.runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{task.name}")
    if folder.task.exists():
        raise FeedbenchError(
            "there is one already", where=str(folder.path), hint=f"feedbench supervise {folder.path} goes on"
        )
    folder.path.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(what, folder.task)
    return folder
