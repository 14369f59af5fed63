"""Verdicts for people: one line a trial, and a table with a row for each channel."""

from __future__ import annotations

from collections.abc import Sequence

from exchange_conformance.judge import TrialVerdict

HEADINGS = ("client", "version", "exchange", "channel", "messages", "fields compared", "verdict")


def table(verdicts: Sequence[TrialVerdict]) -> str:
    """A row for each channel; why something failed stands below."""
    rows = [HEADINGS, *(row for verdict in verdicts for row in _rows(verdict))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [
        "  ".join(
            text.rjust(width) if heading in ("messages", "fields compared") else text.ljust(width)
            for text, width, heading in zip(row, widths, HEADINGS, strict=True)
        ).rstrip()
        for row in rows
    ]
    complaints = [f"{name(verdict)}: {verdict.complaint}" for verdict in verdicts if verdict.complaint]
    return "\n".join([*lines, *([""] if complaints else []), *complaints])


def name(verdict: TrialVerdict) -> str:
    """As in the filters of the command line."""
    return f"{verdict.client}@{verdict.exchange}"


def summary(verdicts: Sequence[TrialVerdict]) -> str:
    """One line."""
    passed = [verdict for verdict in verdicts if verdict.complaint is None]
    clients = {verdict.client for verdict in passed} - {
        verdict.client for verdict in verdicts if verdict.complaint
    }
    return (
        f"{len(passed)} of {len(verdicts)} trials passed, {len(clients)} clients in all of theirs; "
        f"{sum(verdict.messages for verdict in passed):,} messages, "
        f"{sum(verdict.fields for verdict in passed):,} fields"
    )


def _rows(verdict: TrialVerdict) -> list[tuple[str, ...]]:
    head = (verdict.client, verdict.version, verdict.exchange)
    rows = [
        (
            *head,
            f"{channel.channel} {channel.symbol}",
            f"{channel.messages:,}",
            f"{channel.fields:,}",
            "pass" if channel.complaint is None else "fail",
        )
        for channel in verdict.channels
    ]
    whole = (f"{verdict.messages:,}", f"{verdict.fields:,}", "pass" if verdict.complaint is None else "FAIL")
    return [*rows, (*head, "all", *whole)]
