"""The whole pipeline on inputs that are worked out by hand, and the paper's own numbers through it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_files import Message, by_client, clients, kinds, only, study_of, trade, write_stamps

from feedbench.papers import Paper, read_paper
from feedbench.papers.scores import METRICS, FiveNumbers
from feedbench.papers.table_checks import METRIC_ROWS
from feedbench.pipeline.account import Account
from feedbench.pipeline.ages import Box, Moments
from feedbench.pipeline.beside import beside_tables
from feedbench.pipeline.normality import Normality
from feedbench.pipeline.series import Series
from feedbench.pipeline.setting import Setting
from feedbench.pipeline.study import QUANTILES, ExchangeStudy, SeriesStudy, Study, Summary
from feedbench.pipeline.tables import all_tables
from feedbench.pipeline.write import write_study

AT_MS = 1_600_000_000_000
PAPER = Path(__file__).parents[2] / "papers" / "papik.toml"


@pytest.fixture(scope="module")
def paper() -> Paper:
    return read_paper(PAPER)


def received(ages: Sequence[int], *, first: int = 0) -> list[Message]:
    """Events 10 ms apart, each received so long after it happened."""
    return [(AT_MS + 10 * at + age, trade(AT_MS + 10 * at, at)) for at, age in enumerate(ages, first)]


def table(study: Study, name: str) -> list[tuple[Any, ...]]:
    found = next(one for one in all_tables(study, Setting("a test")) if one.name == name)
    return [tuple(str(value) for value in row) for row in found.rows]


def test_a_study_by_hand(tmp_path: Path) -> None:
    """Five events at a, of which b missed the last and c the first: 2, 3 and 4 are common."""
    clients(
        tmp_path,
        {
            "a": [(AT_MS, '{"result":null,"id":1}'), *received([5, 6, 7, 8, 9])],
            "b": received([4, 4, 4, 6]),
            "c": received([10, 9, 20, 50], first=1),
        },
    )
    study = study_of(tmp_path)
    each = by_client(only(study))
    assert {name: one.account.common for name, one in each.items()} == {"a": 3, "b": 3, "c": 3}
    # Without event time is one of a's six messages: more than one in a hundred, so it is told.
    assert kinds(study) == ["no_event_time"]
    assert table(study, "table-08-binance") == [
        ("Maximum", "8", "6", "20"),
        ("Q3", "7.5", "5", "15"),
        ("Median", "7", "4", "10"),
        ("Q1", "6.5", "4", "9.5"),
        ("Minimum", "6", "4", "9"),
    ]
    # The best of three has 3, the worst 1, in each metric.
    assert table(study, "table-12-final-score") == [
        ("Final Score", "2.00", "3.00", "1.00"),
        ("Place", "2", "1", "3"),
    ]
    assert table(study, "accounts")[0] == (
        *("binance", "a", "1", "6", "1", "5", "0", "2", "3"),
        str(len('{"result":null,"id":1}') + sum(len(text) for _, text in received([0] * 5))),
        *("22", str(len(trade(AT_MS)))),
    )


def test_clients_nearer_than_the_unit_of_their_ages_are_told(tmp_path: Path) -> None:
    clients(tmp_path, {"a": received([5, 6, 7]), "b": received([6, 7, 8])})
    assert kinds(study_of(tmp_path)) == ["coarse"]
    clients(tmp_path, {"b": received([7, 8, 9])})
    assert kinds(study_of(tmp_path)) == []


def test_whiskers_and_extremes_are_two_tables(tmp_path: Path) -> None:
    ages = [*range(1, 10), 30]
    clients(tmp_path, {"a": received(ages), "b": received([age + 1 for age in ages])})
    study = study_of(tmp_path)
    assert table(study, "table-08-binance")[0] == ("Maximum", "9", "10")
    assert table(study, "table-08-binance-extremes")[0] == ("Maximum", "30", "31")


def test_a_stream_without_event_times_is_named_and_not_averaged(tmp_path: Path) -> None:
    ticker = '{"stream":"btcusdt@bookTicker","data":{"u":1,"s":"BTCUSDT","b":"1","B":"1","a":"1","A":"1"}}'
    clients(tmp_path, {name: [(AT_MS + at, ticker) for at in range(20)] for name in "ab"})
    study = study_of(tmp_path)
    assert kinds(study) == ["no_event_time", "no_event_time", "nothing_common"]
    assert "20 of 20 messages do not say when their event happened" in study.problems[0].what
    assert "btcusdt@bookTicker (20)" in study.problems[0].what
    assert all(each.summary is None for each in only(study).series)
    assert study.scoring("whiskers") is None


def test_a_clock_behind_is_named_and_withholds_the_score_unless_it_is_everybodys(tmp_path: Path) -> None:
    clients(tmp_path, {"a": received([-1272, -1270, -1268]), "b": received([5, 6, 7])})
    study = study_of(tmp_path)
    assert kinds(study) == ["clock_behind", "clock_behind"]
    assert "3 of 3 events (100.0%)" in study.problems[0].what
    assert "by 1,272 ms at least (median age -1,270 ms)" in study.problems[0].what
    assert study.scoring("whiskers") is None
    assert "differ from host to host" in str(only(study).withheld)
    one_clock = study_of(tmp_path, one_clock=True)
    assert kinds(one_clock) == ["clock_behind"]
    scoring = one_clock.scoring("whiskers")
    assert scoring is not None
    assert scoring.scores.places == {"a": 1, "b": 2}


def test_a_client_that_is_not_everywhere_is_not_scored(tmp_path: Path) -> None:
    clients(tmp_path, {name: received([1, 2, 3]) for name in "abc"})
    gemini = [
        (AT_MS + 5, f'{{"type":"update","timestampms":{AT_MS},"socket_sequence":{at}}}') for at in range(3)
    ]
    for name in "ab":
        write_stamps(tmp_path, f"{name}@gemini", gemini)
    scoring = study_of(tmp_path).scoring("whiskers")
    assert scoring is not None
    assert scoring.exchanges == ("binance", "gemini")
    assert scoring.left_out == ("c",)
    assert list(scoring.scores.final) == ["a", "b"]


def test_events_are_common_though_each_connection_numbers_them_anew(tmp_path: Path) -> None:
    for name, offset in (("a", 0), ("b", 40)):
        write_stamps(
            tmp_path,
            f"{name}@gemini",
            [
                (
                    AT_MS + at + 5,
                    f'{{"type":"update","timestampms":{AT_MS + at},"socket_sequence":{at + offset}}}',
                )
                for at in range(10)
            ],
        )
    assert {each.account.common for each in only(study_of(tmp_path)).series} == {10}


def printed_study(paper: Paper) -> Study:
    """As if the paper's tables 8–10 had been measured."""
    account = Account(1, 1, 0, 1, (), 1, 0, 1000, 1000, 1, 1, 1)
    shape = Normality(Moments(0, 0, None, None), (), ())
    exchanges = []
    for exchange, place in (("binance", 8), ("bithumb-global", 9), ("gemini", 10)):
        rows = paper.table(f"table{place}").by_label()
        series = []
        for column in paper.table("table8").columns:
            numbers = FiveNumbers(**{metric: float(rows[METRIC_ROWS[metric]][column]) for metric in METRICS})
            summary = Summary(Box(numbers, numbers, 0), dict.fromkeys(QUANTILES, 0.0), shape)
            series.append(SeriesStudy(Series(exchange, CLIENT_OF[column]), account, summary))
        exchanges.append(ExchangeStudy(exchange, None, tuple(series), None))
    return Study(tuple(exchanges), (), one_clock=False)


