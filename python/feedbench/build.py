"""Builds one target and leaves a receipt.

A build is skipped when nothing that went into the last one has changed (the target's sources, those of its
language's `_support` folder and those that it names from elsewhere, its lock file, the toolchain) and its
outcome is still there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from feedbench.commands import environment, fill, scratch_folder, shared_folder
from feedbench.dependencies import dependencies
from feedbench.launch import log_tail
from feedbench.paths import Project, build_id
from feedbench.processes import run_to_end
from feedbench.receipt import BuildState, Receipt, write_receipt
from feedbench.registry import read_latest_receipt, receipt_path
from feedbench.source_lines import source_lines
from feedbench.target import SHARED, Command, Target

__all__ = ["Receipt", "build_target", "sources_sha256", "unbuilt", "uses_shared"]

BUILD_TIMEOUT_S = 1200.0
PROBE_TIMEOUT_S = 60.0
SUPPORT = "_support"
# What builds and editors leave beside the sources; the same for all languages.
NOT_SOURCES = {"node_modules", "__pycache__", "target", "build", ".venv", "README.md", "expected.json"}

Say = Callable[[str], None]


class CodeFigures(TypedDict):
    """The fields of a receipt that say what a target's code amounts to."""

    source_lines: int | None
    direct_dependencies: int | None
    all_dependencies: int | None


class BuildStoppedError(Exception):
    """Somebody asked for the end of all builds, so this one came to no result."""


def build_target(
    target: Target,
    *,
    project: Project,
    say: Say,
    force: bool = False,
    mode: str | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """The receipt of this target's build, newly made or still valid; `mode` None is its usual build.

    BuildStoppedError when `stop` was set before the end.
    """
    chosen = mode or target.mode
    with _alone(project, build_id(target.name, chosen)):
        last = read_latest_receipt(project, target.name, chosen)
        if last is not None and not force and _still_valid(last, target, project, mode=chosen):
            say(f"{_label(target, chosen)}: up to date ({last.version})")
            return replace(last, **_code_figures(target))
        receipt = _build(target, project, mode=chosen, stop=stop)
        write_receipt(receipt_path(project, target.name, chosen), receipt)
    outcome = (
        f"failed, {receipt.reason}"
        if receipt.reason
        else f"built {receipt.version} in {receipt.seconds:.1f} s"
    )
    say(f"{_label(target, chosen)}: {outcome}")
    return receipt


def _build(target: Target, project: Project, *, mode: str, stop: threading.Event | None) -> Receipt:
    log = project.scratch / "logs" / f"build-{build_id(target.name, mode)}.log"
    sources = sources_sha256(target)
    started_unix_ns = time.time_ns()
    begin = time.monotonic()
    reason = _run_commands(target, project, log, mode=mode, stop=stop)
    version = None if reason else _printed(target.version_command, target, project, mode)
    if reason is None and version is None:
        reason = "the command under [version] prints no version"
    return Receipt(
        target=target.name,
        state="failed" if reason else "built",
        reason=reason,
        version=version,
        toolchain=_printed(target.toolchain_command, target, project, mode),
        mode=mode,
        commands=target.commands(mode),
        sources_sha256=sources,
        lock_sha256=_lock_sha256(target),
        started_unix_ns=started_unix_ns,
        seconds=round(time.monotonic() - begin, 3),
        log=str(log.relative_to(project.root)),
        options=target.options,
        **_code_figures(target),
    )


def unbuilt(target: Target, state: BuildState, reason: str, *, mode: str | None = None) -> Receipt:
    """A receipt for what could not be tried. It is not kept: installing a tool would make it wrong."""
    return Receipt(
        target=target.name,
        state=state,
        reason=reason,
        version=None,
        toolchain=None,
        mode=mode or target.mode,
        commands=target.commands(mode or target.mode),
        sources_sha256=sources_sha256(target),
        lock_sha256=_lock_sha256(target),
        started_unix_ns=time.time_ns(),
        seconds=0.0,
        log=None,
        options=target.options,
        **_code_figures(target),
    )


def _code_figures(target: Target) -> CodeFigures:
    """The target's own code, without what its language's targets share, and the libraries under it."""
    known = dependencies(target)
    return {
        "source_lines": source_lines(source_files(target.folder)),
        "direct_dependencies": known.direct,
        "all_dependencies": known.all,
    }


def uses_shared(target: Target, mode: str) -> bool:
    """Whether the build writes into what its language's targets share."""
    return _mention(SHARED, target.commands(mode))


def sources_sha256(target: Target) -> str:
    """Of every source file's path and content, the manifest's too, and of shared code in `_support` and
    wherever else the manifest names some.
    """
    digest = hashlib.sha256()
    for root in (target.folder, target.folder.parent / SUPPORT, *target.outside_sources):
        for file in source_files(root):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{os.path.relpath(file, target.folder.parent)} {content}\n".encode())
    return digest.hexdigest()


def source_files(folder: Path) -> list[Path]:
    """Every file below `folder` that decides what is built, sorted; the file itself if it is one; or none
    where nothing is.
    """
    if folder.is_file():
        return [folder]
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - NOT_SOURCES)
        found += [Path(path, name) for name in files if name not in NOT_SOURCES]
    return sorted(found)


