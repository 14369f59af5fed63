"""A campaign's summary as one HTML file that is whole in itself: the table, and the figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from feedbench.ramp.averages import Target, request_s
from feedbench.ramp.campaign import Campaign
from feedbench.ramp.record import Round
from feedbench.report.figures.figure import Figure
from feedbench.report.html import render
from feedbench.report.numbers import DASH, count, duration, rate, share, size
from feedbench.report.tables import Table

COLUMNS = (
    "Target",
    "Connections",
    "Broke in round",
    "Lost",
    "p50",
    "p95",
    "Answers",
    "Server's memory",
    "Engine's, idle",
    "Engine's, burst",
    "Leaks",
)


def ramp_page(
    campaign: Campaign,
    run_name: str,
    targets: Sequence[Target],
    *,
    figures: Sequence[Figure],
    drawings: Mapping[str, str],
    remarks: Sequence[str],
) -> str:
    """The HTML; `drawings` holds each figure's SVG by its name."""
    return render(
        "ramp.html.j2",
        campaign=campaign,
        run=run_name,
        table=summary_table(targets),
        figures=[(figure, drawings[figure.name]) for figure in figures],
        remarks=remarks,
        paragraphs=campaign.analysis.strip().split("\n\n"),
    )


def summary_table(targets: Sequence[Target]) -> Table:
    """Those first that lost nothing and were done soonest, which is how many answers they gave a second."""
    ordered = sorted(targets, key=lambda target: (not target.finished, -_answers_per_s(target)))
    rows = tuple(_row(target) for target in ordered)
    return Table(
        "Most connections at one time; p50 and p95 of the last round before it broke; answers per second of "
        "requesting; memory for each connection; descriptors that the engine leaked",
        COLUMNS,
        rows,
        frozenset(range(1, len(COLUMNS))),
    )


def _row(target: Target) -> tuple[str, ...]:
    repeats = target.repeats
    rounds = [round for repeat in repeats for round in repeat.rounds]
    requests, answered = sum(round.requests for round in rounds), sum(round.answered for round in rounds)
    whole = [repeat.last_whole for repeat in repeats if repeat.last_whole is not None]
    memory = [repeat.end["connection_memory"] for repeat in repeats if repeat.end]
    leaked = [repeat.leaked_descriptors for repeat in repeats if repeat.leaked_descriptors is not None]
    broken = [str(repeat.broken_round or DASH) for repeat in repeats]
    return (
        target.name,
        count(target.most_connections),
        " / ".join(broken) if any(repeat.broken_round for repeat in repeats) else DASH,
        share(1 - answered / requests),
        duration(_mean_latency(whole, "p50")),
        duration(_mean_latency(whole, "p95")),
        rate(_answers_per_s(target)),
        size(_target_bytes_per_connection(target)),
        size(max((entry["idle_bytes"] for entry in memory), default=None)),
        size(max((entry["burst_bytes"] for entry in memory), default=None)),
        count(sum(leaked)) if leaked else DASH,
    )


def _answers_per_s(target: Target) -> float:
    seconds = target.total(request_s).value
    answered = fmean(sum(round.answered for round in repeat.rounds) for repeat in target.repeats)
    return answered / seconds if seconds else 0.0


def _mean_latency(rounds: Sequence[Round], quantile: str) -> float | None:
    values = [value for round in rounds if (value := round.latency_ns.get(quantile)) is not None]
    return fmean(values) if values else None


def _target_bytes_per_connection(target: Target) -> float | None:
    """From the first round to the last whole one: what the server grew by, for each connection more."""
    grown = []
    for repeat in target.repeats:
        first, last = repeat.rounds[0], repeat.last_whole
        if last is None or last.connected <= first.connected:
            continue
        if first.target_rss_bytes and last.target_rss_bytes:
            bytes_more = last.target_rss_bytes - first.target_rss_bytes
            grown.append(bytes_more / (last.connected - first.connected))
    return fmean(grown) if grown else None
