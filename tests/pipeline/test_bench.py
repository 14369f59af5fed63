"""The benchmark's own parts: what it generates, and that its versions are held to the same result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from feedbench.errors import FeedbenchError
from feedbench.pipeline.bench import generate, partitions
from feedbench.pipeline.bench.contest import VERSIONS, contest
from feedbench.pipeline.bench.generate import CLIENTS
from feedbench.pipeline.ingest import ingested

EVENTS = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("generated")
    generate.generate(path, EVENTS, lambda _: None)
    return path


@pytest.mark.end_to_end
def test_all_versions_come_to_the_same(folder: Path) -> None:
    turns = contest(folder, rounds=1).turns
    assert [turn.version for turn in turns] == list(VERSIONS)
    assert set(turns[0].quantiles) == set(CLIENTS)
    common = turns[0].quantiles["go"][0]
    # Each client misses one in 10,000 of its own.
    assert EVENTS * 0.998 < common < EVENTS
    assert all(turn.peak_bytes > 0 and turn.seconds > 0 for turn in turns)


@pytest.mark.end_to_end
def test_versions_that_differ_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from feedbench.pipeline.bench import contest as module

    real = module._turn

    def altered(version: str, place: Path) -> module.Turn:
        turn = real(version, place)
        if version == "straightforward":
            turn.quantiles["go"][2] += 0.001
        return turn

    monkeypatch.setattr(module, "_turn", altered)
    with pytest.raises(FeedbenchError, match="the two versions differ"):
        contest(folder, rounds=1)


def test_generating_again_is_the_same_and_goes_on_where_it_stopped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "PART_EVENTS", 3000)
    generate.generate(tmp_path, 7000, lambda _: None)
    parts = ingested(tmp_path)[0].parts
    assert [part.name for part in parts] == ["00000.parquet", "00001.parquet", "00002.parquet"]
    before = [part.read_bytes() for part in parts]
    parts[1].unlink()
    untouched = parts[0].stat().st_mtime_ns
    done: list[int] = []
    generate.generate(tmp_path, 7000, done.append)
    assert [part.read_bytes() for part in parts] == before
    assert parts[0].stat().st_mtime_ns == untouched
    assert sum(done) == 7000 * len(CLIENTS)


@pytest.mark.end_to_end
def test_processes_and_workers_find_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    partitions.main(events=3000, memory_limit="1GB", folder=tmp_path / "bench")
    said = capsys.readouterr().out
    for name in ("one process", "2 workers", "4 workers", "2 workers of 1GB"):
        assert f"\n{name}: " in said
    assert "all find the same study, to the last digit" in said
    assert not (tmp_path / "bench").exists()


def test_workers_that_differ_or_take_too_much_are_found() -> None:
    versions = (partitions.Version("one process", 0), partitions.Version("1 worker of 1GB", 1, 10**9))
    one = partitions.Turn(1.0, 10**9, 100, 5, "a" * 64)
    partitions._tell(10, versions, [one, one])
    with pytest.raises(FeedbenchError, match="do not find the same"):
        partitions._tell(10, versions, [one, replace(one, sha256="b" * 64)])
    with pytest.raises(FeedbenchError, match=r"1 worker of 1GB: 1\.20 GB in a process"):
        partitions._tell(10, versions, [one, replace(one, peak_bytes=1_200_000_000)])
