"""The clock bracket test: its judgement on planted stamps, and one real run with the runtime that is always
there.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from feedbench.host.brackets import RUNTIMES, bracket_runtime, judge

PYTHON = next(runtime for runtime in RUNTIMES if runtime.name == "Python")


def test_a_stamp_outside_its_bracket_is_counted() -> None:
    verdict = judge(PYTHON, [(10, 15, 20), (30, 45, 40), (50, 49, 60), (70, 70, 70)])
    assert (verdict.rounds, verdict.violations) == (4, 2)


@given(
    offset_ns=st.integers(-(10**9), 10**9),
    rounds=st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 5_000)), min_size=1),
)
def test_the_bounds_enclose_a_clock_that_is_off(offset_ns: int, rounds: list[tuple[int, int]]) -> None:
    stamps = []
    for number, (there_ns, back_ns) in enumerate(rounds):
        before = number * 100_000
        stamps.append((before, before + there_ns + offset_ns, before + there_ns + back_ns))
    verdict = judge(PYTHON, stamps)
    assert verdict.offset_least_ns is not None
    assert verdict.offset_most_ns is not None
    assert verdict.offset_least_ns <= offset_ns <= verdict.offset_most_ns


def test_python_shares_our_clock(tmp_path: Path) -> None:
    verdict = bracket_runtime(PYTHON, rounds=50, scratch=tmp_path)
    assert (verdict.rounds, verdict.violations, verdict.skipped) == (50, 0, None)


def test_a_clock_with_another_epoch_is_found(tmp_path: Path) -> None:
    ticks = itertools.count()
    verdict = bracket_runtime(PYTHON, rounds=10, scratch=tmp_path, clock=lambda: next(ticks))
    assert verdict.violations == 10


def test_an_absent_runtime_is_skipped_with_the_reason(tmp_path: Path) -> None:
    from dataclasses import replace

    absent = replace(PYTHON, tool="no-such-runtime")
    assert (
        bracket_runtime(absent, rounds=1, scratch=tmp_path).skipped
        == "no-such-runtime is not on this machine"
    )


def test_a_stamp_program_that_dies_is_skipped_with_the_reason(tmp_path: Path) -> None:
    from dataclasses import replace

    broken = replace(PYTHON, command=(PYTHON.command[0], "-c", "pass"))
    skipped = bracket_runtime(broken, rounds=1, scratch=tmp_path).skipped
    assert skipped is not None
    assert "failed" in skipped
