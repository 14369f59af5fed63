"""Laws that every row of a load test's table has to keep, as far as its columns allow."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from feedbench.analyze.impossible import check_published
from feedbench.errors import FeedbenchError
from feedbench.papers.finding import Finding, Outcome
from feedbench.papers.interval import half_unit
from feedbench.papers.study import Paper, Row

# Clocks stop a little after the stated duration, and whole messages are counted.
COUNT_TOLERANCE = Decimal("0.01")

CLAIMS = {
    "littles_law": "throughput × average latency is the messages under way (Little's law)",
    "clients": "there is at least one client",
    "order": "the average lies between minimum and maximum",
    "counts": "the messages counted are the rate times the duration",
    "per_client": "the rate per client times the clients is the whole rate",
    "ramp_total": "the rounds come to the stated total of requests",
    "last_round": "the last round reached is one of those that there are",
    "share": "a share lies between 0 and 100 %",
}


def check_rows(paper: Paper) -> list[Finding]:
    """Every law that its columns allow, on every row; labelled tables have no columns of known meaning."""
    known = {(failure.table, failure.row, failure.check): failure for failure in paper.known_failures}
    findings = []
    for table in paper.tables:
        for number, row in enumerate(() if table.label else table.rows, start=1):
            for check, broken in _check_row(row, paper):
                failure = known.pop((table.id, number, check), None)
                findings.append(
                    Finding(
                        check=check,
                        claim=CLAIMS[check],
                        outcome=Outcome.FAILS if broken else Outcome.HOLDS,
                        numbers=broken,
                        where=(table.where,),
                        meaning=failure.meaning if failure else "",
                        expected=Outcome.FAILS if failure else Outcome.HOLDS,
                        shows=failure.shows if failure else "",
                        table=table.id,
                        row=number,
                    )
                )
    for failure in known.values():
        raise FeedbenchError(
            f'no {failure.check} is checked in row {failure.row} of table "{failure.table}"',
            where=paper.path,
            hint="see known_failures",
        )
    return findings


def _check_row(row: Row, paper: Paper) -> Iterator[tuple[str, str]]:
    """(check, what is broken or nothing)."""
    if row.get("clients", 1) < 1:
        yield "clients", f"{row['clients']} clients can't have sent anything"
        return
    if paper.in_flight and {"clients", "average_ms", "throughput_per_s"} <= row.keys():
        broken = check_published(
            round_trips_per_s=float(row["throughput_per_s"]),
            mean_latency_ns=float(row["average_ms"]) * 1e6,
            clients=int(row["clients"]) * paper.in_flight,
            rounding_ns=float(half_unit(row["average_ms"])) * 1e6,
        )
        yield "littles_law", "; ".join(law.text for law in broken)
    if {"min_ms", "average_ms", "max_ms"} <= row.keys():
        low, mean, high = row["min_ms"], row["average_ms"], row["max_ms"]
        yield "order", "" if low <= mean <= high else f"the average {mean} ms lies outside {low} to {high} ms"
    if paper.duration_s and {"total_messages", "throughput_per_s"} <= row.keys():
        total, meant = row["total_messages"], row["throughput_per_s"] * paper.duration_s
        near = abs(total - meant) <= COUNT_TOLERANCE * total
        yield (
            "counts",
            "" if near else f"{total:,} messages are not {row['throughput_per_s']}/s × {paper.duration_s} s",
        )
    yield from _check_ramp(row)
    if {"clients", "throughput_per_s", "throughput_per_client_per_s"} <= row.keys():
        each, clients = row["throughput_per_client_per_s"], row["clients"]
        doubt = half_unit(each) * clients + half_unit(row["throughput_per_s"])
        near = abs(each * clients - row["throughput_per_s"]) <= doubt
        yield "per_client", "" if near else f"{clients} × {each}/s is not {row['throughput_per_s']}/s"


def _check_ramp(row: Row) -> Iterator[tuple[str, str]]:
    """Rounds that grow evenly: what they come to together, and whether the last one is among them."""
    if {"rounds", "added_clients", "requests_per_client", "total_requests"} <= row.keys():
        rounds, stated = row["rounds"], row["total_requests"]
        growth = row["added_clients"] * row["requests_per_client"]
        total = growth * rounds * (rounds + 1) / 2
        near = abs(total - stated) <= COUNT_TOLERANCE * total
        yield (
            "ramp_total",
            ""
            if near
            else f"{rounds} rounds that grow by {growth:,} are {total:,.0f} requests, not {stated:,}",
        )
    if {"rounds", "last_round"} <= row.keys():
        last = row["last_round"]
        among = 1 <= last <= row["rounds"]
        yield "last_round", "" if among else f"round {last} is none of {row['rounds']}"
    if "lost_share_percent" in row:
        share = row["lost_share_percent"]
        yield "share", "" if 0 <= share <= 100 else f"{share} % is no share"
