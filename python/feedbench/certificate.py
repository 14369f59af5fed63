"""The certificate that targets serve wss with: issued once by a private authority of this checkout's own."""

from __future__ import annotations

import fcntl
import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from feedbench.paths import Project

# What servers listen on: the loopback addresses.
NAMES = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Certificate:
    """PEM files: the authority that clients trust, the server's chain (ECDSA P-256) and its key."""

    authority: Path
    chain: Path
    key: Path

    @property
    def is_there(self) -> bool:
        return all(path.is_file() for path in (self.authority, self.chain, self.key))


def own_certificate(project: Project) -> Certificate:
    """Made on first use and kept: handshakes of two runs then cost the same."""
    folder = project.scratch / "tls"
    certificate = Certificate(folder / "authority.pem", folder / "server.pem", folder / "server.key")
    if certificate.is_there:
        return certificate
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not certificate.is_there:  # another process may have been first
            _issue(certificate)
    return certificate


@cache
def trusting(authority: Path) -> ssl.SSLContext:
    """A client's settings that trust this authority and nobody else."""
    return ssl.create_default_context(cafile=str(authority))


def _issue(certificate: Certificate) -> None:
    import trustme  # loads a cryptographic library, which nothing else needs

    authority = trustme.CA(organization_name="feedbench")
    issued = authority.issue_cert(*NAMES)
    authority.cert_pem.write_to_path(str(certificate.authority))
    certificate.key.touch(mode=0o600)
    issued.private_key_pem.write_to_path(str(certificate.key))
    certificate.chain.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
