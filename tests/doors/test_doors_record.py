"""Records keep every digit through CSV and Parquet, and the paper's measures are what they say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from feedbench.doors.record import FIELDS, LatencyRecord, read_records, write_csv, write_parquet
from feedbench.doors.statistics import Group, by_group, summarise
from feedbench.errors import RunDirectoryError

RECORDS = [
    LatencyRecord(1_000, "REST", "coinbase", "BTC-USD", "ticker", 1_795_301_046_806_409_000, 0.1 + 0.2, 0.6),
    LatencyRecord(
        2_000, "WebSocket", "coinbase", "BTC-USD", "ticker", 1_795_301_046_906_409_000, -3.25, None
    ),
    LatencyRecord(3_000, "FIX", "local", 'A"B,C', "rtt", None, 0.177, 0.354),
]


def records(values: list[float], every_ns: int = 10**9) -> list[LatencyRecord]:
    return [
        LatencyRecord(position * every_ns, "REST", "coinbase", "BTC-USD", "ticker", None, value, 2 * value)
        for position, value in enumerate(values)
    ]


def test_both_files_give_back_what_was_written(tmp_path: Path) -> None:
    write_csv(tmp_path / "results.csv", RECORDS)
    write_parquet(tmp_path / "results.parquet", tmp_path / "results.csv")
    assert read_records(tmp_path / "results.csv") == RECORDS
    assert read_records(tmp_path / "results.parquet") == RECORDS
    # Somebody else's reader sees the same eight columns with the paper's types.
    foreign = polars.read_parquet(tmp_path / "results.parquet")
    assert tuple(foreign.columns) == FIELDS
    assert foreign.schema["timestamp_ns"] == polars.Int64
    assert foreign["latency_ms"].to_list() == [record.latency_ms for record in RECORDS]


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(RunDirectoryError, match="no latency records"):
        read_records(path)
    with pytest.raises(RunDirectoryError, match="no latency records"):
        read_records(tmp_path / "none.parquet")
    write_csv(path, RECORDS)
    path.write_text(path.read_text(encoding="utf-8").replace("-3.25", "soon"), encoding="utf-8")
    with pytest.raises(RunDirectoryError, match="no latency records"):
        read_records(path)


@given(st.lists(st.floats(-1e3, 1e6), min_size=3, max_size=200))
def test_the_measures_agree_with_scipy(values: list[float]) -> None:
    summary = summarise(records(values))
    data = np.array(values)
    assert summary.count == len(values)
    assert math.isclose(summary.mean_ms, data.mean(), rel_tol=1e-9, abs_tol=1e-9)
    assert summary.std_ms is not None
    assert math.isclose(summary.std_ms, data.std(ddof=1), rel_tol=1e-9, abs_tol=1e-9)
    assert summary.iqr_ms == pytest.approx(stats.iqr(data), abs=1e-9)
    assert summary.mad_ms == pytest.approx(stats.median_abs_deviation(data), abs=1e-9)
    if data.std() > 1e-6 * max(1.0, abs(data.mean())):
        assert summary.skewness == pytest.approx(stats.skew(data), rel=1e-6, abs=1e-6)
        assert summary.excess_kurtosis == pytest.approx(stats.kurtosis(data), rel=1e-6, abs=1e-6)


def test_equal_values_have_no_shape_and_one_has_no_spread() -> None:
    equal = summarise(records([0.1] * 7))
    assert (equal.skewness, equal.excess_kurtosis) == (None, None)
    assert equal.iqr_ms == 0
    one = summarise(records([5.0]))
    assert (one.std_ms, one.throughput_per_s) == (None, None)
    with pytest.raises(ValueError, match="no records"):
        summarise([])


def test_throughput_is_count_over_the_span_of_the_records() -> None:
    assert summarise(records([1.0] * 11, every_ns=100_000_000)).throughput_per_s == pytest.approx(11)


def test_groups_are_protocol_and_event_type() -> None:
    groups = by_group(RECORDS)
    assert list(groups) == [Group("FIX", "rtt"), Group("REST", "ticker"), Group("WebSocket", "ticker")]
    assert sum(len(group) for group in groups.values()) == len(RECORDS)
