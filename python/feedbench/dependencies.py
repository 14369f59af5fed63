"""How many libraries a target stands on, by its lock file: those it names, and all that come with them."""

from __future__ import annotations

import json
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from feedbench.target import Target


@dataclass(frozen=True)
class Dependencies:
    """`direct` are named by the target itself; `all` come along too. None: nothing here tells.

    What belongs to this checkout (`_support`) and what only the build wants don't count.
    """

    direct: int | None = None
    all: int | None = None


def dependencies(target: Target) -> Dependencies:
    """Without a lock file needs count that are libraries: what these stand on is the system's business."""
    if target.lock is None:
        needs = sum(need.kind != "tool" for need in target.needs)
        return Dependencies(direct=needs) if needs or target.library == "none" else Dependencies()
    lock = target.folder / target.lock
    reader = READERS.get(lock.name)
    try:
        return reader(lock) if reader else Dependencies()
    except (OSError, KeyError, TypeError, ValueError, ElementTree.ParseError):
        return Dependencies()  # a figure for a table is no reason for a build to fail


def _cargo(lock: Path) -> Dependencies:
    manifest = tomllib.loads((lock.parent / "Cargo.toml").read_text(encoding="utf-8"))
    named = manifest.get("dependencies", {}).values()
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    return Dependencies(
        direct=sum("path" not in one for one in named),
        all=sum("source" in package for package in packages),
    )


def _npm(lock: Path) -> Dependencies:
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    installed = [one for path, one in packages.items() if path and not one.get("dev") and not one.get("link")]
    return Dependencies(direct=len(packages[""].get("dependencies", {})), all=len(installed))


def _go(lock: Path) -> Dependencies:
    text = lock.with_name("go.mod").read_text(encoding="utf-8")
    local = set(re.findall(r"^(?:replace\s+|\s+)(\S+)(?:\s+v\S+)?\s+=>\s+\.", text, re.M))
    required = re.findall(r"^(?:require\s+|\s+)(\S+)\s+v\S+(\s*//\s*indirect)?\s*$", text, re.M)
    outside = [(name, indirect) for name, indirect in required if name not in local]
    return Dependencies(direct=sum(not indirect for _, indirect in outside), all=len(outside))


def _pip(lock: Path) -> Dependencies:
    named = lock.with_suffix(".in").read_text(encoding="utf-8").splitlines()
    return Dependencies(
        direct=sum(bool(re.match(r"\s*[A-Za-z0-9]", line)) for line in named),
        all=len(re.findall(r"^[A-Za-z0-9][\w.-]*==", lock.read_text(encoding="utf-8"), re.M)),
    )


def _jars(lock: Path) -> Dependencies:
    """A library for several processors is one, though its archives are several."""
    project = ElementTree.parse(lock.with_name("pom.xml")).getroot()
    names = {
        tuple(part.text for part in one if part.tag.endswith(("}groupId", "}artifactId")))
        for one in project.iterfind(".//{*}dependency")
    }
    jars = [line.split()[-1] for line in lock.read_text(encoding="utf-8").splitlines() if line.strip()]
    return Dependencies(
        direct=len(names),
        all=len({re.sub(r"-linux-\w+\.jar$|\.jar$", "", jar) for jar in jars}),
    )


def _composer(lock: Path) -> Dependencies:
    named = json.loads(lock.with_name("composer.json").read_text(encoding="utf-8")).get("require", {})
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return Dependencies(direct=sum("/" in name for name in named), all=len(packages))


def _nuget(lock: Path) -> Dependencies:
    frameworks = json.loads(lock.read_text(encoding="utf-8"))["dependencies"].values()
    kinds = {name: one["type"] for packages in frameworks for name, one in packages.items()}
    outside = [kind for kind in kinds.values() if kind != "Project"]
    return Dependencies(direct=outside.count("Direct"), all=len(outside))


def _bundler(lock: Path) -> Dependencies:
    text = lock.read_text(encoding="utf-8")
    named = re.search(r"^DEPENDENCIES\n((?:  \S.*\n?)*)", text, re.M)
    return Dependencies(
        direct=len(named[1].splitlines()) if named else 0,
        all=len(re.findall(r"^    \S+ \(", text, re.M)),
    )


READERS: dict[str, Callable[[Path], Dependencies]] = {
    "Cargo.lock": _cargo,
    "package-lock.json": _npm,
    "go.sum": _go,
    "requirements.txt": _pip,
    "libraries.sha256": _jars,
    "composer.lock": _composer,
    "packages.lock.json": _nuget,
    "Gemfile.lock": _bundler,
}
