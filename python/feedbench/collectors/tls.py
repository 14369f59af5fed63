"""Whom collectors trust."""

from __future__ import annotations

import ssl
from pathlib import Path

from feedbench.errors import FeedbenchError


def trust(authority_file: Path | None) -> ssl.SSLContext:
    """The system's authorities, or only the one in `authority_file` (PEM)."""
    try:
        return ssl.create_default_context(cafile=None if authority_file is None else str(authority_file))
    except (OSError, ssl.SSLError) as error:
        raise FeedbenchError(
            f"cannot read the authority to trust: {error}", where=str(authority_file)
        ) from error
