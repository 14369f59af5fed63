"""A target: an implementation under test, as its target.toml tells of it (spec/README.md, target.toml)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from feedbench.document import Problem, TomlDocument
from feedbench.errors import ManifestError
from feedbench.paths import target_id
from feedbench.toml_lines import KeyPath

MANIFEST = "target.toml"
ANY = "*"
DEFAULT = "default"
# The knob that chooses a build instead of being passed on, and its value for what is not optimised.
BUILD_MODE = "build_mode"
DEBUG = "debug"
SHARED = "{shared}"
# Knobs of the launcher, which every server has: nothing in the program's environment tells of them.
PROCESSES = "processes"
BALANCER = "balancer"
REUSE_PORT = "reuse_port"  # the knob with which several processes of a target may share a port
SERVER_KNOBS: Mapping[str, tuple[str, ...]] = {PROCESSES: ("1", ANY), BALANCER: ("none", "haproxy")}
LAUNCH_KNOBS = {BUILD_MODE, *SERVER_KNOBS}

Command = tuple[str, ...]
NeedKind = Literal["tool", "library", "header"]
# A way into an exchange's market: a WebSocket and a FIX session listen, REST asks again and again.
Door = Literal["ws", "fix", "rest"]


@dataclass(frozen=True)
class Need:
    """A tool on PATH, a library that pkg-config knows, or a header; `hint` says what would bring it in.

    `debian` are Debian's packages that do.
    """

    kind: NeedKind
    name: str
    minimum: str | None
    hint: str
    debian: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """One manifest. Commands still hold their placeholders; a None is a step that the target lacks.

    `knobs` maps each knob to the values that it takes, the default first, and `*` (see `takes`).
    `options` are in force by default. `debug_commands` build the same program, not optimised.
    `outside_sources` are files and folders from elsewhere in the project that are compiled in.
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
    debug_commands: tuple[Command, ...] | None = None
    feed_client_command: Command | None = None
    relay_command: Command | None = None
    poller_command: Command | None = None
    outside_sources: tuple[Path, ...] = ()

    @property
    def id(self) -> str:
        return target_id(self.name)

    @property
    def doors(self) -> tuple[Door, ...]:
        """Through which it can follow an exchange, the first preferred: as it listens, or else as it asks."""
        listening: tuple[Door, ...] = () if self.feed_client_command is None else (self._listening_door,)
        return (*listening, *(("rest",) if self.poller_command is not None else ()))

    @property
    def _listening_door(self) -> Door:
        return "fix" if "fix" in self.speaks else "ws"

    @property
    def on_hold(self) -> bool:
        return self.status == "on-hold"

    @property
    def served_models(self) -> tuple[str, ...]:
        """What it answers for as a server: a feed is what its client follows, or asks for again and again."""
        return tuple(model for model in self.models if model not in ("feed", "poll"))

    def commands(self, mode: str) -> tuple[Command, ...]:
        """What builds it in this mode: the manifest's own, or debug."""
        if mode == DEBUG and self.debug_commands is not None:
            return self.debug_commands
        return self.build_commands

    def build_mode(self, knobs: Mapping[str, str]) -> str:
        """Which build a process with these knobs is started from."""
        return knobs.get(BUILD_MODE, self.mode)

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
    problems += _role_problems(content)
    if content["status"] == "on-hold" and "reason" not in content:
        problems.append(Problem(("status",), "a target on hold wants a reason", 'add reason = "…"'))
    lock = content["build"].get("lock")
    if lock is not None and not (folder / lock).is_file():
        problems.append(Problem(("build", "lock"), f'the lock file "{lock}" is not there', "commit it"))
    problems += _source_problems(folder, content["build"]["sources"])
    problems += _need_problems(content["needs"])
    problems += _knob_problems(content["knobs"])
    problems += _debug_problems(content)
    problems += _shared_problems(content)
    document.refuse(problems)
    return _target(name, folder, content)


