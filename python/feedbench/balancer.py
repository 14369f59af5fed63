"""HAProxy before several instances of a target: it passes bytes on, whatever they are, TLS too."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from feedbench.commands import environment
from feedbench.launch import Server, UnsupportedError, free_port, start_program
from feedbench.target import Need

HAPROXY = "haproxy"
# No target's own: the launcher has it for all of them.
NEED = Need("tool", HAPROXY, None, "Debian: apt-get install haproxy", (HAPROXY,))
DESCRIPTORS_BESIDES = 100  # HAProxy's own: listeners, pipes, logs

CONFIGURATION = """\
global
    maxconn {most_connections}
    nbthread 1

defaults
    mode tcp
    maxconn {most_connections}
    timeout connect 5s
    timeout client 1h
    timeout server 1h

listen instances
    bind {address}
    balance roundrobin
{servers}
"""


def configuration(address: str, instances: Sequence[str], *, most_connections: int) -> str:
    """HAProxy's configuration: connections go to the `instances` (host:port) in turn."""
    servers = "\n".join(f"    server instance{index} {one}" for index, one in enumerate(instances, start=1))
    return CONFIGURATION.format(address=address, servers=servers, most_connections=most_connections)


def start_haproxy(
    instances: Sequence[Server], *, log: Path, host: str, cpus: Collection[int] | None
) -> Server:
    """HAProxy on a free port, not yet ready; whoever calls must `stop` it.

    Its configuration stands beside `log`.
    """
    program = shutil.which(HAPROXY)
    target = instances[0].target
    if program is None:
        raise UnsupportedError(f"{HAPROXY} is not on PATH", where=target.name, hint=NEED.hint)
    port = free_port(host)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    file = log.with_suffix(".haproxy.cfg")
    file.parent.mkdir(parents=True, exist_ok=True)
    text = configuration(address, [one.authority for one in instances], most_connections=_most_connections())
    file.write_text(text, encoding="utf-8")
    return start_program(
        [program, "-db", "-f", str(file)],  # -db: in the foreground
        target=target,
        env=environment(),
        log=log,
        host=host,
        port=port,
        cpus=cpus,
        authority_file=instances[0].authority_file,
    )


def _most_connections() -> int:
    """HAProxy does not start with more than it may open files for: two a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (hard - DESCRIPTORS_BESIDES) // 2