CLIENT_OF = {
    "C++": "cpp-uwebsockets",
    "Go": "go-gorilla",
    "Java": "java-java-websocket",
    "JavaScript": "node-ws",
    "PHP": "php-php-wss",
    "Python": "python-websockets",
}


def test_the_papers_own_summaries_give_its_tables_11_and_12_in_every_cell(paper: Paper) -> None:
    study = printed_study(paper)
    tables = {one.name: one for one in beside_tables(study, paper)}
    for name, cells in (
        ("beside-11-metric-scores", 30),
        ("beside-12-final-score", 6),
        ("beside-08-binance", 30),
    ):
        rows = tables[name].rows
        assert len(rows) == cells
        assert [Decimal(str(row[3])) for row in rows] == [row[4] for row in rows]
    final = dict(zip(CLIENT_OF.values(), (5.67, 3.80, 2.47, 4.60, 3.27, 3.53), strict=True))
    scoring = study.scoring("whiskers")
    assert scoring is not None
    assert {name: float(value) for name, value in scoring.scores.final.items()} == final
    assert scoring.scores.places["cpp-uwebsockets"] == 1
    assert scoring.scores.places["java-java-websocket"] == 6


def test_arrows_stand_where_the_paper_has_them(paper: Paper) -> None:
    study = printed_study(paper)
    tables = {one.name: one for one in all_tables(study, Setting("the paper"))}
    for name, place in (("table-08-binance", 8), ("table-09-bithumb-global", 9), ("table-10-gemini", 10)):
        printed = paper.table(f"table{place}")
        marks = {
            (row[0], column): cell.mark
            for row in tables[name].rows
            for column, cell in zip(printed.columns, row[1:], strict=True)
            if cell.mark
        }
        assert marks == dict(printed.marks)


