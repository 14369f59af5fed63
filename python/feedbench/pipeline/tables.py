"""Tables 1–12 of the paper, of our own numbers, and what it should have printed too. Pure.

Numbers 8, 9 and 10 are the paper's Binance, Bithumb and Gemini; another exchange's table has no number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from feedbench.analyze.table import Column, Table, as_is, number, two_decimals
from feedbench.papers.scores import METRICS
from feedbench.papers.study import BEST, WORST
from feedbench.papers.table_checks import METRIC_ROWS
from feedbench.pipeline.setting import ClientFacts, Setting
from feedbench.pipeline.study import (
    QUANTILES,
    ExchangeStudy,
    Reading,
    Scoring,
    SeriesStudy,
    Study,
    Summary,
    five_numbers,
)

# The table that the paper gives to each exchange.
PRINTED_TABLE: Mapping[str, int] = {"binance": 8, "bithumb": 9, "bithumb-global": 9, "gemini": 10}
READINGS: Mapping[Reading, str] = {
    "whiskers": "minimum and maximum are the ends of a box plot's whiskers, as in the paper",
    "extremes": "minimum and maximum are those of all events",
}
HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Marked:
    """A number and the arrow that stands beside it where people read it."""

    value: float
    mark: str

    def __str__(self) -> str:
        return f"{self.value:g}"

    def shown(self) -> str:
        return f"{number(self.value)} {self.mark}".rstrip()


def all_tables(study: Study, setting: Setting) -> list[Table]:
    """In the paper's order, then what it lacks."""
    readings: tuple[Reading, ...] = ("whiskers", "extremes")
    tables = [
        clients_table(study, setting),
        host_table(setting),
        exchanges_table(study, setting),
        streams_table(study, setting),
        scenario_table(study, setting),
        totals_table(study, setting),
        per_client_table(study, setting),
    ]
    for reading in readings:
        tables += [five_number_table(one, reading, setting) for one in study.exchanges]
        if scoring := study.scoring(reading):
            tables += [metric_scores_table(scoring, reading), final_score_table(scoring, reading)]
    return [
        *tables,
        quantiles_table(study),
        normality_table(study),
        moments_table(study),
        accounts_table(study),
    ]


def clients_table(study: Study, setting: Setting) -> Table:
    columns = _columns(
        client="Client", language="Language", toolchain="Toolchain", library="Library", version="Version"
    )
    unknown = ClientFacts(None, None, None, None)
    rows = []
    for name in study.clients():
        facts = setting.clients.get(name, unknown)
        rows.append((name, facts.language, facts.toolchain, facts.library, facts.version))
    told = "from the build receipts" if setting.clients else "the files do not tell versions"
    return Table("table-01-clients", _caption("Clients", setting, told), columns, tuple(rows))


def host_table(setting: Setting) -> Table:
    told = "from host.json" if setting.host else "the files do not tell the host"
    rows = tuple((key, _plain(value)) for key, value in setting.host.items() if key != "schema")
    return Table(
        "table-02-host", _caption("Host", setting, told), _columns(parameter="Parameter", value="Value"), rows
    )


def exchanges_table(study: Study, setting: Setting) -> Table:
    columns = _columns(exchange="Exchange", clients="Clients", markets="Markets seen")
    rows = tuple(
        (one.exchange, len(one.series), one.stream.markets if one.stream else None) for one in study.exchanges
    )
    told = "markets in the first messages of one client; the paper's ratings and volumes mean nothing here"
    return Table("table-03-exchanges", _caption("Exchanges", setting, told), columns, rows)


def streams_table(study: Study, setting: Setting) -> Table:
    columns = _columns(exchange="Exchange", types="Types of messages")
    rows = tuple(
        (one.exchange, ", ".join(one.stream.types) if one.stream else None) for one in study.exchanges
    )
    told = "the most frequent in the first messages of one client"
    return Table("table-04-streams", _caption("Streams", setting, told), columns, rows)


