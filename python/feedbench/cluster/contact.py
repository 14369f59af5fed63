"""An address, and what encrypts the way to it: TLS wherever it leaves this machine."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feedbench.cluster.certificates import Role, role_certificate
from feedbench.errors import ClusterError

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Contact:
    """Where a scheduler is, as Dask writes it; `security` is Dask's, None where nothing is encrypted."""

    url: str
    security: Any


def contact(address: str, tls: Path | None, *, role: Role) -> Contact:
    """Of `HOST:PORT`, `tls://` or `tcp://` before it or not; ClusterError when it may not be used."""
    scheme, _, rest = address.rpartition("://")
    host, port = _split(rest, address)
    if scheme not in ("", "tls", "tcp"):
        raise ClusterError(f'"{scheme}" is no way to a scheduler', where=address, hint="tls:// or tcp://")
    if scheme == "tcp" and tls is not None:
        raise ClusterError("tcp:// does not encrypt, and --tls asks for it", where=address)
    security = security_for(host, tls, role=role, wanted=scheme == "tls")
    return Contact(f"{'tcp' if security is None else 'tls'}://{_joined(host, port)}", security)


def security_for(host: str, tls: Path | None, *, role: Role, wanted: bool = False) -> Any:
    """Dask's Security with this role's certificate; None on the loopback, unless TLS is asked for."""
    if tls is None:
        if is_loopback(host) and not wanted:
            return None
        raise ClusterError(
            "no TLS certificate: nothing goes to another machine unencrypted",
            where=host,
            hint="feedbench cluster init DIR makes them, --tls DIR uses them",
        )
    certificate = role_certificate(tls, role)
    from distributed.security import Security

    return Security(
        tls_ca_file=str(certificate.authority),
        **{f"tls_{'client' if role == 'controller' else role}_cert": str(certificate.chain)},
        **{f"tls_{'client' if role == 'controller' else role}_key": str(certificate.key)},
        require_encryption=True,
    )


def is_loopback(host: str) -> bool:
    """Whether packets to this host never leave the machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(rest: str, address: str) -> tuple[str, int]:
    host, _, port = rest.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ClusterError("this is no address", where=address, hint="such as 10.0.0.1:8786")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
