"""A study in parts on real workers: as many as may be, killed ones, hosts of a scheduler with TLS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from parts import ingested_input, one_process, write_input

from feedbench.cluster.certificates import issue_certificates
from feedbench.errors import ClusterError, FeedbenchError
from feedbench.pipeline.ingest import SeriesFiles
from feedbench.pipeline.partitions import run as run_module
from feedbench.pipeline.partitions.crew import _effort
from feedbench.pipeline.partitions.gather import Partition, gather
from feedbench.pipeline.partitions.order import CrewOrder
from feedbench.pipeline.partitions.run import study_in_parts
from feedbench.pipeline.partitions.scatter import scatter
from feedbench.pipeline.partitions.task import Effort, Task
from feedbench.pipeline.study import Study

pytestmark = pytest.mark.end_to_end

HOST_PROGRAM = Path(__file__).parents[1] / "cluster" / "host_program.py"
GB = 10**9


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[SeriesFiles]:
    return ingested_input(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def whole(files: list[SeriesFiles], tmp_path_factory: pytest.TempPathFactory) -> Study:
    return one_process(files, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_finds_the_same(
    files: list[SeriesFiles], whole: Study, tmp_path: Path, workers: int
) -> None:
    order = CrewOrder(workers, memory_limit_bytes=GB)
    study, work = study_in_parts(files, tmp_path / "parts", order)
    assert study == whole
    assert study.to_json() == whole.to_json()
    assert work.repeated == ()
    assert 1 <= len(work.peak_bytes) <= workers
    assert all(0 < peak < GB for peak in work.peak_bytes.values())
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["events"]


def dying(real: Callable[..., dict[str, Any]], name: str, flag: Path, *, after: bool) -> Callable[..., Any]:
    """Does as `real`, but kills its own process at the first attempt at one job: before or after the work."""

    def function(job: Any, place: Any, spill: Path) -> Any:
        mine = getattr(job, "name", None) or job.chunk.name
        if mine != name:
            return real(job, place, spill)
        document = real(job, place, spill) if after else {}
        (spill / "left-lying").write_bytes(b"x")
        try:
            os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return document if after else real(job, place, spill)
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    return function


@pytest.mark.parametrize("after", [False, True])
def test_a_killed_worker_loses_its_part_only(
    files: list[SeriesFiles], whole: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    chunk, partition = "001-00000", "gather-000-0011"
    monkeypatch.setattr(run_module, "scatter", dying(scatter, chunk, tmp_path / "first", after=after))
    monkeypatch.setattr(run_module, "gather", dying(gather, partition, tmp_path / "second", after=after))
    study, work = study_in_parts(files, tmp_path / "parts", CrewOrder(2))
    assert study == whole
    assert (tmp_path / "first").exists()
    assert (tmp_path / "second").exists()
    assert work.repeated == (f"scatter-{chunk}", partition)
    assert not (tmp_path / "parts" / "work").exists()


class Ended:
    """What Dask has of a task that it has given up."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def result(self, timeout: float) -> Effort:
        raise self._error


def test_a_part_that_kills_each_worker_ends_it_with_the_reason() -> None:
    from distributed.scheduler import KilledWorker

    task = Task("gather-000-0011", 7, gather, None)
    killed = KilledWorker("gather-000-0011", None, 3)
    with pytest.raises(ClusterError, match=r"gather-000-0011: several workers died .*--memory-limit"):
        _effort(Ended(killed), task)
    # Its worker was lost before it was asked: somebody else has it now.
    assert _effort(Ended(TimeoutError()), task) is None


def test_a_workers_error_is_the_readers(
    files: list[SeriesFiles], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(job: Partition, place: Any, spill: Path) -> Any:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(run_module, "gather", full)
    with pytest.raises(FeedbenchError, match=r"no room: .*No space left on device \(a larger disk"):
        study_in_parts(files[:1], tmp_path / "parts", CrewOrder(1))


@contextmanager
def program(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """tests/cluster/host_program.py; ended with the context."""
    process = subprocess.Popen(
        [sys.executable, str(HOST_PROGRAM), *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def test_hosts_of_a_scheduler_with_tls_find_the_same(
    files: list[SeriesFiles], whole: Study, tmp_path: Path
) -> None:
    tls = tmp_path / "tls"
    issue_certificates(tls)
    with program("scheduler", "127.0.0.1", "0", str(tls)) as scheduler:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip().removeprefix("tls://")
        worker = ("worker", address)
        with (
            program(*worker, "a", "127.0.0.1", "load", str(tls)),
            program(*worker, "b", "127.0.0.1", "target", str(tls)),
        ):
            order = CrewOrder(cluster=address, tls=tls)
            study, work = study_in_parts(files, tmp_path / "parts", order)
    assert study == whole
    assert len(work.peak_bytes) in (1, 2)


def feedbench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from feedbench.cli import main; main()", "pipeline", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_writes_the_same_study(tmp_path: Path) -> None:
    folder = write_input(tmp_path / "clients")
    documents = []
    for name, more in (("one", ()), ("parts", ("--workers", "2", "--memory-limit", "1GB"))):
        done = feedbench(folder, "--out", tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
        documents.append(json.loads((tmp_path / name / "pipeline.json").read_text()))
    assert documents[0] == documents[1]
    assert not (tmp_path / "parts" / "study.duckdb").exists()
    assert list((tmp_path / "parts" / "partitions").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["--workers", "2", "--cluster", "127.0.0.1:1"], 2, "--cluster has its own"),
        (["--memory-limit", "2GB"], 2, "goes with --workers or --cluster"),
        (["--tls", "tls"], 2, "--tls goes with --cluster"),
        (["--workers", "2", "--memory-limit", "2 apples"], 2, '"2 apples" is not a size'),
        (["--workers", "2", "--memory-limit", "100MB"], 2, "too little"),
        (["--workers", "0"], 2, "equal to 1"),
        (["--cluster", "10.0.0.1:8786"], 1, "no TLS certificate"),
    ],
)
def test_mistakes_are_one_clear_line(
    tmp_path: Path, arguments: Sequence[str], status: int, complaint: str
) -> None:
    folder = write_input(tmp_path / "clients")
    done = feedbench(folder, "--out", tmp_path / "out", *arguments)
    assert done.returncode == status, done.stderr
    assert complaint in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
