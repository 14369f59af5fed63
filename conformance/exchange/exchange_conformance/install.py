"""Locked client packages from the registries, each in a cache folder named by its lock file's hash."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from exchange_conformance.errors import ConformanceError

INSTALLERS_AT_ONCE = 3
DONE = "installed"
LOCKS = {"python": "requirements.txt", "node": "package-lock.json"}


@dataclass(frozen=True)
class Installed:
    """Where a client's packages are."""

    language: str
    folder: Path
    """The client's sources: its driver."""
    cache: Path

    @property
    def command(self) -> list[str]:
        """Runs the driver."""
        if self.language == "python":
            return [str(self.cache / "bin" / "python"), str(self.folder / "driver.py")]
        # Node resolves packages beside the program, so the driver runs from the cache.
        return ["node", str(self.cache / "driver.mjs")]


def install(folders: Iterable[Path], cache: Path, say: Callable[[str], None]) -> dict[Path, Installed]:
    """Installs what is not there yet, several at a time; ConformanceError names the first that fails."""
    with ThreadPoolExecutor(INSTALLERS_AT_ONCE) as pool:
        installed = pool.map(lambda folder: _install(folder, cache, say), sorted(set(folders)))
        return {item.folder: item for item in installed}


def _install(folder: Path, cache: Path, say: Callable[[str], None]) -> Installed:
    language = folder.parent.name
    lock = folder / LOCKS[language]
    interpreter = sys.version if language == "python" else ""
    digest = hashlib.sha256(lock.read_bytes() + interpreter.encode()).hexdigest()[:16]
    target = cache / f"{language}-{folder.name}-{digest}"
    installed = Installed(language, folder, target)
    cache.mkdir(parents=True, exist_ok=True)
    with target.with_suffix(".lock").open("w") as lock_file:
        # Tests that run at the same time may want the same client.
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        if not (target / DONE).exists():
            say(f"{language}/{folder.name}: installing the locked packages")
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            for command in _commands(language, folder, target):
                _run(command, target, folder)
            (target / DONE).touch()
    if language == "node":
        for source in (folder / "driver.mjs", folder.parent / "claims.mjs"):
            shutil.copyfile(source, target / source.name)
    return installed


def _commands(language: str, folder: Path, target: Path) -> list[list[str]]:
    if language == "node":
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(folder / name, target / name)
        return [["npm", "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]]
    pip = [str(target / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    locked = [*pip, "--require-hashes", "--no-deps"]
    commands = [
        [sys.executable, "-m", "venv", str(target)],
        [*locked, "-r", str(folder / "requirements.txt")],
    ]
    again = folder / "reinstall.txt"
    if again.exists():
        commands.append([*locked, "--force-reinstall", "-r", str(again)])
    return commands


def _run(command: list[str], target: Path, folder: Path) -> None:
    log = target / "install.log"
    with log.open("ab") as output:
        try:
            status = subprocess.run(command, cwd=target, stdout=output, stderr=output, check=False).returncode
        except FileNotFoundError as error:
            raise ConformanceError(
                f"{folder.parent.name}/{folder.name} needs {command[0]} on PATH"
            ) from error
    if status != 0:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise ConformanceError(
            f"{folder.parent.name}/{folder.name} could not be installed: {' '.join(last)} (all of it: {log})"
        )
