"""What came out, on one page: the paper's tables and figures, and beside them the quantities kept apart."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from feedbench.analyze.tables import to_markdown
from feedbench.doors.campaign import Doors
from feedbench.doors.clock_page import clock_lines
from feedbench.doors.figures import paper_figures, write_paper_figures
from feedbench.doors.quantity import QUANTITIES
from feedbench.doors.record import read_records
from feedbench.doors.tables import paper_tables, write_tables
from feedbench.paths import read_json
from feedbench.report.numbers import DASH, duration

DIFFERENCES = """\
The paper prints three quantities under one word. REST's is half a round trip: no message took this long,
and no event is in it. FIX's is half a round trip to an echo on the same machine: no exchange is in it.
WebSocket's is the age of an event, with the exchange's own delay and the error of two clocks in it. So
the tables above can't say which protocol is faster, whatever their figures; they show what the study's
method gives on this exchange.

The tables below keep each quantity by itself. REST and WebSocket can be compared by the age of the event
at receipt, which for REST is the polling delay plus a round trip. An age carries what the clocks leave
open; where that is wider than a difference, the order is undecided."""


def write_results(doors: Doors, run: Path) -> Path:
    """tables/, figures/ and summary.md, from the campaigns that stand; gives back the page."""
    played = {
        name: run / "data" / "runs" / name
        for name, _ in doors.durations
        if (run / "data" / "runs" / name / "collectors.json").exists()
    }
    records = {name: read_records(folder / "results.parquet") for name, folder in played.items()}
    tables = paper_tables(records)
    write_tables(run / "tables", tables)
    figures = paper_figures(records) if records else []
    write_paper_figures(run / "figures", figures)
    lines = [f"# {doors.title}\n\n{doors.question}\n", f"{doors.analysis.strip()}\n"]
    if doors.scale != 1:
        lines.append(
            f"**Played at {doors.scale:g} of its durations, which give the campaigns their names.**\n"
        )
    lines.append("## The paper's view\n")
    lines += [f"{table.caption}\n\n{to_markdown(table)}" for table in tables]
    lines += [f"![{figure.title}](figures/{figure.name}.svg)\n" for figure in figures]
    lines += ["## What differs from a fair comparison\n", f"{DIFFERENCES}\n"]
    lines += ["## The quantities kept apart\n"]
    lines += [f"- **{quantity.title}**: {quantity.definition}." for quantity in QUANTITIES]
    for name, folder in played.items():
        lines += ["", f"### Campaign of {name}\n", *_campaign(folder)]
    page = run / "summary.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def _campaign(folder: Path) -> Iterator[str]:
    document = read_json(folder / "collectors.json", needed_for="write the summary")
    yield "| door | quantity | count | p50 | clocks leave open | p90 | p99 |"
    yield "|---|---|---|---|---|---|---|"
    with (folder / "quantities.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield _quantity_row(row)
    yield ""
    yield from clock_lines(document["clock"])
    order = document["half_round_trip_of_rest_or_age_of_websocket"]
    if order is not None:
        word = "undecided: the clocks leave it open" if order == "undecided" else f"less is {order}'s"
        yield f"Half of REST's round trip against WebSocket's age, as the paper ranks them: {word}."
    yield ""
    yield from _met(document["collectors"])


def _quantity_row(row: Mapping[str, str]) -> str:
    middle, low, high, p90, p99 = (
        float(row[name]) if row[name] else None
        for name in ("p50_ns", "p50_low_ns", "p50_high_ns", "p90_ns", "p99_ns")
    )
    if low is None or high is None:
        spread = "unknown"
    else:
        spread = f"±{duration((high - low) / 2)}" if high > low else "nothing"
    quantity = row["quantity"].replace("_", " ")
    numbers = [duration(middle), spread, duration(p90), DASH if p99 is None else duration(p99)]
    return f"| {row['door']} | {quantity} | {row['count']} | {' | '.join(numbers)} |"


def _met(collectors: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What went wrong while they watched."""
    told: Sequence[str] = ("refused", "failed", "unreadable", "reconnects", "gaps", "missed")
    for door, tally in collectors.items():
        troubles = [f"{name} {tally[name]}" for name in told if tally[name]]
        waited = f", waited {tally['waited_s']:.1f} s" if tally["waited_s"] else ""
        yield f"- {door}: {tally['messages']} messages; {', '.join(troubles) or 'no trouble'}{waited}."
