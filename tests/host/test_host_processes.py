"""Shield, pinning, spinner, jitter and the ending of children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from feedbench.errors import EngineError
from feedbench.host.awake import cpus_awake
from feedbench.host.jitter import measure_jitter
from feedbench.host.kernel_files import KernelFiles
from feedbench.host.pinning import choose_pinning
from feedbench.host.process import end_process, ending, own_preparation
from feedbench.host.shield import enter_shield, probe_shield

FAKE_ENGINE = Path(__file__).parents[1] / "run" / "fake_engine.py"


def start(script: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", f"print('ready', flush=True)\n{script}"],
        stdout=subprocess.PIPE,
        process_group=0,
        preexec_fn=own_preparation(),
    )
    assert process.stdout is not None
    return process


def test_pinning_keeps_target_and_engine_apart() -> None:
    pinning = choose_pinning({2, 5, 7})
    assert (pinning.targets, pinning.engine, pinning.advice) == ((2,), (5,), None)


def test_one_cpu_for_both_is_said() -> None:
    pinning = choose_pinning({3})
    assert (pinning.targets, pinning.engine) == ((3,), (3,))
    assert "one CPU (3)" in (pinning.advice or "")


def test_no_pinning_is_said() -> None:
    pinning = choose_pinning({0, 1}, wanted=False)
    assert (pinning.targets, pinning.engine, pinning.engine_cpu) == ((), (), None)
    assert pinning.advice


def plant(root: Path, name: str, text: str = "") -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_the_shield_is_the_own_autogroup_where_there_is_one(tmp_path: Path) -> None:
    plant(tmp_path, "proc/sys/kernel/sched_autogroup_enabled", "1")
    plant(tmp_path, "proc/self/cgroup", "1:cpu:/\n")
    plant(tmp_path, "proc/self/autogroup")
    shield = enter_shield(KernelFiles(tmp_path))
    assert (shield.in_force, shield.description) == (True, "autogroup −20")
    assert (tmp_path / "proc/self/autogroup").read_text() == "-20"


def test_inside_a_cpu_cgroup_the_shield_is_an_own_cgroup(tmp_path: Path) -> None:
    plant(tmp_path, "proc/sys/kernel/sched_autogroup_enabled", "1")
    plant(tmp_path, "proc/self/cgroup", "1:cpu:/docker/x\n")
    plant(tmp_path, "sys/fs/cgroup/cpu/cpu.shares", "1024")
    plant(tmp_path, "sys/fs/cgroup/cpu/docker/x/cgroup.procs")
    shield = enter_shield(KernelFiles(tmp_path))
    assert shield.in_force
    assert shield.cgroup is not None
    assert shield.cgroup.parent == tmp_path / "sys/fs/cgroup/cpu/docker/x"
    assert (shield.cgroup / "cgroup.procs").read_text() == str(os.getpid())


def test_without_any_right_the_shield_says_why_there_is_none(tmp_path: Path) -> None:
    plant(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    shield = enter_shield(KernelFiles(tmp_path))
    assert not shield.in_force
    assert shield.description.startswith("none (autogroup: not in use for this process; cgroup: ")


def test_probing_the_shield_leaves_this_process_as_it_was() -> None:
    before = Path("/proc/self/autogroup").read_text() if Path("/proc/self/autogroup").exists() else ""
    assert probe_shield().description
    after = Path("/proc/self/autogroup").read_text() if before else ""
    assert before == after


def test_a_process_is_ended_with_the_children_that_it_leaves_behind() -> None:
    process = start(
        "import subprocess, time\nprint(subprocess.Popen(['sleep', '60']).pid, flush=True)\ntime.sleep(60)"
    )
    assert process.stdout is not None
    process.stdout.readline()
    child = psutil.Process(int(process.stdout.readline()))
    assert end_process(process, first=signal.SIGTERM, grace_s=5.0)
    assert psutil.wait_procs([child], timeout=10)[1] == []


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    process = start(
        "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint(flush=True)\ntime.sleep(60)"
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    assert not end_process(process, first=signal.SIGTERM, grace_s=0.1)
    assert ending(process.returncode) == "signal 9 (SIGKILL)"


@pytest.mark.parametrize(
    ("status", "text"), [(3, "status 3"), (-15, "signal 15 (SIGTERM)"), (-99, "signal 99")]
)
def test_endings_in_words(status: int, text: str) -> None:
    assert ending(status) == text


def test_spinners_live_as_long_as_the_block() -> None:
    me = psutil.Process()
    with cpus_awake(FAKE_ENGINE, [0, 0]) as awake:
        spinners = [child for child in me.children() if "spin" in child.cmdline()]
        assert awake
        assert len(spinners) == 2
    assert psutil.wait_procs(spinners, timeout=10)[1] == []


def test_no_spinner_when_none_is_wanted() -> None:
    with cpus_awake(Path("/nowhere"), [0], wanted=False) as awake:
        assert not awake


@pytest.mark.parametrize("engine", ["/nowhere/feedbench-engine", "/bin/false"])
def test_an_engine_that_can_not_spin_is_one_clear_error(engine: str) -> None:
    with pytest.raises(EngineError, match="spinner"), cpus_awake(Path(engine), [0]):
        pass


def test_jitter_is_read_from_the_engine() -> None:
    assert measure_jitter(FAKE_ENGINE, cpu=0, duration_s=0.1)["lost_share"] == 0.002


@pytest.mark.parametrize(
    ("engine", "what"), [("/nowhere/engine", "cannot start"), ("/bin/false", "status 1")]
)
def test_jitter_without_an_engine(engine: str, what: str) -> None:
    with pytest.raises(EngineError, match=what):
        measure_jitter(Path(engine), cpu=0, duration_s=0.1)
