"""What is played: campaigns of some durations, each with fresh processes, through all doors at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from feedbench.document import TomlDocument
from feedbench.errors import ScenarioError
from feedbench.paths import SCHEMA
from feedbench.units import parse_duration


@dataclass(frozen=True)
class Doors:
    """`durations` are the campaigns' names, as the file writes them, with their lengths.

    `exchange` is passed on to the simulated exchange that each campaign starts anew.
    """

    name: str
    title: str
    question: str
    analysis: str
    durations: tuple[tuple[str, int], ...]
    venue: str
    rest_throttle_ns: int
    fix_throttle_ns: int
    fix_port: int
    keep_alive: bool
    http2: bool
    exchange: tuple[str, ...]
    scale: float = 1.0

    def seconds(self, duration_ns: int) -> float:
        """How long a campaign of that name is really played."""
        return duration_ns * self.scale / 1e9

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}


def is_doors(path: Path) -> bool:
    """Whether it is such a file: `feedbench run` hands these over."""
    return path.is_file() and "doors" in TomlDocument.read(path, error=ScenarioError).content


def read_doors(path: Path, *, scale: float = 1.0) -> Doors:
    """From TOML; ScenarioError names the line of a mistake."""
    document = TomlDocument.read(path, error=ScenarioError)
    document.check("doors")
    content = document.content
    doors = content["doors"]
    return Doors(
        name=content["name"],
        title=content["title"],
        question=content["question"],
        analysis=content["analysis"],
        durations=tuple((text, parse_duration(text)) for text in doors["campaigns"]),
        venue=doors["venue"],
        rest_throttle_ns=parse_duration(doors["rest_throttle"]),
        fix_throttle_ns=parse_duration(doors["fix_throttle"]),
        fix_port=doors["fix_port"],
        keep_alive=doors["keep_alive"],
        http2=doors["http2"],
        exchange=tuple(doors["exchange"]),
        scale=scale,
    )
