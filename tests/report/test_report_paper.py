"""A study's printed values beside ours: digit by digit as printed, and never in one figure with ours."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from report_sample import findings

from feedbench.findings import Findings
from feedbench.papers import Defect, Paper, PublishedTable
from feedbench.report.paper import PaperSection, paper_section

ROWS = tuple(
    {
        "clients": Decimal(clients),
        "average_ms": Decimal(average),
        "throughput_per_s": Decimal(throughput),
    }
    for clients, average, throughput in (("1", "0.31", "3255.30"), ("2", "0.33", "5966.50"))
)
PAPER = Paper(
    name="quick",
    title="A study",
    source="its page",
    in_flight=1,
    duration_s=Decimal(10),
    tables=(PublishedTable("tornado", "Table 1", ROWS, target="python/tornado"),),
    defects=(Defect("It measures its client.", None),),
)


def _section() -> PaperSection:
    return paper_section(PAPER, Findings.from_json(findings()).cells)


def test_printed_values_keep_every_digit() -> None:
    (table,) = _section().printed.tables
    assert table.columns == ("Number of clients", "Average latency (ms)", "Throughput (messages/s)")
    assert table.rows == (("1", "0.31", "3255.30"), ("2", "0.33", "5966.50"))
    assert table.caption == "Printed: tornado (Table 1)"


def test_ours_stand_in_the_papers_columns_one_table_a_target() -> None:
    (group,) = _section().measured
    assert len(group.tables) == 8
    tornado = next(table for table in group.tables if "python/tornado" in table.caption)
    assert tornado.columns == _section().printed.tables[0].columns
    assert [row[0] for row in tornado.rows] == ["1", "32"]
    assert tornado.rows[0][1] == "0.053"


def test_no_figure_mixes_printed_and_measured_values() -> None:
    section = _section()
    printed = {figure.name for figure in section.printed.figures}
    measured = {figure.name for group in section.measured for figure in group.figures}
    assert printed == {f"printed-{kind}" for kind in ("latency", "throughput", "throughput-per-client")}
    assert measured == {f"clients-{kind}" for kind in ("latency", "throughput", "throughput-per-client")}
    for figure in section.printed.figures:
        series = {
            row["series"] for data in figure.specification(width=300)["datasets"].values() for row in data
        }
        assert series == {"python/tornado"}


def test_a_printed_table_keeps_the_names_of_its_rows() -> None:
    rows = ({"C++": Decimal(121), "Go": Decimal(123)}, {"C++": Decimal(120), "Go": Decimal(121)})
    summary = PublishedTable("table8", "Table 8", rows, label="metric", labels=("Median", "Q1"))
    section = paper_section(replace(PAPER, tables=(summary,)), Findings.from_json(findings()).cells)
    (table,) = section.printed.tables
    assert table.columns == ("metric", "C++", "Go")
    assert table.rows == (("Median", "121", "123"), ("Q1", "120", "121"))


def test_what_is_wrong_with_the_study_is_told() -> None:
    assert _section().defects == ["It measures its client."]
