"""The errors that feedbench raises for the person at the keyboard.

FeedbenchError
├── ScenarioError       a scenario file says something that feedbench does not understand
├── ManifestError       a target.toml does
├── RunDirectoryError   a run directory lacks a file, or holds one of another schema
├── EngineError         the engine could not be started, or ended without its result
├── ClusterError        several machines: one is refused, or can't do what is asked of it
│   ├── HostLostError       one that takes part can't be reached any more
│   ├── TooFewHostsError    nobody offers what the plan needs
│   └── BusyHostError       one measures for another run
└── TargetError         a target did not build, start, answer or end as its contract says

Each carries what happened, where, and what to try; the command line prints exactly that, on one line,
and ends with status 1 (2 for a mistake in the arguments).
"""

from __future__ import annotations

from pathlib import Path


class FeedbenchError(Exception):
    """What happened, optionally where (a file, a line, a target) and a hint at what to try."""

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        located = f"{self.where}: {self.what}" if self.where else self.what
        return f"{located} ({self.hint})" if self.hint else located


class ScenarioError(FeedbenchError):
    """A scenario file says something that feedbench does not understand."""


class ManifestError(FeedbenchError):
    """A target.toml says something that feedbench does not understand."""


class RunDirectoryError(FeedbenchError):
    """A run directory lacks a file that this stage needs, or holds one of another schema."""


class EngineError(FeedbenchError):
    """The engine could not be started, or ended without its result."""

    @classmethod
    def not_started(cls, engine: Path, cause: OSError) -> EngineError:
        """For whoever tries to start the binary `engine`."""
        return cls(f"cannot start: {cause.strerror}", where=str(engine), hint="try: make setup")


class ClusterError(FeedbenchError):
    """Several machines: one of them is refused, or can't do what is asked of it."""


class HostLostError(ClusterError):
    """A host that takes part, or the scheduler, can't be reached; what it was doing must be done again."""


class TooFewHostsError(ClusterError):
    """Nobody offers what the plan needs; another host may come."""


class BusyHostError(ClusterError):
    """The host measures for another run, which may end."""


class TargetError(FeedbenchError):
    """A target did not build, start, answer or end as its contract says."""
