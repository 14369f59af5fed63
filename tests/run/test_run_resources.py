"""Readings of a real process tree: children count, and so do threads that have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from feedbench.run.resources import own_cpu_ns, read_rss_bytes, read_tree, run_delay_ns, tree

BURN = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
# The work is done by a child that stays and by a thread that ends.
SCRIPT = f"""
import subprocess, sys, threading
afterwards = "print('ready', flush=True)\\nimport time; time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", {BURN!r} + afterwards])
thread = threading.Thread(target=lambda: exec({BURN!r}))
thread.start(); thread.join()
print("ready", flush=True)
child.wait()
"""


def test_a_tree_is_read_whole() -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, process_group=0)
    assert process.stdout is not None
    try:
        assert [process.stdout.readline(), process.stdout.readline()] == [b"ready\n"] * 2
        reading = read_tree(process.pid)
        assert reading.processes == 2
        assert reading.threads >= 2
        assert reading.cpu_ns >= 380_000_000
        assert reading.rss_peak_bytes >= reading.rss_bytes > 5_000_000
        members = tree(process.pid)
        assert len(members) == 2
        assert abs(read_rss_bytes(members) - reading.rss_bytes) < 5_000_000
        assert reading.voluntary_switches > 0
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_process_that_is_gone_counts_as_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    reading = read_tree(process.pid)
    assert (reading.processes, reading.cpu_ns, reading.rss_bytes) == (0, 0, 0)
    assert run_delay_ns(process.pid) is None


def test_the_run_delay_of_a_child_can_be_read_after_its_end() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert run_delay_ns(process.pid) is not None
    process.wait()


def test_children_that_have_ended_count_as_own() -> None:
    before = own_cpu_ns()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    assert own_cpu_ns() - before >= 180_000_000