def scenario_table(study: Study, setting: Setting) -> Table:
    columns = (
        Column("exchange", "Exchange"),
        Column("types", "Stream"),
        Column("markets", "Markets"),
        Column("messages_per_s_and_client", "Messages/s of a client", number),
        Column("duration_h", "Duration (h)", number),
    )
    rows = []
    for one in study.exchanges:
        durations = [each.account.duration_ms for each in one.series if each.account.duration_ms]
        rates = [each.account.per_second for each in one.series if each.account.per_second]
        stream = one.stream
        rows.append(
            (
                one.exchange,
                stream.types[0] if stream and stream.types else None,
                stream.markets if stream else None,
                sum(rates) / len(rates) if rates else None,
                max(durations) / HOUR_MS if durations else None,
            )
        )
    return Table("table-05-scenario", _caption("Scenario", setting, "as received"), columns, tuple(rows))


def totals_table(study: Study, setting: Setting) -> Table:
    caption = _caption("Messages to all clients", setting, "as received")
    return Table("table-06-messages", caption, _RATES, tuple(_rates(one, 1) for one in study.exchanges))


def per_client_table(study: Study, setting: Setting) -> Table:
    caption = _caption("Messages to one client, on average", setting, "as received")
    rows = tuple(_rates(one, len(one.series)) for one in study.exchanges)
    return Table("table-07-messages-per-client", caption, _RATES, rows)


def five_number_table(exchange: ExchangeStudy, reading: Reading, setting: Setting) -> Table:
    """Table 8, 9 or 10: best and worst of each row are marked, equal ones alike."""
    numbers = five_numbers(exchange, reading)
    rows = []
    for metric in METRICS:
        values = {name: float(getattr(each, metric)) for name, each in numbers.items()}
        rows.append(
            (METRIC_ROWS[metric], *(Marked(value, _mark(value, values)) for value in values.values()))
        )
    common = exchange.series[0].account.common
    told = (
        f"event age in ms over the {common:,} events that all clients received; {READINGS[reading]} "
        f"({BEST} best, {WORST} worst)"
    )
    if exchange.withheld:
        told += f". Not scored: {exchange.withheld}"
    columns = (Column("metric", "Metric"), *(Column(f"{name}_ms", name, Marked.shown) for name in numbers))
    return Table(
        _table_name(exchange.exchange, reading),
        _caption(f"Five-number summary, {exchange.exchange}", setting, told),
        columns,
        tuple(rows) if numbers else (),
    )


def metric_scores_table(scoring: Scoring, reading: Reading) -> Table:
    metrics = scoring.scores.metrics
    names = list(scoring.scores.final)
    rows = tuple((METRIC_ROWS[metric], *(metrics[metric][name] for name in names)) for metric in METRICS)
    return Table(
        _suffixed("table-11-metric-scores", reading),
        _score_caption("Metric scores", scoring, reading),
        _score_columns(names),
        rows,
    )


def final_score_table(scoring: Scoring, reading: Reading) -> Table:
    scores = scoring.scores
    names = list(scores.final)
    rows = (
        ("Final Score", *(scores.final[name] for name in names)),
        ("Place", *(scores.places[name] for name in names)),
    )
    return Table(
        _suffixed("table-12-final-score", reading),
        _score_caption("Final score", scoring, reading),
        _score_columns(names),
        rows,
    )


def quantiles_table(study: Study) -> Table:
    columns = (
        *_SERIES,
        Column("events", "Events"),
        *(Column(f"{name}_ms", name, number) for name in QUANTILES),
    )
    rows = [
        (*_names(each), each.account.common, *(summary.quantiles_ms[name] for name in QUANTILES))
        for each, summary in _summarized(study)
    ]
    return Table(
        "quantiles",
        "Event ages in ms over the events that all clients of an exchange received.",
        columns,
        tuple(rows),
    )


def normality_table(study: Study) -> Table:
    columns = (
        *_SERIES,
        Column("test", "Test"),
        Column("statistic", "Statistic", number),
        Column("p", "p", lambda p: f"{p:.3g}" if p else "< 1e-300"),
        Column("normal", "Normal at 5 %", lambda normal: "not rejected" if normal else "rejected"),
        Column("of", "Values"),
    )
    rows = [
        (*_names(each), test.name, test.statistic, test.p, test.normal, test.of)
        for each, summary in _summarized(study)
        for test in summary.normality.tests
    ]
    caption = "The paper's tests of normality, and Jarque-Bera's. Of many values each rejects any departure."
    return Table("normality", caption, columns, tuple(rows))


