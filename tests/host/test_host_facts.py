"""Facts and counters read from planted kernel files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from feedbench.host.facts import (
    cgroup_mode,
    cpu_cgroup,
    cpu_list,
    monotonic_offset_ns,
    psi_average_10s,
    read_facts,
)
from feedbench.host.kernel_files import KernelFiles
from feedbench.host.pressure import Pressure, parse_busy, parse_psi_total, parse_stat, shares_between


def plant(root: Path, **files: str) -> KernelFiles:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return KernelFiles(root)


def test_facts_of_a_planted_machine(tmp_path: Path) -> None:
    kernel = plant(
        tmp_path,
        proc__cpuinfo="processor : 0\nmodel name\t: Old Faithful\nflags\t\t: fpu hypervisor\n",
        proc__meminfo="MemTotal:       2048 kB\n",
        proc__stat="cpu  90 0 0 0 0 0 0 10 0 0\n",
        proc__self__cgroup="4:memory:/a\n1:cpu,cpuacct:/b\n0::/c\n",
        sys__kernel__mm__transparent_hugepage__enabled="always [madvise] never\n",
        sys__fs__cgroup__cpu__cpu="",
    )
    (tmp_path / "proc/config.gz").write_bytes(
        gzip.compress(b"CONFIG_HZ=300\nCONFIG_PREEMPT_VOLUNTARY=y\n# x\n")
    )
    facts = read_facts(kernel)
    assert facts.cpu_model == "Old Faithful"
    assert facts.memory_bytes == 2 << 20
    assert facts.steal_share_since_boot == 0.1
    assert facts.cpu_cgroup == "/b"
    assert facts.transparent_huge_pages == "madvise"
    assert facts.tick_hz == 300
    assert facts.preemption == "voluntary (as built)"
    assert facts.virtualisation == "a virtual machine that does not name itself"


def test_a_machine_that_tells_nothing_is_described_by_nothing(tmp_path: Path) -> None:
    facts = read_facts(KernelFiles(tmp_path))
    unknown = (
        facts.cpu_model,
        facts.clocksource,
        facts.virtualisation,
        facts.autogroup_enabled,
        facts.tick_hz,
    )
    assert unknown == (None,) * 5
    assert facts.cgroup_mode == "none"


CGROUPS = [
    ("v2 alone", {"sys__fs__cgroup__cgroup.controllers": "cpu"}, "v2"),
    ("v1 alone", {"sys__fs__cgroup__cpu__cpu.shares": "1024"}, "v1"),
    (
        "both",
        {"sys__fs__cgroup__cpu__cpu.shares": "1024", "sys__fs__cgroup__unified__cgroup.controllers": ""},
        "hybrid",
    ),
    ("neither", {}, "none"),
]


@pytest.mark.parametrize(("what", "files", "mode"), CGROUPS, ids=[row[0] for row in CGROUPS])
def test_cgroup_modes(tmp_path: Path, what: str, files: dict[str, str], mode: str) -> None:
    assert cgroup_mode(plant(tmp_path, **files)) == mode, what


def test_cpu_cgroup_of_v2_when_there_is_no_v1(tmp_path: Path) -> None:
    assert cpu_cgroup(plant(tmp_path, proc__self__cgroup="0::/user.slice\n")) == "/user.slice"


@pytest.mark.parametrize(("text", "cpus"), [("0", (0,)), ("0-2,7", (0, 1, 2, 7)), ("", ())])
def test_cpu_list(text: str, cpus: tuple[int, ...]) -> None:
    assert cpu_list(text) == cpus


def test_time_namespace_offset() -> None:
    assert monotonic_offset_ns("monotonic  2  5\nboottime 0 0") == 2_000_000_005
    assert monotonic_offset_ns(None) is None


def test_psi() -> None:
    text = "some avg10=1.50 avg60=0.44 avg300=1.45 total=13269170\nfull avg10=0.00 total=0"
    assert psi_average_10s(text) == 0.015
    assert parse_psi_total(text) == 13_269_170
    assert parse_psi_total(None) is None


def test_shares_between_two_readings() -> None:
    before = Pressure(
        at_ns=0, steal_ticks=10, total_ticks=1_000, busy_ticks={}, psi_some_us=0, load_average_1m=0.0
    )
    after = Pressure(
        at_ns=2_000_000_000,
        steal_ticks=14,
        total_ticks=1_400,
        busy_ticks={},
        psi_some_us=500_000,
        load_average_1m=0.0,
    )
    shares = shares_between(before, after)
    assert (shares.steal, shares.psi_cpu_some) == (0.01, 0.25)


def test_busy_time_leaves_idle_disk_and_stolen_time_out() -> None:
    assert parse_busy("cpu  9 9 9 9 9 9 9 9 9 9\ncpu3 1 2 4 8 16 32 64 128 256 512\nintr 5\n") == {3: 103}


def test_guest_time_is_not_counted_twice() -> None:
    assert parse_stat("cpu  10 0 0 80 0 0 0 10 7 0\n") == (10, 100)
