"""How contended the machine is: stolen time, waiting time and load, as counters that two readings make into
shares.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from feedbench.host.kernel_files import KernelFiles

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Pressure:
    """One reading of the machine's counters; ticks are the kernel's USER_HZ (10 ms), over all CPUs."""

    at_ns: int
    steal_ticks: int
    total_ticks: int
    busy_ticks: Mapping[int, int]  # by CPU
    psi_some_us: int | None  # microseconds in which some task waited for a CPU, since boot
    load_average_1m: float


@dataclass(frozen=True)
class PressureShares:
    """What lay between two readings, as shares of the time (0…1)."""

    steal: float
    psi_cpu_some: float | None


def read_pressure(files: KernelFiles | None = None) -> Pressure:
    """The counters now."""
    kernel = files or KernelFiles()
    steal, total = parse_stat(kernel.text("proc/stat"))
    return Pressure(
        at_ns=time.monotonic_ns(),
        steal_ticks=steal,
        total_ticks=total,
        busy_ticks=parse_busy(kernel.text("proc/stat")),
        psi_some_us=parse_psi_total(kernel.text("proc/pressure/cpu")),
        load_average_1m=os.getloadavg()[0],
    )


def parse_stat(text: str | None) -> tuple[int, int]:
    """(steal, total) of the first line of /proc/stat. Guest time is already inside user time, so it is left
    out.
    """
    words = (text or "").splitlines()[0].split() if text else []
    ticks = [int(word) for word in words[1:9]]
    steal = ticks[7] if len(ticks) > 7 else 0
    return steal, sum(ticks)


def parse_busy(text: str | None) -> dict[int, int]:
    """Ticks in which each CPU did something: not idle, not waiting for a disk, not stolen."""
    busy = {}
    for line in (text or "").splitlines():
        name, *words = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks = [int(word) for word in words[:7]]
            busy[int(name.removeprefix("cpu"))] = sum(ticks) - sum(ticks[3:5])
    return busy


def parse_psi_total(text: str | None) -> int | None:
    """The `total=` of the `some` line of /proc/pressure/cpu."""
    for line in (text or "").splitlines():
        if line.startswith("some "):
            return int(line.rsplit("total=", 1)[1])
    return None


def other_work_share(before: Pressure, after: Pressure, *, cpus: Iterable[int], own_cpu_ns: int) -> float:
    """The share of the time of `cpus` that work other than the run's own had, whose `own_cpu_ns` are known.

    Busy time is counted in ticks of 10 ms, so over a second it is good to a per cent or so.
    """
    watched = [cpu for cpu in cpus if cpu in before.busy_ticks and cpu in after.busy_ticks]
    elapsed_ns = (after.at_ns - before.at_ns) * len(watched)
    if elapsed_ns <= 0:
        return 0.0
    busy_ns = sum(after.busy_ticks[cpu] - before.busy_ticks[cpu] for cpu in watched) * TICK_NS
    return min(1.0, max(0, busy_ns - own_cpu_ns) / elapsed_ns)


def shares_between(before: Pressure, after: Pressure) -> PressureShares:
    """The shares over the time between two readings."""
    ticks = after.total_ticks - before.total_ticks
    elapsed_ns = after.at_ns - before.at_ns
    waited: float | None = None
    if before.psi_some_us is not None and after.psi_some_us is not None and elapsed_ns > 0:
        waited = min(1.0, (after.psi_some_us - before.psi_some_us) * 1_000 / elapsed_ns)
    return PressureShares(
        steal=(after.steal_ticks - before.steal_ticks) / ticks if ticks > 0 else 0.0,
        psi_cpu_some=waited,
    )