@contextmanager
def _alone(project: Project, build: str) -> Iterator[None]:
    """Two commands at a time may want the same build; the second waits and finds it up to date."""
    path = project.scratch / "locks" / build
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _label(target: Target, mode: str) -> str:
    return target.name if mode == target.mode else f"{target.name} ({mode})"


def _lock_sha256(target: Target) -> str | None:
    return (
        None
        if target.lock is None
        else hashlib.sha256((target.folder / target.lock).read_bytes()).hexdigest()
    )


def _still_valid(last: Receipt, target: Target, project: Project, *, mode: str) -> bool:
    """Whether the last build's inputs are the present ones, and its outcome still there."""
    outcome_is_there = scratch_folder(project, target, mode).is_dir()
    return (
        last.state == "built"
        and last.sources_sha256 == sources_sha256(target)
        and last.lock_sha256 == _lock_sha256(target)
        and (outcome_is_there or not _mention("{build}", target.commands(mode)))
        and last.toolchain == _printed(target.toolchain_command, target, project, mode)
        and last.version == _printed(target.version_command, target, project, mode)
    )


def _mention(placeholder: str, commands: tuple[Command, ...]) -> bool:
    return any(placeholder in word for command in commands for word in command)


def _run_commands(
    target: Target, project: Project, log: Path, *, mode: str, stop: threading.Event | None
) -> str | None:
    """What went wrong, with the last lines of the log; None when every command ended well."""
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch_folder(project, target, mode).mkdir(parents=True, exist_ok=True)
    if uses_shared(target, mode):
        shared_folder(project, target).mkdir(parents=True, exist_ok=True)
    with log.open("wb", buffering=0) as output:
        for command in target.commands(mode):
            words = fill(command, target=target, project=project, mode=mode)
            output.write(f"$ {' '.join(words)}\n".encode())
            problem = run_to_end(
                words,
                folder=target.folder,
                env=environment(),
                output=output,
                timeout_s=BUILD_TIMEOUT_S,
                idle=True,
                stop=stop,
            )
            if stop is not None and stop.is_set():
                raise BuildStoppedError
            if problem is not None:
                return f"{problem}: {log_tail(log)} (all of it in {log.relative_to(project.root)})"
    return None


def _printed(command: Command, target: Target, project: Project, mode: str) -> str | None:
    """The first line that a command prints, on either stream; None when it fails, hangs or prints nothing."""
    with tempfile.TemporaryFile() as output:
        problem = run_to_end(
            fill(command, target=target, project=project, mode=mode),
            folder=target.folder,
            env=environment(),
            output=output,
            timeout_s=PROBE_TIMEOUT_S,
        )
        if problem is not None:
            return None
        output.seek(0)
        lines = output.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in lines if line.strip()), None)
