"""The study's own files: one CSV for each repeat, in its columns, with times in milliseconds."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from feedbench.paths import target_id
from feedbench.ramp.record import Repeat, Round

COLUMNS = (
    "clients",
    "count",
    "total",
    "percentage",
    "time",
    "longest",
    "shortest",
    "average",
    "connection_time",
)


def csv_file(folder: Path, repeat: Repeat) -> Path:
    """`<folder>/<language>/<n>_1.csv`, as there; its counter had one digit, this one has as many as it
    takes.
    """
    return folder / target_id(repeat.target) / f"{repeat.number}_1.csv"


def write_study_files(folder: Path, repeats: Iterable[Repeat]) -> None:
    """One file for each repeat that has a round."""
    for repeat in repeats:
        if repeat.rounds:
            path = csv_file(folder, repeat)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_csv(path, COLUMNS, [study_row(round) for round in repeat.rounds])


def study_row(round: Round) -> list[str]:
    """`clients` are those that stood, and `total` what they and the failed ones were to be asked."""
    latency = round.latency_ns
    return [
        str(round.connected),
        str(round.answered),
        str(round.requests),
        f"{100 * round.answered / round.requests:.4f}",
        _ms(round.elapsed_ns),
        *(_ms(latency.get(name)) for name in ("max", "min", "mean")),
        _ms(round.connecting_ns),
    ]


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _ms(value_ns: float | None) -> str:
    return "" if value_ns is None else f"{value_ns / 1e6:.6f}"
