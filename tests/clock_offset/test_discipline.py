"""What keeps the clock is read from chrony and the kernel, and what is not there is said so."""

from __future__ import annotations

from pathlib import Path

import pytest

from feedbench.clock_offset.discipline import parse_tracking, read_discipline
from feedbench.host.kernel_files import KernelFiles

TRACKING = (
    "50505300,PPS,1,1713564723.123456789,0.000000072,-0.000000011,0.000000195,-1.789,-0.000,0.016,"
    "0.000000001,0.000011804,16.0,Normal\n"
)


def test_chrony_is_believed_within_its_own_bound() -> None:
    state = parse_tracking(TRACKING)
    assert state is not None
    assert (state.reference, state.stratum, state.synchronised) == ("PPS", 1, True)
    assert state.bound_ns == pytest.approx(72 + 11_804 + 0.5)
    assert state.frequency_ppm == -1.789


@pytest.mark.parametrize("text", ["", "506 Cannot talk to daemon\n", ",".join("x" * 14)])
def test_what_is_no_tracking_is_nothing(text: str) -> None:
    assert parse_tracking(text) is None


def test_words_for_each_state(tmp_path: Path) -> None:
    clock = tmp_path / "sys/class/ptp/ptp0"
    clock.mkdir(parents=True)
    (clock / "clock_name").write_text("KVM virtual PTP\n", encoding="utf-8")
    planted = KernelFiles(tmp_path)
    assert read_discipline(planted, lambda: TRACKING).in_words == (
        "PTP clocks: KVM virtual PTP. chrony follows PPS (stratum 1), "
        "within 0.012 ms of the true time by its own account."
    )
    lost = TRACKING.replace("Normal", "Not synchronised")
    assert "is not synchronised" in read_discipline(planted, lambda: lost).in_words
    bare = read_discipline(KernelFiles(tmp_path / "none"), lambda: None)
    assert bare.in_words == "No PTP clock. chrony does not answer."
