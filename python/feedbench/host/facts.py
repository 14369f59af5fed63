"""What machine a run was made on: the facts that change a latency, read once and stored as host.json."""

from __future__ import annotations

import os
import platform
import resource
import socket
from dataclasses import asdict, dataclass
from typing import Any

from feedbench.host.kernel_files import KernelFiles
from feedbench.host.pressure import read_pressure
from feedbench.paths import SCHEMA


@dataclass(frozen=True)
class HostFacts:
    """None wherever the kernel does not tell. Sizes in bytes, shares 0…1, offsets in ns."""

    hostname: str
    cpu_model: str | None
    cpu_count: int
    cpus_allowed: tuple[int, ...]
    threads_per_core: int | None
    memory_bytes: int | None
    kernel: str
    architecture: str
    preemption: str | None
    tick_hz: int | None
    clocksource: str | None
    governor: str | None
    idle_driver: str | None
    virtualisation: str | None
    autogroup_enabled: bool | None
    cgroup_mode: str
    cpu_cgroup: str | None
    transparent_huge_pages: str | None
    congestion_control: str | None
    congestion_control_available: tuple[str, ...]
    open_files_soft: int
    open_files_hard: int
    local_ports: int | None
    realtime_runtime_share: float | None
    time_namespace_offset_ns: int | None
    load_average_1m: float
    psi_cpu_some_share_10s: float | None
    steal_share_since_boot: float | None
    python: str
    user_is_root: bool

    def document(self) -> dict[str, Any]:
        """host.json's object, without what `doctor` adds."""
        return {"schema": SCHEMA, **asdict(self)}


def read_facts(files: KernelFiles | None = None) -> HostFacts:
    """The facts of this machine, or of the planted one below `files.root`."""
    kernel = files or KernelFiles()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    pressure = read_pressure(kernel)
    configuration = kernel.configuration()
    return HostFacts(
        hostname=socket.gethostname(),
        cpu_model=_field(kernel.text("proc/cpuinfo"), "model name"),
        cpu_count=os.cpu_count() or 1,
        cpus_allowed=tuple(sorted(os.sched_getaffinity(0))),
        threads_per_core=_threads_per_core(kernel),
        memory_bytes=_memory_bytes(kernel),
        kernel=platform.release(),
        architecture=platform.machine(),
        preemption=_preemption(kernel, configuration),
        tick_hz=int(configuration["CONFIG_HZ"]) if "CONFIG_HZ" in configuration else None,
        clocksource=kernel.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor=kernel.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        idle_driver=kernel.text("sys/devices/system/cpu/cpuidle/current_driver"),
        virtualisation=_virtualisation(kernel),
        autogroup_enabled=_boolean(kernel.text("proc/sys/kernel/sched_autogroup_enabled")),
        cgroup_mode=cgroup_mode(kernel),
        cpu_cgroup=cpu_cgroup(kernel),
        transparent_huge_pages=kernel.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
        congestion_control=kernel.text("proc/sys/net/ipv4/tcp_congestion_control"),
        congestion_control_available=tuple(
            (kernel.text("proc/sys/net/ipv4/tcp_available_congestion_control") or "").split()
        ),
        open_files_soft=soft,
        open_files_hard=hard,
        local_ports=_local_ports(kernel),
        realtime_runtime_share=_realtime_share(kernel),
        time_namespace_offset_ns=monotonic_offset_ns(kernel.text("proc/self/timens_offsets")),
        load_average_1m=pressure.load_average_1m,
        psi_cpu_some_share_10s=psi_average_10s(kernel.text("proc/pressure/cpu")),
        steal_share_since_boot=pressure.steal_ticks / pressure.total_ticks if pressure.total_ticks else None,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        user_is_root=os.geteuid() == 0,
    )


def cgroup_mode(kernel: KernelFiles) -> str:
    """`v2`, `v1`, `hybrid` (both, controllers on v1) or `none`."""
    if kernel.text("sys/fs/cgroup/cgroup.controllers") is not None:
        return "v2"
    first = kernel.text("sys/fs/cgroup/cpu/cpu.shares") is not None
    second = kernel.text("sys/fs/cgroup/unified/cgroup.controllers") is not None
    if first:
        return "hybrid" if second else "v1"
    return "none"


def cpu_cgroup(kernel: KernelFiles) -> str | None:
    """The cgroup that governs this process's CPU time: of v1's cpu hierarchy if there is one, else of v2."""
    unified = None
    for line in (kernel.text("proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return path
        if controllers == "":
            unified = path
    return unified


def monotonic_offset_ns(timens_offsets: str | None) -> int | None:
    """What a time namespace adds to CLOCK_MONOTONIC here; two namespaces must agree before their stamps
    compare.
    """
    for line in (timens_offsets or "").splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in ("monotonic", "1"):
            return int(words[1]) * 1_000_000_000 + int(words[2])
    return None


def psi_average_10s(text: str | None) -> float | None:
    """The share of the last ten seconds in which some task waited for a CPU."""
    for word in (text or "").split():
        if word.startswith("avg10="):
            return float(word.removeprefix("avg10=")) / 100
    return None


def _field(cpuinfo: str | None, name: str) -> str | None:
    for line in (cpuinfo or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _boolean(text: str | None) -> bool | None:
    return None if text is None else text == "1"


def _threads_per_core(kernel: KernelFiles) -> int | None:
    siblings = kernel.text("sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    return None if siblings is None else len(cpu_list(siblings))


def cpu_list(text: str) -> tuple[int, ...]:
    """The kernel's list notation: `0-2,7` → (0, 1, 2, 7)."""
    cpus: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


def _memory_bytes(kernel: KernelFiles) -> int | None:
    total = _field(kernel.text("proc/meminfo"), "MemTotal")
    return int(total.split()[0]) * 1024 if total else None


def _preemption(kernel: KernelFiles, configuration: dict[str, str]) -> str | None:
    running = kernel.chosen("sys/kernel/debug/sched/preempt")
    if running:
        return running
    # Without debugfs only the built-in default is known, and a boot option may have changed it.
    built = [
        name
        for name in ("NONE", "VOLUNTARY", "LAZY", "RT")
        if configuration.get(f"CONFIG_PREEMPT_{name}") == "y"
    ]
    if configuration.get("CONFIG_PREEMPT") == "y":
        built.append("FULL")
    return f"{built[0].lower()} (as built)" if built else None


def _virtualisation(kernel: KernelFiles) -> str | None:
    flags = (_field(kernel.text("proc/cpuinfo"), "flags") or "").split()
    if "hypervisor" not in flags:
        return "none" if flags else None
    product = kernel.text("sys/class/dmi/id/product_name")
    maker = kernel.text("sys/class/dmi/id/sys_vendor")
    named = " ".join(filter(None, (maker, product)))
    return named or "a virtual machine that does not name itself"


def _local_ports(kernel: KernelFiles) -> int | None:
    ends = (kernel.text("proc/sys/net/ipv4/ip_local_port_range") or "").split()
    return int(ends[1]) - int(ends[0]) + 1 if len(ends) == 2 else None


def _realtime_share(kernel: KernelFiles) -> float | None:
    runtime = kernel.whole_number("proc/sys/kernel/sched_rt_runtime_us")
    period = kernel.whole_number("proc/sys/kernel/sched_rt_period_us")
    if runtime is None or not period:
        return None
    return 1.0 if runtime < 0 else runtime / period
