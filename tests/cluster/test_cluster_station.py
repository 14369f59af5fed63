"""A station serves one run at a time, and ends what a dead controller left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from network import make_project

from feedbench.build import sources_sha256
from feedbench.cluster.assignment import OfferingHost
from feedbench.cluster.remote_load import RemoteLoad
from feedbench.cluster.station import Death, Started, Station
from feedbench.errors import BusyHostError, ClusterError, HostLostError
from feedbench.paths import Project
from feedbench.registry import discover

pytestmark = pytest.mark.end_to_end


class Clock:
    """One that a test holds."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def station(tmp_path: Path) -> Station:
    make_project(tmp_path)
    host = OfferingHost("b", "127.0.0.1", ("load", "target"), (0,))
    return Station(
        host,
        Project(tmp_path / "project"),
        tmp_path / "scratch",
        lambda line: None,
        lease_s=10.0,
        clock=Clock(),
    )


def start(station: Station, **knobs: str) -> Started | Death:
    target = discover(station.project).get("_fake/echo")
    return station.start("_fake-echo", target.name, sources_sha256(target), knobs, 60.0)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_a_station_serves_one_run_until_nobody_is_heard_of(station: Station) -> None:
    before = children()
    station.hold("one")
    with pytest.raises(BusyHostError, match="another run"):
        station.hold("two")
    assert isinstance(start(station), Started)
    assert children() > before
    station.clock.now_s = 9.0  # type: ignore[attr-defined]
    with station.calling("one"):
        station.clock.now_s = 60.0  # type: ignore[attr-defined]
        station.expire()  # a call may take as long as it likes
    station.expire()
    assert station.reading("_fake-echo").processes >= 1
    station.clock.now_s = 71.0  # type: ignore[attr-defined]
    station.expire()
    assert children() == before
    with pytest.raises(HostLostError, match="not held"), station.calling("one"):
        pass
    station.hold("two")
    station.close()


def test_the_same_run_ends_what_its_earlier_controller_left(station: Station) -> None:
    before = children()
    station.hold("one")
    assert isinstance(start(station), Started)
    station.hold("one")
    assert children() == before
    with pytest.raises(HostLostError, match="does not run here"):
        station.reading("_fake-echo")


def test_a_target_that_does_not_start_says_why(station: Station) -> None:
    station.hold("one")
    death = start(station, start="unsupported")
    assert isinstance(death, Death)
    assert (death.unsupported, "does not support" in str(death.error("_fake/echo"))) == (True, True)


def test_only_what_it_built_itself_is_started(station: Station) -> None:
    station.hold("one")
    with pytest.raises(ClusterError, match="refused: it has not built _fake/echo with hash 000000000000"):
        station.start("_fake-echo", "_fake/echo", "0" * 64, {}, 1.0)


ELSEWHERE: list[tuple[str, Callable[[Path], str]]] = [
    ("an absolute path", lambda folder: str(folder / "elsewhere")),
    ("a way up", lambda folder: "../elsewhere"),
    ("no path at all", lambda folder: ""),
]


@pytest.mark.parametrize(("what", "name"), ELSEWHERE, ids=[row[0] for row in ELSEWHERE])
def test_no_cell_lies_outside_the_hosts_folder(
    tmp_path: Path, what: str, name: Callable[[Path], str]
) -> None:
    request = {"targets": [{"directory": name(tmp_path), "payload": {"kind": "binary", "bytes": 1}}]}
    with pytest.raises(ClusterError, match="elsewhere"):
        RemoteLoad(Path("engine"), request, {}, folder=tmp_path / "load", cpu=None, deadline_ns=1)
    assert not (tmp_path / "elsewhere").exists(), what
