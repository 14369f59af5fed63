"""Who may take part, who does what, and what clocks prove: without any Dask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from feedbench import __version__
from feedbench.clock_offset.sample import ClockSample
from feedbench.cluster.assignment import OfferingHost, assign, parse_offers
from feedbench.cluster.certificates import issue_certificates, role_certificate
from feedbench.cluster.clocks import HostClock, across
from feedbench.cluster.contact import contact, is_loopback, security_for
from feedbench.cluster.dask import need_dask
from feedbench.cluster.greeting import CLOCK_LIMIT_NS, check_clock, check_version
from feedbench.errors import ClusterError, TooFewHostsError

MS = 1_000_000


def host(name: str, *offers: str) -> OfferingHost:
    return OfferingHost(name, f"10.0.0.{ord(name) - 96}", parse_offers(",".join(offers)), (0, 1))


ALL = host("a", "load", "target")
TARGETS = host("b", "target")
LOADS = [host("c", "load"), host("d", "load")]

ASSIGNED: list[tuple[str, list[OfferingHost], dict[str, object], str, list[str]]] = [
    ("one host does both, as on one machine", [ALL, *LOADS], {"apart": False}, "a", ["a"]),
    ("apart, the load comes from elsewhere", [ALL, *LOADS], {"apart": True}, "a", ["c"]),
    ("apart, with the roles told by the offers", [TARGETS, *LOADS], {"apart": True}, "b", ["c"]),
    ("not apart, but nobody offers both", [TARGETS, *LOADS], {"apart": False}, "b", ["c"]),
    ("several agents", [TARGETS, *LOADS], {"apart": True, "agents": 2}, "b", ["c", "d"]),
    (
        "who offers both may lend itself as an agent",
        [ALL, LOADS[0]],
        {"apart": False, "agents": 2},
        "a",
        ["c", "a"],
    ),
    ("preferred hosts come first", [TARGETS, *LOADS], {"apart": True, "preferred": ["d"]}, "b", ["d"]),
]


@pytest.mark.parametrize(
    ("what", "hosts", "options", "target", "loads"), ASSIGNED, ids=[row[0] for row in ASSIGNED]
)
def test_hosts_are_assigned_by_what_they_offer(
    what: str, hosts: list[OfferingHost], options: dict[str, object], target: str, loads: list[str]
) -> None:
    for order in (hosts, hosts[::-1]):
        chosen = assign(order, **options)  # type: ignore[arg-type]
        assert (chosen.target.name, [load.name for load in chosen.loads]) == (target, loads), what


LACKING: list[tuple[str, Sequence[OfferingHost], dict[str, object], str]] = [
    ("nobody", [], {"apart": False}, "no host takes part: no host offers target"),
    ("no target", LOADS, {"apart": False}, "no host offers target"),
    ("no load", [TARGETS], {"apart": False}, "no host offers load"),
    ("only one host to be apart", [ALL], {"apart": True}, "load on another host"),
    ("too few agents", [TARGETS, *LOADS], {"apart": True, "agents": 3}, "load from 3 hosts, apart"),
]


@pytest.mark.parametrize(("what", "hosts", "options", "said"), LACKING, ids=[row[0] for row in LACKING])
def test_what_is_lacking_is_said(
    what: str, hosts: Sequence[OfferingHost], options: dict[str, object], said: str
) -> None:
    with pytest.raises(TooFewHostsError) as error:
        assign(hosts, **options)  # type: ignore[arg-type]
    assert said in str(error.value), what


@pytest.mark.parametrize("text", ["", "loads", "load,,tarGet"])
def test_what_cannot_be_offered_is_named(text: str) -> None:
    with pytest.raises(ClusterError, match="--offers"):
        parse_offers(text)


def test_hosts_that_do_one_thing_use_their_first_cpu_and_those_that_do_both_two() -> None:
    assert (ALL.pinning.targets, ALL.pinning.engine) == ((0,), (1,))
    assert (TARGETS.pinning.targets, LOADS[0].pinning.engine) == ((0,), (0,))


def test_private_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    files = issue_certificates(folder)
    keys = [file for file in files if file.suffix == ".key"]
    assert len(keys) == 3
    assert {file.stat().st_mode & 0o777 for file in keys} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ClusterError, match="certificates already"):
        issue_certificates(folder)
    keys[0].chmod(0o644)
    with pytest.raises(ClusterError, match="others may read"):
        role_certificate(folder, "scheduler")
    (folder / "worker.pem").unlink()
    with pytest.raises(ClusterError, match=r"no TLS certificate: worker\.pem is missing"):
        role_certificate(folder, "worker")


def test_nothing_leaves_the_machine_without_a_certificate(tmp_path: Path) -> None:
    issue_certificates(tmp_path / "tls")
    assert contact("127.0.0.1:8786", None, role="worker").url == "tcp://127.0.0.1:8786"
    assert contact("[::1]:8786", None, role="worker").url == "tcp://[::1]:8786"
    assert contact("10.0.0.1:8786", tmp_path / "tls", role="worker").url == "tls://10.0.0.1:8786"
    assert security_for("0.0.0.0", tmp_path / "tls", role="scheduler").require_encryption
    for address in ("10.0.0.1:8786", "tls://127.0.0.1:8786", "tcp://10.0.0.1:8786"):
        with pytest.raises(ClusterError, match="no TLS certificate"):
            contact(address, None, role="worker")
    with pytest.raises(ClusterError, match="no TLS certificate"):
        security_for("0.0.0.0", None, role="scheduler")
    with pytest.raises(ClusterError, match="does not encrypt"):
        contact("tcp://127.0.0.1:8786", tmp_path / "tls", role="worker")


@pytest.mark.parametrize(
    "address", ["", "10.0.0.1", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:70000", "http://h:1"]
)
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(ClusterError):
        contact(address, None, role="controller")


def test_which_addresses_stay_on_the_machine() -> None:
    assert [is_loopback(text) for text in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(text) for text in ("0.0.0.0", "10.0.0.1", "::", "example.org")] == [False] * 4


def test_without_dask_one_line_says_what_to_install() -> None:
    with pytest.raises(ClusterError, match=r"pip install 'feedbench\[cluster\]'"):
        need_dask("distributed_that_is_not_there")


def test_another_version_is_refused() -> None:
    check_version(__version__, who="b")
    with pytest.raises(ClusterError, match=r"b: refused: it runs feedbench 0\.0\.9"):
        check_version("0.0.9", who="b")


def sample(offset_ns: int, *, at_ns: int = 0, there_ns: int = MS, back_ns: int = MS) -> ClockSample:
    return ClockSample(at_ns, at_ns + there_ns + offset_ns, at_ns + there_ns + back_ns)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clock_that_is_certainly_too_far_off_is_refused(sign: int) -> None:
    near, far = sign * (CLOCK_LIMIT_NS - 2 * MS), sign * (CLOCK_LIMIT_NS + 2 * MS)
    check_clock([sample(near)], who="b")
    with pytest.raises(ClusterError, match="the clocks differ by 52 ms, and 50 ms is the limit"):
        check_clock([sample(far), sample(far, there_ns=9 * MS)], who="b")
    # A slow round trip proves nothing against it.
    check_clock([sample(far, there_ns=40 * MS, back_ns=40 * MS)], who="b")


def test_a_hosts_clock_is_known_to_what_the_round_trips_prove() -> None:
    clock = HostClock("b", {"in_words": "No PTP clock."})
    clock.add("before", sample(7_000_000, there_ns=100, back_ns=300))
    clock.add("during", sample(7_000_000, at_ns=10**9, there_ns=300, back_ns=100))
    clock.add("after", sample(7_000_000, at_ns=2 * 10**9, there_ns=MS, back_ns=MS))
    document = clock.document()
    assert document["before"]["offset_interval_ns"] == [6_999_700, 7_000_100]
    assert document["before"]["round_trip_ns"] == 400
    assert document["after"]["offset_interval_ns"] == [6_000_000, 8_000_000]
    assert document["drift_ppm"][0] <= 0 <= document["drift_ppm"][1]
    assert document["contradiction"] is None
    assert clock.offset_ns() == pytest.approx(7_000_000, abs=200)


def test_a_clock_that_was_set_meanwhile_contradicts_itself() -> None:
    clock = HostClock("b", {})
    clock.add("before", sample(0, there_ns=10, back_ns=10))
    clock.add("after", sample(MS, at_ns=1000, there_ns=10, back_ns=10))
    assert "was set" in clock.document()["contradiction"]


def test_a_time_across_hosts_carries_both_intervals() -> None:
    spanned = across(1_000, 1_500, from_offset_ns=(100, 120), to_offset_ns=(40, 50))
    # The truth, whatever the offsets are within their intervals, lies within.
    assert spanned.interval_ns == (500 + 100 - 50, 500 + 120 - 40)
    assert spanned.value_ns == 565
