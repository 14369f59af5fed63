"""What is wrong with the ages of a study, in sentences: nothing is averaged in silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from feedbench.pipeline.account import Account
from feedbench.pipeline.ages import Ages
from feedbench.pipeline.dialect import NOT_JSON, dialect
from feedbench.pipeline.problem import Problem
from feedbench.pipeline.series import Series

UNIT_MS = 1


def series_problems(series: Series, account: Account, ages: Ages | None) -> Iterator[Problem]:
    """`ages` are those of all its events, None where it has none."""
    not_json = sum(each.messages for each in account.left_out if each.type == NOT_JSON)
    if not_json:
        yield Problem("not_json", f"{_of(not_json, account)} are no JSON, and left out of the ages", series)
    timeless = account.messages - account.events - not_json
    if timeless and (account.events == 0 or timeless > account.messages // 100):
        types = ", ".join(
            f"{each.type} ({each.messages:,})" for each in account.left_out if each.type != NOT_JSON
        )
        yield Problem(
            "no_event_time",
            f"{_of(timeless, account)} do not say when their event happened, and are left out of the ages: "
            f"{types}",
            series,
        )
    if ages is not None and (behind := ages.negative()):
        yield Problem("clock_behind", _behind(behind, ages), series)


def why_withheld(
    exchange: str, ages: Sequence[Ages | None], common: int, *, one_clock: bool
) -> Problem | None:
    """Why an exchange's ages count for no score; `ages` of each client's events, None where it has none."""
    if len(ages) < 2:
        return Problem("alone", f"{exchange}: one client alone has nobody to be compared with")
    if not common:
        return Problem(
            "nothing_common",
            f"{exchange}: there is no event that all {len(ages)} clients received{_hint(exchange)}",
        )
    behind = sum(1 for each in ages if each is not None and each.negative())
    if behind and not one_clock:
        return Problem(
            "clock_behind",
            f"{exchange}: {behind} of {len(ages)} clients received events before they happened; clocks that "
            "differ from host to host can't be compared (--one-clock if all ran on one host)",
        )
    return None


def coarse(exchange: str, medians_ms: Sequence[float]) -> Problem | None:
    """Whether the clients' medians are as near to each other as whole milliseconds can tell."""
    if len(medians_ms) < 2 or max(medians_ms) - min(medians_ms) > UNIT_MS:
        return None
    return Problem(
        "coarse",
        f"{exchange}: the clients' median ages lie within {UNIT_MS} ms of each other, which is the unit of "
        "both times: what order the scores give them is an order of roundings",
    )


def _of(count: int, account: Account) -> str:
    return f"{count:,} of {account.messages:,} messages"


def _behind(count: int, ages: Ages) -> str:
    """The whole milliseconds of both times may hide one more."""
    least = -int(ages.values_ms[0])
    share = count / ages.count
    middle = ages.quantile(0.5)
    return (
        f"{count:,} of {ages.count:,} events ({share:.1%}) were received before they happened: the clock of "
        f"the recorder is behind the exchange's by {least:,} ms at least (median age {middle:,.0f} ms). Such "
        "ages are offsets of two clocks: only differences between clients of one clock mean something"
    )


def _hint(exchange: str) -> str:
    member = dialect(exchange).per_connection
    return f" (told apart without {member})" if member else ""
