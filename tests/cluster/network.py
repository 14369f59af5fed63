"""Three hosts as network namespaces joined by a bridge, or as processes on the loopback: for tests."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from feedbench.build import build_target
from feedbench.cluster.certificates import issue_certificates
from feedbench.paths import Project
from feedbench.registry import discover

CHECKOUT = Path(__file__).resolve().parents[2]
DEADLINE_S = 600.0  # for anything to happen at all; nothing waits for time alone
MAIN = "from feedbench.cli import main; main()"
HOST_PROGRAM = [sys.executable, str(Path(__file__).with_name("host_program.py"))]
_NUMBERS = itertools.count()

SCENARIO = """
schema = 1
name = "echo-ladder"
title = "Echo, client and server apart"
question = "Does it run on several hosts?"
analysis = "Nothing."
targets = ["_fake/echo"]
reference = "_fake/echo"
{more}

[protocol]
blocks = {blocks}
warmup = "60ms"
measure = "{measure}"
shield = false
cpus_awake = false
pin = false

[control]
target = "_fake/echo"
delay = "5ms"

[gates]
steal_share = 1.0
run_delay_share = 1.0

[factors]
connections = [1, 4]
"""


def wait_for(what: str, condition: Callable[[], bool], *, deadline_s: float = DEADLINE_S) -> None:
    """Polls a condition; AssertionError with what was waited for when it never comes true."""
    give_up = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < give_up, f"never happened: {what}"
        time.sleep(0.05)


@dataclass
class Program:
    """A feedbench command that was started, with what it says in files."""

    process: subprocess.Popen[bytes]
    output: Path
    talk: Path

    @property
    def said(self) -> str:
        return self.talk.read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)


@dataclass
class Host:
    """Where programs are started: a network namespace, or (None) this machine's own network."""

    name: str
    address: str
    namespace: str | None

    def command(self, words: Sequence[str]) -> list[str]:
        return [*(("ip", "netns", "exec", self.namespace) if self.namespace else ()), *words]


