"""Clients' files: what is in them is read, and what is wrong with them is named."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from client_files import (
    Message,
    by_client,
    clients,
    kinds,
    only,
    stamps_content,
    study_of,
    trade,
    write_sqlite,
    write_stamps,
)

from feedbench.errors import FeedbenchError
from feedbench.pipeline.series import Series
from feedbench.pipeline.source import find_sources

MESSAGES: list[Message] = [
    (1_600_000_000_000 + at + 30, trade(1_600_000_000_000 + at, at)) for at in range(100)
]


def test_all_forms_of_files_give_the_same_ages(tmp_path: Path) -> None:
    write_stamps(tmp_path, "stamps@binance", MESSAGES)
    write_sqlite(tmp_path / "study.sqlite", MESSAGES)
    lines = [f"{unix_ms}000000 {text}\n" for unix_ms, text in MESSAGES]
    (tmp_path / "recording@binance.gz").write_bytes(gzip.compress("".join(lines).encode()))
    (tmp_path / "seconds@binance.txt").write_text(
        "wss://stream.example <-> 1600000000.0\nwss://stream.example <- 1600000000.1: {}\n"
        + "".join(f"{unix_ms / 1000}: {text}\n" for unix_ms, text in MESSAGES)
    )
    files = [tmp_path / "recording@binance.gz", tmp_path / "seconds@binance.txt"]
    study = study_of(tmp_path, tmp_path / "stamps@binance.stamps", tmp_path / "study.sqlite", *files)
    assert kinds(study) == ["coarse"]  # since they are the same
    each = by_client(only(study))
    assert sorted(each) == ["php-php-wss", "recording", "seconds", "stamps"]
    for one in each.values():
        assert (one.account.messages, one.account.common) == (100, 100)
        assert one.summary is not None
        assert one.summary.box_ms.extremes.minimum == one.summary.box_ms.extremes.maximum == 30


def test_more_than_one_batch_keeps_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("stamps", "sqlite", "recording"):
        monkeypatch.setattr(f"feedbench.pipeline.{module}.MESSAGES", 7)
    repeated = [*MESSAGES, *((unix_ms + 1000, text) for unix_ms, text in MESSAGES)]
    write_stamps(tmp_path, "a@binance", repeated)
    write_sqlite(tmp_path / "b@binance.sqlite", MESSAGES)
    each = by_client(only(study_of(tmp_path)))
    # The first receipts are those that b has: the second would be 1,000 ms older.
    assert (each["a"].account.repeated, each["a"].account.common) == (100, 100)
    assert each["a"].summary is not None
    assert each["a"].summary.box_ms.extremes.maximum == 30


@pytest.mark.parametrize(("cut", "messages"), [(1, 99), (109, 99), (111, 98)])
def test_stamps_cut_short_are_read_as_far_as_they_go(tmp_path: Path, cut: int, messages: int) -> None:
    path = tmp_path / "a@binance.stamps"
    path.write_bytes(stamps_content(MESSAGES, end=False)[:-cut])
    study = study_of(tmp_path)
    assert kinds(study) == ["cut_short", "alone"]
    assert only(study).series[0].account.messages == messages


@pytest.mark.parametrize("length", [1, 8, 15])
def test_stamps_cut_within_the_header_are_empty_and_cut(tmp_path: Path, length: int) -> None:
    (tmp_path / "a@binance.stamps").write_bytes(stamps_content([])[:length])
    study = study_of(tmp_path, tmp_path / "a@binance.stamps")
    assert kinds(study) == ["cut_short", "empty", "alone"]


def test_a_killed_client_is_named(tmp_path: Path) -> None:
    (tmp_path / "a@binance.stamps").write_bytes(stamps_content(MESSAGES, end=False))
    assert kinds(study_of(tmp_path)) == ["killed", "alone"]


@pytest.mark.parametrize("content", [b"", stamps_content([])])
def test_an_empty_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a@binance.stamps").write_bytes(content)
    write_stamps(tmp_path, "b@binance", MESSAGES)
    study = study_of(tmp_path)
    assert kinds(study) == ["empty", "nothing_common"]
    assert all(each.summary is None for each in only(study).series)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_sqlite_cut_short_is_named_and_what_can_be_read_is_counted(tmp_path: Path, share: float) -> None:
    many = [(unix_ms, text + " " * 200) for unix_ms, text in MESSAGES * 20]
    path = write_sqlite(tmp_path / "a@binance.sqlite", many)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    study = study_of(tmp_path)
    assert kinds(study)[0] == "cut_short"
    assert 0 < only(study).series[0].account.messages < len(many)


def test_sqlite_that_lost_only_what_no_row_needs_is_named_too(tmp_path: Path) -> None:
    path = write_sqlite(tmp_path / "a@binance.sqlite", MESSAGES)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE more (text)")
        database.execute("INSERT INTO more VALUES (?)", ["x" * 50_000])
        database.commit()
    path.write_bytes(path.read_bytes()[:-4096])
    study = study_of(tmp_path)
    assert kinds(study) == ["cut_short", "alone"]
    assert only(study).series[0].account.messages == 100


def test_a_write_ahead_log_is_part_of_the_file(tmp_path: Path) -> None:
    """A client that was killed leaves one."""
    path = write_sqlite(tmp_path / "a@binance.sqlite", MESSAGES[:50])
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.executemany(
        "INSERT INTO events (datetime_received, event) VALUES (?, ?)",
        [(str(unix_ms), text) for unix_ms, text in MESSAGES[50:]],
    )
    database.commit()
    try:
        study = study_of(tmp_path)
    finally:
        database.close()
    assert kinds(study) == ["alone"]
    assert only(study).series[0].account.messages == 100


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a@binance.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE test_details (test_id)")
    with pytest.raises(FeedbenchError, match="no table events"):
        study_of(tmp_path)


def test_a_recording_cut_short_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = "".join(f"{unix_ms}000000 {text}\n" for unix_ms, text in MESSAGES)
    path = tmp_path / "a@binance.gz"
    path.write_bytes(gzip.compress(lines.encode())[:-200])
    study = study_of(tmp_path, path)
    assert kinds(study)[0] == "cut_short"
    assert 0 < only(study).series[0].account.messages < 100


def test_messages_that_are_no_json_or_no_text_are_counted(tmp_path: Path) -> None:
    odd = [(MESSAGES[0][0], "PONG"), (MESSAGES[0][0], '{"stream":"btcusdt@trade","data":{"e":"tra')]
    clients(tmp_path, {"a": [*odd, *MESSAGES], "b": MESSAGES})
    study = study_of(tmp_path)
    assert kinds(study) == ["not_json", "coarse"]
    assert "2 of 102 messages are no JSON" in study.problems[0].what
    assert by_client(only(study))["a"].account.common == 100


def test_bytes_that_are_no_utf8_are_no_json(tmp_path: Path) -> None:
    path = write_stamps(tmp_path, "a@binance", [(1, "xy"), *MESSAGES])
    path.write_bytes(path.read_bytes().replace(b"xy", b"\xff\xfe"))
    assert kinds(study_of(tmp_path)) == ["not_json", "alone"]


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("go-gorilla@gemini.stamps", Series("gemini", "go-gorilla")),
        ("bithumb-global/node-ws.stamps", Series("bithumb-global", "node-ws")),
        ("kraken-book.stamps", Series("kraken", "kraken-book")),
    ],
)
def test_a_files_name_tells_its_series(tmp_path: Path, name: str, series: Series) -> None:
    write_stamps(tmp_path, name.removesuffix(".stamps"), MESSAGES)
    assert [source.series for source in find_sources([str(tmp_path)])] == [series]


def test_a_series_may_be_told_on_the_command_line(tmp_path: Path) -> None:
    path = write_stamps(tmp_path, "x", MESSAGES)
    (source,) = find_sources([f"go-gorilla@binance={path}"])
    assert source.series == Series("binance", "go-gorilla")


def test_what_is_not_ours_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    write_stamps(tmp_path, "a@binance", MESSAGES)
    (tmp_path / "client.log").write_text("connected\n")
    (tmp_path / "load.json").write_text("{}")
    assert len(find_sources([str(tmp_path)])) == 1


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("notes.txt", b"hello\n", "neither a stamps file"),
        ("x.stamps", stamps_content(MESSAGES), "which client and which exchange"),
        ("a@binanec.stamps", stamps_content(MESSAGES), "not known"),
        ("a@binance.stamps", b"FBSTAMPS" + bytes(8), "no stamps file of version 1"),
        ("a@binance.stamps", stamps_content([]) + b"\0" * 20 + b"\x09" + b"\0" * 3, "unknown kind 9"),
        ("a@binance.txt", b"1600000000000000000 {}\nnonsense\n", "no line of a recording"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FeedbenchError, match=complaint):
        study_of(tmp_path, path)


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FeedbenchError, match="no file of a feed client"):
        find_sources([str(tmp_path)])
    with pytest.raises(FeedbenchError, match="no such file"):
        find_sources([str(tmp_path / "a@binance.stamps")])
