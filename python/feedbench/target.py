"""A target: an implementation under test, as its target.toml tells of it (spec/README.md, target.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.document import Problem, TomlDocument
from feedbench.errors import ManifestError
from feedbench.paths import target_id

MANIFEST = "target.toml"
ANY = "*"
DEFAULT = "default"

Command = tuple[str, ...]


@dataclass(frozen=True)
class Need:
    """A tool on PATH; `hint` says what would bring it in."""

    tool: str
    minimum: str | None
    hint: str


@dataclass(frozen=True)
class Target:
    """One manifest. Commands still hold their placeholders; a None is a step that the target lacks.

    `knobs` maps each knob to the values that it takes, the default first, and `*` (see `takes`).
    `options` are in force by default.
    """

    name: str
    folder: Path
    language: str
    library: str
    roles: tuple[str, ...]
    speaks: tuple[str, ...]
    models: tuple[str, ...]
    tuned: bool
    status: str
    reason: str | None
    notes: str
    needs: tuple[Need, ...]
    build_commands: tuple[Command, ...]
    lock: str | None
    mode: str
    version_command: Command
    toolchain_command: Command
    server_command: Command | None
    echo_client_command: Command | None
    knobs: Mapping[str, tuple[str, ...]]
    options: Mapping[str, str]

    @property
    def id(self) -> str:
        return target_id(self.name)

    @property
    def on_hold(self) -> bool:
        return self.status == "on-hold"

    def takes(self, knob: str, value: str) -> bool:
        """Whether the knob can be set so. `*` is any number where the default is one, else any text."""
        allowed = self.knobs.get(knob, ())
        return value in allowed or (ANY in allowed and (value.isdecimal() or not allowed[0].isdecimal()))


def read_target(folder: Path, *, root: Path) -> Target:
    """The target in `folder`, two below `root`; ManifestError names the file, the line and what to try."""
    document = TomlDocument.read(folder / MANIFEST, error=ManifestError)
    document.check("target")
    name = folder.relative_to(root).as_posix()
    content = document.content
    problems: list[Problem] = []
    if content["name"] != name:
        problems.append(
            Problem(("name",), f'the name "{content["name"]}" is not the folder\'s', f'write "{name}"')
        )
    if "server" in content["roles"] and "server" not in content["run"]:
        problems.append(Problem(("roles",), "a server wants [run.server]", "say how it is started"))
    if content["status"] == "on-hold" and "reason" not in content:
        problems.append(Problem(("status",), "a target on hold wants a reason", 'add reason = "…"'))
    lock = content["build"].get("lock")
    if lock is not None and not (folder / lock).is_file():
        problems.append(Problem(("build", "lock"), f'the lock file "{lock}" is not there', "commit it"))
    problems += _knob_problems(content.get("knobs", {}))
    document.refuse(problems)
    return _target(name, folder, content)


def _knob_problems(knobs: Mapping[str, list[str]]) -> list[Problem]:
    """The default of a knob must be a value, and the whole list must say each value once."""
    problems = []
    for knob, values in knobs.items():
        if values[0] == ANY or DEFAULT in values:
            problems.append(
                Problem(
                    ("knobs", knob),
                    f'"{ANY}" and "{DEFAULT}" are no first values',
                    "begin with the default",
                )
            )
        if len(set(values)) != len(values):
            problems.append(Problem(("knobs", knob), "a value stands twice", "name each once"))
    return problems


def _target(name: str, folder: Path, content: Mapping[str, Any]) -> Target:
    run = content["run"]
    return Target(
        name=name,
        folder=folder,
        language=content["language"],
        library=content["library"],
        roles=tuple(content["roles"]),
        speaks=tuple(content["speaks"]),
        models=tuple(content["models"]),
        tuned=content["tuned"],
        status=content["status"],
        reason=content.get("reason"),
        notes=content["notes"].strip(),
        needs=tuple(
            Need(need["tool"], need.get("minimum"), need["hint"]) for need in content.get("needs", [])
        ),
        build_commands=tuple(tuple(command) for command in content["build"]["commands"]),
        lock=content["build"].get("lock"),
        mode=content["build"]["mode"],
        version_command=tuple(content["version"]["command"]),
        toolchain_command=tuple(content["toolchain"]["command"]),
        server_command=_command(run, "server"),
        echo_client_command=_command(run, "echo_client"),
        knobs={knob: tuple(values) for knob, values in content.get("knobs", {}).items()},
        options=dict(content["options"]),
    )


def _command(run: Mapping[str, Any], role: str) -> Command | None:
    return tuple(run[role]["command"]) if role in run else None
