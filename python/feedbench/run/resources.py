"""What a target uses: CPU time, waiting time, memory and switches of its process tree, never of the whole
machine.

Readings are taken before and after an engine call, outside the timed slices. The one reading within, of
resident memory while all connections stand, costs 14–20 µs a process and falls into the warm-up.
"""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from feedbench.paths import SCHEMA

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")
CPUCLOCK_SCHED = 2  # linux/posix-timers.h: the scheduler's own count of a process's run time, in ns


@dataclass(frozen=True)
class TreeReading:
    """Sums over processes and their descendants at one moment (CLOCK_MONOTONIC)."""

    at_ns: int
    processes: int
    threads: int
    cpu_ns: int
    run_delay_ns: int
    rss_bytes: int
    rss_peak_bytes: int
    voluntary_switches: int
    involuntary_switches: int


def read_tree(*pids: int) -> TreeReading:
    """Reads the trees below `pids`; members that end meanwhile count as nothing."""
    members = tree(*pids)
    readings = [reading for member in members if (reading := _read_process(member)) is not None]
    return TreeReading(
        at_ns=time.monotonic_ns(),
        processes=len(readings),
        threads=sum(reading.threads for reading in readings),
        cpu_ns=sum(reading.cpu_ns for reading in readings),
        run_delay_ns=sum(reading.run_delay_ns for reading in readings),
        rss_bytes=sum(reading.rss_bytes for reading in readings),
        rss_peak_bytes=sum(reading.rss_peak_bytes for reading in readings),
        voluntary_switches=sum(reading.voluntary_switches for reading in readings),
        involuntary_switches=sum(reading.involuntary_switches for reading in readings),
    )


def tree(*pids: int) -> tuple[int, ...]:
    """The processes and all their descendants."""
    members: list[int] = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            members += [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return tuple(members)


def read_rss_bytes(members: tuple[int, ...]) -> int:
    """Resident memory of processes whose tree is already known: one small read each."""
    total = 0
    for member in members:
        try:
            total += int((PROC / str(member) / "statm").read_bytes().split()[1]) * PAGE_BYTES
        except (OSError, IndexError):
            continue
    return total


def run_delay_ns(pid: int) -> int | None:
    """How long the main thread waited for a CPU; also readable of a process that ended and was not yet waited
    for.
    """
    try:
        return int((PROC / str(pid) / "schedstat").read_bytes().split()[1])
    except (OSError, IndexError):
        return None


def children_cpu_ns() -> int:
    """CPU time of children that have ended: engine, clients, spinners."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)


def own_cpu_ns() -> int:
    """CPU time of this process and of its children that have ended."""
    return time.process_time_ns() + children_cpu_ns()


@dataclass(frozen=True)
class Usage:
    """What one cell cost its target.

    `shared`: it served several cells of this round, which can't be told apart. `comparable`: before this
    round it had carried traffic, but over fewer connections (see Fleet.comparable).
    """

    before: TreeReading
    after: TreeReading
    rss_connected_bytes: int | None
    connections: int
    shared: bool = False
    comparable: bool = True

    def document(self) -> dict[str, Any]:
        """resources.json."""
        return {
            "schema": SCHEMA,
            "processes": self.after.processes,
            "threads": self.after.threads,
            "cpu_ns": self._own(self.after.cpu_ns - self.before.cpu_ns),
            "run_delay_ns": self._own(self.after.run_delay_ns - self.before.run_delay_ns),
            "wall_ns": self.after.at_ns - self.before.at_ns,
            "rss_idle_bytes": self.before.rss_bytes,
            "rss_connected_bytes": self._own(self.rss_connected_bytes),
            "rss_peak_bytes": self.after.rss_peak_bytes,
            "connections": self.connections,
            "memory_per_connection_bytes": self._own(self._per_connection_bytes()),
            "voluntary_switches": self._own(self.after.voluntary_switches - self.before.voluntary_switches),
            "involuntary_switches": self._own(
                self.after.involuntary_switches - self.before.involuntary_switches
            ),
        }

    def _own(self, amount: int | None) -> int | None:
        return None if self.shared else amount

    def _per_connection_bytes(self) -> int | None:
        if self.rss_connected_bytes is None or self.connections < 2 or not self.comparable:
            return None
        # A collector may have given memory back since the idle reading; less than nothing says only that.
        return max(0, self.rss_connected_bytes - self.before.rss_bytes) // self.connections


def _read_process(pid: int) -> TreeReading | None:
    folder = PROC / str(pid)
    try:
        status = _fields((folder / "status").read_text(encoding="utf-8", errors="replace"))
        if status.get("State", "").startswith("Z"):
            return None
        # The process's CPU clock counts threads that have ended, too; the sum over /proc/PID/task would lose
        # them.
        cpu_ns = time.clock_gettime_ns((~pid << 3) | CPUCLOCK_SCHED)
        delay_ns = voluntary = involuntary = threads = 0
        for task in (folder / "task").iterdir():
            try:
                delay_ns += int((task / "schedstat").read_bytes().split()[1])
                switches = _fields((task / "status").read_text(encoding="utf-8", errors="replace"))
            except (OSError, IndexError):  # the thread ended meanwhile, or this kernel keeps no schedstat
                continue
            threads += 1
            voluntary += int(switches["voluntary_ctxt_switches"])
            involuntary += int(switches["nonvoluntary_ctxt_switches"])
    except OSError:
        return None
    return TreeReading(
        at_ns=0,
        processes=1,
        threads=threads,
        cpu_ns=cpu_ns,
        run_delay_ns=delay_ns,
        rss_bytes=_kilobytes(status.get("VmRSS")),
        rss_peak_bytes=_kilobytes(status.get("VmHWM")),
        voluntary_switches=voluntary,
        involuntary_switches=involuntary,
    )


def _fields(text: str) -> dict[str, str]:
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def _kilobytes(field: str | None) -> int:
    return int(field.split()[0]) * 1024 if field else 0
