"""What keeps this machine's clock: chrony, a PTP clock, the kernel's own account. Read, never set."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from feedbench.host.kernel_files import KernelFiles

DEADLINE_S = 5.0


@dataclass(frozen=True)
class ChronyState:
    """Of `chronyc tracking`. `error_ns` is how far the system's clock stands from chrony's time, without
    sign.

    Its distance from the true time is at most `error_ns + root_dispersion_ns + root_delay_ns / 2`, as
    chronyc's manual has it.
    """

    reference: str
    stratum: int
    error_ns: float
    root_delay_ns: float
    root_dispersion_ns: float
    frequency_ppm: float
    synchronised: bool

    @property
    def bound_ns(self) -> float:
        return self.error_ns + self.root_dispersion_ns + self.root_delay_ns / 2


@dataclass(frozen=True)
class ClockDiscipline:
    """`ptp_clocks` are the kernel's PTP devices by name; `chrony` is None where it does not run."""

    ptp_clocks: tuple[str, ...]
    chrony: ChronyState | None

    @property
    def in_words(self) -> str:
        ptp = f"PTP clocks: {', '.join(self.ptp_clocks)}." if self.ptp_clocks else "No PTP clock."
        if self.chrony is None:
            return f"{ptp} chrony does not answer."
        if not self.chrony.synchronised:
            return f"{ptp} chrony runs, and is not synchronised."
        return (
            f"{ptp} chrony follows {self.chrony.reference} (stratum {self.chrony.stratum}), "
            f"within {self.chrony.bound_ns / 1e6:.3f} ms of the true time by its own account."
        )


def chronyc_tracking() -> str | None:
    """What `chronyc -c tracking` prints; None where there is no chrony, or it does not answer."""
    try:
        done = subprocess.run(
            ["chronyc", "-c", "tracking"], capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def read_discipline(
    files: KernelFiles | None = None, tracking: Callable[[], str | None] = chronyc_tracking
) -> ClockDiscipline:
    """Of this machine, or of a planted one."""
    kernel = files or KernelFiles()
    clocks = sorted((kernel.root / "sys/class/ptp").glob("ptp*"))
    names = (
        kernel.text(str(clock.relative_to(kernel.root) / "clock_name")) or clock.name for clock in clocks
    )
    text = tracking()
    return ClockDiscipline(tuple(names), None if text is None else parse_tracking(text))


def parse_tracking(text: str) -> ChronyState | None:
    """One line of fourteen fields, in the order of chronyc's manual; None when it is something else."""
    fields = text.strip().split(",")
    if len(fields) != 14:
        return None
    try:
        return ChronyState(
            reference=fields[1] or fields[0],
            stratum=int(fields[2]),
            error_ns=abs(float(fields[4])) * 1e9,
            root_delay_ns=float(fields[10]) * 1e9,
            root_dispersion_ns=float(fields[11]) * 1e9,
            frequency_ppm=float(fields[7]),
            synchronised=fields[13] != "Not synchronised",
        )
    except ValueError:
        return None
