"""The paper's layout: columns, rows, files; LaTeX that an engine sets; figures in three formats."""

from __future__ import annotations

import csv
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from feedbench.analyze.tables import WRITERS, to_latex
from feedbench.doors.figures import paper_figures, write_paper_figures
from feedbench.doors.record import LatencyRecord, Protocol
from feedbench.doors.tables import compared, paper_tables, write_tables
from feedbench.papers import read_paper
from feedbench.paths import Project

EVENTS: dict[Protocol, str] = {"FIX": "rtt", "REST": "ticker", "WebSocket": "ticker"}
MIDDLE_MS: dict[Protocol, float] = {"FIX": 0.2, "REST": 23.0, "WebSocket": 80.0}

# Without booktabs.sty, which not every installation has, its three rules are plain ones.
DOCUMENT = r"""
\documentclass{article}
\usepackage[T1]{fontenc}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{%
  \newcommand{\toprule}{\hline}\newcommand{\midrule}{\hline}\newcommand{\bottomrule}{\hline}}
\begin{document}
"""


def records(count: int, seed: int) -> list[LatencyRecord]:
    chance = random.Random(seed)
    return [
        LatencyRecord(position * 10**8, protocol, "coinbase", "BTC-USD", event, None, value, None)
        for protocol, event in EVENTS.items()
        for position in range(count)
        for value in [MIDDLE_MS[protocol] * chance.lognormvariate(0, 0.3)]
    ]


CAMPAIGNS = {"30s": records(60, 1), "2m": records(90, 2), "5m": records(150, 3)}


def test_columns_and_rows_are_those_of_the_printed_tables() -> None:
    printed = read_paper(Project.find().root / "papers" / "grandhi.toml")
    tables = paper_tables(CAMPAIGNS)
    assert len(tables) == 5
    for number in (1, 2, 3):
        there = next(table for table in printed.tables if table.id == f"table{number}")
        here = tables[number - 1]
        assert [column.title for column in here.columns[1:]] == list(there.columns)
        assert [row[0] for row in here.rows] == list(there.labels)
    across = next(table for table in printed.tables if table.id == "table4")
    assert [column.title for column in tables[3].columns[2:]] == list(across.columns)
    assert len(tables[3].rows) == len(across.rows)


def test_table_four_repeats_tables_one_to_three() -> None:
    *campaigns, across, _ = paper_tables(CAMPAIGNS)
    for position, table in enumerate(campaigns, start=2):
        percentiles = [row[4:7] for row in table.rows]
        assert [value for row in percentiles for value in row] == [row[position] for row in across.rows]


def test_only_the_papers_event_types_count() -> None:
    extra = LatencyRecord(1, "WebSocket", "coinbase", "BTC-USD", "snapshot", None, 1e9, None)
    time = LatencyRecord(1, "REST", "coinbase", "BTC-USD", "time", None, 1e9, None)
    chosen = compared([*CAMPAIGNS["30s"], extra, time])
    assert {protocol: len(members) for protocol, members in chosen.items()} == dict.fromkeys(EVENTS, 60)


def test_a_campaign_without_a_protocol_leaves_its_cells_empty() -> None:
    rest = [record for record in CAMPAIGNS["2m"] if record.protocol == "REST"]
    tables = paper_tables(CAMPAIGNS | {"2m": rest})
    assert [row[0] for row in tables[1].rows] == ["REST"]
    fix = next(row for row in tables[3].rows if row[0] == "FIX")
    assert fix[2] is not None
    assert fix[3] is None


def test_files_hold_the_exact_values(tmp_path: Path) -> None:
    tables = paper_tables(CAMPAIGNS)
    write_tables(tmp_path, tables)
    assert {path.suffix for path in tmp_path.iterdir()} == {f".{suffix}" for suffix in WRITERS}
    with (tmp_path / "table-1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["p50_ms"]) == tables[0].rows[0][4]


def test_an_engine_sets_the_latex(tmp_path: Path) -> None:
    engine = shutil.which("pdflatex")
    if engine is None:
        pytest.skip("no TeX engine here; the next test looks at the structure alone")
    body = "".join(to_latex(table) for table in paper_tables(CAMPAIGNS))
    assert _sets(engine, tmp_path, body)
    # The engine is asked in earnest: a column too many is an error.
    assert not _sets(engine, tmp_path, body.replace("FIX &", "FIX & & & & & & & & & & &", 1))


def test_the_latex_has_as_many_cells_as_columns() -> None:
    for table in paper_tables(CAMPAIGNS):
        text = to_latex(table)
        columns = re.search(r"begin\{tabular\}\{(l+)\}", text)
        assert columns is not None
        rows = [line for line in text.splitlines() if line.endswith("\\\\")]
        assert {line.count(" & ") for line in rows} == {len(columns[1]) - 1}
        for environment in ("table", "tabular"):
            assert text.count(f"\\begin{{{environment}}}") == text.count(f"\\end{{{environment}}}") == 1


def _sets(engine: str, folder: Path, body: str) -> bool:
    (folder / "tables.tex").write_text(DOCUMENT + body + "\\end{document}\n", encoding="utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    return done.returncode == 0


def test_each_figure_in_three_formats_with_an_axis_for_each_quantity(tmp_path: Path) -> None:
    figures = paper_figures(CAMPAIGNS)
    assert [figure.name for figure in figures] == [f"figure-{number}" for number in (2, 3, 4, 5, 6)]
    write_paper_figures(tmp_path, figures)
    for figure in figures:
        svg = (tmp_path / f"{figure.name}.svg").read_text(encoding="utf-8")
        assert (tmp_path / f"{figure.name}.pdf").read_bytes().startswith(b"%PDF-")
        assert (tmp_path / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
        if figure.name != "figure-5":
            assert svg.count(">Half a round trip (ms)<") == 2
            assert svg.count(">Event age at receipt (ms)<") == 1
    # Three bars for each campaign, each of some height.
    drawn = (tmp_path / "figure-5.svg").read_text(encoding="utf-8")
    bars = re.findall(r'd="M[\d.,]+h[\d.]+v(-?[\d.]+)h-[^"]+" fill="#(?:009e73|0072b2|d55e00)"', drawn)
    assert len(bars) == 9
    assert all(abs(float(height)) > 0.5 for height in bars)


def test_equal_values_are_drawn_too(tmp_path: Path) -> None:
    equal = [
        LatencyRecord(position, protocol, "coinbase", "BTC-USD", event, None, 1.0, None)
        for protocol, event in EVENTS.items()
        for position in (0, 0, 0)
    ]
    figures = paper_figures({"30s": equal})
    write_paper_figures(tmp_path, figures)
    # Without a span there is no rate to draw.
    assert [figure.name for figure in figures] == ["figure-2", "figure-3", "figure-4", "figure-6"]
