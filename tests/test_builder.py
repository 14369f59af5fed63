"""Many builds: how many at a time, which beside which, how long yet, and that ^C leaves nothing running."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from feedbench.build import BuildStoppedError, build_target
from feedbench.builder import (
    Job,
    build_targets,
    builds_at_a_time,
    clean,
    next_job,
    seconds_left,
    summary_of,
)
from feedbench.commands import scratch_folder, shared_folder
from feedbench.measuring import measuring_under_way
from feedbench.paths import Project
from feedbench.receipt import Receipt
from feedbench.registry import discover, receipt_path
from feedbench.target import Command, Target
from planning import make_target
from test_build import make_project

SHARED_BUILD: tuple[Command, ...] = (("make", "{shared}"),)


def silent(line: str) -> None:
    del line


def job(name: str, *, shared: bool = False, last_seconds: float | None = None) -> Job:
    target = replace(make_target(name), build_commands=SHARED_BUILD if shared else ())
    return Job(target, "release", last_seconds)


def with_commands(project: Project, *commands: Command) -> list[Target]:
    return [replace(target, build_commands=commands) for target in discover(project).targets]


def test_builds_that_share_a_folder_go_first_and_never_together() -> None:
    plain, first, second, other = (
        job("c/a"),
        job("go/a", shared=True),
        job("go/b", shared=True),
        job("rust/a"),
    )
    waiting = [plain, first, second, other]
    assert next_job(waiting, []) is first
    assert next_job([plain, second, other], [first]) is plain
    assert next_job([second], [first]) is None
    assert next_job([second], [plain]) is second
    assert next_job([], []) is None


@pytest.mark.parametrize(
    ("last", "took", "at_a_time", "expected"),
    [
        ([], [5.0], 2, 0.0),
        ([10.0, 20.0, 30.0], [], 2, 30.0),
        ([10.0, 10.0, 10.0, 10.0], [], 2, 20.0),
        ([None, None], [4.0, 6.0], 1, 10.0),
        ([None], [], 2, 0.0),
    ],
)
def test_the_time_left_is_what_the_builds_took_before(
    last: list[float | None], took: list[float], at_a_time: int, expected: float
) -> None:
    waiting = [job("c/a", last_seconds=seconds) for seconds in last]
    assert seconds_left(waiting, took, at_a_time=at_a_time) == expected


def test_two_are_built_at_a_time_and_each_waits_for_the_other(tmp_path: Path) -> None:
    """Either build alone would wait in vain for the file that the other makes."""
    project = make_project(tmp_path, "sh/a", "sh/b")
    wait = "until [ $(ls {build}/../*.here | wc -l) = 2 ]; do sleep 0.1; done"
    meet = ("timeout", "60", "sh", "-c", "touch {build}/../$$.here; " + wait)
    targets = with_commands(project, meet)
    receipts = build_targets(targets, discover(project), project=project, say=silent, at_a_time=2)
    assert [receipt.state for receipt in receipts] == ["built", "built"]


def test_one_build_at_a_time_where_a_folder_is_shared(tmp_path: Path) -> None:
    project = make_project(tmp_path, "sh/a", "sh/b", "sh/c")
    alone = ("sh", "-c", "mkdir {shared}/lock && sleep 0.2 && rmdir {shared}/lock")
    targets = with_commands(project, alone)
    receipts = build_targets(targets, discover(project), project=project, say=silent, at_a_time=3)
    assert [receipt.state for receipt in receipts] == ["built"] * 3


def test_progress_and_summary_count_what_happened(tmp_path: Path) -> None:
    project = make_project(tmp_path, "sh/a", "sh/b", "sh/c")
    good, bad, held = discover(project).targets
    targets = [
        good,
        replace(bad, build_commands=(("false",),)),
        replace(held, status="on-hold", reason="it is old"),
    ]
    said: list[str] = []
    build_target(good, project=project, say=silent)
    started_unix_ns = time.time_ns()
    receipts = build_targets(targets, discover(project), project=project, say=said.append, at_a_time=1)
    summary = summary_of(
        receipts, started_unix_ns=started_unix_ns, seconds=100, at_a_time=1, from_nothing=False
    )
    assert (summary.built, summary.up_to_date, summary.failed, summary.missing) == (0, 1, 1, 1)
    assert str(summary) == "0 built, 1 up to date, 1 failed, 1 left out in 2 min, 1 at a time"
    assert "sh/c: left out, on hold: it is old" in said
    assert any(line.startswith("builds: 1 of 2 done, about ") for line in said)
    summary.write(project)
    assert (project.scratch / "builds.json").exists()


def test_a_debug_build_has_a_folder_a_receipt_and_a_failure_of_its_own(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    text = (project.targets / "sh/one/target.toml").read_text()
    debug = (
        '[build.debug]\ncommands = [["sh", "-c", "touch {build}/debug"]]\n'
        '[knobs]\nbuild_mode = ["release", "debug"]\n'
    )
    manifest = project.targets / "sh/one/target.toml"
    manifest.write_text(text.replace("[version]", debug + "[version]"))
    (target,) = discover(project).targets
    receipts = build_targets([target], discover(project), project=project, say=silent, debug={"sh/one"})
    assert [receipt.mode for receipt in receipts] == ["release", "debug"]
    assert not (scratch_folder(project, target) / "debug").exists()
    assert (scratch_folder(project, target, "debug") / "debug").exists()
    assert receipt_path(project, "sh/one", "debug").name == "sh-one~debug.json"
    assert discover(project).debug_failures == {}
    manifest.write_text(manifest.read_text().replace('"touch {build}/debug"', '"exit 7"'))
    build_targets(discover(project).targets, discover(project), project=project, say=silent, debug={"sh/one"})
    assert "ended with status 7" in discover(project).debug_failures["sh/one"]
    assert discover(project).states["sh/one"].state == "built"


def test_from_nothing_leaves_neither_own_nor_shared_products(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (target,) = with_commands(project, ("sh", "-c", "touch {shared}/x {build}/x"))
    build_target(target, project=project, say=silent)
    assert (shared_folder(project, target) / "x").exists()
    clean([target], project=project)
    assert not shared_folder(project, target).exists()
    assert not scratch_folder(project, target).exists()


def test_a_stopped_build_ends_its_children_and_leaves_no_receipt(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    mark = tmp_path / "child"
    (target,) = with_commands(project, ("sh", "-c", f"sleep 600 & echo $! > {mark}; wait"))
    stop = threading.Event()

    def stop_when_started() -> None:
        while not (mark.exists() and mark.read_text().strip()):
            time.sleep(0.01)
        stop.set()

    threading.Thread(target=stop_when_started).start()
    with pytest.raises(BuildStoppedError):
        build_target(target, project=project, say=silent, stop=stop)
    assert not receipt_path(project, "sh/one").exists()
    child = int(mark.read_text())
    deadline = time.monotonic() + 30
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def another_process_measuring(project: Project) -> Iterator[None]:
    script = (
        "import sys, pathlib\n"
        "from feedbench.measuring import measuring\n"
        "from feedbench.paths import Project\n"
        f"with measuring(Project(pathlib.Path({str(project.root)!r}))):\n"
        "    print('measuring', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        yield
        process.stdin.close()


def test_while_something_is_measured_builds_go_one_by_one(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert not measuring_under_way(project)
    with another_process_measuring(project):
        assert measuring_under_way(project)
        assert builds_at_a_time(project) == 1
    assert not measuring_under_way(project)


def test_a_build_that_another_command_makes_is_waited_for(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (target,) = with_commands(project, ("sh", "-c", "echo made >> {build}/made; sleep 0.3"))
    receipts: list[Receipt] = []

    def build() -> None:
        receipts.append(build_target(target, project=project, say=silent))

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert receipts[0] == receipts[1]
    assert (scratch_folder(project, target) / "made").read_text() == "made\n"
