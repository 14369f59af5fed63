"""A Containerfile from a target's manifest: Debian's packages that it needs, its build, its server.

Optional, for those who want to run a server elsewhere: feedbench itself neither needs nor builds containers.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import PurePosixPath

from feedbench.build import SUPPORT
from feedbench.commands import fill_words
from feedbench.errors import FeedbenchError
from feedbench.needs import PKG_CONFIG_PACKAGE
from feedbench.target import Command, Target

# Where feedbench's targets build; `--build-arg BASE=…` takes another release.
BASE_IMAGE = "debian:trixie-slim"
ROOT = PurePosixPath("/feedbench")
PORT = 9001
ENGINES = ("podman", "docker")
ENGINE_TIMEOUT_S = 20


def containerfile(target: Target, *, shares_code: bool) -> str:
    """The file's text, for a build in the checkout's folder. `shares_code`: its language has a `_support`.

    FeedbenchError when the target is no server, or needs what its manifest names no Debian package for.
    """
    if target.server_command is None:
        raise FeedbenchError("it has no server to put into a container", where=target.name)
    source = ROOT / "targets" / target.name
    copied = [target.name, *([f"{target.name.split('/')[0]}/{SUPPORT}"] if shares_code else [])]
    lines = [
        f"# {target.name}, from its target.toml; made by: feedbench containerfile {target.name}",
        f"# Build it in the checkout's folder: podman build -f Containerfile -t feedbench-{target.id} .",
        f"ARG BASE={BASE_IMAGE}",
        "FROM ${BASE}",
        "RUN apt-get update \\",
        f" && apt-get install -y --no-install-recommends {' '.join(_packages(target))} \\",
        " && rm -rf /var/lib/apt/lists/*",
        *(f"COPY targets/{name} {ROOT / 'targets' / name}" for name in copied),
        f"WORKDIR {source}",
        f"RUN mkdir -p {ROOT / 'build'} {ROOT / 'shared'}",
        *(f"RUN {_words(command, target)}" for command in target.build_commands),
        "USER nobody",
        f"EXPOSE {PORT}",
        f"CMD {_words(target.server_command, target)}",
    ]
    return "\n".join(lines) + "\n"


def running_engine() -> str | None:
    """The container engine that answers on this machine, None when none does."""
    for engine in ENGINES:
        program = shutil.which(engine)
        if program is None:
            continue
        try:
            asked = subprocess.run(
                [program, "info"], capture_output=True, timeout=ENGINE_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if asked.returncode == 0:
            return engine
    return None


def _packages(target: Target) -> list[str]:
    """Certificates are what package managers of languages want besides."""
    packages = {"ca-certificates"}
    for need in target.needs:
        if not need.debian:
            raise FeedbenchError(
                f"it needs {need.name}, and its manifest names no Debian package that brings it",
                where=target.name,
                hint=need.hint,
            )
        packages.update(need.debian)
        if need.kind == "library":
            packages.add(PKG_CONFIG_PACKAGE)
    return sorted(packages)


def _words(command: Command, target: Target) -> str:
    """As JSON, so that no shell reads it."""
    words = {
        "python": "/usr/bin/python3",
        "build": str(ROOT / "build"),
        "shared": str(ROOT / "shared"),
        "source": str(ROOT / "targets" / target.name),
        "host": "0.0.0.0",
        "port": str(PORT),
    }
    return json.dumps(fill_words(command, words), ensure_ascii=False)
