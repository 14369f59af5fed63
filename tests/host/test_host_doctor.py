"""What the doctor says of planted machines: each caution shown once, each with advice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from feedbench.host.brackets import Bracket
from feedbench.host.doctor import Check, examine
from feedbench.host.facts import HostFacts

QUIET = HostFacts(
    hostname="h",
    cpu_model="CPU",
    cpu_count=4,
    cpus_allowed=(0, 1, 2, 3),
    threads_per_core=1,
    memory_bytes=1 << 30,
    kernel="6.1",
    architecture="x86_64",
    preemption="none",
    tick_hz=250,
    clocksource="tsc",
    governor="performance",
    idle_driver="acpi_idle",
    virtualisation="none",
    autogroup_enabled=True,
    cgroup_mode="v2",
    cpu_cgroup="/",
    transparent_huge_pages="madvise",
    congestion_control="cubic",
    congestion_control_available=("cubic",),
    open_files_soft=65_536,
    open_files_hard=65_536,
    local_ports=28_232,
    realtime_runtime_share=0.95,
    time_namespace_offset_ns=0,
    load_average_1m=0.1,
    psi_cpu_some_share_10s=0.0,
    steal_share_since_boot=0.0,
    python="CPython 3.11",
    user_is_root=True,
)


def loss(share: float, longest_ns: int | None) -> dict[str, Any]:
    return {"lost_share": share, "lost_ns": int(share * 1e9), "gap_ns": {"max": longest_ns}}


def jitter(other: float, interrupts: float, longest_ns: int | None) -> dict[str, Any]:
    return {
        "lost_share": other + interrupts,
        "descheduled": loss(other, longest_ns),
        "interrupted": loss(interrupts, None),
    }


def named(checks: tuple[Check, ...], name: str) -> Check:
    return next(check for check in checks if check.name == name)


def test_a_quiet_machine_is_all_ok() -> None:
    bracket = Bracket("Go", "runtime.nanotime", 10, 0, -5, 5)
    checks = examine(
        QUIET, shield="autogroup −20", brackets=[bracket], jitter={0: jitter(0.001, 0.004, 9_000)}
    )
    assert {check.state for check in checks} == {"ok"}
    assert all(check.advice is None for check in checks)


CAUTIONS = [
    ("one CPU is shared by target and engine", {"cpus_allowed": (0,)}, "CPUs", "share one CPU"),
    ("two threads of a core slow each other", {"threads_per_core": 2}, "hardware threads", "one core"),
    ("a governor that saves power", {"governor": "powersave"}, "frequency governor", "cpupower"),
    ("a virtual machine", {"virtualisation": "KVM"}, "virtualisation", "cpus_awake"),
    ("stolen time", {"steal_share_since_boot": 0.02}, "stolen time", "steal gate"),
    ("other work", {"psi_cpu_some_share_10s": 0.5}, "other work", "end it"),
    ("a kernel without PSI", {"psi_cpu_some_share_10s": None}, "other work", "top"),
    ("a slow clock source", {"clocksource": "hpet"}, "clock source", "system call"),
    ("a shifted time namespace", {"time_namespace_offset_ns": 5}, "time namespace", "can't be compared"),
    ("few open files", {"open_files_soft": 1_024}, "open files", "ulimit -n 65536"),
    ("bbr", {"congestion_control": "bbr"}, "congestion control", "cubic"),
]


@pytest.mark.parametrize(("what", "changes", "name", "advice"), CAUTIONS, ids=[row[0] for row in CAUTIONS])
def test_each_caution_comes_with_advice(what: str, changes: dict[str, Any], name: str, advice: str) -> None:
    check = named(examine(replace(QUIET, **changes)), name)
    assert check.state == "caution", what
    assert check.advice is not None
    assert advice in check.advice


def test_a_clock_outside_its_bracket_is_a_problem() -> None:
    check = named(examine(QUIET, brackets=[Bracket("Go", "nanotime", 10, 1, 7, 5)]), "clock of Go")
    assert check.state == "problem"
    assert "1 of 10" in check.found


def test_a_runtime_that_is_absent_is_told_and_not_blamed() -> None:
    skipped = Bracket("Go", "nanotime", 0, 0, None, None, skipped="go is not on this machine")
    check = named(examine(QUIET, brackets=[skipped]), "clock of Go")
    assert (check.state, check.advice) == ("ok", None)
    assert "go is not on this machine" in check.found


JITTERS = [
    ("other work takes the CPU", jitter(0.5, 0.001, 8_000_000), "caution", "end it"),
    ("interrupts take the CPU", jitter(0.001, 0.5, 9_000), "caution", "no shield cures"),
    ("one long gap is enough", jitter(0.001, 0.0, 8_000_000), "caution", "tail"),
    ("without a gap", jitter(0.0, 0.0, None), "ok", None),
    ("without an engine", "cannot start: No such file or directory", "caution", "make setup"),
]


@pytest.mark.parametrize(("what", "found", "state", "advice"), JITTERS, ids=[row[0] for row in JITTERS])
def test_jitter(what: str, found: Any, state: str, advice: str | None) -> None:
    check = named(examine(QUIET, jitter={1: found}), "jitter of CPU 1")
    assert check.state == state, what
    assert (advice in (check.advice or "")) if advice else check.advice is None


def test_no_shield_is_a_caution() -> None:
    check = named(examine(QUIET, shield="none (autogroup: Permission denied)"), "shield")
    assert check.state == "caution"
    assert "Permission denied" in check.found


def test_host_sources_of_the_stamp_programs_are_all_there() -> None:
    from feedbench.host.brackets import RUNTIMES, SOURCES

    assert all(Path(SOURCES / runtime.source).is_file() for runtime in RUNTIMES)
