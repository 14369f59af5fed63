"""A study in parts is the study in one, to the last digit; damaged files and full disks are told as such."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parts import Inline, ingested_input, one_process

from feedbench.errors import FeedbenchError
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.part import Part
from feedbench.pipeline.partitions import split
from feedbench.pipeline.partitions.crew import Crew
from feedbench.pipeline.partitions.run import _study
from feedbench.pipeline.partitions.split import chunks, prefix_bits, prefix_name
from feedbench.pipeline.partitions.task import Place
from feedbench.pipeline.progress import quiet
from feedbench.pipeline.study import Study
from feedbench.pipeline.tally import Tally, added

MEMORY_BYTES = 2**28


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[SeriesFiles]:
    return ingested_input(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def whole(files: list[SeriesFiles], tmp_path_factory: pytest.TempPathFactory) -> Study:
    return one_process(files, tmp_path_factory.mktemp("whole"))


def in_parts(files: list[SeriesFiles], folder: Path, crew: Inline | None = None) -> Study:
    place = Place(folder, MEMORY_BYTES, 1)
    study, _ = _study(files, place, cast(Crew, crew or Inline()), quiet, one_clock=False)
    return study


def test_the_input_has_all_that_is_awkward(whole: Study) -> None:
    """Else the tests below show little."""
    binance = next(each for each in whole.exchanges if each.exchange == "binance")
    accounts = [each.account for each in binance.series]
    assert all(account.repeated and account.left_out for account in accounts)
    assert all(account.common < account.events < account.messages for account in accounts)
    assert {each.exchange: each.series[0].account.common > 0 for each in whole.exchanges} == {
        "binance": True,
        "bithumb": True,
        "gemini": True,
        "kraken": False,
    }


@pytest.mark.parametrize(("bits", "messages"), [(0, 10**9), (2, 1), (4, 300)])
def test_in_parts_it_is_the_same_to_the_last_digit(
    files: list[SeriesFiles],
    whole: Study,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bits: int,
    messages: int,
) -> None:
    monkeypatch.setattr(split, "LEAST_BITS", bits)
    monkeypatch.setattr(split, "MOST_MESSAGES", messages)
    crew = Inline()
    assert in_parts(files, tmp_path, crew) == whole
    gathered = [name for name in crew.done if name.startswith("gather")]
    # Of bithumb's three events, most partitions have none: nobody is sent for them.
    assert len(gathered) <= 2 * 2**bits + 3
    assert len([name for name in crew.done if name.startswith("scatter")]) >= len(files) - 1


def test_what_stays_is_parquet_by_exchange_and_prefix(files: list[SeriesFiles], tmp_path: Path) -> None:
    in_parts(files, tmp_path)
    query = """
        SELECT exchange, prefix, count(*),
               bool_and(lpad(to_binary(hash_high >> 60), 4, '0') = prefix)
        FROM read_parquet(?, hive_partitioning = true, hive_types = {'prefix': VARCHAR}) GROUP BY ALL
    """
    with duckdb.connect() as database:
        rows = database.execute(query, [str(tmp_path / "events" / "*" / "*" / "*.parquet")]).fetchall()
    assert {row[0] for row in rows} == {"binance", "bithumb", "gemini"}
    assert len([row for row in rows if row[0] == "binance"]) == 16
    assert all(row[3] for row in rows)


def test_the_duplicate_that_falls_into_another_file_is_one_still(
    files: list[SeriesFiles], whole: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above can fail: numbered from the last receipt, others are left out."""
    from feedbench.pipeline.partitions import gather

    broken = gather.EVENTS.replace("number, age_ms", "-number AS number, age_ms")
    monkeypatch.setattr(gather, "EVENTS", broken)
    assert in_parts(files, tmp_path) != whole


