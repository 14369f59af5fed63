"""The networks that tests of several hosts run in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from network import Network, bridged, loopback, why_no_namespaces


@pytest.fixture
def any_hosts(tmp_path: Path) -> Iterator[Network]:
    """Hosts a, b and c in namespaces where the machine can have them, else on the loopback."""
    with (loopback if why_no_namespaces() else bridged)(tmp_path) as network:
        yield network


@pytest.fixture
def three_hosts(tmp_path: Path) -> Iterator[Network]:
    """Hosts a, b and c in namespaces of their own; skipped where the machine can't have them."""
    if (reason := why_no_namespaces()) is not None:
        pytest.skip(reason)
    with bridged(tmp_path) as network:
        yield network
