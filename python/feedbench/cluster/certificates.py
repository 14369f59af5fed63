"""Who may take part: a private authority, and a certificate each for scheduler, workers and controllers.

Dask asks of the other side only a certificate of the same authority, not a host's name: so one worker's
certificate does for all workers, and the folder is copied to every host that takes part. The authority's own
key is kept nowhere: nobody can issue more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from feedbench.errors import ClusterError

Role = Literal["scheduler", "worker", "controller"]
AUTHORITY = "authority.pem"


@dataclass(frozen=True)
class RoleCertificate:
    """PEM files of one who takes part."""

    authority: Path
    chain: Path
    key: Path


def issue_certificates(folder: Path) -> list[Path]:
    """Makes authority and certificates below `folder` and returns the files; never overwrites any."""
    if (folder / AUTHORITY).exists():
        raise ClusterError(
            "there are certificates already",
            where=str(folder),
            hint="whoever has copies of them would be shut out; name another folder",
        )
    import trustme  # loads a cryptographic library, which nothing else needs

    authority = trustme.CA(organization_name="feedbench cluster")
    files = {AUTHORITY: authority.cert_pem.bytes()}
    for role in get_args(Role):
        issued = authority.issue_cert(f"{role}.feedbench.internal", common_name=f"feedbench {role}")
        files[f"{role}.pem"] = b"".join(part.bytes() for part in issued.cert_chain_pems)
        files[f"{role}.key"] = issued.private_key_pem.bytes()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, content in files.items():
            _write(folder / name, content, mode=0o600 if name.endswith(".key") else 0o644)
    except OSError as error:
        raise ClusterError(f"cannot write into it: {error.strerror}", where=str(folder)) from error
    return [folder / name for name in files]


def role_certificate(folder: Path, role: Role) -> RoleCertificate:
    """The files of one role; ClusterError names the one that is missing, or that others may read."""
    certificate = RoleCertificate(folder / AUTHORITY, folder / f"{role}.pem", folder / f"{role}.key")
    for file in (certificate.authority, certificate.chain, certificate.key):
        if not file.is_file():
            raise ClusterError(
                f"no TLS certificate: {file.name} is missing",
                where=str(folder),
                hint="feedbench cluster init makes them, once; each host gets a copy",
            )
    if certificate.key.stat().st_mode & 0o077:
        raise ClusterError("others may read this private key", where=str(certificate.key), hint="chmod 600")
    return certificate


def _write(path: Path, content: bytes, *, mode: int) -> None:
    """With its mode from the first moment on, whatever the umask."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
