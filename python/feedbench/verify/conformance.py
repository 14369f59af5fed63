"""What is known of the targets' conformance, as it stands in a run directory beside the ranking.

A run asks only what its load consists of. The rest is the targets' expected.json: what `feedbench verify`
found, and CI finds again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from feedbench.errors import RunDirectoryError
from feedbench.paths import SCHEMA, read_json, write_json
from feedbench.target import Target
from feedbench.verify.verdicts import EXPECTED, read_expected


@dataclass(frozen=True)
class Conformance:
    """Of one target; `failing` names the cases."""

    passed: int
    failed: int
    unsupported: int
    failing: tuple[str, ...]

    @classmethod
    def of(cls, expected: Mapping[str, str]) -> Conformance:
        failing = tuple(name for name, verdict in expected.items() if verdict == "fail")
        verdicts = list(expected.values())
        return cls(verdicts.count("pass"), len(failing), verdicts.count("unsupported"), failing)

    def __str__(self) -> str:
        """Of what it supports."""
        return f"{self.passed} of {self.passed + self.failed}"


def write_conformance(path: Path, targets: Iterable[Target]) -> None:
    """Of those that were ever verified."""
    known = {
        target.name: Conformance.of(expected) for target in targets if (expected := read_expected(target))
    }
    document = {name: asdict(conformance) for name, conformance in known.items()}
    write_json(path, {"schema": SCHEMA, "targets": document})


def read_conformance(path: Path) -> dict[str, Conformance]:
    """By target; empty where the file is not there, since older runs have none."""
    if not path.exists():
        return {}
    document = read_json(path, needed_for=f"say what {EXPECTED} said")
    try:
        return {
            name: Conformance(**{**entry, "failing": tuple(entry["failing"])})
            for name, entry in document["targets"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise RunDirectoryError(f"this is no conformance of targets ({error})", where=str(path)) from error
