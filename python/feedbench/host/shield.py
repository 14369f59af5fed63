"""Keeps the machine's other work from taking the CPU while something is measured.

Nice values do not reach across sessions where the kernel groups tasks by session (autogroup), so the group is
what must be raised: an own autogroup at −20 brought the p99 of a contended ping-pong from 4 ms to 58 µs,
while `nice -20` did nothing. Where this process already sits in a cpu cgroup, autogroups do not count and an
own cgroup is the same lever. SCHED_FIFO is not used: the kernel throttles real-time tasks that spin (950 of
1000 ms), which makes 50 ms holes.

All that is measured must be in one group: the idle-priority spinner gives way at once only to tasks of its
own group. So the process that enters the shield is the one that starts everything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from feedbench.host.facts import cgroup_mode, cpu_cgroup
from feedbench.host.kernel_files import KernelFiles

AUTOGROUP_NICE = -20
SHARES_V1 = 262_144  # the kernel's maximum of cpu.shares; 1024 is one ordinary group
WEIGHT_V2 = 10_000  # the kernel's maximum of cpu.weight; 100 is one ordinary group


@dataclass(frozen=True)
class Shield:
    """What was got, in words for the record, and the cgroup to leave behind clean, if one was made."""

    description: str
    in_force: bool
    cgroup: Path | None = None

    def leave(self) -> None:
        """Moves this process back to the parent cgroup and removes the own one; nothing to do for an
        autogroup.
        """
        if self.cgroup is None:
            return
        try:
            (self.cgroup.parent / "cgroup.procs").write_text(str(os.getpid()))
            self.cgroup.rmdir()
        except OSError:
            # A straggler may still be inside. An empty cgroup costs nothing and the next boot forgets it.
            return


NOT_ASKED = Shield(description="none: the scenario says shield = false", in_force=False)


def enter_shield(files: KernelFiles | None = None) -> Shield:
    """Puts this process, and all that it starts from now on, into the best group that this machine grants.

    Call it in a process that leads its own session: an autogroup is a session's.
    """
    kernel = files or KernelFiles()
    refusals: list[str] = []
    if kernel.text("proc/sys/kernel/sched_autogroup_enabled") == "1" and cpu_cgroup(kernel) in ("/", None):
        try:
            (kernel.root / "proc/self/autogroup").write_text(str(AUTOGROUP_NICE))
            return Shield(description="autogroup −20", in_force=True)
        except OSError as error:
            refusals.append(f"autogroup: {error.strerror}")
    else:
        refusals.append("autogroup: not in use for this process")
    try:
        return _own_cgroup(kernel)
    except OSError as error:
        refusals.append(f"cgroup: {error.strerror}")
    return Shield(description=f"none ({'; '.join(refusals)})", in_force=False)


def _own_cgroup(kernel: KernelFiles) -> Shield:
    mode = cgroup_mode(kernel)
    own = (cpu_cgroup(kernel) or "/").lstrip("/")
    if mode in ("v1", "hybrid"):
        group = kernel.root / "sys/fs/cgroup/cpu" / own / f"feedbench-{os.getpid()}"
        group.mkdir()
        (group / "cpu.shares").write_text(str(SHARES_V1))
        description = f"own cpu cgroup, shares {SHARES_V1}"
    else:
        # v2 allows no processes beside child groups, so the new group is a sibling of the own one.
        parent = kernel.root / "sys/fs/cgroup" / Path(own).parent
        group = parent / f"feedbench-{os.getpid()}"
        group.mkdir()
        try:
            (group / "cpu.weight").write_text(str(WEIGHT_V2))
        except OSError:
            group.rmdir()
            raise
        description = f"own cgroup, cpu.weight {WEIGHT_V2}"
    (group / "cgroup.procs").write_text(str(os.getpid()))
    return Shield(description=description, in_force=True, cgroup=group)


def probe_shield() -> Shield:
    """What a run would get here, found out by a child that leads a session of its own and then ends."""
    script = "from feedbench.host.shield import enter_shield as e; s = e(); print(s.description); s.leave()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, start_new_session=True, check=False
    )
    description = done.stdout.strip() or "none (the probe failed)"
    return Shield(description=description, in_force=not description.startswith("none"))
