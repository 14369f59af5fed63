"""The worker process: ^C, kill -9, a full disk; the directory stays readable and the run can go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from laboratory import Laboratory, MakeLaboratory

from feedbench.run.record import read_record

pytestmark = pytest.mark.end_to_end

DEADLINE_S = 30.0


def start_worker(lab: Laboratory, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "feedbench.run.worker", str(lab.directory.path), str(lab.project.root)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def wait_for(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < give_up, f"{what} did not happen"
        time.sleep(0.01)


def wait_until_measuring(lab: Laboratory) -> None:
    """The fake engine says so once its signal handlers are in place."""

    def measuring() -> bool:
        return any(log.stat().st_size for log in lab.directory.path.glob("blocks/0/logs/*.engine.log"))

    wait_for(measuring, "measuring")


def finish(worker: subprocess.Popen[str]) -> str:
    _, said = worker.communicate(timeout=DEADLINE_S)
    return said


def test_a_run_is_complete_and_says_so(laboratory: MakeLaboratory) -> None:
    lab = laboratory(blocks=2)
    worker = start_worker(lab)
    said = finish(worker)
    assert worker.returncode == 0, said
    record = read_record(lab.directory)
    assert (record.blocks_done, record.stopped) == ((0, 1), "complete")
    assert json.loads(lab.directory.ceiling.read_text())["results"]
    assert "block 1/2" in said


def test_interrupting_once_keeps_results_and_statuses_and_the_run_goes_on(laboratory: MakeLaboratory) -> None:
    lab = laboratory(blocks=2, engine="slow")
    worker = start_worker(lab)
    wait_until_measuring(lab)
    worker.send_signal(signal.SIGINT)
    said = finish(worker)
    assert worker.returncode == 130, said
    statuses = lab.statuses(0)
    assert set(statuses) == {cell.id for cell in lab.plan.cells}
    assert {status["verdict"] for status in statuses.values()} == {"skipped"}
    assert any((lab.directory.cell(0, cell) / "load.json").exists() for cell in statuses)
    assert read_record(lab.directory).stopped == "interrupted"

    again = start_worker(lab, FAKE_ENGINE="")
    said = finish(again)
    assert again.returncode == 0, said
    assert read_record(lab.directory).blocks_done == (0, 1)
    assert {status["verdict"] for status in lab.statuses(0).values()} == {"ok"}
    assert (lab.directory.path / "blocks" / "0.interrupted-1").is_dir()


def test_interrupting_twice_ends_at_once_and_leaves_no_process(laboratory: MakeLaboratory) -> None:
    lab = laboratory(engine="hang")
    worker = start_worker(lab)
    wait_until_measuring(lab)
    children = psutil.Process(worker.pid).children(recursive=True)
    worker.send_signal(signal.SIGINT)
    time.sleep(0.1)
    worker.send_signal(signal.SIGINT)
    finish(worker)
    assert worker.returncode == 130
    assert psutil.wait_procs(children, timeout=DEADLINE_S)[1] == []


def test_kill_9_leaves_no_process_and_the_run_goes_on(laboratory: MakeLaboratory) -> None:
    lab = laboratory(engine="hang")
    worker = start_worker(lab)
    wait_until_measuring(lab)
    children = psutil.Process(worker.pid).children(recursive=True)
    assert len(children) == 1 + len(lab.plan.processes)
    worker.kill()
    finish(worker)
    assert psutil.wait_procs(children, timeout=DEADLINE_S)[1] == []
    assert read_record(lab.directory).stopped == "running"

    again = start_worker(lab, FAKE_ENGINE="")
    said = finish(again)
    assert again.returncode == 0, said
    assert read_record(lab.directory).stopped == "complete"


def test_a_target_that_dies_half_way_costs_only_its_cells(laboratory: MakeLaboratory) -> None:
    lab = laboratory(engine="slow")
    worker = start_worker(lab, FAKE_SECONDS="1")
    wait_until_measuring(lab)
    servers = [child for child in psutil.Process(worker.pid).children() if "server.py" in child.cmdline()]
    servers[0].kill()
    time.sleep(0.2)
    worker.send_signal(signal.SIGINT)
    finish(worker)
    causes = [status["cause"] for status in lab.statuses(0).values()]
    assert any("SIGKILL" in cause for cause in causes), causes
    assert any("interrupted" in cause for cause in causes), causes


def test_two_runs_into_one_directory_are_refused(laboratory: MakeLaboratory) -> None:
    lab = laboratory(engine="hang")
    first = start_worker(lab)
    wait_until_measuring(lab)
    second = start_worker(lab)
    said = finish(second)
    first.kill()
    finish(first)
    assert second.returncode == 1
    assert (
        said.strip().splitlines()[-1].endswith("another feedbench is measuring into it (wait for it to end)")
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small tmpfs needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_ends_the_run_in_one_line_and_keeps_the_blocks_before(
    laboratory: MakeLaboratory, small_disk: Path
) -> None:
    lab = laboratory(blocks=50, runs=small_disk)
    # Leaves room for a block or two: each takes some 40 KiB of small files.
    worker = start_worker(lab)
    said = finish(worker)
    assert worker.returncode == 1
    last = said.strip().splitlines()[-1]
    assert last.startswith("feedbench: ")
    assert "No space left on device" in last
    assert "Traceback" not in said
    kept = read_record(lab.directory)
    assert 0 in kept.blocks_done
    assert {status["verdict"] for status in lab.statuses(0).values()} == {"ok"}


def test_interrupting_while_a_target_does_not_start_ends_at_once(laboratory: MakeLaboratory) -> None:
    lab = laboratory(knobs='start = "hang"')
    worker = start_worker(lab)
    wait_for(lambda: any(lab.directory.path.glob("blocks/0/logs/*.log")), "starting")
    begin = time.monotonic()
    worker.send_signal(signal.SIGINT)
    said = finish(worker)
    assert worker.returncode == 130, said
    assert time.monotonic() - begin < 15  # not the 30 s that a target is given to start
    assert {status["verdict"] for status in lab.statuses(0).values()} == {"skipped"}
    assert read_record(lab.directory).stopped == "interrupted"