def moments_table(study: Study) -> Table:
    columns = (
        *_SERIES,
        Column("mean_ms", "Mean", number),
        Column("deviation_ms", "Standard deviation", number),
        Column("skewness", "Skewness", number),
        Column("excess_kurtosis", "Excess kurtosis", number),
        Column("outliers", "Beyond the whiskers"),
    )
    rows = []
    for each, summary in _summarized(study):
        shape = summary.normality.moments
        rows.append(
            (
                *_names(each),
                shape.mean_ms,
                shape.deviation_ms,
                shape.skewness,
                shape.excess_kurtosis,
                summary.box_ms.outliers,
            )
        )
    return Table(
        "moments",
        "Shape of the ages: a normal distribution has skewness 0 and excess kurtosis 0.",
        columns,
        tuple(rows),
    )


def accounts_table(study: Study) -> Table:
    """Where each message went."""
    columns = (
        *_SERIES,
        Column("connections", "Connections"),
        Column("messages", "Messages"),
        Column("without_event_time", "Without event time"),
        Column("events", "Events"),
        Column("repeated", "Told before"),
        Column("not_common", "Not at all clients"),
        Column("common", "Compared"),
        Column("payload_bytes", "Payload (bytes)"),
        Column("smallest_bytes", "Smallest"),
        Column("largest_bytes", "Largest"),
    )
    rows = []
    for exchange in study.exchanges:
        for each in exchange.series:
            told = each.account
            rows.append(
                (
                    *_names(each),
                    told.connections,
                    told.messages,
                    told.messages - told.events,
                    told.events,
                    told.repeated,
                    told.events - told.common,
                    told.common,
                    told.payload_bytes,
                    told.smallest_bytes,
                    told.largest_bytes,
                )
            )
    return Table("accounts", "What became of each message.", columns, tuple(rows))


_SERIES = (Column("exchange", "Exchange"), Column("client", "Client"))
_RATES = (
    Column("exchange", "Exchange"),
    Column("messages", "Messages", number),
    Column("per_min", "Per minute", number),
    Column("per_s", "Per second", number),
)


def _rates(exchange: ExchangeStudy, share: int) -> tuple[Any, ...]:
    messages = sum(each.account.messages for each in exchange.series)
    per_s = sum(each.account.per_second or 0 for each in exchange.series)
    return (exchange.exchange, messages / share, per_s * 60 / share, per_s / share)


def _names(each: SeriesStudy) -> tuple[str, str]:
    return each.series.exchange, each.series.client


def _summarized(study: Study) -> Iterator[tuple[SeriesStudy, Summary]]:
    for exchange in study.exchanges:
        for each in exchange.series:
            if each.summary is not None:
                yield each, each.summary


def _mark(value: float, values: Mapping[str, float]) -> str:
    if min(values.values()) == max(values.values()):
        return ""
    return BEST if value == min(values.values()) else WORST if value == max(values.values()) else ""


def _table_name(exchange: str, reading: Reading) -> str:
    place = PRINTED_TABLE.get(exchange)
    return _suffixed(f"table-{place:02}-{exchange}" if place else f"summary-{exchange}", reading)


def _suffixed(name: str, reading: Reading) -> str:
    """The paper's reading has the plain name."""
    return name if reading == "whiskers" else f"{name}-{reading}"


def _score_columns(names: list[str]) -> tuple[Column, ...]:
    return (Column("metric", "Metric"), *(Column(name, name, _score) for name in names))


def _score(value: Any) -> str:
    return as_is(value) if isinstance(value, int) else two_decimals(value)


def _score_caption(what: str, scoring: Scoring, reading: Reading) -> str:
    best = len(scoring.scores.final)
    text = f"{what} over {', '.join(scoring.exchanges)}: {best} is best, 1 worst; {READINGS[reading]}."
    if scoring.left_out:
        text += f" Not at all of these exchanges, and left out: {', '.join(scoring.left_out)}."
    return text


def _columns(**titles: str) -> tuple[Column, ...]:
    return tuple(Column(name, title) for name, title in titles.items())


def _caption(what: str, setting: Setting, told: str) -> str:
    return f"{what}, of {setting.origin}: {told}."


def _plain(value: Any) -> str | None:
    if value is None:
        return None
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
