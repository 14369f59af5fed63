"""Tools, libraries and headers that targets need: whether they are here, and what brings them in."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from feedbench.target import Need

__all__ = ["debian_packages", "missing_need", "remembering"]

PROBE_TIMEOUT_S = 20
# Go says `go version`, old JDKs `-version`; the first that prints a number is believed.
VERSION_ARGUMENTS = ("--version", "-version", "version")
PKG_CONFIG = "pkg-config"
PKG_CONFIG_PACKAGE = "pkg-config"
COMPILERS = ("c++", "cc")  # C++ first: its search path holds C's
INCLUDE_FOLDERS = (Path("/usr/local/include"), Path("/usr/include"))  # where there is no compiler to ask


def missing_need(need: Need) -> str | None:
    """What is wrong with a need on this machine, with what would bring it in; None when it is met."""
    match need.kind:
        case "tool":
            lack = _tool_lack(need)
        case "library":
            lack = _library_lack(need)
        case "header":
            lack = _header_lack(need)
    return None if lack is None else f"{lack} ({need.hint})"


def debian_packages(needs: Iterable[Need], *, probe: Callable[[Need], str | None]) -> list[str]:
    """The packages that would bring what is missing, each once, in order."""
    packages: dict[str, None] = {}
    for need in needs:
        if probe(need) is None:
            continue
        packages.update(dict.fromkeys(need.debian))
        if need.kind == "library" and shutil.which(PKG_CONFIG) is None:
            packages[PKG_CONFIG_PACKAGE] = None
    return list(packages)


def remembering(probe: Callable[[Need], str | None]) -> Callable[[Need], str | None]:
    """Asks for each need once: many targets want the same tool, and asking starts a process."""
    known: dict[Need, str | None] = {}

    def ask(need: Need) -> str | None:
        if need not in known:
            known[need] = probe(need)
        return known[need]

    return ask


def _tool_lack(need: Need) -> str | None:
    found = shutil.which(need.name)
    if found is None:
        return f"{need.name} is not on PATH"
    return None if need.minimum is None else _too_old(need.name, tool_version(found), need.minimum)


def _library_lack(need: Need) -> str | None:
    program = shutil.which(PKG_CONFIG)
    if program is None:
        return f"{PKG_CONFIG}, which would find the library {need.name}, is not on PATH"
    answer = _output([program, "--modversion", need.name])
    if answer is None:
        return f"{PKG_CONFIG} knows no library {need.name}"
    return None if need.minimum is None else _too_old(need.name, first_number(answer), need.minimum)


def _header_lack(need: Need) -> str | None:
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        found = any((folder / need.name).is_file() for folder in INCLUDE_FOLDERS)
    else:
        question = f"#if !__has_include(<{need.name}>)\n#error absent\n#endif\n"
        found = _output([compiler, "-E", "-x", _language(compiler), "-"], stdin=question) is not None
    return None if found else f"the header {need.name} is not among the compiler's include folders"


def _language(compiler: str) -> str:
    return "c++" if compiler.endswith("++") else "c"


def _too_old(name: str, version: str | None, minimum: str) -> str | None:
    if version is None:
        return f"{name} does not tell its version; {minimum} or newer is wanted"
    if version_key(version) < version_key(minimum):
        return f"{name} is {version}; {minimum} or newer is wanted"
    return None


def tool_version(program: str) -> str | None:
    """The first number that the program prints when asked for its version, on either stream."""
    for argument in VERSION_ARGUMENTS:
        answer = _output([program, argument])
        number = None if answer is None else first_number(answer)
        if number is not None:
            return number
    return None


def first_number(text: str) -> str | None:
    """`"go version go1.26.8 linux"` → `"1.26.8"`."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return found[0] if found else None


def version_key(version: str) -> tuple[int, ...]:
    """`"1.26.8"` → (1, 26, 8), for comparing; trailing zeros do not count: 18 equals 18.0."""
    parts = [int(part) for part in version.split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _output(command: Sequence[str], *, stdin: str = "") -> str | None:
    """Both streams of a program that ended with status 0; None when it did not, or hung."""
    try:
        asked = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout + asked.stderr if asked.returncode == 0 else None
