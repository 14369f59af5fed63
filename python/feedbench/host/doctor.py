"""What on this machine would spoil a measurement, and what to try: each check is a pure function of the
facts.

ok: as it should be. caution: results stand, but wider or with a caveat. problem: something will fail or
mislead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from feedbench.host.brackets import Bracket
from feedbench.host.facts import HostFacts

State = Literal["ok", "caution", "problem"]

STEAL_SHARE_LIMIT = 0.005  # the default gate of a scenario
PSI_SHARE_LIMIT = 0.05
OPEN_FILES_WANTED = 4_096
LOST_SHARE_LIMIT = 0.02  # a quiet CPU loses under 1 % to timer ticks
GAP_LIMIT_NS = 1_000_000  # what an engine stall is


@dataclass(frozen=True)
class Check:
    """One line of the doctor's report; `advice` says what to try, None when all is well."""

    name: str
    state: State
    found: str
    advice: str | None = None


def examine(
    facts: HostFacts,
    *,
    shield: str | None = None,
    brackets: Sequence[Bracket] = (),
    jitter: Mapping[int, Mapping[str, Any] | str] | None = None,
) -> tuple[Check, ...]:
    """All checks, in the order in which they matter. `jitter` maps a CPU to the engine's object, or to why
    there is none.
    """
    return (
        *_processors(facts),
        *_contention(facts),
        *_scheduling(facts, shield),
        *_clock(facts),
        *(_bracket(bracket) for bracket in brackets),
        *(_jitter(cpu, found) for cpu, found in sorted((jitter or {}).items())),
        *_limits(facts),
    )


def _processors(facts: HostFacts) -> Iterator[Check]:
    usable = len(facts.cpus_allowed)
    yield Check(
        "CPUs",
        "ok" if usable >= 2 else "caution",
        f"{usable} of {facts.cpu_count} usable, {facts.cpu_model or 'model unknown'}",
        None
        if usable >= 2
        else "target and engine share one CPU; every message then waits for a context switch",
    )
    if facts.threads_per_core is not None and facts.threads_per_core > 1:
        yield Check(
            "hardware threads",
            "caution",
            f"{facts.threads_per_core} per core",
            "if CPUs 0 and 1 are one core they slow each other; try taskset -c with CPUs of different cores",
        )
    if facts.governor not in (None, "performance"):
        yield Check(
            "frequency governor",
            "caution",
            str(facts.governor),
            "as root: cpupower frequency-set -g performance",
        )
    else:
        found = facts.governor or "not visible (usual in a virtual machine)"
        yield Check("frequency governor", "ok", found)
    yield Check(
        "idle states",
        "ok",
        f"driver {facts.idle_driver or 'none'}; a run keeps the CPUs awake with an idle-priority spinner",
    )
    if facts.virtualisation not in (None, "none"):
        yield Check(
            "virtualisation",
            "caution",
            str(facts.virtualisation),
            "sleeping virtual CPUs wake slowly, neighbours take time: keep cpus_awake on",
        )


def _contention(facts: HostFacts) -> Iterator[Check]:
    steal = facts.steal_share_since_boot
    if steal is not None:
        stolen = steal > STEAL_SHARE_LIMIT
        yield Check(
            "stolen time",
            "caution" if stolen else "ok",
            f"{steal:.2%} since boot",
            "other virtual machines take CPU time: blocks above the steal gate will be dropped"
            if stolen
            else None,
        )
    waited = facts.psi_cpu_some_share_10s
    if waited is None:
        yield Check(
            "other work", "caution", "this kernel does not tell (no /proc/pressure)", "look at top yourself"
        )
    else:
        busy = waited > PSI_SHARE_LIMIT
        yield Check(
            "other work",
            "caution" if busy else "ok",
            f"tasks waited for a CPU {waited:.0%} of the last 10 s, load {facts.load_average_1m:.1f}",
            "something else is running: end it, or expect wide intervals" if busy else None,
        )