@dataclass
class Network:
    """Hosts, a small project that all of them share, and every program that was started on one."""

    folder: Path
    hosts: dict[str, Host]
    programs: list[Program] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def tls(self) -> Path:
        return self.folder / "tls"

    def scenario(self, *, blocks: int = 3, measure: str = "120ms", more: str = "") -> Path:
        path = self.folder / f"scenario-{next(_NUMBERS)}.toml"
        path.write_text(SCENARIO.format(blocks=blocks, measure=measure, more=more))
        return path

    def start(self, host: str, *arguments: str) -> Program:
        """Starts `feedbench ARGUMENTS` there."""
        return self.program(host, [sys.executable, "-c", MAIN, *arguments], mark=arguments[0])

    def program(self, host: str, words: Sequence[str], *, mark: str, engine: Path | None = None) -> Program:
        """Starts any program there; `engine` stands in for the real one."""
        environment = {} if engine is None else {"FEEDBENCH_ENGINE": str(engine)}
        stem = self.folder / f"{next(_NUMBERS)}-{host}-{mark}"
        output, talk = stem.with_suffix(".out"), stem.with_suffix(".err")
        with output.open("wb") as out, talk.open("wb") as err:
            process = subprocess.Popen(
                self.hosts[host].command(words),
                cwd=self.project,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.programs.append(program := Program(process, output, talk))
        return program

    def run(self, host: str, *arguments: str) -> Program:
        program = self.start(host, *arguments)
        program.process.wait(DEADLINE_S)
        return program

    def scheduler(self, host: str = "a", *, port: int = 0, tls: bool = True) -> tuple[Program, str]:
        """A scheduler that listens, and its address."""
        trust = [str(self.tls)] if tls else []
        words = [*HOST_PROGRAM, "scheduler", self.hosts[host].address, str(port), *trust]
        program = self.program(host, words, mark="scheduler")
        wait_for(
            "a scheduler that listens",
            lambda: bool(program.output.read_text().strip()) or program.process.poll() is not None,
        )
        assert program.process.poll() is None, program.said
        return program, program.output.read_text().strip()

    def worker(
        self, host: str, scheduler: str, offers: str, *, name: str | None = None, engine: Path | None = None
    ) -> Program:
        """A worker that was started; `joined` waits for it."""
        trust = [str(self.tls)] if scheduler.startswith("tls") else []
        where = self.hosts[host].address
        words = [*HOST_PROGRAM, "worker", scheduler, name or host, where, offers, *trust]
        return self.program(host, words, mark="worker", engine=engine)

    def joined(self, *programs: Program) -> None:
        for program in programs:
            wait_for(
                "a worker that takes part",
                lambda program=program: "takes part" in program.said or program.process.poll() is not None,
            )
            assert program.process.poll() is None, program.said

    def close(self) -> None:
        for program in self.programs:
            if program.process.poll() is None:
                with suppress(ProcessLookupError):
                    program.process.kill()
                program.process.wait()


def make_project(folder: Path) -> None:
    """A project with only the fake target, built, and the real engine."""
    root = folder / "project"
    for link in ("targets/_fake/echo", "spec", "conformance"):
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(CHECKOUT / link)
    (root / "target" / "release").mkdir(parents=True)
    (root / "target" / "release" / "feedbench-engine").symlink_to(
        CHECKOUT / "target" / "release" / "feedbench-engine"
    )
    project = Project(root)
    target = discover(project).get("_fake/echo")
    assert build_target(target, project=project, say=lambda line: None).state == "built"
    issue_certificates(folder / "tls")


@contextmanager
def loopback(folder: Path) -> Iterator[Network]:
    """Hosts a, b and c on this machine's loopback."""
    make_project(folder)
    network = Network(folder, {name: Host(name, "127.0.0.1", None) for name in "abc"})
    try:
        yield network
    finally:
        network.close()


@contextmanager
def bridged(folder: Path) -> Iterator[Network]:
    """Hosts a, b and c, each a namespace with one address, and a fourth that holds the bridge."""
    make_project(folder)
    mark = f"fb{os.getpid()}x{next(_NUMBERS)}"
    bridge = f"{mark}-bridge"
    hosts = {name: Host(name, f"10.77.0.{at}", f"{mark}-{name}") for at, name in enumerate("abc", start=1)}
    network = Network(folder, hosts)
    made: list[str] = []
    try:
        for namespace in (bridge, *(f"{mark}-{name}" for name in hosts)):
            _ip("netns", "add", namespace)
            made.append(namespace)
        _ip("-n", bridge, "link", "add", "joint", "type", "bridge")
        _ip("-n", bridge, "link", "set", "joint", "up")
        for name, host in hosts.items():
            assert host.namespace is not None
            ends = (
                "link",
                "add",
                "eth0",
                "netns",
                host.namespace,
                "type",
                "veth",
                "peer",
                "name",
                f"to-{name}",
            )
            _ip(*ends, "netns", bridge)
            _ip("-n", bridge, "link", "set", "dev", f"to-{name}", "master", "joint", "up")
            _ip("-n", host.namespace, "link", "set", "lo", "up")
            _ip("-n", host.namespace, "link", "set", "eth0", "up")
            _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
        yield network
    finally:
        network.close()
        for namespace in made:
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)


def why_no_namespaces() -> str | None:
    """Why this machine can't join namespaces by a bridge; None when it can."""
    if shutil.which("ip") is None:
        return "there is no ip command"
    if os.geteuid() != 0:
        return "network namespaces want root"
    probe = f"fb{os.getpid()}-probe"
    try:
        _ip("netns", "add", probe)
        _ip("-n", probe, "link", "add", "joint", "type", "bridge")
        _ip("-n", probe, "link", "add", "one", "type", "veth", "peer", "name", "other")
    except subprocess.CalledProcessError as error:
        return f"no namespaces with a bridge here: {error.stderr.decode().strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", probe], check=False, capture_output=True)
    return None


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