def test_everything_is_written(tmp_path: Path, paper: Paper) -> None:
    for exchange in ("binance", "coinbase"):
        texts = {
            "binance": lambda at: trade(AT_MS + at, at),
            "coinbase": lambda at: (
                f'{{"type":"ticker","time":"2020-09-13T12:26:40.{at:03}Z","sequence":{at}}}'
            ),
        }[exchange]
        for client in ("go-gorilla", "node-ws"):
            ages = 5 if client == "go-gorilla" else 7
            messages = [(AT_MS + at + ages + at % 3, texts(at)) for at in range(60)]
            write_stamps(tmp_path, f"{client}@{exchange}", messages)
    study = study_of(tmp_path)
    out = tmp_path / "results"
    write_study(study, Setting("a test"), paper, out)
    names = {path.stem for path in (out / "tables").glob("*.csv")}
    assert {*(f"table-0{place}" for place in range(1, 10)), "table-11", "table-12"} - {
        name[:8] for name in names
    } == {"table-09"}  # no Bithumb in this one
    assert {
        "summary-coinbase",
        "quantiles",
        "normality",
        "moments",
        "accounts",
        "beside-12-final-score",
    } <= names
    for suffix in ("md", "tex"):
        assert {path.stem for path in (out / "tables").glob(f"*.{suffix}")} == names
    figures = {path.name for path in (out / "figures").glob("*")}
    assert {"figure-09a-binance.svg", "figure-09b-coinbase.png", "figure-10-metric-scores.svg",
            "figure-11-final-score.png"} <= figures  # fmt: skip
    with (out / "tables" / "table-12-final-score.csv").open() as file:
        assert list(csv.reader(file))[1:] == [["Final Score", "2.00", "1.00"], ["Place", "1", "2"]]
    document = json.loads((out / "pipeline.json").read_text())
    assert document["schema"] == 1
    assert document["scores"]["whiskers"]["places"] == {"go-gorilla": 1, "node-ws": 2}
    assert "| Maximum | 7 ↑ | 9 ↓ |" in (out / "study.md").read_text()
    page = (out / "study.html").read_text()
    assert page.count("<table>") == len(names)
    assert page.count('class="chart"') == len(figures) / 2
    assert "http-equiv" in page
    assert "<script" not in page