def _scheduling(facts: HostFacts, shield: str | None) -> Iterator[Check]:
    if shield is not None:
        got = not shield.startswith("none")
        yield Check(
            "shield",
            "ok" if got else "caution",
            shield,
            None
            if got
            else "run as root, or grant CAP_SYS_NICE, so that other work can't take the CPU meanwhile",
        )
    grouped = {True: "on: nice values don't reach across sessions", False: "off", None: "not in this kernel"}
    yield Check("autogroup", "ok", grouped[facts.autogroup_enabled])
    tick = f"{facts.tick_hz} Hz tick" if facts.tick_hz else "tick unknown"
    yield Check("kernel", "ok", f"{facts.kernel}, preemption {facts.preemption or 'unknown'}, {tick}")
    yield Check("cgroups", "ok", f"{facts.cgroup_mode}, this process in {facts.cpu_cgroup or 'none'}")


def _clock(facts: HostFacts) -> Iterator[Check]:
    fast = facts.clocksource in ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
    yield Check(
        "clock source",
        "ok" if fast else "caution",
        facts.clocksource or "unknown",
        None
        if fast
        else "reading the clock is a system call here, about 0.3 µs each; a TSC clock source is cheaper",
    )
    if facts.time_namespace_offset_ns:
        yield Check(
            "time namespace",
            "caution",
            f"shifts CLOCK_MONOTONIC by {facts.time_namespace_offset_ns} ns",
            "stamps made outside this namespace can't be compared with those made inside",
        )


def _bracket(bracket: Bracket) -> Check:
    name = f"clock of {bracket.runtime}"
    if bracket.skipped is not None:
        return Check(name, "ok", f"not tested: {bracket.skipped}")
    if bracket.violations:
        return Check(
            name,
            "problem",
            f"{bracket.clock}: {bracket.violations} of {bracket.rounds} stamps outside their bracket",
            "one-way times that mix this runtime's stamps with others are wrong here",
        )
    least, most = bracket.offset_least_ns or 0, bracket.offset_most_ns or 0
    return Check(
        name,
        "ok",
        f"{bracket.clock}: {bracket.rounds} brackets, 0 violations, "
        f"offset within {least / 1000:+.1f} … {most / 1000:+.1f} µs",
    )


def _jitter(cpu: int, found: Mapping[str, Any] | str) -> Check:
    name = f"jitter of CPU {cpu}"
    if isinstance(found, str):
        return Check(
            name, "caution", f"not measured: {found}", "make setup builds the engine, which measures it"
        )
    other, interrupts = found["descheduled"], found["interrupted"]
    longest_ns = max(int(cause["gap_ns"]["max"] or 0) for cause in (other, interrupts))
    quiet = found["lost_share"] <= LOST_SHARE_LIMIT and longest_ns <= GAP_LIMIT_NS
    advice = (
        "other work interrupts this CPU: end it, or expect a wide tail (p99 and beyond)"
        if other["lost_ns"] >= interrupts["lost_ns"]
        else "interrupts or the hypervisor take this CPU, which no shield cures: expect a wide tail"
    )
    return Check(
        name,
        "ok" if quiet else "caution",
        f"{other['lost_share']:.2%} lost to other work, {interrupts['lost_share']:.2%} to interrupts, "
        f"the longest gap {longest_ns / 1000:.0f} µs",
        None if quiet else advice,
    )


def _limits(facts: HostFacts) -> Iterator[Check]:
    few = facts.open_files_soft < OPEN_FILES_WANTED
    yield Check(
        "open files",
        "caution" if few else "ok",
        f"{facts.open_files_soft} (at most {facts.open_files_hard})",
        f"each connection takes one file on either side; try: ulimit -n {facts.open_files_hard}"
        if few
        else None,
    )
    if facts.congestion_control is not None:
        usual = facts.congestion_control == "cubic"
        yield Check(
            "congestion control",
            "ok" if usual else "caution",
            facts.congestion_control,
            None if usual else "not the usual default (cubic); the engine records what each connection used",
        )
    yield Check("huge pages", "ok", facts.transparent_huge_pages or "unknown")
