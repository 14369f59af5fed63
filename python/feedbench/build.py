"""Builds targets and leaves a receipt for each; one that fails does not stop the others.

A build is skipped when nothing that went into the last one has changed (the target's sources, those of its
language's `_support` folder, its lock file, the toolchain) and its outcome is still there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from feedbench.commands import environment, fill, scratch_folder
from feedbench.launch import log_tail
from feedbench.paths import Project
from feedbench.processes import run_to_end
from feedbench.receipt import BuildState, Receipt, write_receipt
from feedbench.registry import Registry, read_latest_receipt, receipt_path
from feedbench.target import Command, Target

__all__ = ["Receipt", "build_target", "build_targets", "sources_sha256"]

BUILD_TIMEOUT_S = 1200.0
PROBE_TIMEOUT_S = 60.0
SUPPORT = "_support"
# What builds and editors leave beside the sources; the same for all languages.
NOT_SOURCES = {"node_modules", "__pycache__", "target", "build", ".venv", "README.md", "expected.json"}

Say = Callable[[str], None]


def build_targets(
    targets: Iterable[Target], registry: Registry, *, project: Project, say: Say, force: bool = False
) -> Iterator[Receipt]:
    """Builds one after the other; yields each receipt at once. `say` gets lines of progress."""
    for target in targets:
        state = registry.states[target.name]
        if target.on_hold:
            receipt = _unbuilt(target, "missing", f"on hold: {target.reason}")
        elif state.state == "missing":
            receipt = _unbuilt(target, "missing", state.reason or "a tool is missing")
        else:
            receipt = build_target(target, project=project, say=say, force=force)
        if receipt.state == "missing":
            say(f"{target.name}: left out, {receipt.reason}")
        yield receipt


def build_target(target: Target, *, project: Project, say: Say, force: bool = False) -> Receipt:
    """The receipt of this target's build, newly made or still valid."""
    path = receipt_path(project, target.name)
    sources = sources_sha256(target)
    last = read_latest_receipt(project, target.name)
    if last is not None and not force and _still_valid(last, target, project, sources=sources):
        say(f"{target.name}: up to date ({last.version})")
        return last
    say(f"{target.name}: building …")
    log = project.scratch / "logs" / f"build-{target.id}.log"
    started_unix_ns = time.time_ns()
    begin = time.monotonic()
    reason = _run_commands(target, project, log)
    version = None if reason else _printed(target.version_command, target, project)
    if reason is None and version is None:
        reason = "the command under [version] prints no version"
    receipt = Receipt(
        target=target.name,
        state="failed" if reason else "built",
        reason=reason,
        version=version,
        toolchain=_printed(target.toolchain_command, target, project),
        mode=target.mode,
        commands=target.build_commands,
        sources_sha256=sources,
        lock_sha256=_lock_sha256(target),
        started_unix_ns=started_unix_ns,
        seconds=round(time.monotonic() - begin, 3),
        log=str(log.relative_to(project.root)),
        options=target.options,
    )
    write_receipt(path, receipt)
    say(
        f"{target.name}: "
        + (f"failed, {reason}" if reason else f"built {version} in {receipt.seconds:.1f} s")
    )
    return receipt


def sources_sha256(target: Target) -> str:
    """Of every source file's path and content, the manifest's too, and of shared code in `_support`."""
    digest = hashlib.sha256()
    for root in (target.folder, target.folder.parent / SUPPORT):
        for file in source_files(root):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            digest.update(f"{file.relative_to(target.folder.parent)} {content}\n".encode())
    return digest.hexdigest()


def source_files(folder: Path) -> list[Path]:
    """Every file below `folder` that decides what is built, sorted; none when there is no such folder."""
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - NOT_SOURCES)
        found += [Path(path, name) for name in files if name not in NOT_SOURCES]
    return sorted(found)


def _lock_sha256(target: Target) -> str | None:
    return (
        None
        if target.lock is None
        else hashlib.sha256((target.folder / target.lock).read_bytes()).hexdigest()
    )


def _still_valid(last: Receipt, target: Target, project: Project, *, sources: str) -> bool:
    """Whether the last build's inputs are the present ones, and its outcome still there."""
    uses_scratch = any("{build}" in word for command in target.build_commands for word in command)
    return (
        last.state == "built"
        and last.sources_sha256 == sources
        and last.lock_sha256 == _lock_sha256(target)
        and (scratch_folder(project, target).is_dir() or not uses_scratch)
        and last.toolchain == _printed(target.toolchain_command, target, project)
        and last.version == _printed(target.version_command, target, project)
    )


def _run_commands(target: Target, project: Project, log: Path) -> str | None:
    """What went wrong, with the last lines of the log; None when every command ended well."""
    log.parent.mkdir(parents=True, exist_ok=True)
    scratch_folder(project, target).mkdir(parents=True, exist_ok=True)
    with log.open("wb", buffering=0) as output:
        for command in target.build_commands:
            words = fill(command, target=target, project=project)
            output.write(f"$ {' '.join(words)}\n".encode())
            problem = run_to_end(
                words,
                folder=target.folder,
                env=environment(),
                output=output,
                timeout_s=BUILD_TIMEOUT_S,
                idle=True,
            )
            if problem is not None:
                return f"{problem}: {log_tail(log)} (all of it in {log.relative_to(project.root)})"
    return None


def _printed(command: Command, target: Target, project: Project) -> str | None:
    """The first line that a command prints, on either stream; None when it fails, hangs or prints nothing."""
    with tempfile.TemporaryFile() as output:
        problem = run_to_end(
            fill(command, target=target, project=project),
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


def _unbuilt(target: Target, state: BuildState, reason: str) -> Receipt:
    """A receipt for what could not be tried. It is not kept: installing a tool would make it wrong."""
    return Receipt(
        target=target.name,
        state=state,
        reason=reason,
        version=None,
        toolchain=None,
        mode=target.mode,
        commands=target.build_commands,
        sources_sha256=sources_sha256(target),
        lock_sha256=_lock_sha256(target),
        started_unix_ns=time.time_ns(),
        seconds=0.0,
        log=None,
        options=target.options,
    )