def test_a_file_cut_short_is_named(files: list[SeriesFiles], tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    path.write_bytes(files[0].parts[0].read_bytes()[:-100])
    cut = [SeriesFiles(files[0].series, (*files[0].parts, path), None, None), *files[1:]]
    from feedbench.pipeline.partitions.order import CrewOrder
    from feedbench.pipeline.partitions.run import study_in_parts

    with pytest.raises(FeedbenchError, match=r"a file can't be read: .*cut\.parquet"):
        study_in_parts(cut, tmp_path / "out", CrewOrder(1))
    assert not (tmp_path / "out" / "work").exists()
    with pytest.raises(FeedbenchError, match=r"a file can't be read: .*cut\.parquet"):
        one_process(cut, tmp_path)


class Saboteur(Inline):
    """Does something to the events after they were written, and before they are read."""

    def __init__(self, deed: Any) -> None:
        super().__init__()
        self._deed = deed

    def perform(self, tasks: Any, place: Place, progress: Any) -> Any:
        efforts = super().perform(tasks, place, progress)
        if tasks and tasks[0].name.startswith("scatter"):
            self._deed(sorted(place.events.rglob("*.parquet")))
        return efforts


def shorten(paths: list[Path]) -> None:
    paths[3].write_bytes(paths[3].read_bytes()[:-20])


def swap(paths: list[Path]) -> None:
    """With one that has another number of events."""
    sizes = sorted(paths, key=lambda path: path.stat().st_size)
    sizes[-1].write_bytes(sizes[0].read_bytes())


def remove(paths: list[Path]) -> None:
    paths[5].unlink()


@pytest.mark.parametrize(
    ("deed", "complaint"),
    [
        (shorten, "a file can't be read: "),
        (remove, "a file can't be read: "),
        (swap, "events were written to this partition, and "),
    ],
)
def test_a_partition_that_was_tampered_with_is_an_error(
    files: list[SeriesFiles], tmp_path: Path, deed: Any, complaint: str
) -> None:
    with pytest.raises(FeedbenchError, match=complaint):
        in_parts(files, tmp_path, Saboteur(deed))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small tmpfs needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_told_as_one(files: list[SeriesFiles], small_disk: Path) -> None:
    with pytest.raises(FeedbenchError, match=r"no room|full\?") as raised:
        in_parts(files, small_disk)
    assert "No space left on device" in str(raised.value)


COUNTS = st.dictionaries(st.integers(-5, 5), st.integers(1, 9), max_size=4)
TALLIES = st.lists(
    st.builds(
        lambda first, length, sizes, ages: Tally(
            sum(ages.values()),
            sum(ages.values()),
            first,
            first + length,
            sum(sizes),
            min(sizes),
            max(sizes),
            tuple(sorted(ages.items())),
            (),
        ),
        st.integers(0, 99),
        st.integers(0, 99),
        st.lists(st.integers(1, 99), min_size=1),
        COUNTS,
    ),
    max_size=5,
)


@given(TALLIES, st.randoms(use_true_random=False))
def test_tallies_add_up_in_any_order_and_grouping(tallies: list[Tally], random: Any) -> None:
    shuffled = list(tallies)
    random.shuffle(shuffled)
    cut = random.randint(0, len(shuffled))
    assert added(tallies) == added([added(shuffled[:cut]), Tally(), added(shuffled[cut:])])
    assert added(tallies).events == sum(count for _, count in added(tallies).ages_ms)


@given(st.lists(st.integers(0, 3_000_000), max_size=30), st.integers(10**7, 10**10))
def test_chunks_are_all_parts_in_order(sizes: list[int], memory_bytes: int) -> None:
    parts = [Part(Path(f"{at}.parquet"), size) for at, size in enumerate(sizes)]
    found = list(chunks(2, "binance", parts, memory_bytes=memory_bytes))
    assert [path for chunk in found for path in chunk.paths] == [str(part.path) for part in parts]
    assert [chunk.name for chunk in found] == [f"002-{at:05}" for at in range(len(found))]
    most = min(split.MOST_MESSAGES, memory_bytes // split.BYTES_PER_MESSAGE)
    assert all(chunk.messages <= most or len(chunk.paths) == 1 for chunk in found)


@pytest.mark.parametrize(
    ("messages", "memory_bytes", "bits"),
    [
        (0, 10**9, 4),
        (30_000_000, 10**9, 4),
        (207_000_000, 10**9, 6),
        (10_000_000_000, 10**9, 11),
        (10**12, 10**9, 12),
    ],
)
def test_a_partition_fits_in_memory(messages: int, memory_bytes: int, bits: int) -> None:
    assert prefix_bits(messages, memory_bytes=memory_bytes) == bits


def test_a_prefix_is_written_as_the_hash_begins() -> None:
    assert [prefix_name(prefix, 5) for prefix in (0, 5, 31)] == ["00000", "00101", "11111"]