def _role_problems(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Who claims a role says how it is started in it, and the other way round."""
    roles, models, run = content["roles"], content["models"], content["run"]
    if "server" in roles and "server" not in run:
        yield Problem(("roles",), "a server wants [run.server]", "say how it is started")
    if "relay" in roles and "relay" not in run:
        yield Problem(("roles",), "a relay wants [run.relay]", "say how it is started")
    if "client" in run and not ("client" in roles and "feed" in models):
        yield Problem(
            ("run", "client"),
            "a feed client has the role client and the model feed",
            'add "client" to roles and "feed" to models',
        )


def _source_problems(folder: Path, sources: Iterable[str]) -> Iterator[Problem]:
    """A source that is not there would make every build look up to date, whatever changes."""
    for index, source in enumerate(sources):
        if not (folder / source).exists():
            yield Problem(
                ("build", "sources", index),
                f'the source "{source}" is not there',
                "say it as seen from the target's folder",
            )


def _need_problems(needs: Iterable[Mapping[str, Any]]) -> Iterator[Problem]:
    """Each names one thing, in a way that can be looked up, and says what would bring it in."""
    for index, need in enumerate(needs):
        kinds = [kind for kind in get_args(NeedKind) if kind in need]
        if len(kinds) != 1:
            yield Problem(
                ("needs", index),
                f"a need names one of {', '.join(get_args(NeedKind))}, not {' and '.join(kinds) or 'none'}",
                "write one [[needs]] for each",
            )
        if "hint" not in need and "debian" not in need:
            yield Problem(
                ("needs", index), "a need says what would bring it in", 'add debian = ["…"] or hint = "…"'
            )
        if "header" in need and "minimum" in need:
            yield Problem(
                ("needs", index, "minimum"),
                "a header tells no version",
                "leave it out, or name the library",
            )


def _debug_problems(content: Mapping[str, Any]) -> Iterator[Problem]:
    """The knob build_mode and [build.debug] are two halves of one thing."""
    modes = content["knobs"].get(BUILD_MODE)
    has_debug = "debug" in content["build"]
    if modes is None and has_debug:
        yield Problem(
            ("build", "debug"), "nothing can choose this build", 'add build_mode = ["release", "debug"]'
        )
    if modes is not None and (modes != [content["build"]["mode"], DEBUG] or not has_debug):
        yield Problem(
            ("knobs", BUILD_MODE),
            "it chooses between the usual build and [build.debug]",
            f'write ["{content["build"]["mode"]}", "{DEBUG}"] and a table [build.debug]',
        )


def _shared_problems(content: Mapping[str, Any]) -> Iterator[Problem]:
    """What runs must not stand where the next target's build may replace it."""
    commands: dict[KeyPath, list[str]] = {
        ("version",): content["version"]["command"],
        ("toolchain",): content["toolchain"]["command"],
        **{("run", role): step["command"] for role, step in content["run"].items()},
    }
    for path, command in commands.items():
        if any(SHARED in word for word in command):
            yield Problem(
                (*path, "command"),
                f"{SHARED} is for build commands only",
                "let the build copy what it makes into {build}",
            )


def _knob_problems(knobs: Mapping[str, list[str]]) -> list[Problem]:
    """The default of a knob must be a value, and the whole list must say each value once."""
    problems = []
    for knob, values in knobs.items():
        if knob in SERVER_KNOBS:
            problems.append(
                Problem(("knobs", knob), "this knob is the launcher's: every server has it", "leave it out")
            )
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
        needs=tuple(_need(need) for need in content["needs"]),
        build_commands=tuple(tuple(command) for command in content["build"]["commands"]),
        lock=content["build"].get("lock"),
        mode=content["build"]["mode"],
        version_command=tuple(content["version"]["command"]),
        toolchain_command=tuple(content["toolchain"]["command"]),
        server_command=_command(run, "server"),
        echo_client_command=_command(run, "echo_client"),
        feed_client_command=_command(run, "client"),
        relay_command=_command(run, "relay"),
        poller_command=_command(run, "poller"),
        knobs={
            **{knob: tuple(values) for knob, values in content["knobs"].items()},
            **(SERVER_KNOBS if "server" in content["roles"] else {}),
        },
        options=dict(content["options"]),
        debug_commands=(
            tuple(tuple(command) for command in content["build"]["debug"]["commands"])
            if "debug" in content["build"]
            else None
        ),
        outside_sources=tuple((folder / source).resolve() for source in content["build"]["sources"]),
    )


def _need(need: Mapping[str, Any]) -> Need:
    kind = next(kind for kind in get_args(NeedKind) if kind in need)
    debian = tuple(need.get("debian", ()))
    hint = need.get("hint") or f"Debian: apt-get install {' '.join(debian)}"
    return Need(kind, need[kind], need.get("minimum"), hint, debian)


def _command(run: Mapping[str, Any], role: str) -> Command | None:
    return tuple(run[role]["command"]) if role in run else None
